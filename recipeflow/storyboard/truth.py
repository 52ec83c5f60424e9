"""What really happens: the simulated kitchen executes a recipe's program, and draws every state on the way."""

from __future__ import annotations

from random import Random

from PIL import Image

from flows_vrf import Script
from recipeflow.errors import ExecutionError, StoryboardError
from recipeflow.graph.program import make_program
from recipeflow.kitchen.camera import open_camera
from recipeflow.kitchen.execution import execute
from recipeflow.kitchen.film import Director
from recipeflow.kitchen.world import Scene
from recipeflow.release.recipe import Recipe

LOOK = 0
"""The kitchen in which pictures are taken: any one will do."""


def cook_states(recipe: Recipe, script: Script) -> dict[int, Image.Image]:
    """A picture of every state, by the number of its panel.

    Raises:
        StoryboardError: If the kitchen cannot execute the recipe.
    """
    camera = open_camera(LOOK)
    scenes = find_scenes(recipe, script)
    return {number: camera.shoot(scene, number) for number, scene in scenes.items()}


def find_scenes(recipe: Recipe, script: Script) -> dict[int, Scene]:
    """What is to be seen in every state, by the number of its panel.

    An action on several objects has a scene after each of them. Where the kitchen counts its objects in another way
    than the flow graph, all of them show the scene after the whole action.
    """
    program = make_program(recipe)
    try:
        run = execute(program)
    except ExecutionError as error:
        raise StoryboardError(f"the kitchen cannot cook this recipe: {error}") from error
    director = Director(run.plan, Random(LOOK))
    steps = [step for steps in run.plan.instructions for step in steps]
    found: dict[int, Scene] = {}
    for action, step in zip((mention.id for mention in program.steps.values()), steps, strict=True):
        numbers = [number for number, state in enumerate(script.states, start=1) if state.action == action]
        after = [scene for _, scene in director.scenes(step, step.objects)]
        shown = after if len(after) == len(numbers) else [after[-1]] * len(numbers)
        found |= dict(zip(numbers, shown, strict=True))
    return found
