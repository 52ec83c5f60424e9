"""``python -m recipeflow.cli``, for launchers that want a module."""

from recipeflow.cli import main

main()
