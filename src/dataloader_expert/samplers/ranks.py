"""World size and rank, and other libraries that may already shard the epoch."""

from __future__ import annotations

import sys
from types import FrameType

import torch.distributed

from dataloader_expert.samplers.rules import given, integers

WRAPPERS = frozenset({"BatchSamplerShard", "DataLoaderDispatcher"})
"""Classes of accelerate by which ``prepare`` shards the batches of an inner sampler across ranks."""


def grouped() -> bool:
    """Whether there is a default process group."""
    return torch.distributed.is_available() and torch.distributed.is_initialized()


def process_group() -> tuple[int, int]:
    """World size and rank of the default process group; (1, 0) without one."""
    return (torch.distributed.get_world_size(), torch.distributed.get_rank()) if grouped() else (1, 0)


def own_share() -> tuple[int, int]:
    """World size and rank by which a sampler shards its epoch; (1, 0) if its caller is a wrapper that shards it.

    Wrappers do not announce themselves, and a loader may be used before it is prepared, so each pass inspects the stack.
    """
    group = process_group()
    return (1, 0) if group[0] > 1 and asked_by_wrapper() else group


def asked_by_wrapper() -> bool:
    """Whether a wrapper is on the stack."""
    file = getattr(sys.modules.get("accelerate.data_loader"), "__file__", None)
    frame: FrameType | None = sys._getframe(1) if file is not None else None
    while frame is not None:
        # only in its own frames: reading f_locals of the user's would keep their objects alive
        if frame.f_code.co_filename == file and type(frame.f_locals.get("self")).__name__ in WRAPPERS:
            return True
        frame = frame.f_back
    return False


def share_asked(num_replicas: int | None, rank: int | None) -> tuple[int, int] | None:
    """World size and rank if at least one of them is given, the other is the process group's; None if neither is."""
    if num_replicas is None and rank is None:
        return None
    world, own = process_group()
    integers(1, **given(num_replicas=num_replicas))
    integers(0, **given(rank=rank))
    replicas = world if num_replicas is None else num_replicas
    if rank is None and replicas not in (1, world):
        raise ValueError(
            f"num_replicas is {replicas}, and the process group has {world}: pass rank= too, or every process takes the first share"
        )
    found = rank if rank is not None else own if replicas == world else 0
    if not 0 <= found < replicas:
        raise ValueError(f"rank is {found} of {replicas} replicas; it must be in [0, {replicas})")
    return replicas, found


def accelerate_shards() -> bool:
    """Whether accelerate runs several processes: its ``prepare`` then shards or dispatches every stream."""
    state = getattr(sys.modules.get("accelerate.state"), "PartialState", None)
    shared = getattr(state, "_shared_state", None) or {}
    return int(shared.get("num_processes", 1)) > 1
