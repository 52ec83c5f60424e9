"""What several test modules share: the official annotations, and a small hand-made release."""

import os
from pathlib import Path

import pytest

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
