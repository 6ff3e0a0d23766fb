"""Scripts of How it works."""

from typing import TYPE_CHECKING

import numpy as np

from dashboard.session.script_body import filled

if TYPE_CHECKING:
    from attnviz.heads.head import Head


def invented(head: "Head") -> str:
    """The whole of a script, for the head is nowhere but on the page."""
    vectors = {name: np.asarray(getattr(head, name)).tolist() for name in ("q", "k", "v")}
    more = {"scaling": head.scaling, "allowed": head.allowed.tolist()}
    return filled(_INVENTED, **vectors, **more, temperature=head.temperature)


_INVENTED = """
import numpy as np
import pandas as pd
from attnviz.heads.head import Head

head = Head(q, k, v, scaling=scaling, allowed=allowed).temper(temperature)
scores = np.where(head.allowed[0], head.scores[0], np.nan)
table = pd.DataFrame({"Key": range(len(k)), "Score": scores, "Weight": head.weights[0]})
"""


def followed(query: int, keys: list[int]) -> str:
    return filled(_FOLLOWED, query=query, keys=keys)


_FOLLOWED = """
import numpy as np
import pandas as pd

row = head.rows(query, query + 1)
scores = np.where(row.allowed[0, keys], row.scores[0, keys], np.nan)
table = pd.DataFrame({"Key": keys, "Score": scores, "Weight": row.weights[0, keys]})
"""
