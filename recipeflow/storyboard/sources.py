"""Where a storyboard's recipe comes from: plain text, a page on the web, or a recipe of a release."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from modeling_rfg import RFGModel
from parsing_rfg import parse_recipes
from processing_rfg import RecipeLike, RFGProcessor
from recipeflow.download.downloading import PAGE_LIMIT
from recipeflow.download.fetch import Fetcher, Manners
from recipeflow.download.pages import Page, decode_page, read_page
from recipeflow.download.text import ingredient_line, step_label
from recipeflow.errors import (
    FetchError,
    ForeignHostError,
    PageError,
    ReleaseProblem,
    StoryboardError,
    TooLargeError,
    UsageError,
)
from recipeflow.parser.examples import check_language, read_words
from recipeflow.parser.parse import Unread, annotate_recipe, read_plain
from recipeflow.parser.runs import load_parser
from recipeflow.release import Scores, read_info, read_release
from recipeflow.release.parsing import ANNOTATIONS
from recipeflow.release.recipe import Recipe
from recipeflow.release.recipe_files import read_text

Parser = tuple[RFGModel, RFGProcessor]
WEB = ("http://", "https://")
SAVE_TEXT = "save the recipe as a text file, and pass that"
NEEDS_PARSER = (
    "expected a parser to read {what}, found none; pass --parser with the folder or name of one (from `vrf parser "
    "train`), or a recipe of an annotated release"
)


@dataclass(frozen=True)
class ReadRecipe:
    """A recipe with its flow graph.

    Args:
        recipe: The recipe.
        scores: How certain a parser was of its flows; empty if they were annotated.
        glossary: English for its words, as far as its release has them.
        is_parsed: Whether tags and flows are a parser's.
    """

    recipe: Recipe
    scores: Scores = field(default_factory=Scores)
    glossary: dict[str, str] = field(default_factory=dict)
    is_parsed: bool = False


def open_parser(parser: str | Path | Parser | None) -> Parser | None:
    """A parser from its name, if it is one."""
    return load_parser(str(parser)) if isinstance(parser, str | Path) else parser


def read_source(source: str, recipe_id: str | None = None, parser: Parser | None = None) -> ReadRecipe:
    """Read what the command line names.

    Args:
        source: A text file, the URL of a page, or a release folder.
        recipe_id: Of the release's recipe.
        parser: Needed for text and pages. With it, only the words of a release's recipe are read.

    Raises:
        StoryboardError: If there is no such recipe, or it needs a parser.
    """
    is_release = not source.startswith(WEB) and Path(source).is_dir()
    if is_release != (recipe_id is not None):
        found = f"{source} {recipe_id}" if recipe_id is not None else f"only the folder {source}"
        raise StoryboardError(
            "expected a text file, the URL of a page, or a release folder and the id of one of its recipes, found "
            f"{found}; write `vrf storyboard RELEASE RECIPE_ID`, for instance"
        )
    if recipe_id is not None:
        return _read_release(Path(source), recipe_id, parser)
    if parser is None:
        raise StoryboardError(NEEDS_PARSER.format(what=source))
    if source.startswith(WEB):
        return _read_web(source, parser)
    path = Path(source)
    try:
        text = read_text(path, str(path))
    except ReleaseProblem as error:
        raise StoryboardError(f"{error}; pass a text file, the URL of a page, or a release and a recipe id") from error
    return read_recipe_text(text, parser, path.stem)


def read_recipe_text(text: RecipeLike, parser: Parser, title: str = "recipe") -> ReadRecipe:
    """Parse the text of one recipe.

    Raises:
        StoryboardError: If there is no text, or it is not in the parser's language.
    """
    try:
        return _parse(read_plain(title, title, text, parser[1]), parser)
    except UsageError as error:
        raise StoryboardError(str(error)) from error


def _parse(unread: Unread, parser: Parser) -> ReadRecipe:
    (graph,) = parse_recipes(*parser, [unread.words])
    return ReadRecipe(*annotate_recipe(unread.recipe, unread.words, graph), is_parsed=True)


def _read_release(folder: Path, recipe_id: str, parser: Parser | None) -> ReadRecipe:
    if not (folder / ANNOTATIONS).is_file():
        raise StoryboardError(
            f"expected a release folder, found {folder} without {ANNOTATIONS}; pass one, or a text file and --parser"
        )
    info = read_info(folder)
    recipe = next((recipe for recipe in read_release(folder) if recipe.id == recipe_id), None)
    if recipe is None:
        first = next(read_release(folder)).id
        raise StoryboardError(
            f"expected the id of a recipe of {folder}, found {recipe_id!r}; pass another, such as {first}"
        )
    if not recipe.has_text:
        raise StoryboardError(
            f"expected a recipe with text, found {recipe_id} without; `vrf download` fetches the text of official ones"
        )
    if parser is None:
        return ReadRecipe(recipe, glossary=dict(info.glossary))
    check_language(parser[0].config.language, info.scheme.language, f"the release {folder}")
    return replace(_parse(Unread(recipe, read_words(recipe)), parser), glossary=dict(info.glossary))


def _read_web(url: str, parser: Parser) -> ReadRecipe:
    page = _fetch_page(url)
    try:
        return read_recipe_text(_page_lines(page, parser[0].config.language), parser, page.title.strip())
    except StoryboardError as error:
        raise StoryboardError(f"{url}: {error}") from error


def _fetch_page(url: str) -> Page:
    """One request, after robots.txt, as `vrf download` makes them; somebody waits for it, so it gives up sooner."""
    try:
        with Fetcher(Manners(attempts=2)) as fetcher:
            return read_page(decode_page(fetcher.get(url, PAGE_LIMIT)), url, SAVE_TEXT)
    except PageError as error:
        raise StoryboardError(str(error)) from error
    except ForeignHostError as error:
        raise StoryboardError(
            f"expected a recipe at {url}, found a redirect to {error.host}; open the page in a browser, and pass the "
            "URL that it ends at"
        ) from error
    except TooLargeError as error:
        raise StoryboardError(
            f"expected a page of at most {PAGE_LIMIT / 1e6:,.0f} MB at {url}, found more; {SAVE_TEXT}"
        ) from error
    except FetchError as error:
        raise StoryboardError(f"{error}; check the URL, or {SAVE_TEXT}") from error


def _page_lines(page: Page, language: str) -> dict[str, list[str]]:
    """The text of a page in the form that parsers were trained on: Japanese releases number their instructions."""
    is_numbered = language.partition("-")[0] == "ja"
    orders = [number if step.order is None else step.order for number, step in enumerate(page.instructions, start=1)]
    return {
        "ingredients": [ingredient_line(item).strip() for item in page.ingredients],
        "instructions": [
            f"{step_label(order)}.{step.body}" if is_numbered else step.body
            for order, step in zip(orders, page.instructions, strict=True)
        ],
    }
