"""Traces of models that read values, select by masks, draw numbers, or attend in ways that no kernel takes whole."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch._subclasses.fake_tensor import DataDependentOutputException
from torch.nn.attention import SDPBackend, sdpa_kernel

from dataloader_expert.probes.model import cuda_semantics
from dataloader_expert.probes.model.attention import attention_in_steps, is_fused
from dataloader_expert.probes.model.empty_model import made_empty
from dataloader_expert.probes.model.memory import work
from dataloader_expert.probes.model.spec import batch_of, of_input, to_json
from dataloader_expert.probes.model.trials import Setup, Trial, run_here, traced, values_read
from dataloader_expert.probes.model.values_read import SIZE, answered
from dataloader_expert.probes.model.ways import Way

IDS = {"shape": ["B", 32], "dtype": "int64", "low": 0, "high": 99}
ALL = {"shape": ["B", 32], "dtype": "int64", "low": 1, "high": 1}


def call(model: Any, batch: Any) -> tuple[Callable[[], Any], Any]:
    return (lambda: model(**batch)), None


def of(model: Callable[[], Any], described: dict[str, Any], size: int = 64) -> Trial:
    """The trace, with the values that the model reads if it reads any."""
    tree = of_input(described)
    return answered(
        lambda values: traced(lambda: made_empty(model), lambda: batch_of(tree, size), call, size, Setup(), values),
        lambda: values_read(model, lambda: batch_of(tree, SIZE), call, Setup()),
        None,
    )[0]


def real(model: Callable[[], Any], described: dict[str, Any], size: int = 64) -> Trial:
    tree = of_input(described)
    return run_here(model, lambda: batch_of(tree, size), call, size, Setup())


class Words(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table, self.head, self.instead = nn.Embedding(100, 64), nn.Linear(64, 100), nn.Parameter(torch.zeros(64))

    def hidden(self, ids: torch.Tensor) -> Any:
        return self.table(ids) * 1.0


class Selects(Words):
    """As masked language models and speech encoders do it: rows replaced by a mask, and a loss over those it keeps."""

    def forward(self, ids: torch.Tensor, keep: torch.Tensor) -> Any:
        keep = keep.bool()
        x = self.hidden(ids)
        x[keep] = self.instead
        out, wanted = self.head(x)[keep], ids.masked_select(keep)
        return {"loss": F.cross_entropy(out, wanted) + 0.0 * torch.nonzero(keep).float().mean()}


class Guards(Words):
    """Refuses labels beyond its table, and reads a length of each sample."""

    def forward(self, ids: torch.Tensor, keep: torch.Tensor) -> Any:
        if ids.max() >= 100:
            raise ValueError("beyond the table")
        lengths = keep.sum(1).tolist()
        return {"loss": self.head(self.hidden(ids))[:, : max(lengths)].mean()}


class DropsLayers(Words):
    """Leaves out a layer by one random number, as speech encoders do in training; it never should in a trace."""

    def forward(self, ids: torch.Tensor) -> Any:
        x = self.hidden(ids)
        for _ in range(8):
            if torch.rand([]) < 0.9:
                continue
            x = x.relu() + self.head(x).mean(-1, keepdim=True)
        return {"loss": x.mean()}


class KeepsLayers(DropsLayers):
    def forward(self, ids: torch.Tensor) -> Any:
        x = self.hidden(ids)
        for _ in range(8):
            x = x.relu() + self.head(x).mean(-1, keepdim=True)
        return {"loss": x.mean()}


class Aligns(Words):
    """Connectionist temporal classification, whose table hangs on the length of the targets."""

    def forward(self, ids: torch.Tensor) -> Any:
        scores = self.head(self.hidden(ids)).log_softmax(-1).transpose(0, 1)
        full = torch.full((len(ids),), 32)
        return {"loss": F.ctc_loss(scores, ids[:, :8].clamp(1), full, torch.full((len(ids),), 8))}


class NoGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 1.0

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return None


class Stops(Words):
    """A parameter whose own function gives it no gradient."""

    def forward(self, ids: torch.Tensor) -> Any:
        return {"loss": (self.hidden(ids) + NoGradient.apply(self.instead)).mean()}  # type: ignore[no-untyped-call]  # torch's


def test_a_mask_selects_all_that_it_may() -> None:
    """Our promise: as much as a mask that keeps everything takes for real, to the byte, and it is said."""
    asked = {"ids": IDS, "keep": ALL}
    found, measured = of(Selects, asked), real(Selects, asked)
    assert found.phases == measured.phases
    assert found.by_mask
    assert not measured.by_mask


@pytest.mark.parametrize("model", [Guards, Aligns, Stops])
def test_what_reads_values_is_traced_as_it_runs(model: Callable[[], Any]) -> None:
    asked = {"ids": IDS, "keep": ALL} if model is Guards else {"ids": IDS}
    found, measured = of(model, asked), real(model, asked)
    assert found.phases == pytest.approx(measured.phases, rel=0.01)


def test_what_no_small_step_read_is_not_made_up() -> None:
    """Our promise: a read at a line that the small step did not come by is an error."""

    class Later(Words):
        def forward(self, ids: torch.Tensor) -> Any:
            if len(ids) > SIZE and ids.max() > 7:
                return {"loss": self.head(self.hidden(ids)).mean()}
            return {"loss": self.hidden(ids).mean()}

    with pytest.raises(DataDependentOutputException):
        of(Later, {"ids": IDS})


def test_no_layer_is_left_out() -> None:
    """Our promise: the same answer each time, that of the whole model."""
    first, again, whole = (of(m, {"ids": IDS}) for m in (DropsLayers, DropsLayers, KeepsLayers))
    assert first == again
    assert first.phases == whole.phases


def heads(query: int, key: int, dtype: torch.dtype = torch.float32, width: int = 16) -> tuple[Any, Any, Any]:
    q, k, v = (torch.randn(2, n, 12, width, dtype=dtype) for n in (query, key, key))
    return q, k, v


def test_one_process_traces_a_model_that_draws_the_same_way_each_time(tmp_path: Path) -> None:
    """Our promise: traces share a process, and what a model draws from random or numpy does not differ between them."""
    (tmp_path / "model.py").write_text(
        "import random, numpy as np, torch\n"
        "class Net(torch.nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.layer = torch.nn.Linear(8, 8)\n"
        "    def forward(self, x):\n"
        "        for _ in range(12):\n"
        "            if random.random() < 0.5 or np.random.rand() < 0.3:\n"
        "                x = self.layer(x).relu()\n"
        "        return x\n"
    )
    request = {
        "on": "trace",
        "spec": to_json(of_input({"x": {"shape": ["B", 8]}})),
        "call": Way(((None, "batch['x']"),), ("x",)).code(),
        "size": 32,
        "setup": asdict(Setup()),
        "values": None,
    }
    first, *others = (work(request, f"{tmp_path}/model.py:Net", {}, (str(tmp_path),)) for _ in range(5))
    assert all(other == first for other in others)


@pytest.mark.parametrize(
    ("given", "mask", "fused"),
    [
        pytest.param(heads(4, 4), None, True, id="float32"),
        pytest.param(heads(4, 2, torch.bfloat16), None, True, id="groups in half precision"),
        pytest.param(heads(4, 4), torch.zeros(4, 12, 12), True, id="mask"),
        pytest.param(heads(4, 4), torch.zeros(12, 12, 4).permute(2, 0, 1), False, id="mask laid out by heads"),
        pytest.param(heads(4, 4, width=6), None, False, id="width that no kernel takes"),
        pytest.param(tuple(t[0] for t in heads(4, 4)), None, False, id="three dimensions"),
        pytest.param(tuple(t.transpose(-1, -2) for t in heads(4, 4, width=12)), None, False, id="transposed"),
    ],
)
def test_which_attention_runs_in_one_kernel(given: Any, mask: Any, fused: bool) -> None:
    """Expected values: ``sdp_utils.cpp``, and for groups and masks what an H200 took (torch 2.11)."""
    query, key, value = given
    assert is_fused(query, key, value, mask, grouped=True) == fused


@pytest.mark.parametrize(("version", "fused"), [("2.11.0+cu130", False), ("2.13.0", False), ("2.14.1", True)])
def test_groups_of_heads_in_float32_by_version(version: str, fused: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "__version__", version)
    assert is_fused(*heads(4, 2), None, grouped=True) == fused


def test_attention_in_steps_is_attention() -> None:
    """The values of torch's own, for masks of both kinds, groups and scales."""
    seed = random.randrange(1 << 30)
    torch.manual_seed(seed)
    for groups in (1, 2):
        for mask in (None, torch.rand(12, 12) > 0.2, torch.randn(2, 4, 12, 12)):
            query, key, value = heads(4, 4 // groups)
            causal, scale = mask is None, random.Random(seed).choice([None, 0.7])
            expected = F.scaled_dot_product_attention(
                query, key, value, mask, is_causal=causal, scale=scale, enable_gqa=groups > 1
            )
            got = attention_in_steps(query, key, value, mask, 0.0, causal, scale)
            torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-5, equal_nan=True)


class Attends(nn.Module):
    def __init__(self, bias: bool) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(32, 96), nn.Linear(32, 32)
        self.bias = nn.Parameter(torch.zeros(16, 16, 4)) if bias else None

    def forward(self, x: torch.Tensor) -> Any:
        q, k, v = self.qkv(x).view(*x.shape[:2], 3, 4, 8).permute(2, 0, 3, 1, 4).unbind(0)
        mask = None if self.bias is None else self.bias.permute(2, 0, 1)[None]
        out = F.scaled_dot_product_attention(q, k, v, mask, is_causal=mask is None)
        return {"loss": self.out(out.transpose(1, 2).flatten(2)).mean()}


@pytest.mark.parametrize("bias", [False, True])
def test_attention_that_is_not_fused_takes_what_torch_takes(bias: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Our promise: the bytes of torch's own steps, on real tensors."""
    monkeypatch.setattr(cuda_semantics, "is_fused", lambda *_: False)
    asked = {"x": {"shape": ["B", 16, 32]}}
    ours = of(lambda: Attends(bias), asked)
    tree = of_input(asked)
    with sdpa_kernel(SDPBackend.MATH):
        from dataloader_expert.probes.model.live_bytes import PHASES, peaks
        from dataloader_expert.probes.model.trials import recorded

        stream, _ = recorded(Attends(bias), lambda: batch_of(tree, 64), call, Setup(), as_cuda=False)
    theirs = {p: peak.bytes for p, peak in peaks(stream, buffers=False).items() if p in PHASES}
    workspaces = ours.parts["workspace"]
    for phase, size in theirs.items():
        assert ours.phases[phase] - workspaces == pytest.approx(size, rel=0.02), phase
