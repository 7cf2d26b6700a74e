"""Answers given with the keys of a real terminal, found in the store."""

from __future__ import annotations

import pytest
from tests.cli.desk import OFFERED, Desk, assert_answered, into
from tests.cli.terminal import Terminal

from ringi import Action, Form
from ringi.cli.terminal.confirmation import confirmation_fact, request_digest_number
from ringi.forms.field_parts import Option
from ringi.forms.fields import (
    Boolean,
    Checkbox,
    Date,
    Field,
    MultiSelect,
    Number,
    Radio,
    Select,
    Slider,
    Text,
    TextArea,
)

REFUND = Action("refund", {"order": 1182, "amount": 4000, "note": "遅れ"})
TEN: list[Field] = [
    Text("who", label="Name", required=True),
    TextArea("why", label="Why"),
    Select("sport", label="Sport", options=["swimming", "running"]),
    MultiSelect("days", label="Days", options=["mon", "tue", "wed"]),
    Radio("state", label="State", options=[Option(value=1, label="late"), Option(value=2, label="damaged")]),
    Checkbox("extras", label="Extras", options=["gift", "note"]),
    Number("amount", label="Amount", min=1),
    Slider("mood", label="Mood", min=0, max=10),
    Date("day", label="Day"),
    Boolean("sure", label="Sure"),
]


def fill_ten(screen: Terminal, range_text: str = "3 (0 to 10)", no: str = "No") -> None:
    """Fill in a field of each type."""
    into(screen, "Name")
    screen.type("Ann 安")
    into(screen, "Why")
    screen.type("one\rtwo")
    into(screen, "Sport")
    screen.press("enter")
    screen.until("▲")
    screen.press("down", "down", "enter")
    screen.until("█ running", gone=("▲",))
    into(screen, "Days")
    screen.press("space", "down", "down", "space")
    screen.until("[x] mon", "[x] wed", "[ ] tue")
    into(screen, "State")
    screen.press("down", "space")
    screen.until("(•) damaged", "( ) late")
    into(screen, "Extras")
    screen.press("down", "enter")
    screen.until("[x] note")
    into(screen, "Amount")
    screen.type("12.5")
    into(screen, "Mood")
    screen.press("right", "right", "right", "right")
    screen.until(range_text)
    into(screen, "Day")
    screen.type("2026-11-30")
    into(screen, "Sure")
    screen.press("down", "enter")
    screen.until(f"(•) {no}")


def test_a_form_of_all_ten_types_is_filled_in_with_the_keyboard_alone(desk: Desk) -> None:
    asked = desk.ask("Tell us", form=Form(TEN))
    with desk.opened(asked) as screen:
        fill_ten(screen)
        screen.press("ctrl+s")
        screen.until("You're all caught up", "answered: Tell us")
    answers = {"who": "Ann 安", "why": "one\ntwo", "sport": "running", "days": ["mon", "wed"], "state": 2}
    more = {"extras": ["note"], "amount": 12.5, "mood": 3, "day": "2026-11-30", "sure": False}
    assert_answered(desk.get(asked), "approve", data=answers | more)


def test_what_nobody_touched_is_not_sent(desk: Desk) -> None:
    asked = desk.ask("Tell us", form=Form([field.model_copy(update={"required": False}) for field in TEN]))
    with desk.opened(asked) as screen:
        screen.press("a")
        screen.until("answered: Tell us")
    assert_answered(desk.get(asked), "approve", data={})


def test_an_argument_is_edited_and_the_change_is_shown_before_it_is_sent(desk: Desk) -> None:
    asked = desk.ask("Refund?", action=REFUND)
    with desk.opened(asked) as screen:
        screen.press("e")
        screen.until("█ order")
        into(screen, "amount")
        screen.press("backspace", "backspace", "backspace")
        screen.until("4000 → 4")
        screen.press("backspace")
        screen.until("not JSON")
        screen.type("3500")
        screen.until("4000 → 3500")
        into(screen, "note")
        screen.type("、安")
        screen.until('"遅れ" → "遅れ、安"')
        screen.press("ctrl+s")
        screen.until("approved with changes: Refund?")
    assert_answered(desk.get(asked), "edit", args={"order": 1182, "amount": 3500, "note": "遅れ、安"})


def test_a_field_is_put_back_as_it_was(desk: Desk) -> None:
    asked = desk.ask("Refund?", action=REFUND)
    with desk.opened(asked) as screen:
        screen.press("e")
        screen.until("█ order")
        screen.type("9")
        screen.until("1182 → 11829")
        screen.press("ctrl+r")
        screen.until("█ 1182", gone=("→", "11829"))
        into(screen, "amount")
        screen.type("1")
        screen.until("4000 → 40001")
        screen.press("ctrl+s")
        screen.until("approved with changes: Refund?")
    assert_answered(desk.get(asked), "edit", args={"order": 1182, "amount": 40001, "note": "遅れ"})


def test_the_buttons_are_reached_by_tab(desk: Desk) -> None:
    asked = desk.ask("Refund?", action=REFUND)
    with desk.opened(asked) as screen:
        screen.press("tab", "tab", "tab", "enter")
        screen.until("as written")
        screen.press("enter")
        screen.until("rejected: Refund?")
    assert_answered(desk.get(asked), "reject")


def test_an_edit_that_changes_nothing_is_not_sent(desk: Desk) -> None:
    asked = desk.ask("Refund?", action=REFUND)
    with desk.opened(asked) as screen:
        screen.press("e")
        screen.until("█ order")
        screen.press("ctrl+s")
        screen.until("Change a value first")
        screen.press("esc")
        screen.until("order", gone=("█",))
        screen.press("esc")
        screen.until(OFFERED)
        screen.press("a")
        screen.until("approved: Refund?")
    assert_answered(desk.get(asked), "approve")


def test_a_form_with_prefilled_values_is_edited(desk: Desk) -> None:
    asked = desk.ask("Sure?", form=Form([Text("name", default="Bob"), Number("age", default=4)]))
    with desk.opened(asked) as screen:
        screen.press("e")
        screen.until("█ name")
        screen.type("by")
        screen.until('"Bob" → "Bobby"')
        screen.press("ctrl+s")
        screen.until("changed and answered")
    assert_answered(desk.get(asked), "edit", data={"name": "Bobby", "age": 4})


def test_a_reason_reaches_the_agent_word_for_word(desk: Desk) -> None:
    asked = desk.ask("Refund?", action=REFUND)
    with desk.opened(asked) as screen:
        screen.press("r")
        screen.until("sent to the agent as written")
        screen.type("  Too much. 高すぎます")
        screen.until("高すぎます")
        screen.press("ctrl+j")
        screen.type("[b]ask[/b] again, quietly ")
        screen.until("█  [b]ask[/b] again, quietly")
        screen.press("enter")
        screen.until("rejected: Refund?")
    assert_answered(desk.get(asked), "reject", message="  Too much. 高すぎます\n[b]ask[/b] again, quietly ")


def test_a_pasted_reason_keeps_its_lines(desk: Desk) -> None:
    asked = desk.ask("Refund?", action=REFUND)
    with desk.opened(asked) as screen:
        screen.press("r")
        screen.until("as written")
        screen.type("\x1b[200~one\ntwo\x1b[201~")
        screen.until("two")
        screen.press("enter")
        screen.until("rejected")
    assert_answered(desk.get(asked), "reject", message="one\ntwo")


def test_a_question_is_answered_in_words(desk: Desk) -> None:
    asked = desk.ask("Which colour?")
    with desk.opened(asked) as screen:
        screen.press("a")
        screen.until("Your answer")
        screen.type("blue, or 青")
        screen.until("青")
        screen.press("enter")
        screen.until("answered: Which colour?")
    assert_answered(desk.get(asked), "respond", message="blue, or 青")


def test_a_question_is_not_answered_with_nothing(desk: Desk) -> None:
    asked = desk.ask("Which colour?")
    with desk.opened(asked) as screen:
        screen.press("a")
        screen.until("Your answer")
        screen.press("enter")
        screen.until("✗ is required: write a message")
    assert desk.get(asked).status == "pending"


@pytest.mark.parametrize(
    ("keys", "words", "decision", "answer"),
    [
        ("a", "", "approve", {}),
        ("m", "更新して", "respond", {"message": "更新して"}),
        ("r", "", "reject", {}),
    ],
)
def test_a_finish_is_decided_or_answered_in_words(
    desk: Desk, keys: str, words: str, decision: str, answer: dict[str, str]
) -> None:
    asked = desk.ask("Finish?", kind="finish", context={"task": "write a haiku", "summary": "five, seven, five"})
    with desk.opened(asked) as screen:
        screen.until("write a haiku", "five, seven, five", "Finish task?")
        screen.press(keys)
        if decision != "approve":
            screen.until("[ctrl+s]")
            screen.type(words)
            screen.until(words)
            screen.press("enter")
        screen.until("You're all caught up")
    assert_answered(desk.get(asked), decision, **answer)


def test_the_task_of_a_finish_is_edited(desk: Desk) -> None:
    asked = desk.ask("Finish?", kind="finish", context={"task": "write a haiku", "summary": "done"})
    with desk.opened(asked) as screen:
        screen.press("e")
        screen.until("█ task")
        screen.type(" in Japanese")
        screen.until('"write a haiku" → "write a haiku in Japanese"', "Change the task [ctrl+s]")
        screen.press("ctrl+s")
        screen.until("task changed")
    assert_answered(desk.get(asked), "edit", data={"task": "write a haiku in Japanese"})


def test_a_flat_schema_is_filled_in_as_a_form(desk: Desk) -> None:
    schema = {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}
    asked = desk.ask("How old?", schema=schema)
    with desk.opened(asked) as screen:
        into(screen, "age")
        screen.type("42")
        screen.press("ctrl+s")
        screen.until("answered: How old?")
    assert_answered(desk.get(asked), "approve", data={"age": 42})


def test_a_schema_that_is_no_form_is_answered_as_json(desk: Desk) -> None:
    schema = {"type": "object", "properties": {"tree": {"type": "object"}}, "required": ["tree"]}
    asked = desk.ask("Which tree?", schema=schema)
    with desk.opened(asked) as screen:
        into(screen, "Answer, as JSON")
        screen.press("end", "backspace")
        screen.until("█  {\n")
        screen.type('"tree": {"leaf": 1')
        screen.until('"leaf": 1')
        screen.press("ctrl+s")
        screen.until("✗ not JSON")
        screen.type("}}")
        screen.until('"leaf": 1}}', gone=("not JSON",))
        screen.press("ctrl+s")
        screen.until("answered: Which tree?")
    assert_answered(desk.get(asked), "approve", data={"tree": {"leaf": 1}})


def test_what_cannot_be_undone_needs_a_right_answer(desk: Desk) -> None:
    asked = desk.ask("Drop it?", action=Action("drop", {"table": "customers"}), tier="irreversible")
    fact = confirmation_fact(asked, {"table": "customers"})
    assert fact
    orders = [fact.choices(request_digest_number(asked) + wrong) for wrong in (0, 1)]
    with desk.opened(asked) as screen:
        screen.until("Effect not declared")
        screen.press("a")
        screen.until("Which value does “table” have?", *(f"{n}  {value}" for n, value in enumerate(orders[0], 1)))
        screen.type(str(1 + orders[0].index(fact.others[0])))
        screen.press("enter")
        screen.until("✗ not right, nothing was sent", *(f"{n}  {value}" for n, value in enumerate(orders[1], 1)))
        assert desk.get(asked).status == "pending"
        screen.type(str(1 + orders[1].index(fact.right)))
        screen.press("enter")
        screen.until("approved: Drop it?")
    assert_answered(desk.get(asked), "approve")


def test_only_the_tier_asks_for_a_second_key(desk: Desk) -> None:
    for tier, priority in (("high", "low"), ("medium", "urgent")):
        asked = desk.ask(f"Pay, {tier}?", action=Action("pay", {"n": 4}), tier=tier, priority=priority)
        with desk.opened(asked) as screen:
            screen.press("a")
            if tier == "high":
                screen.until("Much is at stake")
                assert desk.get(asked).status == "pending"
                screen.press("enter")
            screen.until(f"approved: Pay, {tier}?")
        assert_answered(desk.get(asked), "approve")


def test_a_wrong_value_is_told_at_its_field_and_stays(desk: Desk) -> None:
    asked = desk.ask("Which?", form=Form([Text("who", label="Name", required=True), Number("n", label="Count", max=3)]))
    with desk.opened(asked) as screen:
        into(screen, "Name")
        into(screen, "Count")
        screen.type("4")
        screen.press("ctrl+s")
        screen.until("✗ is required: answer it", "✗ 4 is above 3: send at most 3", "nothing was sent", "█ Name")
        screen.type("Ann")
        screen.until("Ann", gone=("is required",))
        into(screen, "Count")
        screen.type("x")
        screen.until("4x")
        screen.press("ctrl+s")
        screen.until("“4x” is not a number")
        screen.press("backspace", "backspace")
        screen.until("Count", gone=("4x", "█ 4"))
        screen.type("3")
        screen.press("ctrl+s")
        screen.until("answered: Which?")
    assert_answered(desk.get(asked), "approve", data={"who": "Ann", "n": 3})


def test_an_edit_outside_the_schema_is_told_at_the_argument(desk: Desk) -> None:
    schema = {"properties": {"amount": {"type": "number", "maximum": 4000}}}
    asked = desk.ask("Refund?", action=Action("refund", {"amount": 4000}, schema=schema))
    with desk.opened(asked) as screen:
        screen.press("e")
        screen.until("█ amount")
        screen.type("0")
        screen.press("ctrl+s")
        screen.until("✗ ", "40000", "nothing was sent")
    assert desk.get(asked).status == "pending"


def test_what_is_typed_survives_a_look_at_another_request(desk: Desk) -> None:
    asked = desk.ask("The older one", form=Form([Text("who", label="Name")]))
    desk.ask("The newer one")
    with desk.opened(asked) as screen:
        into(screen, "Name")
        screen.type("half a na")
        screen.until("half a na")
        screen.press("esc")
        screen.until("half a na", gone=("█",))
        screen.press("j")
        screen.until("The newer one", OFFERED)
        screen.press("k")
        screen.until("half a na", OFFERED)
        screen.press("esc")
        screen.until("Inbox ·")
        screen.press("q")
        screen.until("unsent text")
        screen.press("q")
        assert screen.end() == 0


def test_the_next_request_opens_and_a_key_held_down_does_not_decide_it(desk: Desk) -> None:
    first = desk.ask("First?", action=REFUND)
    second = desk.ask("Second?", action=REFUND)
    with desk.opened(first) as screen:
        screen.type("aaaaaaaaaa")
        screen.until("Second?", "approved: First?", OFFERED)
        assert desk.get(second).status == "pending"
        screen.press("a")
        screen.until("You're all caught up")
    assert_answered(desk.get(first), "approve")
    assert_answered(desk.get(second), "approve")
