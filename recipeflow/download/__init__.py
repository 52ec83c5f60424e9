"""The official site and its videos to a release folder."""
