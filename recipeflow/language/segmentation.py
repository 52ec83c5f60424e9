"""Japanese into words, for recipes that nobody has segmented yet.

KyTea is the paper's tool, and needs a model file that is not ours to ship; MeCab with UniDic (``fugashi``,
``unidic-lite``) is always there, and cuts a little more coarsely: 切り where KyTea has 切 and り.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

from recipeflow.errors import SegmenterError, short

Segmenter = Callable[[str], list[str]]
"""Cuts a line without spaces into its words, which joined are the line again."""


def load_segmenter(kytea_model: str | Path | None = None) -> Segmenter:
    """The paper's segmenter where its model is given, else the one that is always there."""
    return _load_mecab() if kytea_model is None else _load_kytea(Path(kytea_model))


def segment(text: str, segmenter: Segmenter) -> list[tuple[int, int]]:
    """Where the words of a line start and end.

    Raises:
        SegmenterError: If the words are not the text: offsets would point at something else.
    """
    spans, end = [], 0
    pieces = segmenter(text)
    for piece in pieces:
        spans.append((end, end + len(piece)))
        end += len(piece)
    if "".join(pieces) != text or "" in pieces:
        raise SegmenterError(
            f"expected words that joined are {short(text)}, found {short(pieces)}; "
            "normalise the line first, with recipeflow.language.japanese.normalise"
        )
    return spans


@cache
def _load_mecab() -> Segmenter:
    import fugashi  # here, because its dictionary takes a moment
    import unidic_lite

    tagger = fugashi.Tagger(f'-d "{unidic_lite.DICDIR}"')
    return lambda text: [word.surface for word in tagger(text)]


def _load_kytea(model: Path) -> Segmenter:
    try:
        import Mykytea
    except ImportError:
        message = "expected KyTea, which a model file was given for, found it not installed; run `pip install kytea`"
        raise SegmenterError(message) from None
    if " " in str(model):
        message = f"expected a path without spaces, which is all KyTea reads, found {model}; move the file"
        raise SegmenterError(message)
    try:
        return Mykytea.Mykytea(f"-model {model}").getWS
    except RuntimeError as error:
        message = f"expected a KyTea model in {model}, found: {error}; see http://www.phontron.com/kytea/model.html"
        raise SegmenterError(message) from None
