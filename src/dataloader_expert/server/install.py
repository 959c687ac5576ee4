"""``install`` and ``uninstall`` at the terminal: the change is shown, confirmed, made, and recorded."""

from __future__ import annotations

import contextlib
import os
import sys
from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dataloader_expert.errors import RequestError, escaped

if TYPE_CHECKING:
    from dataloader_expert.server.clients.known import Place, Scope
    from dataloader_expert.server.clients.setting import Step

DONE, DECLINED, FAILED = 0, 1, 2


def install(given: Namespace) -> int:
    """Sets up a client; exit status 0 done or nothing to do, 1 not confirmed, 2 not possible."""
    from dataloader_expert.server.clients import record
    from dataloader_expert.server.clients.known import CLIENTS, Place
    from dataloader_expert.server.clients.program import program
    from dataloader_expert.server.clients.setting import installing

    place, client = Place.here(), CLIENTS[given.client]
    scope = _scope(given)
    roots = tuple(os.path.realpath(os.path.expanduser(root)) for root in given.root)
    try:
        for root in roots:
            if not os.path.isdir(root):
                raise RequestError("invalid-argument", f"--root {escaped(root)} is not a folder")
        steps = list(installing(client, scope, place, roots, record.read(place.state())))
        status = _carried_out(steps, place, given)
    except RequestError as e:
        print(e, file=sys.stderr)
        return FAILED
    if status == DONE and not given.dry_run:
        print(f"{client.title} is set up. {client.then}")
        if scope == "project" and os.path.isabs(program(client, scope, place)[0]):
            print("The command is a path on this machine: everyone else who clones the project must run this too.")
        print("Check it with `dataloader-expert doctor`.")
    return status


def uninstall(given: Namespace) -> int:
    """Undoes ``install``; the same exit statuses."""
    from dataloader_expert.server.clients import record
    from dataloader_expert.server.clients.known import CLIENTS, Place
    from dataloader_expert.server.clients.setting import uninstalling

    place, client = Place.here(), CLIENTS[given.client]
    try:
        steps = list(uninstalling(client, _scope(given), place, record.read(place.state())))
        status = _carried_out(steps, place, given)
    except RequestError as e:
        print(e, file=sys.stderr)
        return FAILED
    for step in steps:
        if step.left:
            print(f"{escaped(step.path, None)} was left unchanged: {step.left}.", file=sys.stderr)
    if status == DONE and not given.dry_run:
        print(f"{client.title} no longer starts dataloader-expert.")
    return status


def _scope(given: Namespace) -> Scope:
    from dataloader_expert.server.clients.known import CLIENTS

    return given.scope or CLIENTS[given.client].scopes[0]


def _carried_out(steps: list[Step], place: Place, given: Namespace) -> int:
    from dataloader_expert.server.terminal.colours import Colours

    colours = Colours.of(sys.stdout)
    shown = [step.diff() for step in steps]
    if not any(shown):
        print("Nothing to change.")
    for diff in filter(None, shown):
        print(colours.diff(diff), end="")
    if given.dry_run:
        return DONE
    if any(shown) and not given.yes and not _agreed():
        print("Nothing was changed.")
        return DECLINED
    _write(steps, place)
    return DONE


def _agreed() -> bool:
    if not sys.stdin.isatty():
        raise RequestError(
            "invalid-argument", "there is no terminal to ask for confirmation: pass --yes to make this change"
        )
    try:
        return input("Make this change? [y/N] ").strip().lower() in ("y", "yes")
    except (EOFError, KeyboardInterrupt):
        print()
        return False


def _write(steps: list[Step], place: Place) -> None:
    """Writes all files or none: those already written are restored if a later one fails."""
    from dataloader_expert.server.clients import record
    from dataloader_expert.server.clients.writing import content

    for step in steps:
        if content(step.path) != step.before:
            raise RequestError(
                "invalid-argument",
                f"{escaped(step.path, None)} has changed in the meantime, so nothing was written: try again",
            )
    done: list[Step] = []
    try:
        for step in steps:
            _put(step)
            done.append(step)
        kept = record.read(place.state())
        for step in steps:
            kept.pop(str(step.path), None)
            if step.change is not None:
                kept[str(step.path)] = step.change
        record.write(place.state(), kept)
    except RequestError:
        for step in reversed(done):
            _put(replace(step, before=step.after, after=step.before))
        raise


def _put(step: Step) -> None:
    from dataloader_expert.server.clients.writing import replaced

    if step.after is not None and step.after != step.before:
        try:
            step.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as e:
            raise RequestError(
                "invalid-argument", f"{escaped(step.path.parent)} cannot be written: {e.strerror}; nothing was changed"
            ) from None
        replaced(step.path, step.after)
    elif step.after is None and step.before is not None:
        step.path.unlink()
    if step.after is None:
        for folder in step.folders:  # those that were created for it, if they are empty now
            with contextlib.suppress(OSError):
                Path(folder).rmdir()
