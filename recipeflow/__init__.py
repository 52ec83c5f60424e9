"""Visual Recipe Flow: recipes, their flow graphs and what cooking does to food, as data and models."""

__version__ = "0.1.0"
