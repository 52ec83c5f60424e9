"""Ask a trained model what an object will look like after an action, and how sure it is."""

from recipeflow.search.retriever import Retriever

__all__ = ["Retriever"]
