"""Names of files: letters, digits, dots and dashes, whatever a model is called."""

import re

_LONGEST = 60


def stem(*parts: str) -> str:
    """A name without its ending, safe on every system.

    >>> stem("openai-community/gpt2", "L5H1", "")
    'attnviz-gpt2-L5H1'
    >>> stem("../../etc/passwd <b>")
    'attnviz-passwd-b'
    """
    last = [part.rstrip("/").rsplit("/", 1)[-1] for part in parts]
    words = [re.sub(r"[^A-Za-z0-9.]+", "-", part).strip("-.") for part in last]
    kept = "-".join(word[:_LONGEST] for word in words if word)
    return f"attnviz-{kept}" if kept else "attnviz"
