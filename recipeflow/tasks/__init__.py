"""Task sets: the paper's applications, reasoning about food states and writing instructions, as questions.

Making and scoring questions works without PyTorch; ``baselines/models.py`` and ``baselines/writer.py`` learn.
"""
