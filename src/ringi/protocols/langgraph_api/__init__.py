"""LangGraph's API over Ringi's threads and requests, for existing LangGraph tools."""
