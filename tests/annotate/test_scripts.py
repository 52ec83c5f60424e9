"""The tests of the pages' modules that need no browser, in Node.js."""

from pathlib import Path

from tests.node import run_node

TESTS = sorted((Path(__file__).parent / "static").glob("*.test.mjs"))


def test_modules():
    assert [path.name for path in TESTS] == ["outbox.test.mjs", "predict.test.mjs", "word_selection.test.mjs"]
    run_node("--test", *TESTS)
