"""What a model expects of each field that it is fed, as the layers say that get it."""

from __future__ import annotations

from typing import Any

from dataloader_expert.errors import listed
from dataloader_expert.probes.model.calling import evaluated, few_of, given_to
from dataloader_expert.probes.model.mends import column_of, is_fake
from dataloader_expert.probes.model.unsigned import is_unsigned
from dataloader_expert.probes.model.ways import Way, wrapped

UNKNOWN = "unknown: no layer shows it"


def expects(model: Any, way: Way | None = None, batch: Any = None, n: int = 0) -> str:
    """By field, where several are fed to layers; of one field alone what its layer, or else the first that is called, expects."""
    from torch import nn

    convolutions = (nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)
    kinds = (*convolutions, nn.Linear, nn.Embedding, nn.LSTM, nn.GRU, nn.RNN)
    layers = [m for m in model.modules() if isinstance(m, kinds)] if hasattr(model, "modules") else []
    if not layers:
        return UNKNOWN
    if way is None:
        return of_layer(layers[0])
    few, _ = few_of(batch, n)
    got, _ = given_to(model, way, few, *kinds)
    fields = fed(way, few)
    found = {name: next((m for m, given in got if any(same(x, t) for t in given)), None) for name, x in fields.items()}
    told = {name: of_layer(m) for name, m in found.items() if m is not None}
    told |= {name: said for name, x in fields.items() if name not in told and (said := of_columns(x, got))}
    told |= {name: as_fed(fields[name]) for name in way.mends if name in fields and name not in told and told}
    if len(fields) > 1 and told:
        return "; ".join(f"{name}: {told[name]}" for name in fields if name in told)
    return next(iter(told.values()), of_layer(got[0][0] if got else layers[0]))


def fed(way: Way, batch: Any) -> dict[str, Any]:
    """The tensors that the way feeds, by field, as it feeds them."""
    found: dict[str, Any] = {}
    for (_, expression), name in zip(way.arguments, way.names, strict=True):
        x = evaluated(wrapped(expression, way.mends.get(name, ())), batch)
        if hasattr(x, "is_floating_point"):
            found[name] = x
    return found


def same(x: Any, given: Any) -> bool:
    """Whether a layer is given this tensor, or its numbers in another dtype."""
    if x is given:
        return True
    if x.shape != given.shape or is_fake(x) or is_fake(given) or is_unsigned(x):
        return False
    return bool((x == given).all())


def as_fed(x: Any) -> str:
    """A tensor with which the call ran."""
    shape = ", ".join(["B", *map(str, x.shape[1:])]) if x.ndim else ""
    return f"{str(x.dtype).removeprefix('torch.')} [{shape}]"


def of_columns(x: Any, got: list[Any]) -> str:
    """A tensor of which tables look up one column each; empty for others."""
    from torch import nn

    tables = (
        {} if is_fake(x) else {column_of(x, ids): m for m, given in got if isinstance(m, nn.Embedding) for ids in given}
    )
    below = [f"column {at} below {m.num_embeddings}" for at, m in tables.items() if at is not None]
    return f"{as_fed(x)}: {listed(below)} (Embedding)" if below else ""


def of_layer(layer: Any) -> str:
    from torch import nn

    kind = type(layer).__name__
    if isinstance(layer, nn.Linear):
        return f"float [B, …, {layer.in_features}] ({kind})"
    if isinstance(layer, nn.Embedding):
        return f"int64 [B, …] below {layer.num_embeddings} ({kind})"
    if isinstance(layer, nn.RNNBase):
        order = "B, T" if layer.batch_first else "T, B"
        return f"float [{order}, {layer.input_size}] ({kind})"
    dims = ", ".join(["*"] * len(layer.kernel_size))
    return f"float [B, {layer.in_channels}, {dims}] ({kind})"
