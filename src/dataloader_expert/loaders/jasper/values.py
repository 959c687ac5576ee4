"""What the numbers of a tensor must be."""

from __future__ import annotations

import torch


def validate_no_nan_inf(tensor: torch.Tensor, name: str) -> None:
    """Passes numbers only; reads the tensor once and copies nothing.

    Args:
        tensor: of any shape and dtype.
        name: what messages call it.

    Raises:
        ValueError: if a value is NaN, or else if one is infinite.
    """
    if not tensor.numel() or not (tensor.is_floating_point() or tensor.is_complex()):
        return
    low, high = torch.aminmax(torch.view_as_real(tensor) if tensor.is_complex() else tensor)
    if low.isnan() or high.isnan():
        raise ValueError(f"{name} contains NaN values")
    if low.isinf() or high.isinf():
        raise ValueError(f"{name} contains Inf values")


def validate_values_in_range(
    tensor: torch.Tensor, name: str, min_value: float, max_value: float, inclusive: bool = True
) -> None:
    """Passes values between two bounds; NaN is between none.

    Args:
        tensor: of any shape, of real numbers.
        name: what messages call it.
        min_value, max_value: the bounds.
        inclusive: whether a value may equal a bound.

    Raises:
        ValueError: if a value is outside.
    """
    if not tensor.numel():
        return
    low, high = (bound.item() for bound in torch.aminmax(tensor))
    inside = min_value <= low and high <= max_value if inclusive else min_value < low and high < max_value
    if not inside:
        bounds = f"[{min_value}, {max_value}]" if inclusive else f"({min_value}, {max_value})"
        raise ValueError(f"{name} values must be in range {bounds}, and are in [{low}, {high}]")
