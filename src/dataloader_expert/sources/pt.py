""".pt files, loaded with ``weights_only=True`` in the measuring child, never unpickled in any other way."""

from __future__ import annotations

import io
import pickle
import zipfile
from typing import Any

from dataloader_expert.errors import Unreadable
from dataloader_expert.sources.arrays import Header
from dataloader_expert.sources.base import Unit
from dataloader_expert.sources.bombs import FREE_CELLS, cells_of, no_flood, no_inflation
from dataloader_expert.sources.bundle import DAMAGED, Bundle
from dataloader_expert.sources.files import Entry


class Pt(Bundle):
    format = "pt"
    kinds = frozenset({"pt"})

    def headers(self, entry: Entry) -> dict[str, Header]:
        return {k: (v.dtype.str, v.shape) for k, v in load_tensors(self.listing.read(entry.path), entry.path).items()}

    def load(self, unit: Unit, raw: Any) -> dict[str, Any]:
        return load_tensors(raw, unit.file)


def load_tensors(data: bytes, file: str) -> dict[str, Any]:
    """Named arrays of a ``.pt`` file: a tensor, a mapping, or a list of tensors or of mappings.

    Raises:
        Unreadable: ``executable-payload`` if loading would need more than tensors and plain containers.
    """
    import numpy as np
    import torch

    if not data:
        raise Unreadable("empty-file", "0 bytes", file=file)
    if data[:4] == b"PK\x03\x04":
        try:
            archive = zipfile.ZipFile(io.BytesIO(data))
            no_inflation(sum(m.file_size for m in archive.infolist()), len(data), "the archive", file)
            bad = archive.testzip()
        except DAMAGED as e:
            raise Unreadable("truncated", f"the archive is damaged: {e}", file=file) from None
        if bad is not None:
            raise Unreadable("checksum-mismatch", f"member {bad} fails its CRC", file=file)
    elif data[:1] != b"\x80":
        raise Unreadable("not-the-format", f"not a torch file: begins with {data[:16]!r}", file=file)
    try:
        loaded = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as e:
        text = str(e)
        if "WeightsUnpickler" in text or "Unsupported" in text or "global" in text.lower():
            raise Unreadable("executable-payload", "needs classes other than tensors; not loaded", file=file) from None
        raise Unreadable("not-the-format", f"not a torch file: {text[:120]}", file=file) from None
    except Exception as e:  # torch raises RuntimeError, EOFError, KeyError… on damaged archives
        raise Unreadable("unreadable", f"torch cannot load it: {str(e)[:120]}", file=file) from None

    claimed = 0

    def plain(value: Any, name: str) -> Any:
        nonlocal claimed
        if isinstance(value, torch.Tensor):
            claimed += value.numel() * value.element_size()
            no_inflation(
                claimed, len(data), f"{name} of shape {list(value.shape)}", file
            )  # expanded: one stored value stands for many
            no_flood(cells_of(tuple(value.shape)), len(data), f"{name} of shape {list(value.shape)}", file)
            if value.layout != torch.strided or value.is_quantized:
                raise Unreadable(
                    "unreadable", f"{name} is a {value.layout} tensor; only dense ones are read", file=file
                )
            value = value.detach()
            return (value.float() if value.dtype == torch.bfloat16 else value).numpy()
        try:
            leaves = _leaves(value, 8 * FREE_CELLS)
        except RecursionError:
            raise Unreadable("bomb", f"{name} is nested too deeply", file=file) from None
        claimed += 8 * leaves
        no_inflation(claimed, len(data), name, file)
        return np.asarray(value)

    if isinstance(loaded, torch.Tensor):
        return {"data": plain(loaded, "data")}
    if isinstance(loaded, dict) and loaded and all(isinstance(k, str) for k in loaded):
        kept = {k: v for k, v in loaded.items() if isinstance(v, torch.Tensor | int | float | bool | list)}
        if any(isinstance(v, torch.Tensor) for v in kept.values()):
            arrays = {k: plain(v, k) for k, v in kept.items()}
            return {k: v for k, v in arrays.items() if v.dtype != object}
    if isinstance(loaded, list | tuple) and loaded and all(isinstance(v, torch.Tensor) for v in loaded):
        if len({v.shape for v in loaded}) == 1 and len({v.dtype for v in loaded}) == 1:
            return {"data": np.stack([plain(v, "data") for v in loaded])}
        if len({len(v) for v in loaded if v.ndim}) == 1:
            return {f"tensor{i}": plain(v, str(i)) for i, v in enumerate(loaded)}
    if isinstance(loaded, list) and loaded and all(isinstance(v, dict) for v in loaded):
        names = set.intersection(*(set(v) for v in loaded))
        try:
            return {k: np.stack([plain(v[k], k) for v in loaded]) for k in sorted(names)}
        except ValueError:
            pass
    raise Unreadable("unreadable", f"contains a {type(loaded).__name__}, not named tensors", file=file)


def _leaves(value: Any, most: int) -> int:
    """The number of lists and values in nested lists, which a pickle may repeat many times; counted up to ``most``."""
    if not isinstance(value, list | tuple):
        return 1
    count = 1
    for inner in value:
        count += _leaves(inner, most - count)
        if count >= most:
            break
    return count


SOURCE = Pt
