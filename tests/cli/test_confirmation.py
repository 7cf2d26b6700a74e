"""What has to be typed before something costly happens: the same as on the page."""

from __future__ import annotations

from typing import Any

import pytest

from ringi import Action, Ask
from ringi.base.clock import utc_now
from ringi.cli.terminal.confirmation import ConfirmationTarget, target_of
from ringi.domain.request import Request


def asked(**content: Any) -> Request:
    """Return a request of high priority."""
    ask = Ask(title="Really?", **{"priority": "high"} | content)
    return Request.asked(ask, id="r1", now=utc_now(), by=None)[0]


@pytest.mark.parametrize(
    ("args", "target"),
    [
        ({"order": 1182, "amount": 40}, ConfirmationTarget("order", "1182")),
        ({"deep": {}, "flag": True, "to": "live"}, ConfirmationTarget("to", "live")),
        ({"text": "one\ntwo", "blank": " ", "long": "x" * 61, "to": "live"}, ConfirmationTarget("to", "live")),
        ({"to": "li\u202eve"}, ConfirmationTarget("to", "li\\u{202e}ve")),
        ({"deep": {}}, ConfirmationTarget(None, "drop")),
        ({}, ConfirmationTarget(None, "drop")),
    ],
)
def test_the_first_short_value_names_the_target_else_the_call_does(
    args: dict[str, Any], target: ConfirmationTarget
) -> None:
    assert target_of(asked(action=Action("drop", args)), args) == target


def test_the_target_is_that_of_the_edited_call() -> None:
    assert target_of(asked(action=Action("drop", {"to": "live"})), {"to": "test"}) == ConfirmationTarget("to", "test")


def test_the_routine_and_mere_questions_need_no_name() -> None:
    action = Action("drop", {"to": "live"})
    assert target_of(asked(action=action, priority="normal"), action.args) is None
    assert target_of(asked(kind="question"), {}) is None
    assert target_of(asked(kind="finish"), {}) == ConfirmationTarget(None, "finish")


def test_figures_in_full_width_mean_the_same() -> None:
    assert ConfirmationTarget("order", "1182").is_named(" １１８２ ")
    assert not ConfirmationTarget("order", "1182").is_named("118")
