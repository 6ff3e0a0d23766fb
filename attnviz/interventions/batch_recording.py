"""Batch recording: several groups of interventions in one pass, each on a text of its own."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from attnviz.capture.arguments import Arguments
from attnviz.capture.block_locator import BlockLocator
from attnviz.capture.recording import Recording, split_mask
from attnviz.heads.intervention import Intervention

Interventions = Sequence[Intervention]
"""A group that acts together."""


class BatchRecording(Recording):
    """Applies one group of interventions to each text of a batch, and records nothing."""

    def __init__(self, locator: BlockLocator, groups: Sequence[Interventions], offset: int) -> None:
        super().__init__(locator, offset=offset)
        self._groups = groups

    def attend(self, call: Arguments, run: Callable[[Tensor | None], Any]) -> Any:
        place = self._locator.locate(call.module)
        chosen = [[one for one in group if one.touches(*place[:2])] for group in self._groups]
        if not any(chosen):
            return run(call.mask)
        blocks = [self.block(place, call, text) for text in range(len(chosen))]
        for block, ones in zip(blocks, chosen, strict=True):
            block.interventions, block.offset = ones, self._offset
        hidden = [block.hidden for block in blocks]
        mask = call.mask
        if any(one is not None for one in hidden):
            none = torch.zeros(blocks[0].queries, blocks[0].keys, dtype=torch.bool)
            mask = call.mask_without(
                torch.stack([none if h is None else h for h in hidden])[:, None]
            )
        output = run(mask)
        mixed = output[0].clone()
        for text, block in enumerate(blocks):
            if block.hidden is not None:
                mixed[text] = block.zero_empty_rows(mixed[text])
            elif block.interventions:
                mixed[text] = block.apply_interventions(mixed[text])
        return mixed, *output[1:]

    def _split(
        self, mask: Tensor | None, keys: int, text: int
    ) -> tuple[Tensor | None, Tensor | None]:
        if mask is None:
            return None, None
        text = text if len(mask) > 1 else 0
        return split_mask(mask[text : text + 1], keys)
