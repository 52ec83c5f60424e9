import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recipeflow.errors import BrokenJSONError, EncodingError, MissingFileError, VRFError, WrongTypeError
from recipeflow.release import jsonstream
from recipeflow.release.jsonstream import stream_object

CHUNKS = [1, 2, 3, 7, 64, jsonstream.CHUNK]


@pytest.fixture(params=CHUNKS)
def chunk(request, monkeypatch):
    monkeypatch.setattr(jsonstream, "CHUNK", request.param)


@pytest.fixture
def read(tmp_path):
    """Read these bytes as a stream of members."""

    def read(data: bytes, **options):
        path = tmp_path / "x.json"
        path.write_bytes(data)
        return list(stream_object(path, "x.json", **options))

    return read


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        " {\n}\t\r\n",
        '{"a": 1}',
        '{"a": -12.5e3, "b": null, "c": true, "d": "x"}',
        '{"卵": {"油": ["塩", "\\u5869", "😀"]}, "b" :[ ] , "a,}": "]}"}',
        '{"\\"": "\\\\"}',
        '{"long": "' + "é" * 500 + '", "n": [1, [2, [3]]]}',
    ],
)
def test_members_come_in_order_whatever_the_chunk(chunk, read, text):
    assert read(text.encode()) == list(json.loads(text).items())


def test_repeated_keys_are_all_given(chunk, read):
    assert read(b'{"a": 1, "a": 2}') == [("a", 1), ("a", 2)]


# ▲ stands before the byte at which reading must fail.
BROKEN = {
    "nothing": "▲",
    "only space": "  ▲",
    "no JSON": "▲hello",
    "byte order mark": "▲\ufeff{}",
    "cut in a value": '{"a": [1, 2▲',
    "cut after a value": '{"a": 1▲',
    "cut in a number": '{"a": 1▲.',
    "cut after a comma": '{"a": 1,▲',
    "cut in a key": '{"a": 1, ▲"b',
    "trailing comma": '{"a": 1,▲}',
    "key without quotes": "{▲a: 1}",
    "key that is a number": "{▲1: 1}",
    "no colon": '{"a" ▲1}',
    "no value": '{"a": ▲}',
    "no comma": '{"a": 1 ▲"b": 2}',
    "no comma inside": '{"a": [1 ▲2]}',
    "something behind": '{"a": 1} ▲x',
    "another object": "{}▲{}",
    "single quotes": "{▲'a': 1}",
    "raw line break in text": '{"a": "x▲\ny"}',
    "bad escape": '{"a": "▲\\x"}',
    "behind other bytes": '{"卵": "塩", "油": [1, ▲}',
    "behind two members": '{"卵": {"塩": "😀"}, "b": {}, "油": ▲nul}',
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_json_names_the_byte(chunk, read, name):
    before, after = BROKEN[name].split("▲")
    byte = len(before.encode())
    with pytest.raises(BrokenJSONError) as caught:
        read((before + after).encode())
    assert caught.value.place == f"byte {byte}"
    assert f"at byte {byte}:" in caught.value.message
    assert caught.value.file == "x.json"
    assert "found" in caught.value.message


def test_members_before_the_break_are_given(tmp_path):
    path = tmp_path / "x.json"
    path.write_text('{"a": 1, "b": [2}', encoding="utf-8")
    stream = stream_object(path, "x.json")
    assert next(stream) == ("a", 1)
    with pytest.raises(BrokenJSONError):
        next(stream)


@pytest.mark.parametrize(("of_recipes", "recipe"), [(True, "b"), (False, None)])
def test_the_recipe_of_a_break_is_named(chunk, read, of_recipes, recipe):
    with pytest.raises(BrokenJSONError) as caught:
        read(b'{"a": 1, "b": [2}, "c": 3}', of_recipes=of_recipes)
    assert caught.value.recipe == recipe


def test_a_break_between_recipes_belongs_to_none(read):
    with pytest.raises(BrokenJSONError) as caught:
        read(b'{"a": 1; "b": 2}', of_recipes=True)
    assert caught.value.recipe is None


@pytest.mark.parametrize("text", ["[]", "[1, 2]", '"x"', "3", "null", "true"])
def test_another_kind_of_json(chunk, read, text):
    with pytest.raises(WrongTypeError, match="expected a JSON object, found"):
        read(text.encode())


@pytest.mark.parametrize(
    ("data", "byte"),
    [
        (b"\xff\xfe{", 0),
        (b'{"a": "\xff"}', 7),
        ('{"卵": "塩'.encode() + b"\xe5\x28", 12),
        ('{"a": "塩'.encode()[:-1], 7),
        (b'{"a": 1, "b": "' + "é".encode("latin-1") + b'"}', 15),
        ('{"a": "塩"}'.encode("utf-16-le"), None),
        (b'{"a": "\xed\xa0\x80"}', 7),
    ],
)
def test_other_encodings_name_the_byte(chunk, read, data, byte):
    with pytest.raises((EncodingError, BrokenJSONError)) as caught:
        read(data)
    if byte is not None:
        assert type(caught.value) is EncodingError
        assert caught.value.place == f"byte {byte}"
        assert caught.value.value == f"0x{data[byte]:02x}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": ' + "[" * 100_000 + "]" * 100_000 + "}", "brackets"),
        ('{"a": ' + '{"x":' * 5_000 + "1" + "}" * 5_000 + "}", "brackets"),
        ('{"a": [' + "9" * 10_000 + "]}", "digits"),
        ('{"a": {"x": 1, "x": 2}}', "each key once"),
    ],
    ids=["deep lists", "deep objects", "huge number", "repeated key"],
)
def test_what_python_cannot_hold_is_broken_too(read, text, expected):
    with pytest.raises(BrokenJSONError, match=expected) as caught:
        read(text.encode())
    assert caught.value.place == "byte 6"


def test_a_broken_file_is_not_read_to_its_end(tmp_path, monkeypatch):
    monkeypatch.setattr(jsonstream, "CHUNK", 64)
    path = tmp_path / "x.json"
    path.write_bytes(b'{"a": [1 2], "b": "' + b"x" * 1_000_000 + b'"}')
    with path.open("rb") as source:
        reader = jsonstream._Reader(source, "x.json")
        with pytest.raises(BrokenJSONError):
            list(reader.members())
        assert source.tell() < 1000


def test_a_missing_file(tmp_path):
    with pytest.raises(MissingFileError, match="No such file") as caught:
        list(stream_object(tmp_path / "x.json", "x.json", "look elsewhere"))
    assert caught.value.value == str(tmp_path / "x.json")
    assert caught.value.hint == "look elsewhere"


def test_a_folder_where_the_file_should_be(tmp_path):
    with pytest.raises(MissingFileError, match="Is a directory"):
        list(stream_object(tmp_path, "x.json"))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=8,
)


@given(members=st.dictionaries(st.text(max_size=4), VALUES, max_size=4), size=st.integers(1, 40), data=st.data())
def test_streaming_equals_parsing_at_once(tmp_path_factory, members, size, data):
    text = json.dumps(members, ensure_ascii=data.draw(st.booleans()), indent=data.draw(st.sampled_from([None, 2])))
    path = tmp_path_factory.getbasetemp() / "stream.json"
    path.write_bytes(text.encode("utf-8"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jsonstream, "CHUNK", size)
        assert list(stream_object(path, "x.json")) == list(members.items())


@given(cut=st.integers(0, 100), junk=st.binary(max_size=6), size=st.sampled_from([1, 5, 1000]))
def test_junk_gives_the_same_answer_at_every_chunk_size(tmp_path_factory, cut, junk, size):
    data = '{"卵": {"塩": ["😀", 1.5]}, "b": [true, {"油": -1}], "c": "\\u3042"}'.encode()
    data = data[:cut] + junk + data[cut + len(junk) :]
    path = tmp_path_factory.getbasetemp() / "junk.json"
    path.write_bytes(data)
    with pytest.MonkeyPatch.context() as patch:
        answers = []
        for chunk in (jsonstream.CHUNK, size):
            patch.setattr(jsonstream, "CHUNK", chunk)
            try:
                answers.append(repr(list(stream_object(path, "x.json"))))
            except VRFError as error:
                answers.append((error.kind, error.place))
    # Bytes that are not UTF-8 may lie behind a break, where a small window does not look.
    assert answers[0] == answers[1] or answers[0][0] == "EncodingError"
