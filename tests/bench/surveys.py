"""A survey against what one would write by hand: a loop over output_attentions, text by text.

The loop works out the values of the measures alone, one head after another, straight from their
definitions. It has no nulls, no ceilings, no quantiles, no examples, and no length of outputs,
which no attention matrix tells; the survey has all of them in its time.
"""

import copy
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch

from attnviz.survey.corpus import Text
from attnviz.survey.part import examine
from tests.bench import passage
from tests.bench.paired import paired
from tests.bench.report import Reach, Table

TEXTS, ROUNDS = 2, 3
_REACH = {256: 1 / 1.5, 1024: 1 / 3}


def against_a_plain_loop(table: Table, model: Any, length: int) -> None:
    """Seconds a text of a survey, as a part of the loop's."""
    plain = copy.deepcopy(model.hf)
    plain.set_attn_implementation("eager")
    text = passage.text(model.tokenizer, length)
    texts = [Text(number, f"text {number}", text) for number in range(TEXTS)]

    def loop() -> Any:
        return [by_hand(plain, model.tokenizer, one.text) for one in texts]

    def survey() -> Any:
        return examine(model, texts, max_tokens=length, most=5)

    times = paired(loop, survey, rounds=ROUNDS)
    reach = Reach(_REACH[length], length) if length in _REACH else None
    table.ratio("survey / plain loop over output_attentions: time", length, times, reach)


def by_hand(plain: Any, tokenizer: Any, text: str) -> dict[str, np.ndarray]:
    """{measure: (layer, head)} of one text, from all its attention matrices."""
    ids = tokenizer(text, return_tensors="pt")["input_ids"]
    with torch.no_grad():
        output = plain(ids, output_attentions=True, use_cache=False, logits_to_keep=1)
    tokens = ids[0].numpy()
    layers = [_of_layer(layer[0].numpy(), tokens) for layer in output.attentions]
    return {name: np.stack([layer[name] for layer in layers]) for name in layers[0]}


def _of_layer(weights: np.ndarray, tokens: np.ndarray) -> dict[str, np.ndarray]:
    """{measure: (head,)}; weights (head, query, key)."""
    count = len(tokens)
    query, key = np.arange(count)[:, None], np.arange(count)[None, :]
    earlier = key < query
    same = (tokens[:, None] == tokens[None, :]) & earlier
    after = (tokens[:, None] == np.concatenate([[-1], tokens[:-1]])[None, :]) & earlier
    masks = {"same_token": same, "duplicate_token": same, "induction": after}
    found: dict[str, list[float]] = {}
    for head in weights:
        for name, mask in masks.items():
            rows = mask.any(axis=1)
            found.setdefault(name, []).append(float((head * mask).sum(axis=1)[rows].mean()))
        found.setdefault("first_token", []).append(float(head[1:, 0].mean()))
        found.setdefault("previous_token", []).append(float(np.diagonal(head, -1).mean()))
        entropy = -(head * np.log(head + 1e-30)).sum(axis=1)
        found.setdefault("entropy", []).append(float(entropy.mean()))
        most = np.log(np.arange(2, count + 1))
        found.setdefault("focus", []).append(float((1 - entropy[1:] / most).mean()))
        distance = (head * (query - key)).sum(axis=1)
        found.setdefault("distance", []).append(float(distance.mean()))
    return {name: np.array(values) for name, values in found.items()}


def memory_of(texts: int, folder: Path | None = None) -> int:
    """Bytes at most of a survey of the planted circuit over so many texts; for a fresh process."""
    import resource

    from attnviz.survey import survey
    from attnviz.survey.probes import probe_texts

    out = folder or Path(tempfile.mkdtemp())
    survey("planted-circuit", probe_texts(texts), out)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
