"""Run agents on threads: start them, park them on questions and resume them."""

from ringi.runs.agent import Agent

__all__ = ["Agent"]
