"""The bytes of a URL or file, in order and each once, across stalls, broken connections and retries."""

from __future__ import annotations

import gzip
import http.client
import io
import logging
import time
import urllib.error
import urllib.request
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

logger = logging.getLogger(__name__)

CHUNK = 1 << 16
LONGEST_WAIT = 30.0
"""Seconds between two attempts, at most."""
WORTH_ANOTHER = (408, 425, 429, 500, 502, 503, 504)
"""Status codes after which another attempt may succeed (RFC 9110, 6585, 8470)."""


class StreamError(OSError):
    """A stream cannot be read to its end; ``str()`` says which, how far it was read, and why."""


@dataclass(frozen=True)
class Patience:
    """When to retry and when to give up."""

    timeout: float = 30.0
    """Seconds without a byte, after which a connection is closed and reopened."""
    retries: int = 5
    """Consecutive attempts without a byte, after the first."""
    wait: float = 0.5
    """Seconds before the second attempt, doubled each time, at most 30."""


def read_lines(url: str, patience: Patience) -> Iterator[bytes]:
    """The lines of the content, each with its line end; decompressed if the name ends in ``.gz``.

    A ``StreamError`` says that it cannot be opened or read to its end, or that it changed while it was read.
    """
    parts = urlsplit(url)
    if parts.scheme in ("http", "https"):
        chunks = _over_http(url, patience)
    elif parts.scheme in ("", "file"):
        chunks = _of_file(Path(unquote(parts.path) if parts.scheme else url))
    else:
        raise StreamError(f"{url}: only http, https and files can be streamed")
    name = parts.path if parts.scheme else url  # in the name of a file, # and ? are plain characters
    with io.BufferedReader(_Chunks(chunks), CHUNK) as content:
        try:
            packed = name.endswith(".gz")
            yield from io.BufferedReader(gzip.GzipFile(fileobj=content), CHUNK) if packed else content
        except EOFError:
            raise StreamError(f"{url}: the gzip stream ends too early: the file was cut short") from None
        except (gzip.BadGzipFile, zlib.error) as e:
            raise StreamError(f"{url}: not a gzip stream: {e}") from None


class _Chunks(io.RawIOBase):
    """Chunks of bytes as a file."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks, self._rest = chunks, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        held = self._rest or next(self._chunks, b"")
        count = min(len(buffer), len(held))
        buffer[:count], self._rest = held[:count], held[count:]
        return count


def _of_file(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            while chunk := file.read(CHUNK):
                yield chunk
    except OSError as e:
        raise StreamError(f"{path}: {e.strerror or e}") from None


def _over_http(url: str, patience: Patience) -> Iterator[bytes]:
    """Resumes after the last byte, by a range request, or by skipping what a server sends again."""
    done, failures, tag = 0, 0, None
    while True:
        try:
            with _answer(url, done, tag, patience) as answer:
                seen = answer.headers.get("ETag") or answer.headers.get("Last-Modified")
                if done and tag is not None and seen != tag:
                    raise StreamError(f"{url}: it changed while being read, at byte {done}")
                tag = seen
                known = answer.headers.get("Content-Length")
                due = None if known is None else int(known)
                again = done - _first_byte(answer, done)
                if again < 0:
                    raise StreamError(
                        f"{url}: asked to resume at byte {done}, the server sends from byte {done - again}"
                    )
                came = 0
                while (due is None or came < due) and (chunk := answer.read1(CHUNK)):
                    came += len(chunk)
                    new = chunk[again:]
                    again = max(0, again - len(chunk))
                    if new:
                        done, failures = done + len(new), 0
                        yield new
                if due is None or came >= due:
                    return
                raise ConnectionError(f"the connection ended {due - came} bytes early")
        except urllib.error.HTTPError as e:
            why, pause = f"the server answers {e.code} {e.reason}", _retry_after(e.headers)
            if e.code == 416 and done:  # asked for what is behind the last byte
                total = e.headers.get("Content-Range", "").removeprefix("bytes */")
                if total.isdigit() and int(total) != done:
                    raise StreamError(f"{url}: it changed while being read, at byte {done}") from None
                return
            if e.code not in WORTH_ANOTHER:
                raise StreamError(f"{url}: {why}") from None
        except StreamError:
            raise
        except (OSError, http.client.HTTPException) as e:
            why, pause = str(getattr(e, "reason", None) or e or type(e).__name__), None
        failures += 1
        if failures > patience.retries:
            raise StreamError(f"{url}: gave up at byte {done} after {failures} attempts: {why}")
        pause = min(LONGEST_WAIT, patience.wait * 2 ** (failures - 1)) if pause is None else pause
        logger.info("%s: %s; attempt %d in %.1f s, from byte %d", url, why, failures + 1, pause, done)
        time.sleep(pause)


def _answer(url: str, done: int, tag: str | None, patience: Patience) -> Any:
    headers = {"Accept-Encoding": "identity"}
    if done:
        headers["Range"] = f"bytes={done}-"
        if tag is not None and not tag.startswith("W/"):  # a weak tag cannot promise equal bytes
            headers["If-Range"] = tag
    request = urllib.request.Request(url, headers=headers)  # http and https alone come here
    return urllib.request.urlopen(request, timeout=patience.timeout)


def _first_byte(answer: Any, asked: int) -> int:
    """The position in the whole of the first byte of an answer."""
    if answer.status != 206:
        return 0
    first = answer.headers.get("Content-Range", "").removeprefix("bytes ").partition("-")[0]
    return int(first) if first.isdigit() else asked


def _retry_after(headers: Any) -> float | None:
    """Seconds that the server asks to wait, at most 30; None if it does not say."""
    value = headers.get("Retry-After", "")
    return min(LONGEST_WAIT, float(value)) if value.isdigit() else None
