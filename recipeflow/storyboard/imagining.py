"""Read a recipe and imagine every state of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from flows_vrf import Script
from imagination_vrf import BEAM
from processing_rfg import RecipeLike
from processing_vrf import ImageLike
from recipeflow.errors import StoryboardError
from recipeflow.release.recipe import Flow, Recipe
from recipeflow.search.retriever import Retriever
from recipeflow.storyboard.board import Storyboard
from recipeflow.storyboard.scripts import script_of
from recipeflow.storyboard.sources import NEEDS_PARSER, Parser, ReadRecipe, open_parser, read_recipe_text
from storyboard_vrf import imagine_script


def imagine(
    recipe: RecipeLike | Recipe | ReadRecipe,
    retriever: Retriever,
    parser: str | Path | Parser | None = None,
    *,
    pictures: Mapping[str, ImageLike] | None = None,
    beam: int = BEAM,
) -> Storyboard:
    """Imagine a recipe, from its first action to the finished dish.

    The picture found for a state is the picture from before the next action on it. An action with a destination
    continues what is in that destination; the graph says which.

    Args:
        recipe: Plain text, as one string or as ``ingredients`` and ``instructions``; or an annotated recipe, such as
            one of ``read_release``.
        retriever: The model with its candidates.
        parser: Reads plain text: a folder, a name on the Hub, or a loaded model with its processor.
        pictures: Your own, by the number of the panel that they show, or by the food that they show raw. They replace
            imagined ones.
        beam: How many pictures of a state are carried along.

    Raises:
        StoryboardError: If there is no text, no parser for it, or no action.
    """
    read = _read(recipe, open_parser(parser))
    script = script_of(read.recipe, read.scores)
    if not script.states:
        raise StoryboardError(_explain_nothing(read))
    try:
        panels = imagine_script(script, retriever.model, retriever.processor, retriever.index, pictures, beam)
    except (ValueError, OSError, TypeError) as error:
        raise StoryboardError(str(error)) from error
    kept = replace(read.recipe, flows=tuple(Flow(*flow) for flow in script.flows))
    notes = _find_notes(script, read)
    if retriever.model.config.ignores_image:
        notes.append("the model ignores pictures: every panel is asked in words alone")
    return Storyboard(kept, script, panels, notes, retriever.glossary | read.glossary)


def _read(recipe: RecipeLike | Recipe | ReadRecipe, parser: Parser | None) -> ReadRecipe:
    if isinstance(recipe, ReadRecipe):
        return recipe
    if isinstance(recipe, Recipe):
        return ReadRecipe(recipe)
    if parser is None:
        raise StoryboardError(NEEDS_PARSER.format(what="plain text"))
    return read_recipe_text(recipe, parser)


def _explain_nothing(read: ReadRecipe) -> str:
    actions = [action.text for action in read.recipe.actions]
    found = f"actions without an object ({', '.join(map(str, actions))})" if actions else "no action"
    hint = (
        "write sentences that say what is done to what, or use a parser that was trained on such recipes"
        if read.is_parsed
        else "annotate its flows first"
    )
    return f"expected at least one action that is done to something in recipe {read.recipe.id}, found {found}; {hint}"


def _find_notes(script: Script, read: ReadRecipe) -> list[str]:
    """What a reader should know before believing the pictures."""
    notes = ["tags and flows were read by a parser, not annotated"] if read.is_parsed else []
    for start, end, label in script.removed:
        words = [script.nodes[node]["text"] for node in (start, end)]
        notes.append(f"the flow {words[0]} → {words[1]} ({label}) was removed, because it closed a cycle")
    if lost := [action.text for action in read.recipe.actions if action.id not in {s.action for s in script.states}]:
        notes.append(f"not shown, because nothing says what they are done to: {', '.join(map(str, lost))}")
    if unlisted := _unlisted(script, read.recipe):
        notes.append(f"used, but not in the list of ingredients: {', '.join(unlisted)}")
    return notes


def _unlisted(script: Script, recipe: Recipe) -> list[str]:
    """Foods that come from nowhere, in a recipe that has a list of ingredients."""
    if not recipe.ingredients:
        return []
    raw = [state for state in script.states if state.before is None and script.nodes[state.object]["tag"] == "F"]
    lost = [state for state in raw if all(recipe.entities[node].section for node in script.origins(state))]
    made = {end for _, end, label in script.flows if label != "other-mod"}
    return list(dict.fromkeys(str(script.nodes[s.object]["text"]) for s in lost if s.object not in made))
