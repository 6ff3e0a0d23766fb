"""How objects draw themselves in a notebook: by the name of the module that draws them.

A class that is drawn knows nothing of charts and files, so it finds its drawer here, when it is
asked for, rather than import it.
"""

from importlib import import_module

_DRAWERS = {
    "Head": "attnviz.export.one_head_view",
    "View": "attnviz.export.notebook",
}


def draw_in_notebook(thing: object) -> dict[str, str]:
    """{MIME type: contents} of an object of one of these classes, for IPython."""
    drawer = import_module(_DRAWERS[type(thing).__name__])
    bundle: dict[str, str] = drawer.bundle(thing)
    return bundle
