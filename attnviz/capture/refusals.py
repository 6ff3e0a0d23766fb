"""Why the families that cannot be shown cannot: by name, in one sentence each.

A family is tried all the same; its reason is given where the trial fails, so that a release of
transformers that changes a family changes its verdict.
"""

from typing import Any

from attnviz.errors import AttnvizError, UnsupportedModel

_AGAIN = "It runs the same layers several times on one text, so one layer has several maps."
_CHUNKS = "It attends by windows, in chunks that are not at their places in the text."
_APPROXIMATE = "It approximates attention by {}, and no softmax is taken over the tokens."

REASONS = {
    "blt": "It attends over patches of bytes in three stacks, which are not tokens of the text.",
    "cpmant": "It puts prompt places before the text, so its rows and columns are not the tokens.",
    "deepseek_v4": "It attends to compressed keys, which stand for several tokens each.",
    "diffllama": "It takes the difference of two softmaxes, so a head has no one row of weights.",
    "dory": _AGAIN,
    "funnel": "It pools tokens between blocks, so its rows stand for several tokens each.",
    "hrm_text": _AGAIN,
    "hy_v4": "It picks keys by an index of its own, outside the scores that softmax receives.",
    "inkling2_loop_text": _AGAIN,
    "inkling2_text": "It also attends over its own earlier layers, which are not tokens.",
    "led": _CHUNKS,
    "longformer": _CHUNKS,
    "longt5": _CHUNKS,
    "mra": _APPROXIMATE.format("blocks of several resolutions"),
    "nystromformer": _APPROXIMATE.format("landmarks"),
    "pegasus_x": _CHUNKS,
    "perceiver": "It attends from latents, which are not tokens of the text.",
    "prophetnet": "Its decoder runs several streams side by side, which are not tokens.",
    "reformer": _APPROXIMATE.format("hashing"),
    "t5gemma2": "Its decoder takes one softmax over the target and the source at once.",
    "yoso": _APPROXIMATE.format("hashing"),
}


def explain_refusal(hf: Any, failure: AttnvizError) -> AttnvizError:
    """The failure of a capture, with the family's reason where it is known."""
    reason = REASONS.get(hf.config.model_type)
    if reason is None:
        return failure
    return UnsupportedModel(
        what=f"The attention of {type(hf).__name__} cannot be shown.",
        why=reason,
        todo="Choose a model that attends from token to token.",
    )
