"""A recipe as a storyboard: for every action and object, the picture that a model imagines of the result.

::

    from recipeflow.search import Retriever
    from recipeflow.storyboard import imagine

    board = imagine("きゅうりを薄切りにする。", Retriever.from_pretrained("run/model"), parser="parser/model")
    for panel in board.panels:
        print(panel.number, panel.action, panel.object, panel.confidence, panel.doubts)
    board.save("board")
"""

from recipeflow.storyboard.board import Storyboard
from recipeflow.storyboard.imagining import imagine

__all__ = ["Storyboard", "imagine"]
