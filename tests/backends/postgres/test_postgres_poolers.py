"""PgBouncer before the database: its session mode works for everything, its other modes are refused in a sentence."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypedDict

import pytest
from langgraph.graph import START, StateGraph
from langgraph.store.base import PutOp
from tests.servers import pgbouncer

import ringi
from ringi import Agent
from ringi.backends.postgres.agent_stores import PostgresAgentStores
from ringi.backends.postgres.checkpoints import PostgresCheckpoints
from ringi.backends.postgres.database import PostgresDatabase
from ringi.base.settings import SettingError
from ringi.testing.conformance.running_agents import worker_running_on_store

SCHEMA = "SELECT current_schema()"


class Poster(TypedDict, total=False):
    """The state of an agent that asks for a color."""

    color: str | None


@pytest.fixture
def pooled_url(schema_url: str) -> Iterator[str]:
    """The schema by way of a PgBouncer in session mode."""
    with pgbouncer(schema_url, "session") as pooler:
        yield f"{pooler.url}?{schema_url.partition('?')[2]}"


def ringi_command(url: str, home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command of Ringi."""
    variables = {"RINGI_URL": url, "RINGI_HOME": str(home), "PATH": "", "PYTHONPATH": ":".join(sys.path)}
    command = [sys.executable, "-m", "ringi", *words]
    return subprocess.run(command, env=variables, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("mode", ["transaction", "statement"])
@pytest.mark.parametrize("command", [("migrate",), ("serve", "--port", "0"), ("verify",), ("list",)])
def test_a_session_that_changes_is_refused_in_a_sentence(
    schema_url: str, mode: str, command: tuple[str, ...], tmp_path: Path
) -> None:
    with pgbouncer(schema_url, mode) as pooler:
        done = ringi_command(pooler.url, tmp_path, *command)

    assert done.returncode in (1, 2)
    assert "`pool_mode` to `session`" in done.stderr
    assert len(done.stderr.splitlines()) == 1


async def test_no_setting_stays_on_the_sessions_of_others(schema_url: str) -> None:
    with pgbouncer(schema_url, "transaction") as pooler, pytest.raises(SettingError, match="pool_mode"):
        async with PostgresDatabase(pooler.url):
            pass
    async with PostgresDatabase(schema_url) as database:
        assert await database.fetch("SELECT FROM pg_namespace WHERE nspname = 'ringi'") == []


async def test_every_driver_has_the_schema_and_the_limits(pooled_url: str) -> None:
    async with PostgresDatabase(pooled_url) as database:
        stores = PostgresAgentStores(database)
        async with PostgresCheckpoints(database) as checkpoints, checkpoints.connection() as of_a_run:
            with checkpoints.transaction_now() as of_a_thread, stores._opened().connection() as of_an_agent:
                found: list[Any] = [
                    (await database.fetch(SCHEMA))[0][0],
                    (await (await of_a_run.execute(SCHEMA)).fetchone() or [""])[0],
                    (of_a_thread.execute(SCHEMA).fetchone() or [""])[0],
                    (of_an_agent.execute(SCHEMA).fetchone() or {})["current_schema"],
                ]
        stores.batch([PutOp(("a",), "key", {"value": 1})])
        stores.close()

    assert found == [database.schema] * 4


async def test_a_run_asks_and_goes_on_and_the_trail_holds(pooled_url: str, tmp_path: Path) -> None:
    def choose(state: Poster) -> Poster:
        response = ringi.ask("Which color?").response
        return {"color": response.message if response else None}

    graph = StateGraph(Poster).add_node("choose", choose).add_edge(START, "choose").compile()
    agent = Agent("poster", graph, output=lambda state: dict(state or {}))
    async with worker_running_on_store(pooled_url, agent) as run:
        await run.start(agent)
        [asked] = await run.pending()
        await run.respond(asked, "respond", message="blue")
        assert (await run.rest()).values == {"color": "blue"}

    done = ringi_command(f"{pooled_url}&target_session_attrs=read-write", tmp_path, "verify")
    assert done.returncode == 0


@pytest.mark.parametrize("command", [("migrate",), ("ask", "Go?"), ("list", "--json"), ("deliveries",)])
def test_commands_work_in_session_mode(pooled_url: str, tmp_path: Path, command: tuple[str, ...]) -> None:
    assert ringi_command(pooled_url, tmp_path, "migrate").returncode == 0

    done = ringi_command(pooled_url, tmp_path, *command)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(("is_pooled", "parameter"), [(True, "geqo=off"), (True, "unknown=1"), (False, "unknown=1")])
def test_a_parameter_that_the_server_refuses_is_an_error(
    schema_url: str, pooled_url: str, is_pooled: bool, parameter: str, tmp_path: Path
) -> None:
    done = ringi_command(f"{pooled_url if is_pooled else schema_url}&{parameter}", tmp_path, "serve", "--port", "0")

    name = parameter.partition("=")[0]
    assert (done.returncode, name in done.stderr) == (2, True)
