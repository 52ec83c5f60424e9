"""The English corpus's own form: what becomes of it, and that every trap is named by file and line."""

import re
from collections import Counter
from pathlib import Path

import pytest

from recipeflow.corpora.conllu import CUT, SCHEME, read_conllu
from recipeflow.corpora.importing import import_corpus
from recipeflow.errors import (
    CycleError,
    DanglingEdgeError,
    InsideWithoutBeginError,
    InvalidReleaseError,
    UnknownLabelError,
    UnknownTagError,
    WrongTypeError,
)
from recipeflow.release import read_release
from recipeflow.release.recipe import Flow

HEADER = "{number}\t{form}\t_\tX\t{tag}\t_\t{head}\t{label}\t{rest}"


def block(*rows: str) -> str:
    """Rows such as ``Bake B-Ac 3 t``, or ``Bake B-Ac`` without an edge; further heads come last, as they are."""
    lines = []
    for number, row in enumerate(rows, 1):
        form, tag, head, label, rest = (*row.split(" ", 4), *[None] * 5)[:5]
        columns = {"form": form, "tag": tag, "head": head or 0, "label": label or "root", "rest": rest or "_\t_"}
        lines.append(HEADER.format(number=number, **columns))
    return "".join(f"{line}\n" for line in lines) + "\n"


PIE = (
    "Peel B-Ac 5 t",
    "apples B-F 1 t",
    "( O",
    ". O",
    "bake B-Ac",
    "and O",
    "turn B-Ac 9 a",
    "oven B-T 7 t",
    "off B-Ac2",
)


def write(folder: Path, *blocks: str) -> Path:
    path = folder / "pies.conllu"
    path.write_text("".join(blocks), encoding="utf-8")
    return path


def read(path: Path, notes: Counter | None = None):
    return list(read_conllu(path, SCHEME, Counter() if notes is None else notes))


def test_sentences_become_lines_and_labels_get_the_papers_names(tmp_path):
    (found,) = read(write(tmp_path, block(*PIE)))
    recipe = found.recipe
    assert (recipe.id, recipe.title, recipe.ingredients) == ("pies", "", ())
    assert [line.text for line in recipe.instructions] == ["Peel apples (.", "bake and turn oven off"]
    assert recipe.flows == (
        Flow("1-0-0", "1-1-0", "Targ"),
        Flow("1-0-1", "1-0-0", "Targ"),
        Flow("1-1-2", "1-1-4", "Agent"),
        Flow("1-1-3", "1-1-2", "Targ"),
    )
    assert recipe.entities["1-1-4"].tag == "Ac2"


def test_a_tab_inside_the_list_of_heads_and_a_list_that_is_cut_off(tmp_path):
    rows = ("a B-Ac 2 t [(3,\t'f-eq')]", "b B-Ac 3 d [(4,\t'v'),", "c B-F", "d B-F 3 s [(1, 'o'), (2, 't')]\t_")
    notes: Counter[str] = Counter()
    (found,) = read(write(tmp_path, block(*rows)), notes)
    assert [problem.message for problem in found.problems if not isinstance(problem, CycleError)] == []
    labels = [flow.label for flow in found.found.flows]
    assert labels == ["Targ", "F-eq", "Dest", "v", "s", "other-mod", "Targ"]
    assert notes[CUT] == 1


def test_ids_count_in_a_file_of_several_recipes(tmp_path):
    path = write(tmp_path, block(*PIE), "\n", "# newdoc id = tart\n", block("Bake B-Ac"), block("Eat B-Ac"))
    assert [found.id for found in read(path)] == ["pies-0001", "tart", "pies-0003"]
    assert [found.id for found in read(tmp_path)] == ["pies-0001", "tart", "pies-0003"]


@pytest.mark.parametrize(
    ("rows", "kind", "line", "message"),
    [
        (("a B-Ac 2 -", "b B-F"), UnknownLabelError, 11, "found '-'"),
        (("a B-Ac 2 t", "b B-F 1 t"), CycleError, 11, r"“a” \(line 11\) → “b” \(line 12\) → “a”"),
        (("a B-Ac 1 t",), CycleError, 11, "“a”"),
        (("a B-Ac 7 t",), DanglingEdgeError, 11, "found '7'"),
        (("a B-Ac 2 t", "b O"), DanglingEdgeError, 11, r"found “b” \(line 12\), which is 'O'"),
        (("a O", "b I-F"), InsideWithoutBeginError, 12, "expected F-I to continue"),
        (("a B-Xx",), UnknownTagError, 11, "found 'Xx-B'"),
        (("a B-Ac 2 t [oops", "b B-F"), WrongTypeError, 11, "expected further heads"),
    ],
)
def test_a_problem_names_its_line(tmp_path, rows, kind, line, message):
    path = write(tmp_path, block(*PIE), block(*rows))
    good, bad = read(path)
    assert good.recipe is not None and bad.recipe is None
    (problem,) = bad.problems
    assert (type(problem), problem.file, problem.recipe) == (kind, "pies.conllu", "pies-0002")
    assert problem.place == f"line {line}"
    assert re.search(message, problem.message)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("1\ta\t_\n", 1, "ten columns"),
        (block("a O").replace("1\t", "2\t", 1), 1, "number 1, found 2"),
        ("# only a comment\n", 1, "only comments"),
        ("# recipe = {\n" + block("a O"), 1, "expected JSON after # recipe ="),
        ('# recipe = {"title": "x"}\n' + block("a O"), 1, "title, url and lines"),
    ],
)
def test_broken_blocks(tmp_path, text, line, message):
    (found,) = read(write(tmp_path, text))
    assert message in found.problems[0].message
    assert found.problems[0].place == f"line {line}"


def test_bad_recipes_are_refused_left_out_or_kept_without_their_bad_flows(tmp_path):
    cycle = block("a B-Ac 2 t", "b B-F 1 t", "c B-F 1 d")
    path = write(tmp_path, block(*PIE), cycle, block("a O", "b I-F"))
    with pytest.raises(InvalidReleaseError, match=r"2 problems[\s\S]*--drop-flows"):
        import_corpus("conllu", path, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    left = import_corpus("conllu", path, tmp_path / "out", skip_bad=True)
    assert (left.recipes, left.left_out) == (1, ["pies-0002", "pies-0003"])
    kept = import_corpus("conllu", path, tmp_path / "out", skip_bad=True, drop_flows=True, overwrite=True)
    assert (kept.recipes, kept.left_out, kept.notes["flows left out"]) == (2, ["pies-0003"], 1)
    assert [type(problem) for problem in kept.dropped] == [CycleError]
    second = list(read_release(tmp_path / "out"))[1]
    assert second.flows == (Flow("1-0-0", "1-0-1", "Targ"), Flow("1-0-2", "1-0-0", "Dest"))


def test_all_of_the_real_corpus_is_imported_or_named(english_corpus, tmp_path):
    imported = import_corpus("conllu", english_corpus / "train.conllu", tmp_path / "out", skip_bad=True)
    assert (imported.recipes, len(imported.left_out)) == (227, 11)
    kinds = Counter(problem.kind for problem in imported.problems)
    assert kinds == {"CycleError": 9, "InsideWithoutBeginError": 2, "UnknownLabelError": 2}
    assert {problem.file for problem in imported.problems} == {"train.conllu"}
    assert next(problem.place for problem in imported.problems) == "line 4619"
