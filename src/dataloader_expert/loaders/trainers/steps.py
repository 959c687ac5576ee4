"""The number of batches of an epoch, per rank."""

from __future__ import annotations

import logging
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, NamedTuple, overload

from torch.utils.data import DataLoader

from dataloader_expert.loaders.epochs import samplers_of
from dataloader_expert.samplers.rules import at_least, given, whole

logger = logging.getLogger(__name__)


class TrainSteps(NamedTuple):
    """An epoch of training, per rank."""

    global_batch_size: int
    num_train_steps: int
    gradient_accumulation_steps: int


TrainSteps.global_batch_size.__doc__ = "Samples per optimizer step, of all ranks and accumulated batches."
TrainSteps.num_train_steps.__doc__ = "Batches drawn from the loader."
TrainSteps.gradient_accumulation_steps.__doc__ = "Batches per optimizer step."


class ValSteps(NamedTuple):
    """A validation, per rank."""

    num_val_steps: int
    num_sanity_steps: int


ValSteps.num_val_steps.__doc__ = "Batches drawn from the loader."
ValSteps.num_sanity_steps.__doc__ = "Batches drawn before training, to test validation."


def get_dataloader_length(dataloader: Iterable[Any]) -> int | None:
    """The number of batches of ``dataloader``; None if it has no length."""
    try:
        return len(dataloader)  # type: ignore[arg-type]  # whether it has a length is the question
    except TypeError:
        return None


def get_epoch_length(dataloader: Iterable[Any], length: int | None = None) -> int:
    """The number of batches of an epoch: ``length``, at least 1, else that of the loader; a ``ValueError`` without both."""
    whole(1, **given(length=length))
    return length or _length(dataloader, "Please specify training_parameters.{stage}_steps_per_epoch instead.")


@overload
def get_train_dataloader_steps(
    dataloader: Iterable[Any],
    train_steps_per_epoch: int | None = None,
    gradient_accumulation_steps: int = 1,
    dp_size: int = 1,
    *,
    train_batch_size: int | None = None,
) -> TrainSteps: ...
@overload
def get_train_dataloader_steps(dataloader: Any, train_steps_per_epoch: DataLoader[Any]) -> int: ...
def get_train_dataloader_steps(
    dataloader: Any,
    train_steps_per_epoch: Any = None,
    gradient_accumulation_steps: int = 1,
    dp_size: int = 1,
    *,
    train_batch_size: int | None = None,
) -> TrainSteps | int:
    """The number of batches of a training epoch, per rank, and of samples per optimizer step.

    Args:
        dataloader: with a ``batch_size``, its own, its batch sampler's or its dataset's.
        train_steps_per_epoch: optimizer steps; None: all batches of the loader.
        gradient_accumulation_steps: batches per optimizer step, at least 1.
        dp_size: world size of data parallelism, at least 1.
        train_batch_size: samples per optimizer step over all ranks; determines the accumulation.

    Returns:
        A :class:`TrainSteps`; for a call ``(parameters, dataloader)``, in which parameters has the names above as
        attributes or keys, only the number of batches. A ``ValueError`` if a number is below 1, the loader has no
        batches, length or batch size, or ``train_batch_size`` is not a multiple of ``batch_size * dp_size``.
    """
    if _is_loader(train_steps_per_epoch):
        names = ("train_steps_per_epoch", "gradient_accumulation_steps", "dp_size", "train_batch_size")
        found: TrainSteps = get_train_dataloader_steps(train_steps_per_epoch, **_said(dataloader, names))
        return found.num_train_steps
    whole(1, gradient_accumulation_steps=gradient_accumulation_steps, dp_size=dp_size)
    whole(1, **given(train_steps_per_epoch=train_steps_per_epoch, train_batch_size=train_batch_size))
    batch_size = _batch_size(dataloader)
    length = get_dataloader_length(dataloader)
    if length == 0:
        raise ValueError(
            f"Training dataloader yielded 0 batches (batch_size={batch_size}): its dataset has no samples, or with "
            "drop_last fewer than a batch"
        )
    each = batch_size * dp_size
    if train_batch_size is not None:
        if each > train_batch_size:
            raise ValueError(f"Effective minibatch size, {each}, is greater than train_batch_size, {train_batch_size}")
        gradient_accumulation_steps, rest = divmod(train_batch_size, each)
        if rest:
            raise ValueError(
                f"train_batch_size, {train_batch_size}, is not a multiple of the effective minibatch size, {each}"
            )
    total = each * gradient_accumulation_steps
    if train_steps_per_epoch is None:
        hint = "Please specify training_parameters.{stage}_steps_per_epoch or train_steps_per_epoch instead."
        return TrainSteps(total, _length(dataloader, hint), gradient_accumulation_steps)
    steps = train_steps_per_epoch * gradient_accumulation_steps
    if length is not None and steps > length:
        text = (
            "train_steps_per_epoch, %d, is greater than the number of batches in the dataloader, %d: it needs %d "
            "batches, so the epoch ends earlier"
        )
        logger.warning(text, train_steps_per_epoch, length, steps)
    return TrainSteps(total, steps, gradient_accumulation_steps)


@overload
def get_val_dataloader_steps(
    dataloader: Iterable[Any], val_steps_per_epoch: int | None = None, num_sanity_val_steps: int = 0, dp_size: int = 1
) -> ValSteps: ...
@overload
def get_val_dataloader_steps(dataloader: Any, val_steps_per_epoch: DataLoader[Any]) -> int: ...
def get_val_dataloader_steps(
    dataloader: Any, val_steps_per_epoch: Any = None, num_sanity_val_steps: int = 0, dp_size: int = 1
) -> ValSteps | int:
    """The number of batches of a validation, per rank; at least one.

    Args:
        dataloader: if it is sharded across ranks already, its length is not divided again.
        val_steps_per_epoch: batches over all ranks; None: the whole loader.
        num_sanity_val_steps: likewise, before training; 0: none.
        dp_size: world size of data parallelism, at least 1.

    Returns:
        A :class:`ValSteps`; for a call ``(parameters, dataloader)`` only the number of batches. A ``ValueError`` if a
        number is too small, or the loader has no batches or no length.
    """
    if _is_loader(val_steps_per_epoch):
        names = ("val_steps_per_epoch", "num_sanity_val_steps", "dp_size")
        found: ValSteps = get_val_dataloader_steps(val_steps_per_epoch, **_said(dataloader, names))
        return found.num_val_steps
    whole(1, dp_size=dp_size, **given(val_steps_per_epoch=val_steps_per_epoch))
    at_least(0, num_sanity_val_steps=num_sanity_val_steps)
    sanity = math.ceil(num_sanity_val_steps / dp_size)
    length = get_dataloader_length(dataloader)
    if length == 0:
        raise ValueError("Validation dataloader yielded 0 batches: its dataset is empty, or too small with drop_last")
    shared = is_sharded(dataloader)
    if val_steps_per_epoch is None:
        own = _length(dataloader, "Please specify val_steps_per_epoch instead.")
        return ValSteps(own if shared else max(1, own // dp_size), sanity)
    steps = max(1, val_steps_per_epoch // dp_size)
    each = steps if length is None else length if shared else max(1, length // dp_size)
    if steps > each:
        text = "val_batches_per_epoch, %d, is greater than the number of batches in the dataloader, %d per rank"
        logger.warning(text, steps, each)
    return ValSteps(steps, sanity)


def is_sharded(dataloader: Any) -> bool:
    """Whether the sampler, batch sampler or dataset of a loader shards across several ranks."""
    owners = (*samplers_of(dataloader), getattr(dataloader, "dataset", None))
    return any((getattr(owner, "num_replicas", None) or 1) > 1 for owner in owners)


class DataLoaderSetupMixin(ABC):
    """For trainers, which implement :meth:`configure_dataloaders` and call :meth:`_setup_dataloaders` before training."""

    _train_dataloader: Iterable[Any] | None = None
    _val_dataloader: Iterable[Any] | None = None

    @abstractmethod
    def configure_dataloaders(self) -> tuple[Iterable[Any], Iterable[Any]]:
        """The loaders of training and validation."""

    def _setup_dataloaders(self) -> None:
        self._train_dataloader, self._val_dataloader = self.configure_dataloaders()

    @property
    def train_dataloader(self) -> Iterable[Any]:
        """Batches to train on; a ``RuntimeError`` before :meth:`_setup_dataloaders`."""
        return self._set_up(self._train_dataloader)

    @property
    def val_dataloader(self) -> Iterable[Any]:
        """Batches to validate on; a ``RuntimeError`` before :meth:`_setup_dataloaders`."""
        return self._set_up(self._val_dataloader)

    def _set_up(self, loader: Iterable[Any] | None) -> Iterable[Any]:
        if loader is None:
            raise RuntimeError("the loaders are not set up: call _setup_dataloaders() first")
        return loader


def _length(dataloader: Any, hint: str) -> int:
    length = get_dataloader_length(dataloader)
    if length is None:
        raise ValueError(f"The underlying dataset of {dataloader} does not have __len__ defined. {hint}")
    return length


def _batch_size(dataloader: Any) -> int:
    for owner in (dataloader, getattr(dataloader, "batch_sampler", None), getattr(dataloader, "dataset", None)):
        if (value := getattr(owner, "batch_size", None)) is not None:
            whole(1, batch_size=value)
            return int(value)
    raise ValueError(
        "Neither dataloader nor dataloader.dataset has non-None 'batch_size' attribute, nor has its batch sampler: set it "
        "on one of them"
    )


def _is_loader(value: Any) -> bool:
    """Whether the second argument is a loader, as in a call ``(parameters, dataloader)``."""
    return value is not None and not isinstance(value, int | float | str) and hasattr(value, "__iter__")


def _said(parameters: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """Those of ``names`` that parameters have as attributes or keys, and that are not None."""
    values = parameters if isinstance(parameters, dict) else {name: getattr(parameters, name, None) for name in names}
    return {name: values[name] for name in names if values.get(name) is not None}
