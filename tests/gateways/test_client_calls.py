"""The calls of a client outside of Ringi: each approval is used once, also when the client comes again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.runs.world import until

import ringi
from ringi import Request
from ringi.base.clock import utc_now
from ringi.base.outages import PausedError
from ringi.base.settings import SettingError
from ringi.base.texts import translate_sentences
from ringi.connect import store_inbox
from ringi.domain import Query
from ringi.domain.display import Code
from ringi.domain.voting import Person
from ringi.errors import InvalidError, NotAuthorizedError, UnavailableError, WaitTimeoutError
from ringi.gateways import client_calls
from ringi.gateways.client_calls import ClientGate, ClientSession
from ringi.inbox.inbox import StoreInbox
from ringi.integrations.functions import AuthorizedFunctionCall
from ringi.policy.rules import Policy, PolicyFile

RULES = {
    "rules": [
        {"tools": ["read"], "effect": "allow"},
        {"tools": ["drop"], "effect": "deny", "name": "no drops", "reason": "ask the owner"},
        {"tools": ["pay"], "where": {"amount": {"at_most": 10}}, "effect": "allow"},
    ]
}
POLICY = Policy.parse(RULES)
SESSION = ClientSession("claude-code", "5f1c", "/home/ann/shop")


@pytest.fixture
async def inbox(tmp_path: Path) -> AsyncIterator[StoreInbox]:
    async with store_inbox(f"sqlite:///{tmp_path / 'ringi.db'}", poll_interval=0.05) as inbox:
        yield inbox


def gate_in(
    inbox: StoreInbox, policy: Callable[[], Policy] = lambda: POLICY, session: ClientSession = SESSION
) -> ClientGate:
    return ClientGate(policy, inbox, session)


async def opened(inbox: StoreInbox) -> Request:
    async def found() -> Request | None:
        return next(iter(await inbox.search(Query(statuses=("pending",)))), None)

    return await until(found, "a request is open")


async def answer(inbox: StoreInbox, decision: Any = "approve", **more: Any) -> Request:
    request = await opened(inbox)
    return await inbox.respond(request, decision, by=Person("ann", request.groups), **more)


async def authorized(inbox: StoreInbox, gate: ClientGate, args: dict[str, Any], **more: Any) -> AuthorizedFunctionCall:
    call = asyncio.create_task(gate.authorize("pay", args))
    await answer(inbox, **more)
    return await call


async def test_a_rule_allows_without_a_record_and_another_denies(inbox: StoreInbox) -> None:
    gate = gate_in(inbox)
    allowed = await gate.authorize("read", {"path": "a"})
    assert (allowed.args, allowed.request) == ({"path": "a"}, None)
    with pytest.raises(NotAuthorizedError, match="'no drops' denies it: ask the owner"):
        await gate.authorize("drop", {})
    (denied,) = await inbox.search(Query())
    assert (denied.thread_id, denied.asked_by) == ("claude-code:5f1c", "agent:claude-code")


async def test_a_person_decides_about_exactly_this_call(inbox: StoreInbox) -> None:
    schema = {"type": "object", "properties": {"amount": {"type": "integer"}}}
    call = asyncio.create_task(gate_in(inbox).authorize("pay", {"amount": 40}, schema=schema))
    request = await opened(inbox)
    assert request.action
    assert (request.action.args, request.action.args_schema) == ({"amount": 40}, schema)
    assert request.context == {"client": "claude-code", "folder": "/home/ann/shop"}
    await answer(inbox, "edit", args={"amount": 30})
    granted = await call
    assert granted.args == {"amount": 30}
    assert (await inbox.get(request.id)).outcome == "unknown"
    await granted.report("committed")
    assert (await inbox.get(request.id)).outcome == "committed"


async def test_a_request_shows_the_command_and_its_title_in_each_language(inbox: StoreInbox) -> None:
    with pytest.raises(WaitTimeoutError):
        await gate_in(inbox).authorize("Bash", {"command": "make clean"}, timeout=0)
    request = await opened(inbox)
    assert request.display == (Code(title="/home/ann/shop", text="make clean", language="bash"),)
    assert request.title == "Run a command in shop?"
    assert request.wording
    assert translate_sentences(request.title, request.wording.title, "ja") == "shop でコマンドを実行しますか？"


async def test_numbers_that_json_cannot_hold_pass_if_a_rule_allows_them(inbox: StoreInbox) -> None:
    gate = gate_in(inbox)
    assert (await gate.authorize("read", {"id": 2**63})).args == {"id": 2**63}
    with pytest.raises(InvalidError):
        await gate.authorize("pay", {"amount": 2**63})


async def test_a_rejection_is_an_error_and_the_next_call_asks_again(inbox: StoreInbox) -> None:
    gate = gate_in(inbox)
    with pytest.raises(NotAuthorizedError, match="ann decided reject: too much"):
        await authorized(inbox, gate, {"amount": 40}, decision="reject", message="too much")
    await (await authorized(inbox, gate, {"amount": 40})).report("committed")
    await authorized(inbox, gate, {"amount": 40})
    assert await inbox.count(Query()) == 3


async def test_a_client_that_gave_up_continues_with_its_request(inbox: StoreInbox) -> None:
    gate = gate_in(inbox)
    with pytest.raises(WaitTimeoutError):
        await gate.authorize("pay", {"amount": 40}, timeout=0)
    await answer(inbox)
    # Also in another process, and only once.
    granted = await gate_in(inbox).authorize("pay", {"amount": 40})
    assert granted.args == {"amount": 40}
    with pytest.raises(WaitTimeoutError):
        await gate.authorize("pay", {"amount": 40}, timeout=0)
    assert await inbox.count(Query()) == 2


async def test_the_same_attempt_is_authorized_again(inbox: StoreInbox) -> None:
    with pytest.raises(WaitTimeoutError):
        await gate_in(inbox).authorize("pay", {"amount": 40}, attempt="toolu_1", timeout=0)
    await answer(inbox)
    for _ in range(2):
        assert await gate_in(inbox).authorize("pay", {"amount": 40}, attempt="toolu_1", timeout=0)
    with pytest.raises(WaitTimeoutError):
        await gate_in(inbox).authorize("pay", {"amount": 40}, attempt="toolu_2", timeout=0)


async def test_of_many_who_wait_for_one_approval_one_begins(inbox: StoreInbox) -> None:
    gates = [gate_in(inbox) for _ in range(5)]
    calls = [asyncio.create_task(gate.authorize("pay", {"amount": 40})) for gate in gates]
    await answer(inbox)
    done, waiting = await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
    assert (len(done), len(waiting)) == (1, 4)
    assert not (await asyncio.wait(waiting, timeout=0.5))[0]
    await answer(inbox, "reject")
    ended = await asyncio.gather(*waiting, return_exceptions=True)
    assert all(isinstance(each, NotAuthorizedError) for each in ended)
    assert await inbox.count(Query()) == 2


async def test_another_session_does_not_use_the_approval(inbox: StoreInbox) -> None:
    with pytest.raises(WaitTimeoutError):
        await gate_in(inbox).authorize("pay", {"amount": 40}, timeout=0)
    await answer(inbox)
    other = gate_in(inbox, session=SESSION._replace(id="other"))
    with pytest.raises(WaitTimeoutError):
        await other.authorize("pay", {"amount": 40}, timeout=0)


async def test_an_erased_request_is_not_used(inbox: StoreInbox) -> None:
    await authorized(inbox, gate_in(inbox), {"amount": 40})
    (request,) = await inbox.search(Query())
    await inbox.erase(request.id, by="root")
    with pytest.raises(WaitTimeoutError):
        await gate_in(inbox).authorize("pay", {"amount": 40}, timeout=0)
    assert await inbox.count(Query(statuses=("pending",))) == 1


async def test_a_revoked_grant_does_not_begin_a_call_that_it_approved(inbox: StoreInbox) -> None:
    grant = {"until": inbox.clock() + timedelta(hours=1), "thread_id": SESSION.thread_id, "folder": SESSION.folder}
    await authorized(inbox, gate_in(inbox), {"amount": 40}, grant=grant)
    assert (await gate_in(inbox).authorize("pay", {"amount": 40})).request
    (made,) = await inbox.grants.list()
    assert made.uses == 1

    await inbox.grants.revoke(made.id, by="ann")
    with pytest.raises(WaitTimeoutError):
        await gate_in(inbox).authorize("pay", {"amount": 40}, timeout=0)


async def test_a_rule_of_this_minute_beats_an_approval(inbox: StoreInbox, tmp_path: Path) -> None:
    file = tmp_path / "policy.json"
    file.write_text('{"rules": [{"tools": ["pay"]}]}')
    gate = gate_in(inbox, PolicyFile(file).policy)
    call = asyncio.create_task(gate.authorize("pay", {"amount": 40}))
    await opened(inbox)
    file.write_text('{"rules": [{"tools": ["pay"], "effect": "deny", "name": "closed"}]}')
    await answer(inbox)
    with pytest.raises(NotAuthorizedError, match="'closed' denies it"):
        await call
    file.write_text("{")
    with pytest.raises(InvalidError, match="is not JSON"):
        await gate.authorize("read", {})
    file.unlink()
    with pytest.raises(InvalidError, match="cannot read"):
        await gate.authorize("read", {})


async def test_a_pause_stops_calls_that_a_rule_allows_too(inbox: StoreInbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RINGI_ENABLED", "0")
    gate = gate_in(inbox)
    pause = await inbox.pauses.begin("look first", by="root", agent="claude-code")
    with pytest.raises(PausedError):
        await gate.authorize("read", {})
    await inbox.pauses.end(pause.id, by="root")
    assert await gate.authorize("read", {})
    # The switch opens no gate.
    with pytest.raises(WaitTimeoutError):
        await gate.authorize("pay", {"amount": 40}, timeout=0)


async def test_without_ringi_no_call_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RINGI_URL", "http://127.0.0.1:9")
    with pytest.raises(SettingError, match="RINGI_TOKEN"):
        async with ringi.open():
            pass
    async with ringi.open("http://127.0.0.1:9", token="token", retry_for=0) as client:
        for name in ("read", "pay"):
            with pytest.raises(UnavailableError):
                await ClientGate(lambda: POLICY, client, SESSION).authorize(name, {"amount": 40})


def test_a_thread_id_is_made_of_what_ids_may_have() -> None:
    assert ClientSession("Claude Code 日本", "a/b").thread_id == "Claude-Code-:a-b"
    assert ClientSession("日本", "1").thread_id == "1"
    assert len(ClientSession("x" * 300, "1").thread_id) == 200


@pytest.mark.parametrize(
    "args",
    [
        {"file_path": "/home/ann/shop/.ringi/policy.toml"},
        {"command": "cat .RINGI/tokens.json"},
        {"edits": [{"path": ".claude/settings.local.json"}]},
        {"path": "/home/ann/.codex/config.toml"},
        {"path": ".mcp.json"},
    ],
)
async def test_files_that_decide_about_calls_are_asked_about_even_if_a_rule_allows(
    inbox: StoreInbox, args: dict[str, Any]
) -> None:
    gate = gate_in(inbox)
    with pytest.raises(WaitTimeoutError):
        await gate.authorize("read", args, timeout=0)
    assert (await gate.authorize("read", {"path": "src/ringing.json", "note": ".claude is a name"})).request is None


async def test_an_approval_under_another_rule_is_not_used(inbox: StoreInbox) -> None:
    rules: list[Any] = [{"tools": ["pay"]}]

    def policy() -> Policy:
        return Policy.parse({"rules": rules})

    gate = gate_in(inbox, policy)
    with pytest.raises(WaitTimeoutError):
        await gate.authorize("pay", {"amount": 40}, timeout=0)
    await answer(inbox)
    rules[0] = {"tools": ["pay"], "groups": ["board"]}
    with pytest.raises(WaitTimeoutError):
        await gate.authorize("pay", {"amount": 40}, timeout=0)
    assert (await opened(inbox)).groups == ("board",)


async def test_an_approval_under_a_rule_that_changes_meanwhile_is_not_used(inbox: StoreInbox) -> None:
    rules: list[Any] = [{"tools": ["pay"]}]
    gate = gate_in(inbox, lambda: Policy.parse({"rules": rules}))
    call = asyncio.create_task(gate.authorize("pay", {"amount": 40}))
    request = await opened(inbox)
    rules[0] = {"tools": ["pay"], "groups": ["board"]}
    await answer(inbox)
    with pytest.raises(NotAuthorizedError, match="another rule asks about it now"):
        await call
    assert (await inbox.get(request.id)).is_unexecuted


async def test_an_old_approval_is_not_used(inbox: StoreInbox, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(WaitTimeoutError):
        await gate_in(inbox).authorize("pay", {"amount": 40}, timeout=0)
    await answer(inbox)
    now = utc_now()
    monkeypatch.setattr(client_calls, "utc_now", lambda: now + timedelta(days=7))
    with pytest.raises(WaitTimeoutError):
        await gate_in(inbox).authorize("pay", {"amount": 40}, timeout=0)


async def test_the_same_attempt_is_another_call_a_minute_later(
    inbox: StoreInbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(WaitTimeoutError):
        await gate_in(inbox).authorize("pay", {"amount": 40}, attempt="call_0", timeout=0)
    await answer(inbox)
    assert await gate_in(inbox).authorize("pay", {"amount": 40}, attempt="call_0")
    now = utc_now()
    monkeypatch.setattr(client_calls, "utc_now", lambda: now + timedelta(seconds=61))
    with pytest.raises(WaitTimeoutError):
        await gate_in(inbox).authorize("pay", {"amount": 40}, attempt="call_0", timeout=0)
