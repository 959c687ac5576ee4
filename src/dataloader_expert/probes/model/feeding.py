"""Where probes of a model get their batch from, and how the model is called with it."""

from __future__ import annotations

import os
from typing import Any

from dataloader_expert.plan import LoaderPlan
from dataloader_expert.probes.base import Bench, TooDear
from dataloader_expert.probes.model.misfits import judged
from dataloader_expert.probes.model.spec import batch_of, of_input
from dataloader_expert.probes.model.ways import functions
from dataloader_expert.probes.serving import Serving, serving

FIT = 0.02
"""The share of the time left that one batch may take."""
DESCRIBED = 8
"""Samples of a batch that is made from its description."""


def given_batch(bench: Bench, batch_size: int | None, described: Any = None, whole: bool = False) -> tuple[Any, int]:
    """A batch and its samples: one that the loader delivers, else one made from its description.

    Raises:
        TooDear: if ``whole`` and a batch of the size asked takes too long.
    """
    if described is not None:
        n = batch_size or DESCRIBED
        return batch_of(of_input(described), min(n, DESCRIBED)), min(n, DESCRIBED)
    served = serving(bench, batch_size, 0)
    if served.fit(bench, FIT * bench.left()) and whole:
        raise TooDear("a whole batch takes too long to load to time a step on one: pass step_ms")
    batch = next(iter(served.loader(here(served))))
    return batch, served.count(batch)


def here(served: Serving) -> LoaderPlan:
    """The plan of the user's loader unchanged; a built-in loader without workers."""
    return served.current if served.user_loader is not None else served.current.but(workers=0)


def called_with(model: Any, batch: Any, label: str | None, code: str | None = None) -> tuple[Any, Any]:
    """Arguments and keywords with which the model takes the batch.

    Raises:
        RuntimeError: if no way to call it is found.
    """
    if code is None:
        verdict = judged(model, batch, label)
        if verdict.way is None:
            raise RuntimeError(f"the model takes no batch of this loader: {verdict.error}")
        code = verdict.way.code()
    given, named = functions(code)[0](batch)
    return given, named


def known(model: str, bench: Bench) -> None:
    """Rejects a reference that does not resolve; the working directory stays that of the source."""
    from dataloader_expert.sources.reference import named

    folder = os.getcwd()
    try:
        named(model, bench.ref.roots)
    finally:
        os.chdir(folder)
