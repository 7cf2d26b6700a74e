"""Doors for other programs to tools and questions: the MCP server, the gate before MCP servers, ACP, editor hooks."""
