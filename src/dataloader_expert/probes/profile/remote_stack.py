"""The Python stack of another process, read from its memory: the process is not stopped or signalled and runs no extra
code.

CPython's layout of frames differs between versions and is therefore searched for: a process reads the one that forked
it, whose frames, code objects and strings it knows from its own copy. If they are not found, nothing is read. A stack
may change while it is read; it is discarded if anything on the way is not a code object.
"""

from __future__ import annotations

import dis
import functools
import os
import struct
import sys
from bisect import bisect_right
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, field
from itertools import pairwise
from types import CodeType, FrameType

Stack = tuple[tuple[str, int, str], ...]
"""Frames ``(file, line, function)``, innermost first."""

Buffer = bytes
"""Another name for the type, as ``Memory`` has a method called bytes."""
WORD = 8
WHOLE_WORD, HALF_WORD = struct.Struct("<Q").unpack_from, struct.Struct("<I").unpack_from
FRAME, STATE = 16 * WORD, 64 * WORD
"""How far into a frame, and into a thread's state, members are searched for."""
Columns = tuple[int, int, int, int]
"""A part of a source: first and last line, first column and the one after the last, in bytes of UTF-8."""
NOTHING = bytes((dis.opmap["NOP"], 0))
"""An instruction that does nothing."""
BLOCK = 4096
DEEPEST = 400
TEXT_STATE = 34 if sys.version_info >= (3, 14) else 32
"""The byte that distinguishes the kinds of strings."""
KNOWN_TEXTS = tuple(
    ("".join(map(chr, range(first, first + 24))), encoding)
    for first, encoding in ((65, "latin-1"), (200, "latin-1"), (0x2200, "utf-16-le"), (0x1F600, "utf-32-le"))
)


class Memory:
    """A process's memory, read in blocks, which :meth:`forget` drops: a stack lies in one or two.

    Raises:
        OSError: if it may not be read, or nothing is mapped.
    """

    def __init__(self, pid: int) -> None:
        self.fd = os.open(f"/proc/{pid}/mem", os.O_RDONLY)
        self.blocks: dict[int, bytes] = {}

    def close(self) -> None:
        os.close(self.fd)

    def forget(self) -> None:
        self.blocks.clear()

    def bytes(self, at: int, n: int) -> bytes:
        if not BLOCK <= at < 1 << 47 or not 0 <= n <= 1 << 22:
            raise OSError(f"no address: {at:#x}")
        block, begins = self.around(at, n)
        return block[begins : begins + n]

    def around(self, at: int, n: int) -> tuple[Buffer, int]:
        """A buffer that contains ``n`` bytes from ``at`` on, and their offset in it."""
        start = at & -BLOCK
        block, begins = self.blocks.get(start), at - start
        if begins + n > BLOCK:
            block, begins = os.pread(self.fd, n, at), 0
        elif block is None:
            block = self.blocks[start] = os.pread(self.fd, BLOCK, start)
        if len(block) < begins + n:
            raise OSError(f"{len(block) - begins} of {n} bytes at {at:#x}")
        return block, begins

    def number(self, at: int, size: int = WORD) -> int:
        return int.from_bytes(self.bytes(at, size), "little")

    def pointer(self, at: int) -> int:
        """The pointer at an address; some versions tag pointers in their lowest bits."""
        return self.number(at) & ~3

    def where(self, at: int, value: int, span: int, size: int = WORD) -> set[int]:
        """The offsets from ``at`` at which ``value`` is found."""
        read = self.pointer if size == WORD and value % 4 == 0 else lambda a: self.number(a, size)
        return {offset for offset in range(0, span, size) if read(at + offset) == value}


@dataclass(frozen=True)
class Layout:
    """Offsets in bytes: ``head``: pointers from a thread's state to its innermost frame; in a frame its code, its
    caller's frame and its instruction (if ``counted``, the number of instructions before it); in a code object its
    file, name, first line and line table. ``texts``: by the state bits under ``mask``, which distinguish kinds of
    strings: where the characters begin, how wide each is, and their encoding."""

    head: tuple[int, ...]
    code: int
    back: int
    instruction: int
    counted: bool
    file: int
    name: int
    line: int
    table: int
    mask: int
    texts: dict[int, tuple[int, int, str]]


def find_layout(pid: int, state: int, frame: FrameType) -> Layout | None:
    """The layout of process ``pid``, which forked this one and waits in ``frame``; None if it cannot be determined.

    Args:
        state: the address of its first thread's state.
        frame: this process's copy of it; up to seven of its callers are compared too, and at least one is needed.
    """
    try:
        with closing(Memory(pid)) as memory, closing(Memory(os.getpid())) as own:
            return _found(memory, own, state, frame)
    except (OSError, ValueError):  # not permitted; min() of nothing
        return None


def _found(memory: Memory, own: Memory, state: int, frame: FrameType) -> Layout:
    known = [frame]
    while known[-1].f_back is not None and len(known) < 8:
        known.append(known[-1].f_back)
    code: set[int] = set()
    at: list[int] = []
    for inside in (0, *range(2 * WORD, 6 * WORD, WORD)):  # a frame object is the frame, or points to it
        at = [own.pointer(id(f) + inside) if inside else id(f) for f in known]
        if all(at):
            code = _common(memory.where(a, id(f.f_code), FRAME) for a, f in zip(at, known, strict=True))
            if code:
                break
    # for a call from C into Python some versions insert a frame of their own
    backs = [memory.where(a, b, FRAME) for a, b in pairwise(at)]
    outer = [(a, f.f_lasti, id(f.f_code)) for a, f in zip(at, known, strict=True)][1:]  # the waiting frame has moved on
    pointed = _common(memory.where(a, begin(c) + lasti, FRAME) for a, lasti, c in outer)
    counted = _common(memory.where(a, lasti // 2, FRAME, 4) for a, lasti, _ in outer)
    codes, size = [f.__code__ for f in (Memory.bytes, Memory.number, os.walk)], CodeType.__basicsize__
    mask, texts = _texts(memory)
    return Layout(
        _head(memory, state, at[0]),
        min(code),
        min(_common(found for found in backs if found)),
        min(pointed or counted),
        not pointed,
        min(_common(memory.where(id(c), id(c.co_filename), size) for c in codes)),
        min(_common(memory.where(id(c), id(c.co_name), size) for c in codes)),
        min(_common(memory.where(id(c), c.co_firstlineno, size, 4) for c in codes)),
        min(_common(memory.where(id(c), id(c.co_linetable), size) for c in codes)),
        mask,
        texts,
    )


def _common(found: Iterable[set[int]]) -> set[int]:
    sets = list(found)
    if not sets:
        raise ValueError("too few frames to compare")
    return set.intersection(*sets)


def begin(code: int) -> int:
    """The address of a code object's instructions, in versions where they are part of it."""
    return code + CodeType.__basicsize__


def _head(memory: Memory, state: int, frame: int) -> tuple[int, ...]:
    straight = memory.where(state, frame, STATE)
    if straight:
        return (min(straight),)
    for offset in range(2 * WORD, STATE, WORD):
        try:
            found = memory.where(memory.pointer(state + offset), frame, 4 * WORD)
        except OSError:
            continue
        if found:
            return offset, min(found)
    raise ValueError("the thread's state leads to no frame")


def _texts(memory: Memory) -> tuple[int, dict[int, tuple[int, int, str]]]:
    states = [memory.number(id(text) + TEXT_STATE, 1) for text, _ in KNOWN_TEXTS]
    mask = 0
    for state in states:
        mask |= state ^ states[0]
    found = {}
    for state, (text, encoding) in zip(states, KNOWN_TEXTS, strict=True):
        raw = text.encode(encoding)
        found[state & mask] = (memory.bytes(id(text), 256).index(raw), len(raw) // len(text), encoding)
    return mask, found


@dataclass(frozen=True)
class Code:
    file: str
    name: str
    starts: list[int]
    lines: list[int]
    columns: list[Columns | None]
    """Of each two bytes of instructions the part of the source that they execute; empty in versions that keep none."""

    def line(self, offset: int) -> int:
        """The line of the instruction at ``offset`` bytes."""
        return self.lines[max(0, bisect_right(self.starts, offset) - 1)]


def columns_of(code: CodeType) -> list[Columns | None]:
    """The columns of a code object's line table, whatever its own instructions are."""
    if not hasattr(code, "co_positions"):  # before Python 3.11
        return []
    last = max((end for _, end, _ in code.co_lines()), default=0)
    try:
        positions = code.replace(co_code=NOTHING * (last // 2)).co_positions()
        return [(a, b, c, d) if None not in (a, b, c, d) else None for a, b, c, d in positions]  # type: ignore[misc]  # none is None
    except ValueError:  # a version that accepts no such instructions
        return []


@dataclass
class Reader:
    """Reads the stack of one process's first thread. ``codes``: code objects decoded so far, by address."""

    memory: Memory
    layout: Layout
    state: int
    codes: dict[int, Code] = field(default_factory=dict)
    innermost: tuple[int, int] = (0, 0)
    """Addresses of code and instruction of the last stack's innermost frame."""
    spots: dict[tuple[int, int], tuple[str, int, str]] = field(default_factory=dict)
    """Decoded frames by the addresses of code and instruction."""

    def stack(self, mark: str) -> Stack:
        """The stack down to the function ``mark``, without it; empty if ``mark`` is not on it or the stack changed.

        This runs every few milliseconds next to what is measured, each time with cold caches: so a frame is three
        numbers from a block that is read once, and what they mean is cached.
        """
        self.memory.forget()
        layout, spots, reach, around = self.layout, self.spots, self.reach, self.memory.around
        counter = HALF_WORD if layout.counted else WHOLE_WORD
        found: list[tuple[str, int, str]] = []
        try:
            at = self.state
            for offset in layout.head:
                block, begins = around(at + offset, WORD)
                at = WHOLE_WORD(block, begins)[0]
            for _ in range(DEEPEST):
                block, begins = around(at, reach)
                address = WHOLE_WORD(block, begins + layout.code)[0] & ~3
                key = address, counter(block, begins + layout.instruction)[0]
                spot = spots.get(key)
                if spot is None:
                    spot = spots[key] = self._spot(*key)
                if spot[2] == mark:
                    return tuple(found)
                if spot[2]:
                    if not found:
                        self.innermost = key
                    found.append(spot)
                at = WHOLE_WORD(block, begins + layout.back)[0]
        except (OSError, LookupError, ValueError, OverflowError, struct.error):  # memory has changed
            pass
        return ()

    def columns(self) -> Columns | None:
        """The part of its source that the innermost frame of the last stack executes; None where that is not known."""
        address, instruction = self.innermost
        code = self.codes.get(address)
        if code is None:
            return None
        at = instruction if self.layout.counted else (instruction - begin(address)) // 2
        return code.columns[at] if 0 <= at < len(code.columns) else None

    @functools.cached_property
    def reach(self) -> int:
        return WORD + max(self.layout.code, self.layout.back, self.layout.instruction)

    def _spot(self, address: int, instruction: int) -> tuple[str, int, str]:
        """File, line and function; empty for the frames without code that some versions insert for calls through C."""
        if address == id(None):
            return "", 0, ""
        code = self.codes.get(address) or self._code(address)
        offset = 2 * instruction if self.layout.counted else instruction - begin(address)
        return (code.file, code.line(offset), code.name) if code.lines else ("", 0, "")

    def _code(self, address: int) -> Code:
        memory, layout = self.memory, self.layout
        if memory.number(address + WORD) != id(CodeType):
            raise ValueError(f"no code object at {address:#x}")
        file, name = (self._text(memory.number(address + o)) for o in (layout.file, layout.name))
        table = memory.number(address + layout.table)
        raw = memory.bytes(table + 4 * WORD, memory.number(table + 2 * WORD))
        lined = _found.__code__.replace(co_linetable=raw, co_firstlineno=memory.number(address + layout.line, 4))
        spans = [(start, line) for start, _, line in lined.co_lines() if line is not None]
        found = Code(file, name, [start for start, _ in spans], [line for _, line in spans], columns_of(lined))
        self.codes[address] = found
        return found

    def _text(self, at: int) -> str:
        state = self.memory.number(at + TEXT_STATE, 1)
        begins, width, encoding = self.layout.texts[state & self.layout.mask]
        return self.memory.bytes(at + begins, width * self.memory.number(at + 2 * WORD)).decode(encoding)
