"""The order of epochs is measured by two probes, of which one may have told it already."""

from __future__ import annotations

from pathlib import Path

from dataloader_expert.plan import SourceRef
from dataloader_expert.probes import base
from tests.making import users
from tests.making.shared import CHECKOUT

LOADER = "with_slow_collate"


def test_probes_that_tell_the_order_of_epochs_do_not_clash() -> None:
    """Seen: an analysis of a user's loader lost what its settings say, as the order took another time when it was drawn again."""
    source = SourceRef(f"{Path(users.__file__)}:{LOADER}", roots=(str(CHECKOUT),), code=True).to_json()
    asked = [{"probe": name} for name in ("layout", "draws", "static_checks")]
    request = {"source": source, "probes": asked, "seed": 0, "cpus": 1.0, "memory_bytes": 1 << 30}
    events: list[dict[str, object]] = []
    base.run(request, events.append, lambda index: None)
    said = [str(event) for event in events]
    assert [text for text in said if "Clash" in text] == []
    assert sum("'order_drawn'" in text for text in said) == 1
