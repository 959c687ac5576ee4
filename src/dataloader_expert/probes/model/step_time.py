"""The time of a training step on the device at hand."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from dataloader_expert.facts import Fact, Quantity
from dataloader_expert.probes.base import Bench, Observation, Probe, evidence
from dataloader_expert.probes.batch_parts import flat
from dataloader_expert.probes.model.check import maker
from dataloader_expert.probes.model.feeding import called_with, given_batch, known
from dataloader_expert.probes.model.trials import placed

STEP = Quantity("step_ms", "ms", "one training step of the model on a real batch: forward, backward, optimizer")


@dataclass(frozen=True)
class StepTime(Probe):
    """The consumer's step, if its time is not given: median of the steps after two warm-up steps."""

    name: ClassVar[str] = "step"
    doing: ClassVar[str] = "timing the training step"
    of_model: ClassVar[bool] = True
    model: str = ""
    model_args: Any = None
    batch_size: int | None = None
    device: str = "auto"
    most_s: float = 4.0

    def ready(self, bench: Bench) -> None:
        known(self.model, bench)

    def measure(self, bench: Bench) -> Iterable[Observation]:
        import torch

        where = "cuda" if self.device != "cpu" and torch.cuda.is_available() else "cpu"
        model = maker(self.model, self.model_args, bench.ref.roots)()
        batch, _ = given_batch(bench, self.batch_size, whole=True)
        given, named = placed(called_with(model, batch, bench.source.label), where)
        model = model.to(where).train()
        optimizer = torch.optim.AdamW(model.parameters())
        until = time.monotonic() + min(self.most_s, max(0.5, 0.2 * bench.left()))
        took: list[float] = []
        while len(took) < 3 or (time.monotonic() < until and len(took) < 200):
            begun = time.perf_counter()
            out = model(*given, **named)
            loss: Any = sum(t.float().mean() for _, t in flat(out) if isinstance(t, torch.Tensor))
            loss.backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            if where == "cuda":
                torch.cuda.synchronize()
            took.append(1e3 * (time.perf_counter() - begun))
        kept = sorted(took[2:])
        seen = evidence("timed", "step", seen=len(kept), spread=(kept[0], kept[-1]), conditions={"device": where})
        yield Fact(STEP, kept[len(kept) // 2], seen)


PROBES = (StepTime,)
