"""The pages of the dashboard: one row each, for the menu, the address and the length of texts."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Page:
    """One page.

    Attributes:
        name: of its script in pages/, without the ending.
        title: in the menu.
        help: what a reader finds there.
        whole: where it takes a long text as it is: everywhere, on its owner's machine, or never.
        beginning: tokens that it takes of a text it does not take whole, where these are fewer
            than other pages take; 0 where they are not.
    """

    name: str
    title: str
    help: str
    whole: Literal["everywhere", "own machine", "never"] = "never"
    beginning: int = 0

    @property
    def path(self) -> str:
        """Its script, as the other scripts have it."""
        return f"../pages/{self.name}.py"

    @property
    def address(self) -> str:
        """Its part of the address; empty for the page that opens first."""
        return "" if self is PAGES[0] else self.name.replace("_", "-")

    def takes_whole(self, hosted: bool) -> bool:
        """Whether it takes a long text as it is, on a host or on its owner's machine."""
        return self.whole == "everywhere" or (self.whole == "own machine" and not hosted)


EXPLORE = Page(
    "explore",
    "Explore",
    "One head on one text: its scores, its weights, and what each token adds.",
    whole="everywhere",  # it works out only what is looked at, so nobody waits long behind it
)
PAGES = (
    EXPLORE,
    Page(
        "heads",
        "Heads",
        "Every head of the model at a glance: small maps, and what kind of head each is.",
        whole="own machine",
    ),
    Page(
        "what_if",
        "What if",
        "Change one thing in the attention, and see what becomes of the output.",
        whole="own machine",
    ),
    Page(
        "compare",
        "Compare",
        "Two heads, layers, texts or models side by side, and their difference.",
        whole="own machine",
    ),
    Page(
        "how_it_works",
        "How it works",
        "Attention in four steps, from a query to a new vector.",
        beginning=256,
    ),
    Page(
        "misconceptions",
        "Misconceptions",
        "Eleven claims about attention, each measured on your model and your text.",
        beginning=256,  # each claim runs the model again and again, a gradient among it
    ),
    Page(
        "check_a_matrix",
        "Check a matrix",
        "Somebody's matrix: attention scores, attention weights, or something else?",
        whole="own machine",
    ),
    Page(
        "architectures",
        "Architectures",
        "Which models are shown exactly, which are refused, and why.",
    ),
)
