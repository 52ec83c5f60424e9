"""A simulated kitchen, so that everything works without a download.

It cooks: a recipe is planned (``planner``) as actions on objects with real state (``world``), written down as
segmented, tagged and linked text (``writer``), and filmed from above (``film``, ``camera``).
"""

from recipeflow.kitchen.cooking import cook_recipe, cook_release

__all__ = ["cook_recipe", "cook_release"]
