"""The tests of the pages' modules that need no browser, in Node.js."""

from pathlib import Path

from tests.node import run_node

TESTS = sorted((Path(__file__).parent / "static").glob("*.test.mjs"))


def test_modules():
    names = [path.name.removesuffix(".test.mjs") for path in TESTS]
    assert names == ["markdown", "outbox", "predict", "word_selection"]
    run_node("--test", *TESTS)
