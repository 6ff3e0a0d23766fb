"""A transformer whose weights were written by code, so that what each head does is known.

Two layers of three heads, no MLP (its weights are zero), an ordinary GPT-2 for transformers. It
is the ground truth of the head detectors, and it predicts: after `A B ... A` it says `B`.

How a token or a position is written. Three clocks with 23, 24 and 25 hours show a number `n` as
three hands, `n mod 23`, `n mod 24`, `n mod 25`, each a one among zeros. Two different numbers
below 552 agree on at most one clock, so the product of two such codes is 3 if the numbers are
equal and at most 1 if not. To step back by one is to turn each clock back, which is linear. A
fourth mark on each clock stands for the start token `<s>`, which thus resembles no other.

The residual stream, 450 numbers:

====== ======== ================================================================
start  width    what is there
====== ======== ================================================================
0      75       TOKEN: clocks of this token, written by the embedding
75     72       PLACE: clocks of this position, written by the embedding
147    2        FIRST, LATER: 1 0 at position 0, 0 1 elsewhere
149    75       PREVIOUS: clocks of the token before, written by head (0, 0)
224    75       SEEN: a faint copy of what head (0, 1) looks at
299    75       BAG: a faint mean of all tokens so far, written by the uniform heads
374    75       NEXT: clocks of the predicted token, written by head (1, 0)
449    1        SPARE: what the sink head writes
====== ======== ================================================================

Every vector on the stream has the same mean and length, but for the faint parts. So each layer
norm is the same map at every position, and its own gain and bias undo it.

The heads (Elhage et al. 2021, Olsson et al. 2022, Xiao et al. 2023), with the score of query i
for key j, `same` being the product of two clock codes:

- (0, 0) previous-token: 6 same(place i - 1, place j).
- (0, 1) duplicate-token: 16 same(token i, token j) - 8 same(place i, place j), and 32 for the
  first position: rests there if the token is new.
- (1, 0) induction: 12 same(token i, token before j), and 24 for the first position.
- (1, 1) first-token: 10 for the first position. Its value there is a fiftieth of the others'.
- (0, 2) and (1, 2) uniform: every score is 0.

The tokenizer puts `<s>` first. Without it, head (1, 0) cannot tell the first token from its own
predecessor, and repeats of the first token share their weight between positions 0 and 1.
"""

from typing import Any

REVISION = "planted-1"  # raise it when a weight changes

POSITIONS = 512
LAYERS, HEADS, HEAD_WIDTH = 2, 3, 150
_CLOCKS = (23, 24, 25)
_START = "<s>"
_FAINT = 0.1

# Each word is one token, with the space before it. Ours, and short.
WORDS = (
    "a the and of to in on at by is was ran sat saw had red blue green black white old new big "
    "small fox cat dog bird fish tree river hill road house home boat bell moon sun rain wind "
    "snow one two three four five day night king queen child friend lamp stone apple bread "
    "water fire gold song story met ate gave took left went came said"
).split()

TOKEN = slice(0, 75)
PLACE = slice(75, 147)
FIRST, LATER = 147, 148
PREVIOUS = slice(149, 224)
SEEN = slice(224, 299)
BAG = slice(299, 374)
NEXT = slice(374, 449)
SPARE = 449
WIDTH = 450


def build_tokenizer() -> Any:
    """A byte-level BPE with the words above as single tokens; any text can be written in it."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    vocabulary, merges = _build_vocabulary()
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{_START} $A",
        pair=f"{_START} $A {_START} $B",
        special_tokens=[(_START, vocabulary[_START])],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token=_START, model_max_length=POSITIONS
    )


def _build_vocabulary() -> tuple[dict[str, int], list[tuple[str, str]]]:
    """Token -> id, and the merges: each word grows letter by letter from its space."""
    from tokenizers import pre_tokenizers

    vocabulary = {_START: 0}
    for letter in sorted(pre_tokenizers.ByteLevel.alphabet()):
        vocabulary[letter] = len(vocabulary)
    merges: list[tuple[str, str]] = []
    for word in WORDS:
        grown = "\u0120"  # how a byte-level BPE writes a space
        for letter in word:
            if grown + letter not in vocabulary:
                vocabulary[grown + letter] = len(vocabulary)
                merges.append((grown, letter))
            grown += letter
    return vocabulary, merges


def build_model() -> Any:
    """The model, in float32 and evaluation mode, with the fast attention kernel chosen."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    vocabulary, _ = _build_vocabulary()
    config = GPT2Config(
        vocab_size=len(vocabulary),
        n_positions=POSITIONS,
        n_embd=WIDTH,
        n_layer=LAYERS,
        n_head=HEADS,
        n_inner=1,
        bos_token_id=vocabulary[_START],
        eos_token_id=None,
        tie_word_embeddings=False,
        attn_implementation="sdpa",
    )
    model = GPT2LMHeadModel(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
        _write_embeddings(model)
        _write_layer_0(model.transformer.h[0])
        _write_layer_1(model.transformer.h[1])
        for block in model.transformer.h:
            # The model will divide the products by this; the list above has them after that.
            block.attn.c_attn.weight[:, :WIDTH] *= HEAD_WIDTH**0.5
        # Ones on the stream: token, place and first/later; then previous; then next.
        _undo_norm(model.transformer.h[0].ln_1, ones=7)
        _undo_norm(model.transformer.h[1].ln_1, ones=10, faint=2)
        _undo_norm(model.transformer.ln_f, ones=13, faint=3)
    return model


def _write_embeddings(model: Any) -> None:
    tokens, places = model.transformer.wte.weight, model.transformer.wpe.weight
    for token in range(len(tokens)):
        marks = _mark_clocks(token, with_start=True)
        if token == 0:
            marks = [23, 48, 74]  # the start token's own mark, last on each clock
        tokens[token, [TOKEN.start + mark for mark in marks]] = 1.0
        if token != 0:
            model.lm_head.weight[token, [NEXT.start + mark for mark in marks]] = 5.0
    for place in range(POSITIONS):
        places[place, [PLACE.start + mark for mark in _mark_clocks(place, with_start=False)]] = 1.0
        places[place, FIRST if place == 0 else LATER] = 1.0


def _mark_clocks(number: int, *, with_start: bool) -> list[int]:
    """Where the three hands stand, counted through all the clocks."""
    marks, start = [], 0
    for hours in _CLOCKS:
        marks.append(start + number % hours)
        start += hours + int(with_start)
    return marks


def _write_layer_0(block: Any) -> None:
    import torch

    query, key, value, out = _slice_head(block, 0)  # previous-token
    back = torch.zeros(72, 72)
    start = 0
    for hours in _CLOCKS:
        for hour in range(hours):
            back[start + hour, start + (hour - 1) % hours] = 1.0
        start += hours
    query[PLACE, :72] = 6.0 * back
    key[PLACE, :72] = torch.eye(72)
    value[TOKEN, :75] = torch.eye(75)
    out[:75, PREVIOUS] = torch.eye(75)

    query, key, value, out = _slice_head(block, 1)  # duplicate-token
    query[TOKEN, :75] = 16.0 * torch.eye(75)
    key[TOKEN, :75] = torch.eye(75)
    query[PLACE, 75:147] = -8.0 * torch.eye(72)
    key[PLACE, 75:147] = torch.eye(72)
    _write_seek_first(query, key, 147, 32.0)
    value[TOKEN, :75] = torch.eye(75)
    out[:75, SEEN] = _FAINT * torch.eye(75)

    _write_uniform(block)


def _write_layer_1(block: Any) -> None:
    import torch

    query, key, value, out = _slice_head(block, 0)  # induction
    query[TOKEN, :75] = 12.0 * torch.eye(75)
    key[PREVIOUS, :75] = torch.eye(75)
    _write_seek_first(query, key, 75, 24.0)
    value[TOKEN, :75] = torch.eye(75)
    out[:75, NEXT] = torch.eye(75)

    query, key, value, out = _slice_head(block, 1)  # first-token, with little to say there
    _write_seek_first(query, key, 0, 10.0)
    value[FIRST, 0], value[LATER, 0] = 0.02, 1.0
    out[0, SPARE] = 1.0

    _write_uniform(block)


def _write_uniform(block: Any) -> None:
    import torch

    _, _, value, out = _slice_head(block, 2)
    value[TOKEN, :75] = torch.eye(75)
    out[:75, BAG] = _FAINT * torch.eye(75)


def _write_seek_first(query: Any, key: Any, channel: int, score: float) -> None:
    """Give position 0 as a key the same score for every query."""
    query[[FIRST, LATER], channel] = score  # one of the two is 1 at every position
    key[FIRST, channel] = 1.0


def _slice_head(block: Any, head: int) -> tuple[Any, Any, Any, Any]:
    """One head's W_Q, W_K, W_V (stream, channel) and W_O (channel, stream), for writing."""
    weight = block.attn.c_attn.weight
    columns = [
        slice(part * WIDTH + head * HEAD_WIDTH, part * WIDTH + (head + 1) * HEAD_WIDTH)
        for part in range(3)
    ]
    rows = slice(head * HEAD_WIDTH, (head + 1) * HEAD_WIDTH)
    return (
        weight[:, columns[0]],
        weight[:, columns[1]],
        weight[:, columns[2]],
        block.attn.c_proj.weight[rows],
    )


def _undo_norm(norm: Any, *, ones: int, faint: int = 0) -> None:
    """Set a layer norm's gain and bias so that it leaves vectors of this make-up as they are.

    A vector has `ones` entries of 1, and `faint` codes of three entries of 0.1.
    """
    total = ones + faint * 3 * _FAINT
    squares = ones + faint * 3 * _FAINT**2
    mean = total / WIDTH
    norm.weight.fill_((squares / WIDTH - mean**2 + norm.eps) ** 0.5)
    norm.bias.fill_(mean)
