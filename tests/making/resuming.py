"""Training runs that are killed with SIGKILL and go on in a new process, beside the same run left alone.

``python -m tests.making.resuming PLAN.json FOLDER`` carries out a plan and writes ``FOLDER/outcomes.json``. It loads
torch once and forks: every run is a child with a loader of its own, and shares nothing with the run it continues but
what that wrote to disk. A killed child's workers die with it.

What a run writes: after each batch, in one step, the loader's state with the ids delivered so far; and, from
``__getitem__``, each id that anybody read.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import traceback
import uuid
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import Dataset

from dataloader_expert.loaders.creating import create_loader
from dataloader_expert.loaders.epochs import EpochLoader
from dataloader_expert.loaders.factory import DataLoaderConfig, DataLoaderFactory
from dataloader_expert.loaders.jasper.dataset import JASPERSteeringDataset
from dataloader_expert.loaders.modules.module import UniversalDataModule
from dataloader_expert.loaders.streaming import StreamingDataset
from dataloader_expert.samplers import TorchShuffleSampler
from tests.making import jasper
from tests.samplers.makers import MAKERS, gives_batches

JASPER, MODULE, STATEFUL, STREAM = "JASPER", "UniversalDataModule", "StatefulDataLoader", "StreamingDataset"
FACTORY_STREAM, MODULE_STREAM = "StreamingDataset in DataLoaderFactory", "StreamingDataset in UniversalDataModule"
ENGINE = (MODULE, STATEFUL, STREAM, FACTORY_STREAM, MODULE_STREAM)
STREAMS = (STREAM, FACTORY_STREAM, MODULE_STREAM)
SAMPLES, EPOCHS, BATCH = 103, 2, 8
VALUES = [(i * i + i // 7) % 6 for i in range(SAMPLES)]
PHASES = ("delivered", "recorded", "running")
"""When the kill comes: a batch is delivered but no state says so yet; its state is written; or whenever it happens."""

Batch = tuple[int, list[int]]
"""An epoch, and the ids delivered."""


@dataclass(frozen=True)
class Case:
    """What is run: a sampler of ``MAKERS``, JASPER, or one of ``ENGINE``.

    ``kills`` times, each stopped ``stops`` times at batches drawn by ``seed``, and resumed after each stop.
    """

    name: str
    workers: int = 0
    ranks: int = 1
    kills: int = 2
    seed: int = 0
    stops: int = 2

    def __str__(self) -> str:
        return f"{self.name}-{self.workers}-{self.ranks}-{self.seed}"


@dataclass(frozen=True)
class Kill:
    """One run that was killed: stop by stop at which batch of each rank, in which phase, and what was delivered in the end."""

    batch: list[list[int]]
    phase: str
    delivered: list[list[Batch]]
    read: int


@dataclass(frozen=True)
class Outcome:
    """``alone``: batches of the run that was left alone, rank by rank."""

    case: Case
    alone: list[list[Batch]]
    kills: list[Kill]

    @property
    def samples(self) -> int:
        """Delivered in the run that was left alone, on all ranks."""
        return sum(len(ids) for rank in self.alone for _, ids in rank)

    def equal(self, kill: Kill) -> bool:
        return kill.delivered == self.alone

    def again(self, kill: Kill) -> int:
        """Samples that were read more than once, or for nothing: fetched but not delivered before the kill."""
        return kill.read - self.samples


class Logged(Dataset[int]):
    """Its samples are their ids; each read is a line of a file."""

    def __init__(self, log: Path) -> None:
        self.log = log

    def __len__(self) -> int:
        return SAMPLES

    def __getitem__(self, index: int) -> int:
        _append(self.log, [index])
        return index


def outcomes_of(text: str) -> list[Outcome]:
    """What the script wrote."""
    found = []
    for each in json.loads(text):
        alone, kills = _batches(each["alone"]), each["kills"]
        killed = [Kill(k["batch"], k["phase"], _batches(k["delivered"]), k["read"]) for k in kills]
        found.append(Outcome(Case(**each["case"]), alone, killed))
    return found


def _batches(ranks: list[Any]) -> list[list[Batch]]:
    return [[(epoch, ids) for epoch, ids in rank] for rank in ranks]


def run(case: Case, folder: Path) -> Outcome:
    """The run left alone, and the same run killed and resumed ``case.kills`` times."""
    draw = random.Random(str(case))
    alone = _finished(_started(case, folder / "alone", folder, None))
    kills = []
    for i in range(case.kills):
        place, phase = folder / f"kill-{i}", draw.choice(PHASES)
        drawn = [sorted(draw.sample(range(1, len(rank) + 1), case.stops)) for rank in alone]
        at = [list(stop) for stop in zip(*drawn, strict=True)]
        for stop in at:
            children = _started(case, place, folder, [(batch, phase) for batch in stop])
            for child in children:
                child.wait()
            for child in children:
                os.killpg(child.pid, signal.SIGKILL)
            for child in children:
                os.waitpid(child.pid, 0)
        delivered = _finished(_started(case, place, folder, None))
        kills.append(Kill(at, phase, delivered, len((place / "read").read_bytes()) // 4))
    return Outcome(case, alone, kills)


@dataclass(frozen=True)
class _Child:
    """A running child: its state file, and the pipe by which it says that it is ripe."""

    pid: int
    state: Path
    pipe: int

    def wait(self) -> None:
        """Until it says so.

        Raises:
            RuntimeError: if it ends before.
        """
        if not os.read(self.pipe, 1):
            raise RuntimeError(f"{self.state}: the run ended before it was to be killed")
        os.close(self.pipe)


def _started(case: Case, place: Path, folder: Path, kills: list[tuple[int, str]] | None) -> list[_Child]:
    """A child for every rank; one that is killed is told when to say that it is ripe."""
    place.mkdir(parents=True, exist_ok=True)
    meeting = place / f"meeting-{uuid.uuid4()}"
    children = []
    for rank in range(case.ranks):
        own, theirs = os.pipe()
        pid = os.fork()
        if not pid:
            code = 1
            try:
                os.setsid()
                os.close(own)
                with _group(case, rank, meeting) as world:
                    _train(case, rank, place, folder, kills[rank] if kills else None, theirs)
                    world()
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(code)
        os.close(theirs)
        children.append(_Child(pid, place / f"state-{rank}.json", own))
    return children


def _finished(children: list[_Child]) -> list[list[Batch]]:
    """What each rank has delivered when all have come to their ends."""
    for child in children:
        _, status = os.waitpid(child.pid, 0)
        if status:
            raise RuntimeError(f"{child.state}: the run ended with status {status}")
        os.close(child.pipe)
    return _batches([json.loads(child.state.read_text())["delivered"] for child in children])


@contextmanager
def _group(case: Case, rank: int, meeting: Path) -> Iterator[Callable[[], None]]:
    """The process group of several ranks, and what waits until all of them are there."""
    if case.ranks == 1:
        yield lambda: None
        return
    import torch.distributed as dist

    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=case.ranks)
    yield lambda: dist.barrier()
    dist.destroy_process_group()


def _train(case: Case, rank: int, place: Path, folder: Path, kill: tuple[int, str] | None, pipe: int) -> None:
    """Goes through the epochs from where the state says; at the batch of ``kill`` says so, and waits for its end."""
    path = place / f"state-{rank}.json"
    loader = _loader(case, place / "read", folder)
    state: dict[str, Any] = {"delivered": []}
    first, resumed = 0, path.exists()
    if resumed:
        state = json.loads(path.read_text())
        loader.load_state_dict(state["loader"])
        module = case.name in (MODULE, MODULE_STREAM)
        first = state["loader"]["epoch"] if module else state["epoch"]  # a module may be at its next epoch
    at, phase = kill or (0, "")
    told = case.ranks > 1 or case.name == JASPER  # others move on by themselves
    for epoch in range(first, EPOCHS):
        if told and not (resumed and epoch == first):
            loader.set_epoch(epoch)
        for batch in loader:
            state["delivered"].append((epoch, _ids(batch)))
            due = at > 0 and len(state["delivered"]) >= at  # a run that was killed running may be further
            at = 0 if due else at
            if due and phase == "delivered":
                _say(pipe, wait=True)
            state["loader"], state["epoch"] = loader.state_dict(), epoch
            partial = path.with_suffix(".partial")
            partial.write_text(json.dumps(state))
            partial.replace(path)
            if due:
                _say(pipe, wait=phase == "recorded")
    if at:
        _say(pipe, wait=False)


def _say(pipe: int, wait: bool) -> None:
    os.write(pipe, b"x")
    while wait:
        signal.pause()


class _OfModule:
    """A data module as a loader: each pass is of a new ``train_dataloader()``."""

    def __init__(self, module: UniversalDataModule) -> None:
        self.state_dict, self.load_state_dict = module.state_dict, module.load_state_dict
        self.set_epoch, self._made = module.set_epoch, module.train_dataloader

    def __iter__(self) -> Iterator[Any]:
        return iter(self._made())


class _Logging:
    """Lines that are ids; each read is a line of a file."""

    def __init__(self, log: Path) -> None:
        self.log = log

    def __call__(self, line: bytes) -> int:
        _append(self.log, [int(line)])
        return int(line)


def _engine(case: Case, log: Path, folder: Path, how: dict[str, Any]) -> Any:
    """A loader of the engine, of the samples or of files that hold their ids."""
    if case.name == MODULE:
        return _OfModule(UniversalDataModule(Logged(log), val_split=0, batch_size=BATCH, seed=7, **how))
    from dataloader_expert.loaders.trainers.stateful import StatefulDataLoader

    if case.name == STATEFUL:
        return StatefulDataLoader(Logged(log), BATCH, sampler=TorchShuffleSampler(SAMPLES, 7), **how)
    stream = StreamingDataset(streamed(folder.parent), 20, parse=_Logging(log), seed=7)
    if case.name == MODULE_STREAM:
        return _OfModule(UniversalDataModule(stream, val_split=0, batch_size=BATCH, seed=7, **how))
    if case.name == FACTORY_STREAM:
        return DataLoaderFactory().create_dataloader(stream, DataLoaderConfig(BATCH, shuffle=False, seed=7, **how))
    return StatefulDataLoader(stream, BATCH, **how)


def streamed(folder: Path) -> list[str]:
    """Seven files that together hold all ids."""
    made = [folder / f"ids-{i}.txt" for i in range(7)]
    for i, path in enumerate(made):
        if not path.exists():
            path.write_text("".join(f"{n}\n" for n in range(SAMPLES) if n % 7 == i))
    return [str(path) for path in made]


def _loader(case: Case, log: Path, folder: Path) -> Any:
    context = "fork" if case.workers else None
    how: dict[str, Any] = {"num_workers": case.workers, "multiprocessing_context": context}
    if case.name in ENGINE:
        return _engine(case, log, folder, how)
    if case.name == JASPER:
        whole = JASPERSteeringDataset.__getitems__

        def logged(self: JASPERSteeringDataset, indices: Any) -> Any:
            _append(log, indices)
            return whole(self, indices)

        JASPERSteeringDataset.__getitems__ = logged  # type: ignore[method-assign]  # this process is the run's own
        more: Any = {"distributed": case.ranks > 1, "drop_last": False, "pin_memory": False, **how}
        return create_loader(jasper_directory(folder.parent), "train", BATCH, **more)
    more = {} if case.name == "DistributedShuffleSampler" and case.ranks == 1 else {"num_replicas": None, "rank": None}
    sampler = MAKERS[case.name](VALUES, 7, drop_last=False, **more)
    if gives_batches(sampler):
        return EpochLoader(Logged(log), batch_sampler=sampler, **how)
    return EpochLoader(Logged(log), batch_size=BATCH, sampler=sampler, **how)


def jasper_directory(folder: Path) -> Path:
    """A directory with as many training pairs as other data sets have samples; a pair's relevance says which it is."""
    made = folder / "jasper"
    if not (made / "config.json").exists():
        pairs = SAMPLES * jasper.PAIRS // jasper.SIZES["train"] + 1
        what = jasper.contents(pairs)
        what["pair_relevance"] = torch.arange(pairs) / 1000
        jasper.make(made, what, n_pairs=pairs, curriculum={"mode": "linear", "epochs_total": EPOCHS})
    return made


def _ids(batch: Any) -> list[int]:
    """Of a JASPER sample its pair and its steering variant, both of which must come again."""
    if not isinstance(batch, dict):
        return [int(i) for i in batch.tolist()]
    pairs = (batch["relevance"] * 1000).round().long() * 10 + batch["steering_variant"]
    return [int(i) for i in pairs.tolist()]


def _append(log: Path, ids: Any) -> None:
    """Four bytes each, appended in one step, by whichever process."""
    file = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(file, b"".join(int(i).to_bytes(4, "little") for i in ids))
    os.close(file)


def main() -> None:
    plan, folder = Path(sys.argv[1]), Path(sys.argv[2])
    warnings.filterwarnings("ignore", message=".*suggested max number of worker")  # what is asked for is what is tried
    warnings.filterwarnings("ignore", message="'set_vital' is deprecated")  # torchdata's own call
    torch.set_num_threads(1)  # a pool of threads does not survive a fork
    jasper_directory(folder)
    streamed(folder)
    cases = [Case(**each) for each in json.loads(plan.read_text())]
    found = [asdict(run(case, folder / str(case))) for case in cases]
    (folder / "outcomes.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main()
