"""Lines of JSON that are parsed in one go are each judged by itself."""

from __future__ import annotations

from dataloader_expert.sources.jsonl import Parser


def test_lines_that_make_sense_only_together_are_looked_at_one_by_one() -> None:
    """Our promise: a line that is no object is told, whatever its neighbours hold."""
    plain = [b'{"a": 1}', b'{"a": [1, {"b": 2}]}']
    odd = [[b'{"a": 1}, {"a": 2}', b'{"a": [1', b"2]}"], [b'{"a": 1, "a": 2}'], [b"[1]"], [b'{"a": "\\ud800"}'], [b""]]
    assert [found for _, found in Parser().each(plain)] == [{"a": 1}, {"a": [1, {"b": 2}]}]
    for lines in odd:
        assert [found for _, found in Parser().each(lines)] == [None] * len(lines)
