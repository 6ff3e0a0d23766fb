"""Matrices of every kind, made the way models make them, at sizes 3 to 128.

Each case says what it really is. Half of the heads are synthetic, with scores from mild to hot,
causal or not, some with a key that all queries prefer; half are recorded from tiny models.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from attnviz import matrix_check as mc
from attnviz.heads.softmax import weigh

Array = NDArray[np.float32]
FILLS = (-np.inf, float(np.finfo(np.float32).min), -1e4, -1e9, -65504.0)


@dataclass(frozen=True)
class Case:
    """A matrix, what it really is, and the axis along which its rows were put."""

    kind: str
    matrix: Array
    axis: str | None


@dataclass(frozen=True)
class Raw:
    """The scores of the heads of one layer: (head, query, key), and what a query may look at."""

    scores: Array
    allowed: NDArray[np.bool_]
    sink_logit: float | None = None

    @property
    def masked(self) -> Array:
        return np.where(self.allowed, self.scores, np.float32(-np.inf))

    def weights(self, sink_logit: float | None = None) -> Array:
        return weigh(self.masked, sink_logit)[0]


def synthetic(rng: np.random.Generator) -> Raw:
    """Queries times keys, with everything that varies between real heads varied."""
    size = int(np.exp(rng.uniform(np.log(3), np.log(128.99))))
    width = int(rng.choice([4, 8, 16, 32, 64]))
    heads = int(rng.integers(2, 13))
    heat = np.exp(rng.uniform(np.log(0.3), np.log(6)))
    q, k = rng.normal(size=(2, heads, size, width)).astype(np.float32)
    scores = np.float32(heat / np.sqrt(width)) * (q @ k.transpose(0, 2, 1))
    if rng.random() < 0.3:
        scores[:, :, 0] += np.float32(rng.uniform(1, 6))
    if rng.random() < 0.3:
        scores += rng.normal(0, 2, (heads, size, 1)).astype(np.float32)
    causal = rng.random() < 0.6
    allowed = np.tril(np.ones((size, size), bool)) if causal else np.ones((size, size), bool)
    return Raw(scores, allowed)


MODELS = {
    "LlamaForCausalLM": {"num_key_value_heads": 2, "max_position_embeddings": 128},
    "GPT2LMHeadModel": {"n_positions": 128},
    "BertModel": {"max_position_embeddings": 128},
    "GptOssForCausalLM": {
        "num_key_value_heads": 2,
        "head_dim": 8,
        "num_local_experts": 2,
        "num_experts_per_tok": 1,
    },
}
LENGTHS = (3, 4, 5, 6, 8, 11, 16, 23, 40, 64, 128)


@cache
def recorded() -> list[Raw]:
    """Every layer of four tiny models on texts of many lengths."""
    import attnviz
    from tests import tiny

    layers = []
    for name, options in MODELS.items():
        for seed in (0, 1):
            model = attnviz.wrap(tiny.hf(name, seed=seed, **options))
            for length in LENGTHS:
                cap = attnviz.capture(model, input_ids=tiny.ids(length, seed=seed + 1))
                for layer in cap.layers():
                    heads = [cap.head(layer, head) for head in range(cap.heads(layer))]
                    scores = np.stack([list(head.stages.values())[1] for head in heads])
                    layers.append(Raw(scores, heads[0].allowed, heads[0].sink_logit))
    return layers


def raw(rng: np.random.Generator) -> Raw:
    if rng.random() < 0.5:
        layers = recorded()
        return layers[int(rng.integers(len(layers)))]
    return synthetic(rng)


def _one(rng: np.random.Generator, source: Raw) -> int:
    return int(rng.integers(len(source.scores)))


def scores(rng: np.random.Generator) -> Case:
    source = raw(rng)
    one = source.scores[_one(rng, source)]
    if rng.random() < 0.3:
        return Case(mc.SCORES, one, None)
    return Case(mc.SCORES, np.where(source.allowed, one, np.float32(rng.choice(FILLS))), None)


def weights(rng: np.random.Generator) -> Case:
    source = raw(rng)
    return Case(mc.WEIGHTS, source.weights()[_one(rng, source)], "rows")


def transposed(rng: np.random.Generator) -> Case:
    return Case(mc.WEIGHTS, weights(rng).matrix.T, "columns")


def sink(rng: np.random.Generator) -> Case:
    source = raw(rng)
    logit = source.sink_logit if source.sink_logit is not None else rng.normal(0, 2)
    return Case(mc.SINK_WEIGHTS, source.weights(logit)[_one(rng, source)], "rows")


def head_mean(rng: np.random.Generator) -> Case:
    return Case(mc.HEAD_MEAN, raw(rng).weights().mean(axis=0, dtype=np.float32), "rows")


def rounded(rng: np.random.Generator) -> Case:
    return Case(mc.ROUNDED_WEIGHTS, weights(rng).matrix.round(2), "rows")


def log_weights(rng: np.random.Generator) -> Case:
    with np.errstate(divide="ignore"):
        return Case(mc.LOG_WEIGHTS, np.log(weights(rng).matrix), "rows")


def zero_masked(rng: np.random.Generator) -> Case:
    """The upper triangle set to 0; without one, the columns of padding."""
    source = raw(rng)
    one, allowed = source.scores[_one(rng, source)], source.allowed
    if allowed.all():
        padding = int(rng.integers(1, max(2, len(one) // 3)))
        allowed = np.arange(len(one))[None, :] < len(one) - padding
    return Case(mc.ZERO_MASKED_SCORES, np.where(allowed, one, np.float32(0)), None)


def softmax_twice(rng: np.random.Generator) -> Case:
    """The second softmax knows of no mask, or of the same one."""
    source = raw(rng)
    once = source.weights()[_one(rng, source)]
    again = once if rng.random() < 0.5 else np.where(source.allowed, once, np.float32(-np.inf))
    return Case(mc.SOFTMAX_TWICE, weigh(again)[0], "rows")


def uniform_rows(rng: np.random.Generator) -> Case:
    allowed = raw(rng).allowed
    return Case(
        mc.UNIFORM_WEIGHTS, weigh(np.where(allowed, np.float32(0), np.float32(-np.inf)))[0], "rows"
    )


def positive_rows(rng: np.random.Generator) -> Case:
    size = int(np.exp(rng.uniform(np.log(3), np.log(128.99))))
    draw = rng.choice(["uniform", "exponential", "lognormal", "half-normal"])
    made = {
        "uniform": lambda: rng.random((size, size)),
        "exponential": lambda: rng.exponential(size=(size, size)),
        "lognormal": lambda: rng.lognormal(size=(size, size)),
        "half-normal": lambda: np.abs(rng.normal(size=(size, size))),
    }[draw]()
    # As large as weights are, or larger.
    scale = 1.0 if rng.random() < 0.5 else 1 / size
    return Case(mc.POSITIVE_ROWS, (scale * made).astype(np.float32), None)


MAKERS: dict[str, Callable[[np.random.Generator], Case]] = {
    "real scores": scores,
    "real weights": weights,
    "transposed weights": transposed,
    "sink rows": sink,
    "head mean": head_mean,
    "rounded to 2 decimals": rounded,
    "log-weights": log_weights,
    "zero-masked scores": zero_masked,
    "softmax twice": softmax_twice,
    "uniform rows": uniform_rows,
    "random positive rows": positive_rows,
}
