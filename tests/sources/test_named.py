"""A reference that is misspelt, and arguments that a class does not take: what there is instead is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from dataloader_expert.errors import RequestError, listed
from dataloader_expert.sources.reference import load

MANY = "\n".join(f"class Net{i}:\n    pass\n" for i in range(12))
KINDS = """
class MLP:
    def __init__(self, inputs=10, classes=5):
        self.inputs = inputs


class Bare:
    pass


def fails(n=1):
    raise TypeError("n is odd")
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "mine_named.py"
    path.write_text(KINDS + MANY)
    return str(path)


@pytest.mark.parametrize(
    ("name", "args", "says", "not_said"),
    [
        ("Mlp", {}, "did you mean MLP? It has MLP, Bare, fails, Net0, Net1, Net2, Net3, Net4, … and 7 more", ""),
        ("Nothing_like_it", {}, "; it has MLP, Bare", "did you mean"),
        ("MLP", {"sise": 3}, "pass its arguments as source_args: MLP(inputs=10, classes=5)", ""),
        ("Bare", {"sise": 3}, "Bare takes no arguments: leave source_args out", "pass its arguments"),
        ("fails", {"n": 1}, "n is odd", "source_args"),
    ],
)
def test_what_there_is_is_told(file: str, name: str, args: dict[str, int], says: str, not_said: str) -> None:
    """Our promise: the next request can be right."""
    with pytest.raises(RequestError) as told:
        load(f"{file}:{name}", args, (str(Path(file).parent),))
    assert says in str(told.value)
    assert not not_said or not_said not in str(told.value)


@pytest.mark.parametrize(("n", "says"), [(2, "0, 1"), (3, "0, 1, 2"), (4, "0, 1, 2, … and 1 more")])
def test_names_that_are_left_out_are_counted(n: int, says: str) -> None:
    assert listed(range(n), 3) == says
