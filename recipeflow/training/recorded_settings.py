"""The settings that a run records, and whether another start may resume it: in every process the same answer."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from recipeflow.errors import LaunchError, OutputExistsError
from recipeflow.files import write_json
from recipeflow.machines.processes import decide_in_main, from_main, join_processes, raise_together
from recipeflow.training.saved_model import MODEL, SETTINGS, TUNING
from recipeflow.training.settings import CHECKPOINTING, complete_settings


def record_settings(output: Path, settings: Mapping[str, Any]) -> None:
    """Write the settings of a run into its folder. All processes call it, and if one refuses, all do.

    Raises:
        LaunchError: If a process has other settings than the first one.
        OutputExistsError: If the run is finished, or was started with other settings.
        SaveError: If they cannot be written.
    """
    own = json.loads(json.dumps(settings))
    first = from_main(own)
    raise_together(_refuse_other_process(first, own) if own != first else None)
    decide_in_main(lambda: _record(output, own))


def refuse_finished(output: Path) -> None:
    """Refuse the folder of a finished run."""
    if (output / MODEL).exists():
        raise OutputExistsError(
            f"expected an unfinished run, found a finished one in {output}; delete it, or choose another folder"
        )


def refuse_other_settings(output: Path, asked: Mapping[str, Any], tuned_with: Mapping[str, Any] | None) -> None:
    """Refuse other settings than those of a run that was begun in this folder, before anything is tuned for them.

    Args:
        output: The run's folder.
        asked: The settings now, before tuning.
        tuned_with: What the run's own choice was made with; ``None`` if it made none.
    """
    path = output / SETTINGS
    if not path.exists():
        return
    begun = complete_settings(tuned_with or json.loads(path.read_text(encoding="utf-8")), asked)
    shared = asked.keys() & begun.keys()  # a run records more than what is known before tuning
    found, wanted = ({name: settings[name] for name in shared} for settings in (begun, asked))
    _refuse(output / TUNING if tuned_with else path, _differences(found, wanted, but=CHECKPOINTING))


def _record(output: Path, settings: dict[str, Any]) -> None:
    refuse_finished(output)
    path = output / SETTINGS
    found = complete_settings(json.loads(path.read_text(encoding="utf-8")), settings) if path.exists() else settings
    _refuse(path, _differences(found, settings, but=CHECKPOINTING))
    write_json(path, settings)


def _refuse(path: Path, others: str) -> None:
    if others:
        raise OutputExistsError(
            f"expected the run in {path.parent} to have the same settings, found {others} in {path}; "
            "use those settings, delete the folder, or choose another"
        )


def _refuse_other_process(first: dict[str, Any], own: dict[str, Any]) -> LaunchError:
    state = join_processes()
    return LaunchError(
        f"expected the same settings in all processes, found {_differences(own, first)} in process "
        f"{state.process_index} on {socket.gethostname()}; start the same command on the same dataset everywhere"
    )


def _differences(found: Mapping[str, Any], wanted: Mapping[str, Any], but: tuple[str, ...] = ()) -> str:
    names = sorted(name for name in {*found, *wanted} - {*but} if found.get(name) != wanted.get(name))
    return ", ".join(f"{name} {found.get(name)} and not {wanted.get(name)}" for name in names)
