"""The notebook that the README links to: every cell runs, and what it shows is there offline."""

import ast
import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).resolve().parents[1] / "attnviz" / "tutorial.ipynb"


def cells(kind: str) -> list[str]:
    whole = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    return ["".join(cell["source"]) for cell in whole["cells"] if cell["cell_type"] == kind]


def shown(source: str, names: dict[str, Any]) -> Any:
    """Run a cell as a notebook does: the value of a last expression is what it shows."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, NOTEBOOK.name, "exec"), names)
    if last is None:
        return None
    return eval(compile(ast.Expression(last.value), NOTEBOOK.name, "eval"), names)


@pytest.fixture(scope="module")
def outputs(smollm2: Any) -> list[Any]:
    names: dict[str, Any] = {}
    return [shown(source, names) for source in cells("code")]


def test_every_cell_runs_and_says_what_its_text_promises(outputs: list[Any]) -> None:
    assert outputs[0] is True
    assert outputs[2] < 1e-6
    assert outputs[3]["token"].iloc[0] == " clock"
    token, moved = outputs[5]
    assert token == " clock" and 0.01 < moved <= 1
    assert [change["kind"] for change in outputs[7]] == ["HideKeys"]
    assert outputs[8].startswith("The same")
    assert list(outputs[10].columns)[:2] == ["0:Our", "1: lighthouse"]


def test_what_is_drawn_needs_no_network(outputs: list[Any]) -> None:
    drawn = [output for output in outputs if hasattr(output, "_repr_mimebundle_")]
    assert len(drawn) == 3
    for output in drawn:
        html = output._repr_mimebundle_()["text/html"]
        page = unescape(re.search(r'srcdoc="([^"]*)"', html).group(1))
        assert "default-src 'none'" in unescape(page) and "<svg" in page
        assert not re.search(r'<(script|link|img|iframe)[^>]*\b(src|href)="http', page)


def test_the_notebook_is_kept_without_outputs() -> None:
    whole = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    code = [cell for cell in whole["cells"] if cell["cell_type"] == "code"]
    assert all(not cell["outputs"] and cell["execution_count"] is None for cell in code)
    assert cells("markdown")[0].startswith("# attnviz in a notebook")
