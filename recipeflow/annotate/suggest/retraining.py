"""Train a parser on a layer's finished recipes while the server runs, and use it from then on."""

from __future__ import annotations

import itertools
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from recipeflow.annotate.document import Document
from recipeflow.annotate.exporting import export_layer
from recipeflow.annotate.store import Layer, Store
from recipeflow.annotate.suggest.background import Suggester
from recipeflow.errors import RefusedError, VRFError

FEWEST = 3
"""Fewer finished recipes do not make a parser."""

_IDLE, _TRAINING, _USED, _FAILED = "idle", "training", "used", "failed"


class ParserTraining:
    """One training at a time, by the command ``vrf parser train`` in a process of its own.

    Args:
        store: The database. Parsers are kept beside it, in a folder per training.
        suggester: What uses them.
    """

    def __init__(self, store: Store, suggester: Suggester) -> None:
        self.store, self.suggester = store, suggester
        self.home = store.path.with_name(f"{store.path.name}-parsers")
        self.lock = threading.Lock()
        self.process: subprocess.Popen | None = None
        self.state: dict[str, dict[str, Any]] = {}
        self.closed = False

    def status(self, layer: Layer) -> dict[str, Any]:
        """The state of a layer's last training, and how many recipes another one would learn from."""
        known = self.state.get(layer.name, {"state": _IDLE, "problem": None, "folder": None})
        return {**known, "finished": len(self._finished(layer)), "fewest": FEWEST}

    def start(self, layer: Layer) -> None:
        """Begin to train on everything that is finished in a layer.

        Raises:
            RefusedError: If there is too little, or a training is running.
        """
        finished = self._finished(layer)
        if len(finished) < FEWEST:
            reason = f"expected at least {FEWEST} recipes with words and flows done, found {len(finished)}"
            raise RefusedError("too_few", reason, finished=len(finished))
        with self.lock:
            if any(each["state"] == _TRAINING for each in self.state.values()):
                raise RefusedError("training", "expected one training at a time, found another one running")
            self._set(layer, _TRAINING)
        threading.Thread(target=self._train, args=(layer, finished), name="parser training", daemon=True).start()

    def close(self) -> None:
        """End a training that is running."""
        with self.lock:
            self.closed = True
            if self.process is not None:
                self.process.kill()

    def _finished(self, layer: Layer) -> list[str]:
        begun = [recipe for recipe, name in self.store.revisions() if name == layer.name]
        return [each for each in begun if _is_finished(self.store.history(each, layer).document)]

    def _set(self, layer: Layer, state: str, problem: str | None = None, folder: Path | None = None) -> None:
        self.state[layer.name] = {"state": state, "problem": problem, "folder": folder and str(folder)}

    def _train(self, layer: Layer, finished: list[str]) -> None:
        numbers = itertools.count(1)
        out = next(path for n in numbers if not (path := self.home / f"{layer.name}-{n}").exists())
        try:
            with tempfile.TemporaryDirectory(prefix="vrf-parser-") as folder:
                release = Path(folder, "release")
                export_layer(self.store, layer, release, "release", only=finished)
                self._run(release, out)
            self.suggester.use("open_parser", str(out / "model"), self.store.scheme, layer.name)
        except (VRFError, OSError) as error:
            self._set(layer, _FAILED, str(error))
        else:
            self._set(layer, _USED, folder=out / "model")

    def _run(self, release: Path, out: Path) -> None:
        command = [sys.executable, "-m", "recipeflow.cli", "parser", "train", str(release), "--out", str(out)]
        with self.lock:
            if self.closed:
                return
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
            )
        said, _ = self.process.communicate()
        if self.process.returncode:
            raise VRFError(f"expected a trained parser, found: {said.strip()[-500:] or 'nothing'}")


def _is_finished(document: Document) -> bool:
    return "words" in document.done and "flows" in document.done and bool(document.flows)
