"""What a step on fake tensors takes for granted where it needs values: what the model reads, draws and selects by."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dataloader_expert.probes.model.values_read import Answers, Values

NEARLY_ONE = 1 - 2**-20


@contextmanager
def assuming(values: Values | None = None) -> Iterator[set[str]]:
    """Within it reads are answered by ``values``; a random number between 0 and 1 is so high that no layer is left out; a
    mask selects everything. Real tensors keep their values, random numbers apart.

    The set yielded says what was assumed: ``masks``.
    """
    import torch
    from torch._subclasses.fake_tensor import DataDependentOutputException, FakeTensor
    from torch.overrides import TorchFunctionMode
    from torch.utils._python_dispatch import TorchDispatchMode

    aten = torch.ops.aten
    by_index = {
        *(aten.index.Tensor, aten.index_put.default, aten.index_put_.default),
        *(aten._index_put_impl_.default, aten._unsafe_index_put.default),
    }
    drawn = {torch.rand, torch.randn, torch.randint}
    assumed: set[str] = set()
    answers = Answers(values or {})

    class Draws(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            made = func(*args, **(kwargs or {}))
            return _known(func, made, args, kwargs or {}) if func in drawn else made

    class Assumes(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch's
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func in by_index:
                args = (args[0], self._by_number(args[1]), *args[2:])
            selected = self._selected(func, args)
            if selected is not None:
                return selected
            try:
                return func(*args, **(kwargs or {}))
            except DataDependentOutputException as e:
                try:
                    return answers.next()
                except LookupError:
                    raise e from None

        def _by_number(self, indices: Any) -> list[Any]:
            """The indices, with numbers in the place of masks that have no values."""
            found: list[Any] = []
            for index in indices:
                if isinstance(index, FakeTensor) and index.dtype is torch.bool:
                    assumed.add("masks")
                    found += torch.empty((index.ndim, index.numel()), dtype=torch.int64, device=index.device).unbind(0)
                else:
                    found.append(index)
            return found

        def _selected(self, func: Any, args: Any) -> Any:
            """What an operation gives whose shape hangs on values that there are not: all that it may select. None of others."""
            t = args[0] if args else None
            if not isinstance(t, FakeTensor):
                return None
            if func is aten._ctc_loss.Tensor:
                steps, batch, _ = t.shape if t.ndim == 3 else (*t.shape[:1], 1, 0)
                longest = args[1].shape[1] if args[1].ndim == 2 else -(-args[1].numel() // batch)
                return t.new_empty(batch), t.new_empty((batch, steps, 2 * longest + 1))
            if func is aten.nonzero.default:
                assumed.add("masks")
                return torch.empty((t.numel(), t.ndim), dtype=torch.int64, device=t.device)
            if func is aten.masked_select.default:
                assumed.add("masks")
                whole = torch.broadcast_shapes(t.shape, args[1].shape)  # type: ignore[no-untyped-call]  # torch's
                return torch.empty(whole.numel(), dtype=t.dtype)
            return None

    with Draws(), Assumes():  # type: ignore[no-untyped-call]  # torch's
        yield assumed


def _known(func: Any, made: Any, args: Any, kwargs: Any) -> Any:
    """A single random number with a value, as whether a layer is left out hangs on it; others as they are."""
    import torch
    from torch.utils._python_dispatch import _disable_current_modes

    if made.numel() != 1 or made.requires_grad:
        return made
    with _disable_current_modes():
        value = func(*args, **{**kwargs, "device": "cpu"})
        number = (torch.full_like(value, NEARLY_ONE) if func is torch.rand else value).tolist()
    return torch.tensor(number, dtype=made.dtype)
