"""What a sample is, in few numbers: digests of its content, and of its parts."""

from __future__ import annotations

import hashlib
import math
import sys
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from dataloader_expert.checks.base import Context
from dataloader_expert.sources.base import Block
from dataloader_expert.sources.held import FEW, attributes
from dataloader_expert.sources.pictures import packed
from dataloader_expert.sources.roles import LISTED

try:
    import xxhash

    digest64: Callable[[bytes], int] = xxhash.xxh3_64_intdigest
    DIGEST = "xxh3-64"
except ImportError:  # the user's interpreter need not have it

    def digest64(data: bytes) -> int:
        return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")

    DIGEST = "blake2b-64"


RICH = ("image", "audio", "video", "text", "tokens", "sequence", "embedding", "array")
NAMES = {
    "id",
    "ids",
    "index",
    "idx",
    "key",
    "__key__",
    "path",
    "file",
    "filename",
    "file_name",
    "uuid",
    "uid",
    "sample_rate",
}
FILES = {"path", "file", "filename", "file_name"}
MEASURED = 4
"""The fewest numbers with a decimal point that show, all of them 0, that nothing was measured in a row."""
ROWS, FIRST_VALUES = 1 << 14, 8
PLAIN = {str, int, float, bool, bytes, type(None)}
"""Types of values whose text tells all of them."""
NESTED = PLAIN | {list, tuple, dict}
BY_IDENTITY: Any = object.__eq__
DEEPEST = 6
"""The most levels of objects in objects that are looked into."""
MOST_PARTS, MOST_BYTES = 10_000, 1 << 26
"""The most parts of a value that are read, and the most bytes of all of them."""


def content_fields(context: Context) -> list[str]:
    """The fields that make a sample what it is: the image or recording that others describe; else rich ones and conversations if there
    are any and they do not repeat from row to row (a table's names and titles are none), else all but the label, the split and keys."""
    if context.media is not None and any(f.name == context.media for f in context.fields):
        return [context.media]
    talks = context.conversations
    shown = [f.name for f in context.fields if f.dtype in ("list", "bytes")] if talks else []  # with what is said
    rich = [
        f for f in context.fields if (f.kind in RICH or f.name in talks or f.name in shown) and f.name != context.aside
    ]
    if context.short_texts:
        rich = [f for f in rich if f.kind != "text"]
    repeated = context.roles.repeats and all(f.kind in LISTED for f in rich)
    return [f.name for f in rich] if rich and not repeated else plain_fields(context)


def plain_fields(context: Context) -> list[str]:
    """All fields but the label, the split and keys, if any is left. Of annotations, file names count too: many are alike."""
    roles = context.roles
    aside = {context.aside, roles.split.field if roles.split is not None else None}
    named = [f.name for f in context.fields if f.name not in aside]
    keys = {r.field for r in roles.keys}
    files = {
        n for n in named if roles.repeats and n.lower() in FILES
    }  # rows alike but for these describe different files
    kept = [n for n in named if n in files or (n not in keys and n.lower() not in NAMES)]
    return kept or named or [f.name for f in context.fields]


def digests(block: Block, names: Sequence[str], onto: Any = None) -> Any:
    """One 64-bit digest a sample of its content, shape [samples], uint64.

    ``onto``: the samples' digests of other fields, which these go on from.
    """
    import numpy as np

    n = block.samples
    total = np.full(n, 0x9E3779B97F4A7C15, np.uint64) if onto is None else onto[:n].copy()
    for name in names:
        column = block.columns.get(name)
        values: Any = None if column is None else column.values[:n]
        made = False
        if column is not None and not (
            isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "biuf"
        ):
            if column.coded is not None:
                values = _coded(column.coded)[:n]
            else:
                values = _each(values if column.stacked is None else column.stacked[:n])
            made = True
        salt = np.uint64(digest64(name.encode()) & 0xFFFF)
        for at in range(0, n, ROWS):  # what is made of so many stays in the cache
            here = slice(at, min(at + ROWS, n))
            if column is None:
                part = np.zeros(here.stop - at, np.uint64)
            elif made:
                part = values[here]
            else:
                part = np.ascontiguousarray(values[here].astype(np.float64) + 0.0).view(np.uint64)
            if column is not None and column.nulls is not None:
                part = np.where(column.nulls[here], np.uint64(0x5BD1E995), part)
            mixed(np.bitwise_xor(total[here], part + salt, out=total[here]))
    return total


def blank(block: Block, names: Sequence[str], phrase: int = 0) -> Any:
    """Which samples are equal to others, but no copies: one value throughout, such as digital silence, blank texts, texts of up to
    ``phrase`` characters, rows in which all that is measured is 0, or what is in a value is unknown, as of a picture that was cut off; bool [n],
    None if none is. Made once a block."""
    import numpy as np

    columns = [block.columns[name].values for name in names if name in block.columns]
    if not columns:
        return np.ones(block.samples, bool) if block.samples else None
    single = [values for values in columns if isinstance(values, np.ndarray) and values.ndim < 2]
    if single:
        return _either(zero_rows(block, names), _unknown(columns))
    key = f"blank {list(names)} {phrase}"
    if key not in block.views:
        even = np.ones(len(columns[0]), bool)
        first: list[str | None] = []
        for values in columns:
            rows = np.flatnonzero(even)
            if isinstance(values, np.ndarray):
                even[rows] = constant(values[rows])
            elif phrase and values and isinstance(values[0], list):  # tokens, the first, and their tags
                first = first or [_joined(value) for value in values]
                even[rows] = [short(first[i], phrase) for i in rows.tolist()]
            elif not phrase and set(map(type, values)) == {str}:
                even[rows] = [not values[i] or values[i].isspace() for i in rows.tolist()]
            else:
                even[rows] = [_even(values[i], phrase) for i in rows.tolist()]
        unknown = _unknown(columns)
        block.views[key] = even if unknown is None else even | unknown
    return block.views[key] if block.views[key].any() else None


def _either(one: Any, other: Any) -> Any:
    return one if other is None else other if one is None else one | other


def _unknown(columns: list[Any]) -> Any:
    """Which samples have a value whose content is not known, bool [n]; None if none has."""
    import numpy as np

    found = None
    for values in columns:
        if isinstance(values, list) and not set(map(type, values)) <= PLAIN:
            found = _either(found, np.fromiter((is_unknown(v) for v in values), bool, len(values)))
    return found if found is not None and found.any() else None


def zero_rows(block: Block, names: Sequence[str]) -> Any:
    """Which rows have nothing but 0 in the measured ones of their columns, where these are several and most of all; bool [n], None if
    none has."""
    import numpy as np

    held = [block.columns[name].values for name in names if name in block.columns]
    measured = [v for v in held if isinstance(v, np.ndarray) and v.ndim < 2 and v.dtype.kind == "f"]
    columns = len(held)
    if len(measured) < MEASURED or 2 * len(measured) <= columns:
        return None
    rows = np.flatnonzero(measured[0] == 0)
    for values in measured[1:]:
        rows = rows[values[rows] == 0]
    none = np.zeros(len(measured[0]), bool)
    none[rows] = True
    return none if len(rows) else None


def constant(values: Any, least: int = 2) -> Any:
    """Which arrays, [n, ...], hold a single value, at least so many times; bool [n]."""
    import numpy as np

    one = np.zeros(len(values), bool)
    size = math.prod(values.shape[1:])
    if size >= least and values.dtype.kind in "biufc":
        flat = values.reshape(len(values), size)
        # few begin with equal values, and only those are compared in full
        rows = np.flatnonzero((flat[:, :FIRST_VALUES] == flat[:, :1]).all(1))
        one[rows] = (flat[rows] == flat[rows, :1]).all(1)
    return one


def short(value: Any, phrase: int) -> bool:
    """Whether it is a text of no more than so many characters, if there are any."""
    return isinstance(value, str) and len(value.strip()) <= phrase > 0


def _joined(tokens: Any) -> str | None:
    """The tokens of a sentence as its text; None of what is none."""
    return " ".join(tokens) if isinstance(tokens, list) and all(isinstance(t, str) for t in tokens) else None


def _even(value: Any, phrase: int) -> bool:
    """Whether an array of several values holds a single one, or an image a single colour; or a text is so short, or blank; or there is none."""
    if value is None:
        return True
    if isinstance(value, str):
        return not value.strip() or short(value, phrase)
    if hasattr(value, "getbands"):
        first = value.getpixel((0, 0))
        if first != value.getpixel((value.width - 1, value.height - 1)):
            return False
        import numpy as np

        pixels = np.asarray(value)
        return bool((pixels == pixels[:1, :1]).all())
    if not hasattr(value, "reshape") or value.size < 2 or value.dtype.kind not in "biuf":
        return False
    flat = value.reshape(-1)
    return bool(flat[0] == flat[-1] and (flat == flat[0]).all())


def _coded(coded: tuple[Any, list[str | None]]) -> Any:
    import numpy as np

    codes, texts = coded
    return np.array([digest64(content(text)) for text in texts], np.uint64)[codes]


def _each(values: Any) -> Any:
    """A digest of each value, uint64 [n]; of texts that come often, each is made once."""
    import numpy as np

    if isinstance(values, np.ndarray) and values.ndim > 1:
        head, rows = _head(values[:1][0]) if len(values) else b"", np.ascontiguousarray(values)
        return np.array([digest64(head + row.tobytes()) for row in rows], np.uint64)
    some = values[:1000] if isinstance(values, list) and len(values) > 1000 else []
    if some and set(map(type, some)) <= {str, type(None)} and 2 * len(set(some)) < len(some):
        try:
            table = {v: digest64(content(v)) for v in set(values)}
        except TypeError:  # among others stands one that is no key
            table = {}
        if table:
            return np.fromiter(map(table.__getitem__, values), np.uint64, len(values))
    if some and set(map(type, values)) == {str}:
        return np.fromiter((digest64(v.encode("utf-8", "surrogatepass")) for v in values), np.uint64, len(values))
    return np.array([digest(v) for v in values], np.uint64)


def digest(value: Any) -> int:
    """A value's content as 64 bits."""
    if not hasattr(value, "getbands") or value.mode != "RGB":
        return digest64(content(value))
    return digest64(f"{value.mode}{value.size}{digest64(packed(value))}".encode())


def mix(x: Any) -> Any:
    """splitmix64's finaliser of each value, uint64."""
    return mixed(x.copy())


def mixed(x: Any) -> Any:
    """``x``, uint64, with each value mixed in its place."""
    import numpy as np

    shifted = np.empty_like(x)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, None)):
        np.right_shift(x, np.uint64(shift), out=shifted)
        np.bitwise_xor(x, shifted, out=x)
        if factor is not None:
            np.multiply(x, np.uint64(factor), out=x)  # of whole arrays: wraps around without a warning
    return x


def content(value: Any) -> bytes:
    """A value's content as bytes, apart from how it was stored."""
    return _of_one(value) if parts_of(value) is None else _read(value).content


def is_unknown(value: Any) -> bool:
    """Whether what a value holds cannot be read, or only the first of it: one with equal bytes may be no copy."""
    return parts_of(value) is not None and not _read(value).known


@dataclass(frozen=True)
class _Content:
    """``known``: all of it was read, and not only types of objects."""

    content: bytes
    known: bool


def _read(value: Any) -> _Content:
    """A value and its parts, level by level, so that its own come before those of what it refers to. A long container that holds what it
    is part of, such as the list of samples of a data set that each sample keeps, is no part: to read it for each takes the square of
    their number."""
    found: list[bytes] = []
    waiting: deque[tuple[Any, Any, tuple[int, ...]]] = deque([(None, value, ())])
    told, whole, size = False, True, 0
    while waiting and len(found) < MOST_PARTS and size < MOST_BYTES:
        name, part, path = waiting.popleft()
        parts = None if id(part) in path else parts_of(part)
        if id(part) in path or (parts and len(parts) > FEW and any(id(inner) in path for _, inner in parts)):
            own = b"\0above"
        elif parts and len(path) < DEEPEST:
            own = f"{type(part).__name__}{len(parts)}".encode()
            waiting.extend((key, inner, (*path, id(part))) for key, inner in parts)
        elif parts is not None:
            own, whole = f"\0{type(part).__name__}".encode(), whole and not parts
        else:
            own, told = _of_one(part), True
        found.append(own if name is None else str(name).encode("utf-8", "surrogatepass") + b"=" + own)
        size += len(own)
    return _Content(b"\0".join(found), told and whole and not waiting)


def _of_one(value: Any) -> bytes:
    """What has no parts."""
    if value is None:
        return b"\0none"
    if hasattr(value, "getbands"):
        return f"{value.mode}{value.size}".encode() + bytes(value.tobytes())
    if _is_tensor(value):
        return _of_tensor(value)
    if isinstance(value, bytes):
        return value
    if isinstance(value, memoryview):
        return bytes(value)
    if hasattr(value, "tobytes") and hasattr(value, "dtype"):
        import numpy as np

        return _head(value) + bytes(np.ascontiguousarray(value).tobytes())
    return str(value).encode("utf-8", "surrogatepass")


def _is_tensor(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and bool(torch.is_tensor(value))


def _of_tensor(tensor: Any) -> bytes:
    """Of a sparse one, the values and where they are, since all of it may not fit into memory; its text, if it has no other form."""
    try:
        value = tensor.detach().cpu()
        if str(value.layout) != "torch.strided":
            value = value.to_sparse_coo().coalesce()
            return f"sparse{tuple(value.shape)}".encode() + _of_tensor(value.indices()) + _of_tensor(value.values())
        value = value.resolve_conj().resolve_neg()
        kept = value.dtype.is_complex or not value.dtype.is_floating_point or value.dtype.itemsize in (4, 8)
        value = (value if kept or str(value.dtype) == "torch.float16" else value.float()).numpy()
    except (AttributeError, TypeError, RuntimeError):  # quantized, nested, or without memory
        return str(tensor).encode("utf-8", "surrogatepass")
    return _head(value) + bytes(value.tobytes())


def parts_of(value: Any) -> list[tuple[Any, Any]] | None:
    """What a value consists of, where its text does not tell it apart from others: that of an object has its address, or only shapes, and
    that of a long array only its ends; none if that is unknown. None: the text tells, or it is an array, a picture or bytes."""
    if value is None or type(value) in PLAIN or hasattr(value, "tobytes") or _is_tensor(value):
        return None
    if isinstance(value, list | tuple | dict):
        return None if plain(value) else list(value.items() if isinstance(value, dict) else enumerate(value))
    if type(value).__eq__ is not BY_IDENTITY and not hasattr(value, "__dataclass_fields__"):
        return None
    parts = [(name, part) for name, part in attributes(value).items() if not isinstance(part, weakref.ref)]
    own_text = any(getattr(type(value), name) is not getattr(object, name) for name in ("__str__", "__repr__"))
    return None if not parts and own_text else parts  # its text is all there is


def plain(value: Any, within: tuple[int, ...] = ()) -> bool:
    """Whether a container holds nothing but texts, numbers and containers of these, and not itself."""
    parts = value.values() if isinstance(value, dict) else value
    kinds = set(map(type, parts))
    path = (*within, id(value))
    return kinds <= PLAIN or (
        kinds <= NESTED and all(type(part) in PLAIN or (id(part) not in path and plain(part, path)) for part in parts)
    )


def _head(array: Any) -> bytes:
    """What tells arrays of equal bytes apart."""
    return f"{array.dtype}{array.shape}".encode()


def digests_of(names: Sequence[str | None]) -> Any:
    """Digests of texts, such as names of splits, uint64 [n]."""
    import numpy as np

    return np.array([digest64(str(name).encode("utf-8", "surrogatepass")) for name in names], np.uint64)
