"""What a data set is: structure, classes, statistics, preprocessing."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from dataloader_expert.report import Figure, Model, Report
from dataloader_expert.tools.base import Request, Tool, deferred


class Task(Model):
    name: str
    how: str


class Split(Model):
    name: str
    samples: int
    fraction: float


class Classes(Model):
    label: str
    count: int
    counts: dict[str, int]
    imbalance_ratio: float
    severe_imbalance: bool
    missing: int


class Sizes(Model):
    min: float
    median: float
    p95: float
    max: float


class Lengths(Model):
    """Of samples of varying length: recordings in seconds, else items such as tokens, boxes or steps."""

    min: float
    median: float
    mean: float
    p95: float
    p99: float
    max: float
    total: float
    unit: str


class Common(Model):
    value: Any
    count: int


class FieldLine(Model):
    name: str
    kind: str
    dtype: str
    shape: list[int | None]
    bytes: Sizes | None
    length: Lengths | None = None
    missing: int | None
    distinct: int | None = Field(
        None, description="values of a scalar; null: over 10,000 texts, long texts, or too many numbers"
    )
    common: list[Common] | None = Field(None, description="the 5 most frequent values; full detail only")
    boxes: str | None = Field(None, description="of boxes, what their four numbers are, and in which unit")


class Outliers(Model):
    rule: str
    low: float | None
    high: float | None
    count: int
    where: list[dict[str, Any]]


class Effect(Model):
    """``far``: number of values beyond the bounds of ``outliers``; after a logarithm, beyond those of the logarithms."""

    mean: float
    std: float
    skewness: float | None
    kurtosis: float | None
    far: int


class Treated(Model):
    """What to do with outliers or skewed values: how many are ``changed``, with statistics before and after."""

    do: Literal["treat as missing", "clip", "log1p"]
    arguments: dict[str, float]
    changed: int
    before: Effect
    after: Effect


class Statistics(Model):
    measure: Literal["value", "characters"] = Field("value", description="characters: of the lengths of texts")
    mean: float | None
    std: float | None
    min: float | None
    max: float | None
    quantiles: dict[str, float] | None
    skewness: float | None
    kurtosis: float | None
    distribution: Literal[
        "constant", "categorical", "count", "uniform", "normal", "skewed", "heavy-tailed", "multi-modal", "other"
    ]
    zeros: int
    nan: int
    inf: int
    outliers: Outliers | None
    treatment: Treated | None
    n: int


class Pair(Model):
    a: str
    b: str
    r: float


class Matrix(Model):
    """Pearson correlations of the features in the strongest pairs, at most 16."""

    names: list[str]
    r: list[list[float]]


class Correlation(Model):
    pairs: list[Pair]
    effective_rank: float
    matrix: Matrix | None = None


class Histogram(Model):
    """Counts between consecutive ``edges``; values ``below`` the first and ``above`` the last edge are counted separately."""

    field: str
    channel: str | None
    measure: Literal["value", "characters", "length", "height", "width"]
    edges: list[float]
    counts: list[int]
    below: int
    above: int


class Normalization(Model):
    method: Literal["standard", "min-max", "unit-norm", "log", "none"]
    mean: Any
    std: Any
    computed_on: str
    applied: bool | None


class Diversity(Model):
    distinct_fraction: Figure | None
    effective_rank: Figure | None
    near_duplicate_fraction: Figure | None


class Shards(Model):
    """Files with several samples: how many, the fewest and most samples in one, and the number of workers that each get a part."""

    count: int
    least: int
    most: int
    workers: int


class Fields(Model):
    task: Task
    samples: int | None
    files: int | None
    bytes: int | None
    location: str
    sharding: str | None
    shards: Shards | None
    splits: list[Split] | None
    classes: Classes | None
    class_counts_by_split: dict[str, dict[str, int]] | None = Field(None, description="full detail only")
    fields: list[FieldLine]
    statistics: dict[str, Any]
    histograms: list[Histogram] | None = Field(None, description="full detail only")
    correlation: Correlation | None
    normalization: Normalization | None
    diversity: Diversity


class Result(Report, Fields):
    pass


TOOL = Tool(
    "characterize_dataset",
    "characterize",
    "Characterize a data set",
    "What a data set contains: format, modality, number of samples, size on disk, splits, class counts, columns with shapes "
    "and dtypes, mean, std, missing values, outliers, correlation, normalization (mean and std of train). "
    "For defects: check_quality. Seconds.",
    Request,
    Result,
    *deferred("characterize_dataset"),
    hint="describe data set statistics class label distribution count columns features splits format size bytes images pictures audio channels correlated already normalized",
)
