"""Jinja templates and the functions that render them. A misspelt name in a template is an error."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from dataloader_expert.conclusions import capital
from dataloader_expert.errors import escaped
from dataloader_expert.facts import in_bytes

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

PICTURE = re.compile(r"data:image/(?:png|jpeg);base64,[A-Za-z0-9+/]+={0,2}")
"""The only kind of URL in a page, and only for an image."""


def render(template: str, /, **values: Any) -> str:
    """Renders ``TEMPLATE.jinja`` (``analysis.md``, ``code.py``) with these values, blank lines collapsed."""
    text = _environment().get_template(f"{template}.jinja").render(**values)
    lines: list[str] = []
    for line in text.splitlines():
        if line.strip() or (lines and lines[-1].strip()):
            lines.append(line.rstrip())
    return "\n".join(lines).strip() + "\n"


def prepare(template: str) -> None:
    """Compiles a template, with those that most reports import."""
    for name in (template, "_parts", "_checklist"):
        _environment().get_template(f"{name}.jinja")


def render_page(template: str, css: str, svg: Callable[[Any], str], /, **values: Any) -> str:
    """Renders the HTML template ``TEMPLATE.jinja``, every value escaped; ``svg`` draws a chart and escapes its texts."""
    from markupsafe import Markup

    safe = {"css": Markup(css), "svg": lambda chart: Markup(svg(chart))}  # ours, not text from outside
    return _page_environment().get_template(f"{template}.jinja").render(**safe, **values)


@cache
def _page_environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("dataloader_expert", "templates"),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        num=number, fig=figure, size=size, name=isolated, safe_text=printable, sentence=sentence, plain=plain, cell=cell,
        picture_alt=picture_alt, by_reason=by_reason, basename=lambda path: str(path).rsplit("/", 1)[-1],
    )  # fmt: skip
    environment.tests["picture"] = lambda data: isinstance(data, str) and PICTURE.fullmatch(data) is not None
    return environment


def printable(value: object) -> str:
    """Text for a page, without control or bidi characters; the environment escapes HTML."""
    return escaped(value, None)


def isolated(value: object, limit: int = 120) -> Markup:
    """A name from outside: printable, shortened, with its writing direction isolated."""
    from markupsafe import Markup

    return Markup("<bdi>{}</bdi>").format(escaped(value, limit))


def sentence(value: object) -> str:
    """A message as a sentence: with a full stop."""
    text = printable(value)
    return text if not text or text.endswith((".", "!", "?", "…")) else f"{text}."


def plain(value: Any, limit: int = 300) -> str:
    """A setting or a fact's value on one line."""
    if isinstance(value, dict):
        return escaped(", ".join(f"{k}={number(v)}" for k, v in value.items()), limit)
    return escaped(number(value), limit)


def cell(value: Any) -> str | Markup:
    """A table cell: numbers formatted for people, names isolated."""
    return isolated(value) if isinstance(value, str) else number(value)


def picture_alt(p: Any) -> str:
    """What an image shows, in words."""
    words = [f"sample {p.sample}" if p.sample is not None else "a sample of the batch"]
    words += [f"labelled {p.label}"] if p.label is not None else []
    words += [f"named by {p.why}"] if p.why else []
    return printable(", ".join(words))


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("dataloader_expert", "templates"),
        undefined=StrictUndefined,
        autoescape=False,  # Markdown, not HTML: names pass the filter q instead
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        q=quoted, num=number, fig=figure, share=share, size=size, pct=percent, short=short, code=in_code,
        ms=milliseconds, capital=capital, by_reason=by_reason,
    )  # fmt: skip
    return environment


_MARKUP = re.compile(r"[\\|`<>*\[\]#]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
"""What Markdown may take for markup; an underscore within a word is none, and paths are copied from reports."""


_OF_CODE = re.compile(r"(`[\w.]+`)")
"""Names of code as our own messages write them."""


def quoted(value: object, limit: int = 80) -> str:
    """A name from outside for Markdown: one line, markup escaped, shortened; a sentence (of more than 80 characters) after a word."""
    text = " ".join(str(value).split())
    if len(text) > limit:
        cut = text[: limit - 1]
        text = (cut.rsplit(" ", 1)[0] if limit > 80 else cut) + "…"
    parts = _OF_CODE.split(text)  # at odd places what is code: it has no markup, and stays as it is
    return "".join(part if i % 2 else _MARKUP.sub(r"\\\g<0>", part) for i, part in enumerate(parts))


def in_code(value: object, limit: int = 300) -> str:
    """A value for a code span: one line without the backtick that would end it, shortened."""
    text = " ".join(str(value).split()).replace("`", "'")
    return text if len(text) <= limit else text[: limit - 1] + "…"


def number(value: float | int | None) -> str:
    """Four significant digits with thousands separators; an em dash for None."""
    if value is None:
        return "—"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int) or (float(value).is_integer() and abs(value) < 1e15):
        return f"{int(value):,}"
    return f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"


def short(value: Any) -> str:
    """A list or map of constants, at most six of them."""
    if isinstance(value, dict):
        shown = ", ".join(f"{quoted(k)} {number(v)}" for k, v in list(value.items())[:6])
        return f"({shown}{f', … {len(value)} fields' if len(value) > 6 else ''})"
    if isinstance(value, list):
        return "[" + ", ".join(number(v) for v in value[:6]) + (" …]" if len(value) > 6 else "]")
    return number(value)


def figure(value: Any) -> str:
    """A figure with its interval and how it was obtained: ``1,204 samples/s (95 % 1,190 to 1,221, n=9, timed)``."""
    if value is None:
        return "unknown"
    parts = [] if value.bounds is None else ["95 % {} to {}".format(*map(number, value.bounds))]
    parts += ["no useful interval"] if value.bounds is None and value.low is not None else []
    return f"{number(value.value)} {value.unit} {_obtained(value, parts)}".replace("  ", " ")


def share(value: Any) -> str:
    """A fraction as a percentage, and how it was obtained: ``99.5 % (n=400, counted)``."""
    return "unknown" if value is None else f"{number(round(100 * value.value, 2))} % {_obtained(value, [])}"


def _obtained(value: Any, parts: list[str]) -> str:
    return f"({', '.join([*parts, *([f'n={value.n}'] if value.n is not None else []), value.how])})"


def milliseconds(value: float | None) -> str:
    """Three decimals at most, never an exponent."""
    return "—" if value is None else number(round(value, 3))


def by_reason(unknowns: Any) -> list[tuple[str, list[str]]]:
    """What was not measured, grouped by reason."""
    found: dict[str, list[str]] = {}
    for one in unknowns:
        found.setdefault(one.why, []).append(one.what)
    return list(found.items())


def size(value: float | None) -> str:
    """Bytes in the nearest unit of 1000."""
    return "unknown" if value is None else in_bytes(value)


def percent(value: float | None) -> str:
    return "—" if value is None else f"{100 * value:.1f} %"
