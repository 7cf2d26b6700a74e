"""Runtimes: one room for each agent framework."""
