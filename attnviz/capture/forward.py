"""The forward pass of a capture: run once, recorded, checked, and the model left as it was."""

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from attnviz.capture import strategies
from attnviz.capture.block import numpy
from attnviz.capture.config_fields import note_unknown
from attnviz.capture.expected import attention_blocks, without_attention
from attnviz.capture.inputs import Inputs, prepare_inputs
from attnviz.capture.receipt import Receipt, check
from attnviz.capture.recording import Recording
from attnviz.capture.refusals import explain_refusal
from attnviz.capture.result import Capture
from attnviz.errors import CaptureFailed, UnsupportedModel
from attnviz.models.placement import input_device
from attnviz.tokens import tokens_of_ids

if TYPE_CHECKING:
    from attnviz.models import LoadedModel


_IDS = ("input_ids", "attention_mask", "decoder_input_ids")


def capture(
    model: "LoadedModel",
    text: str | None = None,
    *,
    text_pair: str | None = None,
    target: str | None = None,
    input_ids: Any = None,
    attention_mask: Any = None,
    decoder_input_ids: Any = None,
    add_special_tokens: bool = True,
    split_special_tokens: bool = False,
    cut: bool = False,
) -> Capture:
    """Run a model once on one text and keep what every picture of its attention needs.

    Args:
        model: from `attnviz.load` or `attnviz.wrap`.
        text, text_pair: the text, and the second of a pair.
        target: what the decoder of an encoder-decoder reads; generated where it is not given.
        input_ids, attention_mask, decoder_input_ids: ids instead of text, one text at a time.
        add_special_tokens: let the tokenizer add its start and end tokens.
        split_special_tokens: read control tokens typed in the text as plain text.
        cut: cut a text that is longer than the model takes, instead of refusing it.

    Returns:
        A `Capture`. Memory grows with tokens, not with their square.

    Raises:
        BadInput, TooLarge: before the model runs.
        UnsupportedModel: the model has no attention that can be shown exactly.
        CaptureFailed: it ran, and what was recorded did not check out.
    """
    asked: dict[str, Any] = {
        "text_pair": text_pair,
        "target": target,
        "input_ids": input_ids,
        "attention_mask": attention_mask,
        "decoder_input_ids": decoder_input_ids,
        "add_special_tokens": add_special_tokens,
        "split_special_tokens": split_special_tokens,
        "cut": cut,
    }
    inputs = prepare_inputs(model, text, **asked)
    try:
        strategy, recording, output, receipt = _record(model, inputs)
    except (UnsupportedModel, CaptureFailed) as failure:
        raise explain_refusal(model.hf, failure) from failure
    blocks = [call.block for call in recording.calls]
    silent = without_attention(model.hf, {block.layer for block in blocks})
    about_model = [note for note in (silent, note_unknown(model.hf.config)) if note]
    return Capture(
        blocks=blocks,
        tokens=inputs.tokens,
        receipt=receipt,
        info=model.info,
        padding=inputs.padding,
        notes=(*inputs.notes, *strategy.notes, *about_model),
        forward=inputs.forward,
        asked=_without_defaults({"text": text, **asked}),
        **outputs_kept(model, output, inputs.forward),
    )


def _without_defaults(asked: Mapping[str, Any]) -> dict[str, Any]:
    """What a capture was asked for, without what it would have been anyway; ids as lists."""
    kept = {}
    for name, value in asked.items():
        if value is None or value is (name == "add_special_tokens"):
            continue
        plain = torch.as_tensor(value).flatten().tolist() if name in _IDS else value
        kept[name] = plain
    return kept


def _record(
    model: "LoadedModel", inputs: Inputs
) -> tuple[strategies.RecordingStrategy, Recording, Any, Receipt]:
    strategy = strategies.choose_strategy(model.hf, model.info.kind, inputs.forward)
    recording, output = strategy.record(model.hf, model.info.kind, run_forward, inputs.forward)
    receipt = check(
        recording.calls,
        expected=attention_blocks(model.hf, model.info.kind),
        method=strategy.method,
        dtype=model.info.dtype,
        attention=strategy.attention(model.hf),
        lengths={side: len(tokens) for side, tokens in inputs.tokens.items()},
    )
    return strategy, recording, output, receipt


def run_forward(hf: nn.Module, forward: Mapping[str, Any], *, gradients: bool = False) -> Any:
    """A forward pass. Of a decoder's logits only the last are computed: all of a long text's
    would be gigabytes."""
    names = inspect.signature(hf.forward).parameters
    extra: dict[str, Any] = {"use_cache": False, "logits_to_keep": 1, "return_dict": True}
    device = input_device(hf)
    moved = {name: v.to(device) if isinstance(v, Tensor) else v for name, v in forward.items()}
    given = {name: v for name, v in extra.items() if name in names and name not in moved}
    with torch.set_grad_enabled(gradients):
        return hf(**moved, **given)


def outputs_kept(model: "LoadedModel", output: Any, forward: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a Capture that say what the model put out."""
    logits = getattr(output, "logits", None)
    if logits is None or logits.ndim != 3:
        states = output[0]
        return {"states": numpy(states[0]) if states.ndim == 3 else None}
    if model.info.kind == "encoder":
        positions = _masked_positions(model, forward["input_ids"])
        return {"logits": numpy(logits[0, positions]), "logit_positions": positions}
    side = "decoder_input_ids" if model.info.kind == "encoder-decoder" else "input_ids"
    return {
        "logits": numpy(logits[0, -1:]),
        "logit_positions": [forward[side].shape[1] - 1],
        "likeliest": _likeliest(model, logits[0, -1]),
    }


def _masked_positions(model: "LoadedModel", ids: Tensor) -> list[int]:
    mask = getattr(model.tokenizer, "mask_token_id", None)
    return [] if mask is None else torch.nonzero(ids[0] == mask).flatten().tolist()


def _likeliest(model: "LoadedModel", logits: Tensor, count: int = 10) -> list[Any]:
    """The likeliest next tokens of a model that continues a text, with their probabilities."""
    top = torch.softmax(logits.float(), -1).topk(min(count, len(logits)))
    tokens = tokens_of_ids(model.tokenizer, top.indices.tolist())
    return list(zip(tokens, top.values.tolist(), strict=True))
