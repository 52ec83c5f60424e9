"""Which frames of a simulated recipe have a caption, which names the action in words.

No table records it, but a recipe's id names its kitchen, and the same kitchen makes the same film again.
"""

from __future__ import annotations

import re

from recipeflow.kitchen.cooking import devise_recipe
from recipeflow.release.recipe import Recipe

RECIPE_ID = re.compile(r"kitchen-(?:(?P<pantry>first|second)-)?(?P<seed>-?\d+)-(?P<index>\d{4,})")


def captions_of(recipe: Recipe) -> dict[int, str] | None:
    """The captions of a recipe's used frames, by number; ``None`` if this kitchen does not make this recipe."""
    found = RECIPE_ID.fullmatch(recipe.id)
    if found is None:
        return None
    devised = devise_recipe(int(found["seed"]), int(found["index"]), found["pantry"] or "all")
    if devised.recipe.title != recipe.title:
        return None
    captions = {number: devised.film.caption_at(number) for number in recipe.used_frames}
    return {number: caption for number, caption in captions.items() if caption is not None}
