"""Whether a model takes a batch: called with a real one, or, where it is too large, with one that has no values."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

from dataloader_expert.errors import RequestError, escaped
from dataloader_expert.facts import Fact, Json, Quantity, Unknown
from dataloader_expert.probes.base import Bench, Observation, Probe, evidence
from dataloader_expert.probes.batch_parts import flat
from dataloader_expert.probes.model.batch import SPREAD
from dataloader_expert.probes.model.calling import called, evaluated, few_of, given_to
from dataloader_expert.probes.model.declared import declared, of_parts
from dataloader_expert.probes.model.empty_model import faked, made_empty, parameter_bytes, step_bytes
from dataloader_expert.probes.model.expected import expects
from dataloader_expert.probes.model.feeding import given_batch, known
from dataloader_expert.probes.model.growth import GROWTH, Growth
from dataloader_expert.probes.model.lazy import is_lazy, settled
from dataloader_expert.probes.model.mends import column_of, is_fake
from dataloader_expert.probes.model.misfits import breaks_on_one, judged
from dataloader_expert.probes.model.spec import leaves, of_batch, of_input, to_json
from dataloader_expert.probes.model.unscaled import scales_pictures, unscaled
from dataloader_expert.probes.model.verdict import Verdict
from dataloader_expert.probes.model.ways import TARGET, Way, accessors, ways, wrapped
from dataloader_expert.probes.serving import serving

MODEL = Quantity(
    "model_check", "", "whether the model accepts a batch: what it expects, what it got, what differs, the fix"
)
SPEC = Quantity(
    "batch_structure", "", "the batch as nested tensors: dtype, shape with its largest dimensions, range of values"
)
REAL_SHARE = 0.2
"""The share of the memory allowed up to which a model is made for real."""
SEARCH_SHARE = 0.3
"""The share of the time left for finding a change under which the model runs, which is what was asked."""
FAR_SHARE = 0.05
"""The share of the time left for reading samples unlike the others."""


@dataclass(frozen=True)
class ModelCheck(Probe):
    """Calls the user's model with a batch; finds the change under which it runs."""

    name: ClassVar[str] = "model"
    doing: ClassVar[str] = "feeding a batch to the model"
    of_model: ClassVar[bool] = True
    model: str = ""
    model_args: Any = None
    batch_size: int | None = None
    input: Any = None
    """A description of the batch, in place of a source."""

    def ready(self, bench: Bench) -> None:
        known(self.model, bench)

    def measure(self, bench: Bench) -> Iterable[Observation]:
        batch, n = given_batch(bench, self.batch_size, self.input)
        make = with_sizes(maker(self.model, self.model_args, bench.ref.roots), batch, n, bench.source.label)
        growth = {name: Growth.from_json(how) for name, how in bench.facts.value(GROWTH, {}).items()}
        yield Fact(SPEC, to_json(of_batch(batch, n, growth)), evidence("sampled", "model", seen=n))
        try:
            empty = made_empty(make)
            size, step = parameter_bytes(empty), step_bytes(empty)
        except RequestError as e:
            yield Fact(MODEL, {**NOT_MADE, "error": e.message}, evidence("probed", "model", seen=1))
            return
        real = size <= REAL_SHARE * bench.limit_bytes
        if real:
            model, context = make(), nullcontext()
        else:
            model, context, batch = without_values(make, batch)
        with context:
            said = declared(model, self.model_args)
            verdict = self.judged(bench, model, batch, said, n)
            if real and self.input is None and (verdict.accepted or any(m.code in OF_RANGES for m in verdict.misfits)):
                verdict = self.of_far_samples(bench, model, verdict, said, n)
            ones = verdict.way is not None and breaks_on_one(model, verdict.way, batch, n)
            codes = looked_up(model, verdict.way, batch) if verdict.way is not None else []
        value = told(verdict, model, batch, n)
        value |= {"declared": said, "breaks_on_one": ones, "ran": "real" if real else "without values", "bytes": size}
        value["step_bytes"] = step
        value["codes"] = codes
        value["inputs"] = None if verdict.way is None else inputs_of(verdict.way, batch)
        value["unscaled"] = list[Json]()
        if real and verdict.way is not None:
            with suppress(Exception):  # it calls the user's model in other ways
                value["unscaled"] = [*unscaled(model, verdict.way, batch)]
                scale = said or of_parts(model)
                if scale is not None and scales_pictures(model, verdict.way, batch):
                    value["declared"] = {**scale, "within": True}
        value["only"] = verdict.only
        yield Fact(MODEL, value, evidence("probed", "model", seen=verdict.samples or n))
        for look in verdict.unseen:
            what, _, why = look.partition(": ")
            yield Unknown(f"model_check: {what}", f"{why}; {OWN_CALL}")

    def judged(self, bench: Bench, model: Any, batch: Any, said: Any, n: int) -> Verdict:
        chosen = bench.ref.columns is not None
        guessed = bench.source.label_how.startswith("guessed")
        own = bench.source.format in ("reference", "input")
        stored = {} if own else {f.name: f.kind for f in bench.source.fields if f.kind in ("image", "audio")}
        seconds = SEARCH_SHARE * bench.left()
        described = None if self.input is None else leaves(of_input(self.input))
        drawn = None if described is None else frozenset(name for name, leaf in described if leaf.low is None)
        return judged(model, batch, bench.source.label, said, seconds, stored, n, chosen, guessed, drawn)

    def of_far_samples(self, bench: Bench, model: Any, verdict: Verdict, said: Any, n: int) -> Verdict:
        """The verdict, with what the model refuses of the longest and the odd samples and of those with the largest and least
        numbers. All are in one batch, for the range of ids; a model may take batches of ``n`` only, and then gets these."""
        n = max(n, 1)
        far = bench.facts.value(SPREAD, {}).get("far") or []
        affordable = min(len(far), FAR_SHARE * bench.left() / (bench.fitted_s or 1e-3))
        far = far[: max(n, int(affordable))]
        together = self.of_samples(bench, model, verdict, said, far, n)
        of_ranges = not together.refused and all(m.code in OF_RANGES for m in together.misfits)
        if len(far) <= n or together is verdict or of_ranges:
            return together
        for first in range(0, len(far), n):
            alone = self.of_samples(bench, model, verdict, said, far[first : first + n], n)
            if alone is not verdict:
                return alone
        return verdict

    def of_samples(self, bench: Bench, model: Any, verdict: Verdict, said: Any, far: list[int], n: int) -> Verdict:
        """The verdict, with what the model refuses of a batch of these samples, filled up to ``n``; itself if that is nothing."""
        from dataloader_expert.loaders.building import plain

        if not far:
            return verdict
        served = serving(bench, self.batch_size, 0)
        others = (i for i in range(len(served.dataset)) if i not in far)
        chosen = [*far, *itertools.islice(others, max(0, n - len(far)))]
        try:
            batch = next(iter(plain(served.dataset, served.collate, batch_sampler=[chosen])))
        except Exception:  # of the user's collate function or dataset: other probes tell
            return verdict
        other = self.judged(bench, model, batch, said, len(chosen))
        # one batch does not tell the range of ids and labels
        fields = {m.field for m in verdict.misfits if m.code in OF_RANGES}
        again = other.way is not None and {m.field for m in other.misfits if m.code in OF_RANGES} >= fields
        if not verdict.accepted or (fields and again):
            return other if again else verdict
        known = {(m.code, m.field) for m in verdict.misfits}
        where = f" (in a batch of samples {', '.join(map(str, far[:4]))})"
        more = tuple(replace(m, says=m.says + where) for m in other.misfits if (m.code, m.field) not in known)
        if other.way is None:
            return replace(verdict, error=f"{other.error}{where}", refused=True)
        return replace(other, misfits=(*verdict.misfits, *more)) if more else verdict


OWN_CALL = "call the model with one batch and look at that yourself"
OF_RANGES = ("out-of-range-ids", "label-out-of-range")
"""Misfits whose cure depends on the least and the largest value of all samples."""
NOT_MADE: dict[str, Json] = {
    "accepted": False, "expected": "unknown: it was not made", "got": {}, "fed": "nothing: the model could not be made",
    "misfits": [], "call": None, "cure": None, "declared": None, "breaks_on_one": False, "ran": "not made", "bytes": 0,
    "step_bytes": [0, 0], "codes": [], "inputs": None, "unscaled": [], "only": None,
}  # fmt: skip
"""What a fact says of a model that could not be made."""


def maker(model: str, args: Any, roots: tuple[str, ...]) -> Callable[[], Any]:
    """Makes the model.

    Raises:
        RequestError: of its call, if making it raises or gives no ``nn.Module``.
    """
    from dataloader_expert.sources.reference import load

    def make() -> Any:
        made = load(model, dict(args or {}), roots, "model_args")
        if not hasattr(made, "parameters") or not callable(made):
            raise RequestError(
                "dataset-raised", f"{escaped(model)} gives an object of type {type(made).__name__}, no torch.nn.Module"
            )
        return made

    return make


def with_sizes(make: Callable[[], Any], batch: Any, n: int, label: str | None) -> Callable[[], Any]:
    """Makes the model, whose lazy layers take their sizes from the batch."""

    def call(model: Any, way: Way) -> Any:
        return called(model, way, few_of(batch, n)[0])

    def made() -> Any:
        model = make()
        if not is_lazy(model):
            return model
        return settled(model, [partial(call, way=way) for way in ways(model, few_of(batch, n)[0], label)])

    return made


def told(verdict: Verdict, model: Any, batch: Any, n: int) -> dict[str, Json]:
    """The verdict as a fact's value."""
    got = {name: _words(v) for name, v in flat(batch, n=n)}
    fed = "nothing: no way to call it was found"
    if verdict.way is not None:
        fed = "; ".join(_fed(verdict.way, i) for i in range(len(verdict.way.arguments)))
    code = None if verdict.way is None else verdict.way.code().splitlines()  # a fact's strings are of one line
    return {
        "accepted": verdict.accepted,
        "expected": expects(model, verdict.way or verdict.tried, batch, n),
        "got": got,
        "fed": fed,
        "error": None if verdict.accepted else verdict.error,
        "misfits": [
            {
                "code": m.code,
                "field": "the target" if m.field == TARGET else m.field,
                "says": m.says,
                "cured": m.cured,
                "runs": m.runs,
                "fix": m.fix,
            }
            for m in verdict.misfits
        ],
        "call": code,
        "cure": code
        if any(m.cured for m in verdict.misfits) or (verdict.way is not None and verdict.way.mends)
        else None,
    }


def _fed(way: Way, i: int) -> str:
    (parameter, expression), name = way.arguments[i], way.names[i]
    said = wrapped(expression, way.mends.get(name, ()))
    said = said if len(said) <= 200 else said[:199] + "…"
    return f"{parameter}={said}" if parameter else said


def _words(value: Any) -> str:
    if isinstance(value, list | tuple) and value and hasattr(value[0], "shape"):
        return f"{type(value).__name__} of {_words(value[0])}"
    dtype = str(getattr(value, "dtype", type(value).__name__)).removeprefix("torch.")
    return f"{dtype}{list(value.shape) if hasattr(value, 'shape') else ''}"


def without_values(make: Any, batch: Any) -> tuple[Any, Any, Any]:
    """The model and batch as fake tensors, whose layers refuse other dtypes as real ones do."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.utils._pytree import tree_map

    mode = FakeTensorMode(allow_non_fake_inputs=True)
    model = made_empty(make)
    with mode:
        faked(model)
    batch = tree_map(lambda v: mode.from_tensor(v) if isinstance(v, torch.Tensor) and not is_fake(v) else v, batch)

    def strict(module: Any, given: Any) -> None:
        x, weight = given[0] if given else None, getattr(module, "weight", None)
        if not isinstance(x, torch.Tensor) or not isinstance(weight, torch.Tensor):
            return
        if isinstance(module, torch.nn.Embedding | torch.nn.EmbeddingBag):
            if x.is_floating_point():
                raise TypeError(f"{type(module).__name__} takes integers; the dtype given is {x.dtype}")
        elif x.dtype != weight.dtype:
            raise TypeError(f"{type(module).__name__} expected dtype {weight.dtype} but the input has {x.dtype}")

    for module in model.modules():
        module.register_forward_pre_hook(strict)
    return model, mode, batch


def looked_up(model: Any, way: Way, batch: Any) -> list[Json]:
    """The fields whose values the model looks up in its tables, whole or column by column, and a target of classes: they are ids, and
    no measures."""
    import torch

    batch, _ = few_of(batch)
    got, _ = given_to(model, way, batch, torch.nn.Embedding, torch.nn.EmbeddingBag)
    ids = [tensor for _, given in got for tensor in given]
    found: list[Json] = []
    for (_, expression), name in zip(way.arguments, way.names, strict=True):
        x = evaluated(wrapped(expression, way.mends.get(name, ())), batch) if ids else None
        if not isinstance(x, torch.Tensor) or x.is_floating_point() or is_fake(x):
            continue
        if any((x.shape == t.shape and torch.equal(x, t)) or column_of(x, t) is not None for t in ids):
            found.append(name)
    for name, expression in accessors(batch).items():
        y = evaluated(expression, batch) if expression == way.target else None
        if isinstance(y, torch.Tensor) and not y.is_floating_point() and name not in found:
            found.append(name)  # classes
    return found


def inputs_of(way: Way, batch: Any) -> list[Json] | None:
    """The fields that the model is fed, without its targets; None: it is fed the batch, or parts of it, whole."""
    fields = accessors(batch)
    fed = [(name, expression) for (_, expression), name in zip(way.arguments, way.names, strict=True)]
    if not way.columns and any(e.startswith(("batch", "{")) and name not in fields for name, e in fed):
        return None
    names = [name for name, e in fed if name in fields and e != way.target and name not in way.labels]
    return [*names, *way.columns]


PROBES = (ModelCheck,)
