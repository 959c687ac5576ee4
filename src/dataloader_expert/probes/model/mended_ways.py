"""Ways to call a model that refuses a batch: with fields mended, swapped, reordered, sorted, or under the keys that it looks up."""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from dataloader_expert.probes.model.attempt import Attempt
from dataloader_expert.probes.model.calling import evaluated, given_to
from dataloader_expert.probes.model.mends import OF_TARGET, Lookup, Mend, column_of, is_fake, mends
from dataloader_expert.probes.model.padding_id import padding_id
from dataloader_expert.probes.model.partners import alike
from dataloader_expert.probes.model.resizing import OF_SIZE
from dataloader_expert.probes.model.unsigned import is_unsigned
from dataloader_expert.probes.model.ways import (
    DENSE,
    DERIVED,
    TARGET,
    Way,
    accessors,
    derivation,
    keeps_names,
    parameters,
    wrapped,
)

OF_ORDER = re.compile(r"enforce_sorted|sorted in decreasing order")
"""What torch says to lengths that do not descend."""
OF_CAST = re.compile(r"result type \w+ can't be cast to the desired output type")
"""What torch says to whole numbers in the place of floats, such as the target of binary cross-entropy."""
UNSORTED = (
    "lengths in no order, where the model packs sequences in descending order; pass enforce_sorted=False to "
    "pack_padded_sequence in the model, or sort each batch"
)
MOST_ORDERED = 3
"""Inputs that are tried in other orders."""
MOST_PARTS = 5
"""Parts of a batch that are tried as inputs."""


def with_mends(attempt: Attempt, way: Way, depth: int) -> Iterator[tuple[Way, tuple[tuple[str, Mend], ...]]]:
    """The way with so many mends, each of another step of its field."""
    if depth == 0:
        yield way, ()
        return
    for inner, used in with_mends(attempt, way, depth - 1):
        said = attempt.said_to.get(inner.code(), "")
        fields = list(zip((e for _, e in way.arguments), way.names, strict=True))
        if "target" in said.lower():  # it is a loss within the model that complains
            fields.sort(key=lambda field: field[1] not in (*way.labels, *DENSE))
        if OF_CAST.search(said):  # whole numbers where floats are calculated with
            fields.sort(key=lambda field: evaluated(field[0], attempt.few).is_floating_point())
        if OF_TARGET.search(said) and way.labels:
            fields = [field for field in fields if field[1] in way.labels]
        refused = refused_ids(attempt, inner) if "out of range" in said else None
        blamed = {} if refused is None else places_of(attempt, inner, refused[1])
        for expression, name in fields:
            if blamed and name not in blamed:
                continue  # its ids are not those that a table refused
            # which classes and ids there are, few samples do not tell
            batch = (
                attempt.batch if "target" in said.lower() or OF_TARGET.search(said) or of_range(said) else attempt.few
            )
            mended = wrapped(expression, inner.mends.get(name, ()))
            try:
                x = evaluated(mended, batch)
            except Exception:  # a mend that the tensor itself refuses
                continue
            if not hasattr(x, "is_floating_point"):
                continue
            taken = {m.step for n, m in used if n == name}
            if inner.columns or (x.ndim == 1 and any(way.columns for way in attempt.ways)):
                taken.add("shape")  # no column of a table is the input alone
            table = (
                None if refused is None else Lookup(refused[0].num_embeddings, blamed.get(name), unknown_id(refused[0]))
            )
            pictures, asserted = evaluated(expression, batch).ndim == 4, inner.code() in attempt.asserted
            for mend in mends(x, attempt.want, said, table, pictures, asserted):
                sample = mend.expression.endswith(".unsqueeze(0)") and not attempt.alone
                if mend.step not in taken and not sample:
                    told = (*used, (name, mend))
                    if (together := resized_alike(attempt, inner, name, x, mend.expression)) is not None:
                        yield together, told
                    yield inner.mended(name, mend.expression), told


def resized_alike(attempt: Attempt, way: Way, name: str, x: Any, mend: str) -> Way | None:
    """The way with a field resized, and with it what is fed beside it and is of the same pixels, such as its mask; None: nothing is."""
    made = alone = way.mended(name, mend)
    for (_, expression), other in zip(way.arguments, way.names, strict=True) if OF_SIZE.search(mend) else ():
        y: Any = evaluated(wrapped(expression, way.mends.get(other, ())), attempt.few) if other != name else None
        change = alike(mend, x, y) if hasattr(y, "is_floating_point") and not is_fake(y) else None
        made = made if change is None else made.mended(other, change)
    return None if made is alone else made


def mended_alike(attempt: Attempt, way: Way) -> Iterator[tuple[Way, tuple[tuple[str, Mend], ...]]]:
    """The way with one mend of all fields that it may make fit: what laid one of them out wrongly did so to its like."""
    fields: dict[str, dict[str, Mend]] = {}
    for _, [(name, mend)] in with_mends(attempt, way, 1):
        fields.setdefault(mend.expression, {})[name] = mend
    for expression, alike in fields.items():
        if len(alike) > 1:
            made = way
            for name in alike:
                made = made.mended(name, expression)
            yield made, tuple(alike.items())


def refused_ids(attempt: Attempt, way: Way) -> tuple[Any, Any] | None:
    """The table at which the call fails, and the ids that it was given; None where it fails of something else."""
    from torch import nn

    got, error = given_to(attempt.model, way, attempt.few, nn.Embedding, nn.EmbeddingBag)
    table, given = got[-1] if got and error is not None else (None, [])
    return (table, given[0]) if table is not None and given else None


def unknown_id(table: Any) -> int:
    """The first id that is not that of the padding: unknown ids are no padding."""
    return int(table.padding_idx == 0 and table.num_embeddings > 1)


def places_of(attempt: Attempt, way: Way, ids: Any) -> dict[str, int | None]:
    """The fields that these ids are, each with the column that they are (None: all of it); empty if the model made them of something
    else."""
    found: dict[str, int | None] = {}
    for (_, expression), name in zip(way.arguments, way.names, strict=True):
        x: Any = evaluated(wrapped(expression, way.mends.get(name, ())), attempt.few)
        if not hasattr(x, "is_floating_point") or is_fake(x) or is_unsigned(x):
            continue
        if x.shape == ids.shape and bool((x == ids).all()):
            found[name] = None
        elif (column := column_of(x, ids)) is not None:
            found[name] = column
    return found


def swapped(attempt: Attempt) -> Iterator[Way]:
    """Where ids lie beyond a table: two arguments of ids, swapped, if the model takes them so."""
    known = [p for names in parameters(attempt.model)[:2] for p in names]
    for way in attempt.ways:
        if 1 < len(way.arguments) <= MOST_ORDERED and all(p is None for p, _ in way.arguments):
            yield from reordered(attempt, way)
        if "index out of range" not in attempt.said_to.get(way.code(), ""):
            continue
        kinds = [evaluated(e, attempt.few) for _, e in way.arguments]
        for i, j in itertools.combinations(range(len(kinds)), 2):
            one, two = kinds[i], kinds[j]
            if not all(hasattr(x, "is_floating_point") and not x.is_floating_point() for x in (one, two)):
                continue
            if one.shape != two.shape:
                continue
            order = [*range(len(kinds))]
            order[i], order[j] = j, i
            arguments = tuple((p, way.arguments[k][1]) for (p, _), k in zip(way.arguments, order, strict=True))
            names = tuple(way.names[k] for k in order)
            says = f"fields {way.names[i]} and {way.names[j]} are swapped: the model takes {way.names[j]} first"
            other = replace(way, arguments=arguments, names=names, told=(("key-missing", way.names[i], says),))
            if keeps_names(other, known) and attempt.fails(other) is None and attempt.fails(other, whole=True) is None:
                yield other


def reordered(attempt: Attempt, way: Way) -> Iterator[Way]:
    """Inputs of unlike shapes or dtypes in an order that the model takes."""
    kinds = {
        (str(getattr(x, "dtype", "")), getattr(x, "ndim", 0))
        for x in (evaluated(e, attempt.few) for _, e in way.arguments)
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
        if attempt.fails(other) is None and attempt.fails(other, whole=True) is None:
            yield other


def other_parts(attempt: Attempt) -> Iterator[Way]:
    """Of a batch of several parts, others than the first ones, in their order, if the model takes these and no others: what stands between
    its inputs is the target."""
    if not isinstance(attempt.few, list | tuple):
        return
    parts = accessors(attempt.few)
    for way in attempt.ways:
        k = len(way.arguments)
        if not 2 <= k < len(parts) <= MOST_PARTS or any(
            p is not None or n not in parts for (p, _), n in zip(way.arguments, way.names, strict=True)
        ):
            continue
        first, *rest = parts
        runs = []
        for chosen in itertools.combinations(rest, k - 1):
            names = (first, *chosen)
            left = [n for n in parts if n not in names]
            says = f"the model takes parts {', '.join(names)} of the batch, not the first {k}"
            other = (
                replace(
                    way,
                    arguments=tuple((None, parts[n]) for n in names),
                    names=names,
                    target=parts[left[0]] if len(left) == 1 else None,
                    told=(("key-missing", next(n for n in names if n not in way.names), says),),
                )
                if names != way.names
                else None
            )
            if other is not None and attempt.fails(other) is None and attempt.fails(other, whole=True) is None:
                runs.append(other)
        if len(runs) == 1:
            yield runs[0]


def by_length(attempt: Attempt) -> Iterator[Way]:
    """Samples sorted by their lengths, where a recurrent layer packs them as if they were."""
    for way in attempt.ways:
        if not OF_ORDER.search(attempt.said_to.get(way.code(), "")):
            continue
        fields = {n: (e, evaluated(e, attempt.few)) for (_, e), n in zip(way.arguments, way.names, strict=True)}
        if not all(hasattr(x, "ndim") and x.ndim and len(x) == attempt.n for _, x in fields.values()):
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
            if attempt.fails(made) is None and attempt.fails(made, whole=True) is None:
                yield made


OF_KEYS = re.compile(r"indices must be integers|too many indices for tensor|only integers, slices")
"""What lists and tensors say to a key."""


def under_keys(attempt: Attempt) -> Iterator[Way]:
    """For a model that looks keys up in its one argument: the parts of a batch that has none, under these keys, also under those that it
    only asks for, as for labels."""
    parts, alone = accessors(attempt.few), len(parameters(attempt.model)[0]) == 1
    said = any(OF_KEYS.search(text) for text in attempt.said_to.values())
    if not said or not alone or isinstance(attempt.few, Mapping) or len(parts) > MOST_PARTS:
        return
    target = next((way.target for way in attempt.ways), None)
    for order in itertools.permutations(parts):
        under: dict[str, str] = {}
        runs: Way | None = None
        while len(under) < len(order):
            noted = Noting({key: evaluated(parts[name], attempt.few) for key, name in under.items()})
            with contextlib.suppress(Exception):  # a key is missing
                attempt.model(noted)
            key = next((key for key in noted.seen if key not in under), None)
            if key is None:
                break
            under[key] = order[len(under)]
            entries = ", ".join(f"{key!r}: {parts[name]}" for key, name in under.items())
            says = "the model looks up {!r} in a dict, but the batch has no keys: return a dict from the dataset"
            told = tuple(("key-missing", name, says.format(key)) for key, name in under.items())
            made = Way(((None, f"{{{entries}}}"),), ("batch",), target, told=told)
            runs = made if attempt.fails(made) is None else runs
        if runs is not None:
            yield runs
            return


def with_keys(attempt: Attempt, way: Way, error: Exception) -> Iterator[Way]:
    """For a model that looks a key up in the batch: the batch with another field under that key."""
    if not isinstance(error, KeyError) or "batch" not in way.names or not isinstance(attempt.few, Mapping):
        return
    missing: list[str] = [str(error.args[0])]
    while len(missing) <= 3:
        for added, told in keys_for(attempt, missing):
            made = Way(((None, f"{{**batch, {added}}}"),), ("batch",), way.target, told=told)
            found = attempt.fails(made)
            if found is None:
                yield made
                return
            if isinstance(found, KeyError) and str(found.args[0]) not in missing:
                missing.append(str(found.args[0]))
                break
        else:
            return


def keys_for(attempt: Attempt, missing: list[str]) -> Iterator[tuple[str, tuple[tuple[str, str, str], ...]]]:
    """Entries that might stand under the missing keys, and what they tell: what follows from the shape of a field that the model
    looks up, else other fields that it does not look up by their own names."""
    noted = Noting(attempt.few)
    with contextlib.suppress(Exception):  # the key is missing
        attempt.model(noted)
    fields = [n for n, v in attempt.few.items() if hasattr(v, "shape") and n not in missing]
    first = next((n for n in fields if n in noted.seen and attempt.few[n].ndim > 1), None)
    derived = [m for m in missing if m in DERIVED and first is not None]
    rest, spare = [m for m in missing if m not in derived], [n for n in fields if n not in noted.seen]
    for free in itertools.permutations(spare, len(rest)):
        pairs = list(zip(rest, free, strict=True))
        made = {m: derivation(m, padding_id(attempt.model, attempt.few[first])) for m in derived}
        values = {m: re.sub(r"\bfirst\b", f"batch[{first!r}]", how) for m, (how, _) in made.items()}
        values |= {m: f"batch[{f!r}]" for m, f in pairs}
        said = [
            (m, f"the model looks up {m!r}, which the batch lacks; it follows from the {made[m][1]}") for m in derived
        ]
        said += [(f, f"the model looks up {m!r}; the batch has {f!r}") for m, f in pairs]
        yield ", ".join(f"{m!r}: {v}" for m, v in values.items()), tuple(("key-missing", n, s) for n, s in said)


class Noting(dict[str, Any]):
    """A batch that notes which of its keys are looked up, in order."""

    def __init__(self, of: Mapping[str, Any]) -> None:
        super().__init__(of)
        self.seen: dict[str, None] = {}

    def __getitem__(self, key: str) -> Any:
        self.seen[key] = None
        return super().__getitem__(key)

    def __contains__(self, key: object) -> bool:
        self.seen[str(key)] = None
        return super().__contains__(key)

    def get(self, key: str, default: Any = None) -> Any:
        self.seen[key] = None
        return super().get(key, default)


def of_range(said: str) -> bool:
    """Whether it is of ids or labels beyond what a model knows."""
    return "out of range" in said or "out of bounds" in said
