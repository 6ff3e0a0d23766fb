"""Python that measures again what a page measured: for the files of its pictures.

Each is the end of a script that has made `model`, `capture` and `head`, with a what-if also `run`;
of two sides `other`; what it leaves is `table`, whose columns of numbers are those of the picture's
own table. What the reader chose stands in it as literals.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from attnviz.head import Head


def _with(body: str, **chosen: Any) -> str:
    """The imports of the body, what was chosen, and the rest of the body."""
    imports, rest = body.strip().split("\n\n", 1)
    values = "\n".join(f"{name} = {value!r}" for name, value in chosen.items())
    return f"{imports}\n\n{values}\n{rest}\n"


# Heads


def repeated(stack: str, measure: str, title: str) -> str:
    where = "from attnviz.detectors import profile, repeated"
    return _grid(where, _REPEATED, stack=stack, measure=measure, title=title)


def surveyed(model: str, folder: str, stack: str, measure: str, title: str) -> str:
    """`folder` empty: the survey that comes with attnviz."""
    what = {"stack": stack, "measure": measure, "title": title}
    if folder:
        where = "from attnviz.survey import open_survey"
        return _grid(where, "found = open_survey(folder)\n" + _SURVEYED, folder=folder, **what)
    where = "from attnviz.survey.shipped import shipped"
    return _grid(where, "found = shipped(name)\n" + _SURVEYED, name=model, **what)


def effect(stack: str, query: int, title: str, most: float | None) -> str:
    """`most`: the largest number that there can be, where one is known."""
    where = "from attnviz.detectors import effect"
    return _grid(where, _EFFECT, stack=stack, query=query, title=title, most=most)


def _grid(where: str, body: str, **chosen: Any) -> str:
    return _with(f"import numpy as np\nimport pandas as pd\n{where}\n\n{body}{_GRID}", **chosen)


_REPEATED = """found = profile(repeated(model), stack, measures=[measure])
values, null, ceiling = found.values[measure], found.null(measure), found.ceilings[measure]
"""
_SURVEYED = """values, null, ceiling = (
    found.grid(measure, statistic, stack) for statistic in ("mean", "null", "ceiling")
)
"""
_EFFECT = """values = effect(model, capture, stack, query=query)
null = np.where(np.isnan(values), np.nan, 0)
ceiling = np.full(values.shape, np.nan if most is None else most)
"""
_GRID = """layers, heads = np.indices(values.shape)
table = pd.DataFrame({"Layer": layers.ravel(), "Head": heads.ravel(), title: values.ravel()})
table["Null"], table["Ceiling"] = null.ravel(), ceiling.ravel()
"""


# What if


def what_if_row(query: int) -> str:
    return _with(_ROW, query=query)


_ROW = """
import pandas as pd

before = run.baseline.head(head.layer, head.head, head.stack)
seen = before.allowed[query]
table = pd.DataFrame({"Before": before.weights[query, seen], "After": head.weights[query, seen]})
table["Difference"] = table["After"] - table["Before"]
"""


def what_if_contributions(query: int, measure: str) -> str:
    return _with(_ADDED, query=query, measure=measure)


_ADDED = """
import numpy as np
import pandas as pd

before = run.baseline.head(head.layer, head.head, head.stack)
pair = [one.contribution_matrix(measure)[query] for one in (before, head)]
seen = before.allowed[query] & np.isfinite(pair[0])
table = pd.DataFrame({"Before": pair[0][seen], "After": pair[1][seen]})
table["Difference"] = table["After"] - table["Before"]
"""


def what_if_tokens(shown: int) -> str:
    return _with(_TOKENS, shown=shown)


_TOKENS = """
import numpy as np
import pandas as pd
from attnviz.faithfulness.distances import softmax

before, after = softmax(run.baseline.logits[-1]), softmax(run.logits[-1])
likeliest = {int(i) for row in (before, after) for i in np.argsort(-row)[:shown]}
order = sorted(likeliest, key=lambda i: -before[i])
table = pd.DataFrame({"Before": before[order], "After": after[order]})
table["Difference"] = table["After"] - table["Before"]
"""

WHAT_IF_STATES = """
import pandas as pd

table = pd.DataFrame({"1 - cosine": run.state_change})
"""


def what_if_maps(of: str, most: int, rows: tuple[int, int], keys: tuple[int, int]) -> str:
    """`rows` and `keys`: the first position that is drawn, and the one after the last."""
    return _with(_MAPS, of=of, most=most, rows=rows, keys=keys)


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
    return _with(_SWEEP, stack=stack, how=how, query=query)


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


# How it works


def invented(head: "Head") -> str:
    """The whole of a script, for the head is nowhere but on the page."""
    vectors = {name: np.asarray(getattr(head, name)).tolist() for name in ("q", "k", "v")}
    more = {"scaling": head.scaling, "allowed": head.allowed.tolist()}
    return _with(_INVENTED, **vectors, **more, temperature=head.temperature)


_INVENTED = """
import numpy as np
import pandas as pd
from attnviz.head import Head

head = Head(q, k, v, scaling=scaling, allowed=allowed).temper(temperature)
scores = np.where(head.allowed[0], head.scores[0], np.nan)
table = pd.DataFrame({"Key": range(len(k)), "Score": scores, "Weight": head.weights[0]})
"""


def followed(query: int, keys: list[int]) -> str:
    return _with(_FOLLOWED, query=query, keys=keys)


_FOLLOWED = """
import numpy as np
import pandas as pd

row = head.rows(query, query + 1)
scores = np.where(row.allowed[0, keys], row.scores[0, keys], np.nan)
table = pd.DataFrame({"Key": keys, "Score": scores, "Weight": row.weights[0, keys]})
"""


# Compare


def added_by_two(queries: tuple[int, int], measure: str) -> str:
    return _with(_ADDED_BY_TWO, queries=queries, measure=measure)


_ADDED_BY_TWO = """
import numpy as np
import pandas as pd

a, b = (
    np.where(one.allowed[query], one.contribution_matrix(measure)[query], np.nan)
    for one, query in zip((head, other), queries)
)
seen = np.isfinite(a) | np.isfinite(b)
table = pd.DataFrame({"A": a[seen], "B": b[seen]})
table["B \u2212 A"] = table["B"] - table["A"]
"""


def added_by_one(name: str, query: int, measure: str) -> str:
    return _with(_ADDED_BY_ONE, name=name, query=query, measure=measure)


_ADDED_BY_ONE = """
import numpy as np
import pandas as pd

row = np.where(head.allowed[query], head.contribution_matrix(measure)[query], np.nan)
table = pd.DataFrame({name: row[np.isfinite(row)]})
"""


# Misconceptions


def score_and_weight(query: int, shift: float, factor: float, what: str) -> str:
    made = _with(_SCORES, query=query, shift=shift, factor=factor)
    return f"{made}table = pd.DataFrame({what})\n"


_SCORES = """
import numpy as np
import pandas as pd
from attnviz.softmax import weigh

row, sink = head.scores[query, head.allowed[query]], head.sink_logit
ways = {
    "as they are": (1.0, 0.0),
    f"all {shift:+g}": (1.0, shift),
    f"all times {factor:g}": (factor, 0.0),
}
scores = {name: row * np.float32(f) + np.float32(s) for name, (f, s) in ways.items()}
sinks = {name: None if sink is None else sink * f + s for name, (f, s) in ways.items()}
weights = {name: weigh(scores[name][None], sinks[name])[0][0] for name in ways}
"""


def two_texts(text: str, tokenizing: dict[str, bool]) -> str:
    return _with(_TWO_TEXTS, other_text=text, tokenizing=tokenizing)


_TWO_TEXTS = """
import pandas as pd

other = attnviz.capture(model, other_text, **tokenizing)
both = [head.weights, other.head(head.layer, head.head, head.stack).weights]
table = pd.DataFrame(
    {
        "Queries": [len(weights) for weights in both],
        "Keys": [weights.shape[1] for weights in both],
        "Largest weight off the first token": [w[1:, 1:].max(initial=0.0) for w in both],
        "Mean weight on the first token": [
            weights[1:, 0].mean() if len(weights) > 1 else float("nan") for weights in both
        ],
    }
)
"""


def agreement(query: int, erase: bool, titles: dict[str, str], *, ranks: bool = False) -> str:
    shown = f"table = found.{'ranks' if ranks else 'table'}.dropna(axis=1, how='all')\n"
    named = 'table = table.drop(columns="token").rename(columns=titles)\n'
    return _with(_AGREEMENT, query=query, erase=erase, titles=titles) + shown + named


_AGREEMENT = """
from attnviz.faithfulness import agreement

at = (head.layer, head.head, query)
found = agreement(model, capture, *at, stack=head.stack, erase=erase)
"""


def output(query: int, of: str) -> str:
    return _with(_OUTPUT, query=query, of=of)


_OUTPUT = """
import pandas as pd

seen = head.allowed[query]
frame = head.contributions(query, of=of)[seen]
table = pd.DataFrame(
    {
        "Score": head.scores[query, seen],
        "Weight": head.weights[query, seen],
        "Length": frame["contribution_norm"].to_numpy(float),
        "Signed share": frame["signed_share"].to_numpy(float),
    }
)
"""


def chosen(query: int, measure: str) -> str:
    return _with(_CHOSEN, query=query, measure=measure)


_CHOSEN = """
import numpy as np
import pandas as pd

seen = head.allowed[query]
lengths = head.contribution_matrix(measure)[query, seen].astype(float)
total = np.nansum(lengths)
table = pd.DataFrame({"share of the weight": head.weights[query, seen]})
table["share of the lengths added"] = lengths / total if total > 0 else np.nan
"""


def deals(query: int, dealt: int | None, count: int) -> str:
    return _with(_DEALS, query=query, dealt=dealt, count=count)


_DEALS = """
import pandas as pd
from attnviz.faithfulness import permutations

# dealt: the head whose row is dealt out anew; None for every head of the layer
at = (head.layer, dealt, query)
found = permutations(model, capture, *at, stack=head.stack, count=count)
table = pd.DataFrame({"Deal": range(count), "Change": found.changes, "JSD": found.divergences})
"""


def sought(query: int, steps: int, restarts: int) -> str:
    return _with(_SOUGHT, query=query, steps=steps, restarts=restarts)


_SOUGHT = """
import pandas as pd
from attnviz.faithfulness import adversary

at, seen = (head.layer, head.head, query), head.allowed[query]
found = adversary(model, capture, *at, stack=head.stack, steps=steps, restarts=restarts)
table = pd.DataFrame({"real": head.weights[query, seen], "found": found.weights[seen]})
"""


def rolled_out(query: int) -> str:
    return _with(_ROLLOUT, query=query)


_ROLLOUT = """
import pandas as pd
from attnviz.faithfulness import rollout, uniform_rollout

rolled = rollout(capture, head.stack)
layers = len(capture.layers(head.stack))
even = uniform_rollout(len(rolled), layers, causal=head.causal)
table = pd.DataFrame({"even attention": even[query], "this model": rolled[query]})
"""


def averaged(query: int) -> str:
    return _with(_AVERAGE, query=query)


_AVERAGE = """
import numpy as np
import pandas as pd

block, seen = capture.block(head.layer, head.stack), head.allowed[query]
mean = np.mean([block.head(h, [query]).weights[0] for h in range(block.heads)], axis=0)
table = pd.DataFrame({"average of the heads": mean[seen], "this head": head.weights[query, seen]})
"""


def named_heads(titles: dict[str, str], draws: int) -> str:
    return _with(_NAMED, titles=titles, draws=draws)


_NAMED = """
import pandas as pd
from attnviz.detectors import SHARES, controls

grids, at = controls(model, capture, head.stack, draws=draws), (head.layer, head.head)
table = pd.DataFrame({titles[on]: [grids[on][name][at] for name in SHARES] for on in titles})
"""


def all_heads(measure: str, draws: int) -> str:
    return _with(_ALL, measure=measure, draws=draws)


_ALL = """
import numpy as np
import pandas as pd
from attnviz.detectors import controls

grids = controls(model, capture, head.stack, draws=draws)
text, mixed, random = (grids[on][measure] for on in ("text", "shuffled", "random"))
both = np.isfinite(text) & np.isfinite(mixed)
table = pd.DataFrame({"Your text": text[both], "Shuffled": mixed[both], "Random": random[both]})
"""

BRIGHT = """
import numpy as np
import pandas as pd

scores = np.where(head.allowed, head.scores, 0)
size = float(np.abs(scores).max()) or 1.0
by = np.random.default_rng(0).uniform(-size, size, (len(scores), 1)).astype(np.float32)
largest = [np.where(head.allowed, s, -np.inf).max(axis=1) for s in (scores, scores + by)]
table = pd.DataFrame({"Largest weight": head.weights.max(axis=1), "Largest score": largest[0]})
table["Largest score, shifted"] = largest[1]
"""


def mask(query: int, key: int, lows: tuple[float, ...]) -> str:
    return _with(_MASK, query=query, key=key, lows=lows)


_MASK = """
import pandas as pd
from attnviz.interventions import HideKeys
from attnviz.softmax import weigh

seen, found = head.allowed[query], {"as it is": head.weights[query]}
for low in lows:
    scores = head.scores[query].copy()
    scores[key] = low
    found[f"at a score of {low:,.0f}"] = weigh(scores[None], head.sink_logit)[0][0]
found["masked"] = HideKeys(keys=(key,), queries=(query,)).apply(head).weights[query]
table = pd.DataFrame({name: weights[seen] for name, weights in found.items()})
"""


def temperature(by: float, shown: int) -> str:
    return _with(_TEMPERATURE, by=by, shown=shown)


_TEMPERATURE = """
import numpy as np
import pandas as pd
from attnviz.faithfulness.distances import softmax
from attnviz.interventions import Temper, effects

one = [Temper(head.layer, head.head, head.stack, temperature=by)]
every = [Temper(stack=head.stack, temperature=by)]
logits = capture.logits[-1]
tempered, all_tempered = (output[-1] for output in effects(model, capture, [one, every]))
found = {
    "as it is": softmax(logits),
    "scores of this head": softmax(tempered),
    "scores of every head": softmax(all_tempered),
    "sampling": softmax(logits / by),
}
likeliest = {int(i) for row in found.values() for i in np.argsort(-row)[:shown]}
order = sorted(likeliest, key=lambda i: -found["as it is"][i])[: 2 * shown]
table = pd.DataFrame({name: row[order] for name, row in found.items()})
"""
