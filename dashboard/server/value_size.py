"""What a value takes in memory, as far as it is numbers."""

import dataclasses
import sys
from collections.abc import Iterable, Mapping
from typing import Any


def count_bytes(value: Any) -> int:
    """Bytes of all arrays, tensors and tables in a value, each counted once; texts and single
    numbers are not counted. A value that says what it takes is believed."""
    return _weigh(value, set())


def _weigh(value: Any, seen: set[int]) -> int:
    if value is None or isinstance(value, str | bytes | int | float | type):
        return 0
    base = getattr(value, "base", None)  # a view keeps the whole of what it looks at
    value = base if hasattr(base, "nbytes") else value
    if id(value) in seen:
        return 0
    seen.add(id(value))
    if isinstance(value, _loaded("torch.nn", "Module")):
        return 0  # models have a bound of their own
    if isinstance(value, _loaded("pandas", "DataFrame")):
        return int(value.memory_usage(index=True, deep=False).sum())
    if isinstance(size := getattr(value, "nbytes", None), int):
        return size
    return sum(_weigh(part, seen) for part in _parts(value))


def _parts(value: Any) -> Iterable[Any]:
    if isinstance(value, Mapping):
        return value.values()
    if isinstance(value, list | tuple | set | frozenset):
        return value
    if dataclasses.is_dataclass(value):
        return [getattr(value, field.name, None) for field in dataclasses.fields(value)]
    if type(value).__module__.startswith(("attnviz", "dashboard")):
        return vars(value).values()
    return ()


def _loaded(module: str, name: str) -> Any:
    """A class of a library that may not have been imported, and need not be for this."""
    return getattr(sys.modules.get(module), name, ())
