"""JSON with comments is changed in place: nothing of the user's is lost, and what was added can be taken out."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataloader_expert.server.clients.editing import value_at, with_value, without
from dataloader_expert.server.clients.jsonc import COMMENT, STRING, Unparsable, parsed

ENTRY = {"command": "x", "args": ["serve"]}
PATH = ("servers", "dataloader-expert")

LAYOUTS = [
    pytest.param("{}", id="empty"),
    pytest.param('{"a": 1}', id="one line"),
    pytest.param('{\n  "a": 1\n}\n', id="two spaces"),
    pytest.param(
        '{\n\t"a": 1, // x\n\t"b": [1, 2,], /* y */ // z\n}', id="tabs, comments behind, trailing comma in a list"
    ),
    pytest.param(
        '{\r\n    "servers": {\r\n        "x": {"c": "http://u"}\r\n    },\r\n    "inputs": []\r\n}', id="CRLF"
    ),
    pytest.param("// top\n{\n  // only\n}\n", id="nothing but comments"),
    pytest.param('{"servers": {}}', id="an empty object of servers"),
    pytest.param('{\n  "servers": {\n    "o": {}, // keep\n  }, // k\n}', id="trailing commas"),
    pytest.param('\ufeff{"a":1 // c\n}', id="byte order mark, and a comment that ends a line"),
    pytest.param('{"a": 1, "servers": {"x": 1}, "z": 2}', id="one line, in the middle"),
    pytest.param('{\n  "servers": { // mine\n    "x": 1 /* a */ // b\n    // tail\n  }\n}', id="comments all around"),
    pytest.param('{\n  "u": "http://a//b", "servers": {"x": "}{,"}\n}', id="signs inside strings"),
]


def comments(text: str) -> list[str]:
    return COMMENT.findall(STRING.sub('""', text))


@pytest.mark.parametrize("text", LAYOUTS)
def test_an_entry_goes_in_and_out_and_leaves_the_text_as_it_was(text: str) -> None:
    """Our promise: comments, layout, line ends and order stay."""
    had = value_at(text, PATH[:1]) is not None
    with_it = with_value(text, PATH, ENTRY)
    assert value_at(with_it, PATH) == ENTRY
    assert comments(with_it) == comments(text)
    if "\r" in text:
        assert with_it.count("\n") == with_it.count("\r\n")
    assert without(with_it, PATH if had else PATH[:1]) == text


@pytest.mark.parametrize("text", LAYOUTS)
def test_a_value_is_replaced_in_its_place(text: str) -> None:
    """Our promise: what stands around a replaced value stays."""
    first = with_value(text, PATH, ENTRY)
    assert with_value(with_value(first, PATH, {"command": "y"}), PATH, ENTRY) == first


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param('{"a":', "a value is expected", id="cut short"),
        pytest.param('{"a": 1 "b": 2}', ", or } is expected", id="no comma"),
        pytest.param("{'a': 1}", "a key in double quotes", id="single quotes"),
        pytest.param('{"a": NaN}', "a value is expected", id="no number"),
        pytest.param('{"a": 1} x', "nothing more is expected", id="something behind"),
        pytest.param('{"a": "\\x"}', "an escape that JSON does not know", id="a wrong escape"),
        pytest.param("[" * 5000, "nested deeper", id="very deep"),
        pytest.param('{"servers": []}', "servers is a list", id="a list where the servers belong"),
        pytest.param('{"servers": {}, "servers": {}}', "twice", id="the same key twice"),
        pytest.param("[]", "the whole is a list", id="a list"),
    ],
)
def test_what_cannot_be_read_is_refused(text: str, said: str) -> None:
    """Our promise: nothing is guessed about a file that is broken."""
    with pytest.raises(Unparsable, match=said):
        with_value(text, PATH, ENTRY)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(
    value=st.dictionaries(st.text(max_size=4), JSON, max_size=4),
    indent=st.sampled_from([None, 1, 2, 4, "\t"]),
    ascii_=st.booleans(),
    key=st.text(max_size=4),
)
def test_any_json_is_read_as_json_does_and_changed_only_where_meant(
    value: dict[str, Any], indent: int | str | None, ascii_: bool, key: str
) -> None:
    """Our promise: for what json writes, the reader agrees with json, and the other values stay."""
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_)
    assert parsed(text).value == value
    changed = with_value(text, (key,), ENTRY)
    assert json.loads(changed) == {**value, key: ENTRY}
    rest = {k: v for k, v in value.items() if k != key}
    assert json.loads(without(changed, (key,))) == rest
    if key not in value:
        assert without(changed, (key,)) == text
