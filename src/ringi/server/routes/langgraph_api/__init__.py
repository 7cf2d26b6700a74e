"""LangGraph's own API over Ringi's threads and requests, for the tools that people already have."""
