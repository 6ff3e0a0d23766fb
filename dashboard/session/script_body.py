"""Body: a script's imports, what the reader chose, and what is done with it."""

from typing import Any


def filled(body: str, **chosen: Any) -> str:
    """The imports of the body, what was chosen, and the rest of the body."""
    imports, rest = body.strip().split("\n\n", 1)
    values = "\n".join(f"{name} = {value!r}" for name, value in chosen.items())
    return f"{imports}\n\n{values}\n{rest}\n"
