"""The plain text of a recipe, as people write it, to title, ingredients and instructions: the one reader of such text.

Text and Markdown are read: headings in English or Japanese, bullets, numbered steps, tables, wrapped lines. Where a
heading is missing, lines that look like an ingredient ("2 tomatoes", "塩 少々") and lines that look like a step
(numbers, sentences) decide. What belongs to no section, such as notes, is returned apart, never dropped silently.

This file is saved with every model and imports nothing from the project.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

try:
    from .segmentation_rfg import JAPANESE
except ImportError:
    if __package__:  # inside a package the sibling exists: the error is a real one
        raise
    from segmentation_rfg import JAPANESE

INGREDIENTS, INSTRUCTIONS, OTHER = 0, 1, 2
HEADINGS = {
    INGREDIENTS: "ingredients|ingredient|ingredient list|what you need|you will need|you'll need|"
    "材料|食材|材料表|用意するもの",
    INSTRUCTIONS: "instructions|directions|method|preparation|steps|procedure|how to make it|how to make|"
    "作り方|つくり方|作りかた|手順|調理手順|調理方法|レシピの手順",
    OTHER: "notes|note|tips|tip|nutrition|nutrition facts|equipment|tools|storage|variations|comments|source|"
    "コツ|ポイント|コツ・ポイント|メモ|備考|栄養|栄養成分|感想|道具|保存方法",
}
"""Lines that begin a section; what follows in parentheses, such as "(serves 4)", does not matter."""

_SECTIONS = {name: section for section, names in HEADINGS.items() for name in names.split("|")}
_PEOPLE = re.compile(r"(?:\(.*\)|for \d.*|serves \d.*|[\d~〜-]+ ?(?:人分|人前|servings?))$")
_TITLE = re.compile(r"(?:title|recipe|name|タイトル|料理名|レシピ名)\s*[:：]\s*(.+)", re.IGNORECASE)
_ABOUT = re.compile(
    r"(?:serves|servings|makes|yields?)\s*:?\s*\d.{0,30}"
    r"|(?:prep|preparation|cook|cooking|total|active)(?: time)?\s*[:：].{0,30}"
    r"|(?:調理時間|分量|人数)\s*[:：]?.{0,20}|[\d~〜-]+ ?(?:人分|人前)|約?\d+ ?分",
    re.IGNORECASE,
)
"""Lines about the whole recipe, such as "Serves 4", which are no step."""

_FRONT_MATTER = re.compile(r"\A---\s*\n.*?\n---\s*\n", re.DOTALL)
_TITLE_LINE = re.compile(r"^title:.*\n", re.MULTILINE)
_MARKDOWN_HEADING = re.compile(r"#{1,6}\s+(.*?)\s*#*$")
_BOLD_LINE = re.compile(r"(\*\*|__)(?P<text>[^*_]+)\1[:：]?$")
_FRAMED = re.compile(r"[■●◆▼◎○◇□★☆]?\s*(?:[【［\[<＜〈《](?P<inside>[^】］\]>＞〉》]+)[】］\]>＞〉》]|(?P<bare>.+))$")
_RULE = re.compile(r"([-=*_ー―－]\s*){3,}$")
_TABLE_RULE = re.compile(r"\|?\s*:?-{2,}:?\s*(\|\s*:?-{2,}:?\s*)*\|?$")
_PICTURE = re.compile(r"!\[[^\]]*\]\([^)]*\)")
_LINK = re.compile(r"\[([^\]]+)\]\([^)\s]+[^)]*\)")
_EMPHASIS = re.compile(r"(\*\*|__|\*|`)(?=\S)(.+?)(?<=\S)\1")
_LEADERS = re.compile(r"\s*(?:…{1,}|\.{3,}|‥+|・{2,}|-{3,})\s*")

_BULLET = re.compile(r"(?:[-*+•▪‣◦–—・]\s*(?:\[[ xX]\]\s*)?|[□☐✓]\s*)(?=\S)")
_NUMBER = re.compile(
    r"(?:step|手順)?\s*[(（]?(\d{1,2})[)）.．:：、]\s*|(?:step|手順)\s*(\d{1,2})\b[\s:：.．-]*", re.IGNORECASE
)
_CIRCLED = "①②③④⑤⑥⑦⑧⑨⑩⑪⑫⑬⑭⑮⑯⑰⑱⑲⑳"

_QUANTITY = r"(?:\d+(?:[./]\d+)?|[½¼¾⅓⅔⅛一二三四五六半])"
_ENGLISH_QUANTITIES = (
    re.compile(rf"^(?:about\s+|approx\.?\s+)?{_QUANTITY}(?!\s*[).．]\s)", re.IGNORECASE),
    re.compile(
        r"^(?:an?|one|two|three|four|half|some|a few)\s+(?:\w+\s+)?"
        r"(?:pinch|dash|handful|cup|clove|bunch|can|sprig|slice)",
        re.IGNORECASE,
    ),
    re.compile(rf"\s{_QUANTITY}\s*[a-z]{{0,10}}$|(?:to taste|for serving|for garnish|optional\)?)\.?$", re.IGNORECASE),
)
_UNIT = (
    "個|本|枚|匹|尾|g|kg|mg|ml|cc|dl|l|cm|カップ|杯|袋|缶|束|片|かけ|かけら|パック|切れ|玉|株|房|丁|合|膳|節|さじ|分|つ|"
    "箱|瓶|粒|人分|滴"
)
_ENDS_WITH_QUANTITY = re.compile(
    rf"(?:{_QUANTITY}\s*(?:{_UNIT})(?:半|程度|くらい|分)?|[大小]さじ\s*{_QUANTITY}(?:{_QUANTITY}|強|弱)*|"
    rf"適量|適宜|少々|少量|ひとつまみ|ひとかけ|お好みで|各{_QUANTITY})(?:\s*[(（][^)）]*[)）])?$"
)
_SENTENCE_END = re.compile(r"[.。!！]['\"”」』)）]*$")
_JAPANESE_ACT = re.compile(r"を|(?:る|す|く|う|つ|む|ぶ|ぐ|ます|下さい|ください|完成|出来上がり|できあがり)$")
LONG_ENGLISH, LONG_JAPANESE, LONG_TITLE, WRAPPED = 12, 30, 80, 50


@dataclass(frozen=True)
class PlainRecipe:
    """What was found: the title, None if there is none, the lines of both sections, and what belongs to neither."""

    title: str | None
    ingredients: list[str]
    instructions: list[str]
    left_out: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Row:
    """A line: its text without marks; whether it is a heading, bulleted, numbered, or follows an empty line."""

    text: str
    heading: bool = False
    bullet: bool = False
    number: int | None = None
    after_gap: bool = False

    @cached_property
    def section(self) -> int | None:
        """The section that this line begins, if it is the name of one."""
        name = _PEOPLE.sub("", unicodedata.normalize("NFKC", self.text).strip(" :")).strip(" :")
        framed = _FRAMED.match(name)
        name = (framed["inside"] or framed["bare"]).strip() if framed else ""
        name = _PEOPLE.sub("", name).strip(" :").lower()
        return None if self.bullet or self.number is not None else _SECTIONS.get(name)

    @property
    def line(self) -> str:
        """The line as a recipe has it; the release's Japanese steps begin with their number."""
        numbered = self.number is not None and JAPANESE.search(self.text)
        return f"{self.number}．{self.text}" if numbered else self.text


_Parts = tuple[list[_Row], list[_Row], list[_Row]]
"""The lines of the ingredients, of the instructions, and of other sections."""


def read_plain_text(text: str) -> PlainRecipe:
    """Find title, ingredients and instructions in a text."""
    body = _FRONT_MATTER.sub(lambda match: "".join(_TITLE_LINE.findall(match[0])), text.lstrip("\ufeff"))
    title, rows = _take_named_title(list(_rows(body)))
    before, parts, known = _split_at_headings(rows)
    if title is None:
        title, before = _take_title(before, followed_by_heading=bool(known))
    _place_rest(before, known, parts)
    ingredients, headless = _with_groups(parts[INGREDIENTS])
    instructions = _unwrapped(row for row in parts[INSTRUCTIONS] if not row.heading)
    others = [row for row in parts[INSTRUCTIONS] if row.heading]
    left_out = [row.text for row in (*headless, *others, *parts[OTHER])]
    return PlainRecipe(title, ingredients, [row.line for row in instructions], left_out)


def _split_at_headings(rows: Sequence[_Row]) -> tuple[list[_Row], _Parts, set[int]]:
    """The lines before the first section, those of each section, and which sections have a heading."""
    before: list[_Row] = []
    parts: _Parts = ([], [], [])
    known: set[int] = set()
    into = before
    for row in rows:
        if (section := row.section) is None:
            into.append(row)
        else:
            into = parts[section]
            known.add(section)
    return before, parts, known


def _place_rest(rest: list[_Row], known: set[int], parts: _Parts) -> None:
    """Find the sections that no heading begins, in the lines before the first one or in the other section."""
    parts[OTHER].extend(row for row in rest if _ABOUT.fullmatch(row.text))
    rest = [row for row in rest if not _ABOUT.fullmatch(row.text)]
    if INGREDIENTS in known and INSTRUCTIONS in known:
        parts[OTHER][:0] = rest  # a description
    elif INSTRUCTIONS in known:
        wanted = sum(map(_score, rest)) > 0
        parts[INGREDIENTS if wanted else OTHER][:0] = rest
    elif INGREDIENTS in known and not rest:
        listed = parts[INGREDIENTS][:]
        at = _find_border(listed)
        parts[INGREDIENTS][:], parts[INSTRUCTIONS][:0] = listed[:at], listed[at:]
    elif INGREDIENTS in known:
        parts[INSTRUCTIONS][:0] = rest
    else:
        at = _find_border(rest) if any(_score(row) > 0 for row in rest) else 0
        parts[INGREDIENTS][:0], parts[INSTRUCTIONS][:0] = rest[:at], rest[at:]


def _rows(text: str) -> Iterator[_Row]:
    """The lines of a text with their marks read; pictures, rules and empty lines are left out."""
    gap, number = False, 0
    for raw in text.splitlines():
        line = _plain(raw)
        if not line or _RULE.match(line) or _TABLE_RULE.match(line):
            gap = True
            continue
        row = replace(_row(_LEADERS.sub(" ", line).strip(), number + 1), after_gap=gap)
        yield row
        gap, number = False, row.number or number


def _plain(line: str) -> str:
    line = _LINK.sub(r"\1", _PICTURE.sub("", line)).strip()
    if line.startswith("|") and line.endswith("|") and len(line) > 1:
        line = " ".join(cell.strip() for cell in line.strip("|").split("|"))
    return line.removeprefix("> ").strip()


def _row(line: str, next_number: int) -> _Row:
    if match := _MARKDOWN_HEADING.match(line):
        return _Row(_without_emphasis(match[1]), heading=True)
    if match := _BOLD_LINE.match(line):
        return _Row(match["text"].strip().rstrip(":："), heading=True)
    if match := _BULLET.match(line):
        # "- 1. Chop" is a numbered step, too.
        return replace(_row(line[match.end() :], next_number), bullet=True, heading=False)
    text = _without_emphasis(line)
    if text[0] in _CIRCLED and text[1:].strip():
        return _Row(text[1:].strip(" .．:："), number=_CIRCLED.index(text[0]) + 1)
    if (match := _NUMBER.match(text)) and (rest := text[match.end() :]):
        number = int(match[1] or match[2])
        # "1.5 cups" has no number before it, "2.5分冷やす" after step 1 has.
        if not rest[0].isdecimal() or (number == next_number and number > 1):
            return _Row(rest, number=number)
    is_group = text.endswith((":", "：")) and len(text) < LONG_TITLE
    return _Row(text.rstrip(":：") if is_group else text, heading=is_group)


def _without_emphasis(text: str) -> str:
    return _EMPHASIS.sub(r"\2", text).strip()


def _take_named_title(rows: list[_Row]) -> tuple[str | None, list[_Row]]:
    """The title that a line names ("Title: …"), which may be anywhere before the first section."""
    for number, row in enumerate(rows[:10]):
        if row.section is not None:
            break
        if match := _TITLE.fullmatch(row.text):
            return match[1].strip(" \"'"), rows[:number] + rows[number + 1 :]
    return None, rows


def _take_title(rows: list[_Row], followed_by_heading: bool) -> tuple[str | None, list[_Row]]:
    """The title among the lines before the first section: a Markdown heading, or a first line that can be one."""
    if not rows:
        return None, rows
    first, rest = rows[0], rows[1:]
    if first.heading:
        return first.text, rest
    plain = not first.bullet and first.number is None and len(first.text) <= LONG_TITLE
    if not plain or _SENTENCE_END.search(first.text) or _score(first) != 0:
        return None, rows
    stands_alone = rest[0].after_gap or rest[0].bullet or _score(rest[0]) != 0 if rest else followed_by_heading
    return (first.text, rest) if stands_alone else (None, rows)


def _score(row: _Row) -> float:
    """How much a line looks like an ingredient (above 0) or like a step (below 0)."""
    text = unicodedata.normalize("NFKC", row.text)
    japanese = JAPANESE.search(text) is not None
    patterns = (_ENDS_WITH_QUANTITY,) if japanese else _ENGLISH_QUANTITIES
    quantity = any(pattern.search(text) for pattern in patterns)
    act = _JAPANESE_ACT.search(text) if japanese else None
    long = len(text) > LONG_JAPANESE if japanese else len(text.split()) > LONG_ENGLISH
    ingredient = 2 * quantity + 0.5 * row.bullet
    return ingredient - 3 * (row.number is not None) - 1.5 * bool(_SENTENCE_END.search(text)) - bool(act) - bool(long)


def _find_border(rows: Sequence[_Row]) -> int:
    """Where the instructions begin: before it lines look most like ingredients, after it like steps."""
    scores = [_score(row) for row in rows]
    values = [sum(scores[:at]) - sum(scores[at:]) for at in range(len(rows) + 1)]
    best = [at for at, value in enumerate(values) if value == max(values)]
    at_gaps = [at for at in best if at < len(rows) and rows[at].after_gap]
    return (at_gaps or best)[-1]


def _with_groups(rows: Sequence[_Row]) -> tuple[list[str], list[_Row]]:
    """The lines of the ingredients; a group's name is put before each of its lines, as the release does."""
    lines: list[str] = []
    unused: list[_Row] = []
    group: _Row | None = None
    for row in rows:
        if row.heading:
            unused.append(row)
            group = row
            continue
        if group is not None and group in unused:
            unused.remove(group)
        lines.append(f"({group.text}) {row.text}" if group is not None else row.text)
    return lines, unused


def _unwrapped(rows: Iterable[_Row]) -> list[_Row]:
    """The steps, each on one line: a line that continues a marked step or a sentence is joined to it."""
    found: list[_Row] = []
    marked = False
    for row in rows:
        has_mark = row.bullet or row.number is not None
        last = found[-1].text if found else ""
        wrapped = last.endswith(("、", ",")) or (len(last) >= WRAPPED and row.text[0].islower())
        if found and not has_mark and not row.after_gap and (marked or wrapped):
            space = "" if JAPANESE.search(last[-1]) or JAPANESE.search(row.text[0]) or last[-1] in "、。" else " "
            found[-1] = replace(found[-1], text=f"{last}{space}{row.text}")
            continue
        found.append(row)
        marked = has_mark
    return found


__all__ = ["HEADINGS", "PlainRecipe", "read_plain_text"]
