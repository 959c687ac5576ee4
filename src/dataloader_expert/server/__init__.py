"""The wire: tools, prompts and resources over MCP, and the same tools at the terminal."""
