"""The eight tasks: their columns, what they need, and what they ask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from datasets import Features, Image, List, Value

TEXT, NUMBER, PICTURE = Value("string"), Value("int32"), Image()
MANIFEST = "vrf_tasks.json"
"""The manifest of a folder of task sets; only ``vrf tasks`` writes it, so a folder that has it may be replaced."""

COMMON = {"id": TEXT, "recipe_id": TEXT, "question": TEXT, "depth": NUMBER}
LABELLED = {"kinds": List(TEXT), "answer": TEXT}

CHOICE, ORDER, JOINT, PATH, SET, WRITING = "choice", "order", "joint", "path", "set", "text"


@dataclass(frozen=True)
class TaskType:
    """A task: how it is answered, what it asks, what it needs, and its columns.

    Attributes:
        answered_by: The form of an answer, for scoring.
        asks: One sentence for people.
        needs: Of a dataset.
        columns: Beside the common ones.
        picture_columns: Those with pictures, in the order of ``<image 1>``, ``<image 2>`` … in the question.
    """

    answered_by: str
    asks: str
    needs: str
    columns: dict[str, Any]
    picture_columns: tuple[str, ...] = ()

    @property
    def features(self) -> Features:
        return Features({**COMMON, **self.columns})


TASKS = {
    "state_choice": TaskType(
        CHOICE,
        "Recipe so far, action, object and the picture before: which of five pictures is the one after?",
        "text and image pairs",
        {"action": TEXT, "object": TEXT, "before": PICTURE, "choices": List(PICTURE), **LABELLED},
        ("before", "choices"),
    ),
    "action_choice": TaskType(
        CHOICE,
        "Pictures before and after, and the object: which of five actions happened?",
        "text and image pairs",
        {"object": TEXT, "before": PICTURE, "after": PICTURE, "choices": List(TEXT), **LABELLED},
        ("before", "after"),
    ),
    "state_order": TaskType(
        ORDER,
        "Four to six pictures from one ingredient's way to the dish, shuffled: what is their order?",
        "text, image pairs and an ingredient with four different pictures",
        {"ingredient": TEXT, "pictures": List(PICTURE), "answer": List(TEXT)},
        ("pictures",),
    ),
    "same_change": TaskType(
        JOINT,
        "One change asked in three ways: which state, which picture, which action? Right only if all three are.",
        "text and image pairs",
        {
            "group": TEXT,
            "way": TEXT,
            "before": PICTURE,
            "after": PICTURE,
            "pictures": List(PICTURE),
            "choices": List(TEXT),
            **LABELLED,
        },
        ("before", "after", "pictures"),
    ),
    "dependency": TaskType(
        PATH,
        "Must step A come before step B, and through which steps?",
        "text and flows",
        {
            "steps": List(TEXT),
            "first": NUMBER,
            "second": NUMBER,
            "needs": List({"start": NUMBER, "end": NUMBER}),
            "answer": TEXT,
            "path": List(NUMBER),
        },
    ),
    "ingredient_trace": TaskType(
        SET,
        "Which of these ingredients are in this object now?",
        "text and flows",
        {"step": NUMBER, "image": PICTURE, "choices": List(TEXT), "answer": List(TEXT)},
        ("image",),
    ),
    "missing_step": TaskType(
        CHOICE,
        "One instruction is missing: which of five belongs there?",
        "text, flows and five recipes in a split",
        {"place": NUMBER, "choices": List(TEXT), **LABELLED},
    ),
    "instruction_writing": TaskType(
        WRITING,
        "Pairs of pictures in order, with or without the flow graph: write the instructions.",
        "text and image pairs",
        {
            "title": TEXT,
            "with_graph": Value("bool"),
            "pictures": List(PICTURE),
            "pairs": List({"before": NUMBER, "after": NUMBER, "instruction": NUMBER}),
            "graph": TEXT,
            "ingredients": List(TEXT),
            "steps": List({"action": TEXT, "instruction": NUMBER, "needs": List(NUMBER)}),
            "answer": TEXT,
        },
        ("pictures",),
    ),
}
