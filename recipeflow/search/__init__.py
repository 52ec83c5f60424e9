"""Ask a trained model what an object will look like after an action, and how confident it is."""

from recipeflow.search.retriever import Retriever

__all__ = ["Retriever"]
