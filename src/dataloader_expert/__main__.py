"""The installed command, also as ``python -m dataloader_expert``."""

from __future__ import annotations

import signal
import sys


def main() -> int:
    """Runs a command; until it handles Ctrl-C itself, that ends the process without a traceback."""
    usual = signal.getsignal(signal.SIGINT)
    if usual is signal.default_int_handler:  # a shell may have had it ignored
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from dataloader_expert.server.command import main as run

    signal.signal(signal.SIGINT, usual)
    return run()


if __name__ == "__main__":
    sys.exit(main())
