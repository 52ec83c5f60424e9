"""What several test modules share: the official annotations, and a small hand-made release."""

import errno
import fcntl
import os
import warnings
from pathlib import Path

import pytest
from hypothesis import settings

from tests.environment import check_encoding, pin_environment

pin_environment()  # before libraries read what it changes

from tests.making import make_release  # noqa: E402

OFFICIAL_PLACES = (os.environ.get("VRF_RELEASE"), Path(__file__).parents[2] / "shared" / "vrf-release")


@pytest.fixture(scope="session")
def official() -> Path:
    """The folder of the official annotations; tests that need it are skipped without it, and fail on CI."""
    for place in OFFICIAL_PLACES:
        if place and (Path(place) / "annotations.json").is_file():
            return Path(place)
    reason = "needs the official annotations: set VRF_RELEASE to the folder that holds annotations.json"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


ENGLISH_PLACES = (os.environ.get("ENGLISH_RFG"), Path(__file__).parents[2] / "shared" / "flow-corpora" / "english-rfg")


@pytest.fixture(scope="session")
def english_corpus() -> Path:
    """The folder of the English recipe flow graph corpus; tests that need it are skipped without it."""
    for place in ENGLISH_PLACES:
        if place and (Path(place) / "dev.conllu").is_file():
            return Path(place)
    pytest.skip("needs the English recipe flow graph corpus: set ENGLISH_RFG to the folder that holds dev.conllu")


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """A fresh, valid release folder of three small recipes with text and frames, free to be damaged."""
    return make_release(tmp_path / "release")


@pytest.fixture
def without_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system that has no locks, as some that are shared over a network."""

    def refuse(*arguments: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuse)


# On CI the same examples every time: a random find there would blame whoever pushed last.
settings.register_profile("vrf", deadline=None, derandomize=os.environ.get("CI") == "true")
settings.load_profile("vrf")


def pytest_configure() -> None:
    """Refuse a machine that the suite cannot run on."""
    check_encoding()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start with the files of slow tests: begun last, they would keep one process busy after all others have ended."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


@pytest.hookimpl(tryfirst=True)
def pytest_warning_recorded(warning_message: warnings.WarningMessage) -> None:
    """Report a warning of a model's own code, loaded as from the Hub, as one that every process can import."""
    if warning_message.category.__module__.startswith("transformers_modules"):
        warning_message.message = UserWarning(str(warning_message.message))
        warning_message.category = UserWarning


def pytest_unconfigure(config: pytest.Config) -> None:
    """Say on the very last line that pages were not tried in a browser, where none was found."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    skipped = reporter.stats.get("skipped", ()) if reporter else ()
    number = sum("no Chromium" in str(report.longrepr) for report in skipped)
    if number:
        reporter.write_line(
            f"NOT RUN: {number} browser tests, because no Chromium was found (see tests/browser/conftest.py)"
        )
