"""The text alternative of two heads side by side: what they have in common and where they part."""

from typing import TYPE_CHECKING

from attnviz.charts.describe import describe_pair
from attnviz.charts.scales import short
from attnviz.comparison import QUANTITIES, difference, quantity, why_apart

if TYPE_CHECKING:
    from attnviz.head import Head


def describe_compared(
    a: "Head", b: "Head", *, query: int, other_query: int | None = None, of: str = "weights"
) -> str:
    """What the picture of `attnviz.charts.compared.compared` shows, as sentences.

    >>> from attnviz.head import Head
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
    said.append(f"There is no difference to draw. {reason}" if reason else _largest(a, b, of))
    for name, head, row in (
        ("A", a, query),
        ("B", b, query if other_query is None else other_query),
    ):
        finding = describe_pair(head, row).split(". ", 1)[-1]
        said.append(f"{name}: {finding}")
    return " ".join(said)


def _largest(a: "Head", b: "Head", of: str) -> str:
    found = difference(a, b, of)
    at = found.largest
    rest = f" {found.undefined:,} cells are undefined." if found.undefined else ""
    if at is None:
        return f"No {'other ' if rest else ''}cell differs.{rest}"
    first, second = (float(quantity(head, of)[at]) for head in (a, b))
    names = [
        f'"{tokens[place].label}" ({place})' if tokens else f"token {place}"
        for tokens, place in zip((a.query_tokens, a.key_tokens), at, strict=True)
    ]
    return (
        f"The largest difference, B minus A, is {short(second - first)}, from {names[0]} to "
        f"{names[1]}: {short(first)} in A and {short(second)} in B.{rest}"
    )
