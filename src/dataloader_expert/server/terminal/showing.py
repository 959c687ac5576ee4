"""A result as it is printed: Markdown when piped, formatted with plots at a terminal."""

from __future__ import annotations

import os
import shutil
import sys
from typing import Any

from dataloader_expert.server.terminal.colours import Colours


def shown(markdown: str, result: dict[str, Any]) -> str:
    """What is printed on stdout for a report and its structured result."""
    if not sys.stdout.isatty() and not os.environ.get("FORCE_COLOR"):
        return markdown
    from dataloader_expert.server.terminal.markdown import WIDEST, rendered
    from dataloader_expert.server.terminal.plots import plots

    colours, columns = Colours.of(sys.stdout), shutil.get_terminal_size((80, 24)).columns
    return rendered(markdown, colours, columns) + "\n" + plots(result, colours, min(columns, WIDEST))
