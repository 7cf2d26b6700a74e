"""Figures about requests and decisions, counted from the events when somebody asks for them."""

from ringi.statistics.counting import Statistics

__all__ = ["Statistics"]
