"""The dimension of a set from the distances of samples to the nearest two others.

Source: Facco et al., "Estimating the intrinsic dimension of datasets by a minimal neighborhood information", 2017: the ratio of the two is below
``t`` for a share ``t ** d`` of samples, however dense these are.
"""

from __future__ import annotations

import math
from typing import Any


def dimension_of(ratios: Any) -> float:
    """That in which half the ratios of the nearest distance to the second are below their median."""
    import numpy as np

    middle = float(np.median(ratios)) if len(ratios) else 1.0
    return math.log(0.5) / math.log(min(max(middle, 1e-12), 1 - 1e-6))
