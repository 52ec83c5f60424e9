"""brat, the authors' tool and JSON lines as others write them, and their mistakes."""

import json
from collections import Counter
from pathlib import Path

import pytest
from typer.testing import CliRunner

from recipeflow.cli import app
from recipeflow.corpora.formats import FORMATS
from recipeflow.corpora.importing import About, import_corpus
from recipeflow.errors import InvalidReleaseError, UsageError
from recipeflow.release import check_release, read_info, read_release, read_scheme
from recipeflow.release.recipe import Flow, StateChange
from recipeflow.release.scheme import PAPER

ROW = {
    "id": "soup",
    "ingredients": [{"tokens": ["2", "tomatoes"], "ner_tags": ["B-Q", "B-F"]}],
    "instructions": [{"tokens": ["Chop", "the", "tomatoes", "."], "ner_tags": ["B-Ac", "O", "B-F", "O"]}],
    "edges": [{"start": "1-0-2", "end": "1-0-0", "label": "Targ"}],
}
BRAT = (
    "T1\tAc 0 4\tChop\nT2\tF 9 15\ttomato\nR1\tTarg Arg1:T2 Arg2:T1\n"
    "#1\tAnnotatorNotes T1\tobject=T2 before=3 after=-\n"
)


def run(*arguments: object):
    return CliRunner().invoke(app, list(map(str, arguments)))


def test_json_lines_need_only_words_and_tags(tmp_path):
    (tmp_path / "soup.jsonl").write_text(json.dumps(ROW) + "\n\n", encoding="utf-8")
    import_corpus("jsonl", tmp_path / "soup.jsonl", tmp_path / "out", About(language="en"))
    (recipe,) = read_release(tmp_path / "out")
    assert recipe.instructions[0].text == "Chop the tomatoes."
    assert recipe.ingredients[0].text == "2 tomatoes"
    assert recipe.flows == (Flow("1-0-2", "1-0-0", "Targ"),)
    assert check_release(tmp_path / "out") == []


def test_brat_words_are_split_by_language_and_at_entities(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "soup.txt").write_text("Chop the tomatoes.\n\n  Serve.\n", encoding="utf-8")
    (tmp_path / "in" / "soup.ann").write_text(BRAT + "A1\tNegation T1\n", encoding="utf-8")
    imported = import_corpus("brat", tmp_path / "in", tmp_path / "out", About(language="en"))
    (recipe,) = read_release(tmp_path / "out")
    assert [line.tokens for line in recipe.instructions] == [["Chop", "the", "tomato", "es", "."], ["Serve", "."]]
    assert recipe.flows == (Flow("1-0-2", "1-0-0", "Targ"),)
    assert recipe.state_changes == (StateChange("1-0-0", 3, None),)
    assert imported.notes.total() == 1


BROKEN = {
    "jsonl": [
        ("{\n", "line 1", "expected a JSON object on the line"),
        (json.dumps(ROW).replace('"Targ"', '"x"'), "line 1", "found 'x'"),
        (json.dumps({**ROW, "instructions": [{"tokens": ["a"], "ner_tags": []}]}), "line 1", "tokens and ner_tags"),
        (json.dumps({**ROW, "state_changes": [["1-0-0", "a", 1]]}), "line 1", "state_changes"),
    ],
    "brat": [
        (BRAT.replace("9 15", "9 12;13 15"), "line 2", "an entity of one span"),
        (BRAT.replace("9 15", "9 40"), "line 2", "whole words of one line"),
        (BRAT.replace("9 15", "2 15"), "line 2", "apart from others"),
        (BRAT.replace("Arg2:T1", "Arg2:T9"), "line 3", "found 'T9'"),
    ],
    "tool": [
        ("1-0-0 Chop Ac-B\n1-0-2 it F-B\n", "line 2", "the id of the next word"),
        ("1-0-0 Chop Ac-B\n1-0-1 it F-X\n", "line 2", "found 'F-X'"),
        ("1-0-0 Chop\n", "line 1", "3 columns"),
    ],
}


@pytest.mark.parametrize(("form", "case"), [(form, case) for form in BROKEN for case in range(len(BROKEN[form]))])
def test_a_mistake_names_its_file_and_line(form, case, tmp_path):
    content, line, message = BROKEN[form][case]
    source = tmp_path / "in"
    names = {"jsonl": "soup.jsonl", "brat": "soup.ann", "tool": "soup/instructions.iob2"}
    (source / "soup").mkdir(parents=True)
    (source / names[form]).write_text(content, encoding="utf-8")
    (source / "soup.txt").write_text("Chop the tomatoes.\n", encoding="utf-8")
    (source / "soup" / "title.txt").write_text("Soup\n", encoding="utf-8")
    path = source / names[form] if form == "jsonl" else source
    with pytest.raises(InvalidReleaseError) as raised:
        import_corpus(form, path, tmp_path / "out", About(language="en"))
    (problem,) = raised.value.problems
    assert (problem.file, problem.place) == (names[form], line)
    assert message in problem.message
    assert not (tmp_path / "out").exists()


def test_the_command_lists_every_problem_and_writes_nothing(tmp_path):
    (tmp_path / "soup.jsonl").write_text(json.dumps(ROW) + "\n" + json.dumps(ROW) + "\n{\n", encoding="utf-8")
    refused = run("import", "jsonl", tmp_path / "soup.jsonl", tmp_path / "out", "--language", "en")
    assert refused.exit_code == 1
    assert "soup.jsonl, recipe line 3, line 3" in refused.stderr
    assert "DuplicateRecipeError" in refused.stderr and "nothing was written" in refused.stderr
    left = run(
        "import", "jsonl", tmp_path / "soup.jsonl", tmp_path / "out", "--language", "en", "--skip-bad", "--json"
    )
    assert json.loads(left.stdout)["left_out"] == ["soup", "line 3"]
    assert run("check", tmp_path / "out").exit_code == 0


def test_the_command_takes_language_tags_labels_source_and_licence(tmp_path):
    row = json.dumps(ROW).replace('"Targ"', '"edge"').replace("B-Ac", "B-A")
    (tmp_path / "soup.jsonl").write_text(row, encoding="utf-8")
    options = ["--language", "en", "--tag", "A=Action", "--label", "edge", "--source", "ara", "--licence", "CC BY 4.0"]
    done = run("import", "jsonl", tmp_path / "soup.jsonl", tmp_path / "out", *options)
    assert done.exit_code == 0, done.output
    info = read_info(tmp_path / "out")
    assert (info.source, info.licence, info.scheme.language) == ("ara", "CC BY 4.0", "en")
    assert list(info.scheme.tags) == [*PAPER.tags, "A"] and info.scheme.labels["edge"] == "edge"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["conll", "x", "out"], "expected a format of conllu, brat, tool, jsonl, found 'conll'"),
        (["jsonl", "x", "out"], "found no"),
        (["brat", ".", "out"], "expected the language"),
        (["brat", ".", "out", "--language", "Englisch!"], "the code of a language"),
        (["tool", ".", "out", "--tag", "a-b"], "check --tag"),
    ],
)
def test_what_the_command_cannot_know(options, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    failed = run("import", *options)
    assert failed.exit_code != 0
    assert message in str(failed.exception)
    assert isinstance(failed.exception, UsageError) or "x" in options
    assert list(Path().iterdir()) == []


def test_export_by_command_and_import_again(release, tmp_path):
    for form, about in FORMATS.items():
        out = tmp_path / form
        assert run("export", form, release, out).exit_code == 0
        again = tmp_path / f"{form}-release"
        assert run("import", form, out, again).exit_code == 0, about
        assert list(read_release(again)) == list(read_release(release))
        assert read_scheme(again) == PAPER
    assert "frames that stay in the release: 10" in run("export", "jsonl", release, tmp_path / "x").stderr
    assert Counter(path.suffix for path in (tmp_path / "brat").iterdir())[".ann"] == 3
