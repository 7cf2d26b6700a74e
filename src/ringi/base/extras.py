"""Maps each extra of Ringi to the libraries that it installs."""

from __future__ import annotations

from typing import NoReturn

from ringi.errors import MissingExtraError

EXTRAS = {
    "terminal": ("ag_ui", "click", "rich", "textual", "typer"),
    "server": ("fastapi", "httptools", "jwt", "standardwebhooks", "starlette", "uvicorn", "uvloop"),
    "langgraph": ("aiosqlite", "langchain", "langchain_core", "langgraph"),
    "postgres": ("asyncpg", "pgqueuer", "psycopg"),
    "redis": ("redis",),
    "oidc": ("authlib", "cryptography", "httpx2", "joserfc"),
}
"""The libraries of each extra, by their import names."""


def missing(what: str, error: ModuleNotFoundError) -> NoReturn:
    """Raise the error that names the extra for a module that is not installed.

    Args:
        what: The part of Ringi that needs the module, such as `ringi serve`.
        error: The failed import.

    Raises:
        MissingExtraError: An extra of Ringi brings the module.
        ModuleNotFoundError: No extra does: `error` itself.
    """
    name = (error.name or "").partition(".")[0]
    for extra, names in EXTRAS.items():
        if name in names:
            raise MissingExtraError(what, extra) from error
    raise error
