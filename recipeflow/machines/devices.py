"""Where a command computes: the accelerator of this machine if it has one, or the device that was asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recipeflow.errors import UsageError

if TYPE_CHECKING:
    import torch


def choose_device(name: str | None = None) -> torch.device:
    """The device of this name; without a name the accelerator, or the CPU where there is none.

    Raises:
        UsageError: If this machine has no such device; the message lists those that it has.
    """
    import torch

    accelerator = torch.accelerator.current_accelerator(check_available=True)
    if name is None:
        return accelerator or torch.device("cpu")
    kind = accelerator.type if accelerator else "cpu"
    known = ["cpu", *(f"{kind}:{number}" for number in range(torch.accelerator.device_count()))]
    try:
        device = torch.device(name)
    except RuntimeError:  # a name that no version of torch knows
        device = None
    if device is None or (str(device) not in known and str(device) != kind):
        raise UsageError(
            f"expected a device of this machine ({', '.join(known)}), found {name!r}; choose one of them, or omit "
            "--device. An accelerator that is not listed needs its driver, and a PyTorch that was built for it"
        )
    return device
