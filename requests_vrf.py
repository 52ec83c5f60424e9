"""Ask in plain words: a sentence such as キャベツを千切りにする becomes a query's action, object and context.

A parser (the pipeline `recipe-flow-graph`) finds the verb, what it is done to and how. Its words are brought to those
that the model knows: other forms and kana (ゆでる: 茹で), and English by the glossary of the model's candidates.

This file is saved with every model that has an index and imports nothing from the project.
"""

from collections.abc import Collection, Mapping, Sequence
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


def read_request(sentence: str, parser: Any, processor: VRFProcessor, names: Names, context: str = "none") -> Request:
    """Understand a sentence.

    Args:
        sentence: In the parser's language.
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
    known = [[find_form(word, processor) for word in line] for line in words]
    script = make_script(*_nodes_and_edges(parser({"instructions": known})))
    found, notes = _choose(script)
    if found is None:
        found, notes = _find_names(sentence, names, processor)
    if found is None:
        tags = ", ".join(f"{node['text']} ({node['tag']})" for node in script.nodes.values()) or "nothing"
        raise ValueError(
            f"expected an action that is done to something in {sentence!r}, found {tags}; write a verb and its "
            "object, such as キャベツを千切りにする"
        )
    translator = Translator(names.glossary, processor)
    action, thing = (translator.words(part) for part in found[:2])
    roles = READ_ROLES[context]
    read = {
        role: [word for phrase in phrases for word in translator.known(phrase)] for role, phrases in found[2].items()
    }
    return Request(action, thing, {role: words for role, words in read.items() if words and role in roles}, notes)


def find_form(word: str, processor: VRFProcessor) -> str:
    """The word of the model's vocabulary that this one is another form of; itself if there is none, or several."""
    found = processor.read_words(word)
    return found[0] if len(found) == 1 and found[0] != processor.tokenizer.unk_token else word


def _nodes_and_edges(graph: Mapping[str, Any]) -> tuple[Sequence[Mapping[str, Any]], Sequence[Mapping[str, Any]]]:
    return graph["nodes"], graph["edges"]


Found = tuple[list[str], list[str], dict[str, list[list[str]]]]


def _choose(script: Script) -> tuple[Found | None, list[str]]:
    """The first action with its object and context. Without flows between them, the first of either."""
    if script.states:
        state = script.states[0]
        context = {role: [[word] for word in words] for role, words in script.contexts[0].items()}
        others = len({other.action for other in script.states}) - 1
        notes = [f"asked about the first of {others + 1} actions; vrf storyboard shows all of them"] if others else []
        return (list(script.words(state.action)), list(script.words(state.object)), context), notes
    first = {tag: next((node for node in script.nodes.values() if node["tag"] == tag), None) for tag in ("Ac", "F")}
    action, food = first["Ac"], first["F"]
    if action is None or food is None:
        return None, []
    note = f"the parser does not say that {action['text']} is done to {food['text']}; this was assumed"
    return (list(action["words"]), list(food["words"]), {}), [note]


def _find_names(sentence: str, names: Names, processor: VRFProcessor) -> tuple[Found | None, list[str]]:
    """A verb and an object that the model's own candidates have, where the parser found none."""
    text = "".join(sentence.split())
    action = _find_name(text, names.actions, processor)
    thing = _find_name(text, names.objects, processor)
    if action is None or thing is None or action == thing:
        return None, []
    note = f"the parser found no verb; {''.join(action)} and {''.join(thing)} are names of the model's own pictures"
    return (action, thing, {}), [note]


def _find_name(text: str, names: Collection[str], processor: VRFProcessor) -> list[str] | None:
    """The words of the longest part of a text that is one of these names, or another form of it."""
    for length in range(len(text), 1, -1):
        for start in range(len(text) - length + 1):
            part = text[start : start + length]
            words = processor.split_phrase(part) or processor.read_words(part)
            if "".join(words) in names:
                return words
    return None


__all__ = ["Names", "Request", "find_form", "read_request"]
