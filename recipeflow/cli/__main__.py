"""``python -m recipeflow.cli``, for launchers that need a module."""

from recipeflow.cli import main

main()
