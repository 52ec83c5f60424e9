"""To the Hub and back, in one call each.

::

    push_dataset("vrf", "OWNER/NAME")     load_dataset("OWNER/NAME", "image_pairs")
    push_model("run", "OWNER/NAME")       AutoModel.from_pretrained("OWNER/NAME", trust_remote_code=True)
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from recipeflow.dataset_package import has_images, make_card, read_source
from recipeflow.errors import OfficialFramesError
from recipeflow.hub_errors import check_name, connect
from recipeflow.transfer import CARD, DATASETS, MODELS, Kind, Push, collect_files, pull_files, push_files


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
    if read_source(folder) == "official" and has_images(folder) and not allow_official_frames:
        raise _not_ours_to_publish(f"in {folder}", "push a build without frames")
    files = collect_files(folder, DATASETS) | {CARD: make_card(folder, repo_id).encode()}
    return push_files(connect(token, needed=not dry_run), DATASETS, repo_id, files, private=private, dry_run=dry_run)


def push_model(
    folder: str | Path,
    repo_id: str,
    *,
    results: str | Path | None = None,
    dataset: str | Path | None = None,
    picture: str | Path | None = None,
    licence: str = "mit",
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
        licence: Of the weights, as the Hub spells it.
        private: As for ``push_dataset``.
        dry_run: As for ``push_dataset``.
        allow_official_frames: As for ``push_dataset``; the index and the picture show frames.
        token: As for ``push_dataset``.

    Raises:
        HubError: Of the kind that tells what is wrong.
    """
    from recipeflow.model_package import ModelPackage  # needs torch, which no dataset does

    check_name(repo_id)
    api = connect(token, needed=not dry_run)
    package = ModelPackage.open(Path(folder), api, dataset, picture and Path(picture))
    if not allow_official_frames and package.shows_official_frames():
        raise _not_ours_to_publish("in the index or the picture", "push the model without them")
    files = collect_files(package.folder, MODELS) | package.pictures
    if results or dataset or picture or package.has_default_card():
        files[CARD] = package.make_card(repo_id, results and Path(results), licence).encode()
    done = push_files(api, MODELS, repo_id, files, private=private, dry_run=dry_run)
    return replace(done, notes=(*done.notes, *package.notes()))


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
