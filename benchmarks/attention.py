"""How well people's attention is used: one function for each goal of the page on attention."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import attention_page
from benchmarks.measure import Row, folder
from ringi.base.clock import utc_now
from ringi.connect import store_inbox
from ringi.domain import Query
from ringi.domain.grants import GrantableCall
from ringi.domain.suggestions import DecidedCall, NewRule, suggest_rules_from_calls
from ringi.errors import NotAuthorizedError, WaitTimeoutError
from ringi.gateways.client_calls import ClientGate, ClientSession
from ringi.inbox.inbox import StoreInbox
from ringi.policy.rules import PolicyFile

CALLS, ALLOWED = 1_000, 900
NOBODY = 0.001
"""Seconds to wait for people: nobody answers, so the call counts as asked."""
POLICY: dict[str, Any] = {
    "cards": {
        "refund": {"effect": "pays money back", "target": "order", "amount": "amount", "limit": 50, "tier": "medium"},
        "delete_account": {"effect": "deletes an account", "target": "account", "tier": "irreversible"},
    },
    "rules": [
        {"tools": ["search", "read_file"], "effect": "allow"},
        {"tools": ["refund"], "effect": "allow", "where": {"amount": {"at_most": 50}}},
        {"tools": ["send_mail"], "effect": "allow", "where": {"to": {"matches": "[a-z]+@shop\\.example"}}},
        {"tools": ["drop_database"], "effect": "deny", "name": "never", "reason": "Nobody drops a database."},
    ],
}


class ScriptedCall(NamedTuple):
    """A call of the script, and what it is."""

    tool: str
    args: dict[str, Any]
    sort: str
    """`routine`: a rule allows it. `stakes`: it is irreversible or over a limit. `denied`, or `other`."""


def scripted_calls() -> list[ScriptedCall]:
    """Return the calls of an agent in random order: 900 match rules that allow, 40 have high stakes."""
    chance = random.Random(7)
    routine: list[Callable[[int], ScriptedCall]] = [
        lambda n: ScriptedCall("search", {"q": f"order {n}"}, "routine"),
        lambda n: ScriptedCall("read_file", {"path": f"/notes/{n}.md"}, "routine"),
        lambda n: ScriptedCall("refund", {"order": n, "amount": chance.randint(1, 50)}, "routine"),
        lambda n: ScriptedCall("send_mail", {"to": "ann@shop.example", "text": str(n)}, "routine"),
    ]
    rest: list[Callable[[int], ScriptedCall]] = [
        lambda n: ScriptedCall("refund", {"order": n, "amount": chance.choice((50.01, 51, 900, 1e9))}, "stakes"),
        lambda n: ScriptedCall("delete_account", {"account": n}, "stakes"),
        lambda n: ScriptedCall("refund", {"order": n, "amount": "9999"}, "stakes"),
        lambda n: ScriptedCall("refund", {"order": n}, "stakes"),
        lambda n: ScriptedCall("send_mail", {"to": f"ann@shop.example,x{n}@evil.example"}, "other"),
        lambda n: ScriptedCall("send_mail", {"to": f"ann@shop.example\nbcc: x{n}@evil.example"}, "other"),
        lambda n: ScriptedCall("wire_money", {"to": n, "amount": 1}, "other"),
        lambda n: ScriptedCall("REFUND", {"order": n, "amount": 1}, "other"),
        lambda n: ScriptedCall("drop_database", {"name": n}, "denied"),
        lambda n: ScriptedCall("read_file ", {"path": str(n)}, "other"),
    ]
    calls = [routine[n % len(routine)](n) for n in range(ALLOWED)]
    calls += [rest[n % len(rest)](n) for n in range(CALLS - ALLOWED)]
    chance.shuffle(calls)
    return calls


async def reach() -> list[Row]:
    """G1: of 1,000 calls of which 900 match rules, few ask; all that are irreversible or over a limit do."""
    outcomes: dict[str, Counter[str]] = {}
    with folder() as path:
        policy = path / "policy.json"
        policy.write_text(json.dumps(POLICY))
        async with store_inbox(f"sqlite:///{path / 'reach.db'}") as inbox:
            for call, outcome in [(call, await outcome_of(inbox, policy, call)) for call in scripted_calls()]:
                outcomes.setdefault(call.sort, Counter())[outcome] += 1
            pending = await inbox.count(Query(statuses=("pending",), limit=CALLS))
    asked = sum(found["asked"] for found in outcomes.values())
    silent = sum(count for outcome, count in outcomes["stakes"].items() if outcome != "asked")
    note = f"{pending} requests are open"
    return [
        Row(
            "G1: calls that reach a person, of 1,000 of which 900 match rules",
            "%",
            [asked / CALLS * 100],
            at_most=10,
            note=note,
        ),
        Row("G1: irreversible or over-limit calls that ran or were refused without a person", "", [silent], at_most=0),
        Row("G1: denied calls that reach a person", "", [outcomes["denied"]["asked"]], at_most=0),
        Row("G1: routine calls that ran", "", [outcomes["routine"]["ran"]], at_least=ALLOWED),
    ]


async def outcome_of(inbox: StoreInbox, policy: Path, call: ScriptedCall) -> str:
    """Return what the gate of a client does with a call: it ran, was denied, or asked a person."""
    gate = ClientGate(PolicyFile(policy).policy, inbox, ClientSession("bench", "s1"))
    try:
        await gate.authorize(call.tool, call.args, timeout=NOBODY)
    except WaitTimeoutError:
        return "asked"
    except NotAuthorizedError:
        return "denied"
    return "ran"


DECISIONS, WINDOW, SEEDS = 2_000, 500, range(5)
Bad = Callable[[dict[str, Any], random.Random], bool]
SHAPES: dict[str, Bad] = {
    "above a line": lambda args, _: args["amount"] > 390,
    "one customer": lambda args, _: args["customer"] == "c7" and args["amount"] > 30,
    "one agent": lambda args, _: args["agent"] == "agent:new",
    "a combination": lambda args, _: args["amount"] > 210 and args["country"] == "DE" and args["customer"] < "c2",
    "no pattern": lambda _, chance: chance.random() < 0.02,
}
"""Which 2 % of the decisions are bad: by one condition, by two together, or by none."""


class Replay(NamedTuple):
    """The decisions of people on the calls of one tool, oldest first."""

    decided: list[DecidedCall]

    @classmethod
    def of(cls, is_bad: Bad, seed: int) -> Replay:
        """Return random calls; people refuse the bad ones: some by a rejection, some by an edit, some by silence."""
        chance, found = random.Random(seed), list[DecidedCall]()
        for number in range(DECISIONS):
            agent = "agent:new" if chance.random() < 0.02 else "agent:bot"
            args = {
                "order": f"o-{number}",
                "amount": round(chance.expovariate(1 / 100), 2),
                "customer": f"c{chance.randint(1, 30)}",
                "country": chance.choice(("JP", "CN", "DE")),
            }
            bad = is_bad({**args, "agent": agent}, chance)
            call = GrantableCall("refund", args, agent, None, "people", 0, None, None)
            found.append(DecidedCall(str(number), call, not bad, not bad or number % 3 > 0))
        return cls(found)


async def rules() -> list[Row]:
    """G4: on replays with hidden bad decisions no suggested rule lets one through, neither of the past nor of later."""
    bad = past = later = saved = unseen = suggested = 0
    per_shape = dict.fromkeys(SHAPES, 0)
    for shape, is_bad in SHAPES.items():
        for seed in SEEDS:
            decided = Replay.of(is_bad, seed).decided
            bad += sum(not each.is_approved for each in decided)
            for end in range(WINDOW, DECISIONS, WINDOW):
                window, after = decided[end - WINDOW : end][::-1], decided[end : end + WINDOW]
                unseen += sum(each.is_approved for each in after)
                for found in suggest_rules_from_calls(window):
                    grant = found.grant(NewRule(), utc_now())
                    suggested, per_shape[shape] = suggested + 1, per_shape[shape] + 1
                    past += sum(grant.covers(each.call) and not each.is_approved for each in window)
                    covered = [each for each in after if grant.covers(each.call)]
                    later += sum(not each.is_approved for each in covered)
                    saved += sum(each.is_approved for each in covered)
    note = ", ".join(f"{shape}: {count}" for shape, count in per_shape.items())
    share = bad / (len(SHAPES) * len(SEEDS) * DECISIONS) * 100
    return [
        Row("G4: bad decisions hidden in the replays", "%", [share], note=f"rules suggested: {note}"),
        Row("G4: bad calls of the replay that a suggested rule lets through", "", [past], at_most=0),
        Row("G4: bad calls of the 500 after it that a suggested rule lets through", "", [later]),
        Row(
            "G4: later approvals that suggested rules save, of all",
            "%",
            [saved / unseen * 100],
            note=f"{suggested} rules",
        ),
    ]


GOALS: tuple[Callable[[], Awaitable[list[Row]]], ...] = (reach, rules, *attention_page.GOALS)
"""The goals, in order; each is measured by itself."""


async def goals() -> list[Row]:
    """Measure all goals."""
    return [row for goal in GOALS for row in await goal()]
