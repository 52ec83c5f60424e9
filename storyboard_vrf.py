"""A recipe as a storyboard: the picture that a model finds for every state, from the first cut to the finished dish.

    read = pipeline("recipe-flow-graph", model=parser, trust_remote_code=True)
    search = pipeline("post-action-retrieval", model=repo, trust_remote_code=True)
    for panel in search.imagine(read(text)):
        print(panel.action, panel.object, panel.confidence, panel.answers[0]["image"])

This file is saved with every model that has an index and imports nothing from the project.
"""

import warnings
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

try:
    from .configuration_vrf import READ_ROLES
    from .flows_vrf import Script, State, make_script
    from .imagination_vrf import BEAM, Candidates, Imagined, Questions, imagine_states
    from .modeling_vrf import VRFModel
    from .processing_vrf import ImageLike, VRFProcessor
    from .requests_vrf import Names
    from .retrieval_vrf import VRFCalibration, VRFIndex, image_features, kind_of, name_codes
    from .words_vrf import Translator, UnknownWordsWarning
except ImportError:
    if __package__:  # inside a package the siblings exist: the error is a real one
        raise
    from configuration_vrf import READ_ROLES
    from flows_vrf import Script, State, make_script
    from imagination_vrf import BEAM, Candidates, Imagined, Questions, imagine_states
    from modeling_vrf import VRFModel
    from processing_vrf import ImageLike, VRFProcessor
    from requests_vrf import Names
    from retrieval_vrf import VRFCalibration, VRFIndex, image_features, kind_of, name_codes
    from words_vrf import Translator, UnknownWordsWarning

LIKELY_ABSENT = 0.5
"""From this probability on, perhaps no candidate shows what was asked for."""

ENOUGH = 0.5
"""Below this probability that a picture shows the right action on the right object, a panel is not sure."""

EXTREME = 1e-6
"""How near to 0 and 1 a probability may come."""

PANELS = "panels"
"""Where a calibration has the scale of panels."""

NO_NAMES = Names((), (), {})
SHOWN = 3
"""Candidates that are kept for a panel, the best first."""


@dataclass(frozen=True)
class Panel:
    """One state of a storyboard.

    Args:
        number: Counted from 1.
        state: Its action, object, and what it continues.
        action: The verb as it is written.
        object: The object as it is written.
        answers: The likeliest candidates, each with the `probability` to be the right one; none if the model does not
            know the words, or the picture is the user's own.
        confidence: The probability that the first one shows the right action on the right object: the sum over all
            candidates that show the same, scaled by how often such panels were right. None without a calibration.
        own: The user's own picture of this state.
        before: The user's own picture from before the action.
        doubts: Why the picture may be wrong; a panel without any is sure.
    """

    number: int
    state: State
    action: str
    object: str
    answers: Sequence[Mapping[str, Any]]
    confidence: float | None = None
    own: ImageLike | None = None
    before: ImageLike | None = None
    doubts: Sequence[str] = ()

    @property
    def sure(self) -> bool:
        return not self.doubts


@dataclass(frozen=True)
class PanelScale:
    """What turns the probability of a panel into a confidence: a logistic model, fitted by `vrf calibrate`.

    A temperature is fitted to finding the one right picture. Whether a picture shows the right action on the right
    object is another question, and chains are asked with pictures that were found. The defaults change nothing.

    Args:
        bias: Of all panels.
        slope: Of the log odds of the probability.
        depth: Of the logarithm of the panel's depth.
    """

    bias: float = 0.0
    slope: float = 1.0
    depth: float = 0.0

    @classmethod
    def of(cls, calibration: VRFCalibration) -> "PanelScale":
        """That of a calibration; one of an older version has none.

        Raises:
            ValueError: If it is damaged.
        """
        found = calibration.about.get(PANELS)
        if found is None:
            return cls()
        try:
            return cls(**{name: float(value) for name, value in found["weights"].items()})
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ValueError(
                f"expected the weights of panels in the calibration, found {error!r}; run `vrf calibrate` again"
            ) from error

    def probability(self, chances: np.ndarray, depths: np.ndarray) -> np.ndarray:
        """The confidence in panels, from the probabilities of what they show."""
        return 1 / (1 + np.exp(-panel_evidence(chances, depths) @ [self.bias, self.slope, self.depth]))


def panel_evidence(chances: np.ndarray, depths: np.ndarray) -> np.ndarray:
    """What the weights of a `PanelScale` are multiplied with, panels x 3."""
    inside = np.clip(chances, EXTREME, 1 - EXTREME)
    return np.column_stack([np.ones(len(inside)), np.log(inside / (1 - inside)), np.log(depths)])


@dataclass(frozen=True)
class OwnPictures:
    """The user's own pictures, by the number of the state that they show, or that they show before its action."""

    before: Mapping[int, ImageLike]
    after: Mapping[int, ImageLike]


def place_pictures(script: Script, pictures: Mapping[str, ImageLike]) -> OwnPictures:
    """Find the states that pictures belong to.

    A picture is named by the number of a panel, whose result it shows, or by a food, which it shows before anything
    was done to it.

    Raises:
        ValueError: If there is no such panel or food.
    """
    before: dict[int, ImageLike] = {}
    after: dict[int, ImageLike] = {}
    raw = {number: state for number, state in enumerate(script.states) if state.before is None}
    foods = {number: {script.nodes[node]["text"] for node in script.origins(state)} for number, state in raw.items()}
    for name, picture in pictures.items():
        if name.isdecimal() and 1 <= int(name) <= len(script.states):
            after[int(name) - 1] = picture
            continue
        found = [number for number, names in foods.items() if name in names]
        if not found:
            known = ", ".join(sorted({text for names in foods.values() for text in names if text}))
            raise ValueError(
                f"expected the number of a panel, 1 to {len(script.states)}, or a food that is used raw ({known}), "
                f"found {name!r}; name the picture by one of them"
            )
        before |= dict.fromkeys(found, picture)
    return OwnPictures(before, after)


def imagine_script(
    script: Script,
    model: VRFModel,
    processor: VRFProcessor,
    index: VRFIndex,
    pictures: Mapping[str, ImageLike] | None = None,
    beam: int = BEAM,
    k: int = SHOWN,
) -> list[Panel]:
    """Find a picture for every state of a recipe.

    Args:
        script: The recipe.
        model: A model whose queries have an action and an object.
        processor: Its processor.
        index: Its candidates.
        pictures: The user's own, named as `place_pictures` says. They replace imagined ones.
        beam: How many pictures of a state are carried along.
        k: How many candidates to keep for each panel.

    Raises:
        ValueError: If nothing is done to anything, or the model cannot be asked in words.
    """
    if not script.states:
        raise ValueError("expected at least one action that is done to something, found none")
    if not {"action", "object"} <= set(model.config.query_parts):
        raise ValueError(
            "expected a model whose queries have an action and an object, found one that uses "
            f"{', '.join(model.config.query_parts)}; train one on words and pictures"
        )
    own = place_pictures(script, pictures or {})
    queries = make_queries(script, model, Translator(index.glossary, processor), index.names)
    unknown = [unknown_words(query, processor) for query in queries]
    asked = _make_questions(script, queries, unknown, own, model, processor, index)
    vectors = torch.from_numpy(np.concatenate(list(index.vectors())))
    candidates = Candidates(vectors, lambda rows: index.features_of(rows, model, processor))
    imagined = imagine_states(model.eval(), asked, candidates, beam)
    return _make_panels(script, queries, unknown, own, imagined, processor, index, model, k)


def imagine_graph(
    graph: Mapping[str, Any], model: VRFModel, processor: VRFProcessor, index: VRFIndex, **options: Any
) -> list[Panel]:
    """The panels of what a parser's pipeline returned; the options are those of `imagine_script`."""
    return imagine_script(make_script(graph["nodes"], graph["edges"]), model, processor, index, **options)


def make_queries(
    script: Script, model: VRFModel, translator: Translator, names: Names = NO_NAMES
) -> list[dict[str, Any]]:
    """What is asked about each state; of its context, what the model reads."""
    roles = READ_ROLES[model.config.context]
    queries: list[dict[str, Any]] = []
    for state, context in zip(script.states, script.contexts, strict=True):
        query: dict[str, Any] = {
            "action": translator.words(script.words(state.action), names.actions),
            "object": translator.words(script.words(state.object), names.objects),
        }
        if roles:
            query["context"] = {
                role: [known for word in words for known in translator.words([word])]
                for role, words in context.items()
                if role in roles
            }
        queries.append(query)
    return queries


def word_tensors(queries: Sequence[Mapping[str, Any]], processor: VRFProcessor) -> dict[str, torch.Tensor]:
    """The words of queries as the model takes them."""
    contexts = [query["context"] for query in queries] if "context" in queries[0] else None
    with warnings.catch_warnings(action="ignore", category=UnknownWordsWarning):  # panels say it
        inputs = processor(
            [query["action"] for query in queries], [query["object"] for query in queries], contexts=contexts
        )
    return dict(inputs)


def unknown_words(query: Mapping[str, Any], processor: VRFProcessor) -> list[str]:
    """The words of an action and object, if the model knows none of one of them; a phrase is known by its head."""
    lost = []
    for part in ("action", "object"):
        missed = processor.missed_words([query[part]])
        if len(missed) == len(set(query[part])):
            lost.append("".join(query[part]))
    return lost


def _make_questions(
    script: Script,
    queries: Sequence[Mapping[str, Any]],
    unknown: Sequence[Sequence[str]],
    own: OwnPictures,
    model: VRFModel,
    processor: VRFProcessor,
    index: VRFIndex,
) -> Questions:
    temperatures = [
        [_temperature({**query, "image": image}, model, index) for image in (True, None)] for query in queries
    ]
    before, after = (_own_features(pictures, model, processor) for pictures in (own.before, own.after))
    return Questions(
        script.states,
        word_tensors(queries, processor),
        torch.tensor(temperatures),
        before,
        after,
        frozenset(number for number, words in enumerate(unknown) if words),
    )


def _temperature(query: Mapping[str, Any], model: VRFModel, index: VRFIndex) -> float:
    if index.calibration is not None:
        return index.calibration.scale(kind_of(query, model.config.read_parts)).temperature
    return model.config.expected_temperature


def _own_features(
    pictures: Mapping[int, ImageLike], model: VRFModel, processor: VRFProcessor
) -> dict[int, torch.Tensor]:
    if not pictures:
        return {}
    return dict(zip(pictures, image_features(model, processor, list(pictures.values())), strict=True))


def _make_panels(
    script: Script,
    queries: Sequence[Mapping[str, Any]],
    unknown: Sequence[Sequence[str]],
    own: OwnPictures,
    imagined: Imagined,
    processor: VRFProcessor,
    index: VRFIndex,
    model: VRFModel,
    k: int,
) -> list[Panel]:
    chances, rows = imagined.chances.topk(min(k, len(index)))
    shown = rows.unique().tolist()
    records = dict(zip(shown, index.read(shown), strict=True))
    parts = model.config.read_parts
    kinds = [
        kind_of({**query, "image": has or None}, parts)
        for query, has in zip(queries, imagined.has_picture.tolist(), strict=True)
    ]
    absent = index.absent(imagined.queries.numpy(), kinds, name_codes(queries, processor))
    names = index.rows.select_columns(["action", "objects"])[:]
    same = SameState(list(zip(names["action"], names["objects"], strict=True)))
    sums = [float(imagined.chances[number, same.rows(row)].sum()) for number, row in enumerate(rows[:, 0].tolist())]
    sure = None
    if index.calibration is not None:
        depths = np.array([state.depth for state in script.states])
        sure = PanelScale.of(index.calibration).probability(np.array(sums), depths)
    panels = []
    for number, state in enumerate(script.states):
        answers, doubts, confidence = [], [], None
        if number not in own.after and unknown[number]:
            doubts = [f"the model does not know {', '.join(unknown[number])}"]
        elif number not in own.after:
            pairs = zip(chances[number].tolist(), rows[number].tolist(), strict=True)
            answers = [{"probability": chance, **records[row]} for chance, row in pairs]
            confidence = None if sure is None else float(sure[number])
            doubts = _find_doubts(confidence, absent[number].get("absent"))
        texts = [str(script.nodes[node]["text"]) for node in (state.action, state.object)]
        pictures = own.after.get(number), own.before.get(number)
        panels.append(Panel(number + 1, state, *texts, answers, confidence, *pictures, doubts))
    return panels


class SameState:
    """Which candidates show the same action on the same object.

    Args:
        names: The action and the objects of each candidate.
    """

    def __init__(self, names: Sequence[tuple[Hashable, Collection[Hashable]]]) -> None:
        self.names = names
        self.by_name: dict[tuple[Hashable, Hashable], list[int]] = {}
        for row, (action, objects) in enumerate(names):
            for thing in objects:
                self.by_name.setdefault((action, thing), []).append(row)

    def rows(self, row: int) -> list[int]:
        """Those that show what this one shows, itself included."""
        action, objects = self.names[row]
        return sorted({row, *(other for thing in objects for other in self.by_name[action, thing])})


def _find_doubts(confidence: float | None, absent: float | None) -> list[str]:
    if confidence is None:
        return ["the model was not calibrated, so that it is unknown how sure it is"]
    doubts = []
    if confidence < ENOUGH:
        doubts.append(f"the right action on the right object with a probability of only {confidence:.0%}")
    if absent is not None and absent >= LIKELY_ABSENT:
        doubts.append(f"perhaps no picture here shows this (probability {absent:.0%})")
    return doubts


__all__ = [
    "OwnPictures",
    "Panel",
    "PanelScale",
    "SameState",
    "imagine_graph",
    "imagine_script",
    "make_queries",
    "panel_evidence",
    "place_pictures",
    "unknown_words",
    "word_tensors",
]
