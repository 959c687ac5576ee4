"""JASPERSteeringDataset: questions, sources, steering vectors and hard negatives, gathered a batch at a time."""

from __future__ import annotations

import logging
import operator
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch.utils.data import Dataset

from dataloader_expert.loaders.collate import Gathered
from dataloader_expert.loaders.jasper import hdf5
from dataloader_expert.loaders.jasper.curriculum import VARIANTS, Curriculum, base_probabilities, probabilities
from dataloader_expert.loaders.jasper.integrity import check, check_negatives, check_split
from dataloader_expert.loaders.jasper.opening import chosen_format, open_tables, with_negatives
from dataloader_expert.loaders.jasper.stored import KEYWORDS, SPLITS, TENSORS
from dataloader_expert.loaders.jasper.tables import Tables, read_config, read_negatives, read_split, read_tables
from dataloader_expert.loaders.jasper.variants import RULES, AccessStream, by_pair

logger = logging.getLogger(__name__)

Sample = dict[str, torch.Tensor]
StorageFormat = Literal["auto", "pt", "hdf5"]
Variant = Literal["zero", "centroid", "keyword", "residual"]
MAPPED_ABOVE = 10 << 30
"""Estimated bytes of a data set above which ``use_mmap=None`` maps it."""
KEYS = (
    "question_emb",
    "target_source_emb",
    "steering",
    "negative_embs",
    "cluster_id",
    "relevance",
    "centroid_distance",
    "steering_variant",
    "negative_tiers",
)


class JASPERSteeringDataset(Dataset[Sample]):
    """Samples of a JASPER directory: a question, its source, a steering vector, hard negatives.

    A sample has nine keys: ``question_emb`` [D], ``target_source_emb`` [D], ``steering`` [D], ``negative_embs``
    [n_neg, D], all of the stored floating dtype; ``cluster_id`` [], ``steering_variant`` [] (0 zero, 1 centroid,
    2 keyword, 3 residual), ``negative_tiers`` [n_neg], int64; ``relevance`` [] and ``centroid_distance`` [].

    The variant of a pair depends on seed, epoch and pair only, in exact quotas over the split (``variant_rule
    ="by_pair"``): it does not depend on order, workers, ranks or earlier access. ``"by_access"`` draws as
    the original did, in order of access, from a stream of seed + epoch; workers then repeat each other.

    Datasets of one directory share one copy of its tensors, in a process and with its workers.

    Args:
        dataset_dir: a directory with ``config.json`` and PT files, or ``dataset.h5``.
        split: ``train``, ``val`` or ``test``.
        epoch: of the curriculum, from 0.
        device: where the tensors live; the CPU by default. On another device use no workers.
        storage_format: ``auto`` reads the newer of HDF5 and PT files.
        use_mmap: map PT files rather than read them; None: where they are estimated above 10 GiB, on the CPU.
        seed: of the variants.
        variant_rule: see above.

    Raises:
        ValueError: with tensor and row: if the directory, configuration or split is missing, or data break a rule.
        FileNotFoundError: if a tensor's file is missing.
        KeyError: if the configuration lacks ``embedding_dim``, ``n_neg`` or ``steering_probabilities``.
    """

    def __init__(
        self,
        dataset_dir: str | Path,
        split: Literal["train", "val", "test"],
        epoch: int = 0,
        device: torch.device | str | None = None,
        storage_format: StorageFormat = "auto",
        use_mmap: bool | None = None,
        *,
        seed: int = 42,
        variant_rule: Literal["by_pair", "by_access"] = "by_pair",
    ) -> None:
        if variant_rule not in RULES:
            raise ValueError(f"variant_rule is {variant_rule!r}; it is one of {', '.join(RULES)}")
        self.dataset_dir, self.split, self.seed, self.variant_rule = Path(dataset_dir), split, seed, variant_rule
        self.device = torch.device(device) if device is not None else torch.device("cpu")
        self.config = read_config(self.dataset_dir)
        self.storage_format = chosen_format(self.dataset_dir, storage_format)
        if use_mmap is None:
            size = int(self.config.get("embedding_dim", 384)) * int(self.config.get("n_pairs") or 10_000) * 4 * 15
            use_mmap = size > MAPPED_ABOVE and self.device.type == "cpu"
        self.use_mmap = use_mmap
        self.embedding_dim, self.n_neg = int(self.config["embedding_dim"]), int(self.config["n_neg"])
        rows = read_split(self.dataset_dir, split, self.storage_format)
        self._mapped = use_mmap and self.storage_format == "pt" and self.device.type == "cpu"
        self._base, self._curriculum = base_probabilities(self.config), Curriculum.of(self.config.get("curriculum"))
        tables, fresh = open_tables(self.dataset_dir, self.storage_format, self._mapped, self.device)
        self._match(tables)
        check_split(rows, len(tables.pair_index), split, self._other_splits())
        self._adopt(tables, rows.to(self.device))
        # Seen by persistent workers, which keep the dataset that they were started with: epoch, variant forced on all
        # (-1: none), times the negatives were reloaded.
        self._orders = torch.tensor([0, -1, 0]).share_memory_()  # type: ignore[no-untyped-call]  # untyped in torch
        self._followed: tuple[int, ...] = ()
        self._reloaded = 0
        self.set_epoch(epoch)
        text = "%s of %s: %d samples, format=%s, mmap=%s, device=%s, memory=%.1f MB, %s"
        held = self.memory_usage_mb(), "read" if fresh else "shared with a dataset that is open"
        logger.info(text, split, self.dataset_dir, len(self), self.storage_format, use_mmap, self.device, *held)

    @property
    def current_epoch(self) -> int:
        """The epoch of curriculum and variants."""
        return int(self._orders[0])

    @property
    def steering_probs(self) -> dict[str, float]:
        """Variant to its probability in this epoch."""
        return probabilities(self._base, self._curriculum, self.current_epoch)

    @property
    def rng(self) -> np.random.Generator | None:
        """The stream of rule ``by_access``; None under ``by_pair``, which has none."""
        self._follow()
        return self._stream.rng if self._stream is not None else None

    def __getattr__(self, name: str) -> Any:
        """The directory's tensors, by their names, and ``pair_keyword_ids``."""
        if (name in TENSORS or name == KEYWORDS) and "_tables" in self.__dict__:
            return getattr(self._tables, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __len__(self) -> int:
        return len(self.split_indices)

    def __getitem__(self, idx: int) -> Sample:
        """The sample at ``idx`` in [0, len), else an ``IndexError``; its tensors are views, except the negatives."""
        at, tables = _position(idx, len(self)), self._tables
        variant = int(self._variants_at([at])[0])
        pair = int(self.split_indices[at])
        question, source = tables.pair_index[pair].tolist()
        return {
            "question_emb": tables.question_embs[question],
            "target_source_emb": tables.source_embs[source],
            "steering": tables.steered()[variant - 1][pair]
            if variant
            else torch.zeros_like(tables.question_embs[question]),
            "negative_embs": tables.source_embs[tables.hard_negatives[pair]],
            "cluster_id": tables.pair_cluster_id[pair],
            "relevance": tables.pair_relevance[pair],
            "centroid_distance": tables.centroid_distances[pair],
            "steering_variant": torch.tensor(variant, device=self.device),
            "negative_tiers": tables.negative_tiers[pair],
        }

    def __getitems__(self, indices: Sequence[int]) -> Gathered:
        """A batch in one gather per field; what ``DataLoader`` calls. An index out of range is an ``IndexError``."""
        at = torch.from_numpy(np.array(indices, dtype=np.int64))  # twice as fast as torch.tensor
        if self.device.type != "cpu":
            self._checked(at)  # there an index out of range would end the process
            at = at.to(self.device)
        try:
            pairs = self.split_indices.index_select(0, at)
        except IndexError:
            self._checked(at)
            raise
        variants, steering = self._variants_of(at, pairs)
        tables = self._tables  # now: a reload that was ordered is done
        questions, sources = self._ends[0].index_select(0, pairs), self._ends[1].index_select(0, pairs)
        negatives = tables.hard_negatives.index_select(0, pairs)
        embeddings = tables.source_embs.index_select(0, negatives.view(-1))
        return Gathered(
            {
                "question_emb": tables.question_embs.index_select(0, questions),
                "target_source_emb": tables.source_embs.index_select(0, sources),
                "steering": steering,
                "negative_embs": embeddings.view(*negatives.shape, embeddings.shape[-1]),
                "cluster_id": tables.pair_cluster_id.index_select(0, pairs),
                "relevance": tables.pair_relevance.index_select(0, pairs),
                "centroid_distance": tables.centroid_distances.index_select(0, pairs),
                "steering_variant": variants,
                "negative_tiers": tables.negative_tiers.index_select(0, pairs),
            },
            len(pairs),
        )

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch of curriculum and variants, from 0, else a ``ValueError``; in running workers too."""
        if not isinstance(epoch, int | np.integer) or isinstance(epoch, bool) or epoch < 0:
            raise ValueError(f"epoch is {epoch!r}; it is an integer from 0")
        self._orders[0] = int(epoch)
        self._followed = ()

    def force_steering(self, variant: Variant | None) -> None:
        """Forces one of the four variants on all samples, in running workers too; None: by the rule again.

        Anything else is a ``ValueError``.
        """
        if variant is not None and variant not in VARIANTS:
            raise ValueError(f"Invalid steering variant {variant!r}; it is one of {', '.join(VARIANTS)}, or None")
        self._orders[1] = -1 if variant is None else VARIANTS.index(variant)

    def reload_negatives(self) -> None:
        """Reads hard negatives and tiers again, and replaces both after checking them; running workers follow.

        Missing ones are a ``FileNotFoundError``, those that break a rule a ``ValueError``; the old ones then stay.
        """
        self._reload()
        self._orders[2] += 1
        self._reloaded = int(self._orders[2])

    def get_steering_stats(self) -> dict[str, Any]:
        """Of this epoch: ``epoch``, ``probabilities``, and under ``by_pair`` the ``counts`` of each variant."""
        self._follow()
        counts = None
        if self._variants is not None:
            numbers = np.bincount(self._variants, minlength=len(VARIANTS)).tolist()
            counts = dict(zip(VARIANTS, numbers, strict=True))
        return {"epoch": self.current_epoch, "probabilities": self.steering_probs, "counts": counts}

    def subset_by_cluster(self, cluster_id: int) -> torch.utils.data.Subset[Sample]:
        """The samples of one cluster, as a ``Subset``; a ``ValueError`` if there is no such cluster."""
        if not 0 <= cluster_id < len(self.centroid_embs):
            raise ValueError(f"cluster_id is {cluster_id}; there are {len(self.centroid_embs)} clusters, from 0")
        own = self.pair_cluster_id.index_select(0, self.split_indices) == cluster_id
        return torch.utils.data.Subset(self, torch.nonzero(own).view(-1).tolist())

    def memory_usage_mb(self) -> float:
        """Size of the tensors in MB; mapped ones count fully, though only touched pages are in memory."""
        return self._tables.bytes() / 1e6

    def close(self) -> None:
        """Releases all tensors; may be called again. A closed dataset has no samples and no tensors."""
        for name in ("split_indices", "_tables", "_variants", "_places", "_ends"):
            self.__dict__.pop(name, None)

    def __getstate__(self) -> dict[str, Any]:
        """Each tensor once, without mapped ones: another process maps the files itself."""
        if "_tables" not in self.__dict__:  # closed
            return self.__dict__
        own = {k: v for k, v in self.__dict__.items() if k != "_ends"}
        return own | {"_tables": None if self._mapped else self._tables}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if "_tables" in state:
            tables = state["_tables"] or open_tables(self.dataset_dir, self.storage_format, True, self.device)[0]
            self._adopt(tables, self.split_indices)

    def __enter__(self) -> JASPERSteeringDataset:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @staticmethod
    def create_combined_splits(
        dataset_dir: str | Path,
        epoch: int = 0,
        device: torch.device | str | None = None,
        storage_format: StorageFormat = "auto",
        use_mmap: bool | None = None,
        **more: Any,
    ) -> dict[str, JASPERSteeringDataset]:
        """``train``, ``val`` and ``test``, which share one copy of the tensors. Arguments as of the class."""
        return {
            s: JASPERSteeringDataset(dataset_dir, s, epoch, device, storage_format, use_mmap, **more) for s in SPLITS
        }

    @staticmethod
    def convert_pt_to_hdf5(dataset_dir: str | Path, compression: str | None = "gzip") -> None:
        """Writes ``dataset.h5`` from the PT files, which stay. It is enough by itself, with ``config.json``.

        An ``ImportError`` without h5py; a ``ValueError`` without PT files, or where they break a rule.
        """
        if not hdf5.available():
            raise ImportError("h5py is required to write HDF5: pip install 'dataloader-expert[hdf5]'")
        directory = Path(dataset_dir)
        if not (directory / "question_embs.pt").exists():
            raise ValueError(f"No PT files found in {directory}: question_embs.pt is missing")
        as_of = max(p.stat().st_mtime_ns for p in directory.glob("*.pt"))  # before they are read: later ones are newer
        tables = read_tables(directory, "pt", mapped=False)
        check(tables)
        lists = tables.pair_keyword_ids
        named = {**tables.tensors(), "keyword_flat": lists.flat, "keyword_ends": lists.ends}
        there = [split for split in SPLITS if (directory / f"{split}_idx.pt").exists()]
        rows: dict[str, torch.Tensor] = {split: read_split(directory, split, "pt") for split in there}
        for split, its in rows.items():
            check_split(its, len(tables.pair_index), split, {s: r for s, r in rows.items() if s != split})
        hdf5.write(directory / hdf5.FILE, named, rows, compression, as_of)

    def state(self) -> dict[str, int]:
        """The state beside the epoch: how many draws rule ``by_access`` has made."""
        self._follow()
        return {"epoch": self.current_epoch, "accessed": self._stream.accessed if self._stream is not None else 0}

    def restore(self, state: dict[str, int]) -> None:
        """Continues from :meth:`state`."""
        self.set_epoch(int(state["epoch"]))
        self._follow()
        if self._stream is not None:
            self._stream.draw(int(state["accessed"]), self.steering_probs)

    def _match(self, tables: Tables) -> None:
        """The configuration's sizes are those of the tensors."""
        said = f"in {self.dataset_dir / 'config.json'}: correct one of them"
        for name in ("question_embs", "source_embs", "centroid_embs", "keyword_embs"):
            width = getattr(tables, name).shape[1]
            if width != self.embedding_dim:
                raise ValueError(f"{name} has dimension {width}, but embedding_dim is {self.embedding_dim} {said}")
        count = tables.hard_negatives.shape[1]
        if count != self.n_neg:
            raise ValueError(f"hard_negatives has {count} per pair, but n_neg is {self.n_neg} {said}")

    def _other_splits(self) -> dict[str, torch.Tensor]:
        found: dict[str, torch.Tensor] = {}
        for split in SPLITS:
            if split != self.split:
                try:
                    found[split] = read_split(self.dataset_dir, split, self.storage_format)
                except ValueError:
                    continue  # a split that is not there, or is broken, is told to those who ask for it
        return found

    def _adopt(self, tables: Tables, rows: torch.Tensor) -> None:
        self._tables, self.split_indices = tables, rows
        self._ends = [tables.pair_index[:, i].contiguous() for i in (0, 1)]  # each gathered by itself

    def _follow(self) -> None:
        """Applies an epoch, forced variant or reload that another process requested."""
        orders = tuple(self._orders.tolist())
        if orders == self._followed:
            return
        epoch, _, reloaded = orders
        if not self._followed or epoch != self._followed[0]:
            self._variants: np.ndarray[Any, np.dtype[np.int8]] | None = None
            self._places: tuple[torch.Tensor, torch.Tensor | None] | None = None
            self._stream = AccessStream(self.seed, epoch) if self.variant_rule == "by_access" else None
            if self._stream is None:
                self._variants = by_pair(self.seed, epoch, self.split_indices.cpu().numpy(), self.steering_probs)
        if reloaded != self._reloaded:
            self._reload()
            self._reloaded = reloaded
        self._followed = orders

    def _checked(self, at: torch.Tensor) -> None:
        for index in at.tolist():
            _position(index, len(self))

    def _variants_of(self, at: torch.Tensor, pairs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Variant codes [B] and steering vectors [B, D] of samples at these positions of the split."""
        self._follow()
        whole = self._tables.steering
        if self._variants is not None and self._followed[1] < 0:
            if self._places is None:
                codes = torch.from_numpy(self._variants.astype(np.int64)).to(self.device)
                self._places = codes, None if whole is None else self._rows_of(codes, self.split_indices, len(whole))
            codes, rows = self._places
            variants = codes.index_select(0, at)
            if whole is not None and rows is not None:
                return variants, whole.index_select(0, rows.index_select(0, at))
        else:
            variants = torch.from_numpy(self._variants_at(at.cpu().numpy()).astype(np.int64)).to(self.device)
            if whole is not None:
                return variants, whole.index_select(0, self._rows_of(variants, pairs, len(whole)))
        steering = torch.zeros((len(pairs), self.embedding_dim), dtype=self.question_embs.dtype, device=self.device)
        for code, of_pairs in enumerate(self._tables.steered(), start=1):
            places = torch.nonzero(variants == code).view(-1)
            if len(places):
                steering.index_copy_(0, places, of_pairs.index_select(0, pairs.index_select(0, places)))
        return variants, steering

    def _rows_of(self, variants: torch.Tensor, pairs: torch.Tensor, end: int) -> torch.Tensor:
        """Rows of the one steering tensor: centroid, keyword, residual, and the zeros at its end."""
        return torch.where(variants == 0, end - 1, (variants - 1) * len(self.steering_centroid) + pairs)

    def _variants_at(self, positions: Any) -> np.ndarray[Any, np.dtype[np.int8]]:
        """Variant codes of samples at these positions of the split."""
        self._follow()
        forced = self._followed[1]
        if forced >= 0:
            return np.full(len(positions), forced, np.int8)
        if self._stream is not None:
            return self._stream.draw(len(positions), self.steering_probs)
        assert self._variants is not None
        chosen: np.ndarray[Any, np.dtype[np.int8]] = self._variants[positions]
        return chosen

    def _reload(self) -> None:
        read = read_negatives(self.dataset_dir, self.storage_format)
        negatives, tiers = read["hard_negatives"], read["negative_tiers"]
        if negatives.shape != self.hard_negatives.shape:
            raise ValueError(
                f"hard_negatives is {list(negatives.shape)}, and was {list(self.hard_negatives.shape)}: "
                "open the data set again for another number of negatives"
            )
        check_negatives(negatives, tiers, len(self.source_embs))
        moved = {"hard_negatives": negatives.to(self.device), "negative_tiers": tiers.to(self.device)}
        self._tables = with_negatives(self._tables, self.dataset_dir, self.storage_format, moved)


def _position(idx: Any, count: int) -> int:
    at = operator.index(idx)
    if not 0 <= at < count:
        raise IndexError(f"Index {at} out of range [0, {count})")
    return at
