"""To the Hub and back, in one call each.

::

    push_dataset("vrf", "OWNER/NAME")     load_dataset("OWNER/NAME", "image_pairs")
    push_model("run", "OWNER/NAME")       AutoModel.from_pretrained("OWNER/NAME", trust_remote_code=True)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from recipeflow.errors import HubAccessError, OfficialFramesError
from recipeflow.hub.dataset_package import card_for_repository, open_built
from recipeflow.hub.transfer import CARD, DATASETS, MODELS, Kind, Push, collect_files, pull_files, push_files
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
    """Send a dataset that ``vrf build`` wrote, so that ``load_dataset(repo_id, "image_pairs")`` gives it to anyone.

    Args:
        folder: The dataset folder.
        repo_id: ``OWNER/NAME``; the repository is made if there is none.
        private: Make it private. One that is there keeps its visibility, and a public one is refused, so that nothing
            becomes public by default.
        dry_run: Only compare; nothing is written anywhere.
        allow_official_frames: Send frames of the official videos, with their owner's permission.
        token: Instead of the one that this machine is logged in with.

    Raises:
        HubError: Of the kind that tells what is wrong.
    """
    folder = Path(folder)
    check_name(repo_id)
    built = open_built(folder)
    if built.source == "official" and built.has_images() and not allow_official_frames:
        raise _not_ours_to_publish(f"in {folder}", "push a build without frames")
    files = collect_files(folder, DATASETS) | {CARD: card_for_repository(folder, repo_id).encode()}
    return push_files(connect(token, needed=not dry_run), DATASETS, repo_id, files, private=private, dry_run=dry_run)


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
    """Send a trained model with its code, processor and index, and a card made of what was measured.

    A card that somebody wrote into the model's folder is sent as it is, unless results, a dataset or a picture ask for
    a new one.

    Args:
        folder: The folder of a run, or of a saved model.
        repo_id: ``OWNER/NAME``; the repository is made if there is none.
        results: The ``results.json`` of an experiment with models like this one; the run's own figures by default.
        dataset: What it was trained on: ``OWNER/NAME`` on the Hub, which the card links, or a dataset folder.
        picture: Queries and their answers, as ``vrf search --picture`` draws them, for the card.
        license: License of the weights, by the Hub's identifier.
        private: As for ``push_dataset``.
        dry_run: As for ``push_dataset``.
        allow_official_frames: As for ``push_dataset``; the index and the picture show frames.
        token: As for ``push_dataset``.

    Raises:
        HubError: Of the kind that tells what is wrong.
    """
    from recipeflow.hub.model_package import ModelPackage  # needs torch, which no dataset does

    check_name(repo_id)
    api = connect(token, needed=not dry_run)
    package = ModelPackage.open(Path(folder), api, dataset, picture and Path(picture))
    if not allow_official_frames and package.shows_official_frames():
        raise _not_ours_to_publish("in the index or the picture", "push the model without them")
    files = collect_files(package.folder, MODELS) | package.pictures
    if results or dataset or picture or package.has_default_card():
        files[CARD] = package.make_card(repo_id, results and Path(results), license).encode()
    done = push_files(api, MODELS, repo_id, files, private=private, dry_run=dry_run)
    return replace(done, notes=(*done.notes, *package.notes()))


def check_push(repo_id: str, *, private: bool = True, token: str | None = None) -> None:
    """Refuse now what ``push_model`` would refuse after hours of training; nothing is written to the Hub.

    Args:
        repo_id: As for ``push_model``.
        private: Likewise.
        token: Likewise.

    Raises:
        HubError: If the name is none, nobody is logged in, or the token may not write there.
    """
    check_name(repo_id)
    api = connect(token, needed=True)
    with explain_hub_errors(api, repo_id):
        user = api.whoami()
    reason = next(_reasons_against(user, repo_id.split("/")[0]), None)
    if reason is not None:
        raise HubAccessError(
            f"expected a token that may write to {repo_id}, found {reason}; use a token with write access, and a name "
            "under your own account or an organisation of yours"
        )
    push_files(api, MODELS, repo_id, {}, private=private, dry_run=True)


def _reasons_against(user: dict[str, Any], owner: str) -> Iterator[str]:
    """Why a user, as the Hub describes the owner of a token, cannot write to repositories of this owner."""
    roles = {org["name"]: org.get("roleInOrg") for org in user.get("orgs", ())} | {user["name"]: None}
    if owner not in roles:
        yield f"one of {user['name']}, who is not {owner} nor a member of such an organisation"
    elif roles[owner] == "read":
        yield f"one of {user['name']}, who may only read what {owner} has"
    token = user.get("auth", {}).get("accessToken", {})
    if token.get("role") == "read":
        yield "one that may only read"
    if token.get("role") == "fineGrained":
        scopes = token.get("fineGrained", {})
        allowed = {*scopes.get("global", ()), *(name for s in scopes.get("scoped", ()) for name in s["permissions"])}
        if "repo.write" not in allowed:
            yield "one without the permission to write to repositories"


def pull_dataset(
    repo_id: str, folder: str | Path, *, revision: str | None = None, overwrite: bool = False, token: str | None = None
) -> Path:
    """Fetch a dataset that ``push_dataset`` sent into a folder, which appears once it is whole.

    Args:
        repo_id: ``OWNER/NAME``.
        folder: Where to.
        revision: A branch, tag or commit; the latest by default.
        overwrite: Replace an earlier dataset.
        token: Instead of the one that this machine is logged in with.
    """
    return _pull(DATASETS, repo_id, folder, revision, overwrite, token)


def pull_model(
    repo_id: str, folder: str | Path, *, revision: str | None = None, overwrite: bool = False, token: str | None = None
) -> Path:
    """Fetch a model that ``push_model`` sent; the arguments are those of ``pull_dataset``."""
    return _pull(MODELS, repo_id, folder, revision, overwrite, token)


def _pull(
    kind: Kind, repo_id: str, folder: str | Path, revision: str | None, overwrite: bool, token: str | None
) -> Path:
    check_name(repo_id)
    api = connect(token, needed=False)
    return pull_files(api, kind, repo_id, Path(folder), revision=revision, overwrite=overwrite)


def _not_ours_to_publish(place: str, instead: str) -> OfficialFramesError:
    return OfficialFramesError(
        f"expected data that is yours to publish, found frames of the official videos {place}, which belong to their "
        f"owner; {instead}, or pass --with-official-frames if you have permission"
    )
