"""The graphs that a graph may run: its subgraphs, and those that the code of its steps and tools calls."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Iterator, Set
from contextlib import suppress
from functools import cached_property, lru_cache, partial
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, TypeAlias

from langchain_core.language_models import BaseLanguageModel
from langchain_core.runnables import Runnable
from langgraph.pregel import Pregel

LIBRARIES = ("langchain", "langchain_core", "langgraph", "langsmith", "pydantic", "ringi")
FRAMEWORKS = frozenset((*LIBRARIES, *sys.stdlib_module_names))
"""The packages whose own global names lead to no graph of an agent."""
MAX_VALUES = 20_000
"""The number of values that are followed; what lies beyond counts as unknown."""
Names: TypeAlias = Set[str]
NO_NAMES: Names = frozenset()
CALLED = frozenset({"__call__", "_run", "_arun", "invoke", "ainvoke"})
"""The methods with which LangChain calls an object, such as a tool."""
LEAVES = frozenset({str, bytes, int, float, bool, type(None)})
WRAPPERS = (staticmethod, classmethod, property, cached_property, partial)
FOUND = weakref.WeakKeyDictionary[Pregel[Any], list[weakref.ref[Pregel[Any]]]]()
"""The graphs that each graph reaches, as found when it was loaded."""


def reachable_graphs(graph: Pregel[Any]) -> list[Pregel[Any]]:
    """Return a graph and the graphs that it may run, as far as its code names them; those of the graph come first.

    Code can name a graph by a variable of a function around it, a global name or an attribute, also in a container. A
    graph that the code makes during the run is unknown.
    """
    if graph not in FOUND:
        FOUND[graph] = [weakref.ref(each) for each in _search(graph) if each is not graph]
    return [graph, *(found for each in FOUND[graph] if (found := each()) is not None)]


def live_graphs() -> Iterator[Pregel[Any]]:
    """Yield all graphs in this process; in a large process this takes a part of a second."""
    # `isinstance` would run code of the objects.
    return (each for each in gc.get_objects() if issubclass(type(each), Pregel))


def _search(graph: Pregel[Any]) -> list[Pregel[Any]]:
    """Return the graphs that are reached from a graph, the nearest ones first."""
    found, seen = list[Pregel[Any]](), dict[tuple[int, Names], Any]()
    queue: list[tuple[Any, Names]] = [(graph, NO_NAMES)]
    for value, names in queue:
        if type(value) in LEAVES or (id(value), names) in seen or len(seen) >= MAX_VALUES:
            continue
        # What was seen stays alive, so that nothing else gets its id.
        seen[id(value), names] = value
        if isinstance(value, Pregel) and all(value is not each for each in found):
            found.append(value)
        with suppress(Exception):  # A proxy runs code as soon as something looks at it.
            queue.extend(_parts(value, names))
    return found


def _parts(value: Any, names: Names) -> Iterator[tuple[Any, Names]]:
    """Yield the values that code reaches through a value.

    Args:
        value: The value.
        names: The names in the code that reaches the value: it may use them as attributes.
    """
    if isinstance(value, FunctionType):
        yield from _parts_of_function(value)
    elif isinstance(value, MethodType):
        yield from _parts_of_method(value.__func__, value.__self__)
    elif isinstance(value, (dict, list, tuple, set, frozenset)):
        yield from ((each, names) for each in list(value.values() if isinstance(value, dict) else value))
    elif isinstance(value, WRAPPERS):
        places = ("__func__", "fget", "func", "args", "keywords")
        yield from ((getattr(value, place, None), names) for place in places)
    elif isinstance(value, Pregel):
        for node in value.nodes.values():
            yield from ((each, NO_NAMES) for each in (node.bound, *node.subgraphs))
    elif isinstance(value, (ModuleType, type)):
        yield from ((each, names) for each in _attributes(value, names))
    else:
        yield from _parts_of_object(value, names)


def _parts_of_function(function: FunctionType) -> Iterator[tuple[Any, Names]]:
    is_of_framework = _is_of_framework(function)
    names = NO_NAMES if is_of_framework else _names(function.__code__)
    yield from ((each, names) for each in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()))
    yield getattr(function, "__wrapped__", None), names
    for cell in function.__closure__ or ():
        with suppress(ValueError):  # It has no value yet.
            yield cell.cell_contents, names
    yield from ((function.__globals__[name], names) for name in names & function.__globals__.keys())


def _parts_of_object(value: Any, names: Names) -> Iterator[tuple[Any, Names]]:
    if isinstance(value, BaseLanguageModel):
        return
    if isinstance(value, Runnable) or type(value).__module__.startswith("langgraph."):
        # LangChain calls what these hold.
        yield from ((each, names) for each in list(getattr(value, "__dict__", {}).values()))
    for found in _attributes(value, names | CALLED):
        if not isinstance(found, FunctionType):
            yield found, names
        elif not _is_of_framework(found):
            yield from _parts_of_method(found, value)


def _parts_of_method(function: Any, owner: Any) -> Iterator[tuple[Any, Names]]:
    """Yield a function, and the object whose attributes it may use."""
    yield function, NO_NAMES
    if isinstance(function, FunctionType):
        yield owner, _names(function.__code__)


def _attributes(value: Any, names: Names) -> Iterator[Any]:
    """Yield the attributes of these names, without running code of the value."""
    classes = value.__mro__ if isinstance(value, type) else type(value).__mro__
    for known in (getattr(value, "__dict__", {}), *(each.__dict__ for each in classes)):
        yield from (known[name] for name in names & known.keys())


def _is_of_framework(function: FunctionType) -> bool:
    return str(function.__module__).partition(".")[0] in FRAMEWORKS


@lru_cache(maxsize=10_000)
def _names(code: CodeType) -> frozenset[str]:
    """Return the global names and attributes in code, and in the functions inside it."""
    inner = (each for each in code.co_consts if isinstance(each, CodeType))
    return frozenset(code.co_names).union(*map(_names, inner))
