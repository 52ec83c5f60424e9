"""``vrf frames``: every ``recipes/<id>/video.mp4`` of a release to its ``recipes/<id>/frames/frame_N.jpg``.

A recipe's frames appear all at once, together with ``sampling.json``: what they were made from (the video's checksum,
the settings) and the size of every frame. Run again, the command reads it and samples only what is missing, was made
from another video or with other settings, or has lost files since. So there is no separate list of finished recipes,
which could disagree with the disk. A folder appears only if it has every annotated frame.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from recipeflow.download.video import Video, encode_jpeg
from recipeflow.errors import ForeignFramesError, ShortVideoError, UsageError, VRFError
from recipeflow.files import StagedFolder
from recipeflow.machines.processes import available_cores, follow_parent, no_interrupts
from recipeflow.machines.ray_cluster import RayCluster
from recipeflow.progress import progress_bar
from recipeflow.release import scan_release
from recipeflow.release.recipe import frame_name
from recipeflow.release.recipe_files import recipe_folder
from recipeflow.tables import Table

VIDEO = "video.mp4"
RECORD = "sampling.json"
QUALITY = 90

DONE, THERE, NO_VIDEO, TRUNCATED, FAILED = STATES = ("done", "already there", "no video", "truncated", "failed")
"""The possible outcomes. A truncated video still had every annotated frame; otherwise it failed."""


@dataclass(frozen=True)
class Job:
    """One recipe whose video will be sampled.

    Args:
        release: The release folder.
        recipe: The recipe's id.
        used: The numbers of its annotated frames, ascending.
        quality: Of the JPEG files, 1 to 100.
        used_only: Write only the annotated frames.
        overwrite: Sample existing frames again.
        into: The folder of the frames, if not ``frames`` next to the video.
    """

    release: Path
    recipe: str
    used: tuple[int, ...]
    quality: int = QUALITY
    used_only: bool = False
    overwrite: bool = False
    into: Path | None = None

    @property
    def home(self) -> Path:
        return recipe_folder(self.release, self.recipe)

    @property
    def frames(self) -> Path:
        return self.home / "frames" if self.into is None else self.into


@dataclass(frozen=True)
class Outcome:
    """The outcome of one recipe: one of ``STATES``, the number of frames, and the reason if incomplete."""

    recipe: str
    state: str
    frames: int = 0
    reason: str | None = None


@dataclass(frozen=True)
class Source:
    """Everything that frames depend on: frames of an equal source need not be sampled again.

    Args:
        video: SHA-256 of the video file; its time stamp changes when a release is copied.
        quality: Of the JPEG files.
        wanted: The numbers that were asked for; ``None`` for all of them.
    """

    video: str
    quality: int
    wanted: list[int] | None


@dataclass(frozen=True)
class Record:
    """What a folder of frames was made from, and what is in it.

    Args:
        source: What it was made from.
        step: One of this many decoded frames was kept.
        decoded: How many frames of the video were decoded.
        truncated: Whether the video is cut short there.
        frames: The size in bytes of every frame that was written, by number.
    """

    source: Source
    step: int
    decoded: int
    truncated: bool
    frames: dict[int, int]

    @classmethod
    def read(cls, folder: Path) -> Record | None:
        """The record of a folder of frames, if it has one that can be read."""
        try:
            raw = json.loads((folder / RECORD).read_text(encoding="utf-8"))
            frames = {int(number): size for number, size in raw["frames"].items()}
            return cls(**(raw | {"source": Source(**raw["source"]), "frames": frames}))
        except (OSError, ValueError, TypeError, LookupError, AttributeError):
            return None

    def write(self, folder: Path) -> None:
        """Write the record next to its frames."""
        (folder / RECORD).write_text(json.dumps(asdict(self)) + "\n", encoding="utf-8")

    def is_whole(self, folder: Path) -> bool:
        """Whether all frames exist at full size; after a power cut, for example, they may not."""
        with os.scandir(folder) as entries:
            sizes = {entry.name: entry.stat().st_size for entry in entries}
        return all(sizes.get(frame_name(number)) == size for number, size in self.frames.items())


def sample_recipe(job: Job) -> Outcome:
    """Sample the video of one recipe, unless its frames exist.

    Raises:
        BrokenVideoError: If the video does not open, or no frame of it decodes.
        ShortVideoError: If it ends before its last annotated frame; nothing is written then.
        ForeignFramesError: If there are frames that were not sampled by this function.
    """
    video, folder = job.home / VIDEO, job.frames
    if not video.is_file():
        return Outcome(job.recipe, NO_VIDEO)
    source = Source(_digest(video), job.quality, list(job.used) if job.used_only else None)
    there = None if job.overwrite else Record.read(folder)
    # The annotation may name more frames than when they were sampled.
    if there and there.source == source and set(job.used) <= there.frames.keys() and there.is_whole(folder):
        return _outcome(job, there, THERE)
    if not (folder / RECORD).is_file() and folder.is_dir() and any(folder.iterdir()):
        message = f"expected frames sampled by `vrf frames`, found a folder without {RECORD}"
        hint = "nothing was changed; move the folder away to sample the video"
        raise ForeignFramesError(message, file=f"recipes/{job.recipe}/frames", recipe=job.recipe, hint=hint)
    with StagedFolder(folder, marker=RECORD, overwrite=True) as staged:
        record = _sample(job, source, staged)
        record.write(staged)
    return _outcome(job, record, DONE)


def count_written(frames: Path) -> int:
    """How many frames a sampling that still runs has written to the folder that will be ``frames``."""
    return sum(1 for path in frames.parent.glob(f".{frames.name}.*.partial/*.jpg"))


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sample(job: Job, source: Source, folder: Path) -> Record:
    """Write the wanted frames, and check that all annotated ones are among them."""
    sizes: dict[int, int] = {}
    # Nothing is decoded after the last wanted frame.
    last = None if source.wanted is None else max(source.wanted, default=0)
    with Video(job.home / VIDEO, f"recipes/{job.recipe}/{VIDEO}", job.recipe) as video:
        for number, frame in islice(video.sampled(), last):
            if source.wanted is None or number in source.wanted:
                sizes[number] = (folder / frame_name(number)).write_bytes(encode_jpeg(frame, job.quality))
    if missing := [number for number in job.used if number not in sizes]:
        end = "a file that is cut short or damaged" if video.truncated else "the end of the video"
        counted = f"{video.decoded:,} frames, of which 1 in {video.step} is kept"
        message = f"expected frame {missing[-1]}, which is annotated, found {end} after {counted}"
        raise ShortVideoError(message, **video.where, place=f"frame {missing[0]}", value=missing)
    return Record(source, video.step, video.decoded, video.truncated, sizes)


def _outcome(job: Job, record: Record, state: str) -> Outcome:
    if not record.truncated:
        return Outcome(job.recipe, state, len(record.frames))
    reason = (
        f"recipes/{job.recipe}/{VIDEO} is cut short after {record.decoded:,} frames; every annotated one was found"
    )
    return Outcome(job.recipe, TRUNCATED, len(record.frames), reason)


@dataclass(frozen=True)
class FramesReport:
    """The outcome of every recipe of a release, in order."""

    release: Path
    outcomes: tuple[Outcome, ...]

    def of(self, state: str) -> list[Outcome]:
        """The recipes with this outcome."""
        return [outcome for outcome in self.outcomes if outcome.state == state]

    def table(self) -> Table:
        rows = [(state, len(of := self.of(state)), sum(outcome.frames for outcome in of)) for state in STATES]
        return Table(f"Frames of {self.release}", ("state", "recipes", "frames"), rows)

    def as_dict(self) -> dict[str, Any]:
        counts = {state: len(self.of(state)) for state in STATES}
        return {"release": str(self.release), **counts, "recipes": [asdict(outcome) for outcome in self.outcomes]}


def sample_release(
    folder: str | Path,
    quality: int = QUALITY,
    used_only: bool = False,
    workers: int | None = None,
    overwrite: bool = False,
    cluster: RayCluster | None = None,
) -> FramesReport:
    """Sample every video of a release, several at a time; one that fails does not stop the others.

    Args:
        folder: The release folder.
        quality: Of the JPEG files, 1 to 100.
        used_only: Write only the annotated frames.
        workers: Processes; as many as there are cores by default.
        overwrite: Sample existing frames again.
        cluster: Sample on this cluster, whose nodes share the folder, one recipe per core.

    Raises:
        ClusterError: If a node does not see the folder.
    """
    folder = Path(folder).absolute() if cluster else Path(folder)
    if not 1 <= quality <= 100:
        raise UsageError(
            f"expected a JPEG quality from 1 to 100, found {quality}; pass --quality {QUALITY}, for example"
        )
    outcomes: list[Outcome] = []
    jobs: list[Job] = []
    order: dict[str, int] = {}
    for checked in scan_release(folder):
        order.setdefault(checked.id, len(order))
        if checked.recipe is None:
            outcomes.append(Outcome(checked.id, FAILED, reason=str(checked.problems[0])))
        else:
            jobs.append(Job(folder, checked.id, checked.recipe.used_frames, quality, used_only, overwrite))
    if cluster is None:
        done = _run_all(jobs, workers or available_cores())
    else:
        cluster.require_shared(folder)
        done = (outcome for _, outcome in cluster.run(run_job, jobs, gpu=False, when_lost=_crashed))
    outcomes += progress_bar(done, len(jobs), "sampling videos")
    return FramesReport(folder, tuple(sorted(outcomes, key=lambda outcome: order[outcome.recipe])))


def _run_all(jobs: Sequence[Job], workers: int) -> Iterator[Outcome]:
    """Do all jobs, each video in one process.

    A broken file can crash the decoder, and with it the process and its pool. The lost jobs are then run again in
    halves, until the one that crashes is alone.
    """
    lost: list[Job] = []
    with ProcessPoolExecutor(max(1, min(workers, len(jobs))), get_context("spawn"), follow_parent) as pool:
        with no_interrupts():
            futures = {pool.submit(run_job, job): job for job in jobs}
        try:
            for future in as_completed(futures):
                try:
                    yield future.result()
                except BrokenProcessPool:
                    lost.append(futures[future])
        except BaseException:  # elsewhere the pool waits for its thread, which must not meet the end of Python
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    if lost and len(jobs) == 1:
        yield _crashed(lost[0])
    elif lost:
        middle = (len(lost) + 1) // 2
        for half in filter(None, (lost[:middle], lost[middle:])):
            yield from _run_all(half, workers)


def _crashed(job: Job) -> Outcome:
    found = "found that its process died (out of memory, or a video that crashes the decoder)"
    reason = f"recipes/{job.recipe}/{VIDEO}: expected frames, {found}; check the video, or fetch it again"
    return Outcome(job.recipe, FAILED, reason=reason)


def run_job(job: Job) -> Outcome:
    """Sample one recipe; problems with its files are reported, not raised."""
    try:
        return sample_recipe(job)
    except VRFError as error:
        return Outcome(job.recipe, FAILED, reason=str(error))
    except OSError as error:
        action = f"expected to be able to read {VIDEO} and to write frames"
        reason = (
            f"recipes/{job.recipe}: {action}, found: {error.strerror or error}; free some space or fix the permissions"
        )
        return Outcome(job.recipe, FAILED, reason=reason)
