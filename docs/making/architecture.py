"""Draws docs/images/architecture.svg, the data flow of the project: ``python docs/making/architecture.py``."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from html import escape
from pathlib import Path

PICTURE = Path(__file__).parents[1] / "images" / "architecture.svg"
WIDTH, HEIGHT = 1000, 600
COLOURS = {"file": "#fff3cd", "light": "#d9f0ea", "train": "#dde6fb"}
LEGEND = {
    "file": "files on the disk",
    "light": "a room that pip install . brings",
    "train": "a room that needs .[train]",
}


@dataclass(frozen=True)
class Box:
    """A room or a folder: where it is drawn, its name, and what happens there."""

    x: int
    y: int
    kind: str
    name: str
    lines: tuple[str, ...] = ()
    width: int = 150
    height: int = 62

    def side(self, name: str, shift: int = 0) -> tuple[int, int]:
        """The middle of a side, moved along it."""
        return {
            "left": (self.x, self.y + self.height // 2 + shift),
            "right": (self.x + self.width, self.y + self.height // 2 + shift),
            "top": (self.x + self.width // 2 + shift, self.y),
            "bottom": (self.x + self.width // 2 + shift, self.y + self.height),
        }[name]


BOXES = {
    "kitchen": Box(20, 50, "light", "kitchen/", ("simulated recipes", "and films")),
    "download": Box(20, 130, "light", "download/", ("official pages,", "videos to frames")),
    "corpora": Box(20, 210, "light", "corpora/, own/", ("other corpora; your", "own text and film")),
    "release_folder": Box(
        230, 50, "file", "release folder", ("annotations.json", "recipes/<id>/*.txt", "recipes/<id>/frames/"), 170, 222
    ),
    "release": Box(460, 50, "light", "release/", ("annotations.json", "to Recipe, and back")),
    "graph": Box(460, 210, "light", "graph/", ("flow graph, objects,", "programs, agreement")),
    "dataset": Box(650, 50, "light", "dataset/", ("builds and reads", "the tables")),
    "repository": Box(
        840, 50, "file", "./vrf", ("Parquet repository:", "recipes, flow_graphs,", "image_pairs"), 140, 78
    ),
    "explore": Box(650, 210, "light", "explore/", ("recipes in a browser,", "or a static site")),
    "annotate": Box(240, 330, "light", "annotate/", ("tags, flows, frames", "in a browser")),
    "parser": Box(20, 330, "train", "parser/", ("words to tags to flows:", "suggestions")),
    "features": Box(835, 330, "train", "features/", ("frames to vectors,", "computed once")),
    "pairs": Box(650, 330, "train", "pairs/", ("rows to batches", "of recipes")),
    "training": Box(460, 330, "train", "training/", ("VRFModel: text + pre", "image | post image")),
    "evaluation": Box(460, 440, "train", "evaluation/", ("ranks, figures,", "intervals")),
    "experiment": Box(240, 440, "train", "experiment/", ("ten folds beside the", "paper's, report")),
    "search": Box(650, 440, "train", "search/", ("index, confidence,", "pictures")),
    "storyboard": Box(835, 440, "train", "storyboard/, tasks/", ("recipes as pictures;", "making tasks is light")),
    "hub": Box(20, 440, "light", "hub/", ("cards, push, pull;", "models need .[train]")),
}
ARROWS = (
    ("kitchen right", "release_folder left -80"),
    ("download right", "release_folder left"),
    ("corpora right", "release_folder left 80"),
    ("release_folder right -80", "release left"),
    ("release left 20", "release_folder right -60"),
    ("release bottom", "graph top"),
    ("release right", "dataset left"),
    ("graph right -20", "dataset left 20"),
    ("dataset right", "repository left -8"),
    ("graph right", "explore left"),
    ("annotate top -20", "release_folder bottom -20"),
    ("release_folder bottom 20", "annotate top 20"),
    ("parser right", "annotate left"),
    ("repository bottom", "features top"),
    ("features left", "pairs right"),
    ("pairs left", "training right"),
    ("training bottom", "evaluation top"),
    ("evaluation left", "experiment right"),
    ("experiment left", "hub right"),
    ("training right 20", "search left"),
    ("search right", "storyboard left"),
)


def draw() -> str:
    """The picture as the text of an SVG file."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'role="img" font-family="system-ui, sans-serif" font-size="13" fill="#1b1b1b">',
        "<title>From recipes to a release folder, to a dataset, to models and the Hub</title>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        '<path d="M0 0 8 4 0 8z" fill="#555"/></marker></defs>',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        '<text x="20" y="30" font-size="15" font-weight="600">Data</text>',
        '<text x="20" y="318" font-size="15" font-weight="600">Annotation and learning</text>',
        *(_arrow(start, end) for start, end in ARROWS),
        *map(_box, BOXES.values()),
        *(_legend(20 + number * 240, kind, text) for number, (kind, text) in enumerate(LEGEND.items())),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _box(box: Box) -> str:
    middle = box.x + box.width // 2
    top = box.y + (box.height - 16 * (len(box.lines) + 1)) // 2 + 13
    shape = (
        f'<rect x="{box.x}" y="{box.y}" width="{box.width}" height="{box.height}" rx="8" '
        f'fill="{COLOURS[box.kind]}" stroke="#555"/>'
    )
    text = [f'<text x="{middle}" y="{top}" text-anchor="middle" font-weight="600">{escape(box.name)}</text>']
    text += [
        f'<text x="{middle}" y="{top + 16 * number}" text-anchor="middle" font-size="12">{escape(line)}</text>'
        for number, line in enumerate(box.lines, start=1)
    ]
    return "\n".join([shape, *text])


def _arrow(start: str, end: str) -> str:
    (x1, y1), (x2, y2) = _point(start), _point(end)
    if start.split()[1] in ("left", "right") and end.split()[1] in ("left", "right"):
        bend = f"H{(x1 + x2) // 2} V{y2} H{x2}"
    elif end.split()[1] in ("left", "right"):
        bend = f"V{y2} H{x2}"
    else:
        bend = f"V{(y1 + y2) // 2} H{x2} V{y2}"
    return f'<path d="M{x1} {y1} {bend}" fill="none" stroke="#555" stroke-width="1.5" marker-end="url(#tip)"/>'


def _point(text: str) -> tuple[int, int]:
    name, side, *shift = text.split()
    return BOXES[name].side(side, int(shift[0]) if shift else 0)


def _legend(x: int, kind: str, text: str) -> str:
    return (
        f'<rect x="{x}" y="{HEIGHT - 50}" width="22" height="16" rx="4" fill="{COLOURS[kind]}" stroke="#555"/>'
        f'<text x="{x + 30}" y="{HEIGHT - 37}" font-size="12">{escape(text)}</text>'
    )


if __name__ == "__main__":
    PICTURE.write_text(draw(), encoding="utf-8")
    sys.stdout.write(f"wrote {PICTURE.name}\n")
