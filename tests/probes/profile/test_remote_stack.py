"""Stacks read from another process's memory: what that process itself says of its frames, line by line."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dataloader_expert.probes.profile.remote_stack import Memory, Reader, Stack, find_layout
from dataloader_expert.probes.profile.sampling_profiler import let_read, thread_state

Inner = Callable[[], Any]


def plainly(inner: Inner) -> Any:
    return (
        1,
        inner(),
    )[1]


def größer(inner: Inner) -> Any:
    (found,) = [inner() for _ in range(1)]
    return found


def 読む(inner: Inner) -> Any:
    def generate() -> Iterator[Any]:
        yield None
        yield inner()

    return list(generate())[1]


def through_c(inner: Inner) -> Any:
    found: list[Any] = []
    sorted([0], key=lambda _: found.append(inner()) or 0)  # type: ignore[func-returns-value]  # the key is 0
    return found[0]


class Called:
    def __init__(self, inner: Inner) -> None:
        self.inner = inner

    def __getitem__(self, index: int) -> Any:
        return self.inner()


def by_index(inner: Inner) -> Any:
    return Called(inner)[3]


KINDS = (plainly, größer, 読む, through_c, by_index)


def marked(inner: Inner) -> Any:
    return inner()


@dataclass
class Scribe:
    """A child that answers each byte with this process's stack below ``marked``, and what its innermost frame executes."""

    ask: int
    answer: int

    def compared(self) -> tuple[Stack, Stack]:
        """What the child reads, and what is so."""
        own, here = [], sys._getframe()
        while here.f_code.co_name != "marked":
            own.append((here.f_code.co_filename, here.f_lineno, here.f_code.co_name))
            assert here.f_back is not None
            here = here.f_back
        line, _, read = sys._getframe().f_lineno, os.write(self.ask, b"?"), os.read(self.answer, 1 << 20)
        own[0] = (own[0][0], line, own[0][2])
        return tuple((f, n, g) for f, n, g in json.loads(read)[0]), tuple(own)


@pytest.fixture(scope="module")
def scribe() -> Iterator[Scribe]:
    asked, ask = os.pipe()
    answer, told = os.pipe()
    pid, state, frame = os.getpid(), thread_state(), sys._getframe()
    child = os.fork()
    if child == 0:
        try:
            os.read(asked, 1)
            layout = find_layout(pid, state, frame)
            os.write(told, b"found" if layout else b"none")
            assert layout is not None
            reader = Reader(Memory(pid), layout, state)
            while os.read(asked, 1) != b".":
                os.write(told, json.dumps([reader.stack("marked"), reader.columns()]).encode())
        finally:
            os._exit(0)
    let_read(child)
    os.write(ask, b"!")
    assert os.read(answer, 5) == b"found"
    yield Scribe(ask, answer)
    os.write(ask, b".")
    os.waitpid(child, 0)
    for fd in (asked, ask, answer, told):
        os.close(fd)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(KINDS), max_size=12))
def test_a_stack_is_what_its_own_process_says(scribe: Scribe, kinds: list[Callable[[Inner], Any]]) -> None:
    """Our promise: files, lines and functions, through generators, calls from C and names in any script."""
    inner: Inner = scribe.compared
    for kind in kinds:
        inner = (lambda k, i: lambda: k(i))(kind, inner)
    read, own = marked(inner)
    assert read == own


def test_without_the_mark_there_is_no_stack(scribe: Scribe) -> None:
    """A stack of something else counts for nothing."""
    os.write(scribe.ask, b"?")
    assert json.loads(os.read(scribe.answer, 1 << 20))[0] == []


@pytest.mark.skipif(sys.version_info < (3, 11), reason="code objects tell lines alone")
def test_the_part_of_a_line_is_known_that_a_frame_executes(scribe: Scribe) -> None:
    """Our promise: of several calls on a line the one that takes the time is told, whatever was computed for it."""

    def inner() -> Any:
        os.write(scribe.ask, b"?"), (read := os.read(scribe.answer, sum(1 << k for k in range(20))))
        return json.loads(read)

    file, seen = Path(__file__).read_text(encoding="utf-8").splitlines(), set()
    until = time.monotonic() + 20
    while time.monotonic() < until:  # on a busy machine it is asked while the question is still being written
        _, (first, last, begin, end) = marked(inner)
        assert first == last
        seen.add(file[first - 1].encode()[begin:end].decode())
        if any("read" in text for text in seen):
            break
    assert seen <= {'os.write(scribe.ask, b"?")', "os.read(scribe.answer, sum(1 << k for k in range(20)))"}
    assert any("read" in text for text in seen)


def test_what_may_not_be_read_is_not_guessed() -> None:
    """A process that has ended has no layout; an address that leads nowhere is an error, not a crash."""
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    assert find_layout(child, thread_state(), sys._getframe()) is None
    assert find_layout(os.getpid(), 8, sys._getframe()) is None
    memory = Memory(os.getpid())
    for at in (0, 8, 1 << 46, -1):
        with pytest.raises(OSError, match=r"address|Input|bytes"):
            memory.number(at)
    memory.close()
