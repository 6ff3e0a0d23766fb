"""The text alternative of two heads side by side: what they have in common and where they part."""

from attnviz.charts.compared_panels import WINDOW
from attnviz.charts.describe import describe_pair
from attnviz.charts.scales import short
from attnviz.charts.scene import window_of
from attnviz.heads.comparison import QUANTITIES, difference, quantity, why_apart
from attnviz.heads.head import CELLS, Head


def describe_compared(
    a: "Head", b: "Head", *, query: int, other_query: int | None = None, of: str = "weights"
) -> str:
    """What the picture of `attnviz.charts.compared.compared` shows, as sentences.

    >>> from attnviz.heads.head import Head
    >>> a, b = (Head(q=[[0], [x]], k=[[1], [0]], v=None, scaling=1.0) for x in (0, 2))
    >>> print(describe_compared(a, b, query=1, of="scores").split(". ")[1])
    The largest difference, B minus A, is 2, from token 1 to token 0: 0 in A and 2 in B
    """
    where = [
        f"{name}, layer {head.layer}, head {head.head}"
        for name, head in zip("AB", (a, b), strict=True)
    ]
    said = [f"Two heads side by side on one scale, {QUANTITIES[of]}: {' and '.join(where)}."]
    reason = why_apart(a, b)
    said.append(
        f"There is no difference to draw. {reason}" if reason else _largest(a, b, of, query)
    )
    for name, head, row in (
        ("A", a, query),
        ("B", b, query if other_query is None else other_query),
    ):
        finding = describe_pair(head, row).split(". ", 1)[-1]
        said.append(f"{name}: {finding}")
    return " ".join(said)


def _largest(a: "Head", b: "Head", of: str, query: int) -> str:
    among = ""
    if a.allowed.size > CELLS:  # too many cells to look through for a sentence
        start, end = window_of(query, len(a.allowed), WINDOW)
        a, b = (head.rows(start, end + 1) for head in (a, b))
        among = f" in the rows {start:,} to {end:,}"
    found = difference(a, b, of)
    at = found.largest
    rest = f" {found.undefined:,} cells are undefined." if found.undefined else ""
    if at is None:
        return f"No {'other ' if rest else ''}cell differs{among}.{rest}"
    first, second = (float(quantity(head, of)[at]) for head in (a, b))
    names = [
        f'"{tokens[place].label}" ({place + origin})' if tokens else f"token {place + origin}"
        for tokens, place, origin in (
            (a.query_tokens, at[0], a.first),
            (a.key_tokens, at[1], 0),
        )
    ]
    return (
        f"The largest difference{among}, B minus A, is {short(second - first)}, from {names[0]} to "
        f"{names[1]}: {short(first)} in A and {short(second)} in B.{rest}"
    )
