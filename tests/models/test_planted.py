"""Each planted head does its job, by the model's own plain attention."""

from typing import Any

import numpy as np
import pytest

from attnviz.models import planted
from tests.planted_heads import PLANTED

TEXTS = {
    "one repeat": "red fox ran home red fox ran home",
    "words it does not know": "The gardener 日本 ate, the gardener 日本 slept; 42, 42!",
    "a word twice in a row": "the the the cat cat sat",
    "no repeat": "one two three four",
    "long": "the old king met the queen by the river and the king gave the queen gold " * 20,
}


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return planted.build_tokenizer()


@pytest.fixture(scope="module", params=list(TEXTS))
def run(request: pytest.FixtureRequest, tokenizer: Any) -> Any:
    """Token ids, weights (layer, head, query, key) and logits of one text."""
    import torch

    model = planted.build_model()
    model.set_attn_implementation("eager")
    batch = tokenizer(TEXTS[request.param], return_tensors="pt")
    with torch.no_grad():
        out = model(**batch, output_attentions=True)
    weights = torch.stack([layer[0] for layer in out.attentions]).numpy()
    return batch.input_ids[0].tolist(), weights, out.logits[0].numpy()


def head_of(kind: str) -> tuple[int, int]:
    return next(place for place, planted_kind in PLANTED.items() if planted_kind == kind)


def test_every_head_is_accounted_for() -> None:
    places = {(layer, head) for layer in range(planted.LAYERS) for head in range(planted.HEADS)}
    assert set(PLANTED) == places


def test_the_previous_token_head_looks_one_back(run: Any) -> None:
    ids, weights, _ = run
    layer, head = head_of("previous-token")
    assert np.diagonal(weights[layer, head], -1).min() > 0.9


def test_the_duplicate_token_head_looks_at_earlier_copies(run: Any) -> None:
    ids, weights, _ = run
    layer, head = head_of("duplicate-token")
    for query, token in enumerate(ids):
        copies = [key for key in range(query) if ids[key] == token]
        row = weights[layer, head, query]
        assert (row[copies].sum() if copies else row[0]) > 0.9


def test_the_induction_head_looks_after_earlier_copies(run: Any) -> None:
    ids, weights, _ = run
    layer, head = head_of("induction")
    for query, token in enumerate(ids):
        targets = [key for key in range(1, query + 1) if ids[key - 1] == token]
        row = weights[layer, head, query]
        assert (row[targets].sum() if targets else row[0]) > 0.9


def test_the_sink_head_rests_on_a_first_token_that_has_little_to_give(run: Any) -> None:
    import torch

    ids, weights, _ = run
    layer, head = head_of("first-token")
    assert weights[layer, head, :, 0].min() > 0.9
    model = planted.build_model()
    kept: dict[str, Any] = {}
    hook = model.transformer.h[layer].attn.c_attn.register_forward_hook(
        lambda module, args, out: kept.update(qkv=out)
    )
    with torch.no_grad():
        model(torch.tensor([ids]))
    hook.remove()
    start = 2 * planted.WIDTH + head * planted.HEAD_WIDTH
    values = kept["qkv"][0, :, start : start + planted.HEAD_WIDTH].norm(dim=-1)
    assert values[0] < 0.05 * values[1:].min()


def test_the_uniform_heads_share_evenly(run: Any) -> None:
    ids, weights, _ = run
    n = len(ids)
    even = np.tril(np.ones((n, n))) / np.arange(1, n + 1)[:, None]
    uniform = [place for place, kind in PLANTED.items() if kind == "uniform"]
    assert len(uniform) == 2
    for layer, head in uniform:
        np.testing.assert_allclose(weights[layer, head], even, atol=1e-6)


def test_the_model_says_what_came_after_last_time(run: Any) -> None:
    ids, _, logits = run
    for query, token in enumerate(ids):
        after = {ids[key] for key in range(1, query + 1) if ids[key - 1] == token}
        if len(after) == 1:
            odds = np.exp(logits[query] - logits[query].max())
            assert logits[query].argmax() in after
            assert odds.max() / odds.sum() > 0.9


def test_words_are_single_tokens_and_any_text_comes_back(tokenizer: Any) -> None:
    ids = tokenizer("red fox")["input_ids"]
    assert tokenizer.convert_ids_to_tokens(ids) == ["<s>", "Ġred", "Ġfox"]
    odd = "Zürich 😀\n\tok  two"
    assert tokenizer.decode(tokenizer(odd, add_special_tokens=False)["input_ids"]) == " " + odd
    for word in planted.WORDS:
        assert len(tokenizer(word, add_special_tokens=False)["input_ids"]) == 1


def test_two_tokens_agree_on_one_clock_at_most(tokenizer: Any) -> None:
    codes = planted.build_model().transformer.wte.weight[:, planted.TOKEN].detach()
    products = codes @ codes.T
    assert (products.diagonal() == 3).all()
    products.fill_diagonal_(0)
    assert products.max() <= 1
    assert len(tokenizer) == len(codes) < 552


def test_it_is_the_same_model_each_time() -> None:
    first, second = planted.build_model().state_dict(), planted.build_model().state_dict()
    assert all((first[name] == second[name]).all() for name in first)


def test_the_layer_norms_change_nothing_but_the_faint_parts(tokenizer: Any) -> None:
    import torch

    model = planted.build_model()
    kept: list[Any] = []
    hooks = [
        block.ln_1.register_forward_hook(lambda module, args, out: kept.append((args[0], out)))
        for block in model.transformer.h
    ]
    with torch.no_grad():
        model(**tokenizer("red fox ran home red fox", return_tensors="pt"))
    for hook in hooks:
        hook.remove()
    (before_0, after_0), (before_1, after_1) = kept
    assert (before_0 - after_0).abs().max() < 1e-5
    assert (before_1 - after_1).abs().max() < 0.01
