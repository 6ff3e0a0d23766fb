"""Fixed words of the page on how attention works: the analogy, what is confused, what to read."""

import streamlit as st

_ANALOGY = {
    "Mixing a paint": [
        "The colour card you want to match",
        "The label on each tin",
        "The mark you give each label against the card",
        "How much of the pot each tin gets, in parts of 1",
        "The paint in the tin",
        "The blend in the pot",
    ],
    "Attention": ["Query", "Key", "Score", "Weight", "Value", "Output of the head"],
    "What to notice": [
        "One card for each token that reads",
        "A label is not the paint: key and value are different vectors",
        "Marks may be below zero and add up to nothing in particular",
        "The parts always fill the pot, however poor the marks",
        "A large part of a pale paint changes little",
        "A mixture, not the tin with the best mark",
    ],
}
_LIMITS = """
Where the story stops being true:

- Nobody looks at the colours. A mark is a sum of products; no understanding takes part.
- You would try one tin after the other. A head compares all tokens at once, and every token fills
  a pot of its own at the same time.
- There are many pots for each token, one a head, and each has its own cards, labels and paints.
- The wall is not painted over. The blend is added to the vector the token had, and the old one
  stays underneath: that is the residual path.
"""
_CONFUSED = {
    "One": [
        "Attention weight",
        "Attention",
        "Attention temperature",
        "Sink token",
        "Head output before the output projection",
    ],
    "The other": [
        "Model weight",
        "Explanation",
        "Sampling temperature",
        "Sink logit",
        "Head output after it",
    ],
    "The difference": [
        "A share worked out anew for every text; against a number learned in training that stays.",
        "How much was mixed in from where; against reasons a person could follow.",
        "Divides a head's scores inside the model; against dividing the logits of the next token "
        "when one is drawn at the end.",
        "A real token, often the first, that takes a large weight and has little to give; "
        "against a learned number in the softmax that stands for no token at all.",
        "One head's own mixture of values; against a vector in which all heads of the layer are "
        "already mixed, so that cutting it into pieces does not give the heads back.",
    ],
}
_READING = """
- Vaswani et al. 2017, [Attention Is All You Need](https://arxiv.org/abs/1706.03762): the formula,
  in section 3.2.1, and many heads, in 3.2.2.
- Jay Alammar, [The Illustrated Transformer](https://jalammar.github.io/illustrated-transformer/):
  the whole model in pictures, a step at a time.
"""


def analogy() -> None:
    """One story for the six words, and where it breaks."""
    st.header("An analogy: mixing a paint", anchor=False)
    st.table(
        _ANALOGY, border="horizontal", hide_index=True, alt="Attention as the mixing of a paint"
    )
    st.markdown(_LIMITS)


def confused() -> None:
    """Pairs of words that sound alike."""
    st.header("Easily confused", anchor=False)
    st.table(_CONFUSED, border="horizontal", hide_index=True, alt="Words that are easily confused")


def reading() -> None:
    st.header("Further reading", anchor=False)
    st.markdown(_READING)
