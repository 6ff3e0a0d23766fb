"""Mutations: mistakes made on purpose, in a copy of the library."""

import shutil
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
COPIED = ("attnviz", "tests", "pyproject.toml")
LEFT_OUT = shutil.ignore_patterns("__pycache__", "mutation", "browser", "pages", "bench")


@dataclass(frozen=True)
class Edit:
    """One change of source under attnviz/; `old` must be there exactly once."""

    file: str
    old: str
    new: str


@dataclass(frozen=True)
class Mutation:
    """A way to be wrong, and the narrowest tests that should notice."""

    name: str
    edits: tuple[Edit, ...]
    tests: tuple[str, ...]

    def apply(self, root: Path) -> None:
        """Break the copy at `root`."""
        for edit in self.edits:
            path = root / "attnviz" / edit.file
            source = path.read_text(encoding="utf-8") if path.exists() else ""
            count = source.count(edit.old)
            assert count == 1, (
                f"The list of mutations is stale. {self.name!r} needs this once in {edit.file}, "
                f"and it is there {count} times; see what it became, and mend the list:\n{edit.old}"
            )
            broken = source.replace(edit.old, edit.new)
            # A mutation is a wrong program, and still a program. Not by ast.parse: trees made in
            # two threads at once break one another in Python 3.11 (python/cpython#106905).
            compile(broken, edit.file, "exec")
            path.write_text(broken, encoding="utf-8")


def broken(name: str, file: str, old: str, new: str, *tests: str) -> Mutation:
    """A mutation of one place."""
    return Mutation(name, (Edit(file, old, new),), tests)


def copy_to(folder: Path) -> Path:
    """What the tests need of this repository, in a folder of its own."""
    for name in COPIED:
        source, target = ROOT / name, folder / name
        if source.is_dir():
            shutil.copytree(source, target, ignore=LEFT_OUT)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
    return folder
