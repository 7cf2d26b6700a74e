"""The rules that hold however processes die, checked on a history and on what is stored in the end."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from tests.faults.chaos.history import Call

from ringi.domain.events import FEED_EVENTS, WEBHOOK_EVENTS

SECRET = "of-the-other-tenant"
"""Stands in every text of the second tenant."""
ENDED = ("completed", "cancelled", "expired")
Found = Iterator[str]


class End(NamedTuple):
    """What is stored when all is quiet."""

    requests: dict[str, dict[str, Any]]
    events: Sequence[dict[str, Any]]
    threads: Sequence[dict[str, Any]]
    effects: Sequence[str]
    audit: Sequence[str]


def answered_calls(calls: Sequence[Call]) -> dict[str, list[Call]]:
    """Return the acknowledged answers of each request."""
    found: dict[str, list[Call]] = defaultdict(list)
    for call in calls:
        if call.op == "respond" and call.code == 200:
            found[call.request].append(call)
    return found


def no_acknowledged_answer_is_lost(calls: Sequence[Call], end: End) -> Found:
    """R1."""
    for id, answers in answered_calls(calls).items():
        stored = winner_of(end.requests.get(id, {}))
        yield from (f"{id}: {a.client} was told {a.seen}, stored is {stored}" for a in answers if a.seen != stored)


def one_decision_wins(calls: Sequence[Call], end: End) -> Found:
    """R2: everybody is told of the same winner, those who were late as well."""
    notices: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for call in calls:
        if call.op == "respond" and call.seen.get("decision"):
            notices[call.request].add((call.seen["decision"], call.seen["responder"]))
    yield from (f"{id}: several won: {sorted(winners)}" for id, winners in notices.items() if len(winners) > 1)


def an_answer_is_seen_at_once(calls: Sequence[Call], end: End) -> Found:
    """R3."""
    first = {id: min(a.returned for a in answers) for id, answers in answered_calls(calls).items()}
    for call in calls:
        late = call.op == "view" and call.seen.get("status") == "pending"
        if late and call.invoked > first.get(call.request, float("inf")):
            yield f"{call.request}: still pending for {call.client} after it was answered"


def no_state_goes_back(calls: Sequence[Call], end: End) -> Found:
    """R4: what one client has seen ended is never pending again for anybody."""
    ended: dict[str, tuple[float, str]] = {}
    for call in sorted(calls, key=lambda each: each.returned):
        status = call.seen.get("status")
        if status in ENDED and call.request not in ended:
            ended[call.request] = (call.returned, status)
    for call in calls:
        at, known = ended.get(call.request, (float("inf"), ""))
        status = call.seen.get("status")
        if status and call.invoked > at and status != known:
            yield f"{call.request}: was {known}, then {status}"


def a_run_commits_once(calls: Sequence[Call], end: End) -> Found:
    """R5: each step counted once, and a fence that rises with each worker."""
    for thread in end.threads:
        if (thread["status"], thread["values"].get("steps")) != ("done", 2):
            yield f"thread {thread['id']} is {thread['status']} with {thread['values']}: {thread['error']}"
    fences: dict[str, int] = defaultdict(int)
    for event in end.events:
        fence = event["payload"].get("changed", {}).get("fence")
        if event["record"] != "thread" or fence is None:
            continue
        if fence < fences[event["record_id"]]:
            yield f"thread {event['record_id']}: the fence fell to {fence}"
        fences[event["record_id"]] = fence


def an_effect_has_one_key_and_was_granted(calls: Sequence[Call], end: End) -> Found:
    """R7: the key is the request's id; at a receiver that knows it, the second time is none."""
    deciders: dict[str, set[str]] = defaultdict(set)
    for line in end.effects:
        id, responder = line.split()
        deciders[id].add(responder)
    for id, responders in deciders.items():
        winner = winner_of(end.requests.get(id, {}))
        if winner.get("decision") != "approve" or responders != {winner["responder"]}:
            yield f"{id}: paid for {sorted(responders)}, decided was {winner}"
    approved = {r["id"] for r in end.requests.values() if r["thread_id"] and winner_of(r).get("decision") == "approve"}
    yield from (f"{id}: approved and never paid" for id in sorted(approved - deciders.keys()))


def the_trail_is_whole(calls: Sequence[Call], end: End) -> Found:
    """R8: the chain verifies, and each request has one end."""
    yield from end.audit
    ends = Counter(e["record_id"] for e in end.events if e["type"] in {f"request.{status}" for status in ENDED})
    yield from (f"{id}: {ends[id]} ends in its trail" for id in end.requests if ends[id] > 1)


def news_come_after_the_fact(calls: Sequence[Call], end: End) -> Found:
    """R9: who was told of an end and then looks, finds it."""
    notified = {(call.request, call.client) for call in calls if call.op == "told"}
    for call in calls:
        if call.op == "look" and (call.request, call.client) in notified and call.seen.get("status") == "pending":
            yield f"{call.request}: {call.client} was told that it ended, and found it pending"


def the_feed_has_no_gap(calls: Sequence[Call], end: End) -> Found:
    """A reader that came again with its last id, to whichever server, was told each event once and in order."""
    positions = [call.seen["position"] for call in calls if call.op == "told"]
    expected = [event["position"] for event in end.events if event["type"] in FEED_EVENTS]
    if positions != expected:
        missed, twice = set(expected) - set(positions), {one for one, count in Counter(positions).items() if count > 1}
        yield f"{len(positions)} told of {len(expected)}; missed {sorted(missed)[:5]}, twice {sorted(twice)[:5]}"


def a_receiver_is_sent_each_event_in_order(calls: Sequence[Call], end: End) -> Found:
    """R11: at least once; and the events of one request for the first time in their order."""
    sent: dict[str, dict[str, str]] = defaultdict(dict)
    for call in calls:
        if call.op == "sent":
            sent[call.request].setdefault(call.seen["id"], call.seen["event"])
    expected: dict[str, list[str]] = defaultdict(list)
    for event in end.events:
        if event["type"] in WEBHOOK_EVENTS:
            expected[event["record_id"]].append(event["type"])
    for id in expected if sent else ():
        if (got := list(sent[id].values())) != expected[id]:
            yield f"{id}: the receiver was sent {got}, the trail has {expected[id]}"


def no_tenant_sees_another(calls: Sequence[Call], end: End) -> Found:
    """R10."""
    yield from (f"{call.client} saw {call.seen['other']}" for call in calls if call.seen.get("other"))


RULES: dict[str, Callable[[Sequence[Call], End], Found]] = {
    "R1 no acknowledged answer is lost": no_acknowledged_answer_is_lost,
    "R2 one decision wins": one_decision_wins,
    "R3 an answer is seen at once": an_answer_is_seen_at_once,
    "R4 no state goes back": no_state_goes_back,
    "R5 a run commits once": a_run_commits_once,
    "R7 an effect has one key and was granted": an_effect_has_one_key_and_was_granted,
    "R8 the trail is whole": the_trail_is_whole,
    "R9 news come after the fact": news_come_after_the_fact,
    "the feed has no gap": the_feed_has_no_gap,
    "R11 a receiver is sent each event in order": a_receiver_is_sent_each_event_in_order,
    "R10 no tenant sees another": no_tenant_sees_another,
}


def broken_rules(calls: Sequence[Call], end: End) -> dict[str, list[str]]:
    """Return for each rule what breaks it."""
    return {name: list(rule(calls, end)) for name, rule in RULES.items()}


def hand_overs(end: End) -> list[float]:
    """Return, for R6, the seconds from each end of a parked request until its run took it up."""
    parked = [r for r in end.requests.values() if r["thread_id"] and r["ended_at"] and r["acknowledged_at"]]
    return sorted(seconds_between(r["ended_at"], r["acknowledged_at"]) for r in parked)


def seconds_between(began: str, ended: str) -> float:
    """Return the seconds between two times."""
    return (datetime.fromisoformat(ended) - datetime.fromisoformat(began)).total_seconds()


def winner_of(request: dict[str, Any]) -> dict[str, Any]:
    """Return the decision and who took it; nothing of a request that nobody decided."""
    response = request.get("response") or {}
    return {name: response[name] for name in ("decision", "responder") if name in response}
