"""Hostile bytes through every reader and every check, hostile values through every tool's arguments.

``python -m benchmarks.fuzzing`` takes the tests' tiny data sets of every format, lets hypothesis damage one file of some (cut,
flipped, inserted, doubled, spliced with another format, integers in headers replaced, tar checksums recomputed) or rename it,
and scans the result as a request does. A forked process takes 500 inputs; the parent knows which one it is at. Unhandled
means: an exception that escapes, an exception that becomes an unknown, a process that dies, or an input that takes over 20 s.
A tenth of the inputs are arguments: only the contract's errors may come of them.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing as mp
import os
import random
import re
import resource
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from benchmarks.common import CACHE, keep

CHUNK, HANGS_S, MEMORY = 500, 20.0, 8 << 30
KEPT = CACHE / "fuzzing"
UNEXPECTED = re.compile(r"\b(?!TProtocolException)(?:[A-Z]\w*Error|[A-Z]\w*Exception|StopIteration)\b: ")
"""A Python exception's name in what a request is told."""
NUMBERS = (0, 1, 2, 127, 255, 65535, 1 << 31, (1 << 32) - 1, 1 << 62, (1 << 64) - 1)
NAMES = (
    b"line\nbreak",
    b"\x1b[2J",
    "right\u202eleft".encode(),
    b"caf\xe9",
    b"back\\slash",
    b"a" * 200,
    b" ",
    b"-rf",
    b"$(x)",
)
ODD = (
    *("", "\0", "\ud800", "x" * 300, "x" * 10_000, "~nosuchuser/x", "~", "/", "..", "*", "**", "**/" * 40, "[", " "),
    *("a.py", "a.py:B", "os:system", "a:b:c", "http://x/y", "hf://a/b", "/etc/passwd", "/proc/self/mem", "/dev/zero"),
    *("a\nb", "\x1b[2J"),
)
"""Sources and names that nobody expects."""
TEXTS = (
    b"null",
    b"-1",
    b"NaN",
    b"1e400",
    b"[]",
    b"{}",
    b'""',
    b"[[[[[[[[",
    b'{"a":',
    b"\x00",
    b"\xff\xfe",
    b"\r",
    b"'",
    b'"',
)


@dataclass
class Tally:
    """Of one format: how many inputs, how they ended, what was unhandled."""

    inputs: int = 0
    refused: int = 0
    slowest_ms: float = 0.0
    unhandled: Counter[str] = field(default_factory=Counter)


def corpora(folder: Path) -> dict[str, list[Path]]:
    """A few tiny data sets of every format but references; found by the names of the tests' builders."""
    from tests.making.tiny import TINY

    found: dict[str, list[Path]] = {}
    for name, build in TINY.items():
        kind = name.split(",")[0]
        if kind != "reference":
            made = folder / re.sub(r"\W+", "-", name)
            made.mkdir()
            build(made)
            found.setdefault(kind, []).append(made)
    return found


@st.composite
def damage(draw: st.DrawFn, data: bytes, others: list[bytes]) -> bytes:
    """The bytes with one to four changes."""
    for _ in range(draw(st.integers(1, 4))):
        n = len(data)
        at = draw(st.integers(0, min(n, 600)) | st.integers(0, n))  # headers are where most goes wrong
        size = draw(st.integers(1, 64) | st.integers(1, max(1, n)))
        how = draw(st.integers(0, 9))
        if how == 0:
            data = data[:at]
        elif how == 1:
            data = data[:at] + draw(st.binary(min_size=1, max_size=16)) + data[at + draw(st.integers(0, 16)) :]
        elif how == 2:
            data = data[:at] + data[at + size :]
        elif how == 3:
            data = data[: at + size] + data[at:]
        elif how in (4, 5):
            width = draw(st.sampled_from([1, 2, 4, 8]))
            whole = draw(st.sampled_from(NUMBERS)) % (1 << 8 * width)
            data = data[:at] + whole.to_bytes(width, draw(st.sampled_from(["little", "big"]))) + data[at + width :]
        elif how == 6:
            other = draw(st.sampled_from(others))
            start = draw(st.integers(0, len(other)))
            data = data[:at] + other[start : start + size] + data[at:]
        elif how == 7:
            data = data[:at] + draw(st.sampled_from(TEXTS)) + data[at:]
        elif how == 8:
            digits = list(re.finditer(rb"\d+", data[:4096]))
            if digits:
                hit = draw(st.sampled_from(digits))
                number = str(draw(st.sampled_from(NUMBERS)) * draw(st.sampled_from([1, -1]))).encode()
                data = data[: hit.start()] + number + data[hit.end() :]
        else:
            data = summed(
                data, 512 * (at // 512), draw(st.sampled_from([b"-0000000777\0", b"\xff" * 12, b"77777777777\0"]))
            )
    return data


def summed(data: bytes, at: int, size: bytes) -> bytes:
    """A tar header with another size and the checksum that goes with it."""
    head = bytearray(data[at : at + 512])
    if len(head) < 512:
        return data
    head[124:136], head[148:156] = size, b" " * 8
    head[148:156] = b"%06o\0 " % sum(head)
    return data[:at] + bytes(head) + data[at + 512 :]


def one(draw: st.DataObject, sets: list[Path], others: list[bytes], room: Path) -> Path:
    """A damaged copy of a data set in ``room``."""
    source = draw.draw(st.sampled_from(sets))
    target = room / "data"
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target)
    files = sorted(p for p in target.rglob("*") if p.is_file())
    for path in draw.draw(st.lists(st.sampled_from(files), min_size=1, max_size=2, unique=True)):
        path.write_bytes(draw.draw(damage(path.read_bytes(), others)))
        if draw.draw(st.integers(0, 19)) == 0:
            name = draw.draw(st.sampled_from(NAMES)) + os.fsencode(path.suffix)
            path.rename(path.parent / os.fsdecode(name))
    return target


def scanned(target: Path, room: Path) -> tuple[bool, list[str]]:
    """Whether the request was refused, and what was unhandled in carrying it out."""
    from dataloader_expert.errors import escaped_json
    from dataloader_expert.probes.base import run

    wrong: list[str] = []
    refused = False

    def emit(event: dict[str, Any]) -> None:
        nonlocal refused
        event = escaped_json(json.loads(json.dumps(event, allow_nan=False, default=str)))
        json.dumps(event, ensure_ascii=False).encode("utf-8")
        refused = refused or event["event"] == "error"
        text = str(event.get("message") or event.get("unknown", {}).get("why", ""))
        if event["event"] in ("error", "unknown") and (
            event.get("code") == "dataset-raised" or UNEXPECTED.search(text)
        ):
            wrong.append(f"{event['event']}: {text[:160]}")

    request = {
        "source": {"name": str(target), "roots": [str(room)], "limit_bytes": 4 << 30},
        "probes": [{"probe": "layout"}, {"probe": "scan"}],
        "seed": 0,
        "cpus": 1,
        "memory_bytes": 4 << 30,
        "seconds": None,
    }
    try:
        run(request, emit, lambda sample: None)
    except Exception as e:  # what must not be
        last = traceback.extract_tb(e.__traceback__)[-1]
        wrong.append(f"escaped: {type(e).__name__} at {Path(last.filename).name}:{last.lineno}: {str(e)[:120]}")
    return refused, wrong


Told = Callable[[str, bool, float, list[str]], None]


def bytes_chunk(
    kind: str, sets: list[Path], others: list[bytes], number: int, count: int, room: Path, tell: Told
) -> None:
    """So many inputs of a format, drawn from the seed ``number``."""

    @seed(number)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def drive(draw: st.DataObject) -> None:
        target = one(draw, sets, others, room)
        begun = time.perf_counter()
        refused, wrong = scanned(target, room)
        if wrong:
            saved(target, kind, wrong[0])
        tell(kind, refused, 1e3 * (time.perf_counter() - begun), wrong)

    drive()


def saved(target: Path, kind: str, why: str) -> None:
    """Keeps an input, to be run again with --replay."""
    place = KEPT / f"{kind}-{abs(hash(why)) % 10**10}"
    if target.is_dir() and not place.exists():
        shutil.copytree(target, place)


def arguments_chunk(number: int, count: int, room: Path, tell: Told) -> None:
    """Arguments of every tool, right and wrong."""
    from dataloader_expert.errors import RequestError
    from dataloader_expert.server.arguments import invalid
    from dataloader_expert.tools.base import all_tools
    from dataloader_expert.tools.execution import Settings, resolve

    tools = all_tools()
    odd = st.sampled_from(ODD)
    texts = odd | st.text(max_size=40) | odd.map(lambda s: f"{room}/{s}")
    plain = st.none() | st.booleans() | st.integers() | st.floats() | texts
    values = st.recursive(
        plain, lambda v: st.lists(v, max_size=3) | st.dictionaries(texts, v, max_size=3), max_leaves=6
    )

    @seed(number)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def drive(draw: st.DataObject) -> None:
        tool = draw.draw(st.sampled_from(list(tools.values())))
        names = st.sampled_from(list(tool.request.model_fields)) | texts
        given_ = {"source": draw.draw(texts), **draw.draw(st.dictionaries(names, values, max_size=2))}
        begun, refused, wrong = time.perf_counter(), True, list[str]()
        try:
            if invalid(tool.request, given_) is None:
                request = tool.request.model_validate(given_)
                resolve(request, Settings((str(room),), no_code=draw.draw(st.booleans())))
                refused = False
        except RequestError as e:
            str(e).encode("utf-8")
        except Exception as e:  # what must not be
            last = traceback.extract_tb(e.__traceback__)[-1]
            wrong = [f"escaped: {type(e).__name__} at {Path(last.filename).name}:{last.lineno}: {str(e)[:120]}"]
        tell("arguments", refused, 1e3 * (time.perf_counter() - begun), wrong)

    drive()


def worker(
    job: tuple[str, int, int], sets: dict[str, list[Path]], others: list[bytes], room: Path, beat: Any, channel: Any
) -> None:
    """A forked process's part; it says each input when it is done, and beats when it begins one."""
    os.setsid()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    random.seed(0)

    def tell(kind: str, refused: bool, ms: float, wrong: list[str]) -> None:
        beat.value = time.monotonic()
        channel.send((kind, refused, ms, wrong))

    beat.value = time.monotonic()
    kind, number, count = job
    try:
        if kind == "arguments":
            arguments_chunk(number, count, room, tell)
        else:
            bytes_chunk(kind, sets[kind], others, number, count, room, tell)
    except BaseException as e:  # hypothesis says what it likes
        channel.send((kind, False, 0.0, [f"the driver: {type(e).__name__}: {str(e)[:160]}"]))
    channel.send(None)


def fuzz(inputs: int, number: int, only: str | None, processes: int = 2) -> dict[str, Tally]:
    """The tallies by format."""
    context = mp.get_context("fork")
    base = Path(tempfile.mkdtemp(prefix="fuzzing-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None))
    (base / "sets").mkdir()
    try:
        sets = corpora(base / "sets")
        others = [
            p.read_bytes()[:20_000]
            for ps in sets.values()
            for f in ps
            for p in sorted(f.rglob("*.*"))[:1]
            if p.is_file()
        ]
        kinds = [only] if only else [*sets, "arguments"]
        share = {k: inputs // 10 if k == "arguments" and not only else 0 for k in kinds}
        rest = [k for k in kinds if not share[k]]
        for k in rest:
            share[k] = (inputs - sum(v for q, v in share.items() if q not in rest)) // len(rest)
        jobs = [(k, number + i, min(CHUNK, share[k] - i)) for k in kinds for i in range(0, share[k], CHUNK)]
        random.Random(number).shuffle(jobs)
        tallies = {k: Tally() for k in kinds}
        running: list[tuple[Any, Any, Any, Path, tuple[str, int, int]]] = []
        while jobs or running:
            while jobs and len(running) < processes:
                job, beat, (r, w) = (
                    jobs.pop(),
                    context.Value("d", time.monotonic(), lock=False),
                    context.Pipe(duplex=False),
                )
                room = Path(tempfile.mkdtemp(dir=base))
                process = context.Process(target=worker, args=(job, sets, others, room, beat, w))
                process.start()
                w.close()
                running.append((process, beat, r, room, job))
            for entry in list(running):
                process, beat, r, room, job = entry
                ended = drained(r, tallies)
                late = time.monotonic() - beat.value > HANGS_S
                if not ended and not late and process.is_alive():
                    continue
                if not ended:
                    why = "hangs" if late and process.is_alive() else f"ended by {process.exitcode}"
                    tallies[job[0]].unhandled[why] += 1
                    saved(room / "data", job[0], f"{why} {job[1]}")
                    process.kill()
                process.join()
                r.close()
                running.remove(entry)
                shutil.rmtree(room, ignore_errors=True)
            time.sleep(0.05)
    finally:
        shutil.rmtree(base, ignore_errors=True)
    return tallies


def drained(r: Any, tallies: dict[str, Tally]) -> bool:
    """Takes what a process said; whether it said that it is done."""
    try:
        while r.poll():
            said = r.recv()
            if said is None:
                return True
            kind, refused, ms, wrong = said
            tally = tallies[kind]
            tally.inputs += 1
            tally.refused += refused
            tally.slowest_ms = max(tally.slowest_ms, ms)
            tally.unhandled.update(wrong)
    except EOFError:
        pass
    return False


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=None, help="else a fresh one")
    parser.add_argument("--only", help="one format, or arguments")
    parser.add_argument("--replay", type=Path, help="a folder that was kept")
    asked = parser.parse_args()
    if asked.replay is not None:
        print(*scanned(asked.replay, asked.replay.parent), sep="\n")
        return 0
    number = asked.seed if asked.seed is not None else int.from_bytes(os.urandom(4), "big")
    begun = time.monotonic()
    tallies = fuzz(asked.inputs, number, asked.only)
    seconds = time.monotonic() - begun
    for kind, tally in tallies.items():
        print(
            f"{kind:14} {tally.inputs:7} inputs {tally.refused:7} refused, slowest {tally.slowest_ms:7.0f} ms, unhandled {sum(tally.unhandled.values())}"
        )
    for kind, tally in tallies.items():
        for why, n in tally.unhandled.most_common(12):
            print(f"  {kind}: {n} times {why}")
    total, bad = sum(t.inputs for t in tallies.values()), sum(sum(t.unhandled.values()) for t in tallies.values())
    print(f"{total} inputs in {seconds:.0f} s from seed {number}: {bad} unhandled")
    table = {
        k: {"inputs": t.inputs, "refused": t.refused, "slowest_ms": round(t.slowest_ms), "unhandled": dict(t.unhandled)}
        for k, t in tallies.items()
    }
    keep("fuzzing", {"inputs": total, "seed": number, "seconds": round(seconds), "unhandled": bad, "table": table})
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
