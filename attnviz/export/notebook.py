"""Views in a notebook: the page of `attnviz.export.webpage` in a frame of its own.

The frame needs neither the network nor the notebook's own scripts, so the picture is there in
every front end, and in a notebook that was saved and is opened elsewhere.
"""

import re
from html import escape
from typing import TYPE_CHECKING

from attnviz.export import webpage

if TYPE_CHECKING:
    from attnviz.export.view import View

_HEIGHT = re.compile(r'<div id="still"><svg[^>]*? height="(\d+)')
_ROOM = 150  # pixels for title and finding above the picture


def bundle(view: "View") -> dict[str, str]:
    """What a notebook is to show: the page in a frame, and the finding where there is no HTML."""
    page = webpage.to_html(view).decode()
    found = _HEIGHT.search(page)
    high = (int(found.group(1)) if found else 700) + _ROOM
    frame = (
        f'<iframe title="{escape(view.title)}" style="width:100%;height:{high}px;border:0" '
        f'sandbox="allow-scripts" srcdoc="{escape(page)}"></iframe>'
    )
    return {"text/html": frame, "text/plain": f"{view!r}\n{view.finding}"}
