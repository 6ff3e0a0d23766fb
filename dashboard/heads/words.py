"""Fixed words of the page of heads."""

STATEMENT = (
    "Every head of the model on your text: its weights as a small map, and numbers that say what "
    "kind of head it is. Click a head to open it in Explore."
)

HOW_TO_READ = """
**Small maps.** Each is the matrix of weights of one head, queries down and keys across, on one
colour scale. Empty is masked. Where a text has more tokens than a map has pixels, a pixel is the
largest weight of a block of tokens: it shows a single strong cell, and is not the weight of
anything. **Powers of ten** colours by the logarithm: from one power to the next is the same step
of colour, which tells the many small weights of a long text apart. All below 0.0001 share the
lightest colour.

**A measure** is one number a head, a mean over the rows that count. Layers go down, heads across,
both counted from 0. The mark on the printed scale is the null.

**A null** is what a head has that does nothing of the kind. Even attention spreads each row over
all the keys that it may see. Where a measure goes by which tokens are equal, the head's own
weights are also held against the tokens permuted over their positions: what is left is habit of
position. **A ceiling** is the most that any head could have on this text. A head is said to be
found by a measure if it is more than half way from the null to the ceiling; by entropy, which
falls, half way from the null down to 0.

**On repeated random tokens** the text has no meaning and every token comes back: 25 random tokens
of the model's own vocabulary, said four times. A head that keeps its value there looks for equal
tokens; one that loses it was doing something else on your text.

**Effect** is measured, not read off: the head puts out zeros at one token, the model runs on, and
its prediction moves by so many nats.
"""

LIMITS = """
- A measure on one text gauges the text as well as the head, and a name is a hypothesis about all
  texts. A head can do several things, and something that no measure here sees.
- Weights are not effects. A head that is found by a measure may add next to nothing to the output;
  compare its output norm and its effect.
- Zeros in the place of a head are what the model never met in training, and heads that do the same
  work hide one another's effects.
- Rows that may attend to nothing, and rows of padding, are left out of every mean.
- Olsson et al. 2022, "In-context Learning and Induction Heads" (previous-token, induction, repeated
  random tokens). Wang et al. 2022, "Interpretability in the Wild" (duplicate-token). Xiao et al.
  2023, "Efficient Streaming Language Models with Attention Sinks" (first token). Clark et al. 2019,
  "What Does BERT Look At?" (entropy). Kobayashi et al. 2020, "Attention is Not Only a Weight"
  (norms). Michel et al. 2019, "Are Sixteen Heads Really Better than One?" (effect).
"""

REPEATED = " On 25 random tokens of the vocabulary, said four times."
EFFECT = (
    "How far the model's prediction moves when the head puts out zeros at the token whose output "
    "is compared: KL divergence of the prediction without the head from that with it."
)
EFFECT_ON_STATES = (
    "How far the token's last hidden state turns when the head puts out zeros at that token: 1 "
    "minus the cosine between the two."
)
