"""Every error this project raises on purpose.

Messages have three parts: what was expected, what was found, what to do about it. A problem in a release
folder also says where: file, recipe and place. The same classes serve as exceptions (``read_release`` raises the
first) and as rows of a report (``check_release`` returns all of them unraised).
"""

from __future__ import annotations

import reprlib
import signal
from collections.abc import Iterator, Sequence

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 60


def short(value: object) -> str:
    """A value for a message, cut to a readable length however long or deeply nested it is."""
    return _SHORT.repr(value)


def show(value: object) -> str:
    """A value of the wrong type for a message, with its type."""
    return f"{type(value).__name__} {short(value)}"


def printable(text: str) -> str:
    """Text that is safe to print: control characters and lone surrogates are escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def causes(error: BaseException) -> Iterator[BaseException]:
    """An error and its causes, in the order of a traceback."""
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__ or (None if seen.__suppress_context__ else seen.__context__)


class VRFError(Exception):
    """Base of all errors that a user can fix; the command line prints them without a traceback."""


class MissingExtraError(VRFError):
    """A library that belongs to an extra which is not installed."""


class ReleaseProblem(VRFError):
    """Something wrong at one place of a release folder.

    Args:
        message: What was expected and what was found.
        file: The file, relative to the release folder where there is one.
        recipe: The recipe's id, where the problem belongs to one.
        place: The word id, line, edge or frame inside that file.
        value: The offending value as it was read.
        hint: What to do about it.
    """

    def __init__(
        self,
        message: str,
        *,
        file: str | None = None,
        recipe: str | None = None,
        place: str | None = None,
        value: object = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.file = file
        self.recipe = recipe
        self.place = place
        self.value = value
        self.hint = hint

    @property
    def kind(self) -> str:
        """The class name; reports group problems by it."""
        return type(self).__name__

    @property
    def where(self) -> str:
        """File, recipe and place, as far as they are known."""
        recipe = None if self.recipe is None else f"recipe {self.recipe or '(no id)'}"
        return ", ".join(printable(part) for part in (self.file, recipe, self.place) if part)

    def __str__(self) -> str:
        hint = f" ({self.hint})" if self.hint else ""
        return f"{self.where + ': ' if self.where else ''}{self.message}{hint}"

    def __reduce__(self) -> tuple:
        # Exceptions with keyword-only arguments do not pickle on their own, and checks run in worker processes.
        return _rebuild_problem, (type(self), self.message, self.__dict__.copy())

    def as_dict(self) -> dict[str, object]:
        fields = ("kind", "file", "recipe", "place", "value", "message", "hint")
        row = {name: getattr(self, name) for name in fields}
        value = self.value if isinstance(self.value, str | None) else short(self.value)
        return row | {"value": value}


def _rebuild_problem(kind: type[ReleaseProblem], message: str, state: dict) -> ReleaseProblem:
    problem = kind(message)
    problem.__dict__.update(state)
    return problem


class MissingFileError(ReleaseProblem):
    """A file that the release needs is not there."""


class BrokenJSONError(ReleaseProblem):
    """A file is not JSON; the place is the byte at which reading failed."""


class EncodingError(ReleaseProblem):
    """A text file is not UTF-8; the place is the first bad byte."""


class WrongTypeError(ReleaseProblem):
    """A value has another type than the format says, or a key is missing or unknown."""


class UnsafeIdError(ReleaseProblem):
    """A recipe id that is not a plain file name, so that using it could leave the release folder."""


class DuplicateRecipeError(ReleaseProblem):
    """Two recipes of one release have the same id."""


class WordIdError(ReleaseProblem):
    """A word id that is not the word's position, or names no word."""


class OffsetError(ReleaseProblem):
    """Words that do not tile their line: a gap other than the spaces of a spaced language, an overlap, no text."""


class UnknownTagError(ReleaseProblem):
    """An r-NE tag that the release does not declare; by default, one that is not among the paper's eight."""


class UnknownLabelError(ReleaseProblem):
    """An r-FG label that the release does not declare; by default, one that is not among the paper's thirteen."""


class InsideWithoutBeginError(ReleaseProblem):
    """A ``TAG-I`` word that continues no ``TAG-B`` word."""


class DanglingEdgeError(ReleaseProblem):
    """A flow or state change whose word is not there, or is not the first word of a suitable entity."""


class DuplicateEdgeError(ReleaseProblem):
    """The same flow twice."""


class CycleError(ReleaseProblem):
    """Flows that form a cycle, self loops included; cooking only goes forward."""


class LineCountError(ReleaseProblem):
    """A text file with more or fewer lines than its annotation."""


class LineLengthError(ReleaseProblem):
    """A text line that is longer or shorter than its annotation."""


class EmptyReleaseError(ReleaseProblem):
    """A release without a single recipe: an export that went wrong."""


class UrlListError(ReleaseProblem):
    """A list of URLs that does not match the recipes."""


class MissingFrameError(ReleaseProblem):
    """A frame number without a file."""


class BrokenImageError(ReleaseProblem):
    """A frame that cannot be decoded: truncated, or not an image."""


class InvalidReleaseError(VRFError):
    """A release with problems, all of them attached."""

    def __init__(self, problems: Sequence[ReleaseProblem], advice: str = "Run `vrf check` for the list.") -> None:
        self.problems = list(problems)
        self.advice = advice
        shown = "\n".join(f"  {problem.kind}: {problem}" for problem in self.problems[:20])
        more = f"\n  … and {len(self.problems) - 20} more" if len(self.problems) > 20 else ""
        count = f"{len(self.problems)} problem{'s' if len(self.problems) != 1 else ''}"
        super().__init__(f"The release has {count}:\n{shown}{more}\n{advice}")

    def __reduce__(self) -> tuple:
        # By default pickle passes the finished message to __init__, which would break on a worker's error.
        return type(self), (self.problems, self.advice)


class OutputExistsError(VRFError):
    """The output already exists, and was not written by this project or may not be replaced."""


class FolderInUseError(VRFError):
    """An output folder that another process is writing to."""


class LaunchError(VRFError):
    """Processes that were launched together but did not form a group."""


class DatasetFolderError(VRFError):
    """A folder that is not a built dataset, or cannot be read."""


class SourceFolderError(VRFError):
    """A folder that is neither a release nor a built dataset."""


class BackboneError(VRFError):
    """A backbone that does not exist, whose weights are unavailable, or that is not the one asked for."""


class FeatureCacheError(VRFError):
    """A feature cache that cannot be read or written, or is not what its name says."""


class UsageError(VRFError):
    """A wrong option or argument, found after the command line was parsed."""


class NoPairsError(VRFError):
    """No row has everything that the chosen inputs need."""


class NoQuestionsError(VRFError):
    """A dataset of which not a single question can be made."""


class PredictionsError(VRFError):
    """A file of predictions that cannot be read, or belongs to other questions."""


class TrainingDivergedError(VRFError):
    """The loss is no longer a number."""


class StoppedError(VRFError):
    """Ctrl-C or, where that is handled, SIGTERM; the message says how to resume, where that is possible.

    Args:
        message: What remains.
        number: Of the signal.
    """

    def __init__(self, message: str, number: int = signal.SIGINT) -> None:
        super().__init__(message)
        self.number = number


class TrainingInterruptedError(StoppedError):
    """Training was stopped by Ctrl-C or SIGTERM, with a checkpoint to resume from."""


class SaveError(VRFError):
    """Something could not be written; what was there before is intact."""


class WorkerDiedError(VRFError):
    """A worker process died."""


class ClusterError(VRFError):
    """A Ray cluster that cannot be reached, or has a node that lacks something."""


class ModelFolderError(VRFError):
    """A folder without a saved model, or results of another model."""


class HubError(VRFError):
    """The Hub refused, or returned something unexpected."""


class HubTokenError(HubError):
    """No token, or one that the Hub refuses; the token itself is never shown."""


class HubAccessError(HubError):
    """The token is valid, but lacks the permission."""


class HubNotFoundError(HubError):
    """No such repository or revision that is visible with this token."""


class HubConnectionError(HubError):
    """The Hub could not be reached, or the connection broke."""


class StaleRevisionError(HubError):
    """Someone else pushed meanwhile."""


class RepoNameError(HubError):
    """An invalid repository name."""


class VisibilityError(HubError):
    """The push would make something public that was not meant to be."""


class OfficialFramesError(HubError):
    """Frames of the official videos, which are not ours to publish."""


class SearchIndexError(VRFError):
    """An index that is missing, cannot be read, or was made with another model."""


class CalibrationError(VRFError):
    """A model that cannot be calibrated with this data, or a calibration that is unreadable or of another model."""


class QueryError(VRFError):
    """A query that this model cannot answer."""


class StoryboardError(VRFError):
    """A recipe that cannot be drawn as a storyboard."""


class PageError(VRFError):
    """A recipe's page in which no recipe can be found."""


class SegmenterError(VRFError):
    """A word segmenter that cannot be loaded, or that changes the text it should only split."""


class FetchError(VRFError):
    """Something on the web that could not be fetched."""


class GoneError(FetchError):
    """The server says that it does not exist or is forbidden: retrying is of no use."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class TooLargeError(FetchError):
    """A response above its size limit."""


class ForeignHostError(FetchError):
    """A redirect to a host that is not allowed."""

    def __init__(self, message: str, host: str) -> None:
        super().__init__(message)
        self.host = host


class RobotsError(FetchError):
    """The site's robots.txt forbids this."""


class ServerBusyError(FetchError):
    """The server's Retry-After is longer than a run waits."""


class ChecksumError(FetchError):
    """A file that is not, byte for byte, the one that was published."""


class BrokenVideoError(ReleaseProblem):
    """A video that cannot be opened, or of which no frame decodes."""


class ShortVideoError(ReleaseProblem):
    """A video that ends before its last annotated frame: cut short, or not the one that was annotated."""


class ForeignFramesError(ReleaseProblem):
    """A folder of frames that was not sampled from the video, and so is not replaced."""


class ProgramError(VRFError):
    """A cooking program that cannot be parsed, or is inconsistent."""


class ExecutionError(VRFError):
    """A cooking program that the simulated kitchen cannot execute."""


class AgreementError(VRFError):
    """Two annotations that cannot be compared: of different words, or without a common recipe."""


class ReportError(VRFError):
    """An experiment without a possible report: not run, incomplete, or on another dataset."""


class RefusedError(VRFError):
    """A change that would make an annotation invalid; nothing was changed.

    Args:
        code: Translated by the page.
        reason: The same in English.
        detail: The values that both refer to.
    """

    def __init__(self, code: str, reason: str, **detail: object) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason
        self.detail = detail


class RequestError(VRFError):
    """An invalid operation: an unknown name, or fields that are missing or of the wrong type."""


class DatabaseError(VRFError):
    """A database of annotations that cannot be opened, read or written; what was saved before is intact."""


class DamagedDatabaseError(DatabaseError):
    """A database with corrupt content."""


class ForeignDatabaseError(DatabaseError):
    """A file that is not a database of annotations, or was made by a newer version."""


class DatabaseInUseError(DatabaseError):
    """A database that another process writes to."""


class ConflictError(VRFError):
    """The recipe was changed meanwhile, by someone else or in another tab; nothing was changed."""

    def __init__(self, base: int, revision: int) -> None:
        super().__init__(f"expected a change of revision {revision}, found one of {base}; check what happened since")
        self.base = base
        self.revision = revision


class ConflictingUploadError(VRFError):
    """A piece of an upload that is not the next one: ``received`` bytes have arrived already."""

    def __init__(self, received: int, offset: int) -> None:
        super().__init__(f"expected the piece of the film at byte {received}, found that at {offset}")
        self.received = received
