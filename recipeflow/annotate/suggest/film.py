"""What can be seen in a film without any model: cuts, stillness, and frames without a hand in the way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from recipeflow.images import FORMATS
from recipeflow.release.recipe import frame_name

SIZE = (48, 27)
"""Frames are compared as small as this."""


@dataclass(frozen=True)
class FilmTraits:
    """What is known of each frame of a film.

    Args:
        numbers: Of the frames, ascending.
        names: For each, the features that make it a good or bad choice, compared with the frames beside it.
    """

    numbers: tuple[int, ...]
    names: dict[int, tuple[str, ...]]


def look_at(folder: Path, numbers: Sequence[int]) -> FilmTraits | None:
    """Look at all frames once; ``None`` if there are fewer than three that can be read."""
    small, readable = [], []
    for number in numbers:
        try:
            with Image.open(folder / frame_name(number), formats=FORMATS) as image:
                image.draft("RGB", (4 * SIZE[0], 4 * SIZE[1]))
                small.append(np.asarray(image.convert("RGB").resize(SIZE), np.float32))
        except OSError:
            continue  # a damaged frame is crossed out in the page, and not suggested
        readable.append(number)
    if len(small) < 3:
        return None
    return FilmTraits(tuple(readable), dict(zip(readable, _name_traits(np.stack(small)), strict=True)))


def _name_traits(pictures: np.ndarray) -> list[tuple[str, ...]]:
    """Cuts and stillness, hands and sharpness of every frame, as features."""
    steps = np.abs(np.diff(pictures, axis=0)).mean(axis=(1, 2, 3))
    usual = np.median(steps) + 1e-6
    coming, going = (np.concatenate(parts) for parts in (([steps.max()], steps), (steps, [steps.max()])))
    hands = _beside(np.array([_hand_share(picture) for picture in pictures]))
    edges = _beside(np.array([_sharpness(picture) for picture in pictures]))
    rows = []
    for place in range(len(pictures)):
        into, out = _level(coming[place] / usual), _level(going[place] / usual)
        rows.append(
            (
                f"into {into}",
                f"out {out}",
                f"cut {into} {out}",
                f"hand {_sign(hands[place], 0.005)}",
                f"sharp {_sign(edges[place], 0.2)}",
                f"clear {_sign(hands[place], 0.005)} {_sign(edges[place], 0.2)}",
            )
        )
    return rows


def _hand_share(picture: np.ndarray) -> float:
    """The share of a picture that has the colour of skin, by the usual rule on red, green and blue."""
    red, green, blue = picture[..., 0], picture[..., 1], picture[..., 2]
    skin = (red > 95) & (green > 40) & (blue > 20) & (red - green > 15) & (green > blue)
    return float(skin.mean())


def _sharpness(picture: np.ndarray) -> float:
    """How much neighbouring points differ: little where something moves."""
    grey = picture.mean(axis=2)
    return float(np.abs(np.diff(grey, axis=0)).mean() + np.abs(np.diff(grey, axis=1)).mean())


def _beside(values: np.ndarray) -> np.ndarray:
    """How much more each frame has of something than the frames beside it."""
    padded = np.pad(values, 1, mode="edge")
    return values - (padded[:-2] + padded[2:]) / 2


def _level(ratio: float) -> int:
    """A rough size."""
    return int(np.clip(np.round(2 * np.log2(ratio + 0.1)), -5, 5))


def _sign(value: float, small: float) -> str:
    if abs(value) < small:
        return "same"
    return ("less" if value < 0 else "more") + (" much" if abs(value) > 4 * small else "")
