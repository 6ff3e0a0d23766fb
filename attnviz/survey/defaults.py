"""Settings: what a survey is run with unless told otherwise."""

ENGINES = ("local", "ray")
MAX_TOKENS = 1_024
"""Longer texts are cut to their beginning."""
EXAMPLES = 5
"""Cells kept for each head."""
