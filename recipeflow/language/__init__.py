"""Languages: characters, and lines into words."""
