"""Scripts of What if."""

from dashboard.session.script_body import filled


def row(query: int) -> str:
    return filled(_ROW, query=query)


_ROW = """
import pandas as pd

before = run.baseline.head(head.layer, head.head, head.stack)
seen = before.allowed[query]
table = pd.DataFrame({"Before": before.weights[query, seen], "After": head.weights[query, seen]})
table["Difference"] = table["After"] - table["Before"]
"""


def contributions(query: int, measure: str) -> str:
    return filled(_ADDED, query=query, measure=measure)


_ADDED = """
import numpy as np
import pandas as pd

before = run.baseline.head(head.layer, head.head, head.stack)
pair = [one.contribution_matrix(measure)[query] for one in (before, head)]
seen = before.allowed[query] & np.isfinite(pair[0])
table = pd.DataFrame({"Before": pair[0][seen], "After": pair[1][seen]})
table["Difference"] = table["After"] - table["Before"]
"""


def tokens(shown: int) -> str:
    return filled(_TOKENS, shown=shown)


_TOKENS = """
import numpy as np
import pandas as pd
from attnviz.heads.distances import softmax

before, after = softmax(run.baseline.logits[-1]), softmax(run.logits[-1])
likeliest = {int(i) for row in (before, after) for i in np.argsort(-row)[:shown]}
order = sorted(likeliest, key=lambda i: -before[i])
table = pd.DataFrame({"Before": before[order], "After": after[order]})
table["Difference"] = table["After"] - table["Before"]
"""

STATES = """
import pandas as pd

table = pd.DataFrame({"1 - cosine": run.state_change})
"""


def maps(of: str, most: int, rows: tuple[int, int], keys: tuple[int, int]) -> str:
    """`rows` and `keys`: the first position that is drawn, and the one after the last."""
    return filled(_MAPS, of=of, most=most, rows=rows, keys=keys)


_MAPS = """
import numpy as np
import pandas as pd

before, drawn = run.baseline.head(head.layer, head.head, head.stack).rows(*rows), slice(*keys)
after = head.rows(*rows)
first, second = getattr(before, of)[:, drawn], getattr(after, of)[:, drawn]
both = before.allowed if of == "weights" else before.allowed & after.allowed
both = both[:, drawn]
changed = both & (first != second)
table = pd.DataFrame({"Before": first[changed], "After": second[changed]})
table["Difference"] = table["After"] - table["Before"]
order = table["Difference"].abs().sort_values(ascending=False, kind="stable").index
table = table.loc[order[:most]]
"""


def sweep(stack: str, how: str, query: int) -> str:
    return filled(_SWEEP, stack=stack, how=how, query=query)


_SWEEP = """
import pandas as pd
from attnviz.faithfulness.agreement import change
from attnviz.interventions import Ablate, effects

rows = []
for layer in capture.layers(stack):
    gone = [
        [Ablate(layer, number, stack, how=how, queries=(query,))]
        for number in range(capture.heads(layer, stack))
    ]
    for number, output in enumerate(effects(model, capture, gone)):
        moved = change(capture, output, query)
        rows.append({"Layer": layer, "Head": number, "Change": moved})
table = pd.DataFrame(rows).sort_values("Change", ascending=False, kind="stable")
"""
