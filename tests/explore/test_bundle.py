import re

import pytest

from recipeflow.explore.bundle import BundleError, combine_modules
from recipeflow.explore.site import OWN, SHARED, data_script, page_files
from tests.node import run_node


def write(folder, **modules):
    for name, text in modules.items():
        (folder / f"{name}.js").write_text(text, encoding="utf-8")
    return folder


def test_modules_stand_once_and_after_what_they_need(tmp_path):
    write(
        tmp_path,
        page='import { one } from "./one.js";\nimport { two } from "./two.js";\n\none(two);\n',
        one='import { two } from "./two.js";\n\nexport function one() {\n  return two;\n}\n',
        two="export const two = 2;\n",
    )
    script = combine_modules("page.js", [tmp_path])
    assert re.findall(r"^// (\w+)\.js$", script, re.MULTILINE) == ["two", "one", "page"]
    assert "import" not in script
    assert "export" not in script
    assert script.startswith('(() => {\n"use strict";\n')


def test_folders_are_searched_in_order(tmp_path):
    first, second = tmp_path / "a", tmp_path / "b"
    first.mkdir()
    second.mkdir()
    write(first, page='import { shared } from "./shared.js";\nshared();\n')
    write(second, page="wrong();\n", shared="export function shared() {}\n")
    script = combine_modules("page.js", [first, second])
    assert "function shared" in script
    assert "wrong" not in script


@pytest.mark.parametrize(
    ("modules", "reason"),
    [
        ({"page": 'import two from "./two.js";\n', "two": "export const two = 2;\n"}, "plain imports"),
        ({"page": "export default 3;\n"}, "plain imports and exports"),
        ({"page": "const a = 1;\nexport { a };\n"}, "plain imports and exports"),
        ({"page": 'import { two } from "./two.js";\n'}, "the module two.js"),
        ({"page": 'import { two } from "./two.js";\n', "two": "const two = 2;\n"}, "two.js to export two"),
        (
            {"page": 'import { a } from "./a.js";\n', "a": 'import { b } from "./page.js";\nexport const a = 1;\n'},
            "import cycle",
        ),
        (
            {"page": 'import { a } from "./a.js";\nconst same = 1;\n', "a": "const same = 2;\nexport const a = 1;\n"},
            "same in a.js and page.js",
        ),
    ],
)
def test_what_is_not_understood_is_refused(tmp_path, modules, reason):
    with pytest.raises(BundleError, match=re.escape(reason)):
        combine_modules("page.js", [write(tmp_path, **modules)])


def test_the_explorer_s_own_modules_combine():
    script = page_files()["explore.js"].decode()
    for name in ("words.js", "arcs.js", "dom.js", "gallery.js", "graph_view.js"):
        assert f"// {name}\n" in script
    for dangerous in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"):
        assert dangerous not in script


def test_the_script_is_javascript(tmp_path):
    (tmp_path / "explore.js").write_bytes(page_files()["explore.js"])
    run_node("--check", tmp_path / "explore.js")


def test_the_page_allows_no_script_but_its_own():
    page = page_files()["index.html"].decode()
    assert "script-src 'self'" in page
    assert "unsafe" not in page
    assert not re.search(r"<script(?![^>]*\bsrc=)", page)
    assert not re.search(r"\sstyle=|\son\w+=", page)


def test_data_are_one_call_of_one_function():
    script = data_script("data/x", {"text": '</script>\u2028"', "none": None}).decode()
    assert script == 'receiveExplorerData("data/x",{"text":"</script>\u2028\\"","none":null});\n'


def test_modules_do_not_share_names_between_folders():
    assert not {path.name for path in OWN.glob("*.js")} & {path.name for path in SHARED.glob("*.js")}
