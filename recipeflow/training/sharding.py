"""A model whose weights FSDP keeps in shards: its methods, and its checkpoints."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from torch import nn
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
)
from torch.distributed.fsdp import FSDPModule, register_fsdp_forward_method
from torch.optim import Optimizer

from recipeflow.machines.processes import from_main

GATHERED = StateDictOptions(full_state_dict=True, cpu_offload=True)
DISTRIBUTED = StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
"""Whole tensors: from the shards of all processes to the main one, and back."""


class Stateful(Protocol):
    """What has a state to save, as torch's schedules have."""

    def state_dict(self) -> dict[str, Any]: ...

    def load_state_dict(self, state: dict[str, Any], /) -> object: ...


@dataclass(frozen=True)
class ShardedState:
    """What a checkpoint of a sharded run contains.

    Accelerate lets the main process write and read between two collective operations, in which the others wait for it
    no longer than their backend allows, with NCCL ten minutes. So here a state is gathered and written, or read and
    distributed, one after the other.

    Args:
        module: The sharded module.
        optimizer: Its optimiser, as torch knows it.
        others: What is the same in every process.
    """

    module: nn.Module
    optimizer: Optimizer
    others: Sequence[Stateful]

    def gather(self) -> dict[str, Any]:
        """The whole state, in the main process; all processes call it."""
        weights, optimizer = get_state_dict(self.module, self.optimizer, options=GATHERED)
        return {"weights": weights, "optimizer": optimizer, "others": [other.state_dict() for other in self.others]}

    def distribute(self, state: dict[str, Any] | None) -> None:
        """Give every process its part of the whole state; all call it, and only the main one has to have a state."""
        # One after the other: torch's set_state_dict() leaves the weights out in a process that passes none.
        set_model_state_dict(self.module, state["weights"] if state else {}, options=DISTRIBUTED)
        optimizer = state["optimizer"] if state else {}
        set_optimizer_state_dict(self.module, self.optimizer, optimizer, options=DISTRIBUTED)
        states: list[dict[str, Any]] = from_main(state["others"] if state else None)
        for other, content in zip(self.others, states, strict=True):
            other.load_state_dict(content)


@contextmanager
def whole_weights(root: nn.Module, model: nn.Module, methods: Sequence[str]) -> Generator[None]:
    """Let these methods of a model see whole weights, as its ``forward`` does; without FSDP this does nothing.

    FSDP gathers weights only around the ``forward`` of a module that it has wrapped: the model's own ones, and those
    that belong to the root, through which every call has to pass first. Torch can treat other methods likewise, but
    only here: in training ``forward`` calls them, and would gather the weights twice.

    Args:
        root: What was wrapped, with the model inside.
        model: The model; it may be wrapped on its own, too.
        methods: Names of its methods. All processes have to call them equally often.
    """
    for name in methods:
        register_fsdp_forward_method(model, name)
        if isinstance(root, FSDPModule):
            setattr(root, name, getattr(model, name))
            register_fsdp_forward_method(root, name)
            setattr(model, name, getattr(root, name))
    try:
        yield
    finally:
        for module in (root, model):
            for name in methods:
                vars(module).pop(name, None)
