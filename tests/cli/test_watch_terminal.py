"""What `ringi watch` does to the terminal, and what it never lets an agent do to it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys

import psutil
import pytest
from tests.cli.desk import CURSOR, OFFERED, Desk, assert_answered, into
from tests.cli.terminal import ENTRY, Terminal

from ringi import Action, Form
from ringi.domain import Button
from ringi.forms.field_parts import Option
from ringi.forms.fields import Field, Radio, Select, Text, TextArea

EVIL = "x\x1b]0;pwned\x07\x1b[2J\x1b[31mred\u202egnp\u200b\U000e0041\x9b7m\u2066y"
"""Sets the title, clears the screen, colours, reorders, and hides."""
NEVER = [
    *(b"\x1b]0;pwned", b"\x1b[31mred", b"\x1b[2J\x1b[31m", b"pwned\x07"),
    *(character.encode() for character in "\u202e\u200b\U000e0041\x9b\u2066"),
]
ALT_SCREEN, MAIN_SCREEN = b"\x1b[?1049h", b"\x1b[?1049l"
COLOUR = re.compile(rb"\x1b\[(?:[0-9;]*;)?(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])(?:;[0-9;]*)?m")
LONG = "注文1182の返金を承認しますか、金額は4,000円で、理由は配送の遅れです。请确认退款金额是否正确。"


def hostile(desk: Desk) -> None:
    """Ask with hostile text in everything that an agent can write."""
    options = [Option(value=EVIL, label=EVIL), Option(value="b", label="b")]
    fields: list[Field] = [
        Text("a", label=EVIL, help=EVIL, placeholder=EVIL),
        Text("filled", default=EVIL.replace("\x00", "")),
        TextArea("lines", default=f"{EVIL}\n{EVIL}"),
        Select("s", options=options, placeholder=EVIL),
        Radio("r", options=options),
    ]
    desk.ask(
        f"{EVIL} title",
        description=f"{EVIL}\n# {EVIL}",
        action=Action(EVIL, {EVIL: EVIL, "deep": [{EVIL: EVIL}]}),
        form=Form(fields),
        context={EVIL: {EVIL: EVIL}},
        actions={"approve": Button(label=EVIL)},
    )


def assert_harmless(screen: Terminal) -> None:
    """Fail when anything hostile went to the terminal as it is."""
    for found in NEVER:
        assert found not in screen.raw, found


def test_nothing_that_an_agent_writes_reaches_the_terminal_as_it_is(desk: Desk) -> None:
    hostile(desk)
    with desk.watch(lines=100, columns=200) as screen:
        screen.until("\\u{1b}]0;pwned", "\\u{202e}gnp", "title", CURSOR)
        screen.press("enter")
        text = screen.until("[a]")
        assert text.count("\\u{1b}]0;pwned") > 10
        screen.press("e")
        screen.until("█ ", "With invisible characters")
        screen.press("esc")
        screen.until("[ctrl+s]", gone=("█",))
        screen.press("esc")
        screen.until("[r]")
        screen.press("r")
        screen.until("as written")
        screen.type("no")
        screen.press("enter")
        screen.until("You're all caught up")
        assert_harmless(screen)


def test_an_agents_label_never_takes_the_place_of_the_decisions_own_word(desk: Desk) -> None:
    labels = {"approve": Button(label="approve"), "reject": Button(label="Yes, go on")}
    with desk.opened(desk.ask("Refund?", action=Action("refund"), actions=labels)) as screen:
        screen.until("Approve [a]", "Reject “Yes, go on” [r]")


def test_who_answers_elsewhere_under_a_hostile_name_reaches_nothing_either(desk: Desk) -> None:
    asked = desk.ask("Which?")
    with desk.opened(asked, columns=160) as screen:
        desk.respond(asked, "respond", by="bobx\u200b\U000e0041", message="yes")
        screen.until("answered by bobx\\u{200b}")
        assert_harmless(screen)


def test_what_is_typed_in_the_same_instant_as_a_key_goes_where_the_key_leads(desk: Desk) -> None:
    refund, ship = (desk.ask(title, action=Action("act")) for title in ("Refund quickly, John?", "Ship it?"))
    with desk.watch() as screen:
        screen.until("2 open", CURSOR)
        screen.type("/quickly\r")
        screen.until("1 found for “quickly”", "Refund quickly", gone=("Ship it?",))
        screen.press("enter")
        screen.until(OFFERED)
        screen.type("rjust a quick no, claim nothing\r")
        screen.until("rejected: Refund")
    assert_answered(desk.get(refund), "reject", message="just a quick no, claim nothing")
    assert desk.get(ship) == ship


def test_what_is_pasted_is_kept_and_its_hidden_part_is_shown(desk: Desk) -> None:
    asked = desk.ask("Which?", form=Form([Text("who", label="Name")]))
    with desk.opened(asked) as screen:
        into(screen, "Name")
        screen.type("\x1b[200~ab\u202ec\x1b[201~")
        screen.until("With invisible characters: ab\\u{202e}c")
        screen.press("ctrl+s")
        screen.until("answered")
        assert "\u202e".encode() not in screen.raw
    assert_answered(desk.get(asked), "approve", data={"who": "ab\u202ec"})


@pytest.mark.parametrize(
    ("where", "how", "code"),
    [
        ("list", "ctrl+c", 130),
        ("list", "SIGKILL", -signal.SIGKILL),
        ("request", "SIGINT", 130),
        ("field", "ctrl+c", 130),
        ("field", "SIGTERM", -signal.SIGTERM),
        ("field", "SIGKILL", -signal.SIGKILL),
    ],
)
def test_the_terminal_is_given_back_however_it_ends(desk: Desk, where: str, how: str, code: int) -> None:
    asked = desk.ask("Which?", form=Form([Text("who", label="Name")]))
    others = psutil.Process().children()
    with desk.watch() as screen:
        go_to(screen, where)
        assert screen.mode != screen.before
        if how == "ctrl+c":
            screen.press("ctrl+c")
        else:
            os.kill(screen.pid, getattr(signal, how))
        assert screen.end() == code
        screen.drain(lambda: screen.raw.rfind(MAIN_SCREEN) > screen.raw.rfind(ALT_SCREEN))
        screen.drain(lambda: screen.mode == screen.before)
        screen.drain(lambda: set(psutil.Process().children()) <= set(others))
        assert screen.raw.rfind(b"\x1b[?25h") > screen.raw.rfind(b"\x1b[?25l")
        assert screen.raw.rfind(b"\x1b[?1003l") > screen.raw.rfind(b"\x1b[?1003h")
        assert "Traceback" not in screen.text
    assert desk.get(asked).status == "pending"


def go_to(screen: Terminal, where: str) -> None:
    """Go from the list to a request, or into its field."""
    screen.until(CURSOR)
    if where != "list":
        screen.press("enter")
        screen.until(OFFERED)
    if where == "field":
        into(screen, "Name")
        screen.type("half a na")
        screen.until("half a na")


def test_quitting_leaves_no_trace(desk: Desk) -> None:
    desk.ask("Which?")
    with desk.watch() as screen:
        screen.until(CURSOR)
        screen.press("q")
        assert screen.end() == 0
        assert screen.mode == screen.before
        assert screen.raw.rfind(MAIN_SCREEN) > screen.raw.rfind(ALT_SCREEN)


def test_it_can_be_put_aside_and_taken_up_again(desk: Desk) -> None:
    asked = desk.ask("Which?", form=Form([Text("who", label="Name")]))
    with desk.watch() as screen:
        go_to(screen, "field")
        screen.press("ctrl+z")
        screen.drain(lambda: psutil.Process(screen.pid).status() == psutil.STATUS_STOPPED)
        screen.drain(lambda: screen.mode == screen.before)
        screen.drain(lambda: screen.raw.rfind(MAIN_SCREEN) > screen.raw.rfind(ALT_SCREEN))
        os.kill(screen.pid, signal.SIGCONT)
        screen.drain(lambda: screen.raw.rfind(ALT_SCREEN) > screen.raw.rfind(MAIN_SCREEN))
        # Until the terminal hands every key on, Ctrl+S stops its output instead.
        screen.drain(lambda: screen.mode != screen.before)
        screen.until("half a na")
        screen.press("ctrl+s")
        screen.until("answered: Which?")
    assert_answered(desk.get(asked), "approve", data={"who": "half a na"})


def test_no_colour_is_used_where_nobody_wants_one(desk: Desk) -> None:
    desk.ask("Refund?", action=Action("refund", {"amount": 4000}), form=Form([Text("who")]), expires_in=300)
    with desk.watch(NO_COLOR="1") as screen:
        screen.until(CURSOR)
        screen.press("enter")
        screen.until(OFFERED)
        into(screen, "who")
        screen.drain(lambda: any(cell.reverse for row in screen.screen.buffer.values() for cell in row.values()))
        screen.press("esc")
        screen.until("who", gone=("█",))
        screen.press("e")
        screen.until("█ amount")
        assert not COLOUR.findall(screen.raw)


def test_colours_are_used_where_they_are_wanted(desk: Desk) -> None:
    desk.ask("Refund?")
    with desk.watch() as screen:
        screen.until(CURSOR)
        assert COLOUR.findall(screen.raw)


def test_japanese_and_chinese_are_whole_at_80_by_24(desk: Desk) -> None:
    asked = desk.ask(LONG, description=LONG, action=Action("返金", {"理由": LONG}), form=Form([Text("a", label=LONG)]))
    with desk.opened(asked) as screen:
        joined = re.sub(r"[\s│]", "", screen.text)
        assert joined.count(LONG) == 4
        screen.press("esc")
        row = next(line for line in screen.until("Inbox ·", CURSOR).splitlines() if CURSOR in line)
        text = row.split(CURSOR)[1].split("…")[0].strip()
        assert len(text) > 10
        assert LONG.startswith(text)


def test_a_smaller_window_still_shows_the_decision(desk: Desk) -> None:
    asked = desk.ask("Refund?", action=Action("refund", {"amount": 4000}))
    with desk.opened(asked) as screen:
        screen.resize(60, 16)
        screen.until("4000", OFFERED, "esc Back")
        screen.press("a")
        screen.until("approved: Refund?")
    assert_answered(desk.get(asked), "approve")


def test_help_lists_the_keys(desk: Desk) -> None:
    desk.ask("Which?")
    with desk.watch() as screen:
        screen.until(CURSOR)
        screen.press("?")
        screen.until("Quit at once", "Next", "Previous")
        screen.press("esc")
        screen.until(CURSOR, gone=("Quit at once",))
        screen.press("enter")
        screen.until(OFFERED)
        screen.press("?")
        screen.until("Answer with a text", "Reject, with a reason", "Quit at once")


def test_a_mistake_of_our_own_is_told_in_a_line_on_a_whole_terminal(desk: Desk) -> None:
    desk.ask("Which?", description="x")
    broken = f"import ringi.cli.terminal.request_screen as screen; screen.request_section_box = None; {ENTRY}"
    with desk.watch(entry=broken) as screen:
        screen.until(CURSOR)
        screen.press("enter")
        assert screen.end() == 1
        screen.until("error: unexpected TypeError", "RINGI_LOG=DEBUG", gone=("Traceback", "Inbox"))
        assert screen.mode == screen.before


def test_without_a_terminal_it_says_what_to_use_instead(desk: Desk) -> None:
    command = [sys.executable, "-c", ENTRY, "watch"]
    env = os.environ | {"RINGI_HOME": str(desk.folder)}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=40, check=False, input="")
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert "--json" in done.stderr
