"""What is wrong with arguments is said in words, for one argument and for several that do not go together."""

from __future__ import annotations

from typing import Any

import pytest

from dataloader_expert.server.arguments import invalid
from dataloader_expert.tools.recommend_batch_spec import Request

MODEL = {"model": "m.py:Net"}


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({**MODEL}, "give source, or input: what a model is fed, without data"),
        ({**MODEL, "source": "d.py:Data", "input": {"x": ["B", 3]}}, "give either source or input, not both"),
        ({"source": "d", "safety_margin": 2}, "safety_margin: input should be less than 1; given: 2"),
        ({"source": "d", "batchsize": 2}, "batchsize is not an argument; did you mean batch_size?"),
        ({"source": "d", "batch_size": 2}, None),
    ],
)
def test_what_is_wrong_is_said(given: dict[str, Any], says: str | None) -> None:
    assert invalid(Request, given) == says
