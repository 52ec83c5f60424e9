"""The URL of a page as the recipe of a storyboard, typed at the command line; the site is on loopback."""

import html
import json
from dataclasses import replace

import pytest

from tests.cli.commanding import vrf
from tests.download.site.server import Content, Site, redirect
from tests.making import SALAD, make_release
from tests.making_english import ENGLISH_INFO, SOUP
from tests.parser.reading import train_by_heart


@pytest.fixture(scope="module")
def site():
    with Site() as running:
        yield running


@pytest.fixture(scope="module")
def english_parser(tmp_path_factory):
    folder = tmp_path_factory.mktemp("english")
    recipes = [replace(SOUP, id=f"r{number}") for number in range(12)]
    return train_by_heart(make_release(folder / "release", recipes, info=ENGLISH_INFO, frames=False), folder / "run")


@pytest.fixture
def storyboard(model, parser, tmp_path):
    """The command, with a model and a parser; what it wrote is in ``board``."""

    def run(url: str, **options: object):
        options = {"model": model, "parser": parser, "out": tmp_path / "board", **options}
        return vrf("storyboard", url, *(part for name, value in options.items() for part in (f"--{name}", value)))

    return run


def recipe_page(title: str, ingredients: list[str], steps: list[str], charset: str = "utf-8") -> bytes:
    """A page of any site, with what search engines read."""
    recipe = {"@type": "Recipe", "name": title, "recipeIngredient": ingredients}
    recipe |= {"recipeInstructions": [{"@type": "HowToStep", "text": html.escape(step)} for step in steps]}
    script = json.dumps(recipe, ensure_ascii=False)
    head = f'<meta charset="{charset}"><title>{title}</title>'
    return f'<html><head>{head}<script type="application/ld+json">{script}</script></head></html>'.encode(charset)


SALAD_LINES = [[line.text for line in lines] for lines in SALAD.sections]


@pytest.mark.parametrize("charset", ["utf-8", "shift_jis"])
def test_a_page_becomes_a_storyboard(site, storyboard, tmp_path, charset):
    site.contents["/salad"] = Content(recipe_page("サラダ", *SALAD_LINES, charset), "text/html")
    answer = storyboard(f"{site.url}/salad")
    assert answer.code == 0, answer.stderr
    data = json.loads((tmp_path / "board" / "storyboard.json").read_text(encoding="utf-8"))
    text = "".join(line for lines in SALAD_LINES for line in lines)
    assert data["title"] == "サラダ" and data["panels"]
    assert all(panel["action"] in text and panel["object"] in text for panel in data["panels"])
    assert data["notes"][0] == "tags and flows were read by a parser, not annotated"


def test_an_english_page_needs_an_english_parser(site, storyboard, english_parser, tmp_path):
    lines = [line.text for line in SOUP.instructions]
    site.contents["/soup"] = Content(recipe_page("Tomato soup", ["2 large tomatoes"], lines), "text/html")
    refused = storyboard(f"{site.url}/soup")
    assert refused.code == 1 and "Tomato soup: expected text of the model's language (ja)" in refused.stderr
    assert f"{site.url}/soup" in refused.stderr and not (tmp_path / "board").exists()
    answer = storyboard(f"{site.url}/soup", parser=english_parser)
    assert answer.code == 0, answer.stderr
    data = json.loads((tmp_path / "board" / "storyboard.json").read_text(encoding="utf-8"))
    words = set(" ".join(lines).replace(".", "").split())
    assert data["title"] == "Tomato soup"
    assert data["panels"] and all({panel["action"], panel["object"]} <= words for panel in data["panels"])


def test_what_is_no_recipe_is_refused_with_what_to_do(site, storyboard, tmp_path):
    site.contents["/blog"] = Content(b"<html><body>What I ate today</body></html>", "text/html")
    site.faults["/moved"] = [redirect("http://elsewhere.invalid/salad")]
    reasons = {
        "/nothing": "404 Not Found; check the URL, or save the recipe as a text file",
        "/private/salad": "/robots.txt forbids it; check the URL, or save the recipe as a text file",
        "/blog": "found none (ssrContext: no script sets it; JSON-LD: no script of that type); save the recipe as",
        "/moved": "found a redirect to elsewhere.invalid; open the page in a browser, and pass the URL that it",
    }
    for path, reason in reasons.items():
        answer = storyboard(site.url + path)
        assert answer.code == 1 and reason in " ".join(answer.stderr.split()), answer.stderr
        assert not answer.stdout and "Traceback" not in answer.stderr
    assert not (tmp_path / "board").exists() and not site.requests("/private/salad")
