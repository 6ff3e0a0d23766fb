"""Export: a view as a picture, as data, as a page, as Python; and back.

Every file says where its numbers come from: model, revision, type, tokens, layer, head, stage,
every what-if, the order of the axes, versions. A file that is read back can be run again.

>>> import attnviz, tempfile, pathlib
>>> from attnviz import export
>>> capture = attnviz.capture(attnviz.load("planted-circuit"), "red fox red fox")
>>> path = pathlib.Path(tempfile.mkdtemp()) / "head.npz"
>>> saved = export.read(export.head_view(capture, layer=1, head=0).save(path))
>>> saved.arrays["weights"].shape, saved.again().identical
((5, 5), True)
"""

from importlib import import_module
from typing import Any

_HOMES = {
    "Axis": "attnviz.export.view",
    "KINDS": "attnviz.export.files",
    "Kind": "attnviz.export.files",
    "Quantity": "attnviz.export.view",
    "Rerun": "attnviz.export.comparison",
    "Saved": "attnviz.export.files",
    "View": "attnviz.export.view",
    "compare_view": "attnviz.export.two_heads",
    "from_bytes": "attnviz.export.files",
    "head_view": "attnviz.export.one_head",
    "heads_view": "attnviz.export.all_heads",
    "overview_view": "attnviz.export.from_afar",
    "matrix_view": "attnviz.export.tabular",
    "read": "attnviz.export.files",
    "rerun": "attnviz.export.comparison",
    "row_view": "attnviz.export.from_afar",
    "save": "attnviz.export.files",
    "table_view": "attnviz.export.tabular",
}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'attnviz.export' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
