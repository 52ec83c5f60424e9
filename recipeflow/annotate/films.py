"""The films of recipes, next to the database: checked and sampled in a process of their own while the pages are used.

::

    annotations-films/recipes/<id>/video.mp4    what was uploaded, once it is complete and a video
                                  /frames/      its frames, or those of the release's video; all of them or none

The release folder is never written to. A film is decoded in another process, so that one that crashes the decoder does
not take the pages with it. A server that was killed samples again when it is started.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from multiprocessing import get_context, resource_tracker
from multiprocessing.connection import Connection
from pathlib import Path
from queue import Queue
from typing import Any

from recipeflow.annotate.uploads import LARGEST, Uploads
from recipeflow.download.frames import FAILED, VIDEO, Job, Outcome, Record, count_written, run_job
from recipeflow.errors import VRFError
from recipeflow.files import move_into_place, remove_quietly
from recipeflow.machines.processes import follow_parent
from recipeflow.own.film import HINT, FilmFacts, inspect_film
from recipeflow.release.recipe_files import recipe_folder

NONE, WAITING, SAMPLING, READY, BROKEN = "none", "waiting", "sampling", "ready", "failed"
CRASHED = f"expected a film, found one that crashes the decoder ({HINT})"


@dataclass(frozen=True)
class FilmState:
    """How far a film is: frames sampled so far, of about so many, and what to tell the person."""

    state: str = NONE
    frames: int = 0
    of: int = 0
    reason: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def is_busy(self) -> bool:
        return self.state in (WAITING, SAMPLING)

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "notes": list(self.notes)}


@dataclass(frozen=True)
class _Task:
    """A film to sample; of an upload, first to check and to move into place."""

    job: Job
    upload: Path | None = None


def films_folder(db: Path) -> Path:
    """Where the films and uploads of a database are."""
    return db.with_name(f"{db.stem}-films")


def sampled_frames(db: Path, name: str) -> Path:
    """The folder for the frames of a recipe's film that were not in the release."""
    return recipe_folder(films_folder(db), name) / "frames"


class Films:
    """Samples films one after the other.

    Args:
        db: The database that they are next to.
        changed: Called when a film's frames appear.
        limit: The largest film that may be uploaded, in bytes.
    """

    def __init__(self, db: Path, changed: Callable[[], None], limit: int = LARGEST) -> None:
        self.db = db
        self.uploads = Uploads(films_folder(db) / "uploads", limit)
        self.changed = changed
        self.states: dict[str, FilmState] = {}
        self.lock = threading.Lock()
        self.tasks: Queue[_Task] = Queue()
        self.thread: threading.Thread | None = None

    def video(self, name: str) -> Path:
        return recipe_folder(films_folder(self.db), name) / VIDEO

    def frames(self, name: str) -> Path:
        return sampled_frames(self.db, name)

    def state(self, name: str) -> FilmState:
        """How far the film of a recipe is, by the name of its folder."""
        with self.lock:
            found = self.states.get(name)
        if found is not None:
            return replace(found, frames=count_written(self.frames(name))) if found.state == SAMPLING else found
        if (record := Record.read(self.frames(name))) is None:
            return FilmState()
        notes = ("the file is cut short: frames were sampled up to there",) if record.truncated else ()
        return FilmState(READY, len(record.frames), len(record.frames), notes=notes)

    def sample(self, release: Path, name: str) -> None:
        """Sample a video of a release, or one that was uploaded earlier, in the background."""
        self._add(_Task(Job(release, name, (), into=self.frames(name))))

    def take(self, upload: Path, name: str) -> None:
        """Check an uploaded file, make it the film of a recipe, and sample it, in the background."""
        self._add(_Task(Job(films_folder(self.db), name, ()), upload))

    def _add(self, task: _Task) -> None:
        with self.lock:
            known = self.states.get(task.job.recipe)
            if known is not None and known.is_busy:
                return
            self.states[task.job.recipe] = FilmState(WAITING)
            self.tasks.put(task)
            if self.thread is None:
                self.thread = threading.Thread(target=self._run, daemon=True)
                self.thread.start()

    def _run(self) -> None:
        resource_tracker.ensure_running()  # which unblocks signals when it is started
        # Inherited by the process that decodes: Ctrl-C stops the server, and that ends it without a traceback.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        while True:
            task = self.tasks.get()
            name = task.job.recipe
            state = self._sample(task)
            with self.lock:
                self.states[name] = state
            self.changed()

    def _sample(self, task: _Task) -> FilmState:
        here, there = get_context("spawn").Pipe(duplex=False)
        process = get_context("spawn").Process(target=_work, args=(there, task), daemon=True)
        try:
            process.start()
        except (OSError, RuntimeError) as error:
            return FilmState(BROKEN, reason=f"expected to be able to start a process that reads it, found: {error}")
        finally:
            there.close()
        facts: FilmFacts | None = None
        try:
            while not isinstance(found := here.recv(), Outcome | str):
                facts = found
                with self.lock:
                    self.states[task.job.recipe] = FilmState(SAMPLING, 0, found.frames, notes=found.notes)
        except EOFError:
            found = CRASHED
        finally:
            process.join()
            here.close()
        if isinstance(found, Outcome) and found.state != FAILED:
            return FilmState(READY, found.frames, found.frames, notes=facts.notes if facts else ())
        if task.upload is not None:
            remove_quietly(task.upload)
        return FilmState(BROKEN, reason=found if isinstance(found, str) else found.reason)


def _work(results: Connection, task: _Task) -> None:
    """In a process of its own: send what the film is, and then the outcome; or only why it cannot be used."""
    follow_parent()
    job, video = task.job, task.job.home / VIDEO
    try:
        results.send(inspect_film(task.upload or video, VIDEO, job.recipe))
        if task.upload is not None:
            video.parent.mkdir(parents=True, exist_ok=True)
            move_into_place(task.upload, video)
        results.send(run_job(job))
    except VRFError as error:
        results.send(str(error))
    except OSError as error:
        results.send(f"expected to be able to write {video.parent}, found: {error.strerror or error}; free some space")
