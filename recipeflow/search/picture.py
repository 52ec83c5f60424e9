"""A picture of a search: the query, the answers, and the recipes they come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from PIL import Image, ImageDraw

from recipeflow.drawing.cards import PADDING, PICTURE, draw_frame, square, write
from recipeflow.drawing.contact_sheet import object_name
from recipeflow.drawing.lettering import font, with_english
from recipeflow.drawing.palette import ACCENT, INK, LINE, PAPER, SOFT

GAP, MARGIN, TEXT = 18, 32, 104
CARD = (PICTURE + 2 * PADDING, PICTURE + 2 * PADDING + TEXT)
COLUMNS = 5
TOP = MARGIN + 46


def search_picture(
    query: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], glossary: Mapping[str, str]
) -> Image.Image:
    """The query on the left and the answers on the right, the best first.

    Args:
        query: ``action`` and ``object`` as strings and ``image`` as a PIL image; any may be missing.
        rows: The answers of ``Retriever.search``.
        glossary: English for Japanese words, from ``Retriever.glossary``; other words are shown as they are.
    """
    names = [query.get("action"), query.get("object")]
    texts = [*names, *(row[name] for row in rows for name in ("action", "object", "title"))]
    shown = with_english(texts, glossary)
    columns = min(COLUMNS, len(rows))
    lines = -(-len(rows) // COLUMNS)
    width, height = CARD
    left = MARGIN + width + 2 * GAP + 20
    size = (left + columns * (width + GAP) - GAP + MARGIN, TOP + lines * (height + GAP) - GAP + MARGIN)
    sheet = Image.new("RGB", size, PAPER)
    draw = ImageDraw.Draw(sheet)
    draw.text((MARGIN, MARGIN - 8), "before the action", fill=SOFT, font=font("", 20))
    draw.text((left, MARGIN - 8), "what it may look like after it", fill=SOFT, font=font("", 20))
    _draw_query(sheet, (MARGIN, TOP), query.get("image"), [shown.get(name, "") for name in names])
    _draw_arrow(draw, left - GAP - 12, TOP + PADDING + PICTURE // 2)
    for position, row in enumerate(rows):
        corner = (left + position % COLUMNS * (width + GAP), TOP + position // COLUMNS * (height + GAP))
        _draw_answer(sheet, corner, position + 1, row, shown)
    return sheet


def _draw_query(sheet: Image.Image, corner: tuple[int, int], image: Image.Image | None, names: list[str]) -> None:
    x, y = draw_frame(sheet, (*corner, corner[0] + CARD[0], corner[1] + CARD[1]), ACCENT)
    draw = ImageDraw.Draw(sheet)
    if image is None:
        draw.rectangle((x, y, x + PICTURE, y + PICTURE), fill=PAPER)
        draw.text((x + PICTURE // 2, y + PICTURE // 2), "no picture", fill=SOFT, font=font("", 16), anchor="mm")
    else:
        sheet.paste(square(image), (x, y))
    y = write(draw, (x, y + PICTURE + 12), names[0], ACCENT, 21)
    write(draw, (x, y), names[1], INK, 21)


def _draw_answer(
    sheet: Image.Image, corner: tuple[int, int], rank: int, row: Mapping[str, Any], shown: Mapping[str, str]
) -> None:
    x, y = draw_frame(sheet, (*corner, corner[0] + CARD[0], corner[1] + CARD[1]), LINE)
    draw = ImageDraw.Draw(sheet)
    sheet.paste(square(row["image"]), (x, y))
    draw.rounded_rectangle((x + 6, y + 6, x + 92, y + 28), 8, fill="white")
    draw.text((x + 14, y + 9), f"{rank}   {row['score']:.3f}", fill=INK, font=font("", 15))
    others = len(row["objects"]) - 1
    name = object_name(row, shown) + (f" + {others}" if others > 0 else "")
    y = write(draw, (x, y + PICTURE + 10), shown.get(row["action"], ""), ACCENT, 18)
    y = write(draw, (x, y), name, INK, 18)
    write(draw, (x, y + 4), shown.get(row["title"]) or row["recipe_id"], SOFT, 14, lines=2)


def _draw_arrow(draw: ImageDraw.ImageDraw, x: int, y: int) -> None:
    draw.line((x - 16, y, x, y), fill=ACCENT, width=3)
    draw.polygon([(x - 2, y - 7), (x + 8, y), (x - 2, y + 7)], fill=ACCENT)
