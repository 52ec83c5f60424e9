"""The sections of a report that need the dataset: queries with pictures, accuracy by word, a map of the space.

Each returns what the template shows, or ``None`` with a line in ``missing`` that says why there is nothing to show.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from recipeflow.evaluation.accuracy import Share, share_by_name
from recipeflow.experiment.plots import plot_shares
from recipeflow.experiment.report.data import DatasetRows, ExperimentData, RowResult
from recipeflow.experiment.report.embedding_map import HEIGHT, OTHER, PICTURE, WIDTH, Mark, draw_map, group_styles
from recipeflow.experiment.report.queries import KINDS, Query, pick_queries
from recipeflow.images import thumbnail

QUERIES = 4
"""Queries of each kind shown per row of the table."""

LARGE, SMALL = 120, 72
"""Sides of pictures in pixels, larger than on the page, for high-resolution screens and print."""

K = 5
FEWEST, MOST = 5, 30
"""The fewest queries of a group in a plot, and the most groups in a plot."""

FOOD, ACTION = "F", "Ac"


def queries_section(data: ExperimentData, dataset: DatasetRows, missing: list[str]) -> list[dict[str, Any]] | None:
    """For each row that has a model, its best, typical and worst queries."""
    rows = _with_answers(data, missing)
    picked = {row.title: pick_queries(row, dataset, QUERIES) for row in rows}
    queries = [query for kinds in picked.values() for queries in kinds.values() for query in queries]
    places = {place for query in queries for place in _places(query)}
    images = dataset.images(places)
    if queries and not images:
        missing.append("The dataset has no images: queries are shown as words, and the map has no pictures.")
    addresses = {place: thumbnail(image, LARGE) for place, image in images.items()}
    english = dataset.tables.info.glossary
    sections = [
        {
            "title": row.title,
            "inputs": row.about["inputs"],
            "kinds": [
                {"heading": KINDS[kind], "queries": [_show(query, dataset, addresses, english) for query in queries]}
                for kind, queries in picked[row.title].items()
            ],
        }
        for row in reversed(rows)
    ]
    return sections or None


def _with_answers(data: ExperimentData, missing: list[str]) -> list[RowResult]:
    rows = [row for row in data.trained if row.has_answers]
    for row in data.trained:
        without = [str(job.fold) for job in row.jobs if job.answers is None]
        if without:
            missing.append(
                f"The answers to the queries of “{row.title}” were not saved in fold {', '.join(without)}, which an "
                f"earlier version ran: delete jobs/{row.about['name']} and run the experiment again to see them."
            )
    return rows


def _places(query: Query) -> list[tuple[int, str]]:
    return [(query.row, "pre"), (query.target, "post"), *((row, "post") for row, _ in query.found)]


def _show(
    query: Query, dataset: DatasetRows, addresses: Mapping[tuple[int, str], str | None], english: Mapping[str, str]
) -> dict[str, Any]:
    words = _words(dataset[query.row], english)
    return {
        "words": words,
        "rank": f"{query.rank:g}",
        "candidates": query.candidates,
        "fold": query.fold,
        "before": addresses.get((query.row, "pre")),
        "right": {"image": addresses.get((query.target, "post")), "score": query.target_score, "words": words},
        "found": [
            {
                "image": addresses.get((row, "post")),
                "score": score,
                "words": _words(dataset[row], english),
                "is_right": row == query.target,
            }
            for row, score in query.found
        ],
    }


def _words(row: Mapping[str, Any], english: Mapping[str, str]) -> dict[str, Any]:
    """The words of a row of the dataset; ``None`` if the release has no text."""
    found = {
        name: row[name] and {"text": row[name], "english": english.get(row[name])}
        for name in ("action", "object", "title")
    }
    return found | {"is_result": row["object_tag"] == ACTION, "recipe": row["recipe_id"]}


def accuracy_section(data: ExperimentData, dataset: DatasetRows, missing: list[str]) -> list[dict[str, Any]] | None:
    """R@5 by verb and by ingredient, for each row that has a model; the one with the most inputs is drawn."""
    if not data.trained:
        return None
    if all(action is None for action in dataset.columns["action"]):
        missing.append("The dataset has no text, so there is no accuracy by verb or by ingredient.")
        return None
    foods = [
        name if tag == FOOD else None
        for name, tag in zip(dataset.columns["object"], dataset.columns["object_tag"], strict=True)
    ]
    english = dataset.tables.info.glossary
    about_foods = "Queries about the result of an earlier action are not included: they name no ingredient."
    return [
        _accuracy("verb", dataset.columns["action"], data.trained, english, ""),
        _accuracy("ingredient", foods, data.trained, english, about_foods),
    ]


def _accuracy(
    kind: str, names: list[str | None], rows: list[RowResult], english: Mapping[str, str], note: str
) -> dict[str, Any]:
    shares = {row.title: {share.name: share for share in _shares(row, names)} for row in rows}
    fullest = rows[-1].title
    groups = list(shares[fullest].values())
    drawn = [share for share in groups if share.queries >= FEWEST][:MOST]
    labels = {name: f"{name} {english[name]}" if name in english else name for name in shares[fullest]}
    figure = plot_shares(drawn, labels, f"{fullest}: R@{K} by {kind}") if drawn else None
    few = [share for share in groups if share.queries < FEWEST]
    return {
        "kind": kind,
        "row": fullest,
        "figure": figure,
        "alt": f"R@{K} of {fullest} by {kind}, with 95 % intervals; the table below has the same figures.",
        "drawn": len(drawn),
        "groups": len(groups),
        "few": {"groups": len(few), "queries": sum(share.queries for share in few)},
        "fewest": FEWEST,
        "note": note,
        "titles": list(shares),
        "table": [
            {
                "name": share.name,
                "english": english.get(share.name),
                "cells": [by_name.get(share.name) for by_name in shares.values()],
            }
            for share in groups
        ],
    }


def _shares(row: RowResult, names: list[str | None]) -> list[Share]:
    numbers = np.concatenate([job.rows for job in row.jobs])
    return share_by_name((names[number] for number in numbers), np.concatenate([job.ranks for job in row.jobs]), K)


def map_section(data: ExperimentData, dataset: DatasetRows, missing: list[str]) -> dict[str, Any] | None:
    """Both sides of the embedding space of one model: that with the most inputs, of the first fold."""
    rows = [row for row in data.trained if row.has_answers]
    if not rows:
        return None
    row, job = rows[-1], rows[-1].jobs[0]
    answers = job.answers
    assert answers is not None  # these rows have answers
    drawing = draw_map(
        answers.image_rows.tolist(), answers.image_embeds, answers.query_rows.tolist(), answers.query_embeds
    )
    images = dataset.images((mark.row, "post") for mark in drawing.images if mark.has_picture)
    addresses = {number: thumbnail(image, SMALL) for (number, _), image in images.items()}
    names = {mark.row: dataset.columns["action"][mark.row] for mark in (*drawing.images, *drawing.queries)}
    styles = group_styles([names[mark.row] for mark in drawing.images])
    english = dataset.tables.info.glossary

    def show(mark: Mark) -> dict[str, Any]:
        colour, shape = styles.get(names[mark.row], OTHER)
        words = _words(dataset[mark.row], english)
        label = " ".join(words[name]["text"] for name in ("action", "object") if words[name]) or words["recipe"]
        place = {"x": mark.x, "y": mark.y, "colour": colour, "shape": shape, "label": label}
        return place | {"image": addresses.get(mark.row) if mark.has_picture else None}

    return {
        "title": row.title,
        "fold": job.fold,
        "kept": 100 * drawing.kept,
        "outside": drawing.outside,
        "images": [show(mark) for mark in drawing.images],
        "queries": [show(mark) for mark in drawing.queries],
        "groups": [(name, english.get(name), *style) for name, style in styles.items()],
        "width": WIDTH,
        "height": HEIGHT,
        "picture": PICTURE,
    }
