"""The demo: scikit-learn's handwritten digits as PNG files, analysed through the server as a client would."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from dataloader_expert.errors import RequestError
from dataloader_expert.page.file import keep
from dataloader_expert.server.terminal.progress import Bar

TRAIN_SHARE = 0.8


def make_demo(folder: Path) -> Path:
    """Writes the 1,797 digits as 8 x 8 grey PNG files in ``train`` and ``test`` class folders below ``folder``, and returns it.

    Source: Alpaydin and Kaynak, Optical Recognition of Handwritten Digits (UCI, 1998), as in ``sklearn.datasets``.

    Raises:
        RequestError: ``extra-missing`` without scikit-learn; ``invalid-argument`` if ``folder`` is not empty.
    """
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        raise RequestError(
            "extra-missing", "the demo data come with scikit-learn: pip install 'dataloader-expert[demo]'"
        ) from None
    import numpy as np
    from PIL import Image

    if folder.exists() and any(folder.iterdir()):
        raise RequestError("invalid-argument", f"{folder} is not empty: name a new folder, or leave it out")
    digits = load_digits()
    for name in range(10):
        members = np.flatnonzero(digits.target == name)
        for i, row in enumerate(members.tolist()):
            target = folder / ("train" if i < TRAIN_SHARE * len(members) else "test") / str(name)
            target.mkdir(parents=True, exist_ok=True)
            pixels = (digits.images[row] * (255 / 16)).round().astype(np.uint8)  # stored as 0 to 16
            Image.fromarray(pixels).save(target / f"{row:04d}.png")
    return folder


async def ask(tool: str, asked: dict[str, Any], bar: Bar | None, html: Path | None = None) -> Any:
    """The tool's result from a server started for it over stdio; its page is written to ``html``, progress goes to ``bar``.

    Raises:
        RequestError: the server's error.
    """
    from mcp import Client, StdioServerParameters

    async def say(progress: float, total: float | None, message: str | None) -> None:
        if bar is not None:
            bar.draw(message or "")

    command = ["-m", "dataloader_expert.server.command", "serve", "--root", asked["source"]]
    async with Client(StdioServerParameters(command=sys.executable, args=command)) as client:
        result = await client.call_tool(tool, asked, read_timeout_seconds=300, progress_callback=say)
        if html is not None and result.structured_content is not None:
            page = await client.read_resource(f"{result.structured_content['report_uri']}.html")
            keep(getattr(page.contents[0], "text", ""), html)
    if bar is not None:
        bar.clear()
    if result.is_error:
        raise RequestError("dataset-raised", f"the server answered {result.content[0]}")
    return result.structured_content
