"""The stores of Ringi: memory, SQLite, PostgreSQL and Redis."""

from ringi.base.outages import report_outages

__all__ = ["report_outages"]
