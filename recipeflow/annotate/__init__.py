"""The annotation interface: tags, flows and frames by mouse, without ever losing work.

From the inside out: ``document`` (one recipe in one layer), ``operations`` (everything that a person can do to it),
``store`` (the log of what they did), ``workspace`` (a release, its frames, its layers), ``server`` (the pages).

The words for what is annotated, here and in the pages: an *entity* is a run of words with a tag (the paper's r-NE), a
*flow* connects two entities (an edge of the paper's r-FG), and a *pair* is the frames before and after an action,
for one of its objects (a state change of the release). Saved data keep the names they were first written with:
``shots`` for pairs, ``image`` for the kind of a suggested pair, and ``objects`` for the pairs that pages get.
"""
