"""The annotation interface: tags, flows and frames by mouse, and nothing is ever lost.

From the inside out: ``document`` (one recipe in one layer), ``operations`` (all that a person can do to it),
``store`` (the log of what they did), ``workspace`` (a release, its frames, its layers), ``server`` (the pages).
"""
