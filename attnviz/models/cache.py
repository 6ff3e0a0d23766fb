"""The user's cache folder: where models are kept between runs, and whether one more fits."""

import os
import shutil
import sys
from pathlib import Path

from attnviz.errors import TooLarge

_SPARE = 64 * 1024 * 1024  # bytes that stay free beside a model


def find_folder(cache_dir: str | Path | None = None) -> Path:
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


def require_space(folder: Path, needed: int, *, setting: str, when: str = "") -> None:
    """Raise TooLarge unless the disk of a folder has room for so many bytes more.

    setting: the environment variable that moves the folder. when: words for the time they are
    needed, where it is not always.
    """
    needed += _SPARE
    free = shutil.disk_usage(folder).free
    if free < needed:
        why = f"It needs {needed / 1e6:,.0f} MB{when}, and {free / 1e6:,.0f} MB are free."
        raise disk_full(setting, why)


def disk_full(setting: str, why: str = "The disk with the cache folder is full.") -> TooLarge:
    """The error of a disk that has no room for a model."""
    return TooLarge(
        what="The model does not fit on the disk.",
        why=why,
        todo=f"Free some space, or set {setting} to a folder on another disk.",
    )
