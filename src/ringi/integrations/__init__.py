"""What an agent's code calls to ask and to gate its tools: plain functions, LangChain, LangGraph, Pydantic AI."""
