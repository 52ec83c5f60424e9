"""Baselines on task sets: shortcuts that see only a part of a question, and this project's own models."""
