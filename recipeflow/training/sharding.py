"""Methods of a model whose weights FSDP keeps in shards."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

from torch import nn
from torch.distributed.fsdp import FSDPModule, register_fsdp_forward_method


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
