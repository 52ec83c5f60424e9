"""Processes that a launcher such as ``accelerate launch`` or ``torchrun`` started together.

A launch can fail to become one: on a machine without a GPU, accelerate's processes do not find each other unless they
are asked to work on the CPU. Each of them would then take itself for the only one, and write what the others write.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from recipeflow.errors import LaunchError, VRFError

if TYPE_CHECKING:
    from accelerate import PartialState

SIZES = ("WORLD_SIZE", "PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE")
"""Where launchers say how many processes they start: torchrun and accelerate, and three kinds of MPI."""

Item = TypeVar("Item")


def launched_processes() -> int | None:
    """How many processes the launcher says there are; ``None`` without a launcher."""
    sizes = [int(value) for name in SIZES if (value := os.environ.get(name, "")).isdecimal()]
    return max(sizes, default=None)


def join_processes() -> PartialState:
    """The state that the launched processes share, as accelerate has it.

    Raises:
        LaunchError: If the launcher started more processes than know each other.
    """
    from accelerate import PartialState
    from accelerate.utils import parse_flag_from_env

    state = PartialState(cpu=parse_flag_from_env("ACCELERATE_USE_CPU"))  # as Accelerator() does it
    launched = launched_processes()
    if launched not in (None, state.num_processes):
        raise LaunchError(
            f"expected the {launched} launched processes to work together, found this one in a group "
            f"of {state.num_processes} on {state.device}: each would write over what the others write. Without a GPU, "
            "set ACCELERATE_USE_CPU=true, as docs/accelerate/two_cpu_processes.yaml says; start as many "
            "processes as there are GPUs; or start the command without a launcher"
        )
    return state


def refuse_launch(command: str) -> None:
    """Refuse several processes for a command that does not share its work between them.

    Raises:
        LaunchError: If a launcher started more than one.
    """
    launched = launched_processes()
    if launched not in (None, 1):
        raise LaunchError(
            f"expected `{command}` in one process, found {launched} of them launched: each would write over what the "
            "others write; start it without a launcher"
        )


def decide_in_main(work: Callable[[], Item]) -> Item:
    """Let the main process do this, and give all of them what it returns; if it refuses, all of them do."""
    outcome: Item | VRFError | None = None
    if join_processes().is_main_process:
        try:
            outcome = work()
        except VRFError as error:
            outcome = error
    outcome = from_main(outcome)
    if isinstance(outcome, VRFError):
        raise outcome
    return outcome


def from_main(item: Item) -> Item:
    """What the main process has, in every process."""
    from accelerate.utils import broadcast_object_list

    return broadcast_object_list([item])[0]
