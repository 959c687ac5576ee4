"""What all results share, and the rule that no conclusion is without its facts."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from dataloader_expert.conclusions import Advice, Finding
from dataloader_expert.facts import Fact, Facts

How = Literal["counted", "sampled", "timed", "probed", "declared", "derived"]
Detail = Literal["concise", "full"]


class Model(BaseModel):
    """Frozen; unknown fields are refused, so that a misspelt one fails a test instead of vanishing."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


WIDE = 100.0
"""How many times its lower end the upper end of an interval may be if it is shown."""


class Figure(Model):
    """A measured figure: value, unit, 95 % interval (null if there is none), number of observations, how it was obtained."""

    value: float | None
    unit: str
    low: float | None = None
    high: float | None = None
    n: int | None = None
    how: How

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The interval, unless there is none or it says nothing, as that of two blocks that lie far apart."""
        if self.low is None or self.high is None or (self.low > 0 and self.high > WIDE * self.low):
            return None
        return self.low, self.high


class EvidenceLine(Model):
    fact: str
    at: dict[str, Any]
    value: Any
    unit: str
    how: How


class FindingLine(Model):
    code: str
    severity: Literal["error", "warning", "info"]
    message: str
    evidence: list[EvidenceLine]
    fix: str
    where: list[dict[str, Any]]
    count: int
    cost: float | None = None

    @classmethod
    def of(cls, finding: Finding) -> FindingLine:
        return cls.model_validate(finding.to_json())


class AdviceLine(Model):
    setting: str
    value: Any
    instead_of: Any
    why: str
    gain: Figure | None
    cost: str
    evidence: list[EvidenceLine]
    only_if: str | None = None


class Coverage(Model):
    samples_total: int | None
    samples_read: int
    files_total: int | None
    files_read: int | None
    complete: bool


class Environment(Model):
    python: str | None
    torch: str | None
    cpus: float
    memory_bytes: int
    shm_bytes: int
    devices: list[dict[str, Any]]


class UnknownLine(Model):
    what: str
    why: str


class Next(Model):
    tool: str
    arguments: dict[str, Any]
    why: str


class Picture(Model):
    """A thumbnail of a sample of a batch, or of one with the finding ``why``; ``data`` null: it cannot be shown.

    ``width``, ``height``: of an image, in pixels; for audio and sequences the number of steps, and null.
    """

    of: Literal["batch", "findings"]
    field: str | None
    sample: int | None
    file: str | None
    label: str | None
    why: str | None
    width: int | None
    height: int | None
    scaled: list[float] | None = None
    data: str | None


class Shortened(Model):
    shown: int
    total: int


class Report(Model):
    """The fields that all results have."""

    tool: str = Field(description="the tool that made this result")
    source: str = Field(description="the source as requested")
    format: str = Field(description="the format found")
    modality: str | None = Field(description="image, tabular, text, tokens, audio, sequence, embedding, array…")
    summary: str = Field(description="at most three sentences")
    findings: list[FindingLine]
    coverage: Coverage
    environment: Environment
    unknowns: list[UnknownLine] = Field(description="what could not be measured, and why")
    advice: list[AdviceLine]
    next: list[Next]
    elapsed_s: float
    report_uri: str | None = Field(None, description="the full report, kept until the server ends")
    shortened: dict[str, Shortened] = Field(
        default_factory=dict, description="lists and maps shortened in concise detail, by path, with shown and total"
    )
    pictures: list[Picture] | None = Field(
        None, description="thumbnails of a batch and of odd samples; at report_uri only, as JSON or HTML"
    )
    rest: str | None = Field(None, description="how to get all of it; null if nothing was shortened")
    report_markdown: str = Field("", description="the rendered report, the same as the text block")


class Unsupported(ValueError):
    """A conclusion names a fact that was not measured."""


def supported(findings: list[Finding], advice: list[Advice], facts: Facts) -> None:
    """Raises:
    Unsupported: if any evidence is not among the facts.
    """
    known = {(f.quantity.name, _point(f.at)) for f in facts}
    named = [(f.code, f.evidence) for f in findings] + [(a.setting, a.evidence) for a in advice]
    for name, evidence in named:
        for line in evidence:
            if (line["fact"], _point(line["at"])) not in known:
                raise Unsupported(f"{name} rests on {line['fact']} at {line['at']}, which was not measured")


def figure(fact: Fact | None) -> Figure | None:
    """A fact's value as a figure of a result; None without a fact."""
    if fact is None or fact.value is None:
        return None
    low, high = fact.evidence.interval or (None, None)
    return Figure(
        value=fact.value, unit=fact.quantity.unit, low=low, high=high, n=fact.evidence.seen, how=fact.evidence.how
    )


def _point(at: Any) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((k, str(v)) for k, v in at.items()))
