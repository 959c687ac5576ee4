"""What kernels borrow on a CUDA device, compared with what traces allow for (``probes/model/kernels.py``).

``python -m benchmarks.kernels`` measures on the device, in a minute, by the peak that torch's allocator counts: sums over
the rows of a matrix, recurrent layers, convolutions. ``--show`` compares the last recorded run, without a device.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
from collections.abc import Iterator
from typing import Any

from benchmarks.common import RESULTS, keep
from dataloader_expert.probes.model.kernels import (
    PARTIAL_SUMS,
    recurrent_reserve,
    recurrent_workspace,
    reduction_buffer,
)

NAME = "kernels"
SHAPES = [
    *((3, 32, 3, 1, 64), (32, 32, 3, 1, 64), (32, 64, 3, 2, 64), (64, 64, 3, 1, 32), (128, 128, 3, 1, 16)),
    *((128, 64, 3, 1, 32), (512, 512, 3, 1, 7), (3, 64, 7, 2, 224), (64, 64, 1, 1, 56), (64, 256, 1, 1, 56)),
    *((256, 512, 1, 2, 28), (256, 256, 3, 1, 14), (96, 32, 3, 1, 64)),
]
"""Channels in and out, size of the kernel, stride, size of the picture."""
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
MOST = 4 << 30


def now() -> int:
    import torch

    torch.cuda.synchronize()
    return torch.cuda.memory_allocated()


def peak() -> int:
    import torch

    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated()


def reset() -> None:
    import torch

    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()


def sums() -> Iterator[dict[str, Any]]:
    import torch

    rows = (64, 128, 255, 256, 512, 1020, 1024, 4096, 16384, 65536)
    for dtype, n, m in itertools.product((torch.float32, torch.bfloat16), rows, (64, 512, 1000, 2048, 8000, 32000)):
        if n * m * 4 > MOST:
            continue
        x = torch.zeros(n, m, device="cuda", dtype=dtype)
        x.sum(0)
        reset()
        y = x.sum(0)
        yield {"rows": n, "columns": m, "dtype": str(dtype), "borrowed": peak() - now()}
        del x, y


def recurrent() -> Iterator[dict[str, Any]]:
    import torch

    batches = ((16, 64), (128, 64), (256, 64), (64, 128))
    for kind, layers, hidden, both, (batch, steps), inputs, half in itertools.product(
        GATES, (1, 2, 3), (128, 512), (False, True), batches, (16, 256), (False, True)
    ):
        if (layers == 3 and (both or inputs == 256 or kind == "RNN")) or (kind == "RNN" and half):
            continue
        layer = getattr(torch.nn, kind)(inputs, hidden, layers, batch_first=True, bidirectional=both).to("cuda")
        x = torch.randn(batch, steps, inputs, device="cuda")
        for turn in range(2):  # the first finds its algorithms
            with torch.autocast("cuda", dtype=torch.bfloat16, enabled=half):
                before = now()
                reset()
                y, h = layer(x)
                kept, most = now() - before, peak() - before
            y.backward(torch.ones_like(y))
            if turn:
                states = [h] if kind != "LSTM" else list(h)
                outs = sum(t.numel() * t.element_size() for t in (y, *states))
                shape = {"layers": layers, "hidden": hidden, "ways": 1 + both, "inputs": inputs, "steps": batch * steps}
                weights = sum(p.numel() for p in layer.parameters())
                values = {"width": 2 if half else 4, "weights": weights, "kept": kept - outs, "borrowed": most - kept}
                yield {"kind": kind, **shape, **values}
            layer.zero_grad(set_to_none=True)
            del y, h


def convolutions() -> Iterator[dict[str, Any]]:
    import torch

    for (ins, outs, kernel, stride, side), batch, dtype, last in itertools.product(
        SHAPES, (16, 64, 256), (torch.float32, torch.bfloat16), (False, True)
    ):
        if batch * side * side * max(ins, outs) * 4 > MOST // 4:
            continue
        order = torch.channels_last if last else torch.contiguous_format
        x = torch.randn(batch, ins, side, side, device="cuda", dtype=dtype).contiguous(memory_format=order)
        w = torch.randn(outs, ins, kernel, kernel, device="cuda", dtype=dtype).contiguous(memory_format=order)
        x.requires_grad_()
        w.requires_grad_()
        for turn in range(2):
            reset()
            y = torch.nn.functional.conv2d(x, w, stride=stride, padding=kernel // 2)
            borrowed = {"forward": peak() - now()}
            given = torch.ones_like(y)
            for name, of in (("weight", w), ("input", x)):
                reset()
                gradient = torch.autograd.grad(y, of, given, retain_graph=True)
                borrowed[name] = peak() - now()
                del gradient
            if turn:
                sizes = {"tensors": sum(t.numel() * t.element_size() for t in (x, w, y))}
                shape = {"shape": [ins, outs, kernel, stride, side], "batch": batch, "dtype": str(dtype)}
                yield {**shape, "channels_last": last, **sizes, **borrowed}
            del y, given


def compared(run: dict[str, Any]) -> None:
    """Prints how far what traces allow for is off what was borrowed."""
    off = [reduction_buffer(r["rows"], r["columns"], run["multiprocessors"]) - r["borrowed"] for r in run["sums"]]
    print(f"sums: {sum(abs(n) <= 1024 for n in off)} of {len(off)} within 1 KiB; {told(off, run['sums'], 'borrowed')}")
    for kind, gates in GATES.items():
        rows = [r for r in run["recurrent"] if r["kind"] == kind]
        borrowed, kept = [], []
        for r in rows:
            shape = (gates, r["layers"], r["hidden"], r["ways"])
            taken = recurrent_workspace(*shape, r["inputs"], r["steps"], r["width"]) + r["weights"] * r["width"]
            borrowed.append(taken - r["borrowed"])
            kept.append(recurrent_reserve(*shape) * r["steps"] * r["width"] - r["kept"])
        full = [(n, r) for n, r in zip(kept, rows, strict=True) if r["width"] == 4]  # else copies are kept as well
        print(f"{kind}: borrowed {told(borrowed, rows, 'borrowed')}")
        print(f"{kind}: kept {told([n for n, _ in full], [r for _, r in full], 'kept')}")
    for name in ("forward", "weight", "input"):
        rows, off = [], []
        for r in run["convolutions"]:
            pointwise = r["shape"][2:4] == [1, 1]
            if r["channels_last"] or pointwise or not r[name]:
                continue
            rows.append(r)
            off.append(r["tensors"] + PARTIAL_SUMS * (name == "weight") - r[name])
        print(f"convolutions, {name}: {told(off, rows, name)}")


def told(off: list[int], rows: list[dict[str, Any]], name: str) -> str:
    shares = sorted(abs(n) / max(1, r[name]) for n, r in zip(off, rows, strict=True))
    return (
        f"{len(rows)}: off by {statistics.median(shares):.1%} (median), {shares[int(0.9 * (len(shares) - 1))]:.1%} (90th"
        f" percentile), {shares[-1]:.1%} at most"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--show", action="store_true", help="the last recorded run")
    if parser.parse_args().show:
        compared(json.loads((RESULTS / f"{NAME}.jsonl").read_text().splitlines()[-1]))
        return
    import torch

    device = torch.cuda.get_device_properties(0)
    run: dict[str, Any] = {"device": device.name, "multiprocessors": device.multi_processor_count}
    run |= {"torch": torch.__version__, "sums": list(sums()), "recurrent": list(recurrent())}
    run["convolutions"] = list(convolutions())
    compared(run)
    keep(NAME, run)


if __name__ == "__main__":
    main()
