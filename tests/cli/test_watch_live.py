"""What happens elsewhere while `ringi watch` is open."""

from __future__ import annotations

import re
import sqlite3
from typing import Any

from tests.cli.desk import CURSOR, OFFERED, Desk, assert_answered, into
from tests.cli.terminal import Terminal

from ringi import Action, Form
from ringi.domain.request import Request
from ringi.forms.fields import Text

REFUND = Action("refund", {"order": 1182, "amount": 4000})
SOON = 10.0
"""Seconds within which news from elsewhere are seen on a machine with ten times too much to do; else it is 0.2."""


def row_of_cursor(text: str) -> str:
    """Return the line of the list that has the cursor, or "" while the screen is being drawn."""
    return next((line for line in text.splitlines() if CURSOR in line), "")


def test_a_race_that_somebody_else_wins_ends_here_with_their_name_and_keeps_what_was_typed(desk: Desk) -> None:
    asked = desk.ask("Which?", form=Form([Text("who", label="Name")]))
    with desk.opened(asked) as screen:
        into(screen, "Name")
        screen.type("half a na")
        screen.until("half a na")
        desk.respond(asked, "approve", by="bob", data={"who": "Bob"})
        seen = ("answered by bob at ", "Your text is kept", "half a na")
        text = screen.until(*seen, gone=(OFFERED,), limit=SOON)
        assert re.search(r"answered by bob at \d\d:\d\d", text)
        screen.press("ctrl+s", "a", "esc")
        screen.until("answered by bob", "Inbox ·")
    assert desk.get(asked) == desk.work(lambda inbox: inbox.wait(asked.id, 1))
    assert [event.type for event in desk.events(asked)] == ["request.created", "request.completed"]
    stored = desk.get(asked).response
    assert stored
    assert (stored.responder, stored.data) == ("bob", {"who": "Bob"})


def test_a_decision_that_comes_too_late_is_told_with_the_winner(desk: Desk) -> None:
    asked = desk.ask("Refund?", action=REFUND)
    with desk.opened(asked) as screen:
        screen.press("r")
        screen.until("as written")
        screen.type("too much")
        screen.until("too much")
        desk.respond(asked, "approve", by="bob")
        screen.press("enter")
        screen.until("approved by bob at ", "Your text is kept", "too much", gone=("Reject [",))
    stored = desk.get(asked).response
    assert stored
    assert (stored.responder, stored.decision) == ("bob", "approve")


def open_before_it_expires(desk: Desk, screen: Terminal, **content: Any) -> Request:
    """Ask something that expires, and open it in time."""
    screen.until("You're all caught up")
    asked = desk.ask("Refund?", expires_in=12, **content)
    screen.until(CURSOR, "left")
    screen.press("enter")
    screen.until(OFFERED, "left")
    return asked


def test_an_expiry_is_seen_in_place_and_decides_nothing(desk: Desk) -> None:
    desk.work(lambda inbox: inbox.find())
    with desk.watch() as screen:
        asked = open_before_it_expires(desk, screen, action=REFUND)
        seen = ("expired at ", "without an answer", "so nothing ran")
        screen.until(*seen, gone=(OFFERED, "left"), limit=12 + SOON)
        screen.press("a", "ctrl+s", "esc")
        screen.until("Inbox ·", "expired")
    ended = desk.get(asked)
    assert (ended.status, ended.response) == ("expired", None)
    assert desk.events(asked)[-1].actor == "system"


def test_the_value_for_silence_is_shown_as_no_consent(desk: Desk) -> None:
    desk.work(lambda inbox: inbox.find())
    with desk.watch() as screen:
        open_before_it_expires(desk, screen, form=Form([Text("c")]), fallback={"c": "red"})
        screen.until("the run continued with", '"red"', "without approval", limit=12 + SOON)


def test_a_withdrawn_request_says_who_withdrew_it_and_why(desk: Desk) -> None:
    asked = desk.ask("Refund?", action=REFUND)
    with desk.opened(asked) as screen:
        desk.work(lambda inbox: inbox.cancel(asked.id, by="refund-agent", reason="the order came back"))
        screen.until("cancelled at ", "by refund-agent: the order came back", gone=(OFFERED,), limit=SOON)


def test_news_gather_without_moving_what_is_under_the_cursor(desk: Desk) -> None:
    second = desk.ask("The second")
    first = desk.ask("The first")
    with desk.watch() as screen:
        screen.until("The first", "The second", CURSOR)
        screen.press("j")
        screen.when(lambda text: "The first" in row_of_cursor(text), "the cursor on the first")
        before = row_of_cursor(screen.text)
        desk.ask("The third")
        screen.until("3 open", "1 new: press n", gone=("The third",), limit=SOON)
        desk.respond(second, "respond", by="bob", message="yes")
        screen.until("2 open", "1 new, 1 ended: press n", "answered by bob", limit=SOON)
        screen.when(lambda text: row_of_cursor(text) == before, "the cursor where it was")
        screen.press("n")
        screen.until("The third", gone=("The second", "new:"))
        screen.when(lambda text: "The first" in row_of_cursor(text), "the cursor on the first")
    assert desk.get(first).status == "pending"


def test_an_empty_inbox_fills_by_itself(desk: Desk) -> None:
    desk.work(lambda inbox: inbox.find())
    with desk.watch() as screen:
        screen.until("You're all caught up")
        desk.ask("Anybody there?")
        screen.until("Anybody there?", CURSOR, gone=("You're all caught up",), limit=SOON)


def test_a_claim_is_seen_by_others_and_refuses_their_answers(desk: Desk) -> None:
    asked = desk.ask("Refund?", action=REFUND)
    with desk.opened(asked) as screen:
        desk.work(lambda inbox: inbox.claim(asked.id, by="bob"))
        screen.until("claimed by bob", limit=SOON)
        screen.press("a")
        screen.until("is claimed by 'bob'")
        screen.press("r")
        screen.until("as written", gone=("is claimed by 'bob'",))
        screen.press("esc")
        screen.until(OFFERED)
        screen.press("c")
        screen.until("is claimed by 'bob'")
        desk.work(lambda inbox: inbox.release(asked.id, by="bob"))
        screen.until(OFFERED, gone=("claimed by bob ·",), limit=SOON)
        screen.press("c")
        screen.until("Claimed by you until", "claimed by ann")
        screen.press("u")
        screen.until("Released: others", gone=("· claimed by ann",))
    assert [event.type.partition(".")[2] for event in desk.events(asked)] == [
        *("created", "claimed", "released", "claimed", "released")
    ]


def test_deadlines_count_down_in_the_list(desk: Desk) -> None:
    desk.ask("Refund?", action=REFUND, expires_in=400)
    with desk.watch() as screen:
        screen.until("6:3", "left")
        before = screen.text
        screen.when(lambda text: text != before, "ticking", limit=SOON)


def test_two_japanese_letters_find_a_request(desk: Desk) -> None:
    desk.ask("注文1182を返金しますか")
    desk.ask("Which sport?")
    with desk.watch() as screen:
        screen.until("sport", CURSOR)
        screen.press("/")
        screen.until("Search titles")
        screen.type("返金")
        screen.until("返金", "sport")
        screen.press("enter")
        screen.until("1 found for “返金”", "注文1182", gone=("sport",))
        desk.ask("Does not fit")
        desk.ask("また返金ですか")
        screen.until("1 new: press n", limit=SOON)
        screen.press("esc")
        screen.until("4 open", "sport", "また返金")


def test_a_long_list_goes_on_below_its_end(desk: Desk) -> None:
    async def many(inbox: object) -> None:
        for number in range(230):
            await inbox.ask(f"Question {number:03}?")  # type: ignore[attr-defined]

    desk.work(many)
    with desk.watch() as screen:
        screen.until("230 open", "Question 000?", CURSOR)
        screen.press("end")
        screen.until("Question 199?")
        screen.press("down", "end")
        screen.until("Question 229?")


def test_a_store_that_cannot_answer_is_told_and_nothing_is_lost(desk: Desk) -> None:
    asked = desk.ask("Refund?", action=REFUND)
    database = sqlite3.connect(desk.folder / "ringi.db", isolation_level=None)
    with desk.opened(asked) as screen:
        screen.press("r")
        screen.until("as written")
        screen.type("too much")
        screen.until("too much")
        database.execute("BEGIN EXCLUSIVE")
        screen.press("enter")
        screen.until("the store is unavailable", "retry", "too much", limit=40)
        database.execute("ROLLBACK")
        screen.press("enter")
        screen.until("rejected: Refund?")
    database.close()
    assert_answered(desk.get(asked), "reject", message="too much")
