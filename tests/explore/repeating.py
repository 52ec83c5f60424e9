"""A source of any number of recipes: a few of them again and again, under new ids, made when they are asked for."""

from dataclasses import replace
from pathlib import Path

from recipeflow.release import CheckedRecipe, ReleaseInfo


class RepeatedSource:
    """``count`` recipes out of the few of another source; pictures are those of the originals."""

    folder = Path("repeated")

    def __init__(self, recipes, count, info=None, picture=lambda recipe, number: None):
        self.originals, self.count = list(recipes), count
        self.info = info or ReleaseInfo()
        self.picture_of = picture

    def recipes(self):
        for number in range(self.count):
            recipe = self.originals[number % len(self.originals)]
            title = recipe.title and f"{recipe.title} {number}"
            yield CheckedRecipe(f"repeat-{number:05d}", replace(recipe, id=f"repeat-{number:05d}", title=title))

    def _original(self, recipe):
        return self.originals[int(recipe.id.rpartition("-")[2]) % len(self.originals)]

    def has_picture(self, recipe, number):
        return self.picture(recipe, number) is not None

    def picture(self, recipe, number):
        return self.picture_of(self._original(recipe), number)
