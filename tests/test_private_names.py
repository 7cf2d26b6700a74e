"""Ringi uses these undocumented names of other libraries; a new release may change them without notice.

Each test says with which version a name was checked and what breaks without it.
"""

from __future__ import annotations

import ast
import importlib
import sys
import threading
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from typing import Any, TypedDict

import pytest
from langchain.agents.middleware import hook_config
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt
from opentelemetry import trace
from tests.sources import files, nodes_of

from ringi.backends import fenced_saver
from ringi.base.canonical_json import PLAIN, WRITE_PLAIN
from ringi.base.model import StrictModel

NAMES = {"_TRACER_PROVIDER", "_current_frames", "_exit", "_register_atexit", "_transport"}
"""The private names that Ringi uses; `os._exit` is documented."""
NAMED_TUPLE = {"_asdict", "_fields", "_replace"}


def changed(name: str, library: str, breaks: str) -> str:
    """Return the message about a name of a library, such as `langgraph 1.2.22`, that changed."""
    package = library.split()[0]
    now = sys.version.split()[0] if package == "Python" else version(package)
    return f"{name} changed in {package} {now} (it was checked with {library}): {breaks}"


class State(TypedDict):
    """The state of a graph with one step."""

    answer: str


class Named(StrictModel):
    """A model with a constructor of its own."""

    name: str

    def __init__(self, name: str, **rest: Any) -> None:
        super().__init__(name=name, **rest)


class Outer(StrictModel):
    """A model with a nested one."""

    inner: Named


def names_in(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, bool]]:
    """Yield each private name among the nodes, and whether it is defined there."""
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, True
        elif isinstance(node, ast.Name):
            yield node.id, isinstance(node.ctx, ast.Store)
        elif isinstance(node, ast.Attribute):
            yield node.attr, isinstance(node.ctx, ast.Store)
        elif isinstance(node, ast.ImportFrom) and not (node.module or "").startswith("ringi"):
            parts = (node.module or "").split(".") + [each.name for each in node.names]
            yield from ((part, False) for part in parts)


@pytest.mark.tier("check")
def test_no_other_private_name_is_used() -> None:
    """Use a public name instead, or add the name here with a test of its own."""
    found = [pair for file in files() for pair in names_in(nodes_of(file))]
    private = [pair for pair in found if pair[0].startswith("_") and not pair[0].endswith("__") and pair[0] != "_"]
    own = {name for name, is_defined in private if is_defined}
    assert {name for name, _ in private} - own - NAMED_TUPLE == NAMES


def test_opentelemetry_has_its_provider_in_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    """`trace._TRACER_PROVIDER`, opentelemetry-api 1.45.2: 27 times as fast as `get_tracer_provider`."""
    provider = trace.NoOpTracerProvider()
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    assert trace.get_tracer_provider() is provider, changed(
        "trace._TRACER_PROVIDER", "opentelemetry-api 1.45.2", "questions and runs leave no spans"
    )


def test_the_mcp_sdk_names_the_two_streams_of_a_transport() -> None:
    """`mcp.client._transport.TransportStreams`, mcp 2.3.0: only its type; the transports return such a pair."""
    transport = importlib.import_module("mcp.client._transport")
    assert hasattr(transport, "TransportStreams"), changed(
        "mcp.client._transport.TransportStreams", "mcp 2.3.0", "`ringi gate` cannot be imported"
    )


def test_python_closes_open_objects_before_its_thread_pools() -> None:
    """`threading._register_atexit`, Python 3.11.7: `atexit` runs after the threads have ended."""
    assert callable(getattr(threading, "_register_atexit", None)), changed(
        "threading._register_atexit", "Python 3.11.7", "`ringi.sync` cannot be imported"
    )


def test_python_has_the_encoder_of_json_as_a_function() -> None:
    """`json.encoder.c_make_encoder`, Python 3.11.7: digests take a third longer without it."""
    value = {"ü": [1, 0.5, None, True], "a": {}}
    assert "".join(WRITE_PLAIN(value, 0)) == PLAIN.encode(value), changed(
        "json.encoder.c_make_encoder", "Python 3.11.7", "requests have other digests or none"
    )


def test_python_tells_where_each_thread_is() -> None:
    """`sys._current_frames`, Python 3.11.7: documented, for special purposes."""
    frame = sys._current_frames().get(threading.get_ident())
    assert getattr(frame, "f_code", None) is test_python_tells_where_each_thread_is.__code__, changed(
        "sys._current_frames", "Python 3.11.7", "code that blocks the event loop is not logged"
    )


def test_pydantic_skips_a_marked_constructor() -> None:
    """`__init__.__pydantic_base_init__`, pydantic 2.14.3: set in `StrictModel`."""
    stored = Outer.model_validate({"inner": {"name": "a", "of_next_version": 1}})
    assert stored.inner.model_extra == {"of_next_version": 1}, changed(
        "__pydantic_base_init__", "pydantic 2.14.3", "nested values of a newer version cannot be read"
    )


def test_langchain_keeps_the_jumps_of_a_hook_in_an_attribute() -> None:
    """`hook.__can_jump_to__`, langchain 1.4.7: `hook_config` can only replace it."""

    @hook_config(can_jump_to=["end"])
    def hook(_: Any) -> None:
        """Do nothing."""

    assert getattr(hook, "__can_jump_to__", None) == ["end"], changed(
        "__can_jump_to__", "langchain 1.4.7", "an error in a hook does not lead to the gate of the end"
    )


def test_langgraph_names_the_entry_of_a_handled_error() -> None:
    """`__error_source_node__`, langgraph 1.2.22: a constant in a private module."""
    from langgraph._internal import _constants

    assert _constants.ERROR_SOURCE_NODE == fenced_saver.ERROR_SOURCE_NODE, changed(
        "ERROR_SOURCE_NODE", "langgraph 1.2.22", "an answer is dropped when an error handler takes over its step"
    )


def test_langgraph_copies_a_checkpoint() -> None:
    """`aupdate_state(..., as_node="__copy__")`, langgraph 1.2.22."""
    builder = StateGraph(State).add_node("ask", lambda _: {"answer": interrupt("Go?")})
    graph = builder.add_edge(START, "ask").add_edge("ask", END).compile(InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t"}}
    graph.invoke({"answer": ""}, config)
    place = graph.update_state(graph.get_state(config).config, None, as_node="__copy__")
    assert graph.get_state(place).next == ("ask",), changed(
        "__copy__", "langgraph 1.2.22", "a run that stands at a superseded question cannot be taken back to it"
    )
