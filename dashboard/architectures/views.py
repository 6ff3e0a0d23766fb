"""The table of Architectures, for export."""

from typing import TYPE_CHECKING

from attnviz.models import support

if TYPE_CHECKING:
    from attnviz.export import View


def architectures(verdict: str, *, link: str) -> "View":
    """The table of architectures, those of one verdict or all."""
    from attnviz.export import table_view

    table = support.table()
    made = support.read_record()["transformers"]
    kept, script = table, "from attnviz.models import support\n\ntable = support.table()\n"
    if verdict != "all":
        kept = table[table["verdict"] == verdict]
        script += f'table = table[table["verdict"] == {verdict!r}]\n'
    counts = table["verdict"].value_counts()
    return table_view(
        kept.reset_index(drop=True),
        title=f"Text architectures of transformers {made}: {verdict}",
        finding="; ".join(f"{count} {name}" for name, count in counts.items()) + ".",
        about={"place": {"kind": "table", "figure": "architectures", "verdict": verdict}},
        script=script,
        stem="architectures",
        link=link,
    )
