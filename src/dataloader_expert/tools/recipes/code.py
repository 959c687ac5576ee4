"""The code in a result: it runs as it is."""

from __future__ import annotations

from typing import Any

from dataloader_expert.checks.base import MISSING, SAMPLES_FAILED, SPLITS
from dataloader_expert.checks.images.pictures import MODES
from dataloader_expert.facts import Facts
from dataloader_expert.probes.batch_parts import place
from dataloader_expert.probes.data.layout import AGAIN, FORMAT, LABEL, PRESENT, SOURCE, STREAM
from dataloader_expert.probes.model.batch import BATCH, COLLATE
from dataloader_expert.sources.made_again import Again
from dataloader_expert.sources.pictures import GREY
from dataloader_expert.templates import render
from dataloader_expert.tools.base import Request
from dataloader_expert.tools.recipes.results import class_counts, coverage

OF_WORKERS = ("prefetch_factor", "persistent_workers", "in_order")
"""Settings that come with the number of workers; a loader without workers has none of its own."""
MOST_ASSERTED = 6
"""From this many fields with the same shape, one line asserts it for all."""


def loader_code(
    request: Request,
    facts: Facts,
    settings: dict[str, Any],
    setup: tuple[str, ...] = (),
    split: str | None = None,
    drawn: str | None = None,
) -> str:
    """Lines that define ``dataset``, make ``DataLoader(dataset, …)`` with these settings, and check one batch.

    ``setup`` defines ``sampler``, which becomes the argument ``drawn``: ``sampler`` or ``batch_sampler``.
    """
    reference = known_format(facts) == "reference"
    collate = facts.value(COLLATE, {"name": "default", "size": None})
    present = facts.value(PRESENT)
    known = facts.value(AGAIN)
    again = None if known is None else Again(**known)
    shown = {k: repr(v) for k, v in settings.items() if v is not None}
    if facts.value(STREAM):
        shown.pop("shuffle", None)
    if split is None and request.split is None and "train" in (facts.value(SPLITS) or {}):
        split = "train"
    name = {"pad": "pad_collate", "list": "list"}.get(collate["name"])
    varying = collate.get("varying", [])
    if present is not None:
        shown = as_yours(shown, present, bool(facts.value(STREAM)), drawn)
    elif name is not None:
        shown["collate_fn"] = (
            f"partial(pad_collate, varying={varying!r})" if name == "pad_collate" and varying else name
        )
    if drawn is not None:
        shown = {drawn: "sampler", **shown}
    if facts.value(SAMPLES_FAILED):
        setup = (
            "# samples that cannot be read are left out of their batch, logged and counted: fix or remove them",
            *setup,
        )
    return render(
        "code.py",
        reference=reference,
        again=again and {"imported": again.imported(), "made": again.made[again.train]},
        is_loader=present is not None,
        source=repr(facts.value(SOURCE, request.source)),
        arguments=_arguments(request, facts, collate, split),
        collate=name,
        varying=varying,
        settings=shown,
        setup=setup,
        checks=_checks(facts),
    )


def as_yours(
    shown: dict[str, str], present: dict[str, Any], stream: bool = False, drawn: str | None = None
) -> dict[str, str]:
    """Code that rebuilds the user's loader as ``loaders.building.rebuild`` does, with only the settings that were measured."""
    kept = ["collate_fn", "pin_memory", "worker_init_fn", "generator"]
    workers = int(shown.get("num_workers", present["num_workers"]))
    if workers:
        kept += ["timeout", "prefetch_factor", "persistent_workers", "multiprocessing_context"]
    size = {"batch_size": shown.get("batch_size", "yours.batch_size")}
    if drawn == "batch_sampler":
        size = {}
    elif present["own_batches"] and drawn is None:
        size = {}
        kept.insert(0, "batch_sampler")
    else:
        if present["batch_size"] is None and not present["own_batches"]:
            size = {"batch_size": "None"}
        else:
            kept.insert(0, "drop_last")
        if drawn is None and not stream:
            kept.insert(0, "sampler")
    timed = {name: shown[name] for name in OF_WORKERS if workers and name in shown}
    if shown.get("drop_last") == "True" and "drop_last" in kept:
        timed["drop_last"] = "True"  # the model raises on the last batch
    if shown.get("pin_memory") == "True":
        timed["pin_memory"] = "True"
    return {**size, "num_workers": str(workers), **{name: f"yours.{name}" for name in kept}, **timed}


def _arguments(request: Request, facts: Facts, collate: dict[str, Any], split: str | None) -> str:
    """Keyword arguments after the source, as written in the code."""
    if known_format(facts) == "reference":
        return "".join(f", {k}={v!r}" for k, v in request.source_args.items())
    split = split or request.split
    if split == "train" and request.train_split is not None:
        split = request.train_split
    columns = request.fields_read()
    given: dict[str, Any] = {"format": request.format, "split": split, "label": request.label}
    given["columns"] = None if columns is None else list(columns)
    arguments = "".join(f", {k}={v!r}" for k, v in given.items() if v is not None)
    if collate["size"]:
        arguments += f", size=({collate['size'][0]}, {collate['size'][1]})"
    label = facts.value(LABEL, {"name": None, "declared": None})
    counts = class_counts(facts)
    if label["name"] is not None and not label["declared"] and counts is not None:
        whole = coverage(facts).complete and _as_stored(counts)  # other samples may be of other classes
        arguments += f", classes={list(counts)!r}" if whole else ", classes='found'"
    absent = sorted(str(f.at["field"]) for f in facts.all(MISSING) if f.value)
    arguments += f", nullable={absent!r}" if absent else ""
    modes = set(facts.value(MODES, {"modes": {}})["modes"])
    arguments += ", channels=3" if modes & GREY and modes - GREY else ""
    return arguments + (", unreadable='skip'" if facts.value(SAMPLES_FAILED) else "")


def _as_stored(counts: dict[str, int]) -> bool:
    """Whether class names may be written into code: few, and none that was escaped, since the data spell it differently."""
    return len(counts) <= 100 and not any("\\" in name for name in counts)


def _checks(facts: Facts) -> list[str]:
    """Asserts on the fixed part of each tensor field's shape, so that an unexpected batch shape is caught at once."""
    batch = facts.value(BATCH)
    if batch is None:
        return ["print(batch)"]
    held: dict[str, list[str]] = {}  # names of fields, by what holds of each in the place of {}
    for field in batch["fields"]:
        shape, where = field["shape"], place(field["name"], batch["structure"])
        if where is None or field["host"] or not shape or shape[0] != "B":
            continue
        rest = tuple(shape[1:])
        what = f"{{}}.ndim == {len(shape)}" if None in rest else f"tuple({{}}.shape[1:]) == {rest!r}"
        held.setdefault(what, []).append(field["name"])
    lines = []
    for what, names in held.items():
        if len(names) <= MOST_ASSERTED or batch["structure"] != "dict":
            lines += ["assert " + what.format(place(name, batch["structure"])) for name in names]
        else:
            others = sorted({f["name"].split(".")[0] for f in batch["fields"] if f["name"] not in names})
            among = f"if name not in {others!r}" if others else ""
            lines.append(
                f"assert all({what.format('value')} for name, value in batch.items() {among})".replace(" )", ")")
            )
    return lines or ["print(batch)"]


def known_format(facts: Facts) -> str:
    return str(facts.value(FORMAT, "unknown"))
