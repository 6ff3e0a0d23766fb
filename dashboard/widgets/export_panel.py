"""What is shown, to take along: as a picture, as data, as a page, as a link, as Python."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import streamlit as st

from dashboard.session import backend, notices, state
from dashboard.session.selection import fits_address

if TYPE_CHECKING:
    from attnviz.export import View

Chosen = tuple[Any, ...] | Callable[[], tuple[Any, ...]]

_GROUPS = (
    ("Picture", ("svg", "png")),
    ("Numbers", ("csv", "parquet", "npz", "json")),
    ("Page and script", ("html", "py")),
)


def draw_export(
    key: str,
    make: "Callable[..., View]",
    chosen: Chosen,
    *,
    link: bool = True,
) -> None:
    """A button that opens the ways to export one view.

    It costs nothing until it is opened, and no file is made before its button is clicked; then in
    a thread of its own, so that the page can be read on.

    Args:
        key: of the widgets; one for each panel of a page.
        make: a function of a module, that makes the view from what `chosen` gives. It is called
            when the panel is opened, and again for each file, without Streamlit.
        chosen: what is shown: names, numbers, what `loading.ask_of` returns; or a function that
            gives it when the panel is opened. It is kept as long as the panel is there, so never a
            capture or a head, nor a function of a page, whose variables would be kept with it.
        link: whether the address of the page says all that is shown.
    """
    _panel(key, make, chosen, link)


@st.fragment
def _panel(key: str, make: "Callable[..., View]", chosen: Chosen, link: bool) -> None:
    box = st.popover(
        "Export",
        icon=":material/download:",
        type="tertiary",
        key=f"{key}_export",
        on_change=state.touch,
    )
    if not box.open:
        return
    with box, notices.guard():
        shown = chosen() if callable(chosen) else chosen
        again = partial(make, *shown, link=address() if link else "")
        view = again()
        st.text(view.title)
        for title, kinds in _GROUPS:
            _files(key, title, [kind for kind in kinds if kind in view.kinds], again, view.stem)
        if link:
            _link()
        if view.script:
            st.text("Python that leads to these numbers")
            # plain: the colours of code have too little contrast, a box that scrolls takes no focus
            st.code(view.script, language=None, wrap_lines=True)
        st.text("Every file says where its numbers come from; attnviz.export.read reads it back.")


def _files(key: str, title: str, kinds: list[str], again: "Callable[[], View]", stem: str) -> None:
    if not kinds:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.text(title, width=110)
        for kind in kinds:
            _button(key, kind, again, stem)


def _link() -> None:
    st.text("Link to this page as it stands")
    st.code(address(), language=None, wrap_lines=True)
    if not fits_address(state.current_selection()):
        st.text("The text is too long for an address and is not part of it; files have it.")


def _button(key: str, kind: str, again: "Callable[[], View]", stem: str) -> None:
    from attnviz.export import KINDS

    about = KINDS[kind]
    st.download_button(
        about.title,
        data=partial(_contents, again, kind, backend.reader()),
        file_name=f"{stem}.{kind}",
        mime=about.mime,
        on_click="ignore",
        key=f"{key}_export_{kind}",
        help=about.holds,
    )


def _contents(again: "Callable[[], View]", kind: str, reader: str | None) -> bytes:
    contents = again().data(kind)
    backend.files().made(len(contents), reader)
    return contents


def address() -> str:
    """The full address of the page as it stands, every choice named."""
    names = {name: st.query_params[name] for name in st.query_params}
    query = urlencode(names | state.write_in_full())
    base = (st.context.url or "").split("?")[0].rstrip("/") + "/"
    return base + (f"?{query}" if query else "")
