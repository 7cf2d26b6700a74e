"""The extras of Ringi: their libraries, the error for one that is missing, and exports that import on first use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, NoReturn

from ringi.errors import RingiError

EXTRAS = {
    "terminal": ("click", "rich", "textual", "typer"),
    "server": ("fastapi", "httptools", "jwt", "standardwebhooks", "starlette", "uvicorn", "uvloop"),
    "langgraph": ("aiosqlite", "langchain", "langchain_core", "langgraph"),
    "postgres": ("asyncpg", "psycopg"),
    "redis": ("redis",),
    "openai-agents": ("agents", "openai"),
    "pydantic-ai": ("pydantic_ai", "pydantic_graph"),
    "mcp": ("fastmcp", "mcp", "mcp_types", "tomlkit"),
    "acp": ("acp",),
    "oidc": ("authlib", "cryptography", "httpx2", "joserfc"),
}
"""The libraries of each extra, by their import names."""


class UnsupportedError(RingiError):
    """The store in use, or an installed library, does not support this; others do."""

    code = "unsupported"

    @classmethod
    def of_agents(cls, store: str) -> UnsupportedError:
        """Return the error for a store that supports requests but no runs."""
        return cls(f"agents and their threads need SQLite or PostgreSQL, not {store}: set RINGI_URL to one of them")


class MissingExtraError(RingiError):
    """An optional part of Ringi is not installed; `extra` is its name, as in `pip install 'ringi[extra]'`."""

    code = "missing_extra"

    def __init__(self, what: str, extra: str) -> None:
        self.extra = extra
        super().__init__(f"{what} needs an extra: pip install 'ringi[{extra}]'")


def raise_missing_extra(what: str, error: ModuleNotFoundError) -> NoReturn:
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


def lazy_exports(package: str, names_by_module: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package that imports its modules on first use (PEP 562).

    A program that needs one name of the package then imports only that part of it, and a part whose libraries are not
    installed is named with its extra.

    Args:
        package: The package, such as `ringi.server`.
        names_by_module: The exported names of each module, separated by spaces; the module is relative to the package.
    """
    modules = {name: f"{package}.{module}" for module, names in names_by_module.items() for name in names.split()}

    def find(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            return getattr(import_module(modules[name]), name)
        except ModuleNotFoundError as error:
            raise_missing_extra(f"{package}.{name}", error)

    return find
