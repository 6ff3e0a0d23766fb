"""Receipt: what a capture was checked against, and how closely it came out."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from attnviz.capture.block import Block, numpy
from attnviz.capture.recording import Call
from attnviz.capture.row_chunks import BlockRows
from attnviz.errors import CaptureFailed, UnsupportedModel
from attnviz.heads.softmax import Array

TOLERANCE = {"float32": 3e-5, "float64": 3e-5, "bfloat16": 3e-2, "float16": 5e-3}
"""Largest difference allowed between recomputed and real outputs, by the dtype of the run, as a
part of the largest output of the block (of 1 where that is smaller)."""


@dataclass(frozen=True)
class Receipt:
    """The check of one capture.

    Attributes:
        expected, recorded: attention blocks that the model has, and that were recorded.
        rows_checked: query rows recomputed, over all blocks and heads.
        largest_error: largest difference between weights x values, recomputed, and what the block
            put out, and between the heads' contributions added up and the block's output, as a
            part of the block's largest output (of 1 where that is smaller).
        projections: blocks whose contributions are known through to the block's output.
        method: how the calls were recorded.
        dtype, attention: what the model ran in, and the attention implementation that ran.
    """

    expected: int
    recorded: int
    rows_checked: int
    largest_error: float
    projections: int
    method: str
    dtype: str
    attention: str

    @property
    def ok(self) -> bool:
        return self.recorded == self.expected and self.largest_error <= self.tolerance

    @property
    def tolerance(self) -> float:
        return TOLERANCE.get(self.dtype, TOLERANCE["float32"])


def check(
    calls: Sequence[Call],
    *,
    expected: int,
    method: str,
    dtype: str,
    attention: str,
    lengths: Mapping[str, int],
) -> Receipt:
    """Recompute some query rows of every block and compare them with what the block put out.

    `lengths` are the tokens on each side: "encoder", "decoder".

    Raises:
        CaptureFailed: blocks are missing, or a block's rows do not come out.
    """
    largest, rows = verify(calls, dtype)
    receipt = Receipt(
        expected=expected,
        recorded=len(calls),
        rows_checked=rows,
        largest_error=largest,
        projections=sum(call.block.projection is not None for call in calls),
        method=method,
        dtype=dtype,
        attention=attention,
    )
    if receipt.recorded != receipt.expected:
        raise CaptureFailed(
            what=f"{receipt.recorded} of {receipt.expected} attention blocks were recorded.",
            why="The rest of the model's attention did not go where it could be seen.",
            todo="Report the architecture; a part of a model is not shown as the whole.",
        )
    _refuse_doubles([call.block for call in calls])
    for call in calls:
        _refuse_misfit(call.block, lengths)
    return receipt


def verify(calls: Sequence[Call], dtype: str) -> tuple[float, int]:
    """(largest error, rows x heads checked) of some calls; see `check`.

    Raises:
        CaptureFailed: a block's rows do not come out.
    """
    errors, rows = [0.0], 0
    for call in calls:
        error, count = _error(call)
        errors.append(error)
        rows += count
        if not error <= TOLERANCE.get(dtype, TOLERANCE["float32"]):
            raise CaptureFailed(
                what=f"The attention of {call.block.module} could not be verified.",
                why=f"Weights times values differ by {error:.1g} from what the block put out.",
                todo="Report the architecture; nothing is shown rather than something wrong.",
            )
    return max(errors), rows


def _error(call: Call) -> tuple[float, int]:
    """(relative error, rows x heads checked) of one block."""
    if call.mixed_rows is None:
        return 0.0, 0
    block = call.block
    piece = BlockRows(block).chunk(call.rows)
    if piece.output is None:
        return float("inf"), 0
    mixed = piece.output.swapaxes(0, 1)  # (row, head, d_v)
    attends = np.broadcast_to(piece.allowed.any(axis=-1).T, mixed.shape[:2])
    error = _relative(mixed[attends], call.mixed_rows[attends])
    if call.output_rows is not None and block.projection is not None:
        output = mixed.reshape(len(mixed), -1) @ numpy(block.projection.weight).T
        if block.projection.bias is not None:
            output = output + numpy(block.projection.bias)
        whole = attends.all(axis=1)
        error = max(error, _relative(output[whole], call.output_rows[whole]))
    return error, int(attends.sum())


def _relative(found: Array, real: Array) -> float:
    if not found.size:
        return 0.0
    if not (np.isfinite(found).all() and np.isfinite(real).all()):
        return float("inf")
    return float(np.abs(found - real).max() / max(1.0, np.abs(real).max()))


def _refuse_doubles(blocks: Sequence[Block]) -> None:
    places = Counter((block.stack, block.layer) for block in blocks)
    (stack, layer), count = places.most_common(1)[0] if places else (("", 0), 0)
    if count > 1:
        raise CaptureFailed(
            what=f"Layer {layer} of the {stack} has {count} attention blocks.",
            why="One layer and head must mean one picture.",
            todo="Report the architecture, so that its blocks can be told apart.",
        )


def _refuse_misfit(block: Block, lengths: Mapping[str, int]) -> None:
    queries = lengths["decoder" if block.stack == "cross" else block.stack]
    keys = lengths["encoder" if block.stack == "cross" else block.stack]
    if (block.queries, block.keys) != (queries, keys):
        raise UnsupportedModel(
            what=f"{block.module} attends from {block.queries} places to {block.keys}.",
            why=f"The text has {queries} and {keys}, so its rows and columns have no tokens to "
            "be named by.",
            todo="Try a model that keeps one place a token.",
        )
