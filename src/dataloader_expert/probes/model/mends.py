"""What may make a tensor fit a model, each as an expression of the tensor; whether it does is shown by running it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dataloader_expert.probes.model.padding_id import ends
from dataloader_expert.probes.model.resizing import SMOOTH, resized
from dataloader_expert.probes.model.unsigned import countable, is_unsigned
from dataloader_expert.probes.model.ways import takes_ids

SIDES = (224, 32, 28, 64, 96, 128, 227, 256, 299, 384, 512)
"""Usual heights and widths of pictures, the commonest first."""


SIDE_NAMES = ("img_size", "image_size", "input_resolution")
"""Attributes by which models of pictures keep the height and width that they take."""
SOUND = 1_000
"""Whole numbers of 16 bits in so long a row are a recording."""
BRIGHT = 128
"""Floats up to 255 of which some are beyond are bytes of pictures."""
MOST_CHANNELS = 8
"""Of sound: a longer dimension is none of channels."""
OF_TARGET = re.compile(r"Target -?\d+ is out of bounds|Class values must be smaller than num_classes")
"""What cross-entropy and ``one_hot`` within a model say to a class number that it does not have."""
OF_FRAMES = re.compile(r"input_lengths to have value at most (\d+)")
"""What CTC loss says to lengths of more frames than it is given."""
OF_EDGES = re.compile(r"values to unpack|edge_index")
"""What models of graphs raise where pairs of nodes stand in rows."""
IGNORED = (255, 65_535)
"""What by custom marks pixels or tokens without a class."""
IGNORE = -100
"""What cross-entropy leaves out by default."""
NEGATIVE = (
    ", but the ids of a table begin at 0; give values below 0 (such as unknown items) an id of their own and the table one more row, "
    "or map them to an id that the table has"
)
IGNORED_IDS = (
    ", which the loss leaves out, are looked up in a table, whose ids begin at 0; replace them by the padding's id where the model "
    "makes its input from them, so that the loss still leaves them out"
)
LARGEST = 2**63 - 1
"""No id lies beyond."""
MULTIPLES = (4, 8, 16, 32, 64)
"""What heights and widths must be multiples of, for layers that halve them and double them again."""


@dataclass(frozen=True)
class Mend:
    """``code``: the finding's; ``step``: mends of one kind exclude each other, and are tried in this order; ``multiple``: a size is one
    of this number, which may be what the model asks for."""

    code: str
    step: str
    says: str
    expression: str
    multiple: int = 0


@dataclass(frozen=True)
class Misfit:
    """``code``: of the finding; ``says``: what the batch has, and what the model takes; ``cured``: a mend ran; ``runs``: the
    model runs without it too, and gives what it should not; ``fix``: what to do where that is no change of a batch."""

    code: str
    field: str
    says: str
    cured: bool = True
    runs: bool = False
    fix: str = ""


@dataclass(frozen=True)
class Lookup:
    """The table of so many rows that refused ids: of a column, or of all of a field (None); ``unknown``: an id for those that it lacks."""

    rows: int
    column: int | None
    unknown: int = 0


def column_of(x: Any, ids: Any) -> int | None:
    """The column of ``x`` that these ids are; None if they are all of it, or something else."""
    if x.ndim < 2 or ids.shape != x.shape[:-1]:
        return None
    return next((j for j in range(x.shape[-1]) if bool((x[..., j] == ids).all())), None)


@dataclass(frozen=True)
class Wants:
    """What the model's layers say: floating dtype, channels and features of their inputs, sizes of tables and places."""

    dtype: str
    channels: tuple[int, ...]
    features: tuple[int, ...]
    tables: tuple[int, ...]
    lengths: tuple[int, ...]
    sides: tuple[int, ...]
    declared: tuple[int, ...]
    """Of ``sides``, what the model itself declares."""
    takes_pictures: bool
    """Whether some layer works over height and width: others are not resized for."""
    first_is_table: bool


def own_sides(modules: list[Any], places: list[int]) -> Iterator[int]:
    """Heights and widths that the model's parts name, or that its patches and positions make together."""
    from torch import nn

    for m in modules:
        for name in SIDE_NAMES:
            given = getattr(m, name, None)
            side = given[0] if isinstance(given, list | tuple) and len(set(given)) == 1 else given
            if isinstance(side, int) and not isinstance(side, bool) and side > 1:
                yield side
    patches = [m.stride[0] for m in modules if isinstance(m, nn.Conv2d) and m.stride == m.kernel_size != (1, 1)]
    for patch in patches:
        for n in places:
            side = math.isqrt(n)
            if side > 1 and n - side * side in (0, 1):  # one may be that of a class token
                yield side * patch


def wants(model: Any, sides: tuple[int, ...] = ()) -> Wants:
    import torch
    from torch import nn

    def distinct(values: list[int]) -> tuple[int, ...]:
        return tuple(dict.fromkeys(values))

    modules = list(model.modules()) if hasattr(model, "modules") else []
    held = list(model.parameters()) if hasattr(model, "parameters") else []
    floating = next((p for p in held if p.is_floating_point()), None)
    transposed = nn.ConvTranspose1d | nn.ConvTranspose2d | nn.ConvTranspose3d
    convolutions = [m.in_channels for m in modules if isinstance(m, nn.Conv1d | nn.Conv2d | nn.Conv3d | transposed)]
    linear = [m.in_features for m in modules if isinstance(m, nn.Linear)]
    linear += [m.input_size for m in modules if isinstance(m, nn.RNNBase)]
    linear += [int(m.normalized_shape[-1]) for m in modules if isinstance(m, nn.LayerNorm)]
    lookups = [m for m in modules if isinstance(m, nn.Embedding | nn.EmbeddingBag)]
    tables = [m.num_embeddings for m in lookups]
    # some count positions from the one after that of the padding
    after = [m.num_embeddings - m.padding_idx - 1 for m in lookups if m.padding_idx is not None]
    own = [p for m in modules if not type(m).__module__.startswith("torch.nn") for p in m._parameters.values()]
    places = [p.shape[-2] for p in own if p is not None and p.ndim in (2, 3) and p.shape[-2] > 1]
    sides = distinct([*sides, *own_sides(modules, places)])
    dtype = torch.float32 if floating is None else floating.dtype
    return Wants(
        str(dtype).removeprefix("torch."),
        distinct(convolutions),
        distinct(linear),
        distinct(tables),
        tuple(sorted({*tables, *after, *places}, reverse=True)),
        tuple(dict.fromkeys((*sides, *SIDES))),
        sides,
        any(
            isinstance(m, nn.Conv2d | nn.ConvTranspose2d | nn.AdaptiveAvgPool2d | nn.MaxPool2d | nn.AvgPool2d)
            for m in modules
        ),
        takes_ids(model),
    )


def mends(
    x: Any,
    want: Wants,
    error: str = "",
    looked_up: Lookup | None = None,
    pictures: bool = True,
    asserted: bool = False,
) -> Iterator[Mend]:
    """What might be done to ``x``, the likeliest first; ``error``: what the model said to it, ``looked_up``: where it said so;
    ``pictures``: whether it came with height and width, and no other mend made them; ``asserted``: whether the model's own code said
    so, and not torch.
    """
    import torch

    if is_unsigned(x):  # nothing else can be done to it before
        yield from of_dtype(x, want)
        return
    if OF_TARGET.search(error):
        yield from of_classes(x)
        return
    if frames := OF_FRAMES.search(error):
        yield from of_frames(x, int(frames[1]))
        return
    if "between 0 and 1" in error and x.is_floating_point() and x.numel() and not is_fake(x):
        if float(x.min()) >= 0 and BRIGHT < float(x.max()) <= 255:
            says = f"values from {float(x.min()):.3g} to {float(x.max()):.3g}, where the loss inside the model takes 0 to 1"
            yield Mend("value-range-mismatch", "scale", says, "({x} / 255)")
        if x.unique().tolist() == [-1, 1]:
            says = "values of -1 and 1, where the loss inside the model takes 0 and 1"
            yield Mend("value-range-mismatch", "scale", says, "(({x} + 1) / 2)")
    if "target" in error.lower():
        yield from of_masks(x)
        yield from of_one_hot(x, error)
        yield from of_class_rows(x, error)
        if x.dtype != torch.int64 and _is_whole(x):
            says = f"class numbers of dtype {str(x.dtype).removeprefix('torch.')} where the loss takes int64"
            yield Mend("dtype-mismatch", "dtype", says, "{x}.long()")
    if " list" in error and x.ndim == 4:
        says = f"one tensor of shape {list(x.shape)} where the model takes a list of images"
        yield Mend("shape-mismatch", "layout", says, "list({x})")
    if "index out of range" in error or "out of bounds for dimension" in error:
        yield from of_length(x, want)
        yield from of_ids(x, want, looked_up)
        return
    if "bool" in error and "mask" in error and not x.is_floating_point() and x.dtype != torch.bool:
        says = f"dtype {str(x.dtype).removeprefix('torch.')} where the model takes a bool mask: a float mask is added to the attention scores"
        yield Mend("dtype-mismatch", "dtype", says, "{x}.bool()")
    if OF_EDGES.search(error) and x.ndim == 2 and x.shape[1] == 2 < x.shape[0] and not x.is_floating_point():
        says = "pairs of nodes as rows, [edges, 2], where the model takes [2, edges]"
        yield Mend("layout-mismatch", "layout", says, "{x}.t().contiguous()")
    yield from of_dtype(x, want)
    yield from of_attention(x)
    yield from of_layout(x, want)
    yield from of_channels(x, want)
    yield from of_shape(x, want, pictures, sizes_in(error, x) if asserted else ())


def sizes_in(error: str, x: Any) -> tuple[int, ...]:
    """The sizes that an assertion names beside one that ``x`` has: what the model takes instead."""
    named = [int(n) for n in re.findall(r"(?<![\d.])\d{1,4}(?![\d.]*\d)", error.partition("\n")[0])]
    has = set(x.shape[1:])
    return tuple(dict.fromkeys(n for n in named if n > 1 and n not in has)) if has & set(named) else ()


def of_dtype(x: Any, want: Wants) -> Iterator[Mend]:
    import torch

    given, wanted = str(x.dtype).removeprefix("torch."), want.dtype
    if x.is_complex():
        says = f"dtype {given} where the model takes real and imaginary parts as"
        yield Mend("dtype-mismatch", "dtype", f"dtype {given} where the model takes magnitudes", "{x}.abs()")
        yield Mend("dtype-mismatch", "dtype", f"{says} channels", "torch.view_as_real({x}).movedim(-1, 1)")
        yield Mend("dtype-mismatch", "dtype", f"{says} the last dimension", "torch.view_as_real({x})")
        return
    what = f"dtype {given} where the model computes in {wanted}"
    if given == "int16" and not want.first_is_table and max(x.shape[1:], default=0) >= SOUND:
        full = f"{what}; sound of 16 bits is from -32768 to 32767"
        yield Mend("dtype-mismatch", "dtype", full, f"({{x}}.to(torch.{wanted}) / 32768)")
        return
    if given == "uint8" and x.ndim >= 3 and (is_fake(x) or not x.numel() or int(x.max()) > 1):
        yield Mend("dtype-mismatch", "dtype", what, as_floats(x, want))
    if given != wanted and not (want.first_is_table and not x.is_floating_point()):
        yield Mend("dtype-mismatch", "dtype", what, f"{{x}}.to(torch.{wanted})")
    if x.dtype != torch.int64 and _is_whole(x):
        says = f"dtype {given} where the model {'calculates with numbers' if given == 'bool' else 'looks up int64 ids'}"
        yield Mend("dtype-mismatch", "dtype", says, "{x}.long()")
    if given != wanted and want.first_is_table and not x.is_floating_point():
        yield Mend("dtype-mismatch", "dtype", what, f"{{x}}.to(torch.{wanted})")


def as_floats(x: Any, want: Wants) -> str:
    """Stored pictures and sounds as the model's floats: bytes, and sound of 16 bits, on a scale to one."""
    scale = {"torch.uint8": 255, "torch.int16": 32768}.get(str(x.dtype))
    return f"({{x}}.to(torch.{want.dtype}) / {scale})" if scale else f"{{x}}.to(torch.{want.dtype})"


def _is_whole(x: Any) -> bool:
    """Whether values are whole numbers, which ids are; those of a fake tensor may be."""
    return is_fake(x) or not x.is_floating_point() or bool((x == x.round()).all())


def of_attention(x: Any) -> Iterator[Mend]:
    """Masks of tokens, or of pairs of tokens, for scores of several heads."""
    if str(x.dtype) == "torch.bool" and x.ndim in (2, 3):
        given, takes, ones = ("[B, T]", "[B, 1, 1, T]", 2) if x.ndim == 2 else ("[B, T, T]", "[B, 1, T, T]", 1)
        says = f"a mask of shape {given}, where the model's attention takes {takes}: one for all heads"
        yield Mend("shape-mismatch", "shape", says, f"{{x}}[:{', None' * ones}]")


def of_layout(x: Any, want: Wants) -> Iterator[Mend]:
    usual = {1, 3, 4, *want.channels}
    if x.ndim == 4 and x.shape[3] in usual:
        yield Mend(
            "layout-mismatch",
            "layout",
            "channels last, where the model takes [B, C, H, W]",
            "{x}.permute(0, 3, 1, 2).contiguous()",
        )
    if x.ndim == 4 and x.shape[1] in {1, 3, 4, *want.features}:
        yield Mend(
            "layout-mismatch",
            "layout",
            "channels first, where the model takes [B, H, W, C]",
            "{x}.permute(0, 2, 3, 1).contiguous()",
        )
    if x.ndim == 5:
        yield Mend(
            "layout-mismatch",
            "layout",
            "channels last, where the model takes [B, C, D, H, W]",
            "{x}.permute(0, 4, 1, 2, 3).contiguous()",
        )
        yield Mend(
            "layout-mismatch", "layout", "time and channels the other way round", "{x}.transpose(1, 2).contiguous()"
        )
    if x.ndim == 3:
        turned = Mend(
            "layout-mismatch",
            "layout",
            "the last two dimensions the other way round",
            "{x}.transpose(1, 2).contiguous()",
        )
        first = x.shape[2] in want.channels or x.shape[1] in want.features
        if first:
            yield turned
        says = "[B, T, …], where the model takes time first: [T, B, …]"
        yield Mend("layout-mismatch", "layout", says, "{x}.transpose(0, 1).contiguous()")
        if not first:
            yield turned


def of_channels(x: Any, want: Wants) -> Iterator[Mend]:
    if x.ndim == 3:
        yield Mend("channels-mismatch", "channels", "no dimension of channels", "{x}.unsqueeze(1)")
        if 1 in want.channels and 1 < x.shape[1] <= MOST_CHANNELS and x.is_floating_point():
            says = f"{x.shape[1]} channels where the model takes 1"
            yield Mend("channels-mismatch", "channels", says, "{x}.mean(1, keepdim=True)")
    if x.ndim != 4:
        return
    if 1 in want.channels:  # a volume
        yield Mend("channels-mismatch", "channels", "no dimension of channels", "{x}.unsqueeze(1)")
    for n in want.channels:
        says = f"{x.shape[1]} channel{'s' * (x.shape[1] != 1)} where the model takes {n}"
        if x.shape[1] == 1 and n > 1:
            yield Mend("channels-mismatch", "channels", says, f"{{x}}.expand(-1, {n}, -1, -1)")
        elif x.shape[1] == 4 and n == 3:
            yield Mend("channels-mismatch", "channels", says, "{x}[:, :3]")
        elif x.shape[1] in (3, 4) and n == 1:
            yield Mend("channels-mismatch", "channels", says, "{x}[:, :3].float().mean(1, keepdim=True)")


def of_shape(x: Any, want: Wants, pictures: bool = True, named: tuple[int, ...] = ()) -> Iterator[Mend]:
    each = math.prod(x.shape[1:])
    shape = f"shape [B{''.join(f', {d}' for d in x.shape[1:])}]"
    if x.ndim > 2 and each in want.features:
        yield Mend("shape-mismatch", "shape", f"{shape} where the model takes [B, {each}]", "{x}.flatten(1)")
    if x.ndim == 2 and each in want.channels:  # as a generator takes its noise
        for ones in (2, 1, 3):
            says = f"{shape} where the model takes [B, {each}{', 1' * ones}]"
            yield Mend("shape-mismatch", "shape", says, f"{{x}}[:, :{', None' * ones}]")
    if x.ndim == 2:
        for n in want.channels:
            side = math.isqrt(each // n) if n and each % n == 0 else 0
            if side > 1 and n * side * side == each:
                says = f"{shape} where the model takes [B, {n}, {side}, {side}]"
                yield Mend("shape-mismatch", "shape", says, f"{{x}}.unflatten(1, ({n}, {side}, {side}))")
        yield Mend("shape-mismatch", "shape", f"{shape} where the model takes [B, 1, {each}]", "{x}.unsqueeze(1)")
    if x.ndim in (1, 2, 3):
        yield Mend(
            "shape-mismatch",
            "shape",
            f"shape {list(x.shape)} without a batch dimension: let the DataLoader make batches",
            "{x}.unsqueeze(0)",
        )
        yield Mend(
            "shape-mismatch",
            "shape",
            f"{shape} where the model takes one more, trailing dimension",
            "{x}.unsqueeze(-1)",
        )
    for i in range(1, x.ndim):
        if x.shape[i] == 1:
            yield Mend("shape-mismatch", "shape", f"{shape} with an extra dimension of size 1", f"{{x}}.squeeze({i})")
    if x.ndim == 4 and (want.takes_pictures or pictures):
        given = tuple(x.shape[2:])
        how = SMOOTH if x.is_floating_point() else ""  # else classes
        runs = ", which the model refuses; it runs with"
        # what it says itself comes before guesses
        sizes = [(" where the model takes", (side, side), 0) for side in (*want.declared, *named)]
        sizes += [(runs, tuple(math.ceil(side / n) * n for side in given), n) for n in MULTIPLES]
        sizes += [(runs, (side, side), 0) for side in want.sides if side not in (*want.declared, *named)]
        for known, (height, width), n in sizes:
            if (height, width) != given:
                says = f"height and width {given[0]} x {given[1]}{known} {height} x {width}"
                yield Mend("shape-mismatch", "size", says, resized(height, width, how), n)
    yield from of_length(x, want, named)


def of_length(x: Any, want: Wants, named: tuple[int, ...] = ()) -> Iterator[Mend]:
    named = named if x.ndim == 2 and not x.is_floating_point() else ()  # else it may be features
    for n in (*named, *want.lengths) if x.ndim in (2, 3) else ():
        if 1 < n < x.shape[1]:
            says = f"length {x.shape[1]} where the model takes up to {n}"
            yield Mend("shape-mismatch", "size", says, f"{{x}}[:, :{n}].contiguous()")


def of_ids(x: Any, want: Wants, looked_up: Lookup | None = None) -> Iterator[Mend]:
    """``looked_up``: the table that refused the ids, if that is known."""
    if x.is_floating_point() or x.is_complex() or not x.numel() or is_fake(x):
        return
    least, most = int(x.min()), int(x.max())
    ids = f"ids from {least} to {most}"
    if looked_up is not None and looked_up.column is not None:
        n, column = looked_up.rows, looked_up.column
        given = x[..., column]
        if int(given.min()) < 0:
            here = f"torch.tensor({[j == column for j in range(x.shape[-1])]}, device={{x}}.device)"
            says = f"ids from {int(given.min())} to {int(given.max())} in column {column}{NEGATIVE}"
            yield Mend("out-of-range-ids", f"below {column}", says, f"torch.where(({{x}} < 0) & {here}, 0, {{x}})")
            return
        limits = [LARGEST] * x.shape[-1]
        limits[column] = n
        if int(given.min()) >= 1 and int(given.max()) == n:
            one = [int(j == column) for j in range(x.shape[-1])]
            says = f"ids from {int(given.min())} to {n} in column {column}, where the model knows 0 to {n - 1}"
            yield Mend("out-of-range-ids", f"ids {column}", says, f"({{x}} - torch.tensor({one}, device={{x}}.device))")
            return
        says = (
            f"ids from {int(given.min())} to {int(given.max())} in column {column}, where the model knows 0 to {n - 1}; make its table larger, "
            "or send unknown ids to one it knows"
        )
        table = f"torch.tensor({limits}, device={{x}}.device)"
        yield Mend(
            "out-of-range-ids", f"ids {column}", says, f"torch.where({{x}} < {table}, {{x}}, {looked_up.unknown})"
        )
        return
    if least < 0:
        says = f"ids of {IGNORE}{IGNORED_IDS}" if x[x < 0].unique().tolist() == [IGNORE] else f"{ids}{NEGATIVE}"
        yield Mend("out-of-range-ids", "below", says, "torch.where({x} < 0, 0, {x})")
    lengths = ends(x) if x.ndim == 2 else None
    for n in want.tables if looked_up is None else (looked_up.rows,):
        unknown = 0 if looked_up is None else looked_up.unknown
        if lengths is not None and most == int(x[:, -1].mode().values) >= n > int(x[x != most].max()):
            says = f"the padding id {most}, where the model knows 0 to {n - 1}: pad with an id that it knows, or make its table larger"
            yield Mend("out-of-range-ids", "ids", says, f"torch.where({{x}} == {most}, {unknown}, {{x}})")
        elif least >= 1 and most == n:
            yield Mend("out-of-range-ids", "ids", f"{ids}, where the model knows 0 to {n - 1}", "{x} - 1")
        elif most >= n:
            says = (
                f"{ids}, where the model knows 0 to {n - 1}; make its table larger, or send unknown ids to one it knows"
            )
            yield Mend("out-of-range-ids", "ids", says, f"torch.where({{x}} < {n}, {{x}}, {unknown})")


def of_frames(x: Any, frames: int) -> Iterator[Mend]:
    """Lengths in frames of the input, where the model makes fewer of them, by a factor."""
    if x.ndim != 1 or x.is_floating_point() or not x.numel() or is_fake(x) or not 0 < frames < int(x.max()):
        return
    by = round(int(x.max()) / frames)
    says = f"lengths up to {int(x.max())}, which count frames before the model shortens time by {by}: CTC loss is given {frames} frames"
    for made in (f"(({{x}} + {by - 1}) // {by})", f"({{x}} // {by})", f"({{x}} // {by} - 1)") if by > 1 else ():
        yield Mend("shape-mismatch", "frames", says, made)


def of_masks(x: Any) -> Iterator[Mend]:
    """Masks stored like images of one channel, [B, 1, H, W], as the class numbers [B, H, W] that cross-entropy takes."""
    if x.ndim != 4 or x.shape[1] != 1 or not x.numel() or is_fake(x) or not _is_whole(x):
        return
    white = black_and_white(x)
    given = str(x.dtype).removeprefix("torch.")
    of_dtype_too = "" if given == "int64" else f" and dtype {given}"
    says = f"masks of shape [B, 1, H, W]{of_dtype_too}{', of 0 and 255,' if white else ''}"
    scaled = "({x}.squeeze(1) // 255)" if white else "{x}.squeeze(1)"
    scaled += ".long()" if of_dtype_too else ""
    yield Mend("shape-mismatch", "label", f"{says} where the loss takes int64 class numbers [B, H, W]", scaled)


def of_one_hot(x: Any, error: str) -> Iterator[Mend]:
    """Class numbers as the rows of 0 and 1 that binary cross-entropy over several classes takes, by the size of the input that it names."""
    size = re.search(r"input size \(torch\.Size\(\[(?:\d+, )+(\d+)\]\)\)", error)
    classes = int(size[1]) if size is not None else 0
    whole = x.ndim == 1 and not x.is_floating_point() and not x.is_complex() and x.numel() and not is_fake(x)
    if whole and 0 <= int(x.min()) <= int(x.max()) < classes and classes > 1:
        says = f"class numbers [B] where the loss takes {classes} numbers a sample: 1 for its class, 0 for the others"
        yield Mend("shape-mismatch", "label", says, f"torch.nn.functional.one_hot({{x}}.long(), {classes}).float()")


def of_class_rows(x: Any, error: str) -> Iterator[Mend]:
    """Rows of 0 and 1 as the class numbers [B] that a loss of one class a sample takes."""
    if "multi-target not supported" in error and x.ndim == 2 and not is_fake(x) and one_hot(x):
        says = f"one-hot labels [B, {x.shape[1]}] where the loss takes class numbers [B]"
        yield Mend("shape-mismatch", "label", says, "{x}.argmax(1)")


def one_hot(x: Any) -> bool:
    """Whether each row is one 1 among zeros."""
    return bool(((x == 0) | (x == 1)).all()) and bool((x.sum(-1) == 1).all())


def black_and_white(x: Any) -> bool:
    """Whether values are 0 and 255, as images of one object are stored: 255 is then no mark of what has no class."""
    return bool(x.unique().tolist() == [0, 255])


def of_classes(x: Any) -> Iterator[Mend]:
    """Class numbers that begin at 1, or of which one stands for no class by custom: -100 is what cross-entropy leaves out."""
    if x.ndim == 2 and not is_fake(x):  # rows of an object each
        yield from of_class_column(x)
    if x.is_floating_point() or x.is_complex() or not x.numel() or is_fake(x):
        return
    values = x.unique()
    least, most = int(values[0]), int(values[-1])
    labels = f"labels from {least} to {most}"
    if black_and_white(x):
        yield Mend("label-out-of-range", "label", "labels of 0 and 255, where the loss takes 0 and 1", "{x} // 255")
        return
    if least == 1:
        yield Mend("label-out-of-range", "label", f"{labels}, where the loss takes 0 to {most - 1}", "{x} - 1")
    if most in IGNORED:
        says = f"{labels}, where {most} seems to mark unlabelled entries: pass ignore_index={most} to the loss, or -100"
        yield Mend("label-out-of-range", "label", says, f"torch.where({{x}} == {most}, -100, {{x}})")


def of_class_column(x: Any) -> Iterator[Mend]:
    """Class numbers that begin at 1 in a column of rows that hold other things too, such as boxes."""
    for j in range(x.shape[1] if len(x) and not x.is_complex() else 0):
        column = x[:, j]
        if bool((column == column.round()).all()) and int(column.min()) == 1 < int(column.max()):
            one = [int(i == j) for i in range(x.shape[1])]
            says = f"classes from 1 to {int(column.max())} in column {j}, where the loss takes 0 to {int(column.max()) - 1}"
            yield Mend("label-out-of-range", "label", says, f"({{x}} - torch.tensor({one}, device={{x}}.device))")


def of_target(x: Any, classes: int) -> Iterator[Mend]:
    """What might make a target fit a loss over so many classes (1: a number per sample)."""
    given, x = str(x.dtype).removeprefix("torch."), countable(x)
    if classes > 1:
        if x.ndim > 1 and x.shape[-1] == classes and (is_fake(x) or bool((x.sum(-1) == 1).all())):
            yield Mend("shape-mismatch", "label", "one-hot labels where the loss takes class numbers", "{x}.argmax(-1)")
        if x.numel() and not x.is_floating_point() and not x.is_complex() and not is_fake(x) and int(x.min()) == -1:
            says = "labels of -1, which usually mark unlabelled samples: pass ignore_index=-1 to the loss, or -100"
            yield Mend("label-out-of-range", "label", says, "torch.where({x} == -1, -100, {x}).long()")
        yield Mend("dtype-mismatch", "label", f"labels of dtype {given} where the loss takes int64", "{x}.long()")
        if x.ndim > 1 and x.shape[1] == 1:
            yield Mend(
                "shape-mismatch", "label", "labels of shape [B, 1] where the loss takes [B]", "{x}.squeeze(1).long()"
            )
        if x.numel() and not x.is_complex() and int(x.max()) == classes and int(x.min()) >= 1:
            says = f"labels from {int(x.min())} to {int(x.max())}, where the loss takes 0 to {classes - 1}"
            yield Mend("label-out-of-range", "label", says, "{x}.long() - 1")
    else:
        yield Mend("dtype-mismatch", "label", f"labels of dtype {given} where the loss takes float32", "{x}.float()")
        shape = f"[B{''.join(f', {d}' for d in x.shape[1:])}]"
        says = f"labels of shape {shape} and dtype {given} where the loss takes those of the output"
        yield Mend("shape-mismatch", "label", says, "{x}.float().unsqueeze(1)")
        yield Mend("shape-mismatch", "label", says, "{x}.float().squeeze(1)")


def is_fake(x: Any) -> bool:
    """Whether the tensor has a shape and no values."""
    return type(x).__name__ == "FakeTensor"
