"""The page and its charts as clients get them: a resource, a view, images for those without."""

from __future__ import annotations

import asyncio
import base64
import io
import json
from pathlib import Path
from typing import Any, Literal

import pytest
from mcp import Client
from mcp.client.extension import advertise
from PIL import Image

from dataloader_expert.server.app import build
from dataloader_expert.server.pages import MOST_IMAGES, VIEW
from dataloader_expert.tools.execution import Settings
from tests.making.tiny import TINY
from tests.page.reading import read

pytestmark = pytest.mark.journey

APPS = advertise("io.modelcontextprotocol/ui", {"mimeTypes": ["text/html;profile=mcp-app"]})


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("pages")
    TINY["image-folder"](root)
    return root


def told(root: Path, detail: str, mode: Literal["auto", "legacy"] = "auto", **capabilities: Any) -> dict[str, Any]:
    """The answer of ``check_quality``, and what the client finds at its addresses."""

    async def run() -> dict[str, Any]:
        async with Client(build(Settings((str(root),))), mode=mode, **capabilities) as client:
            result = await client.call_tool("characterize_dataset", {"source": str(root), "detail": detail})
            assert result.structured_content is not None
            uri = result.structured_content["report_uri"]
            return {
                "result": result,
                "page": (await client.read_resource(f"{uri}.html")).contents[0],
                "json": (await client.read_resource(f"{uri}.json")).contents[0],
                "view": (await client.read_resource(VIEW)).contents[0],
                "tools": (await client.list_tools()).tools,
                "resources": (await client.list_resources()).resources,
            }

    return asyncio.run(run())


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_page_is_at_the_reports_address(root: Path, mode: Literal["auto", "legacy"]) -> None:
    """The contract: report://{id}.html, in both eras of the protocol."""
    found = told(root, "concise", mode)
    assert found["page"].mime_type == "text/html"
    assert read(found["page"].text).all("svg"), "a page without a chart"
    assert found["json"].mime_type == "application/json"
    assert json.loads(found["json"].text)["histograms"], "what is drawn is at the report's address"
    assert [c.type for c in found["result"].content] == ["text"]


def test_every_tool_names_the_view(root: Path) -> None:
    """MCP Apps: the tool's _meta names a ui:// resource that is listed, with the type that hosts look for."""
    found = told(root, "concise")
    assert {tool.meta["ui"]["resourceUri"] for tool in found["tools"]} == {VIEW}
    (listed,) = [r for r in found["resources"] if str(r.uri) == VIEW]
    assert listed.mime_type == found["view"].mime_type == "text/html;profile=mcp-app"
    view = read(found["view"].text)
    assert len(view.all("script")) == 1
    assert all(
        "src" not in e.attributes and "href" not in e.attributes for e in (*view.all("script"), *view.all("link"))
    )


def test_a_client_without_views_gets_images_in_full_detail(root: Path) -> None:
    """Our promise: who asks for everything and has no view of the page sees its key charts."""
    images = told(root, "full")["result"].content[1:]
    assert 0 < len(images) <= MOST_IMAGES
    for image in images:
        assert image.mime_type == "image/png"
        assert Image.open(io.BytesIO(base64.b64decode(image.data))).width == 768
        assert len(image.data) < 40_000


def test_a_client_with_views_gets_no_images(root: Path) -> None:
    """Our promise: what the view shows is not sent twice."""
    assert [c.type for c in told(root, "full", extensions=[APPS])["result"].content] == ["text"]
