"""Scripts of Misconceptions."""

from dashboard.session.script_body import filled


def score_and_weight(query: int, shift: float, factor: float, what: str) -> str:
    made = filled(_SCORES, query=query, shift=shift, factor=factor)
    return f"{made}table = pd.DataFrame({what})\n"


_SCORES = """
import numpy as np
import pandas as pd
from attnviz.heads.softmax import weigh

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
    return filled(_TWO_TEXTS, other_text=text, tokenizing=tokenizing)


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
    return filled(_AGREEMENT, query=query, erase=erase, titles=titles) + shown + named


_AGREEMENT = """
from attnviz.faithfulness import agreement

at = (head.layer, head.head, query)
found = agreement(model, capture, *at, stack=head.stack, erase=erase)
"""


def output(query: int, of: str) -> str:
    return filled(_OUTPUT, query=query, of=of)


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
    return filled(_CHOSEN, query=query, measure=measure)


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
    return filled(_DEALS, query=query, dealt=dealt, count=count)


_DEALS = """
import pandas as pd
from attnviz.faithfulness import permutations

# dealt: the head whose row is dealt out anew; None for every head of the layer
at = (head.layer, dealt, query)
found = permutations(model, capture, *at, stack=head.stack, count=count)
table = pd.DataFrame({"Deal": range(count), "Change": found.changes, "JSD": found.divergences})
"""


def sought(query: int, steps: int, restarts: int) -> str:
    return filled(_SOUGHT, query=query, steps=steps, restarts=restarts)


_SOUGHT = """
import pandas as pd
from attnviz.faithfulness import adversary

at, seen = (head.layer, head.head, query), head.allowed[query]
found = adversary(model, capture, *at, stack=head.stack, steps=steps, restarts=restarts)
table = pd.DataFrame({"real": head.weights[query, seen], "found": found.weights[seen]})
"""


def rolled_out(query: int) -> str:
    return filled(_ROLLOUT, query=query)


_ROLLOUT = """
import pandas as pd
from attnviz.faithfulness import rollout, uniform_rollout

rolled = rollout(capture, head.stack)
layers = len(capture.layers(head.stack))
even = uniform_rollout(len(rolled), layers, causal=head.causal)
table = pd.DataFrame({"even attention": even[query], "this model": rolled[query]})
"""


def averaged(query: int) -> str:
    return filled(_AVERAGE, query=query)


_AVERAGE = """
import numpy as np
import pandas as pd

block, seen = capture.block(head.layer, head.stack), head.allowed[query]
mean = np.mean([block.head(h, [query]).weights[0] for h in range(block.heads)], axis=0)
table = pd.DataFrame({"average of the heads": mean[seen], "this head": head.weights[query, seen]})
"""


def named_heads(titles: dict[str, str], draws: int) -> str:
    return filled(_NAMED, titles=titles, draws=draws)


_NAMED = """
import pandas as pd
from attnviz.detectors import SHARES, controls

grids, at = controls(model, capture, head.stack, draws=draws), (head.layer, head.head)
table = pd.DataFrame({titles[on]: [grids[on][name][at] for name in SHARES] for on in titles})
"""


def all_heads(measure: str, draws: int) -> str:
    return filled(_ALL, measure=measure, draws=draws)


_ALL = """
import numpy as np
import pandas as pd
from attnviz.detectors import controls

grids = controls(model, capture, head.stack, draws=draws)
text, mixed, random = (grids[on][measure] for on in ("text", "shuffled", "random"))
both = np.isfinite(text) & np.isfinite(mixed)
table = pd.DataFrame({"Your text": text[both], "Shuffled": mixed[both], "Random": random[both]})
"""


def bright(number: int) -> str:
    return filled(_BRIGHT, number=number)


_BRIGHT = """
import pandas as pd

even = capture.head(head.layer, number, head.stack).weights
table = pd.DataFrame({"Largest weight": head.weights.max(axis=1)})
table[f"Largest weight of head {number}"] = even.max(axis=1)
"""

SHIFTED = """
import numpy as np
import pandas as pd

scores = np.where(head.allowed, head.scores, 0)
size = float(np.abs(scores).max()) or 1.0
by = np.random.default_rng(0).uniform(-size, size, (len(scores), 1)).astype(np.float32)
largest = [np.where(head.allowed, s, -np.inf).max(axis=1) for s in (scores, scores + by)]
table = pd.DataFrame({"Largest score": largest[0], "Largest score, shifted": largest[1]})
"""


def mask(query: int, key: int, lows: tuple[float, ...]) -> str:
    return filled(_MASK, query=query, key=key, lows=lows)


_MASK = """
import pandas as pd
from attnviz.interventions import HideKeys
from attnviz.heads.softmax import weigh

seen, found = head.allowed[query], {"as it is": head.weights[query]}
for low in lows:
    scores = head.scores[query].copy()
    scores[key] = low
    found[f"at a score of {low:,.0f}"] = weigh(scores[None], head.sink_logit)[0][0]
found["masked"] = HideKeys(keys=(key,), queries=(query,)).apply(head).weights[query]
table = pd.DataFrame({name: weights[seen] for name, weights in found.items()})
"""


def temperature(by: float, shown: int) -> str:
    return filled(_TEMPERATURE, by=by, shown=shown)


_TEMPERATURE = """
import numpy as np
import pandas as pd
from attnviz.heads.distances import softmax
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
