"""Ask in plain words: a sentence such as キャベツを千切りにする becomes a query's action, object and context.

A parser (the pipeline `recipe-flow-graph`) finds the verb, what it is done to and how. Its words are brought to those
that the model knows: other forms and kana (ゆでる: 茹で), and English by the glossary of the model's candidates.

This file is saved with every model that has an index and imports nothing from the project.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

try:
    from .configuration_vrf import READ_ROLES
    from .flows_vrf import Script, make_script
    from .processing_vrf import VRFProcessor
    from .words_vrf import Translator
except ImportError:
    if __package__:  # inside a package the siblings exist: the error is a real one
        raise
    from configuration_vrf import READ_ROLES
    from flows_vrf import Script, make_script
    from processing_vrf import VRFProcessor
    from words_vrf import Translator


@dataclass(frozen=True)
class Request:
    """A sentence that was understood.

    Args:
        action: The verb, in words that the model knows if it knows them.
        object: What it is done to.
        context: How it is done: words by their role. Words that the model does not know are left out.
        notes: What a reader should know about how it was understood.
    """

    action: list[str]
    object: list[str]
    context: dict[str, list[str]]
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Names:
    """What the model's candidates show.

    Args:
        actions: Their verbs.
        objects: Their objects.
        glossary: English for both.
    """

    actions: Collection[str]
    objects: Collection[str]
    glossary: Mapping[str, str]


def read_request(
    sentence: str | Mapping[str, Any], parser: Any, processor: VRFProcessor, names: Names, context: str = "none"
) -> Request:
    """Understand a sentence.

    Args:
        sentence: In the parser's language; or divided into words, as the parser takes recipes.
        parser: A parser's pipeline.
        processor: Of the retrieval model.
        names: What its candidates show.
        context: What the model reads of a context, from its config.

    Raises:
        ValueError: If it has no text, or no action that is done to something.
    """
    words = [list(line.words) for line in parser.processor.read(sentence).lines]
    if not words:
        raise ValueError(
            "expected a sentence, found no text; write what is done to what, such as キャベツを千切りにする"
        )
    translator = Translator(names.glossary, processor)
    script = make_script(*_read(parser, [[find_form(word, processor) for word in line] for line in words]))
    found = _choose(script, translator, names)
    if found is None or not ("".join(found.action) in names.actions and "".join(found.object) in names.objects):
        found = _find_names([word for line in words for word in line], translator, names, processor) or found
    if found is None:
        tags = ", ".join(f"{node['text']} ({node['tag']})" for node in script.nodes.values()) or "nothing"
        raise ValueError(
            f"expected an action that is done to something in {sentence!r}, found {tags}; write a verb and its "
            "object, such as キャベツを千切りにする"
        )
    read = {role: words for role, words in found.context.items() if words and role in READ_ROLES[context]}
    return Request(found.action, found.object, read, found.notes)


def _read(parser: Any, lines: Sequence[Sequence[str]]) -> tuple[Sequence[Any], Sequence[Any]]:
    graph = parser({"instructions": lines})
    return graph["nodes"], graph["edges"]


def find_form(word: str, processor: VRFProcessor) -> str:
    """The word of the model's vocabulary that this one is another form of; itself if there is none, or several."""
    found = processor.read_words(word)
    return found[0] if len(found) == 1 and found[0] != processor.tokenizer.unk_token else word


def _choose(script: Script, translator: Translator, names: Names) -> Request | None:
    """The first action with its object and context. Without flows between them, the first of either."""
    context: dict[str, list[str]] = {}
    if script.states:
        state = script.states[0]
        parts = script.words(state.action), script.words(state.object)
        for role, words in script.contexts[0].items():
            context[role] = [known for word in words for known in translator.known([word])]
        others = len({other.action for other in script.states}) - 1
        notes = [f"asked about the first of {others + 1} actions; vrf storyboard shows all of them"] if others else []
    else:
        first = [next((node for node in script.nodes.values() if node["tag"] == tag), None) for tag in ("Ac", "F")]
        if first[0] is None or first[1] is None:
            return None
        parts = first[0]["words"], first[1]["words"]
        notes = [f"the parser does not say that {first[0]['text']} is done to {first[1]['text']}; this was assumed"]
    return Request(
        translator.words(parts[0], names.actions), translator.words(parts[1], names.objects), context, notes
    )


def _find_names(words: Sequence[str], translator: Translator, names: Names, processor: VRFProcessor) -> Request | None:
    """A verb and an object that the model's own pictures have, where the parser found none of them."""
    parts = list(_parts(words))
    found = [
        next((known for part in parts if "".join(known := _known(part, one, translator, processor)) in one), None)
        for one in (names.actions, set(names.objects) - set(names.actions))
    ]
    if found[0] is None or found[1] is None or found[0] == found[1]:
        return None
    shown = ["".join(one) for one in found if one]
    note = f"the parser did not find what the model's own pictures are named by: {' and '.join(shown)}"
    return Request(found[0], found[1], {}, [note])


def _known(part: Sequence[str], names: Collection[str], translator: Translator, processor: VRFProcessor) -> list[str]:
    return processor.split_phrase("".join(part)) or processor.read_words(translator.words(part, names))


def _parts(words: Sequence[str]) -> Iterator[list[str]]:
    """All parts of a sentence, the longest first: by words, and by letters where a word may be divided wrongly."""
    text = "".join(words)
    for size in range(len(words), 0, -1):
        yield from (list(words[start : start + size]) for start in range(len(words) - size + 1))
    if not text.isascii():
        for size in range(len(text), 1, -1):
            yield from ([text[start : start + size]] for start in range(len(text) - size + 1))


__all__ = ["Names", "Request", "find_form", "read_request"]
