"""To the Hub and back, in one call each.

::

    push_dataset("vrf", "OWNER/NAME")     load_dataset("OWNER/NAME", "image_pairs")
    push_model("run", "OWNER/NAME")       AutoModel.from_pretrained("OWNER/NAME", trust_remote_code=True)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from recipeflow.errors import HubAccessError, OfficialFramesError
from recipeflow.hub.dataset_package import TaskSetsPackage, card_for_repository, open_built
from recipeflow.hub.transfer import (
    CARD,
    DATASETS,
    MODELS,
    TASK_SETS,
    Kind,
    Push,
    collect_files,
    pull_files,
    push_files,
)
from recipeflow.hub_client import check_name, connect, explain_hub_errors


def push_dataset(
    folder: str | Path,
    repo_id: str,
    *,
    private: bool = True,
    dry_run: bool = False,
    allow_official_frames: bool = False,
    token: str | None = None,
) -> Push:
    """Send a dataset written by ``vrf build``, so that anyone can ``load_dataset(repo_id, "image_pairs")``.

    The task sets of ``vrf tasks`` are sent in the same way.

    Args:
        folder: The dataset folder.
        repo_id: ``OWNER/NAME``; the repository is created if missing.
        private: Make it private. An existing one keeps its visibility, and a public one is refused, so that nothing
            becomes public by default.
        dry_run: Only compare; nothing is written anywhere.
        allow_official_frames: Send frames of the official videos, with their owner's permission.
        token: Instead of the saved one.

    Raises:
        HubError: Of the kind that says what is wrong.
    """
    folder = Path(folder)
    check_name(repo_id)
    is_tasks = (folder / TASK_SETS.marker).is_file()
    package = TaskSetsPackage(folder) if is_tasks else open_built(folder)
    if package.source == "official" and package.has_images() and not allow_official_frames:
        raise _not_ours_to_publish(f"in {folder}", "push a build without frames")
    kind = TASK_SETS if is_tasks else DATASETS
    files = collect_files(folder, kind) | {CARD: card_for_repository(folder, repo_id).encode()}
    if isinstance(package, TaskSetsPackage):
        files |= package.harness_files(repo_id)
    return push_files(connect(token, needed=not dry_run), kind, repo_id, files, private=private, dry_run=dry_run)


def push_model(
    folder: str | Path,
    repo_id: str,
    *,
    results: str | Path | None = None,
    dataset: str | Path | None = None,
    picture: str | Path | None = None,
    license: str = "mit",
    private: bool = True,
    dry_run: bool = False,
    allow_official_frames: bool = False,
    token: str | None = None,
) -> Push:
    """Send a trained model with its code, processor and index, and a card with its measured results.

    A hand-written card in the model's folder is sent as it is, unless results, a dataset or a picture ask for a new
    one.

    Args:
        folder: The folder of a run, or of a saved model.
        repo_id: ``OWNER/NAME``; the repository is created if missing.
        results: The ``results.json`` of an experiment with models like this one; the run's own metrics by default.
        dataset: What it was trained on: ``OWNER/NAME`` on the Hub, which the card links to, or a dataset folder.
        picture: Queries and their answers, drawn by ``vrf search --picture``, for the card.
        license: License of the weights, by the Hub's identifier.
        private: As for ``push_dataset``.
        dry_run: As for ``push_dataset``.
        allow_official_frames: As for ``push_dataset``; the index and the picture show frames.
        token: As for ``push_dataset``.

    Raises:
        HubError: Of the kind that says what is wrong.
    """
    from recipeflow.hub.model_package import ModelPackage  # needs torch, which no dataset does
    from recipeflow.hub.parser_package import ParserPackage, is_parser

    check_name(repo_id)
    api = connect(token, needed=not dry_run)
    kind = ParserPackage if is_parser(Path(folder)) else ModelPackage
    package = kind.open(Path(folder), api, dataset, Path(picture) if picture else None)
    if not allow_official_frames and package.shows_official_frames():
        raise _not_ours_to_publish("in the index or the picture", "push the model without them")
    files = collect_files(package.folder, MODELS) | package.pictures
    if results or dataset or picture or package.has_default_card():
        files[CARD] = package.make_card(repo_id, Path(results) if results else None, license).encode()
    done = push_files(api, MODELS, repo_id, files, private=private, dry_run=dry_run)
    return replace(done, notes=(*done.notes, *package.notes()))


def check_push(repo_id: str, *, private: bool = True, token: str | None = None) -> None:
    """Refuse early what ``push_model`` would refuse after hours of training; nothing is written to the Hub.

    Args:
        repo_id: As for ``push_model``.
        private: As for ``push_model``.
        token: As for ``push_model``.

    Raises:
        HubError: If the name is invalid, there is no token, or it has no write access.
    """
    check_name(repo_id)
    api = connect(token, needed=True)
    with explain_hub_errors(api, repo_id):
        user = api.whoami()
    reason = next(_reasons_against(user, repo_id.split("/")[0]), None)
    if reason is not None:
        raise HubAccessError(
            f"expected a token with write access to {repo_id}, found {reason}; use another token, or a repository "
            "of your own account or organisation"
        )
    push_files(api, MODELS, repo_id, {}, private=private, dry_run=True)


def _reasons_against(user: dict[str, Any], owner: str) -> Iterator[str]:
    """Why the user of a token, as described by the Hub, cannot write to repositories of this owner."""
    roles = {org["name"]: org.get("roleInOrg") for org in user.get("orgs", ())} | {user["name"]: None}
    if owner not in roles:
        yield f"one of {user['name']}, who is not {owner} nor a member of such an organisation"
    elif roles[owner] == "read":
        yield f"one of {user['name']}, who has only read access to {owner}"
    token = user.get("auth", {}).get("accessToken", {})
    if token.get("role") == "read":
        yield "one with read access only"
    if token.get("role") == "fineGrained":
        scopes = token.get("fineGrained", {})
        allowed = {*scopes.get("global", ()), *(name for s in scopes.get("scoped", ()) for name in s["permissions"])}
        if "repo.write" not in allowed:
            yield "one without the permission to write to repositories"


def pull_dataset(
    repo_id: str, folder: str | Path, *, revision: str | None = None, overwrite: bool = False, token: str | None = None
) -> Path:
    """Fetch a dataset sent by ``push_dataset`` into a folder, which appears when it is complete.

    Args:
        repo_id: ``OWNER/NAME``.
        folder: The folder to write.
        revision: A branch, tag or commit; the latest by default.
        overwrite: Replace an earlier dataset.
        token: Instead of the saved one.
    """
    return _pull((DATASETS, TASK_SETS), repo_id, folder, revision, overwrite, token)


def pull_model(
    repo_id: str, folder: str | Path, *, revision: str | None = None, overwrite: bool = False, token: str | None = None
) -> Path:
    """Fetch a model sent by ``push_model``; the arguments are those of ``pull_dataset``."""
    return _pull((MODELS,), repo_id, folder, revision, overwrite, token)


def _pull(
    kinds: Sequence[Kind], repo_id: str, folder: str | Path, revision: str | None, overwrite: bool, token: str | None
) -> Path:
    check_name(repo_id)
    api = connect(token, needed=False)
    return pull_files(api, kinds, repo_id, Path(folder), revision=revision, overwrite=overwrite)


def _not_ours_to_publish(place: str, instead: str) -> OfficialFramesError:
    return OfficialFramesError(
        f"expected data that you may publish, found frames of the official videos {place}, which belong to their "
        f"owner; {instead}, or pass --with-official-frames if you have permission"
    )
