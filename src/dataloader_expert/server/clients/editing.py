"""Changes JSON with comments in place: what is not ours keeps its bytes.

Every change is parsed again and compared with the intended one, so that a layout that this module does not foresee
ends in an error, never in a broken file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from dataloader_expert.server.clients.jsonc import COMMENT, Member, Node, Unparsable, parsed, skipped_space


def value_at(text: str, path: Sequence[str]) -> Any:
    """The value at a path of keys, or None if there is none."""
    node: Node | None = parsed(text)
    for key in path:
        node = _child(node, key) if node is not None else None
    return None if node is None else node.value


def with_value(text: str, path: Sequence[str], value: Any) -> str:
    """The text with ``value`` at the path; missing objects on the way are created.

    Raises:
        Unparsable: if it cannot be parsed, contains a key of the path twice, or has something other than an object on the way.
    """
    node, depth = _followed(text, path)
    if depth == len(path):
        lines = "\n" in text[node.start : node.end]
        new = _formatted(value, _indent_of(text, node.start), text) if lines else _on_one_line(value)
        return _checked(text, _spliced(text, (node.start, node.end, new)), path, value)
    for key in reversed(path[depth + 1 :]):
        value_in = value
        value = {key: value_in}
    made = _inserted(text, node, path[depth], value)
    return _checked(text, made, path[: depth + 1], value)


def without(text: str, path: Sequence[str]) -> str:
    """The text without the last key of the path; unchanged if the path leads nowhere."""
    *above, key = path
    node, depth = _followed(text, above)
    member = next((m for m in node.members if m.key == key), None) if depth == len(above) else None
    if member is None:
        return text
    return _checked(text, _removed(text, node, member), path, None)


def _checked(before: str, after: str, path: Sequence[str], value: Any) -> str:
    meant: Any = parsed(before).value
    inner = meant
    for key in path[:-1]:
        inner = inner[key]
    if value is None:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    if parsed(after).value != meant:
        raise Unparsable("its layout cannot be changed safely")
    return after


def _followed(text: str, path: Sequence[str]) -> tuple[Node, int]:
    """The deepest existing node on the path, and how many keys were found."""
    node = parsed(text)
    for depth, key in enumerate((*path, None)):
        if key is None:
            return node, depth
        if not isinstance(node.value, dict):
            where = ".".join(path[:depth]) or "the whole"
            raise Unparsable(f"{where} is {_kind(node.value)}, where an object is needed")
        found = _child(node, key)
        if found is None:
            return node, depth
        node = found
    raise AssertionError("the loop returns")


def _child(node: Node, key: str) -> Node | None:
    found = [m.node for m in node.members if m.key == key]
    if len(found) > 1:
        raise Unparsable(f"the key {json.dumps(key)} occurs twice")
    return found[0] if found else None


def _kind(value: Any) -> str:
    kinds: dict[type, str] = {list: "a list", str: "a string", bool: "a truth value", type(None): "null"}
    return kinds.get(type(value), "a number" if isinstance(value, int | float) else "an object")


def _inserted(text: str, node: Node, key: str, value: Any) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    outer = _indent_of(text, node.start)
    if not node.members:
        inner = outer + _unit(text)
        told = f"{newline}{inner}{json.dumps(key)}: {_formatted(value, inner, text)}{newline}{outer}"
        body = text[node.start + 1 : node.end - 1]
        if not body.strip():
            return _spliced(text, (node.start + 1, node.end - 1, told))
        at = node.start + 1 + len(body.rstrip())  # comments stay where they are
        return _spliced(text, (at, node.end - 1, told))
    last = node.members[-1]
    end = last.node.end if last.comma is None else last.comma + 1
    at = _line_comments(text, end)
    lines = "\n" in text[node.start : node.members[0].start] or "//" in text[end:at]
    inner = _indent_of(text, last.start) if lines else ""
    shown = _formatted(value, inner, text) if lines else _on_one_line(value)
    told = f"{newline + inner if lines else ' '}{json.dumps(key)}: {shown}"
    if last.comma is not None:
        return _spliced(text, (at, at, told + ","))
    return _spliced(text, (end, at, "," + text[end:at] + told))


def _removed(text: str, node: Node, member: Member) -> str:
    at = node.members.index(member)
    end = member.node.end if member.comma is None else member.comma + 1
    before = text[: member.start].rstrip()
    follows = text[end : skipped_space(text, end)]
    start = len(before)
    token = node.start if at == 0 else node.members[at - 1].comma
    assert token is not None  # a member before another one has a comma
    if _ends_in_line_comment(text[token + 1 : member.start]) and "\n" not in follows:
        start = member.start  # the line break ends the comment, and must stay
    pieces = [(start, end, "")]
    if member.comma is None and at:  # the last of several, without a comma: the comma before it goes too
        pieces.insert(0, (token, token + 1, ""))
    made = _spliced(text, *pieces)
    if len(node.members) == 1:
        closing = node.end - sum(e - s for s, e, _ in pieces)
        if not made[node.start + 1 : closing - 1].strip():
            made = _spliced(made, (node.start + 1, closing - 1, ""))
    return made


def _ends_in_line_comment(gap: str) -> bool:
    """Whether whitespace and comments end with a comment that only the line break terminates."""
    found = COMMENT.findall(gap)
    return bool(found) and found[-1].startswith("//")


def _line_comments(text: str, at: int) -> int:
    """Where the comments on the rest of the line end."""
    end = at
    while True:
        begun = end
        while begun < len(text) and text[begun] in " \t":
            begun += 1
        comment = COMMENT.match(text, begun)
        if comment is None:
            return end
        end = comment.end()


def _formatted(value: Any, indent: str, text: str) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = json.dumps(value, indent=_unit(text), ensure_ascii=False).split("\n")
    return (newline + indent).join(lines)


def _on_one_line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _unit(text: str) -> str:
    """One step of the file's indentation; two spaces if it has none."""
    found = re.search(r"^([ \t]+)\S", text, re.MULTILINE)
    return found.group(1) if found else "  "


def _indent_of(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    found = re.match(r"[ \t]*", line)
    return found.group() if found else ""


def _spliced(text: str, *pieces: tuple[int, int, str]) -> str:
    """Replaces each (start, end, new), from the end, so that earlier positions stay valid."""
    for start, end, new in sorted(pieces, reverse=True):
        text = text[:start] + new + text[end:]
    return text
