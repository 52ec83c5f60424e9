"""A plan in words: the segmented Japanese text, its r-NE tags and the r-FG edges between them.

The edges follow the paper's standards as the official release uses them: an ingredient is carried into the
instructions by ``F-eq`` (or ``F-set`` where several go under one name), an action that continues with the result of
the one before it is linked to it directly, what is removed hangs on by ``F-part-of``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from recipeflow.kitchen.pantry import Words
from recipeflow.kitchen.plan import ListedIngredient, Plan, Step, Timing
from recipeflow.kitchen.verbs import Phrase
from recipeflow.language.japanese import widen
from recipeflow.release.recipe import Flow, Line, Word, word_id


@dataclass(frozen=True, slots=True)
class WrittenAction:
    """A step of the plan with its id in the text and its objects in the order in which the text names them."""

    id: str
    step: Step
    objects: tuple[int, ...]


@dataclass
class Manuscript:
    """Text being written: tagged words by section and line, edges, and the English of what was named."""

    sections: tuple[list[list[tuple[str, str]]], list[list[tuple[str, str]]]] = field(default_factory=lambda: ([], []))
    flows: list[Flow] = field(default_factory=list)
    glossary: dict[str, str] = field(default_factory=dict)
    actions: list[WrittenAction] = field(default_factory=list)
    section: int = 0

    def begin_line(self, section: int) -> None:
        """Start a line of the ingredients (0) or instructions (1)."""
        self.section = section
        self.sections[section].append([])

    def say(self, *words: str) -> None:
        """Write words without a tag."""
        self.sections[self.section][-1].extend((word, "O") for word in words)

    def name(self, tag: str, words: Words, english: str) -> str:
        """Write an entity and return its id."""
        lines = self.sections[self.section]
        entity = word_id(self.section, len(lines) - 1, len(lines[-1]))
        lines[-1].extend((word, f"{tag}-{'I' if i else 'B'}") for i, word in enumerate(words))
        add_meanings(self.glossary, {"".join(words): english})
        return entity

    def link(self, start: str, end: str, label: str) -> None:
        self.flows.append(Flow(start, end, label))

    def lines(self, section: int) -> tuple[Line, ...]:
        """The finished lines with their offsets."""
        return tuple(tagged_line(words) for words in self.sections[section])

    def sorted_flows(self) -> tuple[Flow, ...]:
        """The edges in reading order of their starts, as the release lists them."""
        return tuple(sorted(self.flows, key=lambda flow: (_position(flow.start), _position(flow.end))))


def add_meanings(glossary: dict[str, str], more: Mapping[str, str]) -> None:
    """Add to a glossary; a word with two meanings, as 切 for cut and drain, keeps both."""
    for word, english in more.items():
        known = glossary.get(word, english)
        glossary[word] = " / ".join(sorted({*known.split(" / "), *english.split(" / ")}))


def tagged_line(words: Iterable[tuple[str, str]]) -> Line:
    """A line of words with their tags, written without spaces as Japanese is."""
    text, spans = "", []
    for word, tag in words:
        spans.append(Word(len(text), len(text) + len(word), tag))
        text += word
    return Line(tuple(spans), text)


def _position(entity: str) -> tuple[int, ...]:
    return tuple(int(part) for part in entity.split("-"))


def write_recipe(plan: Plan, rng: Random) -> Manuscript:
    """Write a plan as text."""
    return Writer(plan, rng).write()


class Writer:
    """Writes one plan; ``source`` maps every stuff to its entity."""

    def __init__(self, plan: Plan, rng: Random) -> None:
        self.plan = plan
        self.rng = rng
        self.text = Manuscript()
        self.source: dict[int, str] = {}
        self.listed: dict[int, ListedIngredient] = {}
        self.home: dict[int, int] = {}
        self.fresh: int | None = None

    def write(self) -> Manuscript:
        """Ingredients, then instructions."""
        for line in self.plan.ingredients:
            self.write_ingredient(line)
        for index, steps in enumerate(self.plan.instructions):
            self.write_instruction(index, steps)
        return self.text

    def write_ingredient(self, line: ListedIngredient) -> None:
        """（Ａ）しょうゆ大さじ１"""
        text = self.text
        text.begin_line(0)
        modifiers = []
        if line.heading is not None:
            text.say("（")
            modifiers.append(text.name("F", (line.heading,), f"sauce {chr(ord(line.heading) - 0xFEE0)}"))
            text.say("）")
        food = text.name("F", line.ingredient.words, line.ingredient.english)
        if line.note is not None:
            modifiers.append(self.in_brackets("Sf", line.note))
        modifiers.append(text.name("Q", line.amount, _narrow("".join(line.amount))))
        if line.weight is not None:
            modifiers.append(self.in_brackets("Q", Phrase(line.weight, _narrow("".join(line.weight)))))
        for modifier in modifiers:
            text.link(modifier, food, "other-mod")
        self.source[line.stuff] = food
        self.listed[line.stuff] = line

    def in_brackets(self, tag: str, phrase: Phrase) -> str:
        """（茹で用）"""
        self.text.say("（")
        entity = self.text.name(tag, phrase.words, phrase.english)
        self.text.say("）")
        return entity

    def write_instruction(self, index: int, steps: Sequence[Step]) -> None:
        """１．…、…ます。"""
        self.text.begin_line(1)
        self.text.say(self.label(index) or "準備", "．")
        for number, step in enumerate(steps):
            action = self.write_step(step, opens_line=number == 0)
            self.home.update(dict.fromkeys(step.results, index))
            self.fresh = step.results[0] if len(step.results) == 1 else None
            is_last = step is steps[-1]
            if is_last and index == len(self.plan.instructions) - 1:
                self.write_finish(action)
            else:
                self.text.say(*(("ま", "す", "。") if is_last else ("、",)))

    def label(self, index: int) -> str | None:
        """The number of an instruction, or ``None`` for the preparation, which has none."""
        number = index if self.plan.has_preparation else index + 1
        return widen(str(number)) if number else None

    def write_finish(self, action: str) -> None:
        """…て完成です。"""
        self.text.say("て")
        done = self.text.name("Af", ("完成",), "is done")
        self.text.link(action, done, "Agent")
        self.text.say("で", "す", "。")

    def write_step(self, step: Step, opens_line: bool) -> str:
        """One clause: when, where, what, with what, how, how long, and the verb; returns the action's id."""
        text = self.text
        edges: list[tuple[str, str]] = []
        if step.timing is not None:
            edges.append((self.write_timing(step.timing), "V-tm"))
        edges.extend(self.write_destination(step))
        named, objects = self.write_objects(step, opens_line)
        edges.extend((entity, "Targ") for entity in named)
        edges.extend(self.write_tool(step))
        if step.manner is not None:
            edges.append((text.name("Sf", step.manner.words, step.manner.english), "other-mod"))
            text.say(*_connect(step.manner))
        if step.duration is not None:
            edges.append((text.name("D", step.duration.words, step.duration.english), "other-mod"))
        action = text.name("Ac", step.word.stem, step.word.english)
        text.say(*step.word.ending)
        for start, label in edges:
            text.link(start, action, label)
        self.source.update(dict.fromkeys(step.results, action))
        text.actions.append(WrittenAction(action, step, tuple(objects)))
        return action

    def write_timing(self, timing: Timing) -> str:
        """粗熱が取れたら、"""
        agent = None
        if timing.what is not None:
            agent = self.text.name("Sf", timing.what.words, timing.what.english)
            self.text.say("が")
        event = self.text.name("Af", timing.happens.words, timing.happens.english)
        self.text.say(*timing.ending, "、")
        if agent is not None:
            self.text.link(agent, event, "Agent")
        return event

    def write_destination(self, step: Step) -> list[tuple[str, str]]:
        """鍋に; omitted if the destination is the result of the previous step."""
        edges = []
        if step.container is not None:
            edges.append((self.text.name("T", step.container.words, step.container.english), "Dest"))
            self.text.say("に")
        if step.into is not None:
            if step.into == self.fresh:
                edges.append((self.source[step.into], "Dest"))
            else:
                edges.append((self.mention(step.into), "Dest"))
                self.text.say("に")
        return edges

    def write_tool(self, step: Step) -> list[tuple[str, str]]:
        """６００Ｗの電子レンジで"""
        if step.tool is None:
            return []
        setting = None
        if step.power is not None:
            setting = self.text.name("St", step.power.words, step.power.english)
            self.text.say("の")
        tool = self.text.name("T", step.tool.words, step.tool.english)
        self.text.say("で")
        if setting is not None:
            self.text.link(setting, tool, "other-mod")
        return [(tool, "T-comp")]

    def write_objects(self, step: Step, opens_line: bool) -> tuple[list[str], list[int]]:
        """Name what the action acts on; returns the entities, and the stuff in the order of the text."""
        if self.fresh is not None and step.objects == (self.fresh,):
            named, order = [self.source[self.fresh]], list(step.objects)
            if step.part is None:
                return named, order
        else:
            named, order = self.mention_all(step)
            if step.part is None:
                self.text.say("は" if opens_line and step.word.tool == "knife" else "を")
                return named, order
            self.text.say("の")
        part = self.text.name("F", step.part.words, step.part.english)
        self.text.link(named[0], part, "F-part-of")
        self.text.say("を")
        return [part], order

    def mention_all(self, step: Step) -> tuple[list[str], list[int]]:
        """キャベツ、１とＡ: by name, by the number of an earlier instruction, or by the heading of a group."""
        waiting, named, order = list(step.objects), [], []
        while waiting:
            group = self.same_group(waiting) or self.same_instruction(waiting) or [waiting[0]]
            waiting = [number for number in waiting if number not in group]
            if named:
                self.text.say("と" if not waiting else "、")
            named.append(self.mention(group[0]) if len(group) == 1 else self.mention_group(group))
            order.extend(group)
        return named, order

    def same_group(self, waiting: Sequence[int]) -> list[int]:
        """The raw ingredients among these that share the heading of the first."""
        heading = self.heading(waiting[0])
        return [number for number in waiting if heading is not None and self.heading(number) == heading]

    def heading(self, number: int) -> str | None:
        """The group of a raw ingredient."""
        return self.listed[number].heading if number in self.listed else None

    def same_instruction(self, waiting: Sequence[int]) -> list[int]:
        """Everything that an earlier instruction made, if it made several things and its number can refer to them."""
        home = self.home.get(waiting[0])
        if home is None or self.label(home) is None or self.rng.random() < 0.45:
            return []
        made = self.outcome(home)
        return made if len(made) > 1 and set(made) <= set(waiting) else []

    def outcome(self, index: int) -> list[int]:
        """What an instruction made that it did not use up itself."""
        steps = self.plan.instructions[index]
        used = {number for step in steps for number in (*step.objects, step.into)}
        return [number for step in steps for number in step.results if number not in used]

    def mention_group(self, group: Sequence[int]) -> str:
        """One name for several things, each its member."""
        heading = self.heading(group[0])
        if heading is not None:
            entity = self.text.name("F", (heading,), f"sauce {chr(ord(heading) - 0xFEE0)}")
        else:
            entity = self.name_by_number(self.home[group[0]])
        for start in dict.fromkeys(self.source[number] for number in group):
            self.text.link(start, entity, "F-set")
        return entity

    def mention(self, number: int) -> str:
        """One thing, by its name or by the number of the instruction that made it."""
        portions = self.plan.stuff[number].portions
        home = self.home.get(number)
        by_number = home is not None and self.label(home) is not None and self.outcome(home) == [number]
        if by_number and (len(portions) > 1 or self.rng.random() < 0.4):
            entity = self.name_by_number(home)
        else:
            item = self.plan.ingredient_of(number)
            entity = self.text.name("F", item.words, item.english)
        if number in self.source:
            self.text.link(self.source[number], entity, "F-eq")
        return entity

    def name_by_number(self, index: int) -> str:
        """The number of an instruction, meaning its result."""
        label = self.label(index)
        assert label is not None  # the preparation has no number to be called by
        return self.text.name("F", (label,), f"result of step {_narrow(label)}")


def _connect(manner: Phrase) -> Words:
    """The particle after a manner: 細く切り, but 一口大に切り."""
    return ("く",) if manner.words in {("細",), ("薄",)} else ("に",)


def _narrow(text: str) -> str:
    """English for an amount: the digits as ASCII, units translated."""
    narrow = text.translate({code + 0xFEE0: code for code in range(0x21, 0x7F)})
    for unit, english in AMOUNTS.items():
        narrow = narrow.replace(unit, english)
    return narrow


AMOUNTS = {
    "大さじ": "tbsp ",
    "小さじ": "tsp ",
    "少々": "a little",
    "適量": "as needed",
    "ひとつまみ": "a pinch",
    "個": " pieces",
    "本": " sticks",
    "枚": " sheets",
    "束": " bunches",
    "株": " heads",
    "袋": " bags",
    "缶": " cans",
    "丁": " blocks",
}
"""Units and vague amounts, for the glossary."""
