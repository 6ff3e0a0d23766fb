"""What a model's name means: a catalog entry, a repository of the Hub, or a folder.

The decision is made by the form of the name alone, before any library or the disk is asked.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from attnviz.errors import BadInput, ModelNotFound
from attnviz.models.catalog import CATALOG, CatalogEntry

# One part of a Hub id: letters, digits, dot, dash, underscore; begins and ends with a letter or
# digit. The Hub's own rule (huggingface_hub, validate_repo_id) is no stricter.
_PART = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9_])?")
_LONGEST_ID = 96  # the Hub's limit
_REVISION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,254}")

_TODO = (
    'Give a catalog name ("smollm2-135m"), a Hub id ("owner/name"), '
    'or a folder that begins with "./" or "/".'
)


@dataclass(frozen=True)
class Source:
    """Where a model comes from: exactly one of entry, repo and folder is set.

    name is how messages and links call it: for a folder its last part, never the whole path.
    """

    name: str
    entry: CatalogEntry | None = None
    repo: str | None = None
    folder: Path | None = None

    @property
    def is_planted(self) -> bool:
        """Whether code writes the model, so that there is nothing to fetch."""
        return self.entry is not None and self.entry.wheel is None


def find_source(name: str | Path, *, allow_folders: bool = True) -> Source:
    """The source that a name stands for.

    A catalog name wins. A `pathlib.Path`, a text that begins with `/`, `./`, `../` or `~/`, and
    a text with a slash in it that leads to a folder, mean that folder. Anything else must have
    the form of a Hub id, `name` or `owner/name`. Spaces around a text are dropped.

    Raises BadInput if the form fits none of these, or means a folder and `allow_folders` is off:
    then the disk is not looked at, so the answer is the same whether or not the path exists.
    Raises ModelNotFound if a folder is meant and none is there.

    >>> find_source(" smollm2-135m ").entry.layers
    30
    >>> find_source("openai-community/gpt2").repo
    'openai-community/gpt2'
    """
    if isinstance(name, Path):
        return _find_folder(name) if allow_folders else _refuse_name()
    if not isinstance(name, str):
        raise BadInput(
            what="This is not a model name.", why="A name is a text or a path.", todo=_TODO
        )
    name = name.strip()
    if name in CATALOG:
        return Source(name, entry=CATALOG[name])
    if allow_folders and _looks_like_folder(name):
        return _find_folder(Path(name).expanduser())
    if _is_hub_id(name):
        return Source(name, repo=name)
    return _refuse_name()


def check_revision(revision: str | None) -> None:
    """Raise BadInput unless a revision has the form of a branch, tag or commit."""
    if revision is None:
        return
    if not _REVISION.fullmatch(revision) or ".." in revision or "//" in revision:
        raise BadInput(
            what="This is not a revision.",
            why="A revision is the name of a branch or tag, or a commit hash.",
            todo='Leave it out for the newest one, or give a name such as "main".',
        )


def _looks_like_folder(name: str) -> bool:
    if "\0" in name or "://" in name:
        return False
    return name.startswith(("/", "./", "../", "~/")) or ("/" in name and _is_folder(Path(name)))


def _is_hub_id(name: str) -> bool:
    parts = name.split("/")
    return (
        len(name) <= _LONGEST_ID
        and len(parts) <= 2
        and all(_PART.fullmatch(part) for part in parts)
        and "--" not in name
        and ".." not in name
        and not name.endswith(".git")
    )


def _find_folder(path: Path) -> Source:
    if not _is_folder(path):
        raise ModelNotFound(
            what="There is no such model folder.",
            why="The name reads as a folder, and no folder is there.",
            todo="Check the path: it must lead to a folder that holds config.json and the weights.",
        )
    return Source(path.resolve().name or "folder", folder=path.resolve())


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):  # too long, or not a path at all
        return False


def _refuse_name() -> Source:
    # One message for every refused form, so that it tells nothing about this machine's disk.
    raise BadInput(
        what="This is not a model name that attnviz can use.",
        why="A name is letters, digits, dots, dashes and underscores, with at most one slash.",
        todo=_TODO,
    )
