"""Text to tags to flows: training, measuring and using the model that reads a recipe."""
