"""Hooks of coding agents: their calls of tools, their forms and their end, answered from the inbox."""
