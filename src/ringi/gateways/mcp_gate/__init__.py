"""A gate before any MCP server: it passes everything but the calls of tools, which need an approval by the policy."""
