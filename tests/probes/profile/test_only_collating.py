"""A loader whose time is spent in its collate function."""

from __future__ import annotations

from torch.utils.data import default_collate

from dataloader_expert.facts import Fact, Facts
from dataloader_expert.plan import LoaderPlan
from dataloader_expert.probes.profile import stages
from dataloader_expert.probes.profile.hotspots import USER_FUNCTIONS
from dataloader_expert.probes.profile.sampling_profiler import Tick
from dataloader_expert.probes.profile.stage import STAGE
from dataloader_expert.probes.serving import Serving

COLLATES = (
    ("/theirs/words.py", 25, "joined"),
    (f"{stages.__file__.rpartition('/')[0]}/instrumentation.py", 3, "collate"),
)


def test_stacks_that_only_collate_are_told() -> None:
    """Seen: where every stack was in the collate function, no function was named, nor what it did for each batch."""
    served = Serving([1] * 8, default_collate, "default", LoaderPlan(batch_size=4), False, "a test")
    line = {"worker": -1, "batch": 1, "n": 4, "timed": True, "slow": [], "spent": {"collate": (0.4, 0.4, 0.0)}}
    seen = stages.Seen(lines=[line], ticks=[Tick(COLLATES, 9, 0)], samples=4)
    facts = Facts(tuple(said for said in stages.stage_facts(served, [line], seen) if isinstance(said, Fact)))
    [spot] = facts.value(USER_FUNCTIONS)
    assert (spot["function"], spot["line"], spot["stage"]) == ("joined", 25, "collate")


def test_waits_that_no_stack_shows_have_no_stage() -> None:
    """Seen: the waits of a few samples that no stack was seen in were told as waiting in a transform."""
    served = Serving([1] * 8, default_collate, "default", LoaderPlan(batch_size=4), False, "a test")
    line = {"worker": -1, "batch": 1, "n": 1, "timed": True, "slow": [], "spent": {"unattributed": (1.0, 0.05, 0.0)}}
    seen = stages.Seen(lines=[line], ticks=[Tick((("/theirs/images.py", 9, "normalised"),), 9, 0)], samples=1)
    told = {
        said.at["stage"]: said.value
        for said in stages.stage_facts(served, [line], seen)
        if isinstance(said, Fact) and said.quantity is STAGE
    }
    assert round(told["unattributed"]["wait_ms"]) == 950 and round(told["transform"]["ms"]) == 50
