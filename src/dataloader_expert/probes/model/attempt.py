"""A model and a batch: calls with a few of the batch's samples and with all of them, each made once, and what they gave."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from dataloader_expert.probes.batch_parts import flat, samples_in
from dataloader_expert.probes.model.calling import Ran, cut, few_of, keeps, ran, reach, rows_of
from dataloader_expert.probes.model.mends import wants
from dataloader_expert.probes.model.ways import Way, ways

WHOLE_S = 1.0
"""Seconds that a call with the whole batch may take; more samples are left out."""


class Attempt:
    """A model and a batch: calls with a few of its samples and with all, and what they gave."""

    def __init__(
        self,
        model: Any,
        batch: Any,
        label: str | None,
        said: Mapping[str, Any],
        until: float,
        n: int = 0,
        chosen: bool = False,
        guessed: bool = False,
        drawn: frozenset[str] | None = None,
    ) -> None:
        self.model, self.batch, self.said, self.until = model, batch, said, until
        self.few, self.n = few_of(batch, n)
        self.want = wants(model, (int(said["size"]),) if said.get("size") else ())
        self.ways = ways(model, self.few, label, chosen, guessed, self.n or n or samples_in(batch))
        self.all = (n or samples_in(batch)) if self.n else 0
        self.said_to: dict[str, str] = {}
        """By code of a way, what the model said to it."""
        self.asserted: set[str] = set()
        """Codes of the ways that the model's own code refused, and not torch."""
        self.raised: list[tuple[Way, Exception]] = []
        """The ways, as they were given, that the model does not take, and what it raised of each."""
        self.odd: Way | None = None
        """The first way that runs as it is, with an output of one size for any number of samples."""
        self.grown: dict[str, bool] = {}
        """By code of a way, whether its output grows with the samples."""
        self.samples = n or samples_in(batch)
        self.alone = len(flat(batch)) == 1 or (
            n == 1 and any(len(v) != 1 for _, v in flat(batch) if getattr(v, "ndim", 0))
        )
        """Whether the batch may be one sample: one tensor is all of it, or it was delivered as one. What stands beside others of its length
        has samples."""
        self.drawn = drawn
        """The fields of a batch that is made from its description whose range that does not tell; None of one that is real."""
        self.stored: frozenset[str] = frozenset()
        """The fields of pictures and sound whose scale is that of their files, of which the user has chosen none."""
        self.stopped = False
        """Whether the time was over before all changes of the batch were tried."""
        self.limited = False
        self.whole_refused = False
        self.done: dict[bool, tuple[str, Ran]] = {}
        """The last call with few samples (False) and with the whole batch (True)."""
        if hasattr(model, "eval"):
            model.eval()

    def run(self, way: Way, whole: bool = False) -> Ran:
        """What the call gives: once, as it may take seconds. ``whole``: with as much of the batch as ``limit`` leaves."""
        if whole:
            self.limit(way)
        whole = whole and self.batch is not self.few
        code = way.code()
        if self.done.get(whole, ("",))[0] != code:
            self.done[whole] = code, ran(self.model, way, self.batch if whole else self.few)
        return self.done[whole][1]

    def fails(self, way: Way, whole: bool = False) -> Exception | None:
        """What the call raises; None if it runs and its output keeps the samples apart."""
        done = self.run(way, whole)
        error = done.error or (None if whole else self.odd_output(way, done.out))
        if error is not None and way in self.ways:
            self.raised.append((way, error))
        if done.error is not None:
            self.said_to[way.code()] = str(done.error)
            if asserts(done.error):
                self.asserted.add(way.code())
        return error

    def odd_output(self, way: Way, out: Any) -> Exception | None:
        """What is wrong with an output that does not keep the samples apart; None if it does."""
        alone = self.alone and any(".unsqueeze(0)" in mend for of in way.mends.values() for mend in of)
        if not self.n or alone or keeps(out, self.n, bool(way.mends)) or self.grows(way):
            return None
        shapes = [list(v.shape) for _, v in flat(out) if hasattr(v, "shape")]
        if not way.mends:
            self.odd = self.odd or way
        return ValueError(f"from {self.n} samples the model makes {shapes[:3]}: none of its dimensions is the batch's")

    def furthest(self) -> tuple[Way, Exception] | None:
        """Of the ways that the model does not take, the one with which it came furthest, and what it raised: the reason to tell."""

        def far(one: tuple[Way, Exception]) -> tuple[tuple[float, ...], bool]:
            way, error = one
            return reach(error), way.names == ("batch",) and isinstance(error, KeyError)  # what it looks up says most

        return max(self.raised, key=far, default=None)

    def grows(self, way: Way) -> bool:
        """Whether the output of a call without mends has other sizes for other numbers of samples, such as those of pairs or of views."""
        if way.mends or way.code() in self.grown:
            return self.grown.get(way.code(), False)
        other = max(2, self.n - 1)
        few = cut(self.few, rows_of(self.few, self.n, other), self.n)
        shapes = [
            [tuple(v.shape) for _, v in flat(out) if hasattr(v, "shape")]
            for out in (self.run(way).out, ran(self.model, way, few).out)
        ]
        self.grown[way.code()] = bool(shapes[1]) and shapes[0] != shapes[1] and other < self.n
        return self.grown[way.code()]

    def limit(self, way: Way) -> None:
        """Cuts the batch, once, to what runs in a second or so, by the time of the few: a large model takes minutes over it."""
        if self.limited or not self.n or self.all <= self.n or self.run(way).error is not None:
            return
        self.limited = True
        rows = max(self.n, int(self.n * WHOLE_S / max(1e-9, self.run(way).seconds)))
        if rows == self.n:
            self.batch = self.few
        elif rows < self.all:
            self.batch = cut(self.batch, rows_of(self.batch, self.all, rows), self.all)
        self.all = min(rows, self.all)

    def of_size(self, n: int) -> Attempt:
        """The same with a batch of so many samples, which are repeated where there are fewer."""
        import torch

        made = copy.copy(self)
        made.few = made.batch = cut(self.batch, torch.arange(n) % self.all, self.all)
        made.n = made.all = n
        made.done, made.limited = {}, True
        return made

    def widen(self) -> None:
        """Takes the whole batch for the few: its ids tell more of their range."""
        if self.n != self.all:
            self.few, self.n = self.batch, self.all
            self.done.clear()


def asserts(error: Exception) -> bool:
    """Whether it was raised by a line of Python that is not torch's own: operators of torch raise other kinds."""
    raised = error.__traceback__
    while raised is not None and raised.tb_next is not None:
        raised = raised.tb_next
    within = "" if raised is None else str(raised.tb_frame.f_globals.get("__name__"))
    return isinstance(error, AssertionError | ValueError) and not within.startswith("torch.")
