"""Operations that a busy, careless person would send: most make sense, some do not.

They are drawn with a plain random generator whose seed hypothesis chooses: an operation depends on the whole document,
and a strategy made anew for each one takes longer than everything it tests.
"""

from random import Random

from recipeflow.annotate.document import NOT_VISIBLE, SIDES, STEPS, Document
from recipeflow.release.recipe import LABELS, TAGS


def draw_operation(random: Random, document: Document, suggested: list[dict]) -> dict:
    """An operation on this document; ``suggested`` are items as a page would list them."""
    name = random.choice(list(_DRAWING))
    operation = {"op": name, **_DRAWING[name](random, document, suggested)}
    if random.random() < 0.05:
        field = random.choice(list(operation))
        operation |= {
            "op": name,
            field: operation[field]
            if field in ("op", "items", "changes", "keys", "entities", "flows")
            else _odd(operation[field]),
        }
    return operation


_KEPT = ("op", "items", "changes", "keys", "entities", "flows")


def _odd(value):
    """Something of the same type that is nowhere."""
    return {str: "9-9-9", int: -1, bool: value, type(None): None}[type(value)]


def _pick(random: Random, choices, otherwise="0-0-0"):
    return random.choice(list(choices)) if choices else otherwise


def _keys(document: Document) -> list[str]:
    return [pair.key for listed in document.objects.values() for pair in listed]


def _section(random: Random, document: Document) -> int:
    return random.choice([section for section, lines in enumerate(document.base.sections) if lines])


def _tag(random, document, suggested):
    section = _section(random, document)
    line = random.randrange(len(document.base.sections[section]))
    words = len(document.words.sections[section][line].words)
    start = random.randrange(words)
    end = random.randint(start, min(words, start + 3))
    return {"section": section, "line": line, "start": start, "end": end, "tag": random.choice(["F", "Ac", *TAGS])}


def _reshape(random, document, suggested):
    entity = document.entities_by_id.get(entity_id := _pick(random, document.entities_by_id))
    start, end = (entity.start, entity.end) if entity else (0, 1)
    return {"entity": entity_id, "start": start + random.randint(-1, 1), "end": end + random.randint(-1, 1)}


def _split(random, document, suggested):
    long = [entity for entity in document.entities if entity.end - entity.start > 1] or document.entities
    entity = _pick(random, long, None)
    tag = random.choice([None, *TAGS])
    name, at = (entity.id, entity.start + 1) if entity else ("0-0-0", 1)
    return {"entity": name, "at": at, "tag": tag}


def _note(random, document, suggested):
    targets = [f"ne:{entity}" for entity in document.entities_by_id]
    targets += [f"fg:{flow.start}>{flow.end}:{flow.label}" for flow in document.flows]
    targets += [f"im:{key}:{side}" for key in _keys(document) for side in SIDES]
    return {
        "target": _pick(random, targets, "ne:9-9-9"),
        "unsure": random.random() < 0.7,
        "text": random.choice("あb "),
    }


def _cut(random, document, suggested):
    section = _section(random, document)
    line = random.randrange(len(document.base.sections[section]))
    words = document.words.sections[section][line].words
    long = [i for i, word in enumerate(words) if word.end - word.start > 1] or range(len(words))
    number = random.choice(long)
    at = random.randint(1, max(1, words[number].end - words[number].start - 1))
    return {"section": section, "line": line, "word": number, "at": at}


def _join(random, document, suggested):
    span = _tag(random, document, suggested)
    return {name: span[name] for name in ("section", "line", "start", "end")}


def _flow(random, document, suggested):
    ends = sorted(
        (_pick(random, document.entities_by_id), _pick(random, document.entities_by_id)),
        key=lambda i: [*map(int, i.split("-"))],
    )
    if random.random() < 0.2:
        ends.reverse()
    return {"start": ends[0], "end": ends[1], "label": random.choice(["Targ", "Targ", "F-set", *LABELS])}


def _known_flow(random, document, suggested):
    flow = _pick(random, document.flows, None)
    return {"start": flow.start, "end": flow.end, "label": flow.label} if flow else _flow(random, document, suggested)


def _frame(random, document, suggested):
    value = random.choice([None, NOT_VISIBLE, *range(1, 10)])
    return {"key": _pick(random, _keys(document), "0-0-0/0-0-0"), "side": random.choice(SIDES), "value": value}


def _some(random, choices, most):
    return random.sample(choices, min(len(choices), random.randint(1, most)))


_DRAWING = {
    "tag": _tag,
    "retag": lambda r, d, s: {"entity": _pick(r, d.entities_by_id), "tag": r.choice(["Ac", "F", *TAGS])},
    "reshape": _reshape,
    "split": _split,
    "remove": lambda r, d, s: {"entity": _pick(r, d.entities_by_id)},
    "cut": _cut,
    "join": _join,
    "flow": _flow,
    "unflow": _known_flow,
    "relabel": lambda r, d, s: {**_known_flow(r, d, s), "to": r.choice(list(LABELS))},
    "add_object": lambda r, d, s: {
        "action": _pick(r, d.traced),
        "object": r.choice([None, *d.entities_by_id]),
        "position": r.choice([None, 0, 1]),
    },
    "remove_object": lambda r, d, s: {"key": _pick(r, _keys(d))},
    "move_object": lambda r, d, s: {"key": _pick(r, _keys(d)), "position": r.randrange(3)},
    "reset_objects": lambda r, d, s: {"action": _pick(r, [edited.action for edited in d.lists] or d.traced)},
    "frame": _frame,
    "frames": lambda r, d, s: {"changes": [_frame(r, d, s) for _ in range(r.randint(1, 3))]},
    "note": _note,
    "retag_all": lambda r, d, s: {"entities": _some(r, list(d.entities_by_id), 3), "tag": r.choice(list(TAGS))},
    "relabel_all": lambda r, d, s: {
        "flows": [
            {"start": flow.start, "end": flow.end, "label": flow.label}
            for flow in r.sample(d.flows, min(len(d.flows), 3))
        ],
        "to": r.choice(list(LABELS)),
    },
    "done": lambda r, d, s: {"step": r.choice(STEPS), "done": r.random() < 0.7},
    "accept": lambda r, d, s: {"origin": "model", "items": _some(r, s, 8), "replace": r.random() < 0.5},
    "reject": lambda r, d, s: {"origin": "model", "keys": [item["key"] for item in _some(r, s, 3)]},
    "reconsider": lambda r, d, s: {
        "origin": "model",
        "keys": [_pick(r, [rejection.key for rejection in d.rejected], "ne:none")],
    },
}
