"""Body: the Python that makes the table of a measurement again, which is one call."""

from collections.abc import Callable
from typing import Any


def write_call(
    function: Callable[..., Any], *given: str, then: str = "", imports: str = "", **options: Any
) -> str:
    """The import of a function of the library, and the call that makes `table`.

    Args:
        given: the arguments that the script has names for: "model", "capture", "head" and "run".
        then: what leads from the result to the table, such as ".table".
        imports: lines before, for names among `given`.
        options: the arguments that were chosen on the page.
    """
    arguments = ", ".join([*given, *(f"{name}={value!r}" for name, value in options.items())])
    imported = f"from {function.__module__} import {function.__name__}"
    return f"{imports}{imported}\n\ntable = {function.__name__}({arguments}){then}\n"
