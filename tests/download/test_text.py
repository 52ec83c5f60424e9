import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recipeflow.download.alignment import align
from recipeflow.download.pages import PageInstruction, read_page
from recipeflow.download.text import RecipeText, attach_changed, fit_text, page_text, write_text
from recipeflow.kitchen.cooking import devise_recipe
from recipeflow.language.japanese import normalise
from recipeflow.release import check_release, read_release, write_release
from recipeflow.release.recipe import Line, Recipe
from tests.download.site.pages import json_ld_page, page_fields, state_page
from tests.making import EGG, RECIPES, SALAD


def without_text(recipe: Recipe) -> Recipe:
    sections = {
        name: tuple(Line(line.words) for line in getattr(recipe, name)) for name in ("ingredients", "instructions")
    }
    return replace(recipe, title=None, **sections)


def read_back(recipe: Recipe, make_page=state_page) -> RecipeText:
    return page_text(read_page(make_page(page_fields(recipe), None), "here"), without_text(recipe))


def text_of(recipe: Recipe) -> RecipeText:
    return RecipeText(recipe.title, *(tuple(line.text for line in lines) for lines in recipe.sections))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("(A) しょうゆ 大さじ1", "（Ａ）しょうゆ大さじ１"),
        ("ﾐﾆﾄﾏﾄ 1/2個", "ミニトマト１／２個"),
        ("600Wで~30秒\r\n加熱\u3000する。", "６００Ｗで～３０秒加熱する。"),
        ("ｶﾞﾗｽ①㎏½", "ガラス１ｋｇ１⁄２"),
        ("a\u00a0b\u2003c\td", "ａｂｃｄ"),
    ],
)
def test_normalising(text, line):
    assert normalise(text) == line


def naive_align(ones, others):
    """All best alignments, one by one; a partner counts if all of them have it."""

    def alignments(i, j):
        if i == len(ones):
            yield []
            return
        yield from ([None, *rest] for rest in alignments(i + 1, j))
        for k in range(j, len(others)):
            if ones[i] == others[k]:
                yield from ([k, *rest] for rest in alignments(i + 1, k + 1))

    found = [(len(ones) - pairs.count(None), pairs) for pairs in alignments(0, 0)]
    best = [pairs for count, pairs in found if count == max(number for number, _ in found)] if ones else [[]]
    columns = list(zip(*best, strict=True))
    return [column[0] if len(set(column)) == 1 else None for column in columns]


@given(st.text("ab", max_size=5), st.text("abc", max_size=5))
def test_alignment_is_what_all_best_alignments_agree_on(ones, others):
    assert align(ones, others, str.__eq__) == naive_align(ones, others)


RANGES = ((0x20, 0x7E), (0x3000, 0x3002), (0x3041, 0x3096), (0x30A1, 0x30FC), (0x4E00, 0x4EFF), (0xFF01, 0xFF9D))
JAPANESE = st.text(st.one_of(*(st.characters(min_codepoint=low, max_codepoint=high) for low, high in RANGES)))
"""What recipes are written in. Free-standing accents, which a removed space would join to a letter, are not in it."""


@given(st.text())
def test_a_normalised_line_has_no_space_and_no_ascii(text):
    line = normalise(text)
    assert not any(character.isspace() or "!" <= character <= "~" for character in line)


@given(JAPANESE)
def test_normalising_twice_is_normalising_once(text):
    assert normalise(normalise(text)) == normalise(text)


@given(JAPANESE, JAPANESE)
def test_spaces_and_line_breaks_never_count(one, other):
    assert normalise(f"{one} \u3000\r\n{other}") == normalise(f"{one} {other}")


@pytest.mark.parametrize("make_page", [state_page, json_ld_page])
@pytest.mark.parametrize(
    "recipe", [*RECIPES, *(devise_recipe(5, index).recipe for index in range(30))], ids=lambda r: r.id
)
def test_a_page_gives_back_the_text_it_was_made_from(recipe, make_page):
    text = read_back(recipe, make_page)
    assert text == text_of(recipe)
    assert fit_text(text, without_text(recipe)).fits


def test_a_page_without_numbers_takes_the_preparation_from_the_annotation():
    page = read_page(json_ld_page(page_fields(EGG), None), "here")
    assert page.instructions[0] == PageInstruction("水を沸かし\r\nます。 ")
    assert [line[:3] for line in page_text(page, without_text(EGG)).instructions] == ["準備．", "１．卵", "２．殻"]


RECIPE = devise_recipe(0, 3).recipe


def edited(section: str, change) -> list[list[int | None]]:
    """What is still usable after ``change`` edited the texts of a section."""
    texts = list(getattr(text_of(RECIPE), section))
    change(texts)
    fitted = fit_text(replace(text_of(RECIPE), **{section: tuple(texts)}), without_text(RECIPE))
    assert not fitted.fits
    other = 1 - ("ingredients", "instructions").index(section)
    assert list(fitted.lines[other]) == list(range(len(RECIPE.sections[other])))
    return list(fitted.lines[1 - other])


def test_an_edited_line_is_not_used_and_the_others_are():
    def change(texts):
        texts[1] += "おいしいです。"

    assert edited("instructions", change) == [0, None, 2, 3, 4, 5]
    assert edited("ingredients", change) == [0, None, 2, 3, 4]


def test_lines_after_an_inserted_ingredient_are_found_again():
    assert edited("ingredients", lambda texts: texts.insert(1, "ブラックペッパーひとつまみ")) == [0, 2, 3, 4, 5]
    assert edited("ingredients", lambda texts: texts.pop(2)) == [0, 1, None, 2, 3]


def test_two_lines_that_could_both_be_the_annotated_one_are_not_used():
    assert edited("ingredients", lambda texts: texts.insert(3, texts[3])) == [0, 1, 2, None, 5]


def test_an_instruction_with_another_number_has_changed():
    def insert(texts):
        texts[2:] = ["２．水を飲みます。", *(chr(ord(text[0]) + 1) + text[1:] for text in texts[2:])]

    assert edited("instructions", insert) == [0, 1, None, None, None, None]


def test_a_line_of_the_same_length_with_other_words_is_not_taken_for_the_annotated_one():
    def change(texts):
        texts[0] += "。"
        texts[2] = texts[2][:2] + "あいうえおかきくけこさしすせそたちつてとなにぬねの"[: len(texts[2]) - 2]

    assert edited("instructions", change)[:3] == [None, 1, None]


def test_changed_text_is_kept_beside_the_release_and_never_in_it(tmp_path):
    write_release(tmp_path / "r", [without_text(SALAD)])
    (recipe,) = read_release(tmp_path / "r")
    text = text_of(SALAD)
    text = replace(text, ingredients=(*text.ingredients, "酢少々"))
    write_text(tmp_path / "r", recipe, fit_text(text, recipe))
    assert check_release(tmp_path / "r") == []
    (again,) = read_release(tmp_path / "r")
    assert not again.has_text
    row = json.loads((tmp_path / "r/recipes" / SALAD.id / "text-changed.json").read_text(encoding="utf-8"))
    assert row["problems"] and row["ingredients"]["found"][3] == "酢少々"
    usable = attach_changed(again, tmp_path / "r")
    assert [line.text for line in usable.instructions] == [line.text for line in SALAD.instructions]
    assert usable.ingredients[2].text is None  # it may be 塩少々 or 酢少々
