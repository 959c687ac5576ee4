"""``python -m tests.conformance.server PORT ROOT``: our server over HTTP with the tools that the scenarios call by name.

The scenarios know nothing of data sets: they ask for a tool that returns a picture, one that fails, one that is a task.
These are registered on the very server that ``serve --http`` runs, so what is tried is its transport, its tasks, its
questions and its log messages.
"""

from __future__ import annotations

import asyncio
import base64
import json
import sys
from typing import Any, Literal

from mcp import MCPError
from mcp.server import MCPServer
from mcp.server.extension import Extension
from mcp.server.mcpserver import AssistantMessage, Context, UserMessage
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import (
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    AudioContent,
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    EmbeddedResource,
    ImageContent,
    InputRequiredResult,
    LoggingMessageNotification,
    LoggingMessageNotificationParams,
    TextContent,
    TextResourceContents,
)
from pydantic import BaseModel, Field

from dataloader_expert.server.app import Server, registered
from dataloader_expert.server.tasks import IDENTIFIER, declared, working
from dataloader_expert.server.telling import Telling
from dataloader_expert.server.transports import http_app
from dataloader_expert.tools.execution import Settings

PIXEL = base64.b64encode(
    bytes.fromhex(
        "89504e470d0a1a0a0000000d49484452000000010000000108020000009077"
        "53de0000000c49444154789c63f8cfc0000003010100c9fe92ef0000000049454e44ae426082"
    )
).decode()
SILENCE = base64.b64encode(
    b"RIFF\x26\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x40\x1f\0\0\x80\x3e\0\0\2\0\x10\0data\2\0\0\0\0\0"
).decode()
TASK_ONLY = ("failing_job", "test_tool_with_task")


class TaskOnly(Extension):
    """Refuses a tool that can only be a task to a client that does not take tasks."""

    identifier = "io.github.dataloader-expert/conformance"

    async def intercept_tool_call(self, params: Any, ctx: Any, call_next: Any) -> Any:
        if params.name in TASK_ONLY and not declared(ctx):
            missing: dict[str, Any] = {"requiredCapabilities": {"extensions": {IDENTIFIER: {}}}}
            raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, "this tool is a task", missing)
        return await call_next(ctx)


def text(said: str, failed: bool = False) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=said)], is_error=failed)


def question(key: str, message: str, field: str, state: str | None = None) -> InputRequiredResult:
    return questions({key: (message, field)}, state)


def questions(asked: dict[str, tuple[str, str]], state: str | None = None) -> InputRequiredResult:
    requests = {
        key: ElicitRequest(
            params=ElicitRequestFormParams(
                message=message,
                requested_schema={
                    "type": "object",
                    "properties": {field: {"type": "string" if field != "confirm" else "boolean"}},
                    "required": [field],
                },
            )
        )
        for key, (message, field) in asked.items()
    }
    return InputRequiredResult(input_requests=dict(requests), request_state=state)


def answer(ctx: Context[Any], key: str, field: str) -> Any:
    """What the client answered; None where it has not, or not what was asked."""
    given = (ctx.input_responses or {}).get(key)
    return (given.content or {}).get(field) if isinstance(given, ElicitResult) else None


def fixtures(mcp: MCPServer[Any], server: Server) -> None:
    _contents(mcp)
    _limits(mcp, server)
    _resources_and_prompts(mcp)
    _questions(mcp)
    _forms(mcp)
    _tasks(mcp)


def _contents(mcp: MCPServer[Any]) -> None:
    @mcp.tool(description="a text")
    async def test_simple_text() -> CallToolResult:
        return text("This is a simple text response for testing.")

    @mcp.tool(description="a picture")
    async def test_image_content() -> CallToolResult:
        return CallToolResult(content=[ImageContent(type="image", data=PIXEL, mime_type="image/png")])

    @mcp.tool(description="a sound")
    async def test_audio_content() -> CallToolResult:
        return CallToolResult(content=[AudioContent(type="audio", data=SILENCE, mime_type="audio/wav")])

    @mcp.tool(description="a resource")
    async def test_embedded_resource() -> CallToolResult:
        return CallToolResult(content=[embedded("test://embedded-resource", "This is an embedded resource content.")])

    @mcp.tool(description="a text, a picture and a resource")
    async def test_multiple_content_types() -> CallToolResult:
        return CallToolResult(
            content=[
                TextContent(type="text", text="Multiple content types test:"),
                ImageContent(type="image", data=PIXEL, mime_type="image/png"),
                embedded("test://mixed-content-resource", '{"test":"data","value":123}', "application/json"),
            ]
        )

    @mcp.tool(description="fails")
    async def test_error_handling() -> CallToolResult:
        raise ToolError("This tool intentionally returns an error for testing")

    @mcp.tool(description="tells of progress")
    async def test_tool_with_progress(ctx: Context[Any]) -> CallToolResult:
        for step in (0, 50, 100):
            await ctx.report_progress(step, 100)
            await asyncio.sleep(0.05)
        return text("done")

    @mcp.tool(description="sends log messages")
    async def test_tool_with_logging(ctx: Context[Any]) -> CallToolResult:
        for said in ("Tool execution started", "Tool processing data", "Tool execution completed"):
            message = LoggingMessageNotification(params=LoggingMessageNotificationParams(level="info", data=said))
            await ctx.session.send_notification(message, related_request_id=ctx.request_id)
            await asyncio.sleep(0.05)
        return text("done")


def _limits(mcp: MCPServer[Any], server: Server) -> None:
    """What depends on what the client declared."""

    @mcp.tool(description="needs sampling")
    async def test_missing_capability(ctx: Context[Any]) -> CallToolResult:
        if ctx.client_capabilities is None or ctx.client_capabilities.sampling is None:
            missing: dict[str, Any] = {"requiredCapabilities": {"sampling": {}}}
            raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, "this tool needs sampling", missing)
        return text("sampling is there")

    @mcp.tool(description="logs as our tools do")
    async def test_logging_tool(ctx: Context[Any]) -> CallToolResult:
        telling = Telling(ctx, 1, None, server.levels)
        async with telling.going_on():
            telling.take({"event": "finding", "finding": {"severity": "error", "code": "a-code", "message": "found"}})
        return text("done")


def embedded(uri: str, said: str, mime_type: str = "text/plain") -> EmbeddedResource:
    return EmbeddedResource(type="resource", resource=TextResourceContents(uri=uri, mime_type=mime_type, text=said))


def _resources_and_prompts(mcp: MCPServer[Any]) -> None:
    @mcp.resource("test://static-text", mime_type="text/plain", description="a text")
    def static_text() -> str:
        return "This is the content of the static text resource."

    @mcp.resource("test://static-binary", mime_type="image/png", description="a picture")
    def static_binary() -> bytes:
        return base64.b64decode(PIXEL)

    @mcp.resource("test://template/{id}/data", mime_type="application/json", description="by id")
    def template(id: str) -> str:
        return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})

    @mcp.prompt(description="a text")
    def test_simple_prompt() -> str:
        return "This is a simple prompt for testing."

    @mcp.prompt(description="a text with two arguments")
    def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
        return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"

    @mcp.prompt(description="a resource")
    def test_prompt_with_embedded_resource(resourceUri: str) -> list[UserMessage | AssistantMessage]:
        resource = embedded(resourceUri, "Embedded resource content for testing.")
        return [UserMessage(resource), UserMessage("Please process the embedded resource above.")]

    @mcp.prompt(description="a picture")
    def test_prompt_with_image() -> list[UserMessage | AssistantMessage]:
        picture = ImageContent(type="image", data=PIXEL, mime_type="image/png")
        return [UserMessage(picture), UserMessage("Please analyze the image above.")]


def _questions(mcp: MCPServer[Any]) -> None:
    @mcp.tool(description="asks for a name")
    async def test_input_required_result_elicitation(ctx: Context[Any]) -> CallToolResult | InputRequiredResult:
        name = answer(ctx, "user_name", "name")
        return question("user_name", "What is your name?", "name") if name is None else text(f"Hello, {name}!")

    @mcp.tool(description="asks for a confirmation")
    async def test_input_required_result_request_state(ctx: Context[Any]) -> CallToolResult | InputRequiredResult:
        if ctx.request_state != "asked":
            return question("confirm", "Please confirm", "ok", "asked")
        return text("state-ok")

    @mcp.tool(description="asks for a confirmation")
    async def test_input_required_result_tampered_state(ctx: Context[Any]) -> CallToolResult | InputRequiredResult:
        if ctx.request_state != "asked":
            return question("confirm", "Please confirm", "ok", "asked")
        return text("state-ok")

    @mcp.tool(description="asks twice")
    async def test_input_required_result_multi_round(ctx: Context[Any]) -> CallToolResult | InputRequiredResult:
        if ctx.request_state is None:
            return question("step1", "Step 1: What is your name?", "name", "1")
        if ctx.request_state == "1":
            return question("step2", "Step 2: What is your favorite color?", "color", "2")
        return text("done")


class Person(BaseModel):
    username: str = Field(description="User's response")
    email: str = Field(description="User's email address")


class Defaults(BaseModel):
    name: str = "John Doe"
    age: int = 30
    score: float = 95.5
    status: Literal["active", "inactive", "pending"] = "active"
    verified: bool = True


def _forms(mcp: MCPServer[Any]) -> None:
    """Questions as older revisions ask them: while the call waits."""

    @mcp.tool(description="asks for a person")
    async def test_elicitation(ctx: Context[Any], message: str) -> CallToolResult:
        return text(f"User response: {(await ctx.elicit(message, Person)).action}")

    @mcp.tool(description="asks with defaults")
    async def test_elicitation_sep1034_defaults(ctx: Context[Any]) -> CallToolResult:
        return text(f"Elicitation completed: {(await ctx.elicit('Who?', Defaults)).action}")


def _tasks(mcp: MCPServer[Any]) -> None:
    @mcp.tool(description="greets at once")
    async def greet(name: str) -> CallToolResult:
        return text(f"Hello, {name}!")

    @mcp.tool(description="takes its time")
    async def slow_compute(seconds: float = 1, label: str = "") -> CallToolResult:
        working()
        await asyncio.sleep(seconds)
        return text(f"computed {label}")

    @mcp.tool(description="fails after a while")
    async def failing_job() -> CallToolResult:
        working()
        await asyncio.sleep(0.5)
        raise ToolError("this job fails")

    @mcp.tool(description="breaks the protocol")
    async def protocol_error_job() -> CallToolResult:
        working()
        await asyncio.sleep(0.1)
        raise MCPError(-32603, "this job breaks")

    @mcp.tool(description="asks while it works")
    async def confirm_delete(ctx: Context[Any], filename: str) -> CallToolResult | InputRequiredResult:
        working()
        confirmed = answer(ctx, "confirm", "confirm")
        if confirmed is None:
            return question("confirm", f"Delete {filename}?", "confirm")
        return text(f"{filename}: {'deleted' if confirmed else 'kept'}")

    @mcp.tool(description="asks two things while it works")
    async def multi_input(ctx: Context[Any]) -> CallToolResult | InputRequiredResult:
        working()
        if answer(ctx, "one", "name") is None or answer(ctx, "two", "name") is None:
            return questions({"one": ("Who?", "name"), "two": ("Who else?", "name")})
        return text("both answered")

    @mcp.tool(description="asks, then works")
    async def test_tool_with_task(ctx: Context[Any]) -> CallToolResult | InputRequiredResult:
        name = answer(ctx, "user_name", "name")
        if name is None:
            return question("user_name", "What is your name?", "name")
        working()
        await asyncio.sleep(0.1)
        return text(f"Hello, {name}!")


def main(port: int, root: str) -> None:
    import uvicorn

    server = Server(Settings((root,)))
    mcp = registered(server, extensions=[TaskOnly()])
    fixtures(mcp, server)
    uvicorn.run(http_app(mcp, "127.0.0.1", port, [], None), host="127.0.0.1", port=port, log_level="warning")


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
