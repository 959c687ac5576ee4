"""Plots of a result for a terminal: classes, loading stages, throughput by workers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from dataloader_expert.server.terminal.colours import Colours, width

EIGHTHS = " ▏▎▍▌▋▊▉█"
MOST_BARS = 20
LONGEST_LABEL = 28


def plots(result: dict[str, Any], colours: Colours, columns: int) -> str:
    """The plots for which the result has figures; empty if there are none."""
    parts = [result, *(result[part] for part in ("characterization", "io") if isinstance(result.get(part), dict))]
    made = [
        plot for part in parts for plot in (_classes(part, colours, columns), *_loading(part, colours, columns)) if plot
    ]
    return "\n".join(made)


def _classes(result: dict[str, Any], colours: Colours, columns: int) -> str:
    counts = (result.get("classes") or {}).get("counts") or {}
    if len(counts) < 2:
        return ""
    ranked = sorted(counts.items(), key=lambda kv: -kv[1])
    rest = len(ranked) - MOST_BARS
    shown = [(str(name), float(n), f"{n:,}") for name, n in ranked[:MOST_BARS]]
    told = [colours.paint("Samples by class", "bold"), *bars(shown, colours, columns)]
    return "\n".join([*told, *([f"  and {rest:,} smaller classes"] if rest > 0 else []), ""])


def _loading(result: dict[str, Any], colours: Colours, columns: int) -> Iterator[str]:
    stages = [s for s in result.get("stages") or [] if (s.get("share") or {}).get("value")]
    if stages:
        shown = [(s["name"], s["share"]["value"], f"{100 * s['share']['value']:.0f} %") for s in stages]
        yield "\n".join(
            [colours.paint("Share of the time per sample", "bold"), *bars(shown, colours, columns, 1.0), ""]
        )
    trials = [t for t in result.get("trials") or [] if (t.get("throughput") or {}).get("value")]
    if len(trials) > 1:
        yield "\n".join([colours.paint("Throughput by settings", "bold"), *_intervals(trials, colours, columns), ""])


def _intervals(trials: Sequence[dict[str, Any]], colours: Colours, columns: int) -> Iterator[str]:
    """A mark at the throughput, and a line over its interval."""
    named = [(_settings(t), t["throughput"]) for t in trials]
    label = max(len(name) for name, _ in named)
    most = max(max(f["value"], f.get("high") or 0) for _, f in named)
    room = max(10, columns - label - 24)

    def at(value: float) -> int:
        place: int = min(room - 1, max(0, round((room - 1) * value / most)))
        return place

    for name, figure in named:
        cells = [" "] * room
        low, high = figure.get("low"), figure.get("high")
        if low is not None and high is not None:
            for i in range(at(low), at(high) + 1):
                cells[i] = "─"
            cells[at(low)], cells[at(high)] = "├", "┤"
        cells[at(figure["value"])] = "●"
        line = colours.paint("".join(cells), "cyan")
        yield f"  {name:<{label}}  {line} {figure['value']:,.0f} {figure['unit']}"


def _settings(trial: dict[str, Any]) -> str:
    told = f"num_workers={trial['num_workers']}"
    if trial.get("prefetch_factor") not in (None, 2):
        told += f", prefetch_factor={trial['prefetch_factor']}"
    if trial.get("persistent_workers"):
        told += ", persistent"
    if trial.get("in_order") is False:
        told += ", in_order=False"
    return told + f", batch {trial['batch_size']}" if trial.get("batch_size") else told


def bars(
    shown: Sequence[tuple[str, float, str]], colours: Colours, columns: int, most: float | None = None
) -> Iterator[str]:
    """Horizontal bars of (label, value, text), to an eighth of a column; ``most``: the value of a full bar."""
    label = min(LONGEST_LABEL, max(width(name) for name, _, _ in shown))
    room = max(10, columns - label - max(width(text) for _, _, text in shown) - 6)
    most = most or max(value for _, value, _ in shown) or 1.0
    for name, value, text in shown:
        eighths = round(8 * room * value / most)
        bar = "█" * (eighths // 8) + EIGHTHS[eighths % 8].strip()
        cut = name if width(name) <= label else name[: label - 1] + "…"
        pad = " " * (label - width(cut))
        yield f"  {cut}{pad}  {colours.paint(bar or '▏', 'cyan')} {text}"
