"""Makes the suite independent of how a machine is set up: `pin_environment` runs before anything else is imported."""

import atexit
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path

import pytest

FAMILIES = (
    "HF_",
    "HUGGINGFACE_",
    "HUGGING_FACE_",
    "TRANSFORMERS_",
    "ACCELERATE_",
    "RECIPEFLOW_",
    "GRADIO_",
    "RAY_",
    "TTY_",
)
NAMES = {
    *("VRF_MODEL", "VRF_DATASET", "VRF_FOLD"),  # of the Space
    *("XDG_CACHE_HOME", "FORCE_COLOR", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "LINES"),
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"),  # in the way of servers on this machine
    *("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"),  # of a launcher
}


def pin_environment() -> None:
    """Forget settings of other programs, keep out of the caches below the home folder, and listen to Ctrl-C."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # as in the background of a script; processes inherit it
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if "PYTEST_XDIST_WORKER" in os.environ:  # all of this was done where it was started
        return
    for name in list(os.environ):
        if name.upper() in NAMES or name.startswith(FAMILIES):
            del os.environ[name]
    folder = Path(tempfile.mkdtemp(prefix="vrf-tests-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ |= {"HF_HOME": str(folder / "hf"), "RECIPEFLOW_CACHE": str(folder / "recipeflow")}


def check_encoding() -> None:
    """Refuse to start where file names cannot be Japanese; only the start of Python can change that."""
    if (found := sys.getfilesystemencoding()) != "utf-8":
        raise pytest.UsageError(f"expected file names in UTF-8, found {found}; run PYTHONUTF8=1 python -m pytest")
