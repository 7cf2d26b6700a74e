"""The command that erases what agents keep in their stores, and requests that wait for a review."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
import typer

from ringi.cli.commands.audit import erase
from ringi.cli.session import NamedSession
from ringi.connect import open_backend, store_inbox
from ringi.domain.ask import Answer
from ringi.domain.request import review_id
from ringi.domain.voting import Decider
from ringi.errors import InvalidError

PLACES = [("default", "shop"), ("default", "shop2"), ("other", "shop")]


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A store in which three agents have kept two notes each."""
    url = f"sqlite:///{tmp_path}/ringi.db"

    async def fill() -> None:
        async with open_backend(url) as backend:
            assert backend.agent_stores is not None
            for place in PLACES:
                for person in ("ann", "bob"):
                    await backend.agent_stores(*place).aput(("notes", person), "n1", {"said": "Zwetschge"})

    asyncio.run(fill())
    return url


def left(url: str) -> list[int]:
    async def counted() -> list[int]:
        async with open_backend(url) as backend:
            assert backend.agent_stores is not None
            return [await backend.agent_stores(*place).count() for place in PLACES]

    return asyncio.run(counted())


def test_nothing_is_erased_without_yes(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    erase(NamedSession(url=url), agent="shop")
    assert capsys.readouterr().out.startswith("would erase 2 items\nnothing was erased; pass --yes")
    assert left(url) == [2, 2, 2]


@pytest.mark.parametrize(
    ("options", "items", "rest"),
    [
        ({"agent": "shop", "namespace": "notes/ann"}, 1, [1, 2, 2]),
        ({"agent": "shop"}, 2, [0, 2, 2]),
        ({"all_agents": True}, 4, [0, 0, 2]),
        ({"agent": "unknown"}, 0, [2, 2, 2]),
    ],
)
def test_a_namespace_an_agent_or_a_tenant_is_erased(
    url: str, capsys: pytest.CaptureFixture[str], options: dict[str, str], items: int, rest: list[int]
) -> None:
    erase(NamedSession(url=url, json=True), **options, yes=True)  # type: ignore[arg-type]
    assert json.loads(capsys.readouterr().out) == {"erased": True, "items": items}
    assert left(url) == rest


def test_the_agents_of_another_tenant_are_erased(url: str) -> None:
    erase(NamedSession("other", url), agent="shop", yes=True)
    assert left(url) == [2, 2, 0]


def test_nothing_of_it_is_left_in_the_file(url: str, tmp_path: Path) -> None:
    assert b"Zwetschge" in (tmp_path / "ringi.db").read_bytes()
    for tenant in ("default", "other"):
        erase(NamedSession(tenant, url), all_agents=True, yes=True)
    found = [path.name for path in tmp_path.iterdir() if b"Zwetschge" in path.read_bytes()]
    assert found == []


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"agent": "shop", "all_agents": True}, "choose one"),
        ({"agent": "shop", "person": "ann"}, "choose one"),
        ({"all_agents": True, "namespace": "notes"}, "only with --agent"),
        ({"agent": "shop", "namespace": "notes//ann"}, "empty part"),
    ],
)
def test_what_is_unclear_erases_nothing(url: str, options: dict[str, str], why: str) -> None:
    with pytest.raises(InvalidError, match=why):
        erase(NamedSession(url=url), **options, yes=True)  # type: ignore[arg-type]
    assert left(url) == [2, 2, 2]


@pytest.mark.parametrize(
    ("language", "text"), [("en", "another administrator"), ("ja", "別の管理者"), ("zh", "另一位管理员")]
)
def test_a_request_that_waits_for_a_review_is_left_with_the_reason(
    url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, language: str, text: str
) -> None:
    monkeypatch.setenv("LC_ALL", f"{language}.UTF-8")
    asyncio.run(override(url))
    for selected in ({"ids": ["r1"]}, {"person": "root"}, {"person": "root", "yes": True}):
        with pytest.raises(typer.Exit):
            erase(NamedSession(url=url, name="boss"), **selected)
        printed = capsys.readouterr().out
        assert text in printed
        assert f"'{review_id('r1')}'" in printed


async def override(url: str) -> None:
    async with store_inbox(url) as inbox:
        asked = await inbox.ask("Go?", id="r1")
        answer = Answer(decision="respond", message="yes", digest=asked.digest, override="it burns")
        await inbox.answer("r1", answer, by=Decider("root", is_admin=True), channel="test")
