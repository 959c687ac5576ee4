"""An epoch drawn by the real sampler: what repeats, what is never seen, what a batch contains, what padding costs."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from dataloader_expert.checks.base import CLASS_COUNTS, LABEL_SETS, LABELS_EACH, OBJECT_COUNTS, QUANTITY_LABEL, ROLES
from dataloader_expert.checks.labels.classes import CLASS_LIMIT
from dataloader_expert.conclusions import number, verb
from dataloader_expert.errors import escaped, listed
from dataloader_expert.facts import Fact, Facts, Json, Quantity, Unknown
from dataloader_expert.probes.base import Bench, Observation, Probe, evidence
from dataloader_expert.probes.experiments.by_length import (
    LEAST_SAVED,
    budget,
    collated_by_padding,
    long_tailed,
    paddings,
)
from dataloader_expert.probes.experiments.epochs import DRAWN, MOST, describe, labelled_of
from dataloader_expert.probes.experiments.kept_labels import (
    KEPT_LABELS,
    as_the_dataset_has_them,
    by_rarest_label,
    kept_labels,
)
from dataloader_expert.probes.experiments.present_epoch import BATCHED, of_present, ranks_of, usual_size
from dataloader_expert.probes.health.static_checks import length, order
from dataloader_expert.probes.rank_sharding import RANK_SHARES
from dataloader_expert.probes.serving import serving
from dataloader_expert.probes.sharding import SHARDING, copied
from dataloader_expert.sources.base import FILE_NAME, FOLDER

if TYPE_CHECKING:
    from dataloader_expert.probes.serving import Serving

SPEED = Quantity(
    "sampler_throughput", "samples/s", "samples per second of a real DataLoader that uses the strategy's batches"
)
EPOCHS = 10
"""Epochs after which a curriculum draws from all samples."""
MOST_SAMPLES = 4
"""The most samples of a batch of short ones, in batches as asked for."""
SEVERE = 10.0
"""The ratio of class sizes above which they are balanced."""
NEARLY_ONE = 1.2
"""The largest ratio of class sizes that are nearly one."""
BY_CLASS = ["weighted", "class-balanced-batch", "stratified"]
"""Strategies that go by the label."""
STRATEGY = Quantity("strategy", "", "the strategy that suits the data and the objective, and why")
SAMPLER = Quantity("sampler", "", "the sampler that a strategy uses: class, arguments and the field it reads")
MOST_DRAWN = 20_000_000
"""Indices that are drawn at most for an epoch of all ranks, each of which draws it whole; of more ranks only the first are."""
ALL_UP_TO = 200_000
"""Up to this many samples the alternatives are drawn too."""


@dataclass(frozen=True)
class Drawing:
    """A sampler as data, from which an epoch is drawn here and the tool prints the same sampler as code.

    Attributes:
        sampler: a class of ``dataloader_expert.samplers``.
        reads: what its first argument is: ``data`` (their number alone), ``weights`` (1 / count of the label),
            ``labels``, ``lengths``, ``groups`` or ``difficulty``.
        field: the field that it is read from, if any.
        arguments: its keyword arguments.
        batches: whether it yields batches rather than indices.
    """

    sampler: str
    reads: str
    field: str | None
    arguments: dict[str, Json]
    batches: bool = True


@dataclass(frozen=True)
class Draws(Probe):
    """``objective`` is the tool's; the strategy is chosen from what the scan saw, then an epoch is drawn."""

    name: ClassVar[str] = "draws"
    doing: ClassVar[str] = "drawing an epoch"
    batch_size: int | None = 32
    objective: str = "auto"
    group_by: str | None = None
    difficulty: str | None = None
    length: str | None = None
    world_size: int = 1
    block_s: float = 0.1

    def measure(self, bench: Bench) -> Iterable[Observation]:
        loader = getattr(bench.source, "loader", None)
        own = None if loader is None else usual_size(loader)
        if own is not None:
            yield Fact(BATCHED, own, evidence("counted", "draws"))
        ranks = self.world_size if self.world_size > 1 or loader is None else ranks_of(loader)
        yield from replace(self, batch_size=self.batch_size or own, world_size=ranks)._drawn(bench)

    def _drawn(self, bench: Bench) -> Iterable[Observation]:
        whole = self._samples(bench)
        rows = self._only_training(bench)
        if not self._of_classes(bench):
            bench.labels = None
        several = bench.labels is None and bench.label_sets is not None
        if several:
            by_rarest_label(bench)
        else:
            bench.label_sets = None
            as_the_dataset_has_them(bench)
        kept = kept_labels(bench)
        if kept is not None and not several:
            yield kept
        labels, lengths = bench.labels, bench.lengths
        chosen, reason = self._choose(bench)
        if chosen in BY_CLASS and not several and bench.source.label_how.startswith("guessed"):
            reason += (
                f"; `{escaped(bench.source.label)}` was guessed to be the label; pass label= to choose another field"
            )
        yield Fact(
            STRATEGY,
            {"strategy": chosen, "why": reason},
            evidence("derived", "draws", derived_from=("class_counts", "lengths")),
        )
        if bench.source.iterable:
            yield Unknown("simulation", "a stream cannot take a sampler, so no epoch is drawn")
            return
        n = len(labels) if labels is not None else len(lengths) if lengths is not None else whole
        n = len(rows) if rows is not None else n
        yield self._said(chosen, bench)
        if n > MOST:
            yield Unknown("simulation", f"{n} samples: only epochs of up to {MOST} are simulated")
            return
        labelled = labels is not None and n <= ALL_UP_TO
        by_class = ["weighted"] if several else BY_CLASS
        others = ["random", *(by_class if labelled else [])]
        if lengths is not None and n <= ALL_UP_TO:
            others += ["length-bucketed", *(["token-budget"] if long_tailed(lengths) else [])]
        ranks = min(self.world_size, max(1, MOST_DRAWN // max(1, n)))
        known = labelled_of(bench) if labels is not None and not several else None
        for strategy in dict.fromkeys([chosen, *others]):
            drawn = itertools.chain.from_iterable(self._batches(strategy, n, bench, rank) for rank in range(ranks))
            value = describe(drawn, labels, lengths, n, len(bench.class_names), bench.label_sets, known)
            value |= {"class_names": bench.class_names, "ranks": ranks}
            seen = evidence("counted", "draws", seen=value["epoch_samples"], population=n, seed=bench.seed)
            yield Fact(DRAWN, value, seen, {"strategy": strategy})
        if n:
            try:
                yield from self._speeds(bench, list(dict.fromkeys([chosen, "random"])), n, rows)
            except Exception as e:  # the user's samples and collate function may raise anything
                yield Unknown(
                    "throughput of the sampler", f"a batch could not be loaded: {type(e).__name__}: {escaped(e, 200)}"
                )
        loader = getattr(bench.source, "loader", None)
        if loader is not None:
            served = serving(bench, self.batch_size, 0)
            yield from order(bench, served)
            yield from length(served)
            yield from of_present(bench, loader, n)

    def _of_classes(self, bench: Bench) -> bool:
        """Whether labels are classes, be there ever so many: no fractions to be predicted, nor several a sample."""
        label = bench.source.field(bench.source.label or "")
        plain = label is not None and not label.shape and not label.dtype.startswith("float")
        many = plain and len(bench.class_names) > CLASS_LIMIT
        return many or bench.facts.find(CLASS_COUNTS) is not None

    def _only_training(self, bench: Bench) -> Any:
        """Reduces labels, lengths and groups on the bench to the training split; returns its indices, or None."""
        import numpy as np

        if bench.train is None or bench.ref.split is not None:
            return None
        rows = np.flatnonzero(bench.train)
        for name in ("labels", "lengths", "groups", "difficulty"):
            values = getattr(bench, name)
            if values is not None and len(values) == len(bench.train):
                setattr(bench, name, values[rows])
        if bench.label_sets is not None and len(bench.label_sets[0]) == len(bench.train):
            sizes, codes, *names = bench.label_sets
            bench.label_sets = sizes[rows], codes[np.repeat(bench.train, sizes)], *names
        return rows

    def _speeds(self, bench: Bench, strategies: list[str], n: int, rows: Any) -> Iterable[Observation]:
        """Throughput of a real loader over each strategy's batches, three alternating blocks each."""
        from dataloader_expert.probes.search.pairing import interval
        from dataloader_expert.probes.search.thresholds import ROUNDS

        served = serving(bench, self.batch_size, 0, every_split=True)  # whose indices count over all of them
        seen = n if rows is None else len(bench.train)
        if served.user_loader is None and len(served.dataset) != seen:
            yield Unknown("throughput of the sampler", "not every sample was read, so indices are unknown")
            return
        if served.fit(bench, 0.05 * bench.left()):
            yield Unknown("throughput of the sampler", "a batch takes too long to load: raise budget_s")
            return
        until = bench.until(0.8, 6.0)
        spans: dict[str, list[float]] = {s: [] for s in strategies}
        drawn = {s: list(self._batches(s, n, bench)) for s in strategies}
        if rows is not None:
            drawn = {s: [rows[batch].tolist() for batch in batches] for s, batches in drawn.items()}
        for _ in range(ROUNDS):
            for strategy in strategies:
                spans[strategy].append(self._block(served, drawn[strategy], until))
        for strategy, rates in spans.items():
            mean, low, high = interval(rates)
            how = evidence("timed", "draws", seen=len(rates), interval=(low, high), spread=(min(rates), max(rates)))
            yield Fact(SPEED, mean, how, {"strategy": strategy})

    def _block(self, served: Serving, batches: list[list[int]], until: float | None) -> float:
        """Samples/s over at least ``block_s`` of batches, epoch after epoch; the first batch is dropped."""
        from dataloader_expert.loaders.building import plain

        count, begun = 0, None
        while True:
            for batch in plain(served.dataset, served.collate, batch_sampler=batches):
                if begun is None:
                    begun = time.perf_counter()
                    continue
                count += served.count(batch)
                spent = time.perf_counter() - begun
                if spent > self.block_s or (until is not None and time.monotonic() > until):
                    return count / spent

    def _size(self, bench: Bench) -> int:
        """Samples per batch: as asked, else the loader's, which ``measure`` has put in its place, else 32."""
        return self.batch_size or 32

    def _scanned(self, bench: Bench) -> dict[str, Any]:
        from dataloader_expert.probes.data.scan import SCANNED

        return dict(bench.facts.value(SCANNED, {"read": 0, "failed": 0, "total": None}))

    def _samples(self, bench: Bench) -> int:
        scanned = self._scanned(bench)
        return int(scanned["total"] or scanned["read"])

    def _choose(self, bench: Bench) -> tuple[str, str]:
        from dataloader_expert.checks.labels.classes import IMBALANCE, TRAIN_IMBALANCE
        from dataloader_expert.checks.labels.labels import LENGTHS
        from dataloader_expert.probes.model.batch import LEAST_SHARE, share_padded

        ratio = bench.facts.value(TRAIN_IMBALANCE, bench.facts.value(IMBALANCE))
        if (kept := bench.facts.find(KEPT_LABELS)) is not None:
            ratio = max(kept.value["counts"].values()) / min(kept.value["counts"].values())
        several = bench.label_sets is not None
        if several:
            counted = bench.facts.value(LABEL_SETS, bench.facts.value(LABEL_SETS, split=None), split="train")
            there = [n for n in counted.values() if n]
            ratio = max(there) / min(there) if there else None
        lengths = bench.lengths
        varied = lengths is not None and len(lengths) > 1 and lengths.max() > 1.5 * max(1, lengths.min())
        seen, size = self._scanned(bench), self._size(bench)
        whole = seen["total"] is None or seen["read"] + seen["failed"] >= seen["total"]
        one_batch = varied and whole and len(lengths) <= size * self.world_size
        shuffled, sorted_ = paddings(lengths, size, bench.seed, whole) if varied else (0.0, 0.0)
        ragged = not one_batch and shuffled - sorted_ >= LEAST_SAVED
        field = bench.facts.value(LENGTHS, {"field": None})["field"]
        share = 1.0 if self.length is not None else share_padded(bench.facts, field)
        beside, ragged = varied and share < LEAST_SHARE, ragged and share >= LEAST_SHARE
        outliers = varied and not beside and long_tailed(lengths)
        if bench.source.iterable:
            shares = bench.facts.find(SHARDING)
            sharded = (
                "; each worker of this one yields every sample, so the code also shards it" if copied(bench) else ""
            )
            sharded = sharded or ("; its workers share it already" if shares is not None else "")
            if not copied(bench) and bench.facts.value(RANK_SHARES, {"copied": False})["copied"]:
                sharded += "; its ranks all read the same samples, so the code also shards it by rank"
            if ratio is not None and ratio > SEVERE:
                sharded += f"; its classes are imbalanced ({ratio:.1f}:1): weight the loss, or let __iter__ yield samples of rare classes more than once"
            return "stream", f"a stream cannot take a sampler: the code shuffles it in a buffer{sharded}"
        objective = self.objective
        if objective in ("balanced", "metric") and bench.labels is None:
            return "random", f"objective {objective} needs class labels{_without_classes(bench)}"
        if objective == "balanced" and ratio is not None and not several and _alike(bench, ratio):
            return (
                "stratified",
                f"the classes are nearly equal in size ({ratio:.2f}:1), so drawing by weight would not balance them better: every batch keeps "
                "their shares, and each sample occurs once per epoch",
            )
        if objective == "balanced":
            of = "each sample counts under the rarest of its labels, and these are" if several else "each class is"
            return "weighted", f"as requested, {of} drawn equally often, so rare samples repeat"
        if objective in ("metric", "representative") and several:
            return (
                "random",
                "samples have several labels, and batches by class need one; a plain shuffle keeps their shares",
            )
        if objective == "metric":
            return "class-balanced-batch", "metric learning needs several samples of several classes in each batch"
        if objective == "curriculum" and bench.difficulty is None and bench.lengths is None:
            return (
                "random",
                "a curriculum needs to know how hard each sample is, and the order of the data does not show it: pass difficulty= "
                f"with {_candidates(bench, 'a field')}",
            )
        if objective == "curriculum" and not _varied(bench.lengths if bench.difficulty is None else bench.difficulty):
            by = f"{self.difficulty} never varies" if bench.difficulty is not None else "all samples are equally long"
            return (
                "random",
                f"a curriculum needs samples that differ in difficulty, but {by}: pass difficulty= with {_candidates(bench, 'another field')}",
            )
        if objective == "curriculum":
            by = f"{self.difficulty}" if bench.difficulty is not None else "length, as no difficulty= is given"
            return "curriculum", f"easy samples first, as requested; difficulty is given by {by}"
        if objective == "representative" and bench.labels is not None:
            return (
                "stratified",
                f"every batch keeps the class proportions of the data, and each sample occurs once per epoch{self._rarer(bench)}",
            )
        if objective == "representative":
            return "random", "a plain shuffle shows each sample once per epoch, in natural proportions"
        if self.group_by is not None:
            return "grouped", f"samples of one {self.group_by} stay in one batch"
        if objective == "throughput":
            if outliers:
                return (
                    "token-budget",
                    f"a few lengths are far above the mean ({lengths.max():,.0f} against {lengths.mean():,.0f}): batches of similar length "
                    "within a token budget (about equal total length instead of equal sample counts) need less padding, and no "
                    "memory for the longest",
                )
            if ragged:
                return "length-bucketed", "batches of similar length need less padding"
            why = "lengths do not vary, so no order saves padding"
            if beside:
                why = f"fields of varying length make up only {share:.1%} of a batch"
            elif varied:
                why = f"batches of similar length would hardly need less padding than shuffled ones (about {shuffled:.0%})"
            return "random", f"{why}, and no available sampler reads shard by shard"
        if ratio is not None and ratio > SEVERE:
            largest = "most frequent label" if several else "largest class"
            rarest = "rarest" if several else "smallest"
            why = f"a plain shuffle draws the {largest} {ratio:.1f} times as often as the {rarest}"
            if ragged and collated_by_padding(bench, self.length is not None):
                why += "; lengths vary as well, so its batches contain much padding; a weighted loss with length-bucketed batches avoids that"
            return "weighted", why
        if ragged and collated_by_padding(bench, self.length is not None):
            return (
                "length-bucketed",
                "lengths vary widely: batches of similar length need less padding and stay shuffled",
            )
        if ratio is None and (said := _of_objects(bench)) is not None:
            return "random", said
        sizes = "frequencies of labels" if several else "class sizes"
        classes = f"{sizes} ({ratio:.1f}:1)" if ratio is not None else no_classes(bench.facts)
        if ragged:
            many = f"{classes} need no special treatment" if ratio is not None else classes
            return (
                "random",
                f"a plain shuffle is enough for these batches: {many}, and they are not padded; if your collate function pads, "
                "as after a tokenizer, take length-bucketed",
            )
        padded = not beside and shuffled >= LEAST_SAVED and collated_by_padding(bench, self.length is not None)
        and_lengths = " and lengths" if lengths is not None and not beside and not padded else ""
        near = f"{classes}{and_lengths} need no special treatment" if ratio is not None else classes
        near += "; lengths vary, but all samples fit into one batch" if one_batch and not beside else ""
        if padded and not one_batch:
            cure = (
                'objective="throughput" reduces it' if outliers else "batches of similar length would hardly have less"
            )
            near += f"; its batches contain about {shuffled:.0%} padding: {cure}"
        return "random", f"a plain shuffle (shuffle=True) is enough: {near}"

    def _rarer(self, bench: Bench) -> str:
        """That not every batch can have each class, where some have fewer samples than there are batches."""
        import numpy as np

        counts = np.bincount(bench.labels[labelled_of(bench)])
        counts, batches = counts[counts > 0], len(bench.labels) / self._size(bench)
        few = int((counts < batches).sum())
        return (
            f"; {few:,} of {number(len(counts), 'class')} {verb(few, 'have')} too few samples for each batch to hold one"
            if few
            else ""
        )

    def _said(self, strategy: str, bench: Bench) -> Fact:
        drawing = asdict(self._drawing(strategy, bench))
        return Fact(SAMPLER, drawing, evidence("derived", "draws", derived_from=("strategy",)), {"strategy": strategy})

    def _drawing(self, strategy: str, bench: Bench) -> Drawing:
        """The sampler of a strategy; a plain shuffle if the data that it needs are missing."""
        from dataloader_expert.checks.labels.labels import LENGTHS

        size, seed = self._size(bench), {"seed": bench.seed}
        each = bench.facts.find(LABELS_EACH)
        label = each.at["field"] if bench.label_sets is not None and each is not None else bench.source.label
        length = bench.facts.value(LENGTHS, {"field": None})["field"]
        if bench.labels is not None:
            if strategy == "weighted":
                return Drawing("WeightedSampler", "weights", label, {"replacement": True, **seed}, batches=False)
            if strategy == "stratified":
                return Drawing("StratifiedBatchSampler", "labels", label, {"batch_size": size, **seed})
            if strategy == "class-balanced-batch":
                p, k = classes_by_samples(bench.labels, size)
                shape = {"classes_per_batch": p, "samples_per_class": k}
                return Drawing("ClassBalancedBatchSampler", "labels", label, {**shape, **seed})
        if strategy == "length-bucketed" and bench.lengths is not None:
            return Drawing("LengthBucketBatchSampler", "lengths", length, {"batch_size": size, "window": 50, **seed})
        if strategy == "token-budget" and bench.lengths is not None:
            most = {"max_tokens": budget(bench.lengths, size), "max_samples": MOST_SAMPLES * size}
            return Drawing("TokenBudgetBatchSampler", "lengths", length, {**most, **seed})
        if strategy == "grouped" and bench.groups is not None:
            return Drawing("GroupBatchSampler", "groups", self.group_by, {"batch_size": size, **seed})
        if strategy == "curriculum":
            easy = {"epochs": EPOCHS, "start": 0.3, **seed}
            if bench.difficulty is not None:
                return Drawing("CurriculumSampler", "difficulty", self.difficulty, easy, batches=False)
            return Drawing("CurriculumSampler", "lengths", length, easy, batches=False)
        return Drawing("ShuffleSampler", "data", None, seed, batches=False)

    def _batches(self, strategy: str, n: int, bench: Bench, rank: int = 0) -> Iterator[list[int]]:
        """The first epoch of one process."""
        import numpy as np
        from torch.utils.data import BatchSampler

        from dataloader_expert import samplers

        drawing = self._drawing(strategy, bench)
        if drawing.reads == "weights":
            _, codes, counts = np.unique(bench.labels, return_inverse=True, return_counts=True)
            given: Any = 1.0 / counts[codes]
            if bench.label_sets is None:
                given[~labelled_of(bench)] = 0  # a sample without label belongs to no class
        elif drawing.reads == "data":
            given = n
        else:
            given = getattr(bench, drawing.reads)
        kind = getattr(samplers, drawing.sampler)
        sampler = kind(given, **drawing.arguments, num_replicas=self.world_size, rank=rank)
        return iter(sampler if drawing.batches else BatchSampler(sampler, self._size(bench), False))


def classes_by_samples(labels: Any, batch_size: int) -> tuple[int, int]:
    """P classes times K samples for a batch: at least two of each if the batch size allows."""
    import numpy as np

    distinct = len(np.unique(labels))
    p = max(1, min(distinct, batch_size // 2 or 1, 16))
    return p, max(1, batch_size // p)


def _varied(values: Any) -> bool:
    """Whether an order by these values is one."""
    return len(values) > 0 and bool(values.min() < values.max())


def _candidates(bench: Bench, field: str) -> str:
    """Words for the fields of numbers that may say how hard a sample is."""
    label = None if bench.source.label_how.startswith("guessed") else bench.source.label  # it may be what is looked for
    numbers = (f for f in bench.source.fields if f.dtype.startswith(("int", "uint", "float")) and not f.shape)
    named = [f.name for f in numbers if f.name != label]
    return f"{field}, such as {', '.join(map(escaped, named[:3]))}" if named else "a field that says so"


def no_classes(facts: Facts) -> str:
    """That samples have no class; of objects with classes, that it is theirs."""
    if facts.find(OBJECT_COUNTS) is not None:
        return "samples have no class of their own, only their objects have"
    return "there are no class labels"


def _of_objects(bench: Bench) -> str | None:
    """What to do about classes of objects of which some are rare; None: there are none."""
    counts = [n for n in bench.facts.value(OBJECT_COUNTS, {}, split=None).values() if n]
    if len(counts) < 2 or max(counts) <= SEVERE * min(counts):
        return None
    return (
        f"a plain shuffle draws each sample once; the classes of the objects are imbalanced ({max(counts) / min(counts):.1f}:1): weight the loss by class, or "
        "draw samples with rare objects more often"
    )


def _without_classes(bench: Bench) -> str:
    """Why there are no classes, and what to pass for some."""
    label = bench.source.label
    named = next((r["field"] for r in bench.facts.value(ROLES, []) if r["role"] == "group"), None)
    if label is not None and bench.facts.find(QUANTITY_LABEL) is not None:
        return f", but {escaped(label)} is a quantity: pass label= with a field of classes, such as its binned values, or use a plain shuffle"
    if named not in (None, FILE_NAME, FOLDER):
        return f" and none were found: pass label={escaped(named)!r} if that is the class"
    if named == FOLDER:
        return ": the folders look like groups, not classes; if they are classes, pass a Dataset that returns them as labels"
    kinds = ("category", "boolean", "number")
    able = [escaped(f.name) for f in bench.source.fields if f.kind in kinds and not f.shape and f.name != label]
    return f" and none were found: pass label= with a field that holds them{f' (of {listed(able)})' if able else ''}"


def _alike(bench: Bench, ratio: float) -> bool:
    """Whether classes differ little in size, and by no more than samples of them that are drawn by weight do by chance."""
    sizes = bench.facts.value(CLASS_COUNTS, bench.facts.value(CLASS_COUNTS, {}, split=None), split="train")
    return bool(sizes) and ratio <= NEARLY_ONE and ratio - 1 <= 2 * math.sqrt(2 / max(1, min(sizes.values())))


PROBES = (Draws,)
