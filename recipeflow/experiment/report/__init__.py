"""One page for an experiment."""
