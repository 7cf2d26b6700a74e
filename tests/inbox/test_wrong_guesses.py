"""What people try first in Python and is not so: each guess names the right word, or works."""

from __future__ import annotations

import asyncio
import re
import runpy
import sys
import warnings
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from typing import Any

import pydantic
import pytest

import ringi
import ringi.testing
from ringi import Agent, Form, Person, Policy, Text, ask
from ringi.base.extras import UnsupportedError
from ringi.base.settings import SettingError
from ringi.domain import Webhook
from ringi.errors import InvalidError
from ringi.inbox import Inbox


class Answer(pydantic.BaseModel):
    """A model that somebody takes for a schema."""

    reason: str


@pytest.mark.parametrize(
    ("options", "remedy"),
    [
        ({"quorum": 2}, '[{"groups": ["finance"], "count": 2}]'),
        ({"groups": "finance"}, 'must be a list: ["finance"]'),
        ({"exclude": "starter"}, 'must be a list: ["starter"]'),
        ({"escalation": {"after": 600}}, '[{"after": 600, "to": ["group:finance"]}]'),
        ({"schema": Answer}, "as `form`"),
        ({"action": "refund"}, '{"name": "refund"'),
    ],
)
async def test_a_field_of_another_shape_shows_its_shape(options: dict[str, Any], remedy: str) -> None:
    async with ringi.open("memory://") as inbox:
        with pytest.raises(InvalidError, match=re.escape(remedy)):
            await inbox.ask("Pay?", **options)


async def test_twelve_fields_are_asked_and_more_name_the_setting() -> None:
    fields = [ringi.Text(f"f{n}") for n in range(13)]
    async with ringi.open("memory://") as inbox:
        await inbox.ask("Pay?", form=ringi.Form(fields[:12]))
        with pytest.raises(InvalidError, match="max_fields"):
            await inbox.ask("Pay?", form=ringi.Form(fields))


@pytest.mark.parametrize(("name", "call"), [("wait", "inbox.wait("), ("approve", 'inbox.respond(request, "approve"')])
def test_a_verb_at_the_top_names_the_inbox(name: str, call: str) -> None:
    with pytest.raises(AttributeError, match=r"async with ringi\.open") as error:
        getattr(ringi, name)
    assert call in str(error.value)


def test_another_name_is_missing_as_in_any_module() -> None:
    with pytest.raises(AttributeError, match="module 'ringi' has no attribute 'nothing'"):
        getattr(ringi, "nothing")  # noqa: B009


def test_an_inbox_that_nobody_closed_is_named_with_its_line() -> None:
    async def forget() -> None:
        inbox = await ringi.open("memory://")
        await inbox.ask("Pay?")

    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        asyncio.run(forget())

    assert [(each.category, each.filename) for each in found] == [(RuntimeWarning, __file__)]
    assert "never closed" in str(found[0].message)


def test_an_inbox_that_was_closed_is_not() -> None:
    async def close() -> None:
        await (await ringi.open("memory://")).close()

    asyncio.run(close())


async def test_an_address_with_its_version_is_refused() -> None:
    with pytest.raises(SettingError, match=r"leave out /v1: give https://example\.com"):
        await ringi.open("https://example.com/v1", token="token")


def test_a_question_outside_of_a_run_names_the_inbox() -> None:
    with pytest.raises(UnsupportedError, match=r"ringi\.open"):
        ask("Pay?")


def test_a_policy_of_an_agent_is_read_from_plain_data() -> None:
    assert Agent("shop", object(), policy={"rules": [{"tools": ["pay"]}]}).policy == Policy.parse(  # type: ignore[arg-type]
        {"rules": [{"tools": ["pay"]}]}
    )


def test_an_unknown_condition_names_the_known_ones() -> None:
    rule = {"tools": ["pay"], "where": {"amount": {"lte": 100}}}
    with pytest.raises(
        InvalidError, match=r"rules\[0\].where.amount.lte: is not known here: use one of .*at_most"
    ) as error:
        Policy.parse({"rules": [rule]})
    assert "remove it" not in str(error.value)


ASKS = [
    ({"webhook": "https://example.com"}, r"^webhook: is not a known field: use webhooks, a list of receivers: \[\{"),
    ({"webhooks": ["https://example.com"]}, r'^webhooks\.0: .*: send a list of receivers: \[\{"url"'),
    ({"webhooks": [{"url": "https://example.com", "events": []}]}, r"^webhooks\.0\.events: .*: send a list of rec"),
    ({"escalate_to": "boss"}, r'^escalate_to: is not a known field: use escalation, a list of steps: \[\{"after": 600'),
    ({"escalation": [{"after": 600, "to": "boss"}]}, r'^escalation\.0\.to: .*: send a list of steps: \[\{"after"'),
    ({"approvals": 2}, r"^approvals: is not a known field: use quorum, a list of stages: \[\{"),
    ({"quorum": 2}, r"^quorum: must be a list of stages: "),
    ({"timeout": 30}, r"^timeout: is not a known field: use expires_in$"),
    ({"colour": "red"}, r"^colour: is not a known field: use one of action, .*wording$"),
]


@pytest.fixture
async def inbox() -> AsyncIterator[Inbox]:
    async with ringi.open("memory://") as inbox:
        yield inbox


@pytest.mark.parametrize(("options", "message"), ASKS)
async def test_a_wrong_field_of_an_ask_names_the_right_one(inbox: Inbox, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidError, match=message):
        await inbox.ask("Refund?", **options)


async def test_an_escalation_takes_a_timedelta(inbox: Inbox) -> None:
    asked = await inbox.ask("Refund?", escalation=[{"after": timedelta(minutes=10), "to": ["group:finance"]}])

    assert asked.escalation[0].after == 600


async def test_an_answer_is_looked_for_on_the_request(inbox: Inbox) -> None:
    asked = await inbox.ask("Which colour?", form=Form([Text("colour")]))
    done = await inbox.respond(asked, "approve", {"colour": "secret"}, by=Person("ann"))

    with pytest.raises(AttributeError, match=r"'Request' object has no attribute 'answer': `request.response` has"):
        done.answer  # type: ignore[attr-defined] # noqa: B018
    with pytest.raises(AttributeError, match=r"no attribute 'colour'$"):
        done.colour  # type: ignore[attr-defined] # noqa: B018
    assert repr(done.response) == "Response(decision='approve', responder='ann', given=['data'])"


def test_the_fields_of_a_form_are_one_list() -> None:
    with pytest.raises(InvalidError, match=r"^fields: must be one list: Form\(\["):
        Form(Text("a"), Text("b"))  # type: ignore[arg-type]


def test_the_arguments_of_a_field_have_names() -> None:
    field: Any = ringi.Select
    with pytest.raises(InvalidError, match=r"c: takes its other arguments by name: Select\('…', label=…\)"):
        field("c", ["a", "b"])


def test_a_condition_without_its_name_is_no_policy() -> None:
    with pytest.raises(InvalidError, match=r"policy: is no rule: write @ringi.gate\(when=lambda args: …\)"):
        ringi.gate(lambda args: args["amount"] > 100)


WHENS = {"text": "amount > 100", "argument": lambda amount: amount > 100, "keywords": lambda amount, **_: amount > 100}


@pytest.mark.parametrize("when", WHENS.values(), ids=WHENS)
def test_the_condition_of_a_gate_is_refused_at_the_function(when: Callable[..., bool]) -> None:
    def refund(amount: int) -> int:
        return amount

    with pytest.raises(InvalidError, match=r"^when: takes the arguments of a call as one dict: when=lambda args"):
        ringi.gate(when=when)(refund)


def test_the_package_lists_its_names() -> None:
    assert set(ringi.__all__) <= set(dir(ringi))
    assert "TestHarness" in dir(ringi.testing)


def test_the_package_is_a_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["ringi", "--version"])

    runpy.run_module("ringi", run_name="__main__")

    assert capsys.readouterr().out.startswith("ringi ")


def test_a_wrong_argument_of_a_model_lists_the_right_ones() -> None:
    with pytest.raises(InvalidError, match=r"^Webhook\.events: is not a known field: use one of url, headers, secret"):
        Webhook(url="https://example.com", events=["request.completed"])  # type: ignore[call-arg]
    with pytest.raises(InvalidError, match=r"^notes\.multiline: is not a known field: use one of .*max_length"):
        Text("notes", multiline=True)  # type: ignore[call-arg]
