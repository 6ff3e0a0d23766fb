"""Inputs: from a text, or ids, to what a model's forward takes, with the tokens to label it by."""

import inspect
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from attnviz.capture.model_state import switch_model
from attnviz.errors import BadInput, TooLarge
from attnviz.heads.softmax import Mask
from attnviz.tokens import Token, tokenize, tokens_of_ids

if TYPE_CHECKING:
    from attnviz.models import LoadedModel

GENERATED_TARGET_TOKENS = 32


@dataclass
class Inputs:
    """What goes into one forward pass, and the tokens on each side of it."""

    forward: dict[str, Any]
    tokens: dict[str, list[Token]]
    padding: dict[str, Mask] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def prepare_inputs(
    model: "LoadedModel",
    text: str | None,
    *,
    text_pair: str | None = None,
    target: str | None = None,
    input_ids: Any = None,
    attention_mask: Any = None,
    decoder_input_ids: Any = None,
    cut: bool = False,
    **options: Any,
) -> Inputs:
    """Everything a capture runs on, checked before the model is.

    Raises:
        BadInput: no tokens, ids outside the vocabulary, shapes that do not fit.
        TooLarge: more tokens than the model can take.
    """
    if (text is None) == (input_ids is None):
        raise BadInput(
            what="A capture needs one text.",
            why="Both a text and ids were given." if text is not None else "Neither was given.",
            todo="Give text, or input_ids.",
        )
    side = "encoder" if model.info.kind == "encoder-decoder" else model.info.kind
    if text is not None:
        inputs = _of_text(model, side, text, text_pair, options)
    else:
        inputs = _of_ids(model, side, input_ids, attention_mask)
    _fit(model, inputs, side, cut)
    _left_padding(model, inputs, side)
    if model.info.kind == "encoder-decoder":
        _add_target(model, inputs, target, decoder_input_ids, options)
    inputs.forward = _accepted(model, inputs.forward)
    return inputs


def _of_text(
    model: "LoadedModel", side: str, text: str, pair: str | None, options: dict[str, Any]
) -> Inputs:
    if model.tokenizer is None:
        raise BadInput(
            what="This model came without a tokenizer.",
            why="A text cannot be turned into tokens.",
            todo="Give input_ids, or wrap the model with its tokenizer.",
        )
    tokenized = tokenize(model.tokenizer, text, pair, **options)
    forward = {name: torch.tensor([ids]) for name, ids in tokenized.model_inputs.items()}
    return Inputs(forward, {side: tokenized.tokens}, notes=list(tokenized.notes))


def _of_ids(model: "LoadedModel", side: str, input_ids: Any, attention_mask: Any) -> Inputs:
    ids = _row(input_ids, "input_ids")
    mask = (
        torch.ones_like(ids) if attention_mask is None else _row(attention_mask, "attention_mask")
    )
    if ids.shape != mask.shape:
        raise BadInput(
            what=f"There are {ids.shape[1]} ids and {mask.shape[1]} mask entries.",
            todo="Give one mask entry, 0 or 1, for each id.",
        )
    padding = {} if bool(mask.all()) else {side: mask[0].numpy() == 0}
    tokens = tokens_of_ids(model.tokenizer, ids[0].tolist())
    return Inputs({"input_ids": ids, "attention_mask": mask}, {side: tokens}, padding)


def _row(ids: Any, name: str) -> Tensor:
    """Ids of one text as a (1, position) tensor."""
    tensor = torch.as_tensor(np.asarray(ids))
    tensor = tensor[None] if tensor.ndim == 1 else tensor
    holds_fractions = tensor.is_floating_point() and tensor.numel() > 0
    if tensor.ndim != 2 or len(tensor) != 1 or holds_fractions:
        raise BadInput(
            what=f"{name} has the shape {tuple(tensor.shape)} and holds {tensor.dtype}.",
            why="A capture is of one text at a time.",
            todo="Give whole numbers, one list or an array of shape (1, positions).",
        )
    return tensor.long()


def _fit(model: "LoadedModel", inputs: Inputs, side: str, cut: bool) -> None:
    ids, info = inputs.forward["input_ids"], model.info
    count = ids.shape[1]
    if count == 0:
        raise BadInput(
            what="The text has no tokens.",
            why="There is nothing for the model to run on.",
            todo="Type a word or two.",
        )
    rows = _vocabulary(model.hf)
    if int(ids.max()) >= rows or int(ids.min()) < 0:
        raise BadInput(
            what=f"The ids run from {int(ids.min())} to {int(ids.max())}.",
            why=f"This model's vocabulary has the ids 0 to {rows - 1}.",
            todo="Use the model's own tokenizer.",
        )
    limit = info.max_positions
    if limit is None or count <= limit:
        return
    if not info.hard_positions:
        inputs.notes.append(f"{count} tokens: past the {limit} that the model was trained on.")
    elif not cut:
        raise TooLarge(
            what=f"The text has {count} tokens.",
            why=f"This model takes {limit}.",
            todo=f"Shorten it, or cut it to its first {limit} tokens.",
        )
    else:
        inputs.forward = {name: row[:, :limit] for name, row in inputs.forward.items()}
        inputs.tokens[side] = inputs.tokens[side][:limit]
        inputs.padding = {name: row[:limit] for name, row in inputs.padding.items()}
        inputs.notes.append(f"Cut to the first {limit} tokens; {count - limit} were left out.")


def _vocabulary(hf: Any) -> int:
    weight = getattr(hf.get_input_embeddings(), "weight", None)
    return int(hf.config.get_text_config().vocab_size if weight is None else weight.shape[0])


def _left_padding(model: "LoadedModel", inputs: Inputs, side: str) -> None:
    """Real tokens keep the positions they would have without padding before them."""
    mask = inputs.forward.get("attention_mask")
    if side == "decoder" and mask is not None and not bool(mask.all()):
        inputs.forward["position_ids"] = (mask.cumsum(-1) - 1).clamp(min=0)


def _add_target(
    model: "LoadedModel",
    inputs: Inputs,
    target: str | None,
    decoder_input_ids: Any,
    options: dict[str, Any],
) -> None:
    """Rows of a decoder are its inputs: the start token, then the target."""
    if decoder_input_ids is not None:
        ids = _row(decoder_input_ids, "decoder_input_ids")
    elif target is not None and model.tokenizer is not None:
        start = model.hf.config.decoder_start_token_id
        written = tokenize(model.tokenizer, target, **options).ids
        ends = model.tokenizer.eos_token_id
        ids = torch.tensor([[start, *(written[:-1] if written[-1:] == [ends] else written)]])
    else:
        ids = _generate(model, inputs)
        inputs.notes.append("The target was generated by the model, greedily.")
    inputs.notes.append(
        "Rows of the decoder are its inputs, from the start token on; each predicts the next token."
    )
    inputs.forward["decoder_input_ids"] = ids
    inputs.tokens["decoder"] = tokens_of_ids(model.tokenizer, ids[0].tolist())


def _generate(model: "LoadedModel", inputs: Inputs) -> Tensor:
    # a model made from a config is in training mode, where dropout writes another target each time
    with torch.no_grad(), switch_model(model.hf):
        ids = model.hf.generate(
            **_accepted(model, inputs.forward),
            max_new_tokens=GENERATED_TARGET_TOKENS,
            do_sample=False,
            num_beams=1,
            use_cache=False,  # the cache of stacks of different depth is sized by the wrong one
        )
    ended = ids.shape[1] > 2 and int(ids[0, -1]) == model.hf.generation_config.eos_token_id
    return ids[:, :-1] if ended else ids


def _accepted(model: "LoadedModel", inputs: dict[str, Any]) -> dict[str, Any]:
    """Only what this model's forward takes: tokenizers may make more."""
    names = inspect.signature(model.hf.forward).parameters
    return {name: value for name, value in inputs.items() if name in names}
