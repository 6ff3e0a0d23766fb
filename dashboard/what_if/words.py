"""Fixed words of the page of what-ifs."""

STATEMENT = (
    "Change one thing in the attention, let the model run on from there, and see what moves: the "
    "head, what each token adds, and what the model puts out."
)

HOW_TO_READ = """
**Before and after** are two runs of the same model on the same text. Both are drawn on one scale,
grey before and coloured after, so bars of the same height are the same number.

**Total variation** is half of the summed change of all the probabilities the model puts out: 0 is
no change at all, 1 means that the two outputs share nothing. **KL divergence** is another distance
between the two, in nats, and weighs rare tokens differently. A model that predicts no tokens is
measured by its last hidden states: 1 minus the cosine between before and after.

**Something to compare with.** Beside the change stands what happens when the whole head is taken
away at the same token. Most single heads of a large model can be taken away with little effect,
because the other heads and the residual path carry on. A small number therefore says little about
the one weight that you changed, and a lot about how much is left.

**A run begins where the change does.** Layers before it, and in a decoder the tokens before it,
cannot be affected, and are not run again. Nothing you change here stays on the model.
"""

LIMITS = """
- A what-if shows what this model does when it is disturbed. It does not show what the model
  "meant", and not what it would do had it been trained with the change.
- Taking a head away leaves zeros that the model never met in training. Its mean over the text, or
  its output at other tokens, is closer to what the model knows, and can give another answer.
- Hiding a key renumbers nothing: positions stay, and the hidden token still asks as a query.
- The temperature here divides the scores of a head. The temperature of sampling divides the
  logits of the next token, and is not used on this page.
- Effects of single heads do not add up. Two heads that do the same work each look useless while
  the other is there.
- Ablation of heads: Michel et al. 2019, "Are Sixteen Heads Really Better than One?"; Voita et al.
  2019, "Analyzing Multi-Head Self-Attention". Shuffled weights: Jain and Wallace 2019, "Attention
  is not Explanation". Even weights: Wiegreffe and Pinter 2019, "Attention is not not
  Explanation". Zeroed values: Mohebbi et al. 2023, "Quantifying Context Mixing in Transformers".
"""
