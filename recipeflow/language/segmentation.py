"""Japanese word segmentation, for recipes that are not segmented yet.

KyTea is the paper's tool, and needs a model file that we may not ship; MeCab with UniDic (``fugashi``,
``unidic-lite``) is always installed, and its tokens are divided as KyTea does (``segmentation_rfg.divide``).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from recipeflow.errors import SegmenterError, short
from segmentation_rfg import japanese_words

Segmenter = Callable[[str], list[str]]
"""Splits a line without spaces into words; joined, they are the line again."""


def load_segmenter(kytea_model: str | Path | None = None) -> Segmenter:
    """The paper's segmenter if its model is given, else the one that is always installed."""
    return japanese_words() if kytea_model is None else _load_kytea(Path(kytea_model))


def segment(text: str, segmenter: Segmenter) -> list[tuple[int, int]]:
    """The start and end of each word of a line.

    Raises:
        SegmenterError: If the joined words differ from the text: offsets would be wrong.
    """
    spans, end = [], 0
    pieces = segmenter(text)
    for piece in pieces:
        spans.append((end, end + len(piece)))
        end += len(piece)
    if "".join(pieces) != text or "" in pieces:
        raise SegmenterError(
            f"expected words that join to {short(text)}, found {short(pieces)}; "
            "normalise the line first, with recipeflow.language.japanese.normalise"
        )
    return spans


def _load_kytea(model: Path) -> Segmenter:
    try:
        import Mykytea
    except ImportError:
        message = "expected KyTea, for the given model file, found that it is not installed; run `pip install kytea`"
        raise SegmenterError(message) from None
    if " " in str(model):
        message = f"expected a path without spaces, as KyTea needs, found {model}; move the file"
        raise SegmenterError(message)
    try:
        return Mykytea.Mykytea(f"-model {model}").getWS
    except RuntimeError as error:
        message = f"expected a KyTea model in {model}, found: {error}; see http://www.phontron.com/kytea/model.html"
        raise SegmenterError(message) from None
