"""The stores of Ringi: memory, SQLite, PostgreSQL and Redis."""

from typing import TYPE_CHECKING

from ringi.base.extras import lazy_exports

if TYPE_CHECKING:
    from ringi.base.outages import report_outages

__all__ = [
    "report_outages",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "fenced_saver": "report_outages",
    },
)
