"""The use of models that a thread shows, and the prices of the operator."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypedDict

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.messages.ai import InputTokenDetails, UsageMetadata
from langgraph.graph import END, START, StateGraph
from tests.runs.world import model
from tests.server.world import World, open_world, until

from ringi.base.settings import SettingError
from ringi.runs.agent import Agent
from ringi.server.settings import ServerSettings

PRICES = """
currency = "EUR"

[models."m-1"]
input = 2
cached = 0.5
output = 10

[models.m-2]
input = 1
output = 1
"""
TOKENS = UsageMetadata(
    input_tokens=1_000, output_tokens=100, total_tokens=1_100, input_token_details=InputTokenDetails(cache_read=400)
)


class State(TypedDict, total=False):
    """The state of an agent that remembers nothing."""

    nothing: str


def calling(*names: str) -> Agent:
    """Return an agent that calls models with these names; `mute` reports no tokens."""

    def answering(name: str) -> BaseChatModel:
        tokens = None if name == "mute" else TOKENS
        return model(lambda _: AIMessage("Fine.", response_metadata={"model_name": name}, usage_metadata=tokens))

    async def call(state: State) -> State:
        for name in names:
            await answering(name).ainvoke("Hello")
        return {}

    return Agent("caller", StateGraph(State).add_node(call).add_edge(START, "call").add_edge("call", END).compile())


async def usage_of(world: World) -> list[dict[str, Any]]:
    """Run the agent and return the use of models that its thread shows, without the times."""
    client = world.client()
    await client.post("/v1/threads/t1/runs", json={"agent": "caller", "input": {}})
    thread: dict[str, Any] = {}

    async def is_done() -> bool:
        thread.update((await client.get("/v1/threads/t1")).json())
        return bool(thread["status"] == "done")

    await until(is_done)
    seconds = [each.pop("seconds") for each in thread["usage"]]
    assert all(isinstance(each, float) for each in seconds)
    usage: list[dict[str, Any]] = thread["usage"]
    return usage


def priced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str = PRICES) -> None:
    """Set the prices."""
    file = tmp_path / "prices.toml"
    file.write_text(text)
    monkeypatch.setenv("RINGI_PRICES", str(file))


async def test_a_thread_shows_the_calls_and_the_tokens_of_each_model() -> None:
    async with open_world("memory://", more_agents=[calling("m-1", "mute", "m-1")]) as world:
        reported = {"input_tokens": 2_000, "cached_tokens": 800, "output_tokens": 200}
        unknown = dict.fromkeys(("input_tokens", "cached_tokens", "output_tokens"))
        unpriced = {"cost": None, "currency": None}
        assert await usage_of(world) == [
            {"model": "m-1", "calls": 2, "unreported_calls": 0, **reported, **unpriced},
            {"model": "mute", "calls": 1, "unreported_calls": 1, **unknown, **unpriced},
        ]


async def test_models_with_a_price_show_their_cost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    priced(tmp_path, monkeypatch, PRICES.replace("[models.m-2]", "[models.mute]\ninput = 1\noutput = 1\n[models.m-2]"))
    prices = ServerSettings.load().prices
    agents = [calling("m-1", "m-2", "m-3", "mute")]
    async with open_world("memory://", more_agents=agents, prices=prices) as world:
        costs = {each["model"]: (each["cost"], each["currency"]) for each in await usage_of(world)}

    # (600 * 2 + 400 * 0.5 + 100 * 10) / 10**6, and without a price for cached tokens (1000 * 1 + 100 * 1) / 10**6.
    unknown = (None, None)
    assert costs == {"m-1": (0.0024, "EUR"), "m-2": (0.0011, "EUR"), "m-3": unknown, "mute": unknown}


def test_without_the_variable_there_are_no_prices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RINGI_PRICES", raising=False)

    assert ServerSettings.load().prices is None


@pytest.mark.parametrize(
    ("text", "field"),
    [
        (PRICES.replace("input = 2", "input = -2"), "models.m-1.input"),
        (PRICES.replace("input = 2", "input = nan"), "models.m-1.input"),
        (PRICES.replace("cached = 0.5", 'cached = "cheap"'), "models.m-1.cached"),
        (PRICES.replace("output = 10", ""), "models.m-1.output"),
        (PRICES.replace("output = 10", "outputs = 10\noutput = 10"), "models.m-1.outputs"),
        (PRICES.replace("EUR", "euro"), "currency"),
        (PRICES.replace('currency = "EUR"', ""), "currency"),
        ("currency = 'EUR'", "models"),
        ("currency =", "is not TOML"),
    ],
)
def test_a_wrong_price_is_an_error_that_names_its_field(
    text: str, field: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    priced(tmp_path, monkeypatch, text)

    with pytest.raises(SettingError, match="RINGI_PRICES") as refused:
        ServerSettings.load()
    assert field in str(refused.value)


def test_a_missing_file_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RINGI_PRICES", str(tmp_path / "none.toml"))

    with pytest.raises(SettingError, match="cannot be read"):
        ServerSettings.load()
