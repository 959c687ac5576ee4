"""Batches of what does not stack: graphs, which a model takes as one of all, and images with boxes, which it takes in lists."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dataloader_expert.probes.batch_parts import flat
from dataloader_expert.probes.model.mends import is_fake
from dataloader_expert.probes.model.ways import TARGETS, Way, accessors, parameters

CLASSES = ("labels", "label", "categories", "category", "classes", "class_ids", "category_id", "category_ids")
"""Names of the classes of boxes."""


def unstacked(model: Any, batch: Any) -> Iterator[Way]:
    """The ways to call a model with a padded batch of graphs or of images with boxes, or with inputs in one tensor, if it looks like
    one."""
    yield from of_inputs(model, batch)
    if isinstance(batch, Mapping):
        yield from of_graphs(model, batch)
    yield from of_boxes(model, batch)


def of_graphs(model: Any, batch: Mapping[str, Any]) -> Iterator[Way]:
    """One graph of all: nodes one after another, the numbers in edges counted on, and ``batch``: whose each node is."""
    needed, optional, _ = parameters(model)
    edges = next((name for name, value in batch.items() if are_edges(value)), None)
    nodes = [
        n for n, x in batch.items() if n != edges and hasattr(x, "ndim") and x.ndim > 2 and f"{n}_lengths" in batch
    ]
    if edges is None or edges not in needed or not nodes:
        return
    # nodes are those that edges number; others, as of edges, have other lengths
    sizes = [tuple(batch[f"{n}_lengths"].tolist()) for n in nodes]
    most = [int(e.max()) for e in batch[edges] if e.numel()]
    first = next((n for n, size in zip(nodes, sizes, strict=True) if max(size, default=0) > max(most, default=0)), None)
    if first is None:
        return
    lengths = f"batch[{f'{first}_lengths'!r}]"
    made = {
        edges: f"torch.cat([e + n for e, n in zip(batch[{edges!r}], ({lengths}.cumsum(0) - {lengths}).tolist())], 1)"
    }
    for name, value in batch.items():
        own = f"batch[{f'{name}_lengths'!r}]"
        if name != edges and f"{name}_lengths" in batch and hasattr(value, "ndim"):
            made[name] = f"torch.cat([x[:n] for x, n in zip(batch[{name!r}], {own}.tolist())])"
        elif name != edges and hasattr(value, "ndim"):
            made[name] = f"batch[{name!r}]"
    whose = f"torch.repeat_interleave(torch.arange(len({lengths})), {lengths})"
    made.setdefault("batch", whose)
    taken = [p for p in (*needed, *optional) if p in made]
    if any(p not in made for p in needed):
        return
    target = next((made[n] for n in TARGETS if n in made), None)
    says = (
        "graphs of different sizes, where the model takes one merged graph: in collate_fn concatenate the nodes, offset each graph's edges by the "
        "number of nodes before it, and record each node's graph in batch, as torch_geometric.loader.DataLoader does"
    )
    told = (("shape-mismatch", edges, says),)
    yield Way(tuple((p, made[p]) for p in taken), tuple(p if p in batch else first for p in taken), target, told=told)


def of_inputs(model: Any, batch: Any) -> Iterator[Way]:
    """The inputs of a model as parts of one tensor, such as the two images of a pair."""
    needed, where = parameters(model)[0], accessors(batch)
    tensors = {n: v for n, v in flat(batch) if n in where and hasattr(v, "is_floating_point") and v.ndim}
    together = [n for n, v in tensors.items() if v.ndim > 2 and v.shape[1] == len(needed)]
    if len(needed) < 2 or len(together) != 1:
        return
    name, others = together[0], [n for n in tensors if n != together[0]]
    target = next((where[n] for n in others if n in TARGETS), where[others[0]] if len(others) == 1 else None)
    parts = tuple((p, f"{where[name]}[:, {i}]") for i, p in enumerate(needed))
    says = f"{len(needed)} inputs in one tensor, where the model takes them one by one: {', '.join(needed)}"
    yield Way(parts, (name,) * len(parts), target, told=(("shape-mismatch", name, says),))


def are_edges(value: Any) -> bool:
    """Whether it has for each sample pairs of whole numbers, [2, edges]."""
    parts = value if isinstance(value, list | tuple) else [value[0]] if getattr(value, "ndim", 0) == 3 else []
    shaped = [p for p in parts if hasattr(p, "is_floating_point") and not is_fake(p)]
    return bool(parts) and len(shaped) == len(parts) and all(
        p.ndim == 2 and p.shape[0] == 2 and not p.is_floating_point() for p in shaped
    )  # fmt: skip


def of_boxes(model: Any, batch: Any) -> Iterator[Way]:
    """Lists of images, and of what is in each, as torchvision's detectors take them."""
    needed, optional, _ = parameters(model)
    parts = within(batch)
    image = next((n for n, (x, _) in parts.items() if are_images(x)), None)
    boxes = next((n for n, (x, _) in parts.items() if getattr(x, "ndim", 0) == 3 and x.shape[2] == 4), None)
    both = [*needed, *optional][:2]
    if image is None or boxes is None or not both or len(needed) > 2:
        return
    (pictures, taken), (found, of_found) = parts[image], parts[boxes]
    if is_fake(pictures[0]):
        return
    floats = "" if pictures[0].is_floating_point() else ".float() / 255"
    images = f"[x{floats} for x in {taken}]"
    shape, beside = tuple(found.shape[:2]), boxes.rpartition(".")[0]
    named = [f"{beside}.{n}" if beside else n for n in CLASSES]
    there = [n for n in named if n in parts and tuple(getattr(parts[n][0], "shape", ())) == shape]
    many = parts.get(f"{boxes}_lengths")
    lengths = f"{many[1]}.tolist()" if many is not None else f"[{shape[1]}] * {shape[0]}"
    fields = [("boxes", of_found, "[:n].float()"), *(("labels", parts[n][1], "[:n].long()") for n in there[:1])]
    entry = ", ".join(f"{key!r}: {of}[i]{cut}" for key, of, cut in fields)
    targets = f"[{{{entry}}} for i, n in enumerate({lengths})]"
    stacked = hasattr(pictures, "ndim")
    takes = "the model takes a list of images [C, H, W]"
    says = f"one tensor where {takes}"
    of_pairs = bool(beside) and not stacked and not isinstance(batch, Mapping)  # of an image and its targets
    with_boxes = (
        "one dictionary for all images, where the model takes a list with the boxes and labels of each: "
        "as collate_fn pass a function of your module that returns tuple(zip(*batch))"
        if of_pairs
        else f"{says if stacked else takes}, and a list with the boxes and labels of each: return both from collate_fn, unpadded and unresized"
    )
    if len(both) > 1:
        pairs, names = ((both[0], images), (both[1], targets)), (image, boxes)
        yield Way(pairs, names, told=(("shape-mismatch", image if stacked else boxes, with_boxes),))
    if len(needed) < 2 and stacked:
        yield Way(((both[0], images),), (image,), told=(("shape-mismatch", image, says),))


def within(batch: Any) -> dict[str, tuple[Any, str]]:
    """The parts of a batch, and of dictionaries in it, by name, each with its expression."""
    items = batch.items() if isinstance(batch, Mapping) else enumerate(batch) if isinstance(batch, list | tuple) else ()
    found: dict[str, tuple[Any, str]] = {}
    for key, value in items:
        found[str(key)] = value, f"batch[{key!r}]"
        if isinstance(value, Mapping):
            found |= {f"{key}.{k}": (v, f"batch[{key!r}]{of[5:]}") for k, (v, of) in within(value).items()}
    return found


def are_images(value: Any) -> bool:
    """Whether it holds pictures [C, H, W]: one tensor of all, or a list of them."""
    parts = value if isinstance(value, list) else [value[0]] if getattr(value, "ndim", 0) == 4 and len(value) else []
    return bool(parts) and all(
        hasattr(p, "is_floating_point") and p.ndim == 3 and p.shape[0] in (1, 3, 4) for p in parts
    )
