"""Whether a dataset draws random numbers is told from the code that a read would run, whoever wrote it."""

from __future__ import annotations

import functools
import random
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import ConcatDataset, Dataset, Subset, TensorDataset

from dataloader_expert.loaders.layouts.hub_rows import HubRows
from dataloader_expert.sources.code_inspection import MOST, may_draw
from tests.loaders.material import Noisy, Numbers, library_tokenizer

helpers = types.ModuleType("helpers")
exec(
    "import random\n"
    "def jitter(value):\n    return value + random.random()\n"
    "def shift(value):\n    return value + 1\n"
    "class Jitter:\n    def __call__(self, value):\n        return jitter(value)\n",
    helpers.__dict__,
)


def noise(value: Any) -> Any:
    return value + torch.randn(())


def deeper(value: Any) -> Any:
    return noise(value)


def quiet(value: Any) -> Any:
    return value + 1


class Transformed(Numbers):
    """Reads through a transform that it holds."""

    def __init__(self, transform: Any) -> None:
        super().__init__(3)
        self.transform = transform

    def __getitem__(self, index: int) -> Any:
        return self.transform(index)


class Augmenter:
    """Has no ``__call__``."""

    def augment(self, value: Any) -> Any:
        return value * np.random.rand()


class Callables:
    """Holds others, in a list."""

    def __init__(self, *inner: Any) -> None:
        self.inner = list(inner)

    def __call__(self, value: Any) -> Any:
        for one in self.inner:
            value = one(value)
        return value


class OwnMethod(Numbers):
    def __getitem__(self, index: int) -> Any:
        return self._flipped(index)

    def _flipped(self, index: int) -> Any:
        return -index if random.random() < 0.5 else index


class OfParent(Noisy):
    def __getitem__(self, index: int) -> Any:
        return super().__getitem__(index)


class ByModule(Numbers):
    def __getitem__(self, index: int) -> Any:
        return helpers.jitter(index)


class ByModuleQuiet(Numbers):
    def __getitem__(self, index: int) -> Any:
        return helpers.shift(index)


class ByHeldMethod(Numbers):
    def __init__(self) -> None:
        super().__init__(3)
        self.augmenter = Augmenter()

    def __getitem__(self, index: int) -> Any:
        return self.augmenter.augment(index)


class ByProperty(Numbers):
    @property
    def factor(self) -> float:
        return random.uniform(0, 1)

    def __getitem__(self, index: int) -> Any:
        return index * self.factor


class ByClassMethod(Numbers):
    @classmethod
    def draw(cls) -> float:
        return random.gauss(0, 1)

    def __getitem__(self, index: int) -> Any:
        return index * self.draw()


class ByStaticMethod(Numbers):
    @staticmethod
    def draw() -> float:
        return random.gauss(0, 1)

    def __getitem__(self, index: int) -> Any:
        return index * self.draw()


class MadeInPlace(Numbers):
    def __getitem__(self, index: int) -> Any:
        return Augmenter().augment(index)


class ByName(Numbers):
    def __init__(self) -> None:
        super().__init__(3)
        self.transforms = {"a": noise}

    def __getitem__(self, index: int) -> Any:
        return self.transforms["a"](index)


class Twice(OwnMethod):
    def __getitem__(self, index: int) -> Any:
        return self._first(index)

    def _first(self, index: int) -> Any:
        return self._flipped(index)


class Inner(Numbers):
    def __getitem__(self, index: int) -> Any:
        def shifted(value: int) -> float:
            return value + random.random()

        return shifted(index)


class ByBatchAlone(Dataset[Any]):
    def __getitems__(self, indices: list[int]) -> list[Any]:
        return [torch.rand(2) for _ in indices]


class OwnGenerator(Numbers):
    """Its draws are its own affair; it names what global states have, and that is taken for drawing."""

    def __getitem__(self, index: int) -> Any:
        return torch.rand(2, generator=torch.Generator().manual_seed(index))


class Loop(Numbers):
    """Holds itself."""

    def __init__(self) -> None:
        super().__init__(3)
        self.me = self
        self.cell: Callable[[], Any] = lambda: self


def closed(scale: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: scale(value)


def hub(transform: Any) -> Any:
    import datasets

    data = datasets.Dataset.from_dict({"x": [1, 2], "text": ["the cat", "dog"]})
    return data if transform is None else data.with_transform(transform)


DRAWING: dict[str, Callable[[], Any]] = {
    "its own code": lambda: Noisy(3),
    "its own method": lambda: OwnMethod(3),
    "its parent's code": lambda: OfParent(3),
    "a function within": lambda: Inner(3),
    "a property": lambda: ByProperty(3),
    "a class method": lambda: ByClassMethod(3),
    "a static method": lambda: ByStaticMethod(3),
    "a batch": lambda: ByBatchAlone(),
    "a transform": lambda: Transformed(noise),
    "a transform's function": lambda: Transformed(deeper),
    "a lambda": lambda: Transformed(lambda v: deeper(v)),
    "a part of a function": lambda: Transformed(functools.partial(noise)),
    "a list of transforms": lambda: Transformed(Callables(quiet, noise)),
    "a closure": lambda: Transformed(closed(noise)),
    "a bound method": lambda: Transformed(Augmenter().augment),
    "a function of a module": lambda: ByModule(3),
    "an object of a module": lambda: Transformed(helpers.Jitter()),
    "a method of what it holds": lambda: ByHeldMethod(),
    "what it makes in place": lambda: MadeInPlace(3),
    "a layer": lambda: Transformed(torch.nn.Sequential(torch.nn.Dropout(0.5))),
    "a part": lambda: Subset(Noisy(3), [0]),
    "one of two": lambda: ConcatDataset([Numbers(3), Subset(Noisy(3), [1])]),
    "a dictionary of transforms": lambda: ByName(),
    "a method's method": lambda: Twice(3),
    "a hub's transform": lambda: hub(lambda batch: {"x": [noise(v) for v in batch["x"]]}),
}

QUIET: dict[str, Callable[[], Any]] = {
    "a hub's texts, tokenised": lambda: HubRows(hub(None), library_tokenizer()),
    "numbers": lambda: Numbers(3),
    "a part": lambda: Subset(Numbers(3), [0]),
    "two": lambda: ConcatDataset([Numbers(3), Numbers(3)]),
    "tensors": lambda: TensorDataset(torch.arange(3)),
    "a list": lambda: [1, 2],
    "a range": lambda: range(3),
    "a transform": lambda: Transformed(quiet),
    "a list of transforms": lambda: Transformed(Callables(quiet, closed(quiet))),
    "a function of a module": lambda: ByModuleQuiet(3),
    "a loop": lambda: Loop(),
    "a layer": lambda: Transformed(torch.nn.Linear(2, 2)),
    "a hub's data": lambda: hub(lambda batch: {"x": batch["x"]}),
}


@pytest.mark.parametrize("name", DRAWING)
def test_drawing_is_seen(name: str) -> None:
    """Wherever in the code of a read it stands."""
    assert may_draw(DRAWING[name]())


@pytest.mark.parametrize("name", QUIET)
def test_what_does_not_draw_is_left_alone(name: str) -> None:
    """Nothing is put around it."""
    assert not may_draw(QUIET[name]())


def test_a_generator_of_its_own_is_taken_for_a_global_one() -> None:
    """To seed in vain costs a little, to miss a draw costs the repetition."""
    assert may_draw(OwnGenerator(3))


def test_what_is_too_much_to_look_at_may_draw() -> None:
    """A dataset of very many parts."""
    chain: Any = Numbers(3)
    for _ in range(MOST + 1):
        chain = Subset(chain, [0])
    assert may_draw(chain)


def test_an_empty_cell_is_no_trouble() -> None:
    """Of a function whose variable comes later, or never."""

    def make() -> Any:
        def inner(value: Any) -> Any:
            return later(value)

        if not isinstance(inner, types.FunctionType):
            later = quiet
        return inner

    assert not may_draw(Transformed(make()))
