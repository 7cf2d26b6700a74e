"""Agents on libraries that are too old for them."""

from __future__ import annotations

from collections.abc import Callable
from importlib import metadata

import pytest
from tests.runs.test_pitfalls import agent

from ringi.base.extras import UnsupportedError
from ringi.runs.agent import agents_by_name
from ringi.server.serve import open_components

AGENT = agent(act=lambda state: {})


def installed(**versions: str | None) -> Callable[[str], str]:
    """Return a look-up of what is installed."""

    def version(name: str) -> str:
        found = versions[name]
        if found is None:
            raise metadata.PackageNotFoundError(name)
        return found

    return version


@pytest.mark.parametrize(
    ("langgraph", "langchain", "message"),
    [
        ("1.2.19", "1.4.7", r"^langgraph 1\.2\.19 is too old to run agents: pip install 'langgraph>=1\.2\.20'$"),
        ("0.6.11", "1.4.7", r"langgraph 0\.6\.11 "),
        ("1.2.22", "1.4.5", r"^langchain 1\.4\.5 is too old to run agents: pip install 'langchain>=1\.4\.6'$"),
        ("1.2.20", "1.3", r"langchain 1\.3 "),
    ],
)
async def test_agents_on_a_library_that_is_too_old_are_refused_with_what_to_install(
    monkeypatch: pytest.MonkeyPatch, langgraph: str, langchain: str, message: str
) -> None:
    monkeypatch.setattr(metadata, "version", installed(langgraph=langgraph, langchain=langchain))
    with pytest.raises(UnsupportedError, match=message):
        agents_by_name([AGENT])
    with pytest.raises(UnsupportedError, match=message):
        async with open_components([AGENT], "memory://"):
            pass


@pytest.mark.parametrize(
    ("langgraph", "langchain"),
    [("1.2.20", "1.4.6"), ("1.2.21rc1", "1.4.6.post1"), ("1.10.0", "2.0.0"), ("1.2.20", None), (None, None)],
)
def test_agents_on_newer_libraries_are_taken(
    monkeypatch: pytest.MonkeyPatch, langgraph: str, langchain: str | None
) -> None:
    monkeypatch.setattr(metadata, "version", installed(langgraph=langgraph, langchain=langchain))
    assert list(agents_by_name([AGENT])) == ["agent"]


async def test_a_server_without_agents_asks_for_no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "version", installed(langgraph="0.1.0", langchain="0.1.0"))
    async with open_components([], "memory://"):
        assert agents_by_name([]) == {}
