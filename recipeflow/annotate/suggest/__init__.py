"""Suggestions computed from finished work: tags, flows and frames, each with a confidence. Nothing here needs PyTorch,
except ``parsing`` and ``ranking``, which are imported only where a model is given."""
