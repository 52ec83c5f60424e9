"""The Hub's client: names, tokens, and errors that say what to do. Tokens are never shown."""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from textwrap import shorten

from huggingface_hub import HfApi
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    HTTPError,  # the base of its own errors and the HTTP client's
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from huggingface_hub.utils import get_token, validate_repo_id

import recipeflow
from recipeflow.errors import (
    HubAccessError,
    HubConnectionError,
    HubError,
    HubNotFoundError,
    HubTokenError,
    RepoNameError,
    StaleRevisionError,
    short,
)

LOG_IN = "log in with `hf auth login`, or set HF_TOKEN to a token from https://huggingface.co/settings/tokens"
_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")

RESUME = "nothing incomplete is visible; run the same command again to resume"


def is_hub_name(name: str | Path) -> bool:
    """Whether a name is OWNER/NAME on the Hub, rather than a path inside an existing folder."""
    return _HUB_NAME.fullmatch(str(name)) is not None and not Path(name).parent.exists()


def check_name(repo_id: str) -> None:
    """Refuse an invalid repository name before any request to the Hub."""
    try:
        validate_repo_id(repo_id)
        if repo_id.count("/") == 1:
            return
        reason = "it has no owner"
    except HFValidationError as error:
        reason = str(error).rstrip(".")
    raise RepoNameError(
        f"expected OWNER/NAME, found {short(repo_id)} ({reason}); name your account or organisation, a slash, and the "
        "repository"
    )


def connect(token: str | None, needed: bool) -> HfApi:
    """Make a client with this token or the saved one; without any if none is needed."""
    token = token or get_token()
    if token is None and needed:
        raise HubTokenError(f"expected a token with write access, found none; {LOG_IN}")
    # The HTTP client would print a header that it cannot send, including the token.
    if token is not None and not (token.isascii() and token.isprintable() and " " not in token):
        raise HubTokenError(f"expected a token such as hf_…, found characters that no token has; {LOG_IN}")
    return HfApi(token=token or False, library_name="recipeflow", library_version=recipeflow.__version__)


@contextmanager
def explain_hub_errors(api: HfApi, repo_id: str) -> Generator[None]:
    """Turn what the Hub's client raises in this block into one of our errors."""
    try:
        yield
    except (HTTPError, OfflineModeIsEnabled, LocalEntryNotFoundError, RuntimeError, ValueError) as error:
        raise _explain(error, api, repo_id) from error


def _explain(error: Exception, api: HfApi, repo_id: str) -> HubError:
    if isinstance(error, RuntimeError | LocalEntryNotFoundError) and isinstance(error.__cause__, Exception):
        error = error.__cause__  # raised by a thread that sent or fetched one file
    if isinstance(error, OfflineModeIsEnabled):
        return HubConnectionError(f"expected to reach {api.endpoint}, found HF_HUB_OFFLINE set; unset it")
    if not isinstance(error, HfHubHTTPError):
        return _explain_broken_connection(error, api)
    status = error.response.status_code
    if isinstance(error, RevisionNotFoundError):
        return HubNotFoundError(f"expected that revision in {repo_id}, found none with that name; check its history")
    if isinstance(error, RepositoryNotFoundError) and not isinstance(error, GatedRepoError):
        hint = LOG_IN if not api.token else "check its name and kind, and whether your token may see it"
        return HubNotFoundError(f"expected a repository {repo_id}, found none that is visible to you; {hint}")
    if not str(error.response.url).startswith(api.endpoint) or status >= 500:
        return HubConnectionError(
            f"expected the Hub to finish the transfer, found status {status} in the middle; {RESUME}"
        )
    if status == 401:
        return HubTokenError(f"expected a token that the Hub accepts, found one that it refuses; {LOG_IN}")
    if status == 403:
        return HubAccessError(
            f"expected write access to {repo_id}, found that you have none ({_server_says(error, api)}); use "
            "a token with write access, and a repository of your own account or organisation"
        )
    if status == 412:
        return StaleRevisionError(
            f"expected {repo_id} to stay unchanged during the push, found that someone else pushed to it; check "
            "their changes, then run the same command again"
        )
    return HubError(f"expected the Hub to accept this, found status {status}: {_server_says(error, api)}")


def _explain_broken_connection(error: Exception, api: HfApi) -> HubError:
    found = shorten(_hide(f"{type(error).__name__}: {error}", api), 300)
    if isinstance(error, HTTPError | LocalEntryNotFoundError):
        return HubConnectionError(f"expected to reach {api.endpoint}, found {found}; {RESUME}")
    return HubError(f"expected the Hub to accept this, found {found}")


def _server_says(error: HfHubHTTPError, api: HfApi) -> str:
    return shorten(_hide(error.server_message or str(error), api), 300)


def _hide(text: str, api: HfApi) -> str:
    return text.replace(api.token, "hf_…") if isinstance(api.token, str) and api.token else text
