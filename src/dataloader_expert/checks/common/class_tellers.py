"""Which class the content of samples tells, learnt from other samples: words by naive Bayes, numbers by the nearest mean.

Means are shrunken towards that of all (Tibshirani and others, "Diagnosis of multiple cancer types by shrunken centroids of gene
expression", PNAS 99(10), 2002), so that the many numbers in which classes are alike do not drown the few in which they differ.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from dataloader_expert.checks.base import Context
from dataloader_expert.checks.common.picture_hashes import Looks, looks
from dataloader_expert.checks.common.spectra import mixed_down, power, stacks, window
from dataloader_expert.checks.common.vectors import most_of, pooled, vectors
from dataloader_expert.checks.common.word_cells import likelihoods_by, presences_by
from dataloader_expert.checks.features import Channels
from dataloader_expert.sources.base import Block, Field

WIDEST = 256
"""The most numbers of a sample that are looked at."""
SHADES = 4
"""Shades of each colour channel by which the pixels of a picture are counted."""
SHRUNKEN, FEW = 2.0, 1.0
"""Standard errors by which means are shrunken, and the share of numbers at each end, in percent, that are taken for the next ones."""
LITTLE = 0.05
"""The least part of a number's spread that it is assumed to have within classes."""
RATE, USUAL_RATE, LONGEST = "sample_rate", 16_000.0, 1 << 17
"""The field with the rate of recordings, the one of those without it, and the most samples of one that are looked at."""
TONES, LOWEST, HIGHEST, FRAME = 24, 60.0, 10_000.0, 1024
"""Bands of a recording, in which Hz they begin and end, and samples of a frame."""
Teller = Callable[[Any, Any], Any]
"""Gives the class told of some rows, int64, learnt from others, both bool [n]; of rows among these without the row itself."""


def numbers_of_content(context: Context, block: Block, names: list[str], rows: Any) -> Any:
    """What these samples of a block look like, float32 [rows, d]: pictures in small and their colours; of other arrays with several channels
    their means, spreads and steps; of recordings the energies in bands and how they vary; NaN where there is none, or of images of another type than
    the field's."""
    import numpy as np

    field = next(f for f in context.fields if f.name == names[0])
    if field.kind == "image" and len(names) == 1:  # of these, small copies are made of a whole block at once
        every = block.once(("looks in numbers", field.name), None, lambda: _of_pictures(block, field))
        numbers: Any = every[rows]
        return numbers
    if field.kind == "audio" and len(names) == 1:
        return _bands(block, field.name, rows)
    part, rows = most_of(block, rows)
    channels = Channels.of(field) if len(field.shape) > 1 and len(names) == 1 else None
    moving = None if channels is None else part.once(("moving", channels), None, lambda: _of_channels(channels, part))
    made = vectors(part, names, len(names) == 1 and None not in field.shape)[rows]
    made = made if moving is None else np.concatenate([moving[rows], made], 1)
    return made[:, :WIDEST].astype(np.float32)


def _of_pictures(block: Block, field: Field) -> Any:
    """The same of all pictures of a block."""
    import numpy as np

    seen = looks(block, field.name)
    made = np.concatenate([pooled(seen), _colours(seen)], 1)
    stored = getattr(block.columns[field.name].values, "dtype", None)
    if stored is not None and stored.kind != "O" and stored.name != field.dtype:
        made[:] = np.nan  # on another scale, which is told elsewhere
    return made[:, :WIDEST].astype(np.float32)


def _colours(seen: Looks) -> Any:
    """Square roots of the shares of each picture's pixels in each shade, [n, shades]; zeros of those in gray."""
    import numpy as np

    at, made = np.flatnonzero(seen.coloured), np.zeros((len(seen.coloured), SHADES**3))
    codes = (seen.some[at] // (256 // SHADES)) @ np.array([SHADES**2, SHADES, 1], np.uint8)
    for i, own in zip(at.tolist(), codes, strict=True):
        made[i] = np.bincount(own.ravel(), minlength=SHADES**3)
    return np.sqrt(made / math.prod(codes.shape[1:]))


def _bands(block: Block, name: str, rows: Any) -> Any:
    """Decibels of each band of recordings, of all of it, and how these vary over time, float32 [rows, 2 * bands]; NaN where there is no
    sound. Made once of each row."""
    import numpy as np

    n = block.samples
    known, made = block.once(
        ("bands", name), None, lambda: (np.zeros(n, bool), np.full((n, 2 * TONES), np.nan, np.float32))
    )
    new = rows[~known[rows]]
    known[new] = True
    values, rates = block.columns[name].values, block.columns.get(RATE)
    for at, recordings in stacks([values[i] for i in new.tolist()]):
        here = new[at]
        each = [USUAL_RATE if rates is None else float(rates.values[i]) for i in here.tolist()]
        for rate in {*each} if recordings.shape[1] >= FRAME else ():
            own = np.array(each) == rate
            if rate > 2 * LOWEST:
                made[here[own]] = _bands_of(mixed_down(recordings[own, :LONGEST]), rate)
    return made[rows]


def _bands_of(waves: Any, rate: float) -> Any:
    import numpy as np

    n, frames = len(waves), waves.shape[1] // FRAME
    parts = waves[:, : frames * FRAME].reshape(n * frames, FRAME)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):  # an infinity makes these NaN
        energy = power((parts - parts.mean(1, keepdims=True)) * window(FRAME))
        at = np.searchsorted(np.fft.rfftfreq(FRAME, 1 / rate), np.geomspace(LOWEST, HIGHEST, TONES + 1))
        places = np.arange(energy.shape[1])[:, None]
        inside = (places >= at[:-1]) & (places < at[1:])
        bands = (energy @ inside.astype(np.float32)).reshape(n, frames, TONES)
        total = bands.sum((1, 2), dtype=np.float64)
        shares = 10 * np.log10(bands / (total / frames)[:, None, None] + 1e-6)
        found = np.concatenate([shares.mean(1), shares.std(1)], 1)
    found[~(np.isfinite(total) & (total > 0))] = np.nan
    return found


def _of_channels(channels: Channels, block: Block) -> Any:
    """The mean of each channel, and the logarithms of its spread and of the spread of its steps, [samples, 3 * channels]; None where it
    has no steps."""
    import numpy as np

    made = np.full((block.samples, 3 * channels.width), np.nan)
    for first, values in channels.in_block(block):
        x = values.astype(np.float64)
        if x.shape[2] < 2:
            return None
        with np.errstate(invalid="ignore", over="ignore"):
            spreads = [np.log(x.std(2) + 1e-9), np.log(np.diff(x, axis=2).std(2) + 1e-9)]
            made[first : first + len(x)] = np.concatenate([x.mean(2), *spreads], 1)
    return made


def by_words(cells: Any, label: Any, classes: int) -> Teller:
    """``cells``: those of each text's words, int32 [n, words]; ``label``: int64 [n]."""

    def told(rows: Any, others: Any) -> Any:
        return likelihoods_by(cells, label, classes, rows, others).argmax(1)

    return told


def by_presence(cells: Any, label: Any, classes: int) -> Teller:
    """As :func:`by_words`, of few texts too."""

    def told(rows: Any, others: Any) -> Any:
        return presences_by(cells, label, classes, rows, others).argmax(1)

    return told


def by_means(x: Any, label: Any, classes: int) -> Teller:
    """``x``: float [n, d], NaN for what is missing, which is taken for the mean; ``label``: int64 [n]."""
    import numpy as np

    x = np.where(np.isfinite(x), x, np.nan).astype(np.float64)
    x = x[:, np.isfinite(x).any(0)]
    x = np.clip(x, *np.nanpercentile(x, (FEW, 100 - FEW), axis=0))
    x = np.nan_to_num(x - np.nanmean(x, 0))
    spread = x.std(0)
    x = x[:, spread > 0] / spread[spread > 0]
    which = np.eye(classes)[label]
    every = which.T @ x, (x * x).sum(0), which.sum(0)

    def told(rows: Any, others: Any) -> Any:
        left = ~others  # those that are left out are fewer
        sums, squares, counts = (
            every[0] - which[left].T @ x[left],
            every[1] - (x[left] ** 2).sum(0),
            which[others].sum(0),
        )
        means = sums / np.maximum(counts, 1)[:, None]
        within = np.sqrt(np.maximum(squares - counts @ (means * means), 0) / max(1, counts.sum()))
        scale = np.maximum(within, LITTLE)
        middle = sums.sum(0) / max(1, counts.sum()) / scale
        apart = means / scale - middle
        limit = SHRUNKEN / np.sqrt(np.maximum(counts, 1))[:, None]
        apart = np.sign(apart) * np.maximum(np.abs(apart) - limit, 0)
        z = x[rows] / scale - middle
        far = (apart * apart).sum(1) - 2 * z @ apart.T  # and the square of z, which is the same for each class
        at = np.flatnonzero(others[rows])
        mine = label[rows][at]
        back = 1 / np.maximum(counts[mine] - 1, 1)[:, None]  # the mean of its own class without the row itself
        without = apart[mine] - back * (z[at] - apart[mine]) * (apart[mine] != 0)
        far[at, mine] = (without * without).sum(1) - 2 * (z[at] * without).sum(1)
        far[:, counts == 0] = np.inf
        return far.argmin(1)

    return told
