"""Training and validation loaders of one data set."""

from __future__ import annotations

import logging
from collections.abc import Callable
from inspect import signature
from typing import Any, Protocol, runtime_checkable

from torch.utils.data import DataLoader, IterableDataset

from dataloader_expert.loaders.collators.registry import CollatorRegistry
from dataloader_expert.loaders.epochs import EpochLoader
from dataloader_expert.loaders.factory import DataLoaderConfig, DataLoaderFactory, check_names
from dataloader_expert.loaders.layouts.hub_rows import HubRows, HubStream, is_hub, is_hub_stream, mode_of_images
from dataloader_expert.loaders.modules.splitting import StreamPart, as_dataset, split
from dataloader_expert.loaders.tasks import TaskSpec
from dataloader_expert.loaders.trainers.steps import get_dataloader_length
from dataloader_expert.samplers.rules import given, integers, one_of

logger = logging.getLogger(__name__)


@runtime_checkable
class DataModuleProtocol(Protocol):
    """An object with a training and a validation loader, such as a ``LightningDataModule``."""

    def train_dataloader(self) -> DataLoader[Any]:
        """Batches to train on."""

    def val_dataloader(self) -> DataLoader[Any] | None:
        """Batches to validate on, or None."""


class UniversalDataModule:
    """Loaders of a Hugging Face data set, a dataset of torch (map-style or iterable), or a list of tensors.

    Order, split and augmentation depend on seed and epoch only, not on workers and ranks. Each ``train_dataloader()``
    starts the epoch after the last finished one.

    Args:
        train_data: see above. Columns of Hugging Face data sets are fitted to the collators: see :class:`HubRows`.
        val_data: None: a part of ``train_data``.
        task_spec: selects the collator by its modality.
        tokenizer: of texts.
        data_collator: takes precedence over the task's.
        val_split: share of validation if ``val_data`` is None, in [0, 1); 0: no validation.
        seed: of split, order and augmentation.
        collator_registry: None: the shared one.
        batch_size, num_workers, settings: fields of :class:`DataLoaderConfig`, such as ``drop_last`` or ``distributed``.
        max_length: texts are truncated to so many tokens; None: as the task says, else never.
        list_split: ``"seeded"``, or ``"tail"``: the last samples of a list are for validation, as in the original.
        new_order: False: every ``train_dataloader()`` starts the same epoch, as in the original.
        stratify, groups: as of :func:`split`: a class keeps its share in both parts; a group is in one part only.
        image_mode: of images of Hugging Face, ``"L"`` or ``"RGB"``; None: ``"L"`` if those inspected are grey.

    Attributes:
        train_data, val_data: the two parts.
        epoch: of the next ``train_dataloader()``.

    A dictionary of splits is a ``TypeError``; a ``ValueError`` as of :func:`split`, or if a setting is invalid.
    """

    def __init__(
        self,
        train_data: Any,
        val_data: Any = None,
        task_spec: TaskSpec | None = None,
        tokenizer: Any = None,
        data_collator: Callable[[Any], Any] | None = None,
        batch_size: int = 32,
        val_split: float = 0.2,
        num_workers: int = 2,
        seed: int = 42,
        collator_registry: CollatorRegistry | None = None,
        *,
        max_length: int | None = None,
        list_split: str = "seeded",
        new_order: bool = True,
        stratify: Any = None,
        groups: Any = None,
        image_mode: str | None = None,
        **settings: Any,
    ) -> None:
        if isinstance(train_data, dict):
            raise TypeError(
                f"train_data is a {type(train_data).__name__} of {', '.join(map(str, train_data))}: pass one split, such "
                "as train_data['train']"
            )
        one_of(("seeded", "tail"), list_split=list_split)
        one_of(("L", "RGB", None), image_mode=image_mode)
        integers(1, **given(max_length=max_length))
        if task_spec is not None and not isinstance(task_spec, TaskSpec):
            raise TypeError(f"task_spec is {task_spec!r}; pass a TaskSpec, such as TaskSpec.lm_tiny()")
        check_names(type(self).__name__, settings, signature(type(self)).parameters)
        self.config = DataLoaderConfig(batch_size=batch_size, num_workers=num_workers, seed=seed, **settings)
        self.config.check()
        self.factory = DataLoaderFactory(collator_registry)
        self.task_spec, self.tokenizer, self.data_collator = task_spec, tokenizer, data_collator
        self.batch_size, self.val_split, self.num_workers, self.seed = batch_size, val_split, num_workers, seed
        self.max_length = max_length or getattr(task_spec, "input_schema", {}).get("max_seq_len")
        self.new_order, self.epoch, self.image_mode = new_order, 0, image_mode
        in_order = list_split == "tail" and isinstance(train_data, list)
        self.train_data, self.val_data = train_data, val_data
        if val_data is None:
            self.train_data, self.val_data = split(train_data, val_split, seed, in_order, stratify, groups)
        self._ready: dict[int, tuple[Any, Any]] = {}
        self._train: EpochLoader | None = None
        self._resumed: dict[str, Any] | None = None
        known = map(get_dataloader_length, (self.train_data, self.val_data))
        logger.info("training: %s samples, validation: %s (None: a stream, or no validation)", *known)

    def train_dataloader(self) -> EpochLoader:
        """A loader of the training part, in a new order each epoch; errors as of :meth:`DataLoaderFactory.create_dataloader`."""
        if self.new_order:
            self.epoch = self._next_epoch()
        loader = self._loader(self.train_data, training=True)
        loader.set_epoch(self.epoch)
        if self._resumed is not None:
            loader.load_state_dict(self._resumed)
            self._resumed = None
        self._train = loader
        return loader

    def val_dataloader(self) -> EpochLoader | None:
        """A loader of the validation part, if any, in one order in every pass: as stored, or as a stream gives it."""
        return None if self.val_data is None else self._loader(self.val_data, training=False)

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch of the next ``train_dataloader()`` and pass, which resumes a state of it that was just loaded."""
        if self._resumed is not None and epoch == self.epoch:
            return
        self.epoch, self._resumed = epoch, None
        if self._train is not None:
            self._train.set_epoch(epoch)

    def state_dict(self) -> dict[str, Any]:
        """Seed, epoch, and the position of the last training loader in it; ready for JSON."""
        if self._train is None:
            return {"seed": self.seed, "epoch": self.epoch, "train": self._resumed}
        state = None if self._finished(self._train) else self._train.state_dict()
        return {"seed": self.seed, "epoch": self._next_epoch(), "train": state}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The next ``train_dataloader()`` resumes after the last batch delivered when ``state``, of the same seed, was taken."""
        if not {"seed", "epoch", "train"} <= state.keys():
            has = sorted(state) or "nothing"
            raise ValueError(f"this is not a data module state, which has seed, epoch and train: it has {has}")
        if state["seed"] != self.seed:
            raise ValueError(f"the state has seed {state['seed']}, but this module has {self.seed}: the orders differ")
        self._train, self.epoch, self._resumed = None, int(state["epoch"]), state["train"]

    def _next_epoch(self) -> int:
        """The epoch after the last finished one; to look at the first batch does not finish it."""
        epoch = None if self._train is None else self._train.epoch
        return (self.epoch if epoch is None else epoch) + (self._train is not None and self._finished(self._train))

    def _finished(self, loader: EpochLoader) -> bool:
        """Whether the last pass of ``loader`` ended, or delivered all of its batches."""
        if loader.sampler_obj is None:
            return loader.progress.ended
        return 0 < len(loader) <= loader.progress.batches

    def _loader(self, data: Any, training: bool) -> EpochLoader:
        dataset, collate = self._fitted(data), self.data_collator
        streams = isinstance(dataset, IterableDataset)
        config = DataLoaderConfig(**{**vars(self.config), "shuffle": training and self.config.shuffle and not streams})
        if not training:
            config.sampler = config.batch_sampler = None  # they are for training
            config.drop_last = False  # every sample is validated
        return self.factory.create_dataloader(dataset, config, self.task_spec, self.tokenizer, collate)

    def _fitted(self, data: Any) -> Any:
        """``data`` as a dataset whose samples fit the collators; made once."""
        if self._ready.get(id(data), (None,))[0] is not data:  # an id is given anew where the data were replaced
            if is_hub(data):
                self.image_mode = self.image_mode or mode_of_images(self.train_data, self.val_data)
                made: Any = HubRows(data, self.tokenizer, self.max_length, self.task_spec, self.image_mode)
            elif is_hub_stream(data):
                made = HubStream(data, self.tokenizer, self.max_length)
            elif isinstance(data, StreamPart) and is_hub_stream(data.dataset):
                made = data.of(HubStream(data.dataset, self.tokenizer, self.max_length))
            else:  # tensors that a collator brings together may differ in shape
                made = data if self.data_collator or self.config.collate_fn else as_dataset(data)
            self._ready[id(data)] = data, made
        return self._ready[id(data)][1]
