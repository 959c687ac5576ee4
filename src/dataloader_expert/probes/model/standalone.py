"""A module in plain torch that builds the loaders which were measured; run in a process of its own before it is told.

Written for image folders, tables (CSV, TSV, JSON lines, Parquet), NPZ files and Python references. What it must deliver
is asserted from the batches that were measured, so that a module that reads something else fails when it is run here.
"""

from __future__ import annotations

import pprint
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from dataloader_expert.facts import Fact, Json, Quantity, Unknown
from dataloader_expert.probes.base import Bench, Observation, Probe, evidence
from dataloader_expert.probes.data.layout import LABEL, PRESENT
from dataloader_expert.probes.model.batch import BATCH, COLLATE
from dataloader_expert.probes.system.branches import Branches
from dataloader_expert.sources.base import Source

STANDALONE = Quantity(
    "standalone_code", "", "a module in plain torch that builds the loaders, once it was run; its settings left open"
)
SETTINGS = "__SETTINGS__"
TABLES = {"csv": "csv", "tsv": "csv", "jsonl": "jsonl", "parquet": "parquet"}
MOST_FILES = 50
RUN_S = 20.0

HEAD = '''"""Training, validation and test loaders in plain torch{needs}. Run it: it checks the first batch of each."""

{imports}
import torch
from torch.utils.data import DataLoader, Dataset, Subset, default_collate

SETTINGS = __SETTINGS__
"""Keyword arguments of each loader."""
'''

IMAGES = '''ROOT = Path({root!r})
SPLITS = {splits!r}
"""Folders of each split, below ROOT; one without a name is split at random."""
CLASSES = {classes!r}
SIZE = {size!r}
"""Height and width to which pictures are resized; None: they agree."""
MODE = {mode!r}


class Pictures(Dataset):
    """A picture [C, H, W] uint8 (a grey one [H, W]), and its class by the name of the folder."""

    def __init__(self, folders):
        kinds = {suffixes!r}
        found = [p for f in folders for p in sorted((ROOT / f).rglob("*")) if p.suffix.lower() in kinds]
        self.paths = [p for p in found if p.parent.name in CLASSES] if CLASSES else found

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        path = self.paths[index]
        with Image.open(path) as opened:
            picture = opened.convert(MODE)
        if SIZE is not None:
            picture = picture.resize((SIZE[1], SIZE[0]))
        pixels = torch.from_numpy(np.array(picture))
        sample = {{{image!r}: pixels.permute(2, 0, 1) if pixels.ndim == 3 else pixels}}
        if CLASSES:
            sample[{label!r}] = CLASSES.index(path.parent.name)
        return sample


def datasets():
    return {{name: Pictures(folders) for name, folders in SPLITS.items()}}
'''

COLUMNS = '''FILES = {files!r}
"""Files of each split; one without a name is split at random."""
FIELDS = {fields!r}
"""Of each column: the dtype, "str" for text, or the names of its categories."""


def rows(path):
{reader}


def column(values, kind):
    """Texts as they are, categories by their place in the list, numbers as a tensor; what is missing is NaN."""
    if kind == "str":
        return ["" if v is None else str(v) for v in values]
    if isinstance(kind, list):
        places = {{name: i for i, name in enumerate(kind)}}
        return torch.tensor([places.get("" if v is None else str(v), -1) for v in values])
    dtype = getattr(torch, kind)
    if dtype.is_floating_point:
        return torch.tensor([float("nan") if v in (None, "") else float(v) for v in values], dtype=dtype)
    return torch.tensor([int(float(v)) if isinstance(v, str) else int(v) for v in values], dtype=dtype)


class Table(Dataset):
    """The columns in memory; a whole batch is gathered at once."""

    def __init__(self, files):
        read = [row for path in files for row in rows(path)]
        self.columns = {{name: column([row.get(name) for row in read], kind) for name, kind in FIELDS.items()}}
        self.n = len(read)

    def __len__(self):
        return self.n

    def __getitem__(self, index):
        return {{name: values[index] for name, values in self.columns.items()}}


def datasets():
    return {{name: Table(files) for name, files in FILES.items()}}
'''

READERS = {
    "csv": '    with open(path, newline="", encoding="utf-8-sig") as file:\n        return list(csv.DictReader(file, delimiter={delimiter!r}))',
    "jsonl": '    with open(path, encoding="utf-8") as file:\n        return [json.loads(line) for line in file if line.strip()]',
    "parquet": "    return pq.read_table(path, columns=list(FIELDS)).to_pylist()",
}
NEEDS = {"csv": ("csv",), "jsonl": ("json",), "parquet": ()}

ARRAYS = '''FILES = {files!r}
"""Files of each split; one without a name is split at random."""
FIELDS = {fields!r}
"""Of each array: its dtype, "str" for texts, or the names of its classes."""
CHANNELS_LAST = {last!r}
"""Arrays of pictures [N, H, W, C], which batches hold as [B, C, H, W]."""


def converted(values, kind):
    if isinstance(kind, list) and values.dtype.kind in "US":
        places = {{name: i for i, name in enumerate(kind)}}
        return torch.tensor([places[str(v)] for v in values])
    return [str(v) for v in values] if kind == "str" else torch.from_numpy(values)


class Arrays(Dataset):
    def __init__(self, files):
        read = [np.load(path, allow_pickle=False) for path in files]
        whole = {{name: np.concatenate([one[name] for one in read]) for name in FIELDS}}
        self.arrays = {{name: converted(whole[name], kind) for name, kind in FIELDS.items()}}
        for name in CHANNELS_LAST:
            self.arrays[name] = self.arrays[name].permute(0, 3, 1, 2)

    def __len__(self):
        return len(next(iter(self.arrays.values())))

    def __getitem__(self, index):
        return {{name: values[index] for name, values in self.arrays.items()}}


def datasets():
    return {{name: Arrays(files) for name, files in FILES.items()}}
'''

REFERENCE = '''sys.path[:0] = {paths!r}
import {module} as yours  # noqa: E402  # found by the line above


def datasets():
    """Your own dataset; give validation and test theirs here."""
    return {{"train": {made}}}
'''

PAD = '''

def pad(samples):
    """Stacks what stacks; pads what varies in its first dimension with zeros and keeps the lengths."""
    batch = {}
    for name in samples[0]:
        values = [sample[name] for sample in samples]
        first = values[0]
        if isinstance(first, torch.Tensor) and first.ndim and len({v.shape for v in values}) > 1:
            batch[name] = torch.nn.utils.rnn.pad_sequence(values, batch_first=True)
            batch[f"{name}_lengths"] = torch.tensor([len(v) for v in values])
        elif isinstance(first, (torch.Tensor, int, float, str)):
            batch[name] = default_collate(values)
        else:
            batch[name] = values
    return batch
'''

LOADERS = '''

def split(parts):
    """A dataset without splits, as 80, 10 and 10 % at random, the same in every run."""
    if list(parts) != [""]:
        return parts
    whole = parts[""]
    order = torch.randperm(len(whole), generator=torch.Generator().manual_seed({seed})).tolist()
    tenth = len(whole) // 10
    cuts = {{"train": order[2 * tenth :], "val": order[:tenth], "test": order[tenth : 2 * tenth]}}
    return {{name: Subset(whole, places) for name, places in cuts.items() if places}}


def loaders():
    made = {{}}
    for name, dataset in split(datasets()).items():
        kind = name if name in SETTINGS else "val" if name.startswith(("val", "dev")) else "test"
        made[name] = DataLoader(dataset, collate_fn={collate}, **SETTINGS["train" if name == "train" else kind])
    return made


def check(batch):
{checks}


if __name__ == "__main__":
    for name, loader in loaders().items():
        batch = next(iter(loader))
        check(batch)
        print(name, len(loader.dataset), "samples,", len(loader), "batches")
'''


@dataclass(frozen=True)
class StandaloneCode(Probe):
    """Writes the module, and runs it without workers in a process of its own."""

    name: ClassVar[str] = "standalone"
    doing: ClassVar[str] = "running the code"
    batch_size: int | None = None

    def ready(self, bench: Bench) -> None:
        bench.untouched[self.name] = Branches(run)

    def measure(self, bench: Bench) -> Iterable[Observation]:
        branches = bench.untouched.pop(self.name)
        try:
            text = written(bench)
            if text is None:
                yield Unknown(
                    "code: without our package", f"no plain reader is written for {bench.source.format} as it is here"
                )
                return
            size = min(self.batch_size or 32, 32)
            plain = {"batch_size": size, "num_workers": 0}
            settings = {"train": {**plain, "shuffle": not bench.source.iterable}, "val": plain, "test": plain}
            if bench.source.iterable:
                settings["train"] = plain
            said = branches.ask({"text": with_settings(text.splitlines(), settings)}, min(RUN_S, 0.7 * bench.left()))
            if "error" in said:
                yield Unknown("code: without our package", f"it was written and did not run: {said['error'][:200]}")
                return
            yield Fact(STANDALONE, text.splitlines(), evidence("probed", self.name, seen=1, seconds=said["seconds"]))
        finally:
            branches.close()


def run(asked: dict[str, Any]) -> dict[str, Any]:
    """Runs the module as a script would be."""
    begun = time.perf_counter()
    exec(compile(asked["text"], "<standalone>", "exec"), {"__name__": "__main__"})
    return {"seconds": time.perf_counter() - begun}


def with_settings(lines: list[str], settings: dict[str, Any]) -> str:
    """The first mark alone is ours: a later one is a name of the data's."""
    return "\n".join(lines).replace(SETTINGS, pprint.pformat(settings, width=100, sort_dicts=False), 1)


def written(bench: Bench) -> str | None:
    """The module with its settings left open; None where no plain reader is written for the source."""
    source, batch = bench.source, bench.facts.value(BATCH)
    if batch is None or bench.facts.value(PRESENT) is not None:
        return None
    collate = bench.facts.value(COLLATE, {"name": "default", "generated": None, "size": None})
    pads = collate["name"] == "pad" or collate["generated"] == "pad"
    if collate["name"] == "list" and not pads:
        return None
    body = _body(bench, source, batch["fields"], collate["size"])
    if body is None:
        return None
    imports, needs, text = body
    head = HEAD.format(imports="\n".join(imports), needs=needs)
    how = "pad" if pads else "None"
    end = LOADERS.format(
        seed=bench.seed, collate=how, checks="\n".join(_checks(batch, pads and collate["name"] == "list"))
    )
    return head + "\n" + text + (PAD if pads else "") + end


def _body(bench: Bench, source: Source, fields: list[dict[str, Json]], size: Any) -> tuple[list[str], str, str] | None:
    if source.format == "reference":
        return _of_reference(bench)
    if source.format == "image-folder":
        return _of_pictures(bench, source, fields, size)
    files = _files(source)
    if files is None or size is not None:
        return None
    names = {f["name"] for f in fields}
    if source.format == "npz" and names == {f.name for f in source.fields}:
        return (
            ["import numpy as np"],
            "",
            ARRAYS.format(files=files, fields=_arrays(bench, source, fields), last=_channels_last(source, fields)),
        )
    kind = TABLES.get(source.format)
    if kind is None:
        return None
    kinds = _columns(bench, source, fields)
    if kinds is None:
        return None
    dialects = list(getattr(source, "dialects", {}).values())
    if len({d.delimiter for d in dialects}) > 1 or not all(d.names for d in dialects):
        return None
    reader = READERS[kind].format(delimiter=dialects[0].delimiter if dialects else "")
    text = COLUMNS.format(files=files, fields=kinds, reader=reader)
    if kind == "parquet":
        return ["import pyarrow.parquet as pq"], " and pyarrow", text
    return [f"import {m}" for m in NEEDS[kind]], "", text


def _files(source: Source) -> dict[str, list[str]] | None:
    found: dict[str, dict[str, None]] = {}
    for unit in source.units:
        found.setdefault(unit.split or "", {})[unit.file] = None
        if sum(map(len, found.values())) > MOST_FILES:
            return None
    base = getattr(getattr(source, "listing", None), "base", None)
    if base is None:
        return None
    by_split = {name: [str(base / file) for file in files] for name, files in found.items()}
    shared = [f for files in by_split.values() for f in files]
    return by_split if len(shared) == len(set(shared)) else None  # a column that names the split shares its file


def _arrays(bench: Bench, source: Source, fields: list[dict[str, Json]]) -> dict[str, Any]:
    texts = {f.name for f in source.fields if f.kind in ("category", "text")}
    named = bool(bench.classes) and source.label in texts
    kinds = {f["name"]: f["dtype"] for f in fields}
    return kinds | ({str(source.label): list(bench.classes or ())} if named else {})


def _channels_last(source: Source, fields: list[dict[str, Json]]) -> list[str]:
    stored = {f.name: list(f.shape) for f in source.fields}
    moved = [f for f in fields if len(f["shape"]) == 4 and len(stored.get(f["name"], ())) == 3]
    return [f["name"] for f in moved if f["shape"][1:] != stored[f["name"]]]


def _columns(bench: Bench, source: Source, fields: list[dict[str, Json]]) -> dict[str, Any] | None:
    """Of each column its dtype, ``str``, or its categories; None if one is no plain value."""
    label = bench.facts.value(LABEL, {"name": None})["name"]
    kinds: dict[str, Any] = {}
    for f in fields:
        if f["shape"] != ["B"]:
            return None
        kinds[f["name"]] = list(bench.classes) if f["name"] == label and bench.classes else f["dtype"]
        declared = next((s for s in source.fields if s.name == f["name"]), None)
        if declared is not None and declared.kind in ("category", "boolean", "time") and f["name"] != label:
            if f["dtype"] != "str":
                return None
    return kinds


def _of_pictures(
    bench: Bench, source: Source, fields: list[dict[str, Json]], size: Any
) -> tuple[list[str], str, str] | None:
    import os

    image = next((f for f in fields if f["dtype"] == "uint8"), None)
    if image is None or len(fields) > 2 or len(getattr(source, "partners", "")):
        return None
    label = next((f["name"] for f in fields if f is not image), "label")
    base = getattr(getattr(source, "listing", None), "base", None)
    root = str(base or bench.ref.name)
    folders: dict[str, dict[str, None]] = {}
    suffixes: dict[str, None] = {}
    classes = list(bench.classes or ())
    for unit in source.units:
        above = os.path.join(root, os.path.dirname(unit.file))
        if classes:
            if os.path.basename(above) not in classes:
                return None
            above = os.path.dirname(above)
        folders.setdefault(unit.split or "", {})[os.path.relpath(above, root)] = None
        suffixes[os.path.splitext(unit.file)[1].lower()] = None
    if not os.path.isdir(root) or sum(map(len, folders.values())) > MOST_FILES:
        return None
    imports = ["from pathlib import Path", "", "import numpy as np", "from PIL import Image"]
    text = IMAGES.format(
        root=root,
        splits={name: list(found) for name, found in folders.items()},
        classes=classes,
        size=None if size is None else tuple(size),
        mode="RGB" if len(image["shape"]) == 4 else "L",
        image=image["name"],
        label=label,
        suffixes=set(suffixes),
    )
    return imports, ", numpy and Pillow", text


def _of_reference(bench: Bench) -> tuple[list[str], str, str] | None:
    import os

    from dataloader_expert.sources.reference import is_object, named, project_root

    where, _, name = bench.ref.name.rpartition(":")
    if not where.endswith(".py"):
        return None
    from pathlib import Path

    path = Path(where).absolute()
    module = path.stem
    folder = os.getcwd()
    try:
        target = named(bench.ref.name, bench.ref.roots)
    finally:
        os.chdir(folder)
    given = ", ".join(f"{k}={v!r}" for k, v in bench.ref.args.items())
    made = f"yours.{name}" if is_object(target) else f"yours.{name}({given})"
    if not all(part.isidentifier() for part in (module, *name.split("."), *bench.ref.args)):
        return None
    paths = list(dict.fromkeys([str(path.parent), str(project_root(path))]))
    return ["import sys", ""], "", REFERENCE.format(paths=paths, module=module, made=made)


def _checks(batch: dict[str, Json], made_anew: bool) -> list[str]:
    """Asserts on names, dtypes and the fixed part of shapes, as they were measured."""
    if made_anew or batch["structure"] != "dict":
        return ["    assert batch is not None"]
    lines = []
    for f in batch["fields"]:
        name = f["name"]
        if "." in name or not f["shape"] or f["shape"][0] != "B":
            continue
        if f["host"]:
            lines.append(f"    assert isinstance(batch[{name!r}], list)")
            continue
        rest = tuple(f["shape"][1:])
        lines.append(f"    assert batch[{name!r}].dtype == torch.{f['dtype']}, batch[{name!r}].dtype")
        if None in rest:
            lines.append(f"    assert batch[{name!r}].ndim == {len(f['shape'])}")
        else:
            lines.append(f"    assert tuple(batch[{name!r}].shape[1:]) == {rest!r}, batch[{name!r}].shape")
    return lines or ["    assert batch is not None"]


PROBES = (StandaloneCode,)
