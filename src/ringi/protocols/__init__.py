"""Protocols of other front ends, each an extension of the server: AG-UI, the API of LangGraph, forms in a chat."""
