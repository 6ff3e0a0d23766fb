"""A view as one page of HTML that needs nothing else: no network, no server, no notebook.

Three ways to show the picture, each where the one before is not allowed: drawn by the scripts
inside, which answer to the pointer; drawn by them without compiling code, where a policy forbids
that; and a still picture, where no script may run at all. The page's own policy allows its one
script and nothing from elsewhere.
"""

import base64
import hashlib
import json
from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any

import pandas as pd

from attnviz.export import provenance, still_pictures
from attnviz.export.array_files import to_npz

if TYPE_CHECKING:
    from attnviz.export.view import View

MOST_ROWS = 512  # of the table on the page
_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;color:#1b1f24;background:#fff;margin:0 auto;
max-width:1120px;padding:16px 20px}
h1{font-size:1.35rem;margin:.2em 0}h2{font-size:1.1rem;margin:1.4em 0 .3em}
#picture{overflow-x:auto}#picture svg{max-width:none}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}
td,th{padding:2px 10px;border-bottom:1px solid #d0d4da;text-align:left;white-space:pre}
td.n{text-align:right}pre{background:#f3f4f6;padding:10px;overflow-x:auto}
.wide{overflow-x:auto}summary{cursor:pointer}
"""
# The still picture stays until the living one is there.
_START = """
(function(){
var box=document.getElementById("picture");
var data=JSON.parse(document.getElementById("attnviz-chart").textContent);
var spec=data.spec;
if(data.flexible){spec.width=Math.max(320,Math.min(spec.width,box.clientWidth||spec.width));}
var compiles=true;try{new Function("return 1")();}catch(e){compiles=false;}
var room=document.createElement("div");
box.appendChild(room);
vegaEmbed(room,spec,{actions:false,renderer:"svg",ast:!compiles}).then(function(found){
var still=document.getElementById("still");
if(still){still.remove();}
var drawn=room.querySelector("svg");
if(drawn){drawn.setAttribute("role","img");drawn.setAttribute("aria-label",data.alt);}
document.documentElement.dataset.drawn=compiles?"compiled":"interpreted";
}).catch(function(error){room.remove();document.documentElement.dataset.drawn="failed";
document.documentElement.dataset.error=String(error);});
})();
"""


def to_html(view: "View") -> bytes:
    """The page: title, finding, picture, numbers, script, provenance; the arrays inside as NPZ."""
    svg, scripts = still_pictures.draw_with_scripts(view)
    code = f"{scripts}\n{_START}".replace("</script", "<\\/script")
    digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; script-src 'sha256-{digest}' 'unsafe-eval'; "
        "style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
    )
    spec = still_pictures.make_specification(view, still=False)
    living = json.dumps({"spec": spec, "flexible": view.flexible, "alt": view.finding})
    parts = [
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">',
        '<meta name="viewport" content="width=device-width">',
        f"<title>{escape(view.title)}</title><style>{_STYLE}</style></head><body><main>",
        f"<h1>{escape(view.title)}</h1><p>{escape(view.finding)}</p>",
        f'<div id="picture"><div id="still">{_name_picture(svg, view.finding)}</div></div>',
        *_write_below(view),
        '</main><script type="application/json" id="attnviz-chart">'
        f"{_escape_json(living)}</script>",
        '<script type="application/json" id="attnviz-provenance">'
        f"{_escape_json(provenance.write(view.provenance))}</script>",
        '<script type="text/plain" id="attnviz-npz">'
        f"{base64.b64encode(to_npz(view)).decode()}</script>",
        f"<script>{code}</script></body></html>\n",
    ]
    return "".join(parts).encode()


def _name_picture(svg: str, finding: str) -> str:
    opening, rest = svg.split(">", 1)
    return f'{opening} role="img" aria-label="{escape(finding)}">{rest}'


def _write_below(view: "View") -> list[str]:
    parts = []
    if view.table is not None:
        table = view.table()
        parts.append("<h2>The numbers</h2>")
        if len(table) > MOST_ROWS:
            parts.append(f"<p>The first {MOST_ROWS} of {len(table):,} rows.</p>")
        parts.append(f'<div class="wide">{_write_table(table[:MOST_ROWS])}</div>')
    parts.append("<h2>How to read the numbers</h2><ul>")
    for name, quantity in view.quantities.items():
        axes = " x ".join(quantity.axes)
        parts.append(f"<li>{escape(name)} ({escape(axes)}): {escape(quantity.unit)}</li>")
    parts.append("</ul><p>Layers, heads and positions count from 0.")
    if [axis.name for axis in view.axes] == ["query", "key"]:
        parts.append(" Rows are queries, from where a token looks; columns are keys, what it ")
        parts.append("looks at.")
    parts.append("</p>")
    parts.append(f"<h2>Made with</h2>{_write_facts(view.provenance)}")
    if "link" in view.provenance:
        link = escape(str(view.provenance["link"]))
        parts.append(f"<p>The same, live: <code>{link}</code></p>")
    if view.script:
        parts.append("<details><summary>Python that makes the same numbers</summary>")
        parts.append(f"<pre>{escape(view.script)}</pre></details>")
    return parts


def _write_table(table: pd.DataFrame) -> str:
    head = "".join(f'<th scope="col">{escape(str(name))}</th>' for name in table.columns)
    rows = []
    for row in table.itertuples(index=False):
        rows.append("<tr>" + "".join(_write_cell(value) for value in row) + "</tr>")
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _write_cell(value: Any) -> str:
    if isinstance(value, str):
        return f"<td>{escape(value)}</td>"
    shown = "" if value != value else f"{value:.6g}" if isinstance(value, float) else f"{value}"
    return f'<td class="n">{escape(shown)}</td>'


def _write_facts(made: Mapping[str, Any]) -> str:
    facts = {}
    if "model" in made:
        model = made["model"]
        facts["Model"] = model["name"]
        facts["Revision"] = model["revision"] or "none: an object that no name loads"
        facts["Ran in"] = model["dtype"]
    if "input" in made:
        facts["Text"] = made["input"]["asked"].get("text", "given as token ids")
    if made.get("interventions"):
        facts["What-ifs"] = ", ".join(change["kind"] for change in made["interventions"])
    if "receipt" in made:
        facts["Largest error of the recording"] = f"{made['receipt']['largest_error']:.1e}"
    facts["Versions"] = ", ".join(f"{k} {v}" for k, v in made["versions"].items())
    rows = "".join(
        f'<tr><th scope="row">{name}</th><td style="white-space:pre-wrap">{escape(value)}</td></tr>'
        for name, value in facts.items()
    )
    return f"<table>{rows}</table>"


def _escape_json(text: str) -> str:
    """JSON that cannot end the element it stands in, whatever tokens it holds."""
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def read_page(data: bytes) -> tuple[bytes, dict[str, Any]]:
    """The NPZ and the provenance inside a page that `to_html` wrote."""
    text = data.decode("utf-8", "replace")
    made = provenance.read(_find_element(text, "attnviz-provenance"))
    try:
        return base64.b64decode(_find_element(text, "attnviz-npz"), validate=True), made
    except ValueError as error:
        provenance.refuse_file(error)


def _find_element(text: str, name: str) -> str:
    """What stands in an element; the last one of that name, as a text of the reader's stands
    escaped everywhere."""
    _, found, rest = text.rpartition(f'id="{name}">')
    return rest.partition("</script>")[0] if found else ""
