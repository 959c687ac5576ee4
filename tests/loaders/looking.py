"""What loaders deliver, joined so that two of them can be compared."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch

from tests.making.jasper import Contents

Batch = dict[str, torch.Tensor]


def joined(batches: Iterable[Batch]) -> Batch:
    """The batches of a pass end to end."""
    listed = list(batches)
    return {name: torch.cat([b[name] for b in listed]) for name in listed[0]}


def same(first: Batch, second: Batch) -> bool:
    """Equal in keys, dtypes and values."""
    return first.keys() == second.keys() and all(
        first[n].dtype == second[n].dtype and torch.equal(first[n], second[n]) for n in first
    )


def pairs_of(batch: Batch, what: Contents) -> list[int]:
    """Which pairs a batch is of: each has a relevance of its own."""
    row_of = {value: row for row, value in enumerate(what["pair_relevance"].tolist())}
    return [row_of[value] for value in batch["relevance"].tolist()]


def variants(batch: Batch, what: Contents) -> dict[int, int]:
    """The variant of each pair of a batch."""
    return dict(zip(pairs_of(batch, what), batch["steering_variant"].tolist(), strict=True))


def in_child(work: Callable[..., Any], *arguments: Any) -> Any:
    """What ``work`` returns in a process that is forked from this one, and sees what this one has changed."""
    return in_children(work, [arguments])[0]


def in_children(work: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> list[Any]:
    """What ``work`` returns in as many processes at once, each with its arguments; one that dies ends them all."""
    context = multiprocessing.get_context("fork")
    children, receivers = [], []
    for arguments in calls:
        receiver, sender = context.Pipe(duplex=False)
        child = context.Process(target=_send, args=(sender, work, arguments))
        child.start()
        sender.close()
        children.append(child)
        receivers.append(receiver)
    try:
        return [receiver.recv() for receiver in receivers]
    except EOFError:
        for child in children:
            child.kill()
        raise
    finally:
        for child in children:
            child.join()


def _send(sender: Any, work: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    torch.set_num_threads(1)  # threads of the parent are not there
    sender.send(work(*arguments))
    sender.close()
