"""Small recipes in a notation that a person can read, and the release folders made of them.

A word is ``text``, ``text/TAG`` (the first word of an entity) or ``text/TAG+`` (it continues); ``text/TAG:name`` gives
the entity a name, by which flows (``start label end``) and state changes (``action before after``) call it.
"""

import io
import json
from pathlib import Path

from PIL import Image

from recipeflow.release import ReleaseInfo, ReleaseWriter
from recipeflow.release.recipe import Flow, Line, Recipe, StateChange, Word, word_id

INFO = ReleaseInfo(
    source="hand-made", licence="MIT", version="1", glossary={"きゅうり": "cucumber"}, details={"seed": 7}
)


def make_recipe(
    recipe_id: str, title: str, ingredients: str, instructions: str, flows: str = "", changes: str = ""
) -> Recipe:
    names: dict[str, str] = {}
    sections = [
        tuple(_make_line(names, s, i, line.split()) for i, line in enumerate(text.strip().splitlines()))
        for s, text in enumerate((ingredients, instructions))
    ]
    edges = [line.split() for line in flows.strip().splitlines()]
    pairs = [line.split() for line in changes.strip().splitlines()]
    return Recipe(
        recipe_id,
        *sections,
        tuple(Flow(names[start], names[end], label) for start, label, end in edges),
        tuple(StateChange(names[action], _frame(before), _frame(after)) for action, before, after in pairs),
        title,
        f"https://www.kurashiru.com/recipes/{recipe_id}",
    )


def _make_line(names: dict[str, str], section: int, line: int, marked: list[str]) -> Line:
    words, text = [], ""
    for number, mark in enumerate(marked):
        content, _, tag = mark.partition("/")
        tag, _, name = tag.partition(":")
        if name:
            assert name not in names, f"two entities are named {name}"
            names[name] = word_id(section, line, number)
        position = "I" if tag.endswith("+") else "B"
        words.append(Word(len(text), len(text) + len(content), f"{tag.rstrip('+')}-{position}" if tag else "O"))
        text += content
    return Line(tuple(words), text)


def _frame(number: str) -> int | None:
    return None if number == "-" else int(number)


def make_frame(number: int, size: tuple[int, int] = (24, 16)) -> bytes:
    """A tiny JPEG; its colour distinguishes frames."""
    picture = Image.new("RGB", size, (number * 37 % 256, number * 91 % 256, 120))
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG")
    return buffer.getvalue()


# Cucumber is sliced, tomato halved, and 具材 is a set of both, whose first member is the action of slicing.
SALAD = make_recipe(
    "c0ffee00-salad",
    "きゅうりとトマトのサラダ",
    """
    きゅうり/F:cucumber １/Q 本/Q+
    （ Ａ ） ミニ/F:tomato トマト/F+ ２/Q 個/Q+
    塩/F:salt 少々/Q
    """,
    """
    １ ． きゅうり/F:cucumber1 は 薄く/Sf:thin 切り/Ac:slice ます 。
    ２ ． ミニ/F:tomato1 トマト/F+ は 半分/Sf:half に 切り/Ac:halve ます 。
    ３ ． ボウル/T:bowl に 具材/F:all と 塩/F:salt1 を 入れ/Ac:put 、 混ぜ/Ac:mix ます 。
    """,
    """
    cucumber F-eq cucumber1
    thin other-mod slice
    cucumber1 Targ slice
    tomato F-eq tomato1
    tomato1 Targ halve
    half other-mod halve
    slice F-set all
    tomato1 F-set all
    salt F-eq salt1
    all Targ put
    salt1 Targ put
    bowl Dest put
    put Targ mix
    """,
    """
    slice 1 3
    halve 3 5
    put 3 7
    put 5 7
    put - 7
    mix 7 -
    mix - -
    """,
)

EGG = make_recipe(
    "ゆで卵",
    "ゆで卵",
    """
    卵/F:egg ２/Q 個/Q+
    水/F:water 適量/Q
    """,
    """
    準備 ． 水/F:water1 を 沸かし/Ac:boil ます 。
    １ ． 卵/F:egg1 を １０/D:ten 分/D+ 茹で/Ac:cook ます 。
    ２ ． 殻/F:shell を むき/Ac:peel ます 。
    """,
    """
    water F-eq water1
    water1 Targ boil
    egg F-eq egg1
    egg1 Targ cook
    boil Dest cook
    ten other-mod cook
    egg1 F-part-of shell
    shell Targ peel
    """,
    """
    boil - -
    cook 2 4
    peel 4 9
    """,
)

TEA = make_recipe(
    "tea_3",
    "麦茶",
    "麦茶/F:tea １/Q 袋/Q+",
    "１ ． 麦茶/F:tea1 を 冷やし/Ac:chill 、 注ぎ/Ac:pour ます 。",
    """
    tea F-eq tea1
    tea1 Targ chill
    tea1 Targ pour
    """,
    """
    chill 1 -
    pour 2 3
    """,
)

RECIPES = (SALAD, EGG, TEA)


def frames_of(recipe: Recipe) -> dict[int, bytes]:
    return {number: make_frame(number) for number in recipe.used_frames}


def make_release(folder: Path, recipes=RECIPES, *, frames: bool = True, info: ReleaseInfo | None = INFO) -> Path:
    """Write a valid release of these recipes into ``folder``, with a frame for every number they use."""
    with ReleaseWriter(folder, info) as writer:
        for recipe in recipes:
            writer.add(recipe, frames_of(recipe) if frames else None)
    return folder


def edit_annotations(folder: Path, change) -> None:
    """Let ``change`` edit the parsed annotations in place, and write them back."""
    path = folder / "annotations.json"
    raw = json.loads(path.read_text(encoding="utf-8"))
    change(raw)
    path.write_text(json.dumps(raw), encoding="utf-8")
