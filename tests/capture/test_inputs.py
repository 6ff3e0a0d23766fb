"""What may go into a capture, and what is said about the rest."""

import pytest

import attnviz
from tests import tiny


@pytest.mark.parametrize(
    "name",
    ["BertModel", "GPT2LMHeadModel"],
)
def test_a_text_past_the_position_table_is_refused_or_cut_on_request(name):
    """huggingface/transformers#2446, #5611, #2371: size and index errors that name nothing."""
    size = {"n_positions": 16} if name.startswith("GPT2") else {"max_position_embeddings": 16}
    model = attnviz.wrap(tiny.hf(name, **size))
    with pytest.raises(attnviz.TooLarge, match="20 tokens.*takes 16"):
        attnviz.capture(model, input_ids=tiny.ids(20))
    cap = attnviz.capture(model, input_ids=tiny.ids(20), cut=True)
    assert len(cap.key_tokens()) == 16
    assert any("4 were left out" in note for note in cap.notes)


def test_a_rotary_model_runs_past_its_trained_length_and_says_so():
    """huggingface/transformers#2371: silence."""
    model = attnviz.wrap(tiny.hf("LlamaForCausalLM", max_position_embeddings=16))
    cap = attnviz.capture(model, input_ids=tiny.ids(20))
    assert len(cap.key_tokens()) == 20
    assert any("16" in note and "trained" in note for note in cap.notes)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({}, "one text"),
        ({"text": "a", "input_ids": [1]}, "one text"),
        ({"text": "a"}, "tokenizer"),
        ({"input_ids": []}, "no tokens"),
        ({"input_ids": [[1, 2], [3, 4]]}, "shape"),
        ({"input_ids": [0.5]}, "whole numbers"),
        ({"input_ids": [1, -2]}, "vocabulary"),
        ({"input_ids": [5, 6], "attention_mask": [1]}, "mask entries"),
    ],
)
def test_bad_input_is_named(options, says):
    model = attnviz.wrap(tiny.hf("LlamaForCausalLM"))
    with pytest.raises(attnviz.BadInput, match=says):
        attnviz.capture(model, **options)


def test_layers_and_heads_count_from_zero_and_end_where_the_model_does():
    """EleutherAI/sparsify#16, huggingface/transformers#2383: is layer 24 the 24th or the 25th."""
    model = attnviz.wrap(tiny.hf("LlamaForCausalLM", num_hidden_layers=12))
    cap = attnviz.capture(model, input_ids=tiny.ids(4))
    assert cap.layers() == list(range(12))
    assert cap.head(11, 3).layer == 11
    for layer, head in ((12, 0), (-1, 0), (0, 4), (0, -1)):
        with pytest.raises(attnviz.BadInput, match="Choose one"):
            cap.head(layer, head)


def test_encoders_have_no_cross_attention_to_pick():
    """huggingface/transformers#2383: the field exists and holds an empty tuple."""
    for name in ("BertModel", "RobertaModel", "GPT2LMHeadModel"):
        assert len(attnviz.capture(attnviz.wrap(tiny.hf(name)), input_ids=tiny.ids(4)).stacks) == 1


def test_stacks_of_different_size_keep_their_own_layers_and_heads():
    """huggingface/transformers#16232, jessevig/bertviz#67."""
    model = attnviz.wrap(tiny.hf("BartForConditionalGeneration"))
    cap = attnviz.capture(model, input_ids=[5, 6, 7], decoder_input_ids=[2, 8])
    sizes = {stack: (len(cap.layers(stack)), cap.heads(0, stack)) for stack in cap.stacks}
    assert sizes == {"encoder": (2, 4), "decoder": (3, 2), "cross": (3, 2)}
    assert cap.head(1, 1, "cross").weights.shape == (2, 3)


@pytest.mark.parametrize("name", ["BartForConditionalGeneration", "T5ForConditionalGeneration"])
def test_a_target_that_is_not_given_is_generated_and_said(name):
    """jessevig/bertviz#72, #74, #133: the source was silently copied into the decoder."""
    model = attnviz.wrap(tiny.hf(name))
    cap = attnviz.capture(model, input_ids=[5, 6, 7])
    assert any("generated" in note for note in cap.notes)
    start = model.hf.config.decoder_start_token_id
    rows = [token.id for token in cap.query_tokens("cross")]
    assert rows[0] == start and rows != [start, 5, 6, 7]
    assert [token.id for token in cap.key_tokens("cross")] == [5, 6, 7]


def test_a_model_in_training_mode_writes_the_same_target_each_time():
    """idiap/fast-transformers#131, pytorch/pytorch#42929: dropout in what is shown."""
    hf = tiny.hf("T5ForConditionalGeneration").train()
    model = attnviz.wrap(hf)
    first, second = (
        attnviz.capture(model, input_ids=[5, 6, 7, 8]).forward["decoder_input_ids"].tolist()
        for _ in range(2)
    )
    assert first == second and len(first[0]) > 3
    assert hf.training and all(module.training for module in hf.modules())
