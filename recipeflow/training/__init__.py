"""Settings, the loop, checkpoints, and one run from dataset to model."""
