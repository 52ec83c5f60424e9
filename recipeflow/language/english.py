"""English: words with spaces between them, kept as they are."""

from recipeflow.language.spaced import join, normalise, segment

__all__ = ["join", "normalise", "segment"]
