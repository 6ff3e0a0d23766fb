"""Controls: what measures come to on the same tokens shuffled, and on tokens drawn at random."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from attnviz.detectors.measures import SHARES
from attnviz.detectors.profiles import Grids, profile
from attnviz.progress import Step

if TYPE_CHECKING:
    from attnviz.capture import Capture
    from attnviz.models import LoadedModel


def controls(
    model: "LoadedModel",
    capture: "Capture",
    stack: str | None = None,
    *,
    draws: int = 3,
    progress: Step | None = None,
) -> dict[str, Grids]:
    """{"text", "shuffled" or "random": {measure: (layer, head) float32, 0 to 1}}: the measures of
    `SHARES` on the text that was captured, on its tokens in other orders, and on tokens drawn
    evenly from the vocabulary; the latter two are means over so many draws. Special tokens stay
    where they are. NaN where no draw has a number.

    Args:
        model, capture: the model, and what it was captured on.
        stack: "decoder", "encoder" or "cross"; as for `Capture.head`.
        draws: of each.
        progress: called with (done, total) after each text.

    >>> import attnviz
    >>> model = attnviz.load("planted-circuit")
    >>> text = "red fox ran home red fox ran home"
    >>> found = controls(model, attnviz.capture(model, text))
    >>> [round(float(found[on]["previous_token"][0, 0]), 2) for on in found]
    [1.0, 1.0, 1.0]
    """
    grids = {"text": profile(capture, stack, measures=SHARES).values}
    total = 1 + 2 * draws
    for name, make in (("shuffled", shuffle_tokens), ("random", draw_tokens)):
        several: list[Grids] = []
        for seed in range(draws):
            if progress:
                progress(1 + (name == "random") * draws + seed, total)
            other = _capture(model, capture, make(model, capture, seed))
            several.append(profile(other, stack, measures=SHARES).values)
        grids[name] = {one: _mean([grid[one] for grid in several]) for one in SHARES}
    if progress:
        progress(total, total)
    return grids


def _mean(grids: list[NDArray]) -> NDArray:
    """The mean over draws that have a number; NaN where none has one."""
    stacked = np.stack(grids)
    count = np.isfinite(stacked).sum(axis=0)
    return np.where(count > 0, np.nansum(stacked, axis=0) / np.maximum(count, 1), np.nan)


def _capture(model: "LoadedModel", capture: "Capture", ids: list[int]) -> "Capture":
    from attnviz.capture import capture as run

    target = capture.forward.get("decoder_input_ids")
    more = {} if target is None else {"decoder_input_ids": target}
    return run(model, input_ids=ids, **more)


def _free(model: "LoadedModel", capture: "Capture") -> tuple[NDArray, NDArray]:
    """The ids of the text, and the places whose token may be exchanged: none of a special one."""
    ids = capture.forward["input_ids"][0].cpu().numpy().copy()
    special = set(getattr(model.tokenizer, "all_special_ids", None) or [])
    return ids, np.array([i for i, token in enumerate(ids) if int(token) not in special], int)


def shuffle_tokens(model: "LoadedModel", capture: "Capture", seed: int) -> list[int]:
    """The ids of the text in another order; special ones stay where they are."""
    ids, free = _free(model, capture)
    ids[free] = np.random.default_rng(seed).permutation(ids[free])
    return [int(token) for token in ids]


def draw_tokens(model: "LoadedModel", capture: "Capture", seed: int) -> list[int]:
    """As many ids drawn evenly from the vocabulary; special ones stay where they are."""
    ids, free = _free(model, capture)
    size = int(model.hf.get_input_embeddings().weight.shape[0])
    special = np.array(list(getattr(model.tokenizer, "all_special_ids", None) or []), int)
    pool = np.setdiff1d(np.arange(size), special)
    ids[free] = np.random.default_rng(seed).choice(pool, len(free))
    return [int(token) for token in ids]
