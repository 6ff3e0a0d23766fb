"""Fixed words of the page of comparisons."""

STATEMENT = (
    "Two heads, layers, texts or models side by side on one scale, and their difference where a "
    "cell means the same on both sides."
)

HOW_TO_READ = """
**A is your selection**, the one that travels from page to page. **B** is what you choose here;
whatever you leave alone is as A has it. At first, B is found by measuring: of all other heads of
A's model, the one whose weights on this text are nearest to A's.

**One scale.** Both maps have the same colours for the same numbers, and so have the bars. Rows are
read together where both sides have the same queries.

**The difference** is B minus A, cell by cell: teal where B is larger, ochre where A is. It is drawn
only where both sides are cut into the same tokens, because otherwise a cell of one is no cell of
the other. A cell that either side masks has no difference.

**Scores have no level.** Adding a number to a whole row of scores changes no weight, so the level
of a row means nothing and differs from head to head at random. Scores *from the row's largest* have
that level taken away; compare two heads by these.

**Total variation** of two rows is half the summed size of their differences: the share of the
weight that would have to be moved to turn one row into the other. 0 is the same row, 1 is nothing
in common. **Jensen-Shannon divergence** is the mean of two Kullback-Leibler divergences, of each
row from the middle of both, in nats: 0 is the same row, ln 2 = 0.693 nothing in common. What a
model gives to no token (its sink) counts as one more place. Rows that attend to nothing are left
out of the means.

**Something to compare with.** A number alone says little. Beside it stands how far an average other
head of A's model is from A on this text, and how far A is from even attention, which spreads every
row evenly over the tokens that it may look at.
"""

LIMITS = """
- Nearness to other heads is measured on at most 64 rows, evenly spread over the text.
- Two heads that look at the same tokens may still add different things, because each has values
  and an output projection of its own. *What each key adds* compares that, within one model.
- Lengths of vectors in two models are not on one scale, so they are not compared. Shares are.
- One text is an example. Two heads that agree on it may part on another.
- Two models that number their tokens differently can still be compared cell by cell where they cut
  the text into the same pieces, special tokens included.
- Jensen-Shannon divergence: Lin 1991, "Divergence Measures Based on the Shannon Entropy". Total
  variation and Jensen-Shannon between rows of attention: Jain and Wallace 2019, "Attention is not
  Explanation". Heads that do alike: Clark et al. 2019, "What Does BERT Look At?".
"""
