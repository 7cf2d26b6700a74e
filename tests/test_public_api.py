"""The public names and their signatures equal the files beside this one, so that the diff of a change shows them.

`python -m tests.test_public_api` rewrites the files.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
ROOMS = {
    HERE / "public_api.txt": (
        *("", ".backends", ".base", ".client", ".contracts", ".domain", ".forms", ".inbox"),
        *(".integrations.langchain", ".integrations.langgraph", ".policy", ".runs", ".server", ".sync", ".testing"),
    ),
    HERE / "apps/public_api.txt": ("_apps.assistant", "_apps.engrammer"),
}


class Optional:
    """Stands for any default."""

    def __repr__(self) -> str:
        return "…"


OPTIONAL = Optional()


def lines(rooms: Sequence[str]) -> Iterator[str]:
    """Yield each public name of some rooms, with its signature; what two rooms export is described at the first."""
    known: dict[int, str] = {}
    for room in rooms:
        module = importlib.import_module(f"ringi{room}")
        for name in sorted(getattr(module, "__all__", ()) or own_names(module)):
            path, public = f"{module.__name__}.{name}", getattr(module, name)
            if (first := known.setdefault(id(public), path)) == path or not inspect.isclass(public):
                yield from described(path, public)
            else:
                yield f"class {path} is {first}"


def own_names(module: Any) -> list[str]:
    """Return the public names that a module without `__all__` defines."""
    found = vars(module).items()
    return [name for name, each in found if name[0] != "_" and getattr(each, "__module__", "") == module.__name__]


def described(name: str, public: Any) -> Iterator[str]:
    """Yield the lines of one name, and of a class those of its methods, inherited ones too."""
    if not inspect.isclass(public):
        yield f"{name}{parameters(public)}" if callable(public) else name
        return
    yield f"class {name}{parameters(public)}"
    ours = {each for base in public.__mro__ if base.__module__.startswith("ringi") for each in vars(base)}
    for each in sorted(ours):
        if each[0] != "_" and inspect.isroutine(inspect.getattr_static(public, each)):
            yield f"{name}.{each}{parameters(getattr(public, each))}"


def parameters(public: Any) -> str:
    """Return the names of the parameters, with `=` where they may be left out; types differ between versions."""
    try:
        found = inspect.signature(public).parameters.values()
    except (TypeError, ValueError):
        return "(...)"
    bare = [
        each.replace(annotation=each.empty, default=each.default if each.default is each.empty else OPTIONAL)
        for each in found
    ]
    return str(inspect.Signature(bare))


@pytest.mark.parametrize("file", ROOMS)
def test_the_public_api_is_as_it_is_written_down(file: Path) -> None:
    assert "\n".join(lines(ROOMS[file])) + "\n" == file.read_text("utf-8"), "run: python -m tests.test_public_api"


if __name__ == "__main__":
    for file, rooms in ROOMS.items():
        file.write_text("\n".join(lines(rooms)) + "\n", "utf-8")
