"""The cooking actions: how each is written, what it does, and the words that go with it.

A verb is written as its stem, which carries the ``Ac`` tag as in the release, and an ending that leads on to ``、`` or
``ます``. Cuts are written in two ways, as in real recipes: as a separate action (千切りにします) or as 切る with
the result as its manner (２ｃｍ幅に切ります).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from recipeflow.kitchen.pantry import Words
from recipeflow.kitchen.world import Effect


@dataclass(frozen=True, slots=True)
class Verb:
    """A cooking action: its stem and ending, its English, its effect and the tool seen in the hand."""

    stem: Words
    ending: Words
    english: str
    effect: Effect = field(default_factory=Effect)
    tool: str | None = None


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words with their English, for the glossary."""

    words: Words
    english: str


_NI_SHI = ("に", "し")
_TRIM = Effect(mark="trimmed")
_ADD = Effect(join=True)
_MIX = Effect(mix=True)
_DRAIN = Effect(mark="drained", drain=True)
_SQUEEZE = Effect(mark="squeezed", drain=True)

VERBS = {
    # Taking away what is not eaten.
    "剥く": Verb(("剥",), ("き",), "peel", _TRIM, "knife"),
    "取る": Verb(("取",), ("り",), "take off", _TRIM, "knife"),
    "取り除く": Verb(("取り除",), ("き",), "remove", _TRIM, "knife"),
    "切り落とす": Verb(("切り落と",), ("し",), "cut off", _TRIM, "knife"),
    "洗う": Verb(("洗",), ("い",), "wash", Effect(mark="washed")),
    # Cutting: 切る takes its form from the manner.
    "切る": Verb(("切",), ("り",), "cut", tool="knife"),
    "千切り": Verb(("千切り",), _NI_SHI, "julienne", Effect(form="julienned"), "knife"),
    "細切り": Verb(("細切り",), _NI_SHI, "cut into strips", Effect(form="strips"), "knife"),
    "薄切り": Verb(("薄切り",), _NI_SHI, "slice thinly", Effect(form="sliced"), "knife"),
    "輪切り": Verb(("輪切り",), _NI_SHI, "cut into rounds", Effect(form="rounds"), "knife"),
    "半月切り": Verb(("半月", "切り"), _NI_SHI, "cut into half-moons", Effect(form="half-moons"), "knife"),
    "いちょう切り": Verb(("いちょう", "切り"), _NI_SHI, "quarter-moon cut", Effect(form="quarter-moons"), "knife"),
    "斜め切り": Verb(("斜め", "切り"), _NI_SHI, "slice diagonally", Effect(form="diagonal"), "knife"),
    "くし切り": Verb(("くし", "切り"), _NI_SHI, "cut into wedges", Effect(form="wedges"), "knife"),
    "角切り": Verb(("角切り",), _NI_SHI, "dice", Effect(form="diced"), "knife"),
    "乱切り": Verb(("乱切り",), _NI_SHI, "cut into chunks", Effect(form="chunks"), "knife"),
    "ざく切り": Verb(("ざく切り",), _NI_SHI, "cut roughly", Effect(form="roughly cut"), "knife"),
    "みじん切り": Verb(("みじん切り",), _NI_SHI, "mince", Effect(form="minced"), "knife"),
    "ささがき": Verb(("ささがき",), _NI_SHI, "shave", Effect(form="shaved"), "knife"),
    "すりおろす": Verb(("すりおろ",), ("し",), "grate", Effect(form="grated")),
    "ちぎる": Verb(("ちぎ",), ("り",), "tear", Effect(form="torn")),
    "分ける": Verb(("分け",), (), "divide into florets", Effect(form="florets"), "knife"),
    "ほぐす": Verb(("ほぐ",), ("し",), "pull apart", Effect(form="flaked")),
    "潰す": Verb(("潰",), ("し",), "mash", Effect(form="mashed"), "spoon"),
    # Heat.
    "沸かす": Verb(("沸か",), ("し",), "bring to the boil", _ADD),
    "茹でる": Verb(("茹で",), (), "boil", Effect(heat="boiled", join=True), "chopsticks"),
    "炒める": Verb(("炒め",), (), "fry", Effect(heat="fried", join=True, mix=True), "chopsticks"),
    "加熱する": Verb(("加熱",), ("し",), "heat", Effect(heat="microwaved")),
    "ひく": Verb(("ひ",), ("き",), "coat the pan with", _ADD),
    "熱する": Verb(("熱",), ("し",), "heat up", Effect()),
    # Water and salt.
    "さらす": Verb(("さら",), ("し",), "soak", Effect(mark="soaked", join=True)),
    "水気を切る": Verb(("切",), ("り",), "drain", _DRAIN),
    "絞る": Verb(("絞",), ("り",), "squeeze", _SQUEEZE),
    "拭き取る": Verb(("拭き取",), ("り",), "wipe off", _DRAIN),
    "ふる": Verb(("ふ",), ("り",), "sprinkle", _ADD),
    "もみ込む": Verb(("もみ込",), ("み",), "rub in", Effect(mark="salted", mix=True)),
    # Bringing together.
    "入れる": Verb(("入れ",), (), "put in", _ADD),
    "加える": Verb(("加え",), (), "add", _ADD),
    "混ぜる": Verb(("混ぜ",), (), "mix", _MIX, "spoon"),
    "混ぜ合わせる": Verb(("混ぜ合わせ",), (), "mix together", _MIX, "spoon"),
    "和える": Verb(("和え",), (), "dress", Effect(mark="dressed", mix=True), "spoon"),
    "絡める": Verb(("絡め",), (), "coat", Effect(mark="dressed", mix=True), "spoon"),
    # To the table.
    "冷ます": Verb(("冷ま",), ("し",), "let cool", Effect()),
    "冷やす": Verb(("冷や",), ("し",), "chill", Effect(mark="chilled")),
    "盛り付ける": Verb(("盛り付け",), (), "serve", Effect(), "chopsticks"),
    "のせる": Verb(("のせ",), (), "place on top", _ADD),
    "散らす": Verb(("散ら",), ("し",), "scatter", _ADD),
    "かける": Verb(("かけ",), (), "pour over", _ADD, "spoon"),
}  # fmt: skip
"""Every action by its dictionary form. 切る is there twice: cutting, and draining."""

CUT_VERBS = {
    "julienned": "千切り",
    "strips": "細切り",
    "sliced": "薄切り",
    "rounds": "輪切り",
    "half-moons": "半月切り",
    "quarter-moons": "いちょう切り",
    "diagonal": "斜め切り",
    "wedges": "くし切り",
    "diced": "角切り",
    "chunks": "乱切り",
    "roughly cut": "ざく切り",
    "minced": "みじん切り",
    "shaved": "ささがき",
    "grated": "すりおろす",
    "torn": "ちぎる",
    "florets": "分ける",
    "flaked": "ほぐす",
}
"""The action that is named after the form it makes."""

CUT_MANNERS = {
    "julienned": (Phrase(("２", "ｍｍ", "幅"), "2 mm wide"), Phrase(("細",), "finely")),
    "strips": (Phrase(("５", "ｍｍ", "幅"), "5 mm wide"), Phrase(("１", "ｃｍ", "幅"), "1 cm wide")),
    "sliced": (Phrase(("薄",), "thinly"), Phrase(("３", "ｍｍ", "幅"), "3 mm wide")),
    "rounds": (Phrase(("５", "ｍｍ", "幅"), "5 mm wide"), Phrase(("７", "ｍｍ", "幅"), "7 mm wide")),
    "half-moons": (Phrase(("半月", "状"), "half-moons"),),
    "diagonal": (Phrase(("斜め",), "diagonally"),),
    "wedges": (Phrase(("くし", "形"), "wedges"), Phrase(("６", "等分"), "in six")),
    "diced": (Phrase(("１", "ｃｍ", "角"), "1 cm cubes"), Phrase(("２", "ｃｍ", "角"), "2 cm cubes")),
    "chunks": (Phrase(("一口", "大"), "bite-sized"),),
    "bite-sized": (Phrase(("一口", "大"), "bite-sized"), Phrase(("食べやす", "い", "大きさ"), "easy to eat")),
    "roughly cut": (Phrase(("３", "ｃｍ", "幅"), "3 cm wide"), Phrase(("４", "ｃｍ", "幅"), "4 cm wide")),
    "sticks": (Phrase(("スティック", "状"), "sticks"),),
    "halved": (Phrase(("半分",), "in half"),),
    "quartered": (Phrase(("４", "等分"), "in quarters"),),
}
"""The manners of 切る, by form."""

TRIM_VERBS = {
    "皮": ("peel", "剥く"),
    "ヘタ": ("stem end", "取る"),
    "種": ("seeds", "取り除く"),
    "芯": ("core", "取り除く"),
    "根元": ("root end", "切り落とす"),
    "筋": ("strings", "取る"),
    "軸": ("stalk", "切り落とす"),
    "芽": ("eyes", "取り除く"),
    "石づき": ("hard stem", "切り落とす"),
    "背ワタ": ("vein", "取り除く"),
    "さや": ("pod", "取り除く"),
    "殻": ("shell", "剥く"),
}
"""The parts that are removed: their English, and the action that does it."""

CONTAINER_WORDS = {
    "bowl": Phrase(("ボウル",), "bowl"),
    "pot": Phrase(("鍋",), "pot"),
    "pan": Phrase(("フライパン",), "frying pan"),
    "plate": Phrase(("器",), "dish"),
    "sieve": Phrase(("ザル",), "sieve"),
}
"""How the text names the containers that it names at all."""
