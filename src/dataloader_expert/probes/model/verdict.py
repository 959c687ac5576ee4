"""Whether a model takes a batch, and what differs."""

from __future__ import annotations

from dataclasses import dataclass

from dataloader_expert.probes.model.mends import Misfit
from dataloader_expert.probes.model.ways import TARGET, Way

SCALE = "value-range-mismatch"


@dataclass(frozen=True)
class Verdict:
    """``way``: how the model is called, mended where it has to be; None: no way was found. ``error``: of the first way."""

    way: Way | None
    misfits: tuple[Misfit, ...] = ()
    error: str | None = None
    refused: bool = False
    """Whether the model refuses a batch of other samples."""
    samples: int = 0
    """How many were run at once; 0: unknown."""
    only: int | None = None
    """The one size of batches that the model takes."""
    tried: Way | None = None
    """Where no way was found, the one with which the model came furthest."""
    unseen: tuple[str, ...] = ()
    """What could not be looked at, and why."""

    @property
    def accepted(self) -> bool:
        """Whether the batch goes in as it is. What only the loss would refuse, or the values' scale, is told all the same."""
        return (
            self.way is not None
            and not self.refused
            and self.error is None
            and all(m.field == TARGET or m.code == SCALE or m.runs for m in self.misfits)
        )


def in_short(error: Exception | None) -> str | None:
    from dataloader_expert.sources.reference import Raised

    return None if error is None else str(Raised(error))
