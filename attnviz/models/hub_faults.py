"""Hub faults: what went wrong between here and the Hugging Face Hub, in plain words."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from attnviz.errors import AttnvizError, ModelNotFound, TooLarge, UnsupportedModel

_BAD_TOKEN = "Invalid credentials in Authorization header"


def is_unreachable(error: Exception) -> bool:
    """Whether the Hub gave no answer of its own, so that the cache may stand in for it."""
    import httpx2
    from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled

    if isinstance(error, HfHubHTTPError):
        return error.response.status_code >= 500
    return isinstance(error, httpx2.TransportError | OfflineModeIsEnabled)


@contextmanager
def plain_errors(repo: str, revision: str | None) -> Iterator[None]:
    """Say what went wrong in plain words.

    The library's own words hold addresses, request ids and what a server chose to answer, so
    neither they nor the exception itself are passed on.
    """
    import httpx2
    from huggingface_hub.errors import EntryNotFoundError, RevisionResolutionError

    known = (httpx2.HTTPError, EntryNotFoundError, RevisionResolutionError, OSError, ValueError)
    try:
        yield
    except AttnvizError:
        raise
    except known as error:
        raise _explain(error, repo, revision) from None


def _explain(error: BaseException, repo: str, revision: str | None) -> AttnvizError:
    import httpx2
    from huggingface_hub import errors

    # The library wraps what happened in "not in the cache either": look at what happened.
    happened = (httpx2.HTTPError, errors.OfflineModeIsEnabled)
    while not isinstance(error, happened) and error.__cause__ is not None:
        error = error.__cause__
    if isinstance(error, errors.HfHubHTTPError):
        return _explain_answer(error, repo, revision)
    if isinstance(error, httpx2.TimeoutException):
        return ModelNotFound(
            "The Hub did not answer in time.",
            "The connection is slow, or the Hub is busy.",
            "Try again in a minute.",
        )
    if isinstance(error, errors.OfflineModeIsEnabled):
        return ModelNotFound(
            f"{repo} is not on this machine.",
            "Downloads are switched off by HF_HUB_OFFLINE.",
            "Unset it and try again, or choose a model that is here.",
        )
    if _broke_off(error):
        return ModelNotFound(
            "The download broke off.",
            "The connection to the Hub was lost before the whole file was here.",
            "Try again; what is whole already is not fetched a second time.",
        )
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return TooLarge(
            "The model does not fit on the disk.",
            "The disk with the Hub's cache is full.",
            "Free some space, or set HF_HOME to a folder on another disk.",
        )
    if isinstance(error, PermissionError):
        return ModelNotFound(
            "The model could not be stored.",
            "The Hub's cache folder cannot be written to.",
            "Set HF_HOME to a folder that you may write to.",
        )
    if isinstance(error, errors.FileMetadataError):
        return ModelNotFound(
            "The answer did not come from the Hub.",
            "A proxy or a firewall may have answered in its place, or HF_ENDPOINT is wrong.",
            "Check the network settings and try again.",
        )
    return ModelNotFound(
        "The Hub could not be reached.",
        f"There is no connection to it, and {repo} is not on this machine.",
        "Check the network and try again, or choose a model that is here.",
    )


def _broke_off(error: BaseException) -> bool:
    """Whether an answer began and did not end, or ended too soon, which the library notices by the
    file's length."""
    import httpx2

    begun = (httpx2.RemoteProtocolError, httpx2.ReadError)
    return isinstance(error, begun) or "Consistency check failed" in str(error)


def _explain_answer(error: Any, repo: str, revision: str | None) -> AttnvizError:
    from huggingface_hub import errors

    status = error.response.status_code
    bad_token = error.response.headers.get("X-Error-Message") == _BAD_TOKEN
    if isinstance(error, errors.GatedRepoError):
        return ModelNotFound(
            f"{repo} is gated.",
            "Its owner gives access to people who asked for it.",
            "Ask for access on the model's page, sign in with `hf auth login`, and try again.",
        )
    if isinstance(error, errors.RevisionNotFoundError):
        return ModelNotFound(
            f"{repo} has no revision of that name.",
            "The Hub knows the model, and no such branch, tag or commit of it.",
            'Check the name, or leave it out for "main".',
        )
    if isinstance(error, errors.DisabledRepoError):
        return ModelNotFound(
            f"{repo} was switched off.",
            "The Hub does not give it out any more.",
            "Choose another model.",
        )
    # To a stranger the Hub says 401 for what does not exist as for what is private.
    unknown = isinstance(error, errors.RepositoryNotFoundError) or status == 404
    if unknown or (status == 401 and not bad_token):
        return ModelNotFound(
            f"The Hub has no model {repo}.",
            "It does not exist, or it is private.",
            "Check the spelling; for a private model, sign in with `hf auth login`.",
        )
    if status in (401, 403):
        return ModelNotFound(
            f"The Hub refused access to {repo}.",
            "The access token in use is not valid for it, or has expired.",
            "Sign in again with `hf auth login`, or remove the token, and try again.",
        )
    if status == 429:
        return ModelNotFound(
            "The Hub asks to wait.",
            "Too many requests came from this address.",
            "Try again in a few minutes; signed in, more requests are allowed.",
        )
    if status >= 500:
        return ModelNotFound(
            "The Hub has a fault.",
            f"It answered with the error {status}.",
            "Try again in a few minutes.",
        )
    return UnsupportedModel(
        f"The Hub does not give out {repo}.",
        f"It answered with the error {status}.",
        "Check the name, or choose another model.",
    )
