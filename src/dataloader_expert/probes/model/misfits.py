"""Whether a model takes a batch, and if not what differs: the change under which it runs names the difference."""

from __future__ import annotations

import contextlib
import itertools
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from dataloader_expert.errors import listed
from dataloader_expert.probes.model.calling import (
    Ran,
    called,
    cut,
    evaluated,
    few_of,
    given_to,
    is_finite,
    keeps,
    ran,
    rows_of,
)
from dataloader_expert.probes.model.mends import (
    OF_TARGET,
    Lookup,
    Mend,
    Misfit,
    as_floats,
    column_of,
    is_fake,
    mends,
    wants,
)
from dataloader_expert.probes.model.padding import unmasked
from dataloader_expert.probes.model.silent import another_padding, inverted, many_losses
from dataloader_expert.probes.model.targets import of_loss, suits
from dataloader_expert.probes.model.texts import untokenised
from dataloader_expert.probes.model.unstacked import unstacked
from dataloader_expert.probes.model.ways import (
    BY_KEYWORD,
    COLUMNS,
    DENSE,
    DERIVED,
    TARGET,
    TARGETS,
    Way,
    accessors,
    parameters,
    target_first,
    ways,
    wrapped,
)
from dataloader_expert.probes.serving import flat, samples_in

CUT = re.compile(r"\{x\}\[:, :\d+\]")
"""A mend that leaves out what is beyond a length."""
OF_SIZE = re.compile(r"size=\((\d+), (\d+)\)")
OF_ORDER = re.compile(r"enforce_sorted|sorted in decreasing order")
"""What torch says to lengths that do not descend."""
UNSORTED = (
    "lengths in no order, where the model packs sequences in descending order; pass enforce_sorted=False to "
    "pack_padded_sequence in the model, or sort each batch"
)
SCALE = "value-range-mismatch"
DEPTH = 3
TIMES = 4
"""A whole batch takes longer than the calls with which padding is looked at, by this factor at most."""
FEATURES = ("in_features", "input_size", "normalized_shape", "num_features")
"""Attributes by which layers say how many features they take."""
MOST_ORDERED = 3
"""Inputs that are tried in other orders."""
SEARCH_S = 4.0
WHOLE_S = 1.0
"""Seconds that a call with the whole batch may take; more samples are left out."""


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
    unseen: tuple[str, ...] = ()
    """What could not be looked at though the model runs, and why."""

    @property
    def accepted(self) -> bool:
        """Whether the batch goes in as it is. What only the loss would refuse, or the values' scale, is told all the same."""
        return (
            self.way is not None
            and not self.refused
            and all(m.field == TARGET or m.code == SCALE or m.runs for m in self.misfits)
        )


def judged(
    model: Any,
    batch: Any,
    label: str | None,
    said: Mapping[str, Any] | None = None,
    seconds: float = SEARCH_S,
    pictures: frozenset[str] = frozenset(),
    n: int = 0,
    chosen: bool = False,
) -> Verdict:
    """Calls the model in evaluation mode with a few of the batch's samples, then with all, mending until it runs; then with a few in
    training mode.

    ``said``: what the model declares of its input; ``pictures``: fields of stored pictures, which are made floats where the model takes
    no other, as the result tells the user to; ``n``: the samples, where they are known; ``chosen``:
    whether the user named the fields to use.
    """
    trial = _Trial(model, batch, label, said or {}, time.monotonic() + seconds, n, chosen)
    trial.prepare(pictures)
    return trial.in_training(trial.verdict())


class _Trial:
    def __init__(
        self,
        model: Any,
        batch: Any,
        label: str | None,
        said: Mapping[str, Any],
        until: float,
        n: int = 0,
        chosen: bool = False,
    ) -> None:
        self.model, self.batch, self.said, self.until = model, batch, said, until
        self.few, self.n = few_of(batch, n)
        self.want = wants(model, (int(said["size"]),) if said.get("size") else ())
        self.ways = ways(model, self.few, label, chosen)
        self.all = (n or samples_in(batch)) if self.n else 0
        self.said_to: dict[str, str] = {}
        """By code of a way, what the model said to it."""
        self.odd: Way | None = None
        """The first way that runs as it is, with an output of one size for any number of samples."""
        self.grown: dict[str, bool] = {}
        """By code of a way, whether its output grows with the samples."""
        self.alone = len(flat(batch)) == 1
        """Whether one tensor is all of the batch, which may be one sample; what stands beside others of its length has samples."""
        self.limited = False
        self.whole_refused = False
        self.done: dict[bool, tuple[str, Ran]] = {}
        """The last call with few samples (False) and with the whole batch (True)."""
        if hasattr(model, "eval"):
            model.eval()

    def prepare(self, pictures: frozenset[str]) -> None:
        """Where no way runs as it is, those with pictures as floats take their place."""
        made = []
        for way in self.ways:
            for (_, expression), name in zip(way.arguments, way.names, strict=True):
                x: Any = evaluated(expression, self.few) if name in pictures else None
                if hasattr(x, "is_floating_point") and not x.is_floating_point():
                    way = way.mended(name, as_floats(x, self.want))
            made.append(way)
        if any(way.mends for way in made) and all(self.fails(way) for way in self.ways):
            self.ways = made

    def in_training(self, verdict: Verdict) -> Verdict:
        """The verdict, with what the model raises in training mode; of the ways, the one that runs there too, as one with targets."""
        if verdict.way is None or verdict.refused or self.n == 1 or not hasattr(self.model, "train"):
            return verdict
        if self.run(verdict.way).seconds > self.until - time.monotonic() + WHOLE_S:
            return verdict
        others = [replace(way, mends=verdict.way.mends) for way in self.ways if way.told == ()]
        said: list[Exception] = []
        self.model.train()
        try:
            for way in (verdict.way, *others):
                # some take no few samples, as pairs of them
                for batch in (self.few, self.batch):
                    error = ran(self.model, way, batch, training=True).error
                    if error is None:
                        kept = tuple(m for m in verdict.misfits if way is verdict.way or not m.runs)
                        return replace(verdict, way=way, misfits=kept)
                    said.append(error)
                    if self.batch is self.few:
                        break
                if time.monotonic() > self.until:
                    break
        finally:
            self.model.eval()  # as the calls before and after it are; the model was made for this check alone
        error = next((e for e in said if OF_TARGET.search(str(e))), said[0])
        of_labels = OF_TARGET.search(str(error)) is not None
        code = "label-out-of-range" if of_labels else "model-raises"
        says = f"the model takes the batch in evaluation mode, and raises in training mode: {in_short(error)}"
        misfit = Misfit(code, "labels" if of_labels else "training mode", says, cured=False)
        return replace(verdict, misfits=(*verdict.misfits, misfit), error=verdict.error or in_short(error))

    def verdict(self) -> Verdict:
        first: Exception | None = None
        if not self.ways:
            verdict = self.lacking()
            made = (way for way in unstacked(self.model, self.few) if self.fails(way) is None)
            return next((replace(self.further(way), error=verdict.error) for way in made), verdict)
        without: Way | None = None
        for at, way in enumerate(self.ways):
            error = self.fails(way) or self.beyond_the_few(way)
            if error is None:
                lost = self.refused(way, self.ways[:at])
                if not lost:
                    return self.further(way)
                without, self.ways = replace(way, told=(*way.told, *lost)), self.ways[:at]  # if no mend of these runs
                break
            if first is None or (way.names == ("batch",) and isinstance(error, KeyError)):
                first = error  # a model that looks keys up takes the batch whole
            for other in self.with_keys(way, error):
                if self.fails(other) is None:
                    return replace(self.further(other), error=in_short(error))
        for way in self.ways[:2] if self.n and self.n != self.all else ():
            of_size = re.search(rf"\b{self.all}\b", self.said_to.get(way.code(), "")) is not None
            if of_size and self.fails(way, whole=True) is None:  # it takes batches of one size
                self.widen()
                return replace(self.further(way), only=self.all)
        apart = (way for way in unstacked(self.model, self.few) if self.fails(way) is None)
        for other in itertools.chain(self.exchanged(), self.by_length(), apart):
            return replace(self.further(other), error=in_short(first))
        unsuited: Verdict | None = None
        for depth in range(1, DEPTH + 1):
            for way in self.ways:
                alike = self.mended_alike(way) if depth == 1 else ()
                for mended, used in itertools.chain(self.mended(way, depth), alike):
                    if self.fails(mended) is None:
                        if unsuited is None or suits(mended, self.run(mended).out, self.few):
                            found = self.further(mended, used)
                            found = replace(found, error=in_short(first) or found.error)
                            if suits(mended, self.run(mended).out, self.few):
                                return found
                            unsuited = found
                    if time.monotonic() > self.until:
                        return unsuited or self.not_mended(without, first)
            if unsuited is not None:
                return unsuited
        turned = target_first(self.model, self.few)
        if turned is not None and self.fails(turned) is None:
            return replace(self.further(turned), error=in_short(first))
        return self.not_mended(without, first)

    def beyond_the_few(self, way: Way) -> Exception | None:
        """What a call with the whole batch raises of ids, labels or an order that the few have not; these are then among the few."""
        raised = self.fails(way, whole=True)
        if raised is None or not (_of_range(str(raised)) or OF_ORDER.search(str(raised))):
            return None
        self.widen()
        return raised

    def widen(self) -> None:
        """Takes the whole batch for the few: its ids tell more of their range."""
        if self.n != self.all:
            self.few, self.n = self.batch, self.all
            self.done.clear()

    def not_mended(self, without: Way | None, error: Exception | None) -> Verdict:
        """Where no mend was found: the way that leaves labels out, if it runs, or one whose output has no samples, as prototypes."""
        if without is not None:
            return replace(self.further(without), error=in_short(error))
        if self.odd is not None:
            return self.further(self.odd)
        return Verdict(None, self.unsaid(error), in_short(error))

    def refused(self, way: Way, others: list[Way]) -> tuple[tuple[str, str, str], ...]:
        """Labels under the model's own name for them that it refuses, and runs without."""
        for other in others:
            for name, _ in other.arguments:
                if name in TARGETS and name in other.names and name not in way.names:
                    said = self.said_to.get(other.code(), "")[:200]
                    return (
                        ("key-missing", name, f"the model computes its loss from {name}, and refuses these: {said}"),
                    )
        return ()

    def unsaid(self, error: Exception | None) -> tuple[Misfit, ...]:
        """Inputs that the model cannot do without, though its ``forward`` gives them a default."""
        text = str(error)
        if OF_TARGET.search(text):
            return self.beyond_classes(text)
        if elsewhere := self.elsewhere():
            return (elsewhere,)
        if texts := untokenised(self.model, self.few):
            return (texts,)
        if columns := self.other_columns():
            return (columns,)
        if layer := self.refusing_layer():
            return (layer,)
        if not isinstance(self.few, Mapping) or ("NoneType" not in text and "specify" not in text):
            return ()
        lacks = sorted(p for p in parameters(self.model)[1] if p in BY_KEYWORD and p not in self.few)
        lacks = [p for p in lacks if p != "inputs_embeds"]
        has = ", ".join(map(str, self.few))
        says = f"the model takes {' and '.join(lacks)}; the batch has {has}"
        return (Misfit("key-missing", lacks[0], says, cured=False),) if lacks else ()

    def beyond_classes(self, text: str) -> tuple[Misfit, ...]:
        """Labels that a loss within the model refuses, of which no other numbering is known."""
        for way in self.ways:
            for (_, expression), name in zip(way.arguments, way.names, strict=True):
                y: Any = evaluated(expression, self.batch) if name in TARGETS else None
                if hasattr(y, "is_floating_point") and not is_fake(y) and y.numel():
                    says = f"labels from {int(y.min())} to {int(y.max())}, of which the loss within the model refuses some: {text[:200].rstrip('.')}"
                    return (Misfit("label-out-of-range", name, says, cured=False),)
        return ()

    def elsewhere(self) -> Misfit | None:
        """Parameters and buffers that no batch here can meet: without values, or on another device."""
        held = [*self.model.named_parameters(), *self.model.named_buffers()] if hasattr(self.model, "buffers") else []
        away = [(name, str(t.device)) for name, t in held if t.device.type != "cpu"]
        if not away:
            return None
        name, device = away[0]
        what = (
            "has no values: it is on the meta device" if device == "meta" else f"is on {device}, and the batch is not"
        )
        return Misfit("model-raises", "the model", f"its {name} {what}", cured=False)

    def other_columns(self) -> Misfit | None:
        """For a table whose columns, as one tensor, are more or fewer than the first layer takes."""
        from torch import nn

        way = next((way for way in self.ways if way.columns), None)
        if way is None:
            return None
        kinds = (nn.Linear, nn.RNNBase, nn.LayerNorm, nn.BatchNorm1d)
        got, error = given_to(self.model, way, self.few, *kinds)
        fed = evaluated(way.arguments[0][1], self.few)
        if error is None or len(got) != 1 or not got[0][1] or got[0][1][0].shape != fed.shape:
            return None
        layer = got[0][0]
        takes = next(getattr(layer, a) for a in FEATURES if hasattr(layer, a))
        takes = takes[-1] if isinstance(takes, tuple) else takes
        if takes == fed.shape[1]:
            return None
        where = {n: e for n, e in accessors(self.few).items() if e != way.target and not n.endswith("_lengths")}
        also = [n for n, e in where.items() if n not in way.columns and hasattr(evaluated(e, self.few), "ndim")]
        text = f"the batch has {fed.shape[1]} numeric columns besides the label ({listed(way.columns)})"
        text += f", and {listed(also)}, named like a target" if also else ""
        text += f"; the model takes {takes}"
        if takes <= len(way.columns) + len(also):
            text += f": choose the {takes} that it is made for"
        return Misfit("shape-mismatch", COLUMNS, text, cured=False)

    def refusing_layer(self) -> Misfit | None:
        """The layer that gets another number of features than it was made for."""
        from torch import nn

        got, _ = given_to(self.model, self.ways[0], self.few, nn.Linear, nn.RNNBase, nn.LayerNorm)
        layer, given = got[-1] if got else (None, [])
        if layer is None or not given or not given[0].ndim:
            return None
        x, name = given[0], next(n for n, m in self.model.named_modules() if m is layer)
        takes = (
            layer.in_features
            if isinstance(layer, nn.Linear)
            else getattr(layer, "input_size", None) or layer.normalized_shape[-1]
        )
        if x.shape[-1] == takes:
            return None
        field = self.ways[0].names[0]
        before = next((m for m, _ in got[-2:-1] if features_of(m) == x.shape[-1]), None)
        if before is not None:
            source = next(n for n, m in self.model.named_modules() if m is before)
            text = f"two of its layers do not fit each other: {name} takes {takes} features, and {source} gives {x.shape[-1]}"
            return Misfit("shape-mismatch", "the model", text, cured=False)
        text = f"{x.shape[-1]} features where the model takes {takes}: its layer {name} is {type(layer).__name__} of {takes}"
        text += f" and gets [B{''.join(f', {d}' for d in x.shape[1:])}]"
        return Misfit("shape-mismatch", field, text, cured=False)

    def refused_ids(self, way: Way, expression: str) -> Lookup | None:
        """The table that refuses a column of this field, if that is what the call fails of."""
        from torch import nn

        got, error = given_to(self.model, way, self.few, nn.Embedding, nn.EmbeddingBag)
        table, given = got[-1] if got and error is not None else (None, [])
        column = column_of(evaluated(expression, self.few), given[0]) if given else None
        return None if table is None or column is None else Lookup(table.num_embeddings, column)

    def lacking(self) -> Verdict:
        """Of a model that needs what the batch has under no name."""
        if texts := untokenised(self.model, self.few):
            return Verdict(None, (texts,), texts.says)
        there = list(self.few) if isinstance(self.few, Mapping) else []
        missing = [p for p in parameters(self.model)[0] if p not in there]
        text = f"the model needs {' and '.join(missing) or 'other fields'}; the batch has {', '.join(map(str, there)) or 'no names'}"
        return Verdict(None, (Misfit("key-missing", missing[0] if missing else "batch", text, cured=False),), text)

    def run(self, way: Way, whole: bool = False) -> Ran:
        """What the call gives: once, as it may take seconds. ``whole``: with as much of the batch as ``limit`` leaves."""
        if whole:
            self.limit(way)
        whole = whole and self.batch is not self.few
        code = way.code()
        if self.done.get(whole, ("",))[0] != code:
            self.done[whole] = code, ran(self.model, way, self.batch if whole else self.few)
        return self.done[whole][1]

    def fails(self, way: Way, whole: bool = False) -> Exception | None:
        """What the call raises; None if it runs and its output keeps the samples apart."""
        done = self.run(way, whole)
        if done.error is not None:
            self.said_to[way.code()] = str(done.error)
            return done.error
        alone = self.alone and any(".unsqueeze(0)" in mend for of in way.mends.values() for mend in of)
        if not whole and self.n and not alone and not keeps(done.out, self.n, bool(way.mends)) and not self.grows(way):
            shapes = [list(v.shape) for _, v in flat(done.out) if hasattr(v, "shape")]
            if not way.mends:
                self.odd = self.odd or way
            return ValueError(
                f"from {self.n} samples the model makes {shapes[:3]}: none of its dimensions is the batch's"
            )
        return None

    def grows(self, way: Way) -> bool:
        """Whether the output of a call without mends has other sizes for other numbers of samples, such as those of pairs or of views."""
        if way.mends or way.code() in self.grown:
            return self.grown.get(way.code(), False)
        other = max(2, self.n - 1)
        few = cut(self.few, rows_of(self.few, self.n, other), self.n)
        shapes = [
            [tuple(v.shape) for _, v in flat(out) if hasattr(v, "shape")]
            for out in (self.run(way).out, ran(self.model, way, few).out)
        ]
        self.grown[way.code()] = bool(shapes[1]) and shapes[0] != shapes[1] and other < self.n
        return self.grown[way.code()]

    def mended(self, way: Way, depth: int) -> Iterator[tuple[Way, tuple[tuple[str, Mend], ...]]]:
        """The way with so many mends, each of another step of its field."""
        if depth == 0:
            yield way, ()
            return
        for inner, used in self.mended(way, depth - 1):
            said = self.said_to.get(inner.code(), "")
            fields = list(zip((e for _, e in way.arguments), way.names, strict=True))
            if "target" in said.lower():  # it is a loss within the model that complains
                fields.sort(key=lambda field: field[1] not in (*TARGETS, *DENSE))
            for expression, name in fields:
                # which classes and ids there are, few samples do not tell
                batch = self.batch if "target" in said.lower() or _of_range(said) else self.few
                mended = wrapped(expression, inner.mends.get(name, ()))
                try:
                    x = evaluated(mended, batch)
                except Exception:  # a mend that the tensor itself refuses
                    continue
                if not hasattr(x, "is_floating_point"):
                    continue
                taken = {m.step for n, m in used if n == name}
                if inner.columns or (x.ndim == 1 and any(way.columns for way in self.ways)):
                    taken.add("shape")  # no column of a table is the input alone
                table = self.refused_ids(inner, mended) if "out of range" in said else None
                for mend in mends(x, self.want, said, table, pictures=evaluated(expression, batch).ndim == 4):
                    sample = mend.expression.endswith(".unsqueeze(0)") and not self.alone
                    if mend.step not in taken and not sample:
                        yield inner.mended(name, mend.expression), (*used, (name, mend))

    def mended_alike(self, way: Way) -> Iterator[tuple[Way, tuple[tuple[str, Mend], ...]]]:
        """The way with one mend of all fields that it may make fit: what laid one of them out wrongly did so to its like."""
        fields: dict[str, dict[str, Mend]] = {}
        for _, [(name, mend)] in self.mended(way, 1):
            fields.setdefault(mend.expression, {})[name] = mend
        for expression, alike in fields.items():
            if len(alike) > 1:
                made = way
                for name in alike:
                    made = made.mended(name, expression)
                yield made, tuple(alike.items())

    def exchanged(self) -> Iterator[Way]:
        """Where ids lie beyond a table: two arguments of ids, exchanged, if the model takes them so."""
        for way in self.ways:
            if 1 < len(way.arguments) <= MOST_ORDERED and all(p is None for p, _ in way.arguments):
                yield from self.reordered(way)
            if "index out of range" not in self.said_to.get(way.code(), ""):
                continue
            kinds = [evaluated(e, self.few) for _, e in way.arguments]
            for i, j in itertools.combinations(range(len(kinds)), 2):
                one, two = kinds[i], kinds[j]
                if not all(hasattr(x, "is_floating_point") and not x.is_floating_point() for x in (one, two)):
                    continue
                if one.shape != two.shape or all(way.arguments[k][0] == way.names[k] for k in (i, j)):
                    continue  # each has the name that the model gives it
                order = [*range(len(kinds))]
                order[i], order[j] = j, i
                arguments = tuple((p, way.arguments[k][1]) for (p, _), k in zip(way.arguments, order, strict=True))
                names = tuple(way.names[k] for k in order)
                says = f"fields {way.names[i]} and {way.names[j]} in the other order than the model takes them"
                other = replace(way, arguments=arguments, names=names, told=(("key-missing", way.names[i], says),))
                if self.fails(other) is None and self.fails(other, whole=True) is None:
                    yield other

    def by_length(self) -> Iterator[Way]:
        """Samples sorted by their lengths, where a recurrent layer packs them as if they were."""
        for way in self.ways:
            if not OF_ORDER.search(self.said_to.get(way.code(), "")):
                continue
            fields = {n: (e, evaluated(e, self.few)) for (_, e), n in zip(way.arguments, way.names, strict=True)}
            if not all(hasattr(x, "ndim") and x.ndim and len(x) == self.n for _, x in fields.values()):
                continue
            for name, (expression, x) in fields.items():
                if x.ndim > 1 or x.is_floating_point():
                    continue
                made = way
                order = f"{{x}}[{expression}.argsort(descending=True)]"
                own = any(e == way.target for e, _ in fields.values())
                for field in (*fields, *([] if own or way.target is None else [TARGET])):
                    made = made.mended(field, order)
                made = replace(made, told=(*way.told, ("layout-mismatch", name, UNSORTED)))
                if self.fails(made) is None and self.fails(made, whole=True) is None:
                    yield made

    def reordered(self, way: Way) -> Iterator[Way]:
        """Inputs of unlike shapes or dtypes in an order that the model takes."""
        kinds = {
            (str(getattr(x, "dtype", "")), getattr(x, "ndim", 0))
            for x in (evaluated(e, self.few) for _, e in way.arguments)
        }
        if len(kinds) < len(way.arguments):
            return  # alike, they run in any order
        for order in itertools.permutations(range(len(way.arguments))):
            if order == tuple(range(len(order))):
                continue
            names = tuple(way.names[k] for k in order)
            says = f"the inputs come in the order {', '.join(way.names)}, where the model takes {', '.join(names)}"
            told = (("key-missing", way.names[0], says),)
            other = replace(way, arguments=tuple(way.arguments[k] for k in order), names=names, told=told)
            if self.fails(other) is None and self.fails(other, whole=True) is None:
                yield other

    def with_keys(self, way: Way, error: Exception) -> Iterator[Way]:
        """For a model that looks a key up in the batch: the batch with another field under that key."""
        if not isinstance(error, KeyError) or "batch" not in way.names or not isinstance(self.few, Mapping):
            return
        missing: list[str] = [str(error.args[0])]
        while len(missing) <= 3:
            for added, told in self.keys_for(missing):
                made = Way(((None, f"{{**batch, {added}}}"),), ("batch",), way.target, told=told)
                found = self.fails(made)
                if found is None:
                    yield made
                    return
                if isinstance(found, KeyError) and str(found.args[0]) not in missing:
                    missing.append(str(found.args[0]))
                    break
            else:
                return

    def keys_for(self, missing: list[str]) -> Iterator[tuple[str, tuple[tuple[str, str, str], ...]]]:
        """Entries that might stand under the missing keys, and what they tell: what follows from the shape of a field that the model
        looks up, else other fields that it does not look up by their own names."""
        noted = Noting(self.few)
        with contextlib.suppress(Exception):  # the key is missing
            self.model(noted)
        fields = [n for n, v in self.few.items() if hasattr(v, "shape") and n not in missing]
        first = next((n for n in fields if n in noted.seen and self.few[n].ndim > 1), None)
        derived = [m for m in missing if m in DERIVED and first is not None]
        rest, spare = [m for m in missing if m not in derived], [n for n in fields if n not in noted.seen]
        for free in itertools.permutations(spare, len(rest)):
            pairs = list(zip(rest, free, strict=True))
            values = {m: DERIVED[m].replace("first.", f"batch[{first!r}].") for m in derived}
            values |= {m: f"batch[{f!r}]" for m, f in pairs}
            said = [(m, f"the model looks up {m!r}, which the batch lacks; it follows from the shape") for m in derived]
            said += [(f, f"the model looks up {m!r}; the batch has {f!r}") for m, f in pairs]
            yield ", ".join(f"{m!r}: {v}" for m, v in values.items()), tuple(("key-missing", n, s) for n, s in said)

    def further(self, way: Way, used: tuple[tuple[str, Mend], ...] = ()) -> Verdict:
        """What a call that runs still leaves wrong: ids of other samples, order of time, values, the target."""
        misfits = [Misfit(*told) for told in way.told]
        misfits += [Misfit(m.code, n, m.says + self.of_multiples(way, n, m)) for n, m in used]
        way, error = self.target_cut(way, used), None
        failed: list[str] = []
        for look in (
            self.all_ids,
            self.time_first,
            self.values,
            self.finite,
            self.broadcast,
            self.target,
            self.padding,
            self.silent,
        ):
            try:
                way, more, said = look(way)
            except Exception as e:  # it calls the user's model in other ways; that one runs is known
                failed.append(f"{look.__name__}: {in_short(e)}")
                continue
            misfits += more
            error = error or said
        told = next((m.says for m in misfits if m.field != TARGET and m.code != SCALE and not m.runs), None)
        return Verdict(way, tuple(misfits), error or told, self.whole_refused, self.all, unseen=tuple(failed))

    def of_multiples(self, way: Way, name: str, mend: Mend) -> str:
        """Whether a size that runs is one of multiples: the model takes the next smaller too, and it is not that the picture was small."""
        sides = OF_SIZE.search(mend.expression)
        if not mend.multiple or sides is None:
            return ""
        height, width = (int(side) - mend.multiple for side in sides.groups())
        smaller = mend.expression.replace(sides[0], f"size=({height}, {width})")
        of = tuple(smaller if m == mend.expression else m for m in way.mends[name])
        runs = min(height, width) > 0 and self.fails(replace(way, mends={**way.mends, name: of})) is None
        return f": it takes multiples of {mend.multiple}" if runs else ""

    def target_cut(self, way: Way, used: tuple[tuple[str, Mend], ...]) -> Way:
        """The way, with a target that is as long as an input cut as that is."""
        for name, mend in used:
            if way.target is None or not CUT.search(mend.expression):
                continue
            x = evaluated(next(e for (_, e), n in zip(way.arguments, way.names, strict=True) if n == name), self.few)
            y = evaluated(str(way.aim), self.few)
            if getattr(y, "ndim", 0) > 1 and y.shape[:2] == x.shape[:2]:
                return way.mended(TARGET, mend.expression)
        return way

    def limit(self, way: Way) -> None:
        """Cuts the batch, once, to what runs in a second or so, by the time of the few: a large model takes minutes over it."""
        if self.limited or not self.n or self.all <= self.n or self.run(way).error is not None:
            return
        self.limited = True
        rows = max(self.n, int(self.n * WHOLE_S / max(1e-9, self.run(way).seconds)))
        if rows == self.n:
            self.batch = self.few
        elif rows < self.all:
            self.batch = cut(self.batch, rows_of(self.batch, self.all, rows), self.all)
        self.all = min(rows, self.all)

    def target(self, way: Way) -> tuple[Way, list[Misfit], str | None]:
        """What cross-entropy, or a loss of one number a sample, would say to the target."""
        done = self.run(way, whole=True)
        return (way, [], None) if done.error is not None else of_loss(way, done.out, self.batch)

    def padding(self, way: Way) -> tuple[Way, list[Misfit], str | None]:
        """A mask that the model takes, and padding that changes its output without one."""
        done = self.run(way, whole=True)
        if done.error is not None or not self.n or time.monotonic() + TIMES * done.seconds > self.until:
            return way, [], None
        found = unmasked(self.model, way, self.batch)
        return (way, [], None) if found is None else (found[0], [found[1]], None)

    def silent(self, way: Way) -> tuple[Way, list[Misfit], str | None]:
        """What no call complains of: a mask the wrong way round, padding that counts as a token, a loss that is no number."""
        done = self.run(way, whole=True)
        if done.error is not None or not self.n:
            return way, [], None
        found = []
        for look in (inverted, another_padding) if time.monotonic() + TIMES * done.seconds < self.until else ():
            way, misfit = look(self.model, way, self.batch)
            found += [misfit] if misfit is not None else []
        loss = many_losses(self.model, way, self.batch, done.out, self.all)
        return way, [*found, *([loss] if loss is not None else [])], None

    def all_ids(self, way: Way) -> tuple[Way, list[Misfit], str | None]:
        """Runs the whole batch: what some samples hold may be refused though the few are not."""
        raised = self.fails(way, whole=True)
        self.whole_refused = raised is not None
        return way, [], None if raised is None else in_short(raised)

    def time_first(self, way: Way) -> tuple[Way, list[Misfit], str | None]:
        """A recurrent layer that takes [T, B, …] and is given [B, T, …] runs all the same, over the wrong dimension."""
        if not self.n or not self.crossed(way):
            return way, [], None
        for name in way.names:
            other = way.mended(name, "{x}.transpose(0, 1).contiguous()")
            if self.fails(other) is None and not self.crossed(other):
                said = "[B, T, …], where the layers take time first ([T, B, …]: batch_first is False)"
                return other, [Misfit("layout-mismatch", name, said)], None
        return way, [], None

    def crossed(self, way: Way) -> bool:
        """Whether such a layer gets the samples in its dimension of time."""
        from torch import nn

        got, _ = given_to(self.model, way, self.few, nn.RNNBase, nn.MultiheadAttention)
        shapes = [given[0].shape for m, given in got if getattr(m, "batch_first", None) is False and given]
        return any(len(shape) == 3 and shape[0] == self.n and shape[1] != self.n for shape in shapes)

    def values(self, way: Way) -> tuple[Way, list[Misfit], str | None]:
        """Pictures on another scale than the mean and std that the model declares."""
        mean, std = self.said.get("mean"), self.said.get("std")
        if not mean or not std:
            return way, [], None
        for (_, expression), name in zip(way.arguments, way.names, strict=True):
            x = evaluated(wrapped(expression, way.mends.get(name, ())), self.batch)
            if not hasattr(x, "is_floating_point") or not x.is_floating_point() or x.ndim < 3 or not x.numel():
                continue
            if is_fake(x):
                continue
            least, most = float(x.min()), float(x.max())
            low = min((0 - m) / s for m, s in zip(mean, std, strict=True))
            high = max((1 - m) / s for m, s in zip(mean, std, strict=True))
            slack = 0.05 * (high - low)
            inside = low - slack <= least and most <= high + slack
            if inside and (least < -slack or low > -slack):
                continue
            scale = " / 255" if most > 1.5 and least >= 0 else ""
            if not scale and not (least >= 0 and most <= 1.0 + 1e-6):
                known = ""  # on neither scale that a picture is stored in: no cure is known
            else:
                shape = f".view({', '.join(['-1', *['1'] * (x.ndim - 2)])})"
                known = f"({{x}}{scale} - torch.tensor({mean}){shape}) / torch.tensor({std}){shape}"
            says = f"values from {least:.3g} to {most:.3g}, where the model declares mean {mean} and std {std}:"
            says += f" {low:.3g} to {high:.3g}"
            other = way.mended(name, known) if known else way
            if self.fails(other) is None:
                return other, [Misfit(SCALE, name, says)], None
        return way, [], None

    def finite(self, way: Way) -> tuple[Way, list[Misfit], str | None]:
        """Finite values of which the model makes NaN or infinite ones, as attention does where a mask hides all of a sample."""
        given = [v for _, v in flat(self.batch) if hasattr(v, "is_floating_point") and not is_fake(v)]
        if not all(map(is_finite, given)) or self.makes_finite(way):
            return way, [], None
        for (_, expression), name in zip(way.arguments, way.names, strict=True):
            x = evaluated(wrapped(expression, way.mends.get(name, ())), self.batch)
            other = way.mended(name, "~{x}")
            if str(getattr(x, "dtype", "")) == "torch.bool" and self.makes_finite(other):
                says = "True where the model takes False: with this mask its output is NaN"
                return other, [Misfit(SCALE, name, says)], None
        says = "the model's output has NaN or infinite values, and the batch has none"
        return way, [Misfit(SCALE, way.names[0], says, cured=False)], None

    def makes_finite(self, way: Way) -> bool:
        """Whether the output for the whole batch is finite; also where it has no values, or there is none."""
        out = self.run(way, whole=True).out  # what the model raises is told elsewhere
        return all(is_finite(v) for _, v in flat(out) if hasattr(v, "is_floating_point") and not is_fake(v))

    def broadcast(self, way: Way) -> tuple[Way, list[Misfit], str | None]:
        """A loss within the model whose output and target are broadcast, [B, 1] with [B], is one over all pairs of samples."""
        if not self.broadcasts(way):
            return way, [], None
        says = "its shape is not that of the output: the loss broadcasts the two, over all pairs of samples"
        for (_, expression), name in zip(way.arguments, way.names, strict=True):
            x = evaluated(wrapped(expression, way.mends.get(name, ())), self.few)
            for mend in ("{x}.unsqueeze(1)", "{x}.squeeze(1)"):
                other = way.mended(name, mend)
                of_one = getattr(x, "ndim", 0) == 1 if "un" in mend else getattr(x, "ndim", 0) == 2 and x.shape[1] == 1
                if of_one and self.fails(other) is None and not self.broadcasts(other):
                    return other, [Misfit("shape-mismatch", name, says)], None
        return way, [Misfit("shape-mismatch", way.names[-1], says, cured=False)], None

    def broadcasts(self, way: Way) -> bool:
        """Whether one of torch's losses warns of it."""
        return any("different to the input size" in text for text in self.run(way).warned)


class Noting(dict[str, Any]):
    """A batch that notes which of its keys are looked up."""

    def __init__(self, of: Mapping[str, Any]) -> None:
        super().__init__(of)
        self.seen: set[str] = set()

    def __getitem__(self, key: str) -> Any:
        self.seen.add(key)
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        self.seen.add(key)
        return super().get(key, default)


def breaks_on_one(model: Any, way: Way, batch: Any, n: int = 0) -> bool:
    """Whether a batch of one sample fails in training mode, as batch normalisation does."""
    import torch

    try:
        model.train()
        called(model, way, cut(batch, torch.tensor([0]), n or samples_in(batch)))
    except ValueError as e:
        return "more than 1 value per channel" in str(e)
    except Exception:  # fails for another reason, which the check itself tells
        return False
    finally:
        model.eval()
    return False


def features_of(layer: Any) -> int:
    """The features that a layer gives, whatever it is given."""
    if hasattr(layer, "out_features"):
        return int(layer.out_features)
    if hasattr(layer, "normalized_shape"):
        return int(layer.normalized_shape[-1])
    return int((layer.proj_size or layer.hidden_size) * (2 if layer.bidirectional else 1))


def _of_range(said: str) -> bool:
    """Whether it is of ids or labels beyond what a model knows."""
    return "out of range" in said or "out of bounds" in said


def in_short(error: Exception | None) -> str | None:
    from dataloader_expert.sources.reference import Raised

    return None if error is None else str(Raised(error))
