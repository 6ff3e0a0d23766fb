"""Export: a view as a picture, as data, as a page, as Python; and back.

Every file says where its numbers come from: model, revision, type, tokens, layer, head, stage,
every intervention, the order of the axes, the digests of the arrays, versions. A file that is read
back can be run again.

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
    "KINDS": "attnviz.export.file_kinds",
    "Kind": "attnviz.export.file_kinds",
    "Quantity": "attnviz.export.view",
    "Rerun": "attnviz.export.rerun",
    "Saved": "attnviz.export.rerun",
    "View": "attnviz.export.view",
    "compare_view": "attnviz.export.two_heads_view",
    "from_bytes": "attnviz.export.file_kinds",
    "head_view": "attnviz.export.one_head_view",
    "heads_view": "attnviz.export.all_heads_view",
    "overview_view": "attnviz.export.long_text_views",
    "matrix_view": "attnviz.export.table_views",
    "read": "attnviz.export.file_kinds",
    "rerun": "attnviz.export.rerun",
    "row_view": "attnviz.export.long_text_views",
    "save": "attnviz.export.file_kinds",
    "table_view": "attnviz.export.table_views",
}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'attnviz.export' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
