"""Your own recipes: plain text and films to a release folder."""
