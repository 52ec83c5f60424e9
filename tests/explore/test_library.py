import json
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from recipeflow.errors import BrokenJSONError, EmptyReleaseError
from recipeflow.explore.library import Library
from recipeflow.explore.sources import ReleaseSource
from tests.building import many_recipes
from tests.making import EGG, RECIPES, SALAD, edit_annotations, make_frame, make_release


class CountingSource(ReleaseSource):
    """Notes how far it was read."""

    read = 0

    def recipes(self):
        for checked in super().recipes():
            self.read += 1
            yield checked


@pytest.fixture
def many(tmp_path):
    return make_release(tmp_path / "many", many_recipes(12), frames=False)


def ids(chunk):
    return [entry[0] for entry in chunk["recipes"]]


def test_only_as_much_is_read_as_somebody_looked_at(many):
    source = CountingSource(many)
    library = Library(source, chunk=4)
    assert source.read == 1, "one, to know that there is something to show"
    first = library.chunk(0)
    assert ids(first) == ["r000", "r001", "r002", "r003"]
    assert first["more"]
    assert source.read == 5, "one more, to know whether another chunk follows"
    assert library.recipe(6).id == "r006"
    assert source.read == 7


def test_chunks_hold_all_recipes_and_the_last_says_so(many):
    library = Library(ReleaseSource(many), chunk=5)
    chunks = [library.chunk(number) for number in range(3)]
    assert [len(chunk["recipes"]) for chunk in chunks] == [5, 5, 2]
    assert [chunk["more"] for chunk in chunks] == [True, True, False]
    assert library.chunk(3) is None
    assert library.chunk(10**30) is None
    exact = Library(ReleaseSource(many), chunk=6)
    assert [exact.chunk(0)["more"], exact.chunk(1)["more"], exact.chunk(2)] == [True, False, None]


def test_words_stand_once_in_a_chunk_with_their_english(release):
    chunk = Library(ReleaseSource(release)).chunk(0)
    assert len(chunk["words"]) == len(set(chunk["words"])) == len(chunk["english"])
    assert chunk["english"][chunk["words"].index("きゅうり")] == "cucumber"
    assert chunk["english"][chunk["words"].index("塩")] is None


def test_recipes_come_back_as_they_were_read(release):
    library = Library(ReleaseSource(release))
    assert [library.recipe(number) for number in range(4)] == [*RECIPES, None]
    assert library.picture(0, 7) == make_frame(7)
    assert library.picture(0, 8) is None
    assert library.picture(9, 1) is None
    assert library.page(9) is None


def test_recipes_with_problems_are_left_out_and_told_at_the_end(release):
    def damage(raw):
        raw[EGG.id]["recipe_flows"][0]["label"] = "F-same"

    edit_annotations(release, damage)
    chunk = Library(ReleaseSource(release)).chunk(0)
    assert ids(chunk) == [SALAD.id, "tea_3"]
    assert len(chunk["problems"]) == 1
    assert "F-same" in chunk["problems"][0]


def test_annotations_that_break_off_are_shown_as_far_as_they_go(release):
    path = release / "annotations.json"
    text = path.read_text(encoding="utf-8")
    path.write_text(text[: text.index('"tea_3"') + 40], encoding="utf-8")
    chunk = Library(ReleaseSource(release)).chunk(0)
    assert ids(chunk) == [SALAD.id, EGG.id]
    assert not chunk["more"]
    assert "annotations.json" in chunk["problems"][0]


def test_nothing_readable_is_an_error_at_once(release):
    def damage(raw):
        for recipe in raw.values():
            recipe["recipe_flows"][0]["label"] = "F-same"

    edit_annotations(release, damage)
    with pytest.raises(EmptyReleaseError, match=r"without problems.*3 problems.*vrf check"):
        Library(ReleaseSource(release))


def test_an_empty_release_and_broken_json_are_errors_at_once(tmp_path):
    (tmp_path / "annotations.json").write_text("{}")
    with pytest.raises(EmptyReleaseError):
        Library(ReleaseSource(tmp_path))
    (tmp_path / "annotations.json").write_text('{"a')
    with pytest.raises(BrokenJSONError):
        Library(ReleaseSource(tmp_path))


def test_many_readers_at_once_see_the_same(many):
    library = Library(ReleaseSource(many), chunk=3)
    with ThreadPoolExecutor(8) as pool:
        pages = list(pool.map(library.page, [number % 12 for number in range(48)]))
        chunks = list(pool.map(library.chunk, [3, 2, 1, 0] * 4))
    assert [page["view"]["id"] for page in pages] == [f"r{number % 12:03d}" for number in range(48)]
    assert {json.dumps(chunk["recipes"][0][0]) for chunk in chunks} == {'"r000"', '"r003"', '"r006"', '"r009"'}


def test_a_title_without_english(tmp_path):
    folder = make_release(tmp_path / "one", [replace(SALAD, title="名無し")], info=None)
    entry = Library(ReleaseSource(folder)).chunk(0)["recipes"][0]
    assert entry[1:3] == ["名無し", None]


def test_what_was_read_can_be_had_while_more_is_read(many):
    go_on = threading.Event()

    class SlowSource(ReleaseSource):
        def recipes(self):
            for number, checked in enumerate(super().recipes()):
                if number == 3:
                    go_on.wait(30)
                yield checked

    library = Library(SlowSource(many), chunk=2)
    assert library.chunk(0)["more"]
    with ThreadPoolExecutor(2) as pool:
        waiting = pool.submit(library.chunk, 1)
        found = pool.submit(library.recipe, 1).result(10)
        is_waiting = not waiting.done()
        go_on.set()
        assert ids(waiting.result(30)) == ["r002", "r003"]
    assert is_waiting
    assert found.id == "r001"
