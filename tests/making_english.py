"""A small English recipe with tags and labels beyond the paper's, without an ingredient list."""

from recipeflow.corpora.conllu import SCHEME
from recipeflow.release import ReleaseInfo
from recipeflow.release.recipe import Flow, Line, Recipe, Word

ENGLISH_INFO = ReleaseInfo(source="hand-made", scheme=SCHEME)


def _line(text: str, *nes: str) -> Line:
    words, start = [], 0
    for token, ne in zip(text.replace(".", " .").split(), nes, strict=True):
        start = text.index(token, start)
        words.append(Word(start, start + len(token), ne))
        start += len(token)
    return Line(tuple(words), text)


SOUP = Recipe(
    "soup",
    (),
    (
        _line("Chop 2 large tomatoes.", "Ac-B", "Q-B", "Sf-B", "F-B", "O"),
        _line("Turn the hob off when it beeps.", "Ac-B", "O", "T-B", "Ac2-B", "O", "O", "At-B", "O"),
    ),
    (
        Flow("1-0-1", "1-0-3", "other-mod"),
        Flow("1-0-3", "1-0-0", "Targ"),
        Flow("1-0-0", "1-1-0", "s"),
        Flow("1-1-0", "1-1-3", "Agent"),
        Flow("1-1-2", "1-1-0", "Targ"),
        Flow("1-1-6", "1-1-0", "v"),
    ),
    title="Tomato soup",
)
