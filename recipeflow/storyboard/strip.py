"""A storyboard as one picture: its panels in rows, from the first action to the dish."""

from __future__ import annotations

from collections.abc import Mapping

from PIL import Image, ImageDraw

from recipeflow.drawing.cards import PADDING, PICTURE, draw_frame, square, write
from recipeflow.drawing.lettering import font, with_english
from recipeflow.drawing.palette import ACCENT, INK, LINE, PAPER, SOFT
from recipeflow.storyboard.board import Storyboard, panel_picture
from storyboard_vrf import Panel

COLUMNS, GAP, MARGIN, TEXT, HEADING = 6, 18, 32, 84, 56
BAR = 4
"""The height of the bar that shows a confidence."""

TRUTH = PICTURE + 24
"""The height that the kitchen's own picture adds to a card."""

FADED = 0.4
"""How pale a picture is that the model is not sure of."""


def draw_strip(board: Storyboard) -> Image.Image:
    """Draw all panels. A picture that the model is not sure of is pale."""
    texts = [text for panel in board.panels for text in (panel.action, panel.object)]
    shown = with_english([board.recipe.title, *texts], board.glossary)
    width = PICTURE + 2 * PADDING
    height = width + TEXT + (TRUTH if board.truth else 0)
    columns = min(COLUMNS, len(board.panels))
    lines = -(-len(board.panels) // columns)
    size = (
        2 * MARGIN + columns * (width + GAP) - GAP,
        2 * MARGIN + HEADING + lines * (height + GAP) - GAP,
    )
    sheet = Image.new("RGB", size, PAPER)
    title = shown.get(board.recipe.title or "", board.recipe.id)
    write(ImageDraw.Draw(sheet), (MARGIN, MARGIN - 4), title, INK, 26, width=size[0] - 2 * MARGIN)
    for position, panel in enumerate(board.panels):
        corner = (
            MARGIN + position % columns * (width + GAP),
            MARGIN + HEADING + position // columns * (height + GAP),
        )
        _draw_panel(sheet, (*corner, corner[0] + width, corner[1] + height), panel, board, shown)
    return sheet


def _draw_panel(
    sheet: Image.Image, box: tuple[int, int, int, int], panel: Panel, board: Storyboard, shown: Mapping[str, str]
) -> None:
    x, y = draw_frame(sheet, box, LINE if panel.sure else SOFT)
    draw = ImageDraw.Draw(sheet)
    picture = panel_picture(panel)
    if picture is None:
        draw.rectangle((x, y, x + PICTURE, y + PICTURE), fill=PAPER)
        draw.text((x + PICTURE // 2, y + PICTURE // 2), "no picture", fill=SOFT, font=font("", 16), anchor="mm")
    else:
        sheet.paste(_faded(square(picture)) if not panel.sure else square(picture), (x, y))
    draw.rounded_rectangle((x + 6, y + 6, x + 36, y + 28), 8, fill="white")
    draw.text((x + 21, y + 17), str(panel.number), fill=INK, font=font("", 15), anchor="mm")
    y += PICTURE
    if board.truth:
        _draw_truth(sheet, (x, y), board.truth.get(panel.number))
        y += TRUTH
    if panel.confidence is not None:
        draw.rectangle((x, y + 5, x + PICTURE, y + 5 + BAR), fill=LINE)
        draw.rectangle((x, y + 5, x + panel.confidence * PICTURE, y + 5 + BAR), fill=ACCENT if panel.sure else SOFT)
    y = write(draw, (x, y + 12), shown[panel.action], ACCENT, 18)
    is_result = board.recipe.entities[panel.state.object].tag == "Ac"
    y = write(draw, (x, y), f"result of {shown[panel.object]}" if is_result else shown[panel.object], INK, 18)
    write(draw, (x, y + 2), describe_certainty(panel), SOFT, 14)


def _draw_truth(sheet: Image.Image, corner: tuple[int, int], picture: Image.Image | None) -> None:
    x, y = corner
    draw = ImageDraw.Draw(sheet)
    draw.text((x, y + 4), "what really happens", fill=SOFT, font=font("", 13))
    if picture is None:
        draw.rectangle((x, y + 24, x + PICTURE, y + TRUTH), fill=PAPER)
    else:
        sheet.paste(square(picture), (x, y + 24))


def _faded(picture: Image.Image) -> Image.Image:
    return Image.blend(picture, Image.new("RGB", picture.size, PAPER), FADED)


def describe_certainty(panel: Panel) -> str:
    """One line: the confidence, or that there is none."""
    if panel.own is not None:
        return "your own picture"
    if panel.confidence is None:
        return "not sure"
    return f"{panel.confidence:.0%}" + ("" if panel.sure else ", not sure")
