"""Model state: what a capture must switch on a shared model, switched back when the last capture
that needs it is done.

Two threads may capture on one model at once, so each switched attribute is counted: the first
holder switches it, the last one puts the old value back, and none sees it flip underway.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch.nn import Module

PREFIX = "attnviz_"
_ATTENTION = "_attn_implementation_internal"


class _Holds:
    """Attributes held at a value, by object and name: [object, old value, holders]."""

    def __init__(self) -> None:
        self._held: dict[tuple[int, str], list[Any]] = {}

    def value(self, thing: Any, name: str) -> Any:
        """The value outside every capture."""
        entry = self._held.get((id(thing), name))
        return entry[1] if entry else getattr(thing, name)

    def hold(self, thing: Any, name: str, value: Any) -> None:
        entry = self._held.setdefault((id(thing), name), [thing, getattr(thing, name), 0])
        entry[2] += 1
        setattr(thing, name, value)

    def release(self, thing: Any, name: str) -> None:
        entry = self._held[(id(thing), name)]
        entry[2] -= 1
        if entry[2] == 0:
            setattr(thing, name, entry[1])
            del self._held[(id(thing), name)]


_holds = _Holds()
_lock = Lock()


def attention_of(hf: "Module") -> str:
    """The attention implementation that a capture of this model runs on: "sdpa" or "eager"."""
    return _base(hf, hf.config)


def _base(hf: "Module", config: Any) -> str:
    implementation = _holds.value(config, _ATTENTION)
    if implementation in ("sdpa", "eager"):
        return implementation
    # None means eager to transformers; flash and flex kernels take no mask that can be shown,
    # so their models run on the kernel that computes the same and does
    return "sdpa" if implementation and getattr(hf, "_supports_sdpa", False) else "eager"


@contextmanager
def switch_model(hf: "Module", attention: str = "{own}") -> Iterator[None]:
    """Put the model in evaluation mode, and on another attention implementation if named.

    `attention` is the name to switch to; "{own}" in it stands for the model's own choice.
    Everything is as before afterwards, after an exception too.
    """
    with _lock:
        held: list[tuple[Any, str, Any]] = [
            (module, "training", False) for module in hf.modules() if _may_train(module)
        ]
        if attention != "{own}":
            held += [
                (config, _ATTENTION, attention.format(own=_base(hf, config)))
                for config in _configs(hf)
            ]
        for thing, name, value in held:
            _holds.hold(thing, name, value)
    try:
        yield
    finally:
        with _lock:
            for thing, name, _ in held:
                _holds.release(thing, name)


def _may_train(module: "Module") -> bool:
    return bool(_holds.value(module, "training"))


def _configs(hf: "Module") -> list[Any]:
    """Every distinct config that some part of the model reads its attention choice from."""
    found = {}
    for module in hf.modules():
        config = getattr(module, "config", None)
        if hasattr(config, _ATTENTION):
            found[id(config)] = config
    return list(found.values())
