"""The recipe flow graph (r-FG) and what is derived from it: objects, programs, statistics, agreement, drawings."""

from recipeflow.graph.flow_graph import ImagePair, build_graph, pair_objects, trace_objects

__all__ = ["ImagePair", "build_graph", "pair_objects", "trace_objects"]
