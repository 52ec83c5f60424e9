import hashlib

import pytest

from recipeflow.errors import BrokenJSONError, EncodingError, WrongTypeError
from recipeflow.release import ReleaseInfo, check_release, read_info
from tests.making import INFO


def test_it_comes_back_as_it_was_written(release):
    assert read_info(release) == INFO


def test_nothing_is_known_without_it(release):
    (release / "release.json").unlink()
    assert read_info(release) == ReleaseInfo()
    assert check_release(release) == []


def test_other_keys_cannot_displace_the_main_ones():
    assert ReleaseInfo(source="a", details={"source": "b"}).to_json().count("source") == 1
    assert '"source": "a"' in ReleaseInfo(source="a", details={"source": "b"}).to_json()


INFOS = {
    "broken": ("{", BrokenJSONError, "byte 1"),
    "a list": ("[]", WrongTypeError, "byte 0"),
    "source is a number": ('{"source": 3}', WrongTypeError, "source"),
    "glossary is a list": ('{"glossary": []}', WrongTypeError, "glossary"),
    "glossary of numbers": ('{"glossary": {"卵": 1}}', WrongTypeError, "glossary"),
    "a key twice": ('{"a": 1, "a": 2}', WrongTypeError, None),
    "not a number": ('{"a": NaN}', WrongTypeError, None),
    "infinite": ('{"a": 1e999}', WrongTypeError, None),
    "half a surrogate pair": ('{"version": "\\ud83c"}', EncodingError, None),
}


@pytest.mark.parametrize("name", INFOS)
def test_a_bad_release_json(release, name):
    text, kind, place = INFOS[name]
    (release / "release.json").write_text(text, encoding="utf-8")
    (problem,) = check_release(release)
    assert (type(problem), problem.file, problem.recipe, problem.place) == (kind, "release.json", None, place)
    with pytest.raises(kind):
        read_info(release)


def test_every_mistake_of_release_json_is_found(release):
    (release / "release.json").write_text('{"source": 1, "licence": [], "glossary": 3}', encoding="utf-8")
    assert [p.place for p in check_release(release)] == ["source", "licence", "glossary"]


def test_both_spellings_of_the_license_are_read(release):
    for key in ("licence", "license"):
        (release / "release.json").write_text(f'{{"{key}": "CC0"}}', encoding="utf-8")
        assert check_release(release) == []
        assert read_info(release) == ReleaseInfo(licence="CC0")


def test_a_bare_copy_of_the_official_annotations_is_recognised(official, tmp_path):
    data = (official / "annotations.json").read_bytes()
    assert hashlib.sha256(data).hexdigest().startswith("ffb2d7da")
    (tmp_path / "annotations.json").write_bytes(data)
    assert read_info(tmp_path) == ReleaseInfo(source="official", licence="MIT")
    (tmp_path / "annotations.json").write_bytes(data + b"\n")
    assert read_info(tmp_path) == ReleaseInfo()
