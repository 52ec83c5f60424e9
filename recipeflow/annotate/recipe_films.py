"""Which frames a recipe has: those of the release, or those of a film that was uploaded or sampled here."""

from __future__ import annotations

from pathlib import Path

from recipeflow.annotate.films import Films, films_folder
from recipeflow.annotate.store import Store
from recipeflow.download.frames import VIDEO
from recipeflow.release.recipe_files import recipe_folder
from recipeflow.web.pictures import Film, read_film


class RecipeFilms:
    """The frames of all recipes.

    Args:
        store: The recipes.
        release: The folder that frames and videos are read from, if there is one.
        films: What was uploaded or sampled here.
    """

    def __init__(self, store: Store, release: Path | None, films: Films) -> None:
        self.store = store
        self.release = release
        self.films = films

    def film(self, recipe_id: str) -> Film | None:
        """The release's own frames of a recipe, else those that were sampled here."""
        name = self.store.folder_of(recipe_id)
        own = None if self.release is None else read_film(recipe_folder(self.release, name) / "frames")
        return own or read_film(self.films.frames(name))

    def is_fixed(self, recipe_id: str) -> bool:
        """Whether the film of a recipe must stay: it is the release's, or its frames are annotated."""
        if (film := self.film(recipe_id)) is None:
            return False
        if film.folder != self.films.frames(self.store.folder_of(recipe_id)):
            return True
        documents = (self.store.history(recipe_id, layer).document for layer in self.store.layers())
        return any(document.recipe.used_frames for document in documents)

    def sample_missing(self) -> list[str]:
        """Sample, in the background, every video whose frames are missing; return these recipes."""
        folders = [*filter(None, [self.release]), films_folder(self.store.path)]
        found = []
        for recipe_id in self.store.recipe_ids():
            name = self.store.folder_of(recipe_id)
            home = next((folder for folder in folders if (recipe_folder(folder, name) / VIDEO).is_file()), None)
            if home is not None and self.film(recipe_id) is None:
                self.films.sample(home, name)
                found.append(recipe_id)
        return found
