"""``install`` and ``uninstall`` as data: what would change in which file. Nothing is written here."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dataloader_expert.errors import RequestError, escaped
from dataloader_expert.prompts import agent_md
from dataloader_expert.server.clients.editing import value_at, with_value, without
from dataloader_expert.server.clients.jsonc import Unparsable
from dataloader_expert.server.clients.known import SERVER, Client, Place, Scope
from dataloader_expert.server.clients.program import program
from dataloader_expert.server.clients.record import Change, change
from dataloader_expert.server.clients.writing import content, missing_folders

LONGEST, BEGINNING = 40, 12
SECRET = re.compile(
    r'("[^"]*(?:key|token|secret|passw|auth|credential)[^"]*"\s*:\s*")(?:[^"\\]|\\.)+(?=")', re.IGNORECASE
)
"""A value that may be a secret, judged by its key, in any entry: it is hidden in diffs, which may end up in a log."""


@dataclass(frozen=True)
class Step:
    """One file: its text before and after, None if there is no file; ``change`` is added to the record or removed from it.

    ``left``: why the file is left unchanged although something should be undone in it.
    """

    path: Path
    before: str | None
    after: str | None
    change: Change | None = None
    folders: tuple[str, ...] = ()
    left: str = ""

    def diff(self) -> str:
        """The change as a unified diff; empty if there is none. A long file that is created or deleted is shortened."""
        if self.before == self.after:
            return ""
        name = escaped(self.path, None)
        old = "/dev/null" if self.before is None else name
        new = "/dev/null" if self.after is None else name
        lines = list(difflib.unified_diff(_lines(self.before), _lines(self.after), old, new, n=3))
        shown = [line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines]
        if (self.before is None or self.after is None) and len(shown) > LONGEST:
            shown = [
                *(f"{line[:118].rstrip()}\n" for line in shown[:BEGINNING]),
                f"… {len(shown) - BEGINNING} more lines\n",
            ]
        return SECRET.sub(r"\1…", "".join(shown))


def installing(
    client: Client, scope: Scope, place: Place, roots: tuple[str, ...], kept: dict[str, Change]
) -> Iterator[Step]:
    """The steps that set up the client.

    Raises:
        RequestError: ``invalid-argument`` for a file that cannot be read or changed; then nothing is changed.
    """
    path = client.file(scope, place)
    if client.needs_roots(scope) and not roots:
        raise RequestError(
            "invalid-argument",
            f"{client.title} starts its servers outside any project: name the folder that may be read, as in "
            f"`dataloader-expert install {client.name} --{scope} --root DIR`",
        )
    entry = client.entry(scope, program(client, scope, place), roots)
    yield _configured(client, path, entry, kept.get(str(path)))
    agent = client.agent(scope, place)
    if agent is not None:
        yield _agent(agent, kept.get(str(agent)))


def uninstalling(client: Client, scope: Scope, place: Place, kept: dict[str, Change]) -> Iterator[Step]:
    """The steps that undo it; a file that was changed since loses only our entry.

    Raises:
        RequestError: as ``installing``.
    """
    path = client.file(scope, place)
    yield _restored(path, kept.get(str(path)), lambda text, made: _taken_out(client, path, text, made))
    agent = client.agent(scope, place)
    if agent is not None:
        yield _restored(agent, kept.get(str(agent)), lambda text, _: _own_agent(text))


def entry_of(client: Client, path: Path) -> Any:
    """The file's entry under our name; None if there is none.

    Raises:
        RequestError: ``invalid-argument`` for a file that cannot be read.
    """
    text = content(path)
    if text is None or not text.strip():
        return None
    with _named(path, client):
        _strict(client, text)
        return value_at(text, (client.key, SERVER))


def _configured(client: Client, path: Path, entry: dict[str, Any], known: Change | None) -> Step:
    before = content(path)
    if before is None or not before.strip("\ufeff \t\r\n"):
        after = json.dumps({client.key: {SERVER: entry}}, indent=2) + "\n"
        made, previous = True, None
    else:
        with _named(path, client):
            _strict(client, before)
            made = value_at(before, (client.key,)) is None
            previous = value_at(before, (client.key, SERVER))
            # a correct entry stays as it is written
            after = before if previous == entry else with_value(before, (client.key, SERVER), entry)
    if before == after:  # if nothing was changed there is nothing to undo, unless it was changed before
        return Step(path, before, after, known)
    if before is None or known is None:
        return Step(path, before, after, change(before, after, missing_folders(path), made, previous))
    original = None if known.created else known.undone(before)
    if known.undone(before) is None:  # changed by somebody since: keep the change, without our entry
        original, _ = _taken_out(client, path, before, known)
    return Step(path, before, after, change(original, after, known.folders, known.made, known.previous))


def _agent(path: Path, known: Change | None) -> Step:
    before, after = content(path), agent_md("installed")
    if before == after:
        return Step(path, before, after, known)
    if before is None or known is None or known.undone(before) is None:
        return Step(path, before, after, change(before, after, missing_folders(path)))
    original = None if known.created else known.undone(before)
    return Step(path, before, after, change(original, after, known.folders))


def _restored(path: Path, known: Change | None, otherwise: Any) -> Step:
    before = content(path)
    folders = known.folders if known is not None else ()
    if before is None:
        return Step(path, None, None, folders=folders)
    undone = known.undone(before) if known is not None else None
    if known is not None and undone is not None:
        return Step(path, before, None if known.created else undone, folders=folders)
    after, left = otherwise(before, known)
    return Step(path, before, after, folders=folders, left=left)


def _taken_out(client: Client, path: Path, text: str, known: Change | None) -> tuple[str | None, str]:
    if not text.strip("\ufeff \t\r\n"):
        return text, ""
    with _named(path, client):
        _strict(client, text)
        if value_at(text, (client.key, SERVER)) is None:
            return text, ""
        if known is not None and known.previous is not None:
            return with_value(text, (client.key, SERVER), known.previous), ""
        text = without(text, (client.key, SERVER))
        if known is not None and known.made and not value_at(text, (client.key,)):
            text = without(text, (client.key,))
        if known is not None and known.created and value_at(text, ()) == {}:
            return None, ""
        return text, ""


def _own_agent(text: str) -> tuple[str | None, str]:
    if text == agent_md("installed"):
        return None, ""
    return text, "it was changed since it was installed; delete it by hand if you no longer need it"


def _strict(client: Client, text: str) -> None:
    if not client.comments:
        try:
            json.loads(text.removeprefix("\ufeff"))
        except json.JSONDecodeError as e:
            raise Unparsable(f"line {e.lineno}, column {e.colno}: {e.msg}") from None
        except RecursionError:
            raise Unparsable("it is nested too deeply") from None


@contextmanager
def _named(path: Path, client: Client) -> Iterator[None]:
    """Turns a parsing error into one that names the file and says what to do."""
    try:
        yield
    except Unparsable as e:
        reads = "JSON with comments" if client.comments else "plain JSON"
        raise RequestError(
            "invalid-argument",
            f"{escaped(path, None)}: {e}. {client.title} reads {reads} there; fix the file first; nothing was changed",
        ) from None


def _lines(text: str | None) -> list[str]:
    return [] if text is None else text.splitlines(keepends=True)
