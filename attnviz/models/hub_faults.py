"""Hub faults: what went wrong between here and the Hugging Face Hub, in plain words."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager

import httpx2
from huggingface_hub import errors

from attnviz.errors import AttnvizError, ModelNotFound, UnsupportedModel
from attnviz.models.cache import disk_full

_KNOWN = (
    httpx2.HTTPError,
    errors.EntryNotFoundError,
    errors.RevisionResolutionError,
    OSError,
    ValueError,
)
_BAD_TOKEN = "Invalid credentials in Authorization header"


def is_unreachable(error: Exception) -> bool:
    """Whether the Hub gave no answer of its own, so that the cache may stand in for it."""
    if isinstance(error, errors.HfHubHTTPError):
        return error.response.status_code >= 500
    return isinstance(error, httpx2.TransportError | errors.OfflineModeIsEnabled)


@contextmanager
def plain_errors(repo: str) -> Iterator[None]:
    """Say what went wrong in plain words.

    The library's own words hold addresses, request ids and what a server chose to answer, so
    neither they nor the exception itself are passed on.
    """
    try:
        yield
    except AttnvizError:
        raise
    except _KNOWN as error:
        raise _explain(error, repo) from None


def _explain(error: BaseException, repo: str) -> AttnvizError:
    # The library wraps what happened in "not in the cache either": look at what happened.
    happened = (httpx2.HTTPError, errors.OfflineModeIsEnabled)
    while not isinstance(error, happened) and error.__cause__ is not None:
        error = error.__cause__
    if isinstance(error, errors.HfHubHTTPError):
        return _explain_answer(error, repo)
    if isinstance(error, httpx2.TimeoutException):
        return ModelNotFound(
            what="The Hub did not answer in time.",
            why="The connection is slow, or the Hub is busy.",
            todo="Try again in a minute.",
        )
    if isinstance(error, errors.OfflineModeIsEnabled):
        return ModelNotFound(
            what=f"{repo} is not on this machine.",
            why="Downloads are switched off by HF_HUB_OFFLINE.",
            todo="Unset it and try again, or choose a model that is here.",
        )
    if _broke_off(error):
        return ModelNotFound(
            what="The download broke off.",
            why="The connection to the Hub was lost before the whole file was here.",
            todo="Try again; what is whole already is not fetched a second time.",
        )
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return disk_full("HF_HOME")
    if isinstance(error, PermissionError):
        return ModelNotFound(
            what="The model could not be stored.",
            why="The Hub's cache folder cannot be written to.",
            todo="Set HF_HOME to a folder that you may write to.",
        )
    if isinstance(error, errors.FileMetadataError):
        return ModelNotFound(
            what="The answer did not come from the Hub.",
            why="A proxy or a firewall may have answered in its place, or HF_ENDPOINT is wrong.",
            todo="Check the network settings and try again.",
        )
    return ModelNotFound(
        what="The Hub could not be reached.",
        why=f"There is no connection to it, and {repo} is not on this machine.",
        todo="Check the network and try again, or choose a model that is here.",
    )


def _broke_off(error: BaseException) -> bool:
    """Whether an answer began and did not end, or ended too soon, which the library notices by the
    file's length."""
    begun = (httpx2.RemoteProtocolError, httpx2.ReadError)
    return isinstance(error, begun) or "Consistency check failed" in str(error)


def _explain_answer(error: errors.HfHubHTTPError, repo: str) -> AttnvizError:
    status = error.response.status_code
    bad_token = error.response.headers.get("X-Error-Message") == _BAD_TOKEN
    if isinstance(error, errors.GatedRepoError):
        return ModelNotFound(
            what=f"{repo} is gated.",
            why="Its owner gives access to people who asked for it.",
            todo="Ask for access on the model's page, sign in with `hf auth login`, and try again.",
        )
    if isinstance(error, errors.RevisionNotFoundError):
        return ModelNotFound(
            what=f"{repo} has no revision of that name.",
            why="The Hub knows the model, and no such branch, tag or commit of it.",
            todo='Check the name, or leave it out for "main".',
        )
    if isinstance(error, errors.DisabledRepoError):
        return ModelNotFound(
            what=f"{repo} was switched off.",
            why="The Hub does not give it out any more.",
            todo="Choose another model.",
        )
    # To a stranger the Hub says 401 for what does not exist as for what is private.
    unknown = isinstance(error, errors.RepositoryNotFoundError) or status == 404
    if unknown or (status == 401 and not bad_token):
        return ModelNotFound(
            what=f"The Hub has no model {repo}.",
            why="It does not exist, or it is private.",
            todo="Check the spelling; for a private model, sign in with `hf auth login`.",
        )
    if status in (401, 403):
        return ModelNotFound(
            what=f"The Hub refused access to {repo}.",
            why="The access token in use is not valid for it, or has expired.",
            todo="Sign in again with `hf auth login`, or remove the token, and try again.",
        )
    if status == 429:
        return ModelNotFound(
            what="The Hub asks to wait.",
            why="Too many requests came from this address.",
            todo="Try again in a few minutes; signed in, more requests are allowed.",
        )
    if status >= 500:
        return ModelNotFound(
            what="The Hub has a fault.",
            why=f"It answered with the error {status}.",
            todo="Try again in a few minutes.",
        )
    return UnsupportedModel(
        what=f"The Hub does not give out {repo}.",
        why=f"It answered with the error {status}.",
        todo="Check the name, or choose another model.",
    )
