"""Random valid releases, of the paper's scheme and of a spaced language with further tags and labels."""

from hypothesis import strategies as st

from recipeflow.corpora.conllu import SCHEME as ENGLISH
from recipeflow.release import Scheme
from recipeflow.release.recipe import Flow, Line, Recipe, StateChange, Word
from recipeflow.release.scheme import PAPER

SCHEMES = st.sampled_from([PAPER, ENGLISH, Scheme("fr", {"Ac": "Action", "A": "x"}, {"t": "clash", "Targ": "Target"})])
WORDS = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zs", "Zl", "Zp"]), min_size=1, max_size=4) | (
    st.sampled_from([".", ",", "(", ")", "#", "_", "'s", "O", "-", "切", "[(1,", "root", "0", '"', "\\", "=", "1/2"])
)


@st.composite
def lines(draw, scheme: Scheme) -> Line:
    text, words, tag = "", [], None
    for number, token in enumerate(draw(st.lists(WORDS, min_size=1, max_size=6))):
        if number and scheme.spaced:
            text += draw(st.sampled_from([" ", "", "  ", "\u3000"]))
        continues = tag is not None and draw(st.booleans())
        tag = tag if continues else draw(st.none() | st.sampled_from(list(scheme.tags)))
        ne = "O" if tag is None else f"{tag}-{'I' if continues else 'B'}"
        words.append(Word(len(text), len(text) + len(token), ne))
        text += token
    return Line(tuple(words), text)


@st.composite
def recipes(draw, scheme: Scheme, recipe_id: str = "r1") -> Recipe:
    ingredients = tuple(draw(st.lists(lines(scheme), max_size=2)))
    instructions = tuple(draw(st.lists(lines(scheme), min_size=1, max_size=3)))
    bare = Recipe(recipe_id, ingredients, instructions)
    order = draw(st.permutations(list(bare.entities)))
    pairs = [(start, end) for number, start in enumerate(order) for end in order[number + 1 :]]
    labels = st.sampled_from(list(scheme.labels))
    edges = draw(st.lists(st.tuples(st.sampled_from(pairs), labels), unique=True, max_size=12)) if pairs else []
    frames = st.none() | st.integers(1, 900)
    actions = [action.id for action in bare.actions]
    changes = draw(st.lists(st.tuples(st.sampled_from(actions), frames, frames), max_size=4)) if actions else []
    return Recipe(
        recipe_id,
        ingredients,
        instructions,
        tuple(Flow(*pair, label) for pair, label in edges),
        tuple(StateChange(*change) for change in changes),
        title=draw(st.sampled_from(["", "Soup", "スープ # 1"])),
        url=draw(st.sampled_from([None, f"https://example.org/{recipe_id}"])),
    )


@st.composite
def releases(draw) -> tuple[Scheme, list[Recipe]]:
    scheme = draw(SCHEMES)
    made = [draw(recipes(scheme, recipe_id)) for recipe_id in ("b-2", "a 1")]
    if any(recipe.url is None for recipe in made):
        made = [Recipe(**{**vars_of(recipe), "url": None}) for recipe in made]
    return scheme, made


def vars_of(recipe: Recipe) -> dict:
    return {name: getattr(recipe, name) for name in recipe.__dataclass_fields__}
