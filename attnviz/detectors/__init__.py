"""What kind of head is this: numbers a head, each with a definition, a null and a ceiling.

A measure on a reader's own text gauges the text as well as the head; `repeated` gives a text of
random tokens, on which it is the head alone.

>>> import attnviz
>>> from attnviz.detectors import profile, repeated
>>> heads = profile(repeated(attnviz.load("planted-circuit")))
>>> heads.found("duplicate_token"), heads.found("previous_token")
([(0, 1)], [(0, 0)])
"""

from attnviz.detectors.ablation import effect
from attnviz.detectors.control_texts import controls
from attnviz.detectors.measures import HEAD_MEASURES, SHARES, HeadMeasure
from attnviz.detectors.profiles import HeadProfile, head_grid, profile
from attnviz.detectors.repeated_text import repeated
from attnviz.detectors.similarity import Alike, alike
from attnviz.detectors.thumbnails import Thumbnails, thumbnails

__all__ = [
    "HEAD_MEASURES",
    "SHARES",
    "Alike",
    "HeadMeasure",
    "HeadProfile",
    "Thumbnails",
    "alike",
    "controls",
    "effect",
    "head_grid",
    "profile",
    "repeated",
    "thumbnails",
]
