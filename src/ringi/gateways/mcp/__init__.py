"""The MCP server: a client's model asks people and waits for their answers."""
