"""A contact sheet of image pairs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from PIL import Image, ImageDraw

from recipeflow.drawing.lettering import latin_font
from recipeflow.drawing.palette import ACCENT, INK, LINE, PAPER, SOFT
from recipeflow.release.recipe import TAGS

ACTION_TAG = list(TAGS).index("Ac")
MARGIN, GAP, ARROW, PADDING = 36, 24, 30, 14


def contact_sheet(
    rows: Iterable[Mapping[str, Any]],
    glossary: Mapping[str, str],
    columns: int = 3,
    picture: int = 168,
    heading: str = "Visual Recipe Flow: what cooking does to food",
) -> Image.Image:
    """A sheet of image pairs, each with its action, object and recipe.

    Args:
        rows: Rows of ``image_pairs`` with a ``title``; rows without both images are left out.
        glossary: English for Japanese words; other words are shown as they are.
        columns: Pairs per row.
        picture: The side of each image in pixels.
        heading: The line on top.
    """
    complete = [row for row in rows if row["pre_image"] is not None and row["post_image"] is not None]
    width = 2 * picture + ARROW + 2 * PADDING
    height = picture + 2 * PADDING + 64
    lines = -(-len(complete) // columns)
    size = (2 * MARGIN + columns * (width + GAP) - GAP, 2 * MARGIN + 52 + lines * (height + GAP) - GAP)
    sheet = Image.new("RGB", size, PAPER)
    draw = ImageDraw.Draw(sheet)
    draw.text((MARGIN, MARGIN - 6), heading, fill=INK, font=latin_font(26))
    for position, row in enumerate(complete):
        corner = (
            MARGIN + position % columns * (width + GAP),
            MARGIN + 52 + position // columns * (height + GAP),
        )
        _draw_card(sheet, corner, (width, height), picture, row, glossary)
    return sheet


def _draw_card(
    sheet: Image.Image,
    corner: tuple[int, int],
    size: tuple[int, int],
    picture: int,
    row: Mapping[str, Any],
    glossary: Mapping[str, str],
) -> None:
    draw = ImageDraw.Draw(sheet)
    left, top = corner
    draw.rounded_rectangle((left, top, left + size[0], top + size[1]), 12, fill="white", outline=LINE)
    top += PADDING
    for image, x in ((row["pre_image"], left + PADDING), (row["post_image"], left + PADDING + picture + ARROW)):
        sheet.paste(image.convert("RGB").resize((picture, picture), Image.Resampling.LANCZOS), (x, top))
    middle, x = top + picture // 2, left + PADDING + picture + 7
    draw.line((x, middle, x + 12, middle), fill=ACCENT, width=3)
    draw.polygon([(x + 10, middle - 6), (x + 18, middle), (x + 10, middle + 6)], fill=ACCENT)
    x, y = left + PADDING, top + picture + 10
    action = _english(row["action"], glossary)
    draw.text((x, y), action, fill=ACCENT, font=latin_font(19))
    space = draw.textlength(action + "  ", font=latin_font(19))
    draw.text((x + space, y), object_name(row, glossary), fill=INK, font=latin_font(19))
    draw.text((x, y + 29), _english(row["title"], glossary), fill=SOFT, font=latin_font(14))


def object_name(row: Mapping[str, Any], glossary: Mapping[str, str]) -> str:
    """The object; the result of an earlier action is marked as such."""
    if row["object"] is None:
        return ""
    name = _english(row["object"], glossary)
    return f"result of: {name}" if row["object_tag"] == ACTION_TAG else name


def _english(word: str | None, glossary: Mapping[str, str]) -> str:
    return "" if word is None else glossary.get(word, word)


def pick_varied(rows: Iterable[Mapping[str, Any]], count: int) -> list[int]:
    """The positions of rows with both images that show different actions in different recipes.

    Args:
        rows: Rows of ``image_pairs``; the images are not used, so leave them out.
        count: The largest number to pick.
    """
    actions: set[str] = set()
    recipes: set[str] = set()
    picked = []
    for position, row in enumerate(rows):
        complete = row["pre_frame"] is not None and row["post_frame"] is not None
        if complete and row["action"] not in actions and row["recipe_id"] not in recipes and len(picked) < count:
            picked.append(position)
            actions.add(row["action"])
            recipes.add(row["recipe_id"])
    return picked
