"""Agents on threads: started, parked on questions, resumed."""

from ringi.runs.agent import Agent

__all__ = ["Agent"]
