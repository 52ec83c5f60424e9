"""How lmms-eval asks and scores the Visual Recipe Flow tasks; it needs nothing of the recipeflow package."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from itertools import pairwise
from typing import Any

COLUMNS = ("before", "after", "image", "choices", "pictures")
"""The columns with pictures, in the order of ``<image 1>``, ``<image 2>`` … in the question."""

Doc = dict[str, Any]


def doc_to_visual(doc: Doc) -> list[Any]:
    """All pictures of a question, in order."""
    cells = [cell for name in COLUMNS for cell in _cells(doc.get(name))]
    return [cell.convert("RGB") for cell in cells if hasattr(cell, "convert")]


def _cells(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def doc_to_text(doc: Doc, lmms_eval_specific_kwargs: dict[str, Any] | None = None) -> str:
    return doc["question"]


def doc_to_target(doc: Doc) -> str:
    return doc["answer"] if isinstance(doc["answer"], str) else json.dumps(doc["answer"], ensure_ascii=False)


def _letters(text: str, known: str) -> list[str]:
    """The letters that stand alone, or several together such as BACD."""
    together = re.search(rf"\b[{known}]{{2,}}\b", text)
    return list(together[0]) if together else re.findall(rf"\b([{known}])\b", text)


def process_choice(doc: Doc, results: list[str]) -> dict[str, float]:
    found = _letters(results[0], "ABCDE")
    return {"right": float(bool(found) and found[-1] == doc["answer"])}


def process_joint(doc: Doc, results: list[str]) -> dict[str, Any]:
    return {"right_in_all_ways": {"group": doc["group"], "right": process_choice(doc, results)["right"]}}


def right_in_all_ways(items: list[dict[str, Any]]) -> float:
    """The share of changes that are right in all three ways."""
    groups = defaultdict(list)
    for item in items:
        groups[item["group"]].append(item["right"])
    return sum(min(rights) for rights in groups.values()) / len(groups)


def process_order(doc: Doc, results: list[str]) -> dict[str, float]:
    return {"right": float(_letters(results[0], "ABCDEF") == list(doc["answer"]))}


def _json(text: str, pattern: str) -> Any:
    found = re.findall(pattern, text, re.DOTALL)
    try:
        return json.loads(found[-1]) if found else None
    except ValueError:
        return None


def process_path(doc: Doc, results: list[str]) -> dict[str, float]:
    """Right if yes or no is, and the chain leads from one action to the other."""
    found = _json(results[0], r"\{.*?\}")
    if not isinstance(found, dict) or found.get("answer") != doc["answer"]:
        return {"right": 0.0}
    path, edges = found.get("path") or [], {(edge["start"], edge["end"]) for edge in doc["needs"]}
    ends = [doc["first"], doc["second"]] == [*path[:1], *path[-1:]]
    chain = ends and all(pair in edges for pair in pairwise(path))
    return {"right": float(doc["answer"] == "no" or chain)}


def process_set(doc: Doc, results: list[str]) -> dict[str, float]:
    """The share of the offered ingredients that are judged right."""
    found = _json(results[0], r"\[.*?\]")
    if not isinstance(found, list):
        return {"right": 0.0}
    judged = [(name in found) == (name in doc["answer"]) for name in doc["choices"]]
    return {"right": sum(judged) / len(judged)}


def process_text(doc: Doc, results: list[str]) -> dict[str, Any]:
    return {"chrf": {"answer": results[0].strip(), "reference": doc["answer"]}}


def chrf(items: list[dict[str, str]]) -> float:
    """chrF of all texts, by sacrebleu."""
    from sacrebleu.metrics import CHRF

    return CHRF().corpus_score([item["answer"] for item in items], [[item["reference"] for item in items]]).score
