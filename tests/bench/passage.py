"""What the bench reads: one passage, said again until it is as long as asked."""

import itertools
from typing import Any

PASSAGE = (
    "The harbour lay still when the first boats came back, and nobody on the quay spoke. "
    "A boy counted the crates, lost his place, and counted the crates again. "
    "By noon the ice had melted; by evening the market was empty and the boats were gone. "
)


def ids(tokenizer: Any, length: int) -> list[int]:
    """So many token ids."""
    return list(itertools.islice(itertools.cycle(tokenizer(PASSAGE)["input_ids"]), length))


def text(tokenizer: Any, length: int) -> str:
    """A text that the tokenizer makes so many tokens of."""
    # twice what it takes: said again, the passage may have fewer tokens than said alone
    whole = PASSAGE * (2 + 2 * length // len(tokenizer(PASSAGE)["input_ids"]))
    ends = [end for _, end in tokenizer(whole, return_offsets_mapping=True)["offset_mapping"]]
    cut = whole[: ends[length - 1]]
    count = len(tokenizer(cut)["input_ids"])
    if count != length:
        raise ValueError(f"The text has {count} tokens, and {length} were asked for.")
    return cut
