"""Read, check and write a release folder, the one format everything here reads and writes.

::

    <release>/annotations.json   recipe_urls.txt (optional)   release.json (optional)
    <release>/recipes/<id>/{title.txt, ingredients.txt, instructions.txt, frames/frame_N.jpg}   (optional)

The official annotations alone are a valid release: text and images are then ``None``, never invented.
"""

from recipeflow.release.info import ReleaseInfo, read_info, read_scheme
from recipeflow.release.reading import CheckedRecipe, check_release, read_release, release_fingerprint, scan_release
from recipeflow.release.recipe import Entity, Flow, Line, Recipe, StateChange, Word
from recipeflow.release.recipe_files import read_frames
from recipeflow.release.scheme import Scheme
from recipeflow.release.scores import Scores, read_scores
from recipeflow.release.writing import ReleaseWriter, write_release

__all__ = [
    "CheckedRecipe",
    "Entity",
    "Flow",
    "Line",
    "Recipe",
    "ReleaseInfo",
    "ReleaseWriter",
    "Scheme",
    "Scores",
    "StateChange",
    "Word",
    "check_release",
    "read_frames",
    "read_info",
    "read_release",
    "read_scheme",
    "read_scores",
    "release_fingerprint",
    "scan_release",
    "write_release",
]
