"""Rows of a dataset to batches of recipes."""
