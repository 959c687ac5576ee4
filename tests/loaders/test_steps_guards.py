"""Guards of ``tests.weaknesses.steps``: each fails once steps, or a recipe's class, has one of the original's weaknesses."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from torch.utils.data import DataLoader, DistributedSampler

from dataloader_expert.loaders import StatefulDataLoader, StreamingDataset, create_seeded_generator
from dataloader_expert.loaders.trainers import profiling, steps

LINES = "".join(f"{i}\n" for i in range(20))


def loader(batches: int = 13, **settings: Any) -> Any:
    """Batches of 8."""
    return DataLoader(range(8 * batches), **{"batch_size": 8, **settings})  # type: ignore[arg-type]  # a map-style one


def shared_out(ranks: int) -> Any:
    data: Any = range(8 * 13)
    return loader(sampler=DistributedSampler(data, num_replicas=ranks, rank=0))


@pytest.mark.parametrize(("ranks", "batches"), [(2, 7), (4, 4)])
def test_a_share_is_not_divided_again(ranks: int, batches: int) -> None:
    """Our promise: a loader with a sampler of each rank is validated whole."""
    assert steps.get_val_dataloader_steps(shared_out(ranks), None, 0, ranks) == (batches, 0)


def test_validation_is_never_rounded_to_nothing() -> None:
    """Our promise: more ranks than batches validate one each."""
    assert steps.get_val_dataloader_steps(loader(), None, 0, 20) == (1, 0)
    assert steps.get_val_dataloader_steps(loader(), 5, 0, 20) == (1, 0)


@pytest.mark.parametrize("of", ["train", "val"])
def test_no_steps_are_not_all_steps(of: str) -> None:
    """Our promise: 0 is refused, and does not mean the default."""
    with pytest.raises(ValueError, match="steps_per_epoch is 0"):
        getattr(steps, f"get_{of}_dataloader_steps")(loader(), 0)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("gradient_accumulation_steps", {"gradient_accumulation_steps": 0}),
        ("gradient_accumulation_steps", {"gradient_accumulation_steps": -1}),
        ("dp_size", {"dp_size": 0}),
        ("train_steps_per_epoch", {"train_steps_per_epoch": -3}),
    ],
    ids=["no accumulation", "negative accumulation", "no ranks", "negative steps"],
)
def test_numbers_of_training_are_checked(name: str, arguments: dict[str, int]) -> None:
    """Our promise: a number below 1 is named."""
    with pytest.raises(ValueError, match=f"{name} is -?[0-9]; it must be a whole number of at least 1"):
        steps.get_train_dataloader_steps(loader(), **arguments)


def test_ranks_of_validation_are_checked() -> None:
    """Our promise: no division by 0."""
    with pytest.raises(ValueError, match="dp_size is 0"):
        steps.get_val_dataloader_steps(loader(), dp_size=0)


@pytest.mark.parametrize("length", [0, -3])
def test_an_epoch_s_length_is_checked(length: int) -> None:
    """Our promise: an explicit length is one."""
    with pytest.raises(ValueError, match="length is"):
        steps.get_epoch_length(loader(), length)


def test_a_batch_sampler_knows_its_batch_size() -> None:
    """Our promise: loaders with a batch sampler are counted too."""
    batches = loader().batch_sampler
    assert steps.get_train_dataloader_steps(DataLoader(loader().dataset, batch_sampler=batches)) == (8, 13, 1)


def test_a_shortfall_is_told_in_batches(caplog: pytest.LogCaptureFixture) -> None:
    """Our promise: 5 steps of 4 batches are more than 13 batches, and the log says so."""
    with caplog.at_level(logging.WARNING):
        assert steps.get_train_dataloader_steps(loader(), 5, 4) == (32, 20, 4)
    assert "it needs 20 batches" in caplog.text


def test_a_shortfall_of_validation_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """Our promise: beside a rank's own share."""
    with caplog.at_level(logging.WARNING):
        steps.get_val_dataloader_steps(shared_out(2), 20, 0, 2)
    assert "10, is greater than the number of batches in the dataloader, 7" in caplog.text


@pytest.mark.parametrize("of", ["train", "val"])
def test_no_batches_are_an_error(of: str) -> None:
    """Our promise: nothing is trained or validated in silence on nothing."""
    with pytest.raises(ValueError, match="yielded 0 batches"):
        getattr(steps, f"get_{of}_dataloader_steps")(loader(0))


def test_a_batch_is_of_any_size_by_default() -> None:
    """Our promise: without ``train_batch_size`` the loader's own counts."""
    assert steps.get_train_dataloader_steps(loader()) == (8, 13, 1)


@pytest.mark.parametrize("of", ["train", "val"])
def test_the_document_s_call_gives_a_number(of: str) -> None:
    """The document's promise: parameters and a loader give a number of batches."""
    asked = SimpleNamespace(train_steps_per_epoch=3, gradient_accumulation_steps=2, val_steps_per_epoch=6)
    assert getattr(steps, f"get_{of}_dataloader_steps")(asked, loader()) == 6


def test_what_is_called_steps_says_what_it_is() -> None:
    """Our promise: the three numbers have names, and batches are told from steps of the optimizer."""
    made = steps.get_train_dataloader_steps(loader(), 3, 4)
    assert (made.global_batch_size, made.num_train_steps, made.gradient_accumulation_steps) == (32, 12, 4)


def test_the_document_s_import_exists() -> None:
    """The document's promise: the length of a loader by ``get_epoch_length``."""
    assert steps.get_epoch_length(loader(), length=None) == 13


def test_a_stateful_loader_knows_its_place() -> None:
    """Our promise: its state says behind which batch to go on."""

    def made() -> Any:
        return StatefulDataLoader(range(10), batch_size=2, shuffle=True, generator=create_seeded_generator(1))

    first, second = made(), made()
    batches = iter(first)
    seen = [next(batches).tolist() for _ in range(2)]
    second.load_state_dict(first.state_dict())
    assert seen + [b.tolist() for b in second] == [b.tolist() for b in made()]


def test_a_stream_is_shuffled(tmp_path: Path) -> None:
    """Our promise: samples and files come in a new order each epoch."""
    (tmp_path / "a.txt").write_text(LINES, encoding="utf-8")
    stream = StreamingDataset([str(tmp_path / "a.txt")], buffer_size=20)
    first = list(stream)
    stream.set_epoch(1)
    assert sorted(first, key=int) == LINES.split()
    assert LINES.split() != first != list(stream)


@pytest.mark.parametrize("files", [1, 4])
def test_a_stream_is_shared_out(tmp_path: Path, files: int) -> None:
    """Our promise: ranks take files, or where these are too few samples, and nobody another's."""
    names = [tmp_path / f"{i}.txt" for i in range(files)]
    for i, name in enumerate(names):
        name.write_text("".join(f"{v}\n" for v in range(20)[i::files]), encoding="utf-8")
    ranks = [StreamingDataset([str(n) for n in names], num_replicas=2, rank=rank) for rank in (0, 1)]
    assert sorted((line for rank in ranks for line in rank), key=int) == LINES.split()


class Server(BaseHTTPRequestHandler):
    """Refuses at first, then cuts the content off, then gives it."""

    content: ClassVar[bytes] = LINES.encode()
    refusals: ClassVar[int] = 0
    cuts: ClassVar[int] = 0
    begun: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        kind = type(self)
        kind.begun.append(self.headers.get("Range", ""))
        if kind.refusals:
            kind.refusals -= 1
            self.send_error(503)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.content)))
        self.end_headers()
        cut, kind.cuts = kind.cuts > 0, max(0, kind.cuts - 1)
        self.wfile.write(self.content[: len(self.content) // 2] if cut else self.content)

    def log_message(self, *said: Any) -> None:
        """Nothing on the terminal."""


@contextmanager
def served(**state: int) -> Iterator[StreamingDataset]:
    """A stream from a server of this process that is in such a state."""
    kind = type("Own", (Server,), {**state, "begun": []})
    with HTTPServer(("127.0.0.1", 0), kind) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield StreamingDataset([f"http://127.0.0.1:{server.server_port}/a.txt"], shuffle=False, wait=0.001)
        finally:
            server.shutdown()
            thread.join()


def test_a_server_that_refuses_is_asked_again() -> None:
    """Our promise: a refusal that may pass does not end the stream."""
    with served(refusals=2) as stream:
        assert list(stream) == LINES.split()


def test_a_stream_that_is_cut_off_is_read_on() -> None:
    """Our promise: each sample comes once, though the connection ends in its midst."""
    with served(cuts=2) as stream:
        assert list(stream) == LINES.split()


class Slow:
    """Three batches, 20 ms each."""

    def __init__(self) -> None:
        self.asked = 0

    def __iter__(self) -> Iterator[list[int]]:
        for _ in range(3):
            time.sleep(0.02)
            self.asked += 1
            yield [1, 2]


def test_a_profile_is_of_the_batches_that_were_seen() -> None:
    """Our promise: a loader of 3 batches is not measured as if it had 100."""
    made = profiling.profile_dataloader(Slow(), num_batches=100)
    assert (made.batches, made.samples) == (3, 6)
    assert made.fetch_ms >= 20
    assert made.batches_per_s <= 50


def test_a_profile_takes_no_batch_more() -> None:
    """Our promise: what is not counted is not fetched."""
    slow = Slow()
    assert profiling.profile_dataloader(slow, num_batches=2).batches == slow.asked == 2


def test_a_profile_tells_the_start_from_the_batches() -> None:
    """Our promise: the first batch, which waits for workers, is not in the mean of the others."""
    made = profiling.profile_dataloader(_after(0.6, Slow()), num_batches=3)
    assert made.startup_ms >= 600
    assert made.fetch_ms < 150


def _after(seconds: float, batches: Any) -> Iterator[Any]:
    time.sleep(seconds)
    yield from batches
