"""Languages: characters and word segmentation."""
