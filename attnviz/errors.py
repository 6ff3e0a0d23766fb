"""What attnviz says when it cannot do what was asked: what happened, why, what to do next."""


class AttnvizError(Exception):
    """The parent of every error attnviz raises on purpose.

    Each part is one plain sentence, so that a page can set them apart and a console can run
    them together.

    >>> print(
    ...     BadInput(
    ...         what="The text is empty.", why="No tokens came out of it.", todo="Type a word."
    ...     )
    ... )
    The text is empty. No tokens came out of it. Type a word.
    """

    def __init__(self, what: str, why: str = "", todo: str = "") -> None:
        self.what, self.why, self.todo = what, why, todo
        super().__init__(" ".join(part for part in (what, why, todo) if part))


class BadInput(AttnvizError):
    """The text, ids, layer, head or option given cannot be used."""


class TooLarge(AttnvizError):
    """The text or the model does not fit the limit that applies."""


class ModelNotFound(AttnvizError):
    """No such model, or no way to reach it."""


class ModelRefused(AttnvizError):
    """The model exists, and attnviz will not load it: pickled weights, foreign code, a bad file."""


class UnsupportedModel(AttnvizError):
    """The model has no softmax attention, or attention that attnviz cannot show exactly."""


class CaptureFailed(AttnvizError):
    """A forward pass ran and what was recorded did not check out."""
