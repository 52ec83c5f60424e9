"""Ranks, figures, intervals, and which folds a model has seen."""
