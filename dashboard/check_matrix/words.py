"""Fixed words of the page that checks a matrix."""

from attnviz.matrix_check.facts import MAX_CELLS
from dashboard.check_matrix.controls import MAX_CHARACTERS, MAX_MEGABYTES

STATEMENT = (
    "Somebody shows you a matrix and calls it attention. This page says what it is: scores, as "
    "they stand before softmax, weights, as they stand after it, or something else."
)

HOW_TO_READ = """
**The picture** shows the matrix as it was given, its first row at the top. Where no number is
below 0, bars show what rows and columns add up to, with a line at 1. Of attention weights the
rows end at the line, all of them; of weights that were transposed, the columns do. Cells that
hold no number, such as minus infinity, are blank.

**The verdict** follows from arithmetic. Softmax makes every row positive and lets it add up to 1,
so a number below 0 or a row above 1 rules weights out. Sums are judged by the precision of the
numbers: of two decimals, each cell may be off by 0.005.

**The temperature** between two matrices comes from pairs of keys in a row: the difference of
their scores, divided by the difference of the logarithms of their weights. If one matrix is the
softmax of the other, all pairs give the same temperature.

**The rank.** A head of size d compares vectors of d numbers, so its scores, and the logarithms of
its weights less their row means, have a rank of at most d. The mean of several heads has no such
bound. The rank tells one head from a mean only where the text is longer than the head is large.
"""

LIMITS = f"""
- Pasted text: {MAX_CHARACTERS:,} characters. Files: {MAX_MEGABYTES} MB. One matrix of at most
  {MAX_CELLS:,} cells is looked at; of several heads you choose one, and they are not averaged.
- What you give stays in the memory of this session; nothing is stored or logged. Files are read
  as numbers only: no pickled object is opened and nothing in them is run.
- The form of a matrix never proves where it comes from. Only a comparison with a model's own
  heads does, and that needs the same text, cut into the same tokens.
- Softmax and the scale of scores: Vaswani et al. 2017, "Attention Is All You Need", section
  3.2.1. Sinks: Xiao et al. 2023, "Efficient Streaming Language Models with Attention Sinks". The
  examples are computed from recorded scores of SmolLM2-135M and all-MiniLM-L6-v2, except for the
  three shares of a published diagram.
"""
