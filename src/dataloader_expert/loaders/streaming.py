"""Samples streamed from URLs: shuffled in a buffer, sharded across ranks and workers, resumable within an epoch."""

from __future__ import annotations

import copy
import csv
import json
import zlib
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

from torch.utils.data import IterableDataset, get_worker_info

from dataloader_expert.loaders.seeding import mixed
from dataloader_expert.loaders.stream_state import StreamEpoch, StreamRanks
from dataloader_expert.samplers.rules import at_least, one_of
from dataloader_expert.sources.fetching import Patience, StreamError, read_lines

Place: TypeAlias = tuple[int, int]
"""Number of a URL, and of an element in it."""


DIFFERS = {
    "urls": "other URLs, or in another order",
    "part": "another part of the samples",
    "shuffle": "shuffle= otherwise",
}
"""What is told of an argument that differs from that of a state."""


class StreamingDataset(IterableDataset[Any]):
    """Samples streamed from URLs, shuffled in a buffer.

    Each epoch has a new order of URLs: in a single process each pass starts the next epoch, with several ranks
    :meth:`set_epoch` does. Workers read whole URLs if there are enough, else every n-th sample. Ranks read every n-th
    sample of all URLs, so that their numbers differ by at most one per worker. A connection that stalls, breaks or is
    refused for a while resumes after the last byte, so that each sample is read once.

    The name of a URL gives its format: ``.jsonl`` one value per line, ``.csv`` and ``.tsv`` one dictionary per row
    with the names in the first row as keys, others one text per line, without empty ones; ``.gz`` after it is
    decompressed. For other formats pass ``parse``, or override :meth:`stream_from_url`.

    Args:
        urls: http or https URLs, or paths of files.
        buffer_size: samples in the shuffle buffer; 1: no shuffling within URLs.
        parse: a line (bytes, without its end) to a sample; None: by the name.
        shuffle: False: URLs and samples in stored order.
        seed: of both.
        timeout, retries, wait: as of :class:`~dataloader_expert.sources.fetching.Patience`.
        num_replicas, rank: as of :class:`~dataloader_expert.loaders.stream_state.StreamRanks`.
        shard_by: ``"samples"``: ranks as above; ``"urls"``: whole URLs per rank if there are enough, which reads less,
            but ranks get equally many samples only if the URLs hold equally many.

    No URLs, or an argument that breaks its rule, is a ``ValueError``; on iteration, a URL that cannot be read to its
    end, or a line that is not a sample, a :class:`StreamError`.
    """

    shards_itself = True

    def __init__(
        self,
        urls: Sequence[str],
        buffer_size: int = 1000,
        *,
        parse: Callable[[bytes], Any] | None = None,
        shuffle: bool = True,
        seed: int = 0,
        timeout: float = 30.0,
        retries: int = 5,
        wait: float = 0.5,
        num_replicas: int | None = None,
        rank: int | None = None,
        shard_by: Literal["samples", "urls"] = "samples",
    ) -> None:
        if isinstance(urls, str) or not urls:
            raise ValueError("urls must be a list of at least one URL")
        at_least(1, buffer_size=buffer_size)
        at_least(0, retries=retries, wait=wait, seed=seed)
        if not timeout > 0:
            raise ValueError(f"timeout is {timeout}; it must be a number of seconds above 0")
        one_of(("samples", "urls"), shard_by=shard_by)
        self.urls, self.buffer_size, self.parse = [str(url) for url in urls], buffer_size, parse
        self.shuffle, self.seed, self.patience = shuffle, seed, Patience(timeout, retries, wait)
        self.shard_by = shard_by
        self.ranks, self._epoch = StreamRanks(num_replicas, rank), StreamEpoch()
        self._pass: _Pass | None = None
        self._resumed: dict[str, Any] | None = None
        self._part: tuple[float, bool, int] | None = None

    def part(self, share: float, validation: bool, seed: int) -> StreamingDataset:
        """The validation or training part of the samples, chosen by seed, URL and line; ``share`` is that of validation."""
        part = copy.copy(self)
        part._part, part._pass, part._resumed = (share, validation, seed), None, None
        part._epoch = StreamEpoch(self.epoch)
        return part

    def _has(self, url: int, line: int) -> bool:
        """Whether an element is in this part."""
        if self._part is None:
            return True
        share, validation, seed = self._part
        return (mixed(seed, url, line) < int(share * 2**63)) == validation

    def stream_order(self) -> dict[str, Any]:
        """What the order follows from, ready for JSON."""
        names = "\n".join(_path(url).rsplit("/", 1)[-1] for url in self.urls)  # they may lie elsewhere
        order = {"urls": len(self.urls), "names_of_urls": zlib.crc32(names.encode())}
        shuffled = {"seed": self.seed, "buffer_size": self.buffer_size} if self.shuffle else {}
        return {**shuffled, **order, "part": list(self._part or ()), "shard_by": self.shard_by}

    @property
    def num_replicas(self) -> int:
        """World size."""
        return self.ranks.pair[0]

    @property
    def rank(self) -> int:
        """Rank of this process."""
        return self.ranks.pair[1]

    @property
    def epoch(self) -> int:
        """The epoch of the latest pass; before the first, that of the next."""
        return self._epoch.value

    def set_epoch(self, epoch: int) -> None:
        """The next pass starts ``epoch`` from its beginning."""
        self._epoch.set(epoch)
        self._resumed = None

    def stream_from_url(self, url: str) -> Iterator[Any]:
        """The samples of one URL in stored order; a ``StreamError`` if it ends too early, or a line is not a sample."""
        lines = read_lines(url, self.patience)
        name = _path(url).removesuffix(".gz")
        if self.parse is None and name.endswith((".csv", ".tsv")):
            yield from _rows(url, lines, "\t" if name.endswith(".tsv") else ",")
            return
        parse: Callable[[bytes], Any] = json.loads if name.endswith((".jsonl", ".ndjson")) else bytes.decode
        parse = self.parse or parse
        for number, line in enumerate(lines, 1):
            content = line.rstrip(b"\r\n")
            if not content and self.parse is None:
                continue
            try:
                sample = parse(content)
            except ValueError as e:
                raise StreamError(f"{url}: line {number} is not a sample: {e}") from None
            yield sample

    def __iter__(self) -> Iterator[Any]:
        world, rank = self.ranks.pair
        state, self._resumed = self._resumed, None
        self._pass = _Pass(self, self._epoch.begin(moves_on=world == 1), world, rank, state)
        return self._pass.samples()

    def state_dict(self) -> dict[str, Any]:
        """The position of the pass of this process or worker; ready for JSON."""
        if self._pass is None:
            return self._resumed or {"epoch": self.epoch, "order": self._order()}
        return {**self._pass.state_dict(), "order": self._order()}

    def _order(self) -> dict[str, Any]:
        """What the position of a pass depends on; the buffer may have another size."""
        order = self.stream_order()
        urls = [order.pop("urls"), order.pop("names_of_urls")]
        order.pop("buffer_size", None)
        return {**order, "urls": urls, "shuffle": self.shuffle}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The next pass resumes at ``state``; URLs with samples in the buffer are read again.

        A ``ValueError`` if ``state`` is of another seed, of other URLs or of URLs in another order.
        """
        taken, own = dict(state.get("order") or {}), self._order()
        for name in sorted(taken.keys() & own.keys()):
            if taken[name] != own[name]:
                what = DIFFERS.get(name, f"another {name}")
                raise ValueError(f"the state was taken with {what}: resume with the arguments with which it was taken")
        self._epoch.set(int(state["epoch"]))
        self._resumed = dict(state) if "at" in state else None
        self._pass = None


def _rows(url: str, lines: Iterator[bytes], delimiter: str) -> Iterator[dict[str, str]]:
    """The rows of a table, under the names in its first line."""
    rows = csv.reader(
        (line.decode("utf-8" if at else "utf-8-sig") for at, line in enumerate(lines)), delimiter=delimiter
    )
    behind = 0
    try:
        header = next(rows, [])
        behind = rows.line_num
        for row in filter(None, rows):
            if len(row) != len(header):
                raise StreamError(f"{url}: line {rows.line_num} has {len(row)} fields, the header {len(header)}")
            yield dict(zip(header, row, strict=True))
            behind = rows.line_num
    except (ValueError, csv.Error) as e:
        raise StreamError(f"{url}: line {behind + 1} is not a sample: {e}") from None


def _path(url: str) -> str:
    """Without a query, which may hold a signature that expires."""
    return urlsplit(url).path if "://" in url else url


class _Pass:
    """One worker's pass: ``at`` and ``line`` locate the next element, ``draws`` counts those that left the buffer, and
    ``seen`` those read by this worker and by the workers of other ranks that read the same."""

    def __init__(
        self, dataset: StreamingDataset, epoch: int, world: int, rank: int, state: dict[str, Any] | None
    ) -> None:
        info = get_worker_info()
        workers, own = (1, 0) if info is None else (info.num_workers, info.id)
        self.dataset, self.epoch = dataset, epoch
        self.shares, self.share = world * workers, rank * workers + own
        order = list(range(len(dataset.urls)))
        if dataset.shuffle:
            order.sort(key=lambda i: mixed(dataset.seed, epoch, i))
        if dataset.shard_by == "urls" and len(order) >= self.shares:
            self.order, self.stride, self.place = order[self.share :: self.shares], 1, 0
        elif len(order) >= workers:
            self.order, self.stride, self.place = order[own::workers], world, (rank + own) % world
        else:
            self.order, self.stride, self.place = order, self.shares, own * world + rank
        self.at = self.line = self.seen = self.draws = 0
        self.buffer: list[tuple[Place, Any]] = []
        self._open: Iterator[Any] | None = None
        if state is not None:
            self._restore(state)

    def samples(self) -> Iterator[Any]:
        """The rest of the pass; a consumer that stops early leaves no connection open."""
        room = self.dataset.buffer_size if self.dataset.shuffle else 1
        try:
            while True:
                while len(self.buffer) < room and (element := self._next_element()) is not None:
                    self.buffer.append(element)
                if not self.buffer:
                    return
                chosen = mixed(self.dataset.seed, self.epoch, self.share, self.draws) % len(self.buffer)
                self.draws += 1
                self.buffer[chosen], self.buffer[-1] = self.buffer[-1], self.buffer[chosen]
                yield self.buffer.pop()[1]
        finally:
            self._open = None

    def state_dict(self) -> dict[str, Any]:
        plain = {name: getattr(self, name) for name in ("epoch", "shares", "share", "at", "line", "seen", "draws")}
        return {**plain, "buffer": [list(place) for place, _ in self.buffer]}

    def _next_element(self) -> tuple[Place, Any] | None:
        """The next element of this worker and its place; None after the last."""
        while self.at < len(self.order):
            if self._open is None:
                self._open = islice(self.dataset.stream_from_url(self._url(self.at)), self.line, None)
            for sample in self._open:
                place = (self.at, self.line)
                self.line += 1
                if not self.dataset._has(self.order[place[0]], place[1]):
                    continue
                self.seen += 1
                if (self.seen - 1) % self.stride == self.place:
                    return place, sample
            self.at, self.line, self._open = self.at + 1, 0, None
        return None

    def _url(self, at: int) -> str:
        return self.dataset.urls[self.order[at]]

    def _restore(self, state: dict[str, Any]) -> None:
        if (state["shares"], state["share"]) != (self.shares, self.share):
            raise ValueError(
                f"the state is of shard {state['share']} of {state['shares']}, this is shard {self.share} of "
                f"{self.shares}: resume with as many ranks and workers"
            )
        self.at, self.line, self.seen, self.draws = state["at"], state["line"], state["seen"], state["draws"]
        wanted: dict[int, set[int]] = {}
        for at, line in state["buffer"]:
            wanted.setdefault(at, set()).add(line)
        found: dict[Place, Any] = {}
        for at, lines in wanted.items():
            stream = islice(self.dataset.stream_from_url(self._url(at)), max(lines) + 1)
            found |= {(at, n): sample for n, sample in enumerate(stream) if n in lines}
        missing = [self._url(at) for at, line in state["buffer"] if (at, line) not in found]
        if missing:
            raise StreamError(f"{missing[0]}: it has fewer samples than when the state was taken")
        self.buffer = [((at, line), found[at, line]) for at, line in state["buffer"]]
