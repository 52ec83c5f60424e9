"""Work that reports what its process saw when this module was imported; it imports no torch."""

import os
import sys
import time
from pathlib import Path

AT_IMPORT = {"torch": "torch" in sys.modules, "visible": os.environ.get("CUDA_VISIBLE_DEVICES")}


def report(folder: Path, processes: int, item: int) -> dict:
    """What this process saw, once that many processes work: otherwise one of them could do all the work."""
    (folder / str(os.getpid())).touch()
    while len(list(folder.iterdir())) < processes:
        time.sleep(0.01)
    return AT_IMPORT | {"process": os.getpid(), "item": item}
