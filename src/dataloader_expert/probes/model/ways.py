"""How a batch reaches a model: which field becomes which argument, as code that anyone can run."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dataloader_expert.errors import listed
from dataloader_expert.probes.batch_parts import flat
from dataloader_expert.probes.model.padding_id import padding_id

BY_KEYWORD = {"pixel_values", "input_ids", "input_values", "input_features", "inputs_embeds"}
"""Arguments of Hugging Face's models, which its trainer passes by name."""
TARGETS = ("label", "labels", "target", "targets", "y")
COLUMNS = "columns"
"""The name under which a table's columns stand that are fed as one tensor."""
DENSE = ("mask", "masks", "segmentation", "depth")
"""Names of what a model predicts for each pixel, if it does not ask for it."""


@dataclass(frozen=True)
class Way:
    """``arguments``: pairs of a parameter (None: positional) and an expression of ``batch``; ``mends`` wrap them.

    ``names``: the fields that the expressions read, in the same order.
    """

    arguments: tuple[tuple[str | None, str], ...]
    names: tuple[str, ...]
    target: str | None = None
    mends: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By field, expressions of ``x`` applied in turn."""
    told: tuple[tuple[str, str, str], ...] = ()
    """What is unlike a plain call: code, field, and what is the matter."""
    columns: tuple[str, ...] = ()
    """Of a table, the fields that are fed as one tensor."""
    guessed: bool = False
    """Whether only its place says that the target is one."""
    partners: tuple[tuple[str, str], ...] = ()
    """Fields that are not fed and that a mend changes too, each with an expression of the batch: ``target`` gives them where no target is
    known."""

    def mended(self, name: str, expression: str) -> Way:
        return replace(self, mends={**self.mends, name: (*self.mends.get(name, ()), expression)})

    @property
    def labels(self) -> tuple[str, ...]:
        """The fields that the model is given as its targets."""
        pairs = zip(self.arguments, self.names, strict=True)
        return tuple(name for (p, _), name in pairs if p in TARGETS or name in TARGETS)

    @property
    def aim(self) -> str | None:
        """The target as ``adapt`` leaves it, where the model is given it too."""
        if self.target is None:
            return None
        own = (name for (_, given), name in zip(self.arguments, self.names, strict=True) if given == self.target)
        return wrapped(self.target, self.mends.get(next(own, ""), ()))

    def code(self) -> str:
        """Lines that define ``adapt(batch)``, which gives the model's arguments, and its target where there is one."""
        lines = ["import torch", "", "", "def adapt(batch):"]
        given: list[tuple[str | None, str]] = []
        for (parameter, expression), name in zip(self.arguments, self.names, strict=True):
            variable = parameter or (name if name.isidentifier() else "batch")
            variable = f"x{len(given)}" if variable == "batch" else variable  # the argument of adapt
            lines.append(f"    {variable} = {wrapped(expression, self.mends.get(name, ()))}")
            given.append((parameter, variable))
        positional = "".join(f"{v}, " for p, v in given if p is None)
        keywords = ", ".join(f'"{p}": {v}' for p, v in given if p is not None)
        lines.append(f"    return ({positional.rstrip() if positional else ''}), {{{keywords}}}")
        lines += ["", "", "def target(batch):"]
        wanted = "None" if self.aim is None else wrapped(self.aim, self.mends.get(TARGET, ()))
        if self.aim is None and self.partners:
            entries = ", ".join(f"{name!r}: {made}" for name, made in self.partners)
            wanted = self.partners[0][1] if len(self.partners) == 1 else f"{{{entries}}}"
        return "\n".join([*lines, f"    return {wanted}", ""])


TARGET = "(target)"
"""The name under which the mends of the loss's target stand."""


def wrapped(expression: str, mends: tuple[str, ...]) -> str:
    for mend in mends:
        expression = mend.replace("{x}", expression)
    return expression


def functions(code: str) -> tuple[Any, Any]:
    """``adapt`` and ``target`` as the code defines them: our own templates over expressions that we wrote."""
    space: dict[str, Any] = {}
    exec(compile(code, "<adapt>", "exec"), space)
    return space["adapt"], space["target"]


def accessors(batch: Any, expression: str = "batch", name: str = "") -> dict[str, str]:
    """Expressions for the batch's leaves by the names that ``flat`` gives them."""
    if isinstance(batch, Mapping):
        items = [(str(k), v, f"{expression}[{k!r}]") for k, v in batch.items()]
    elif isinstance(batch, tuple) and hasattr(batch, "_fields"):
        items = [(k, getattr(batch, k), f"{expression}.{k}") for k in batch._fields]
    elif hasattr(batch, "__dataclass_fields__"):
        items = [(k, getattr(batch, k), f"{expression}.{k}") for k in batch.__dataclass_fields__]
    elif isinstance(batch, list | tuple) and len(flat(batch)) > 1:
        items = [(str(i), v, f"{expression}[{i}]") for i, v in enumerate(batch)]
    elif isinstance(batch, list | tuple) and len(batch) == 1 and hasattr(batch[0], "shape"):
        items = [("0", batch[0], f"{expression}[0]")]
    else:
        return {name or "data": expression}
    out: dict[str, str] = {}
    for key, value, inner in items:
        out |= accessors(value, inner, f"{name}.{key}" if name else key)
    return out


def ways(
    model: Any, batch: Any, label: str | None, chosen: bool = False, guessed: bool = False, samples: int = 0
) -> list[Way]:
    """The ways to call the model with this batch, the most usual first; those that a plain loop would not know are told.

    ``chosen``: the user named the fields, so that one that looks like a target is an input; ``guessed``: only its place says that
    ``label`` is the label; ``samples``: those of the batch, of which a list with an entry for each is one field, and no entry of it is.
    """
    import torch

    where = accessors(batch)
    tensors = {n: v for n, v in flat(batch) if isinstance(v, torch.Tensor) and n in where}
    aim = label if label in tensors else next((n for n in TARGETS if n in tensors), None)
    if aim is None and isinstance(batch, Mapping):
        asked = {p for names in parameters(model)[:2] for p in names}
        aim = next(
            (n for n in DENSE if n in tensors and n not in asked and len(tensors) > 1 and tensors[n].ndim > 2), None
        )
    said = any(of_texts(v) for _, v in flat(batch))
    if aim is None and label is None and not isinstance(batch, Mapping) and len(tensors) > (not said):
        aim, guessed = last_target(tensors), len(tensors) > 2  # of (x, y) it is certain
    if len(tensors) == 1 and not said:
        aim = None
    needed, optional, anything = parameters(model)
    inputs = [n for n in tensors if n != aim and not n.endswith("_lengths")] or list(tensors)[:1]
    if said and (len(needed) == 1 or hasattr(model, "main_input_name")) and takes_ids(model):
        inputs = [n for n in inputs if n != aim and tensors[n].ndim > 1]  # no text is one number
    target = None if aim is None else where[aim]
    if isinstance(batch, Mapping):
        main = main_input(model, optional, batch)
        needed, optional = [*main, *needed], [p for p in optional if p not in main]
    found: list[Way] = []
    if isinstance(batch, Mapping) and takes_keywords(model) and all(n.isidentifier() for n in tensors):
        named = ([*tensors], [n for n in tensors if n != aim])  # it may refuse the label
        found += [Way(tuple((n, where[n]) for n in names), tuple(names), target) for names in named]
    if isinstance(batch, Mapping):
        whole = [p for p in (*needed, *optional) if p in batch]
        if all(p in batch for p in needed) and any(p not in tensors for p in whole):  # nested: each entry as it is
            found.append(Way(tuple((p, f"batch[{p!r}]") for p in whole), tuple(whole), target))
        known = [p for p in (*needed, *optional) if p in tensors]
        if known and all(p in tensors for p in needed):
            found.append(Way(tuple((p, where[p]) for p in known), tuple(known), target))
    by_name = isinstance(batch, Mapping) and (
        len(needed) > 1 or bool(BY_KEYWORD & set(needed)) or hasattr(model, "main_input_name")
    )
    every = [*needed, *(p for p in optional if p in BY_KEYWORD - {"inputs_embeds"})]
    if by_name:
        own = (
            [aim] if aim is not None and any(p in TARGETS and p not in tensors for p in needed) else []
        )  # it makes the loss
        for wanted in (needed, *([every] if every != needed else [])):
            made = renamed(wanted, optional, [*inputs, *own], tensors, where, None if own else target, model)
            made = [way for way in made if not own or not misplaced(way, own[0])]
            fuller = (beside(way, optional, tensors, where, aim) for way in made if not own)
            found += [*filter(None, fuller), *made]
    if not by_name and inputs:
        found += partly_named(needed, optional, tensors, where, aim) if isinstance(batch, Mapping) else []
        for n in dict.fromkeys([len(needed) or 1, 1, len(inputs)]):
            if n == len(inputs) and len(needed) <= n:
                names = (*TARGETS, *(DENSE if aim is not None and tensors[aim].ndim > 2 else ()))  # of pixels
                found += with_target([*needed, *optional], inputs, where, aim, names)
            if len(needed) <= n <= len(inputs) and (n <= len(needed) + len(optional) or anything):
                found.append(Way(tuple((None, where[k]) for k in inputs[:n]), tuple(inputs[:n]), target))
        if len(inputs) < len(needed) <= len(tensors):  # it takes its target too, and gives the loss
            whole = list(tensors)[: len(needed)]
            found.append(Way(tuple((None, where[k]) for k in whole), tuple(whole)))
        if not found:  # what it lacks is told by its error
            found.append(Way(tuple((None, where[k]) for k in inputs), tuple(inputs), target))
        if len(needed) == 1 and len(inputs) > 1 and all(tensors[n].ndim == 1 for n in inputs):
            found.append(stacked(inputs, where, target, chosen))
            if not chosen and 1 < len(others := [n for n in inputs if not like_key(n)]) < len(inputs):
                found.append(stacked(others, where, target, chosen, [n for n in inputs if n not in others]))
    if isinstance(batch, list | tuple) and any(isinstance(part, list | tuple | Mapping) for part in batch):
        # whole parts: lists of images and of what is in them, as detectors take them
        for n in dict.fromkeys([min(len(batch), len(needed) + len(optional)), max(1, len(needed))]):
            if len(needed) <= n <= len(batch):
                found.append(Way(tuple((None, f"batch[{i}]") for i in range(n)), tuple(map(str, range(n)))))
    if len(needed) == 1 and isinstance(batch, list | tuple) and isinstance(batch[0], Mapping):
        found.append(Way(((None, "batch[0]"),), ("batch",), target))
    if len(needed) == 1 and not isinstance(batch, torch.Tensor):
        found.append(Way(((None, "batch"),), ("batch",), target))
    found = [replace(way, guessed=guessed and way.target is not None and not way.labels) for way in found]
    found = [way for way in found if keeps_names(way, [*needed, *optional])]
    fields = dict(flat(batch, n=samples))
    of_one = {where[n] for n in tensors if n not in fields}
    found = [way for way in found if of_one.isdisjoint(e for _, e in way.arguments)]
    return [*(as_lists(fields, batch, target) if all(way.names == ("batch",) for way in found) else ()), *found]


def as_lists(fields: Mapping[str, Any], batch: Any, target: str | None) -> list[Way]:
    """The way to give the model the first list with a tensor of each sample, as nothing else can be given."""
    name = next((n for n, v in fields.items() if isinstance(v, list | tuple) and v and hasattr(v[0], "shape")), None)
    if name is None or "." in name:
        return []
    return [Way(((None, f"batch[{name!r}]" if isinstance(batch, Mapping) else f"batch[{name}]"),), (name,), target)]


def last_target(tensors: Mapping[str, Any]) -> str | None:
    """The last field, which may be the target; none where it is one of those of boxes, and never the lengths that padding adds."""
    own = [n for n in tensors if not n.endswith("_lengths")] or [*tensors]
    part = own[-1].partition(".")[0]
    beside = [tensors[n] for n in own if n.startswith(f"{part}.")]
    boxes = any(x.ndim == 3 and x.shape[2] == 4 and x.is_floating_point() for x in beside)
    return None if boxes and len(beside) > 1 else own[-1]


def keeps_names(way: Way, order: list[str]) -> bool:
    """Whether each field that has the name of one of the model's parameters, whose ``order`` this is, is given as that one."""
    at = (p or (order[i] if i < len(order) else None) for i, (p, _) in enumerate(way.arguments))
    return all(name not in order or name == p for p, name in zip(at, way.names, strict=True))


def partly_named(
    needed: list[str], optional: list[str], tensors: Mapping[str, Any], where: Mapping[str, str], aim: str | None
) -> list[Way]:
    """The way for a mapping that has optional parameters by their names, and the one input under another name."""
    own = [p for p in optional if p in tensors]
    free = [n for n in tensors if n != aim and n not in optional and not n.endswith("_lengths")]
    if len(needed) != 1 or needed[0] in tensors or not own or not free:
        return []
    given = ((None, where[free[0]]), *((p, where[p]) for p in own))
    return [Way(given, (free[0], *own), None if aim is None else where[aim])]


def with_target(
    order: list[str], inputs: list[str], where: Mapping[str, str], aim: str | None, names: tuple[str, ...]
) -> list[Way]:
    """The way of a training call, ``model(*batch)``, where the parameter that comes after the inputs is the target, by its name."""
    if aim is None or len(order) <= len(inputs) or order[len(inputs)] not in names:
        return []
    given = (*((None, where[n]) for n in inputs), (order[len(inputs)], where[aim]))
    return [Way(given, (*inputs, aim), where[aim])]


def misplaced(way: Way, aim: str) -> bool:
    """Whether the label stands in an input's place."""
    return any(name == aim and p not in TARGETS for (p, _), name in zip(way.arguments, way.names, strict=True))


def takes_ids(model: Any) -> bool:
    """Whether the first layer is a table in which ids are looked up."""
    from torch import nn

    kinds = (nn.Embedding, nn.EmbeddingBag, nn.Linear, nn.Conv1d, nn.Conv2d)
    first = next((m for m in model.modules() if isinstance(m, kinds)), None) if hasattr(model, "modules") else None
    return isinstance(first, nn.Embedding | nn.EmbeddingBag)


def of_texts(value: Any) -> bool:
    """Whether it is a list of strings, one a sample."""
    return isinstance(value, list | tuple) and bool(value) and all(isinstance(v, str) for v in value)


def stacked(
    inputs: list[str], where: Mapping[str, str], target: str | None, chosen: bool, keys: Sequence[str] = ()
) -> Way:
    """The way for a table: its columns as one tensor, without those named like a target unless the user ``chosen`` them, and without
    ``keys``."""
    kept = inputs if chosen else [n for n in inputs if not like_target(n)] or inputs
    columns = "torch.stack([" + ", ".join(f"{where[n]}.float()" for n in kept) + "], 1)"
    says = f"the model takes one tensor [B, {len(kept)}], the batch has columns"
    if left_out := [n for n in inputs if n not in kept]:
        says += f"; {listed(left_out)} {'is' if len(left_out) == 1 else 'are'} left out, being named like a target"
    if keys:
        says += f"; {listed(keys)} {'is' if len(keys) == 1 else 'are'} left out, being named like an id or index"
    return Way(((None, columns),), (COLUMNS,), target, told=(("shape-mismatch", inputs[0], says),), columns=tuple(kept))


def like_key(name: str) -> bool:
    """Whether a field is named like what numbers samples, or what they belong to."""
    return bool({"id", "idx", "index", "unnamed"} & set(re.split(r"[^a-z]+", name.lower())))


def like_target(name: str) -> bool:
    """Whether a field is named like what is to be predicted."""
    return any(word in TARGETS for word in re.split(r"[^a-z]+", name.lower()) if word)


def target_first(model: Any, batch: Any) -> Way | None:
    """The way for a batch of (target, input), where the first part may be a target: a number a sample."""
    import torch

    where = accessors(batch)
    tensors = {n: v for n, v in flat(batch) if isinstance(v, torch.Tensor) and n in where}
    if len(parameters(model)[0]) != 1 or len(tensors) != 2 or not isinstance(batch, list | tuple):
        return None
    (first, y), (second, x) = tensors.items()
    if x.ndim < 2 or not (y.ndim < 2 or y.shape[1:] == (1,)):
        return None
    said = (
        "key-missing",
        second,
        f"the batch is (target, input): the model takes its second part, {second}, and {first} is the target",
    )
    return Way(((None, where[second]),), (second,), where[first], told=(said,))


def parameters(model: Any) -> tuple[list[str], list[str], bool]:
    """The names that ``forward`` needs, those that it may take, and whether it takes any number."""
    kinds = inspect.Parameter
    try:
        found = list(inspect.signature(getattr(model, "forward", model)).parameters.values())
    except (TypeError, ValueError):
        return ["input"], [], True
    plain = [p for p in found if p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD, kinds.KEYWORD_ONLY)]
    needed = [p.name for p in plain if p.default is kinds.empty]
    return needed, [p.name for p in plain if p.name not in needed], any(p.kind is kinds.VAR_POSITIONAL for p in found)


def takes_keywords(model: Any) -> bool:
    """Whether ``forward`` takes fields by their names alone, whatever they are: ``forward(self, **fields)``."""
    try:
        found = list(inspect.signature(getattr(model, "forward", model)).parameters.values())
    except (TypeError, ValueError):
        return False
    return bool(found) and all(p.kind is inspect.Parameter.VAR_KEYWORD for p in found)


def main_input(model: Any, optional: list[str], batch: Mapping[str, Any]) -> list[str]:
    """The input that a model of transformers declares, though its ``forward`` gives each a default; none where the batch has
    another that may stand for it."""
    name = getattr(model, "main_input_name", None)
    if name not in optional or any(p in batch for p in BY_KEYWORD & set(optional)):
        return []
    return [str(name)]


DERIVED = {
    "attention_mask": "torch.ones(first.shape[:2], dtype=torch.long, device=first.device)",
    "token_type_ids": "torch.zeros(first.shape[:2], dtype=torch.long, device=first.device)",
    "position_ids": "torch.arange(first.shape[1], device=first.device).expand(first.shape[:2])",
    "lengths": "torch.full(first.shape[:1], first.shape[1], device=first.device)",
}
"""Arguments that follow from the shape of the ``first`` input."""
OF_PADDING = {"attention_mask": "(first != {pad}).long()", "lengths": "(first != {pad}).sum(1)"}
"""Those that follow from the id that pads the first input, where it is known."""
OF_LENGTHS = {
    "attention_mask": "(torch.arange(first.shape[1], device=first.device) < {lengths}[:, None]).long()",
    "lengths": "{lengths}",
}
"""Those that follow from its lengths, where the batch has them."""


def derivation(parameter: str, pad: int | None) -> tuple[str, str]:
    """How an argument of ``DERIVED`` is made from the ``first`` input, and what it follows from."""
    if pad is None or parameter not in OF_PADDING:
        return DERIVED[parameter], "shape"
    return OF_PADDING[parameter].replace("{pad}", str(pad)), f"padding, whose id is {pad}"


def renamed(
    needed: list[str],
    optional: list[str],
    inputs: list[str],
    tensors: Mapping[str, Any],
    where: Mapping[str, str],
    target: str | None,
    model: Any,
) -> list[Way]:
    """Ways for a mapping whose keys are not the model's names: other fields in the missing ones' places, or derived."""
    import itertools

    missing = [p for p in needed if p not in tensors]
    if not missing or not inputs:
        return []
    spare = [n for n in inputs if n not in needed and n not in optional]
    spare += [n for n in tensors if n.endswith("_lengths") and n not in spare and any("length" in p for p in missing)]
    if needed[0] not in tensors and not spare:
        return []
    name = needed[0] if needed[0] in tensors else spare[0]
    pad = padding_id(model, tensors[name])
    first, lengths = where[name], where.get(f"{name}_lengths")
    derivable = [p for p in missing if p in DERIVED]
    subsets = [d for n in range(len(derivable) + 1) for d in itertools.combinations(derivable, n)]
    return [
        _renamed(needed, tensors, where, target, first, lengths, pad, derived, free)
        for derived in subsets  # fields that are there come before what is made up
        for free in (itertools.permutations(spare, len(missing) - len(derived)) if len(spare) <= MOST_SPARE else ())
    ]


def beside(
    way: Way, optional: list[str], tensors: Mapping[str, Any], where: Mapping[str, str], aim: str | None
) -> Way | None:
    """The way with the mask and the labels too, which the batch has under other names than the model, as the ids; None: it has neither."""
    given = {p for p, _ in way.arguments}
    wanted = [p for p in ("attention_mask", "labels") if p in optional and p not in given and p not in tensors]
    added: list[tuple[str, str, str]] = []
    x = next((tensors[n] for n in way.names if n in tensors and tensors[n].ndim == 2), None)
    for name, m in tensors.items() if "attention_mask" in wanted else ():
        if name in way.names or x is None or m.shape != x.shape or not re.search(r"(?:^|_)masks?$", name):
            continue
        hides = hidden(x, m)
        if hides is not None:
            as_made = where[name] if not hides else f"(~{where[name]}.bool())"
            added.append(
                ("attention_mask", name, f"{as_made}.long()" if str(m.dtype) != "torch.int64" or hides else as_made)
            )
            break
    if "labels" in wanted and aim is not None:
        added.append(("labels", aim, where[aim]))
    if not added:
        return None
    return replace(
        way,
        arguments=(*way.arguments, *((p, made) for p, _, made in added)),
        names=(*way.names, *(n for _, n, _ in added)),
        told=(*way.told, *(("key-missing", n, f"the model takes {p}; the batch has {n}") for p, n, _ in added)),
    )


def hidden(x: Any, mask: Any) -> bool | None:
    """Whether the mask is true (or 1) where tokens are padding, and not where they are real: what is padded has one value. None: it does
    not tell."""
    if type(x).__name__ == "FakeTensor" or mask.is_complex() or not bool(((mask == 0) | (mask == 1)).all()):
        return None
    at = mask.bool()
    kinds = [len(x[where].unique(dim=0)) for where in (at, ~at)]
    if min(kinds) > 1 or max(kinds) < 2:
        return None
    return kinds[0] <= 1


MOST_SPARE = 5
"""Fields that are tried in each other's places."""


def _renamed(
    needed: list[str],
    tensors: Mapping[str, Any],
    where: Mapping[str, str],
    target: str | None,
    first: str,
    lengths: str | None,
    pad: int | None,
    derived: tuple[str, ...],
    free: tuple[str, ...],
) -> Way:
    fields = iter(free)
    arguments, names, told = [], [], []
    for p in needed:
        if p in tensors:
            arguments.append((p, where[p]))
            names.append(p)
        elif p in derived:
            if p in OF_LENGTHS and lengths is not None:  # not all of it is there
                made, source = OF_LENGTHS[p].replace("{lengths}", lengths), "lengths"
            else:
                made, source = derivation(p, pad)
            arguments.append((p, re.sub(r"\bfirst\b", lambda _: first, made)))
            names.append(p)
            told.append(("key-missing", p, f"the model needs {p}, which the batch lacks; it follows from the {source}"))
        else:
            name = next(fields)
            arguments.append((p, where[name]))
            names.append(name)
            told.append(("key-missing", name, f"the model needs {p}; the batch has {name}"))
    return Way(tuple(arguments), tuple(names), target, told=tuple(told))
