"""The report's page for clients: a resource, a view inside the client (MCP Apps), or images of its charts.

The view is one ``ui://`` resource for all tools: the host shows it in a sandboxed frame and passes it the tool's result;
the view then reads that report's page. See the ext-apps specification of 2026-01-26.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from mcp.server.apps import APP_MIME_TYPE, Apps, client_supports_apps
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.resources import FunctionResource
from mcp.types import ImageContent

from dataloader_expert import __version__

if TYPE_CHECKING:
    from dataloader_expert.report import Report

VIEW = "ui://dataloader-expert/report.html"
KEY_CHARTS = ("throughput", "stages", "overlap-exact", "classes", "drawn", "memory", "correlation")
"""The charts that are sent as images, the most informative first."""
MOST_IMAGES = 3


def view() -> Apps:
    """The extension that provides the view; nothing is rendered until a host reads it."""
    apps = Apps()
    apps.add_resource(
        FunctionResource(
            uri=VIEW,
            name="report",
            title="Report",
            description="The report of a call as a page inside the client",
            mime_type=APP_MIME_TYPE,
            meta={"ui": {"prefersBorder": False}},
            fn=shell,
        )
    )
    return apps


def shell() -> str:
    """The view before it receives a report."""
    from dataloader_expert.page.rendering import css
    from dataloader_expert.templates import render_page

    return render_page("app.html", css(), str, version=__version__)


def html(report: Report) -> str:
    from dataloader_expert.page.rendering import page

    return page(report)


def images(report: Report, ctx: Context[Any]) -> list[ImageContent]:
    """The key charts for a client that asked for full detail and cannot show the page: at most three, about 10 kB each."""
    if client_supports_apps(ctx):
        return []
    from dataloader_expert.charts.raster import png
    from dataloader_expert.page.rendering import charts_of

    by_key = {chart.key: chart for chart in charts_of(report)}
    chosen = [by_key[key] for key in KEY_CHARTS if key in by_key][:MOST_IMAGES]
    return [ImageContent(type="image", data=base64.b64encode(png(c)).decode(), mime_type="image/png") for c in chosen]
