"""Mistakes in how a capture is taken and checked."""

from tests.mutation.trial import broken

_PARITY = "tests/capture/test_parity.py::test_"
_SCORES = "tests/capture/test_scores.py::test_"
_MASKS = "tests/capture/test_masks.py::test_"
_BRIDGE = "tests/capture/test_bridge.py::test_"
_SHARING = "tests/capture/test_sharing.py::test_"
_RECEIPT = "tests/capture/test_receipt.py::test_"
_HIDDEN = "tests/capture/test_hidden.py::test_"
_WATCHED = "tests/capture/test_watched.py::test_"
_BIASES = "tests/capture/test_biases.py::test_"
_PADDING = "tests/capture/test_padding.py::test_"
_FIELDS = "tests/capture/test_fields.py::test_"
_KEEP_MASK = "tests/capture/test_ways.py::test_a_causal_model_keeps_its_mask_under_the_private_name"
_MOVED = "tests/capture/test_ways.py::test_a_way_that_moves_the_outputs_is_not_taken"
_OWN_WEIGHTS = _PARITY + "weights_are_the_models_own[Gemma-2, soft cap]"
_FUTURE = _MASKS + "the_fast_kernel_hides_the_future_as_plain_attention_does"
_CONFIG = _SCORES + "scores_are_capped_before_the_mask_and_scaled_by_the_config"

READING = (
    broken(
        "every model is scaled by 1/sqrt(d)",
        "capture/recording.py",
        'scaling=kwargs.get("scaling"),',
        "scaling=None,",
        _CONFIG,
    ),
    broken(
        "the soft cap is dropped",
        "capture/recording.py",
        'softcap=kwargs.get("softcap"),',
        "softcap=None,",
        _CONFIG,
    ),
    broken(
        "the position bias is dropped",
        "capture/recording.py",
        'biases["position bias"] = position_bias[0, :, :, :keys]',
        "pass",
        _SCORES + "t5_scores_are_not_divided_and_carry_the_bias_of_the_first_layer",
    ),
    broken(
        "a bias that comes in the mask is dropped",
        "capture/recording.py",
        "return allowed, added if bool(added.any()) else None",
        "return allowed, None",
        _BRIDGE + "a_model_that_calls_the_fast_kernel_itself",
    ),
    broken(
        "every head has the sink of the first",
        "capture/block.py",
        "float(self.sink[head])",
        "float(self.sink[0])",
        "tests/test_sinks.py::test_each_head_of_a_model_has_its_own_sink",
    ),
    broken(
        "the order of groups is wrong: heads take turns at keys and values",
        "capture/block.py",
        "kv = head // (self.heads // self.kv_heads)",
        "kv = head % self.kv_heads",
        _SCORES + "grouped_heads_read_the_value_head_of_their_group",
        _PARITY + "weights_are_the_models_own[Llama, grouped heads]",
    ),
    broken(
        "two value heads are swapped",
        "capture/block.py",
        "numpy(self.v[kv if len(self.v) > 1 else 0])",
        "numpy(self.v[(kv ^ 1) if len(self.v) > 1 else 0])",
        _PARITY + "contributions_add_up_to_the_blocks_output[Llama, grouped heads]",
    ),
    broken(
        "the slice of W_O is one of its output, not of its input",
        "capture/block.py",
        "self.weight[:, head * size : (head + 1) * size]).T",
        "self.weight[head * size : (head + 1) * size])",
        _PARITY + "contributions_add_up_to_the_blocks_output[GPT-2]",
    ),
    broken(
        "one cell too many is masked: a query does not see itself",
        "capture/block.py",
        "return to <= of if self.causal",
        "return to < of if self.causal",
        _FUTURE,
    ),
    broken(
        "one cell too few is masked: a query sees the next token",
        "capture/block.py",
        "return to <= of if self.causal",
        "return to <= of + 1 if self.causal",
        _FUTURE,
    ),
    broken(
        "one cell too many of a mask that is passed is masked",
        "capture/recording.py",
        "    allowed = ~hidden(one)\n",
        "    allowed = ~hidden(one)\n    allowed[..., -1, -2] = False\n",
        _OWN_WEIGHTS,
    ),
    broken(
        "one cell too few of a mask that is passed is masked",
        "capture/recording.py",
        "    allowed = ~hidden(one)\n",
        "    allowed = ~hidden(one)\n    allowed[..., 0, 1] = True\n",
        _MASKS + "windows_are_exact_and_said_layer_by_layer[Gemma2ForCausalLM]",
    ),
    broken(
        "real tokens behind padding move their positions",
        "capture/inputs.py",
        "(mask.cumsum(-1) - 1).clamp(min=0)",
        "torch.arange(mask.shape[1])[None]",
        _MASKS + "padding_on_the_left_changes_no_number",
    ),
    broken(
        "layers are numbered in the order they are met",
        "capture/stack.py",
        "self._calls[stack] if self._shared else self._layer(module, path, stack)",
        "self._calls[stack]",
        _BRIDGE + "a_hybrid_keeps_its_own_layer_numbers",
    ),
    broken(
        "a score that was followed wrongly is shown all the same",
        "capture/watched.py",
        "return bool(difference <= ROUNDING.get(real.dtype, 2e-2) * size)",
        "return True",
        _WATCHED + "a_score_that_was_followed_wrongly_is_shown_as_watched",
    ),
    broken(
        "a mask of -10000 is taken for a bias",
        "capture/recording.py",
        " | (numbers == -10000)",
        "",
        _HIDDEN + "numbers_by_which_models_mask",
    ),
    broken(
        "a large bias is taken for a mask",
        "capture/recording.py",
        "(numbers <= max(lowest, -1e8))",
        "(numbers <= -1e4)",
        _HIDDEN + "numbers_that_are_a_bias_however_large",
    ),
    broken(
        "a bias that is taken off is added",
        "capture/bridge.py",
        '-float(kwargs.get("alpha", 1)))',
        'float(kwargs.get("alpha", 1)))',
        _WATCHED + "a_score_that_was_followed_shows_how_it_came_about",
    ),
    broken(
        "what shows is what is hidden",
        "capture/bridge.py",
        "score.masked(mask.bool())",
        "score.masked(~mask.bool())",
        _WATCHED + "a_score_that_was_followed_shows_how_it_came_about",
    ),
    broken(
        "the bias of the output projection is left out",
        "capture/projected.py",
        "args[2].T, args[0].detach(), result",
        "args[2].T, None, result",
        _BIASES + "contributions_and_the_bias_are_the_output_of_the_projection",
    ),
    broken(
        "the padding of the source is taken for the target's",
        "capture/result.py",
        'self.padding.get("encoder" if block.stack == "cross" else block.stack)',
        "self.padding.get(block.stack)",
        _PADDING + "a_padded_source_masks_keys_of_the_encoder_and_of_cross_attention",
    ),
    broken(
        "an encoder is given positions of our own",
        "capture/inputs.py",
        'if side == "decoder" and mask',
        "if mask",
        _PADDING + "an_encoder_keeps_its_own_positions_behind_padding",
    ),
    broken(
        "a projection is found by its shape",
        "capture/recording.py",
        "return torch.equal(vectors.reshape(-1).to(mixed.device), mixed.reshape(-1))",
        "return True",
        _BRIDGE + "a_hybrid_keeps_its_own_layer_numbers",
    ),
    broken(
        "logits of an encoder are those of the places that are not masked",
        "capture/forward.py",
        "torch.nonzero(ids[0] == mask)",
        "torch.nonzero(ids[0] != mask)",
        "tests/capture/test_outputs.py::test_logits_of_an_encoder_are_those_of_its_masked_places",
    ),
)

CHECKING = (
    broken(
        "no mask function is registered under the private name",
        "capture/interface.py",
        "        ALL_MASK_ATTENTION_FUNCTIONS.register(PREFIX + base, mask)\n",
        "",
        _KEEP_MASK,
    ),
    broken(
        "a way that moves the model's outputs is taken",
        "capture/ways.py",
        "    if change:\n        raise",
        "    if False:\n        raise",
        _MOVED,
    ),
    broken(
        "a way that misses a block is taken",
        "capture/ways.py",
        "    if found != expected:\n",
        "    if False:\n",
        "tests/capture/test_ways.py::test_a_way_that_misses_a_block_is_not_taken",
    ),
    broken(
        "the receipt's tolerance is ignored",
        "capture/receipt.py",
        'if not error <= TOLERANCE.get(dtype, TOLERANCE["float32"]):',
        'if not error <= float("inf"):',
        _SHARING + "a_weight_that_does_not_check_out_is_refused_not_shown",
    ),
    broken(
        "the receipt looks at the beginning of a long text alone",
        "capture/recording.py",
        "np.linspace(0, queries - 1, count)",
        "np.linspace(0, count - 1, count)",
        _RECEIPT + "the_rows_that_are_checked_are_spread_over_the_whole_text",
    ),
    broken(
        "the receipt does not look at the block's output",
        "capture/receipt.py",
        "    if call.output_rows is not None and block.projection is not None:\n",
        "    if False:\n",
        _RECEIPT + "a_wrong_slice_of_the_projection_is_refused",
    ),
    broken(
        "a part of a model is shown as the whole",
        "capture/receipt.py",
        "    if receipt.recorded != receipt.expected:\n",
        "    if False:\n",
        _RECEIPT + "missing_blocks_are_refused",
    ),
    broken(
        "two blocks of one layer are shown as one",
        "capture/receipt.py",
        "    _refuse_doubles([call.block for call in calls])\n",
        "",
        _RECEIPT + "two_blocks_of_one_layer_are_refused",
    ),
    broken(
        "an unknown setting of attention is let through",
        "capture/ways.py",
        "    refuse_unknown(hf.config)\n",
        "",
        _FIELDS + "an_unknown_setting_of_attention_is_refused_by_name",
    ),
    broken(
        "an unknown argument of the call is let through",
        "capture/recording.py",
        "        call.refuse_unknown(place[2])\n",
        "",
        _FIELDS + "an_unknown_argument_of_the_call_is_refused_by_name",
    ),
    broken(
        "weights that change before they mix values are shown all the same",
        "capture/bridge.py",
        "if not torch.equal(weights.reshape(-1), watched.weights.to(weights.dtype).reshape(-1)):",
        "if False:",
        _WATCHED + "weights_that_change_before_they_mix_values_are_refused",
    ),
)

MUTATIONS = (*READING, *CHECKING)
