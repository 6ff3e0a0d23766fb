"""Mistakes in what is computed from a capture: scores, weights, masks, contributions, labels."""

from tests.mutation.trial import Edit, Mutation, broken

_HEAD = "tests/test_head.py::test_"
_CONTRIBUTIONS = "tests/test_contributions.py::test_"
_TOKENS = "tests/test_tokens.py::test_"
_IN_ORDER = _HEAD + "stages_come_in_order_and_biases_are_added_after_the_cap"
_MASK_REASONS = _HEAD + "why_a_cell_is_masked"
_CAPPED = """    if softcap is not None:
        cap = np.float32(softcap)
        yield "capped", lambda score, out: cap * np.tanh(score / cap, out=out)
"""
_TEMPERED = """    if temperature != 1.0:
        yield "tempered", lambda score, out: np.divide(score, np.float32(temperature), out=out)
"""
_MASKED = """    if allowed is not None and not allowed.all():
        yield "masked", lambda score, out: _masked(score, allowed, out)
"""

SCORES = (
    broken(
        "the scale is applied twice",
        "softmax.py",
        "np.multiply(score, np.float32(scaling), out=out)",
        "np.multiply(score, np.float32(scaling) ** 2, out=out)",
        "tests/capture/test_parity.py::test_weights_are_the_models_own[Llama, grouped heads]",
    ),
    broken(
        "queries and keys are exchanged",
        "softmax.py",
        "score = q @ np.swapaxes(k, -1, -2)",
        "score = np.swapaxes(q @ np.swapaxes(k, -1, -2), -1, -2)",
        _IN_ORDER,
    ),
    Mutation(
        "the soft cap comes after the mask",
        (
            Edit("softmax.py", _CAPPED, ""),
            Edit("softmax.py", _MASKED, _MASKED + _CAPPED),
        ),
        (_IN_ORDER,),
    ),
    broken(
        "a bias is added before the cap",
        "softmax.py",
        "np.tanh(score / cap, out=out)",
        "np.tanh((score + sum((biases or {}).values())) / cap)",
        _IN_ORDER,
    ),
    broken(
        "the temperature comes after the mask",
        "softmax.py",
        _TEMPERED + _MASKED,
        _MASKED.replace(
            "_masked(score, allowed, out)", "np.where(allowed, score, np.float32(-1e4))"
        )
        + _TEMPERED,
        _HEAD + "a_very_high_temperature_is_even_over_unmasked_keys_only",
    ),
    broken(
        "a second temperature takes the place of the first",
        "head.py",
        "temperature=self.temperature * temperature",
        "temperature=temperature",
        "tests/test_head_masks.py::test_temperatures_multiply",
    ),
    broken(
        "the temperature leaves the sink alone",
        "head.py",
        "else self.sink_logit / self.temperature",
        "else self.sink_logit",
        "tests/test_sinks.py::test_temperature_divides_the_logit_of_the_sink_as_well",
    ),
)

WEIGHTS = (
    broken(
        "the sink is left out of the denominator",
        "softmax.py",
        "total = weights.sum(axis=-1, keepdims=True) + extra",
        "total = weights.sum(axis=-1, keepdims=True)",
        _HEAD + "a_sink_takes_its_share_of_the_row_and_no_value",
    ),
    broken(
        "rows are made to add up to 1 again",
        "head.py",
        "        return _frozen(weights), _frozen(sink)\n",
        "        weights = weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-9)\n"
        "        return _frozen(weights), _frozen(sink)\n",
        _HEAD + "a_sink_takes_its_share_of_the_row_and_no_value",
    ),
    broken(
        "the largest score is not taken off before exp",
        "softmax.py",
        "shift = np.where(np.isfinite(top), top, np.float32(0))",
        "shift = np.zeros_like(top)",
        _HEAD + "scores_beyond_the_range_of_exp_still_give_weights",
    ),
    broken(
        "a row that attends to nothing is even",
        "softmax.py",
        "    total[total == 0] = 1\n",
        "    weights = np.where(total == 0, 1 / scores.shape[-1], weights)\n"
        "    total[total == 0] = 1\n",
        _HEAD + "a_row_that_attends_to_nothing_has_no_weight_anywhere",
    ),
)

MASKS = (
    broken(
        "the window is off by one",
        "head.py",
        "np.abs(of - to) >= self.window",
        "np.abs(of - to) > self.window",
        _MASK_REASONS,
    ),
    broken(
        "a query that may look one token ahead is called causal",
        "head.py",
        "rows = allowed[start : start + block, first + start + 1 :]",
        "rows = allowed[start : start + block, first + start + 2 :]",
        "tests/test_head_masks.py::test_a_band_around_the_diagonal_looks_ahead_and_is_not_causal",
    ),
    broken(
        "padding of a source masks rows of the target",
        "head.py",
        'if self.stack != "cross":',
        "if True:",
        "tests/test_head_masks.py::"
        "test_padding_of_the_source_masks_columns_of_cross_attention_and_no_rows",
    ),
    broken(
        "padding is not told from the future",
        "head.py",
        "            reason[:, self.padding] = PADDING\n",
        "            pass\n",
        _MASK_REASONS,
    ),
    broken(
        "a masked key has a score of its own in the table",
        "contributions.py",
        "np.where(head.allowed[query], scores, np.float32(np.nan))",
        "np.where(head.allowed[query], scores, np.float32(-1e9))",
        _CONTRIBUTIONS + "masked_keys_have_no_score_and_add_nothing",
    ),
)

CONTRIBUTIONS = (
    broken(
        "contributions stop before the output projection",
        "contributions.py",
        "self.offers = head.v @ head.w_o",
        "self.offers = head.v",
        _CONTRIBUTIONS + "the_output_projection_may_turn_a_contribution_to_nothing",
    ),
    broken(
        "the weight is called the contribution",
        "contributions.py",
        "return self.weights * self._norms(self.offers)",
        "return self.weights",
        _CONTRIBUTIONS + "a_token_with_nine_tenths_of_the_weight_may_add_next_to_nothing",
    ),
    broken(
        "signed shares are measured along the key, not along the output",
        "contributions.py",
        "length = (output * output).sum(axis=1, keepdims=True)",
        "length = np.sqrt((output * output).sum(axis=1, keepdims=True))",
        _CONTRIBUTIONS + "norms_do_not_add_up_and_signed_shares_do",
    ),
)

LABELS = (
    broken(
        "labels are shifted by one",
        "tokens/parts.py",
        "enumerate(zip(parts, labels, strict=True))",
        "enumerate(zip(parts, labels[-1:] + labels[:-1], strict=True))",
        _TOKENS + "no_start_token_is_added_or_dropped",
    ),
    broken(
        "columns are labelled by the token before",
        "capture/result.py",
        "key_tokens=self.key_tokens(block.stack),",
        "key_tokens=[*self.key_tokens(block.stack)[-1:], *self.key_tokens(block.stack)[:-1]],",
        "tests/capture/test_labels.py::test_rows_and_columns_are_named_by_the_tokens_at_their_places",
    ),
    broken(
        "columns of cross-attention are labelled by the target",
        "capture/result.py",
        'return self.tokens["encoder" if stack == "cross" else stack]',
        'return self.tokens["decoder" if stack == "cross" else stack]',
        "tests/capture/test_labels.py::test_a_target_is_read_behind_the_start_token",
    ),
    broken(
        "rows of a decoder are labelled by what it is to say, not by what it reads",
        "capture/inputs.py",
        "torch.tensor([[start, *(written[:-1] if written[-1:] == [ends] else written)]])",
        "torch.tensor([written])",
        "tests/capture/test_labels.py::test_a_target_is_read_behind_the_start_token",
    ),
    broken(
        "the span of a token is off by one",
        "tokens/spans.py",
        "laid.append((spelling, (start, end)))",
        "laid.append((spelling, (start, min(end + 1, len(source)))))",
        _TOKENS + "wordpiece_keeps_its_own_marks_and_the_case_of_the_source",
        _TOKENS + "an_emoji_of_four_tokens_is_one_character_in_four_parts",
    ),
    broken(
        "special tokens are not marked",
        "tokens/parts.py",
        "part.special = part.id in reader.special",
        "part.special = False",
        _TOKENS + "markup_stays_literal_and_a_typed_start_token_is_told_from_the_real_one",
    ),
    broken(
        "a start token is dropped",
        "tokens/text.py",
        '"add_special_tokens": add_special_tokens}',
        '"add_special_tokens": False}',
        _TOKENS + "no_start_token_is_added_or_dropped",
    ),
)

MUTATIONS = (*SCORES, *WEIGHTS, *MASKS, *CONTRIBUTIONS, *LABELS)
