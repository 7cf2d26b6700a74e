"""The source of the packages and of the page, read and parsed once for all tests that look at it."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import ringi

SOURCES = Path(ringi.__file__).parents[1]
"""The folder of the packages."""
UI = SOURCES.parent / "ui/src"


@cache
def source_of(file: Path) -> str:
    """Return the text of a file."""
    return file.read_text("utf-8")


@cache
def tree_of(file: Path) -> ast.Module:
    """Return the parsed source of a module."""
    return ast.parse(source_of(file))


@cache
def nodes_of(file: Path) -> tuple[ast.AST, ...]:
    """Return all nodes of a module."""
    return tuple(ast.walk(tree_of(file)))


@cache
def files(folder: Path = SOURCES, pattern: str = "*.py") -> tuple[Path, ...]:
    """Return the files below a folder, in order."""
    return tuple(sorted(folder.rglob(pattern)))
