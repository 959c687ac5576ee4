"""Each sampler compared with torch's and a peer's: a fresh process per case, alternating, one thread, CPU seconds."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks.common import keep

PEERS_DRAW = 200_000
"""Of samplers that take minutes for 1e7 draws so many are timed, with all the labels there, and said as a share."""
BESIDE_TORCH = 15
"""Alternating repeats of torch's samplers and ours beside them, at 1e6 samples; five at 1e7, and of all the others."""


def weights(n: int) -> Any:
    import numpy as np

    drawn = np.random.default_rng(0).random(n)
    return np.power(drawn, 0.7, out=drawn)  # in place: memory that is freed again would hide what a sampler takes


def labels(n: int, classes: int) -> Any:
    import numpy as np

    return np.random.default_rng(0).integers(0, classes, n)


def lengths(n: int) -> Any:
    import numpy as np

    return np.random.default_rng(0).integers(1, 512, n)


def _torch_weighted(n: int, replacement: bool) -> Any:
    import torch
    from torch.utils.data import WeightedRandomSampler

    of = torch.from_numpy(weights(n))
    draw = torch.Generator().manual_seed(0)
    return lambda: WeightedRandomSampler(of, n if replacement else n // 2, replacement, draw)  # type: ignore[arg-type]  # torch takes a tensor as well


def _ours(name: str, *arguments: Any) -> Callable[[], Any]:
    from dataloader_expert import samplers

    return lambda: getattr(samplers, name)(*arguments)


def _random(n: int) -> Any:
    import torch
    from torch.utils.data import RandomSampler

    return lambda: RandomSampler(range(n), generator=torch.Generator().manual_seed(0))


def _distributed(n: int) -> Any:
    from torch.utils.data import DistributedSampler

    return lambda: DistributedSampler(range(n), num_replicas=8, rank=3)  # type: ignore[arg-type]  # only its length is asked


def _ours_distributed(n: int) -> Any:
    from dataloader_expert.samplers import DistributedShuffleSampler

    return lambda: DistributedShuffleSampler(n, num_replicas=8, rank=3)


def _m_per_class(n: int, classes: int) -> Any:
    from pytorch_metric_learning.samplers import MPerClassSampler

    of = labels(n, classes).tolist()
    return lambda: MPerClassSampler(of, m=4, batch_size=32, length_before_new_iter=min(n, PEERS_DRAW))


def _imbalanced(n: int, classes: int) -> Any:
    torchvision = ModuleType("torchvision")  # imported by the peer, and not used where labels are given
    sys.modules.setdefault("torchvision", torchvision)
    from torchsampler import ImbalancedDatasetSampler

    of = labels(n, classes).tolist()
    return lambda: ImbalancedDatasetSampler(range(n), labels=of)


CASES: dict[str, tuple[str, Callable[[int], Any]]] = {
    # name: (what it is compared with, or "" for the other side itself; its maker)
    "torch WeightedRandomSampler": ("", lambda n: _torch_weighted(n, True)),
    "WeightedSampler": ("torch WeightedRandomSampler", lambda n: _ours("WeightedSampler", weights(n))),
    "torch WeightedRandomSampler, no replacement": ("", lambda n: _torch_weighted(n, False)),
    "WeightedSampler, no replacement": (
        "torch WeightedRandomSampler, no replacement",
        lambda n: _ours("WeightedSampler", weights(n), n // 2, False),
    ),
    "torch RandomSampler": ("", _random),
    "ShuffleSampler": ("torch RandomSampler", lambda n: _ours("ShuffleSampler", n)),
    "torch DistributedSampler": ("", _distributed),
    "DistributedShuffleSampler": ("torch DistributedSampler", _ours_distributed),
    "pytorch-metric-learning MPerClass, 100 classes": ("", lambda n: _m_per_class(n, 100)),
    "ClassBalancedBatchSampler, 100 classes": (
        "pytorch-metric-learning MPerClass, 100 classes",
        lambda n: _ours("ClassBalancedBatchSampler", labels(n, 100), 8, 4),
    ),
    "pytorch-metric-learning MPerClass, 10,000 classes": ("", lambda n: _m_per_class(n, 10_000)),
    "ClassBalancedBatchSampler, 10,000 classes": (
        "pytorch-metric-learning MPerClass, 10,000 classes",
        lambda n: _ours("ClassBalancedBatchSampler", labels(n, 10_000), 8, 4),
    ),
    "torchsampler ImbalancedDatasetSampler": ("", lambda n: _imbalanced(n, 100)),
    "ClassBalancedBatchSampler beside torchsampler": (
        "torchsampler ImbalancedDatasetSampler",
        lambda n: _ours("ClassBalancedBatchSampler", labels(n, 100), 8, 4),
    ),
    "StratifiedBatchSampler": ("", lambda n: _ours("StratifiedBatchSampler", labels(n, 100), 64)),
    "LengthBucketBatchSampler": ("", lambda n: _ours("LengthBucketBatchSampler", lengths(n), 64)),
    "TokenBudgetBatchSampler": ("", lambda n: _ours("TokenBudgetBatchSampler", lengths(n), 8192)),
    "GroupBatchSampler": ("", lambda n: _ours("GroupBatchSampler", labels(n, max(2, n // 10)), 64)),
    "CurriculumSampler": ("", lambda n: _ours("CurriculumSampler", weights(n), 10, 1.0)),
}


def case(name: str, n: int) -> dict[str, float]:
    """Runs one case in this process: CPU seconds of its construction, epochs and first index, and peak growth in MB."""
    import torch

    torch.set_num_threads(1)
    make = CASES[name][1](n)
    before = _peak()
    begun = time.process_time()
    sampler = make()
    built = time.process_time()
    first_epoch = _epoch(sampler)
    whole = _epoch(sampler) if hasattr(sampler, "epoch_indices") else None
    begun_ints = time.process_time()
    drawn = len(sampler)
    last = deque(iter(sampler), maxlen=1)
    ints = time.process_time() - begun_ints
    peak = _peak() - before
    begun_first = time.process_time()
    next(iter(sampler))
    out = {
        "construction": built - begun,
        "first_epoch": first_epoch,
        "ints": ints,
        "first_index": time.process_time() - begun_first,
        "peak_mb": peak / 1e3,
        "draws": float(drawn * (len(last[0]) if isinstance(last[0], list) else 1)),
    }
    if whole is not None:
        out["epoch_arrays"] = whole
    if name == "WeightedSampler":
        out["chi_square_z"] = _chi_square(sampler, n)
    return out


def _epoch(sampler: Any) -> float:
    begun = time.process_time()
    if hasattr(sampler, "epoch_indices"):
        sampler.epoch_indices()
    else:
        deque(iter(sampler), maxlen=0)
    return time.process_time() - begun


def _chi_square(sampler: Any, n: int) -> float:
    """How many standard deviations an epoch's counts, in 1,000 bins of like weight, are off their expectation."""
    import numpy as np

    of = weights(n)
    bins = np.argsort(np.argsort(of)) * 1000 // n
    expected = np.bincount(bins, weights=of, minlength=1000) * (sampler.num_samples / of.sum())
    seen = np.bincount(bins[sampler.epoch_indices()], minlength=1000)
    statistic = float(((seen - expected) ** 2 / expected).sum())
    return float((statistic - 999) / (2 * 999) ** 0.5)


def _peak() -> int:
    """Most resident memory so far, in kB; /proc counts pages, ru_maxrss would count the parent's."""
    status = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))


def run(sizes: list[int], repeats: int) -> None:
    """Prints and keeps every case at every size; a peer is left out where its method ends (2^24) or takes hours."""
    for n in sizes:
        names = [c for c in CASES if n <= 10_000_000 or _is_ours(c)]
        rounds: dict[str, list[dict[str, float]]] = {c: [] for c in names}
        for turn in range(repeats):
            for name in names:
                if turn < _turns(name, n):
                    rounds[name].append(_in_a_process(name, n))
        medians = {c: {k: statistics.median(r[k] for r in of if k in r) for k in of[0]} for c, of in rounds.items()}
        print(f"## {n:.0e} samples")
        for name in names:
            print(_line(name, medians, len(rounds[name])))
        complete = repeats >= 5
        keep("speed-samplers", {"complete": complete, "samples": n, "medians": medians, "rounds": rounds})


def _turns(name: str, n: int) -> int:
    against_torch = name.startswith("torch ") or CASES[name][0].startswith("torch ")
    if n > 10_000_000:
        return 2
    return BESIDE_TORCH if against_torch and n <= 1_000_000 else 5


def _is_ours(name: str) -> bool:
    return name.split()[0].rstrip(",").endswith("Sampler") and not name.startswith("torch")


def _in_a_process(name: str, n: int) -> dict[str, float]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "benchmarks.speed_samplers", name, str(n)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise SystemExit(f"{name} at {n}: {done.stderr[-800:]}")
    return dict(json.loads(done.stdout.splitlines()[-1]))


def _line(name: str, medians: dict[str, dict[str, float]], runs: int) -> str:
    own = medians[name]
    text = (
        f"{name:50} construction {own['construction']:7.3f}, first epoch {own['first_epoch']:7.3f}, "
        f"as Python ints {own['ints']:7.3f} CPU s, first index {own['first_index']:.4f} s, {own['peak_mb']:.0f} MB, "
        f"{own['draws']:.0f} draws, {runs} runs"
    )
    if "epoch_arrays" in own:
        text += f"; later epochs as arrays {own['epoch_arrays']:.3f}"
    if "chi_square_z" in own:
        text += f"; chi-square {own['chi_square_z']:+.1f} sd"
    other = medians.get(CASES[name][0])
    if other is None:
        return text
    share = own["draws"] / other["draws"]  # a peer may have drawn a part of an epoch
    ratios = {
        "first epoch with construction": (other["construction"] + share * other["first_epoch"])
        / (own["construction"] + own["first_epoch"]),
        "Python ints": share * other["ints"] / own["ints"],
    }
    if "epoch_arrays" in own:
        ratios["arrays from the second epoch"] = share * other["ints"] / own["epoch_arrays"]
    said = ", ".join(f"{what} {value:.1f}x" for what, value in ratios.items())
    return (
        f"{text}\n{'':50} -> as fast as {CASES[name][0]}: {said}; first index in "
        f"{own['first_index'] / other['first_index']:.2f} of its time, peak {own['peak_mb']:.0f} of {other['peak_mb']:.0f} MB"
    )


if __name__ == "__main__":
    print(json.dumps(case(sys.argv[1], int(sys.argv[2]))))
