"""To the Hub and back: ``push_dataset``, ``push_model``, ``pull_dataset``, ``pull_model``."""

from recipeflow.hub.repositories import check_push, pull_dataset, pull_model, push_dataset, push_model

__all__ = ["check_push", "pull_dataset", "pull_model", "push_dataset", "push_model"]
