"""In and out: releases, plain text, the original tool's files, brat; odd characters come back as they were."""

import io
import json
import shutil
import zipfile
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import pytest
from datasets import load_dataset

from recipeflow.annotate.exporting import export_layer
from recipeflow.annotate.layers import open_layer
from recipeflow.annotate.store import Layer, Store
from recipeflow.annotate.workspace import Workspace
from recipeflow.corpora.brat import CONFIGURATION
from recipeflow.corpora.importing import import_corpus
from recipeflow.dataset.build import build_dataset
from recipeflow.errors import InvalidReleaseError, OutputExistsError, RefusedError, UsageError
from recipeflow.graph import pair_objects
from recipeflow.own.text import recipe_from_text
from recipeflow.release import check_release, read_info, read_release
from recipeflow.release.recipe import Flow, Line, Recipe, StateChange, Word
from tests.annotate.serving import LocalServer
from tests.making import EGG, INFO, RECIPES, SALAD, TEA, edit_annotations, make_release

# Words with everything that could be taken for markup, a separator or a number, in a recipe whose id is odd too.
ODD_WORDS = ["<script>alert(1)</script>", "a b", "F-B", "/", "\t", "&amp;", "−1", "🍅", '"', "0-0-0", "\u202e", "# T1"]


def odd_recipe(texts: list[str] = ODD_WORDS) -> Recipe:
    text, words = "".join(texts), []
    for number, word in enumerate(texts):
        start = words[-1].end if words else 0
        words.append(Word(start, start + len(word), "F-B" if number == 0 else "Ac-B" if number == 3 else "O"))
    line = Line(tuple(words), text)
    flows = (Flow("0-0-0", "1-0-0", "F-eq"), Flow("1-0-0", "1-0-3", "Targ"))
    changes = (StateChange("1-0-3", None, 2),)
    return Recipe("<b>odd & id</b>'".replace("/", "∕"), (line,), (line,), flows, changes, "</title><script>x")


@pytest.fixture
def workspace(tmp_path):
    with Store(tmp_path / "annotations.db") as store:
        yield Workspace(store)


def take_in(workspace, folder, name="alice"):
    workspace.import_folder(folder)
    return workspace.add_layer(name)[0]


def test_the_official_release_comes_out_as_it_went_in(official, workspace, tmp_path):
    layer = take_in(workspace, official)
    exported = export_layer(workspace.store, layer, tmp_path / "out", release=official)
    assert len(exported.recipes) == 200 and exported.notes == []
    assert _json(tmp_path / "out") == _json(official)
    assert (tmp_path / "out" / "recipe_urls.txt").read_text() == (official / "recipe_urls.txt").read_text()
    assert read_info(tmp_path / "out").source == "official"


def _json(folder: Path):
    raw = json.loads((folder / "annotations.json").read_text(encoding="utf-8"))
    return list(raw.items())


def test_a_release_with_text_and_frames_comes_out_whole(release, workspace, tmp_path):
    layer = take_in(workspace, release)
    with open_layer(workspace.store.path, "alice") as (reader, found):  # as the command does, while the server runs
        export_layer(reader, found, tmp_path / "out", release=release)
    assert layer == found
    assert list(read_release(tmp_path / "out")) == list(RECIPES)
    assert check_release(tmp_path / "out") == []
    info = read_info(tmp_path / "out")
    assert (info.glossary, info.details["annotator"]) == (INFO.glossary, "alice")
    with pytest.raises(OutputExistsError):
        export_layer(workspace.store, layer, tmp_path / "out", release=release)


def test_an_export_builds_and_loads(release, workspace, tmp_path):
    layer = take_in(workspace, release)
    workspace.save(TEA.id, layer, 0, "a1", {"op": "frame", "key": "1-0-4/1-0-2", "side": "before", "value": 2})
    export_layer(workspace.store, layer, tmp_path / "out", release=release)
    build_dataset(tmp_path / "out", tmp_path / "vrf")
    rows = load_dataset(str(tmp_path / "vrf"), "image_pairs", split="train", cache_dir=str(tmp_path / "cache"))
    tea = [row for row in rows if row["recipe_id"] == TEA.id]
    assert [(row["action"], row["object"], row["pre_frame"], row["post_frame"]) for row in tea] == [
        ("冷やし", "麦茶", 2, None),
        ("注ぎ", "麦茶", 2, 3),
    ]


def test_a_blank_layer_exports_only_what_was_begun(release, tmp_path):
    with Store(tmp_path / "annotations.db") as store:
        workspace = Workspace(store, blank=True)
        layer = take_in(workspace, release)
        with pytest.raises(RefusedError, match="found none to export; tag a word with vrf annotate first"):
            export_layer(store, layer, tmp_path / "out")
        workspace.save(
            EGG.id, layer, 0, "a1", {"op": "tag", "section": 0, "line": 0, "start": 0, "end": 1, "tag": "F"}
        )
        exported = export_layer(store, layer, tmp_path / "out")
        assert exported.recipes == [EGG.id] and exported.notes == ["left out, not started yet: 2 recipes"]
        recipe = next(read_release(tmp_path / "out"))
        assert list(recipe.entities) == ["0-0-0"] and recipe.state_changes == ()
        with pytest.raises(RefusedError, match="finished"):
            export_layer(store, layer, tmp_path / "done", done=True)


def test_pairs_keep_their_objects_when_lists_were_edited(release, workspace, tmp_path):
    """The n-th state change is the n-th traced object's, whatever a person did to the list."""
    layer = take_in(workspace, release)
    steps = [
        {"op": "move_object", "key": "1-2-8/1-2-6", "position": 0},
        {"op": "remove_object", "key": "1-2-8/1-0-2"},
        {"op": "add_object", "action": "1-2-8", "object": "1-2-2", "position": 0},
        {"op": "frame", "key": "1-2-8/1-2-2", "side": "after", "value": 7},
    ]
    for number, step in enumerate(steps):
        workspace.save(SALAD.id, layer, number, f"a{number}", step)
    exported = export_layer(workspace.store, layer, tmp_path / "out", release=release)
    recipe = next(read_release(tmp_path / "out", {SALAD.id}))
    put = [pair for pair in pair_objects(recipe) if pair.action.id == "1-2-8"]
    assert [(pair.object and pair.object.id, pair.change.before, pair.change.after) for pair in put] == [
        ("1-0-2", None, None),  # removed: it keeps its place, so that the next one is not taken for it
        ("1-1-2", 5, 7),
        ("1-2-6", None, 7),
        (None, None, 7),  # no flow leads to the bowl as an object
    ]
    assert exported.notes == [f"{SALAD.id}: 1 sides of objects without a decision are written as having no image"]


def test_odd_characters_come_back_as_they_were(tmp_path):
    odd = odd_recipe()
    folder = make_release(tmp_path / "odd", [odd], frames=False)
    with Store(tmp_path / "annotations.db") as store:
        workspace = Workspace(store, folder)
        layer = take_in(workspace, folder)
        for form in ("release", "brat"):
            export_layer(store, layer, tmp_path / form, form)
        with pytest.raises(InvalidReleaseError, match=r"white space inside a word[\s\S]*Export a release instead"):
            export_layer(store, layer, tmp_path / "text", "text")  # that format has spaces between words
        with LocalServer(workspace) as server:
            assert server.document(odd.id)["title"] == odd.title
            words = server.document(odd.id)["sections"][0]["lines"][0]["words"]
            assert [word["text"] for word in words] == ODD_WORDS
    assert next(read_release(tmp_path / "release")) == odd
    assert read_brat(tmp_path / "brat", odd) == odd


def test_odd_words_without_spaces_come_back_from_the_tools_files(workspace, tmp_path):
    odd = odd_recipe([word for word in ODD_WORDS if not set(word) & {" ", "\t"}])
    layer = take_in(workspace, make_release(tmp_path / "odd", [odd], frames=False))
    export_layer(workspace.store, layer, tmp_path / "text", "text")
    assert read_text_files(tmp_path / "text" / odd.id) == odd
    import_corpus("tool", tmp_path / "text", tmp_path / "again")
    assert next(read_release(tmp_path / "again")) == odd


def read_text_files(home: Path) -> Recipe:
    """A recipe from the original tool's files, by what they are said to hold."""
    lines = defaultdict(list)
    for name in ("ingredients", "instructions"):
        for row in (home / f"{name}.iob2").read_text(encoding="utf-8").split("\n")[:-1]:
            word_id, rest = row.split(" ", 1)
            token, ne = rest.rsplit(" ", 1)
            section, line, position = map(int, word_id.split("-"))
            assert position == len(lines[section, line])
            lines[section, line].append((token, ne))
    sections = ([], [])
    for (section, _), tokens in lines.items():
        words, text = [], ""
        for token, ne in tokens:
            words.append(Word(len(text), len(text) + len(token), ne))
            text += token
        sections[section].append(Line(tuple(words), text))
        assert (home / f"{('ingredients', 'instructions')[section]}.tok").read_text(encoding="utf-8").split("\n")[
            len(sections[section]) - 1
        ] == " ".join(token for token, _ in tokens)
    flows = [Flow(*row.split()) for row in (home / "recipe_flows.txt").read_text().splitlines()]
    changes, counted = [], defaultdict(int)
    for row in (home / "state_changes.txt").read_text().splitlines():
        place, *frames = row.split()
        action, _, number = place.rpartition("-")
        assert int(number) == counted[action]
        counted[action] += 1
        changes.append(StateChange(action, *(None if frame == "-1" else int(frame) for frame in frames)))
    title = (home / "title.txt").read_text(encoding="utf-8").removesuffix("\n")
    return Recipe(home.name, *map(tuple, sections), tuple(flows), tuple(changes), title)


def read_brat(folder: Path, base: Recipe) -> Recipe:
    """A recipe from brat's files and the words that it was annotated on, by the rules of the standoff format."""
    text = (folder / f"{base.id}.txt").read_text(encoding="utf-8")
    rows = (folder / f"{base.id}.ann").read_text(encoding="utf-8").split("\n")[:-1]
    starts, offset = {}, 0
    for section, lines in enumerate(base.sections):
        for number, line in enumerate(lines):
            for position, word in enumerate(line.words):
                starts[offset + word.start] = (section, number, position)
            offset += len(line.text) + 1
    names, tags, flows, changes = {}, {}, [], []
    for row in rows:
        name, middle, *rest = row.split("\t", 2)
        if name.startswith("T"):
            tag, start, end = middle.split()
            assert rest[0] == text[int(start) : int(end)]
            names[name] = "-".join(map(str, starts[int(start)]))
            for place in (place for at, place in starts.items() if int(start) <= at < int(end)):
                tags[place] = f"{tag}-{'B' if place == starts[int(start)] else 'I'}"
        elif name.startswith("R"):
            label, *ends = middle.split()
            flows.append(Flow(*(names[end.partition(":")[2]] for end in ends), label))
        else:
            fields = dict(field.split("=") for field in rest[0].split())
            frames = (None if fields[side] == "-" else int(fields[side]) for side in ("before", "after"))
            changes.append(StateChange(names[middle.split()[1]], *frames))
    sections = [
        tuple(
            replace(line, words=tuple(replace(w, ne=tags.get((s, i, j), "O")) for j, w in enumerate(line.words)))
            for i, line in enumerate(lines)
        )
        for s, lines in enumerate(base.sections)
    ]
    return Recipe(base.id, *sections, tuple(flows), tuple(changes), base.title, base.url)


def test_text_files_and_brat_hold_everything(release, workspace, tmp_path):
    layer = take_in(workspace, release)
    for form in ("text", "brat"):
        exported = export_layer(workspace.store, layer, tmp_path / form, form)
        assert exported.recipes == [recipe.id for recipe in RECIPES]
    for recipe in RECIPES:
        assert read_text_files(tmp_path / "text" / recipe.id) == replace(recipe, url=None)
        assert read_brat(tmp_path / "brat", recipe) == recipe
    notes = (tmp_path / "brat" / f"{SALAD.id}.ann").read_text().splitlines()[-7:]
    assert notes[0] == "#1\tAnnotatorNotes T9\tobject=T7 before=1 after=3"
    assert notes[-1] == "#7\tAnnotatorNotes T17\tobject=- before=- after=-"
    assert "F-part-of\tArg1:<ENTITY>, Arg2:<ENTITY>" in (tmp_path / "brat" / CONFIGURATION).read_text()
    with pytest.raises(OutputExistsError):
        export_layer(workspace.store, layer, tmp_path / "text", "text")
    export_layer(workspace.store, layer, tmp_path / "text", "text", only=[TEA.id], overwrite=True)
    assert {path.name for path in (tmp_path / "text").iterdir()} == {TEA.id, "recipes.txt", "release.json"}


def test_without_text_only_a_release_can_be_written(workspace, tmp_path):
    mute = [tuple(replace(line, text=None) for line in lines) for lines in TEA.sections]
    recipe = replace(TEA, title=None, ingredients=mute[0], instructions=mute[1])
    layer = take_in(workspace, make_release(tmp_path / "mute", [recipe], frames=False))
    for form in ("text", "brat"):
        with pytest.raises(RefusedError, match=r"found tea_3 without; export a release instead"):
            export_layer(workspace.store, layer, tmp_path / "out", form)
    assert not (tmp_path / "out").exists()
    export_layer(workspace.store, layer, tmp_path / "out")
    assert list(read_release(tmp_path / "out")) == [recipe]


def test_a_release_that_changed_is_refused(release, workspace):
    take_in(workspace, release)
    text = release / "recipes" / TEA.id / "title.txt"
    text.write_text("烏龍茶\n", encoding="utf-8")
    assert workspace.import_folder(release).added == []  # a title is no word
    lines = release / "recipes" / TEA.id / "ingredients.txt"
    lines.write_text(lines.read_text(encoding="utf-8").replace("麦", "緑"), encoding="utf-8")
    with pytest.raises(UsageError, match=r"tea_3: expected .* the words .* was started with, found other ones"):
        workspace.import_folder(release)


def test_broken_recipes_are_left_out_and_reported(release, workspace):
    edit_annotations(release, lambda raw: raw[EGG.id]["recipe_flows"][0].update(label="Eats"))
    imported = workspace.import_folder(release)
    assert imported.added == [SALAD.id, TEA.id]
    assert imported.skipped[0][0] == EGG.id and "Eats" in imported.skipped[0][1]


def test_plain_text_is_normalised_and_cut():
    recipe = recipe_from_text("salad", "サラダ 1", "きゅうり 1本\n\n塩 少々\r\n", "1. きゅうりを切る。\n")
    assert recipe.title == "サラダ１"
    assert [line.text for line in recipe.ingredients] == ["きゅうり１本", "塩少々"]
    assert [line.text for line in recipe.instructions] == ["１．きゅうりを切る。"]
    assert recipe.ingredients[0].tokens == ["きゅうり", "１", "本"]
    assert recipe.entities == {} and recipe.flows == ()
    for odd in ("../x", "a/b", "", ".x", "x" * 300, "a\nb"):
        with pytest.raises(RefusedError) as caught:
            recipe_from_text(odd, "t", "a", "b")
        assert caught.value.code == "recipe_id"
    for texts in (("", "a", "b"), ("t", "a", " \n"), ("t", "\ud800", "b")):
        with pytest.raises(RefusedError) as caught:
            recipe_from_text("x", *texts)
        assert caught.value.code == "text"


def test_a_folder_of_texts(release, workspace, tmp_path):
    (release / "annotations.json").unlink()
    (release / "recipes" / TEA.id / "instructions.txt").unlink()
    imported = workspace.import_folder(release)
    assert imported.added == [SALAD.id, EGG.id]
    assert imported.skipped[0][0] == TEA.id and "instructions.txt" in imported.skipped[0][1]
    assert workspace.store.known_recipe(EGG.id).instructions[1].text == EGG.instructions[1].text


@pytest.fixture
def server(release, tmp_path):
    with Store(tmp_path / "web.db") as store:
        workspace = Workspace(store, release)
        take_in(workspace, release)
        with LocalServer(workspace) as server:
            yield server


def test_import_and_export_in_the_page(server, release, tmp_path):
    body = {"id": "new", "title": "サラダ", "ingredients": "塩", "instructions": "１．混ぜる。"}
    assert server.post("/api/import/text", body) == (201, {"id": "new", "recipes": ["new"], "skipped": []})
    status, answer = server.post("/api/import/text", body)
    assert (status, answer["error"]["code"], answer["error"]["detail"]["exists"]) == (422, "recipe_id", True)
    for odd in ("../up", "a/../../b"):
        status, answer = server.post("/api/import/text", body | {"id": odd})
        assert (status, answer["error"]["code"]) == (422, "recipe_id")
    for form in ("release", "text", "brat"):
        status, headers, data = server.request("GET", f"/api/layers/alice/export?format={form}&recipe={SALAD.id}")
        assert headers["content-disposition"] == f"attachment; filename*=UTF-8''alice-{form}.zip"
        zipfile.ZipFile(io.BytesIO(data)).extractall(tmp_path / "zip")
    assert next(read_release(tmp_path / "zip" / "alice-release")) == SALAD
    assert read_text_files(tmp_path / "zip" / "alice-text" / SALAD.id) == replace(SALAD, url=None)


def test_a_release_goes_in_through_the_page(server, release, tmp_path):
    shutil.rmtree(tmp_path / "other", ignore_errors=True)
    other = make_release(tmp_path / "other", [replace(TEA, id="tea_4", url=None)], frames=False)
    files = {str(path.relative_to(other)): path.read_text() for path in other.rglob("*") if path.is_file()}
    assert server.post("/api/import/release", {"files": files, "as": "recipes"}) == (
        201,
        {"recipes": ["tea_4"], "skipped": []},
    )
    assert server.document("tea_4")["title"] == TEA.title
    status, answer = server.post("/api/import/release", {"files": files, "as": "recipes"})
    assert (status, answer["recipes"], answer["skipped"][0]["id"]) == (201, [], "tea_4")
    files = {"annotations.json": (release / "annotations.json").read_text()}
    status, answer = server.post("/api/import/release", {"files": files, "as": "suggestions", "origin": "model"})
    assert (status, answer["recipes"]) == (201, [recipe.id for recipe in RECIPES])
    assert server.get("/api/session")["origins"] == ["model"]


@pytest.mark.parametrize(
    "name", ["../annotations.json", "/etc/passwd", "a/../../b", "recipes/../x", "a/b/c/d", "", "a\\b"]
)
def test_names_that_lead_out_of_an_import_are_refused(server, name):
    status, answer = server.post("/api/import/release", {"files": {name: "x"}, "as": "recipes"})
    assert (status, answer["error"]["code"]) == (422, "recipe_id")


def test_a_broken_release_in_the_page_is_reported(server):
    status, answer = server.post("/api/import/release", {"files": {"annotations.json": "{"}, "as": "recipes"})
    assert (status, answer["error"]["code"]) == (422, "release")
    assert answer["error"]["detail"]["problems"][0]["kind"] == "BrokenJSONError"


def test_a_layer_that_is_not_there(workspace, release):
    take_in(workspace, release)
    with (
        pytest.raises(UsageError, match=r"expected a layer of .* \(alice\), found 'bob'"),
        open_layer(workspace.store.path, "bob"),
    ):
        pass
    assert Layer("alice") in workspace.store.layers()
