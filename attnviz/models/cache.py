"""The user's cache folder: where models are kept between runs."""

import os
import sys
from pathlib import Path


def root(cache_dir: str | Path | None = None) -> Path:
    """The folder for attnviz's own downloads: `cache_dir`, ATTNVIZ_CACHE, or the system's usual.

    The folder is not made here.
    """
    chosen = cache_dir or os.environ.get("ATTNVIZ_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "attnviz"
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return (Path(local) if local else Path.home() / "AppData" / "Local") / "attnviz" / "Cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "attnviz"
