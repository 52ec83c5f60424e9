"""The official release, from two published files and two hundred URLs to a release folder with text and video.

::

    <out>/recipes/<id>/page.json    what the page said: written last, so that a page is fetched again until it was read
    <out>/recipes/<id>/video.mp4    complete or absent; ``.video.mp4.partial`` during the download

Every step can be killed. Running the same command again resumes, and fetches nothing twice.
"""

from __future__ import annotations

import json
import os
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from recipeflow.download.fetch import Fetcher, Manners
from recipeflow.download.frames import QUALITY, VIDEO, sample_release
from recipeflow.download.official import ADDRESS, fetch_annotations, take_annotations
from recipeflow.download.pages import find_video, read_page
from recipeflow.download.report import (
    CHANGED,
    COMPLETE,
    GONE,
    MISSING,
    DownloadProgress,
    DownloadReport,
    RecipeOutcome,
)
from recipeflow.download.text import CHANGED_TEXT, FittedText, fit_text, page_text, write_text
from recipeflow.errors import (
    FetchError,
    GoneError,
    PageError,
    ServerBusyError,
    UsageError,
)
from recipeflow.files import cannot_write, lock_if_free, write_json
from recipeflow.release import read_release
from recipeflow.release.recipe import Recipe
from recipeflow.release.recipe_files import TEXTS, recipe_folder

NOTE = "page.json"
PAGE_LIMIT = 20_000_000
VIDEO_LIMIT = 500_000_000


@dataclass(frozen=True)
class DownloadPlan:
    """What is fetched, from where and how.

    Attributes:
        annotations: A folder with the published files; without it, they are fetched from ``address``.
        site: A mirror of the pages' site.
        manners: Pauses, retries and limits for the sites.
        video_limit: The largest video to fetch, in bytes.
    """

    annotations: Path | None = None
    address: str = ADDRESS
    site: str | None = None
    manners: Manners = field(default_factory=Manners)
    video_limit: int = VIDEO_LIMIT


def download_annotations(out: Path, plan: DownloadPlan) -> None:
    """Start a release folder with the annotations, which are a complete release on their own."""
    with _writing_to(out):
        _begin(out, plan)


def download_release(
    out: Path, plan: DownloadPlan, quality: int = QUALITY, used_only: bool = False, workers: int | None = None
) -> DownloadReport:
    """Fetch the annotations, then the page and the video of every recipe, and sample the videos.

    Args:
        out: The release folder; existing files are not fetched again.
        plan: What to fetch, from where and how.
        quality: Of the frames, as JPEG files.
        used_only: Write only the annotated frames.
        workers: Processes that sample videos; as many as there are cores by default.

    Returns:
        What was fetched and what was not. A long Retry-After ends the download early, and the report says so.
    """
    with _writing_to(out):
        _begin(out, plan)
        _clear_half_texts(out)
        report = _fetch_recipes(out, plan)
        report.add_frames(sample_release(out, quality, used_only, workers))
    return report


def _begin(out: Path, plan: DownloadPlan) -> None:
    if plan.annotations is not None:
        take_annotations(out, plan.annotations)
        return
    with Fetcher(plan.manners) as fetcher:
        fetch_annotations(out, fetcher, plan.address)


def _fetch_recipes(out: Path, plan: DownloadPlan) -> DownloadReport:
    report = DownloadReport(out)
    recipes = list(read_release(out))
    with DownloadProgress(len(recipes)) as progress, Fetcher(plan.manners, progress.add_bytes) as fetcher:
        for recipe in recipes:
            assert recipe.url is not None  # the list of addresses is one of the two files that _begin wrote
            outcome = RecipeOutcome(recipe.id, _page_address(recipe.url, plan.site))
            report.outcomes.append(outcome)
            download = _RecipeDownload(out, recipe, outcome, fetcher, plan.video_limit)
            try:
                download.look() if report.stopped else download.run()
            except ServerBusyError as error:
                report.stopped = str(error)
                outcome.reasons.append(str(error))
            progress.advance()
    return report


class _RecipeDownload:
    """Fetches what one recipe lacks, and records in its outcome what could not be fetched."""

    def __init__(self, out: Path, recipe: Recipe, outcome: RecipeOutcome, fetcher: Fetcher, video_limit: int) -> None:
        self.out = out
        self.recipe = recipe
        self.home = recipe_folder(out, recipe.id)
        self.outcome = outcome
        self.fetcher = fetcher
        self.video_limit = video_limit

    def look(self) -> None:
        """Record what is already there."""
        self.outcome.text = COMPLETE if self.recipe.has_text else MISSING
        self.outcome.video = COMPLETE if (self.home / VIDEO).is_file() else MISSING

    def run(self) -> None:
        """Fetch the page unless it was read before, then the video unless it is there."""
        self.look()
        if self.outcome.text == self.outcome.video == COMPLETE:
            return
        try:
            note = self._read_note() or self._fetch_page()
        except FetchError as error:
            self._give_up(error, [what for what in ("text", "video") if getattr(self.outcome, what) == MISSING])
            return
        if self.outcome.text == MISSING:
            self.outcome.text = note["text"]
            self.outcome.reasons.extend(note["reasons"])
        if self.outcome.video == MISSING:
            self._fetch_video(note["video"])

    def _read_note(self) -> dict[str, Any] | None:
        """What the page said when it was read; ignored if the text files were removed since."""
        try:
            note = json.loads((self.home / NOTE).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        has_text = self.recipe.has_text or (self.home / CHANGED_TEXT).is_file()
        return note if has_text and note["url"] == self.outcome.url else None

    def _fetch_page(self) -> dict[str, Any]:
        source = self.fetcher.get(self.outcome.url, PAGE_LIMIT).decode("utf-8", "replace")
        note = {"url": self.outcome.url, "video": find_video(source), "text": COMPLETE, "reasons": []}
        try:
            page = read_page(source, self.outcome.url)
        except PageError as error:
            # Not recorded: a later version of this program, or of the page, may do better.
            return note | {"text": self.outcome.text, "reasons": [str(error)]}
        if not self.recipe.has_text:
            fitted = fit_text(page_text(page, self.recipe), self.recipe)
            write_text(self.out, self.recipe, fitted)
            if not fitted.fits:
                note |= {"text": CHANGED, "reasons": [_describe_change(fitted)]}
        write_json(self.home / NOTE, note | {"way": page.way})
        return note

    def _fetch_video(self, url: str | None) -> None:
        if url is None:
            self.outcome.video = GONE
            self.outcome.reasons.append("the page has no video")
            return
        self.home.mkdir(parents=True, exist_ok=True)
        try:
            self.fetcher.save(url, self.home / VIDEO, self.video_limit)
        except FetchError as error:
            self._give_up(error, ["video"])
            return
        self.outcome.video = COMPLETE

    def _give_up(self, error: FetchError, lost: list[str]) -> None:
        """Record why something could not be fetched; a long Retry-After ends the whole download."""
        if isinstance(error, ServerBusyError):
            raise error
        self.outcome.reasons.append(str(error))
        if isinstance(error, GoneError):
            for what in lost:
                setattr(self.outcome, what, GONE)


def _describe_change(fitted: FittedText) -> str:
    lines = [number for section in fitted.lines for number in section]
    usable = sum(number is not None for number in lines)
    return f"the page was edited ({fitted.problems[0].message}); {usable} of {len(lines)} lines are as annotated"


def _page_address(url: str, site: str | None) -> str:
    return url if site is None else site.rstrip("/") + httpx2.URL(url).path


def _clear_half_texts(out: Path) -> None:
    """Remove incomplete texts of a killed run."""
    for home in (out / "recipes").glob("*"):
        written = [home / name for name in TEXTS if (home / name).is_file()]
        if len(written) < len(TEXTS):
            for path in written:
                path.unlink()


@contextmanager
def _writing_to(out: Path) -> Generator[None]:
    """Lock the folder against other downloads, and report a full disk as such."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        folder = os.open(out, os.O_RDONLY)
        try:
            if not lock_if_free(folder, out):
                raise UsageError(f"expected no other download into {out}, found one running; wait for it")
            yield
        finally:
            os.close(folder)
    except OSError as error:
        raise cannot_write(error.filename or out, error) from error
