"""Hooks of coding agents: their calls of tools, their forms and their end, answered from the inbox.

`events.py` answers an event; `process.py` blocks the call whatever fails.
"""
