"""The commands that people read speak the language of the terminal, and no English reaches the others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from string import Formatter
from typing import Any, get_args

import pytest
import typer
from tests.cli.desk import OFFERED, Desk, assert_answered, into
from tests.cli.terminal import Terminal, terminal
from tests.cli.test_commands import output_of, ringi
from tests.cli.test_watch_answers import TEN, fill_ten
from tests.sources import files, source_of

from ringi import Action, Form, Policy, errors
from ringi.base.clock import utc_now
from ringi.base.texts import LANGUAGES, Sentence, reason_of, sentences_text
from ringi.cli import texts as texts_package
from ringi.cli.app import app
from ringi.cli.error_texts import cli_error_text
from ringi.cli.format.requests import actor_text, effect_line, request_about_line
from ringi.cli.texts import VARIABLES, cli_text_catalogue, cli_translations, environment_language
from ringi.domain.ask import Decision, Kind, Priority, Wording
from ringi.domain.request import Request
from ringi.errors import FieldError, RingiError
from ringi.forms.fields import Number, Text
from ringi.inbox.offboarding import HoldingKind
from ringi.policy.question import question_about_call

REFUND = Action("refund", {"order": 1182, "note": "遅れ"})
LOCALES = {"ja": "ja_JP.UTF-8", "zh": "zh_CN.UTF-8"}
DATA = {"ann", "bob", "refund", "order", "note", "JSON", "Ringi", "agent", "approve", "edit", "reject", "respond"}
KEYS = {"ctrl", "esc", "tab", "enter"}
PLACEHOLDER = re.compile(r"\{\w+\}")
WORDS = re.compile(r"[A-Za-z]{3,}")


def keys_in_code() -> set[str]:
    """Return the keys of texts that stand whole in the code."""
    folder = Path(texts_package.__file__).parent
    source = "\n".join(map(source_of, files(folder)))
    return {*re.findall(r'text_of\(\s*"([^"]+)"', source), *re.findall(r'"(key\.\w+)"', source)}


def placeholders(text: str) -> set[str]:
    """Return the names of the placeholders in a text."""
    return {name for _, name, _, _ in Formatter().parse(text) if name}


def test_each_language_has_the_same_texts() -> None:
    english = cli_text_catalogue("en")
    for name in LANGUAGES:
        texts = cli_text_catalogue(name)
        assert texts.keys() == english.keys()
        other = {"no_json", "warning"}
        differs = [key for key in texts if placeholders(texts[key]) != placeholders(english[key]) and key not in other]
        assert differs == []


@pytest.mark.tier("check")
def test_each_text_that_the_code_names_exists_and_each_kind_of_value_has_one() -> None:
    names = {
        "kind": get_args(Kind),
        "priority": get_args(Priority),
        "short_priority": get_args(Priority),
        "decided": get_args(Decision),
        "decided_finish": get_args(Decision),
        "button": get_args(Decision),
        "button_finish": get_args(Decision),
        "status": ("pending", "completed", "cancelled", "expired"),
    }
    dynamic = {f"{group}.{name}" for group, each in names.items() for name in each}
    assert (keys_in_code() | dynamic) - cli_text_catalogue("en").keys() == set()


def test_only_what_needs_no_translation_is_the_same_as_in_english() -> None:
    for name in LOCALES:
        own, english = cli_text_catalogue(name), cli_text_catalogue("en")
        same = {key for key, text in own.items() if text == english[key] and WORDS.search(PLACEHOLDER.sub("", text))}
        assert same <= {"becomes", "hint.date", "hint.datetime"}


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, "en"),
        ({"LANG": "ja_JP.UTF-8"}, "ja"),
        ({"LANG": "ja_JP.UTF-8", "LC_MESSAGES": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "ja_JP.UTF-8", "LC_ALL": "C.UTF-8"}, "en"),
        ({"LANG": "de_DE.UTF-8"}, "en"),
        ({"LANG": "ja_JP.UTF-8", "LC_ALL": ""}, "ja"),
    ],
)
def test_the_language_is_that_of_the_environment(
    environment: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert environment_language() == expected


@pytest.mark.parametrize(
    ("locale", "names"),
    [
        ("C.UTF-8", ["rule small", "rule 2 of the policy", "the default of the policy"]),
        ("ja_JP.UTF-8", ["ルール small", "ポリシーのルール 2", "ポリシーの既定"]),
        ("zh_CN.UTF-8", ["规则 small", "策略的第 2 条规则", "策略的默认规则"]),
    ],
)
def test_a_rule_without_a_name_is_known_by_its_position(
    locale: str, names: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", locale)
    assert [actor_text(f"policy:{rule}") for rule in ("small", "rules[1]", "otherwise")] == names


@pytest.mark.parametrize(
    ("locale", "line"),
    [
        ("C.UTF-8", "deletes the customer · customer c-1"),
        ("ja_JP.UTF-8", "deletes the customer · 対象 customer c-1"),
        ("zh_CN.UTF-8", "deletes the customer · 对象 customer c-1"),
    ],
)
def test_the_target_of_an_effect_needs_no_preposition(locale: str, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", locale)
    card = {"effect": "deletes the customer", "target": "customer"}
    policy = Policy.parse({"rules": [{"tools": ["wipe"]}], "cards": {"wipe": card}})
    ask = question_about_call(policy, policy.rules[0], "wipe", {"customer": "c-1"}, facts={})
    assert effect_line(Request.asked(ask, id="r1", now=utc_now(), by=None)[0]) == line


@pytest.mark.parametrize(
    ("amount", "unit", "text"),
    [
        (40.5, "EUR", "40.50 EUR"),
        (40, "EUR", "40 EUR"),
        (0.1 + 0.2, "EUR", "0.30000000000000004 EUR"),
        (1182.0, "JPY", "1182 JPY"),
        (0.4, "JPY", "0.4 JPY"),
        (1.5, "KWD", "1.500 KWD"),
        (-2.5, "kg", "-2.5 kg"),
        (1e21, "XAF", "1000000000000000000000 XAF"),
        (1e-07, "USD", "0.0000001 USD"),
        (9007199254740991, None, "9007199254740991"),
        (True, "EUR", "true EUR"),
    ],
)
def test_an_amount_has_the_digits_of_its_currency(amount: float, unit: str | None, text: str) -> None:
    card = {"effect": "pays", "amount": "amount", "limit": 0.5, **({"unit": unit} if unit else {})}
    policy = Policy.parse({"rules": [{"tools": ["pay"]}], "cards": {"pay": card}})
    ask = question_about_call(policy, policy.rules[0], "pay", {"amount": amount}, facts={})
    request = Request.asked(ask, id="r1", now=utc_now(), by=None)[0]
    assert effect_line(request).split(" · ")[1] == text
    assert text in request_about_line(request, utc_now()).split(" · ")


def assert_translated(screen: Terminal, *allowed: str) -> None:
    """Fail if the screen shows an English word that is neither data nor the name of a key."""
    assert {*WORDS.findall(screen.text)} - {*allowed} - DATA - KEYS == set()


@pytest.mark.parametrize("name", LOCALES)
def test_a_request_is_edited_rejected_and_approved_without_a_word_of_english(desk: Desk, name: str) -> None:
    texts, locale = cli_text_catalogue(name), LOCALES[name]
    asked = [desk.ask(f"返金{number}", action=REFUND, description="遅れ", expires_in=3000) for number in range(3)]
    with terminal(desk.folder, "watch", "--name", "ann", LC_ALL=locale) as screen:
        screen.until(texts["inbox"], "返金2", texts["key.search"])
        assert_translated(screen)
        screen.press("enter")
        screen.until("返金0", OFFERED, texts["facts"], texts["agent_words"], texts["history"], texts["key.help"])
        assert_translated(screen)
        screen.press("?")
        screen.until(texts["key.interrupt"], texts["key.reject"])
        assert_translated(screen)
        screen.press("?")
        screen.until(OFFERED, gone=(texts["key.interrupt"],))
        screen.press("e")
        screen.until("█ order", texts["send_edit"], texts["key.reset"])
        assert_translated(screen)
        screen.press("ctrl+s")
        screen.until(texts["change_first"])
        screen.type("x")
        screen.until("1182x", texts["no_json"].partition("（")[0])
        assert_translated(screen, "x")
        screen.press("backspace")
        screen.type("3")
        screen.until("1182 → 11823")
        screen.press("ctrl+s")
        screen.until(texts["decided.edit"], "返金1", OFFERED)
        screen.press("r")
        screen.until(texts["message.reject"].partition("（")[0])
        assert_translated(screen)
        screen.type("高すぎます")
        screen.press("enter")
        screen.until(texts["decided.reject"], "返金2", OFFERED)
        screen.press("a")
        screen.until(texts["empty"][:8], texts["decided.approve"])
        assert_translated(screen)
    assert_answered(desk.get(asked[0]), "edit", args={"order": 11823, "note": "遅れ"})
    assert_answered(desk.get(asked[1]), "reject", message="高すぎます")
    assert_answered(desk.get(asked[2]), "approve")


@pytest.mark.parametrize(("columns", "lines"), [(80, 24), (200, 60)])
def test_a_form_of_all_types_is_filled_in_in_japanese(desk: Desk, columns: int, lines: int) -> None:
    asked = desk.ask("教えてください", form=Form(TEN))
    with terminal(desk.folder, "watch", "--name", "ann", columns=columns, lines=lines, LC_ALL=LOCALES["ja"]) as screen:
        screen.until("教えて")
        screen.press("enter")
        screen.until(OFFERED, "必須")
        fill_ten(screen, range_text="3 (0〜10)", no="いいえ")
        screen.press("ctrl+s")
        screen.until("回答：教えてください")
    assert desk.get(asked).status == "completed"


def test_what_is_listed_and_printed_is_in_the_language_too(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = desk.ask("返金", action=REFUND, description="遅れ")
    monkeypatch.setenv("LC_ALL", LOCALES["ja"])
    head, row = output_of(desk, "list").splitlines()
    assert head.split() == ["ID", "種類", "状態", "経過", "エージェント", "優先度", "件名"]
    assert row.split()[1:3] == ["承認", "未処理"]
    printed = output_of(desk, "show", asked.id)
    for words in ("実行される内容", "エージェントの説明（未確認）", "履歴", "依頼（Ringi）"):
        assert words in printed
    desk.respond(asked, "reject", by="bob", message="高い")
    assert "却下（bob、" in output_of(desk, "show", asked.id)
    assert output_of(desk, "list") == "依頼はありません\n"


def every_error() -> list[type[RingiError]]:
    """Return the classes of all errors of Ringi."""
    return [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, RingiError)]


@pytest.mark.parametrize("name", LOCALES)
def test_no_error_is_told_in_english(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", LOCALES[name])
    allowed = {"bob", "who", "pip", "install", "ringi", "terminal", "RINGI", "LOG", "DEBUG"}
    for kind in every_error():
        allowed.add(kind.__name__)
        error = kind.__new__(kind)
        Exception.__init__(error, "English details")
        vars(error).update(errors=(FieldError("who", "is required"),), claimed_by="bob", extra="terminal")
        vars(error).update(responder="bob")
        vars(error).update(name="who", value="", remedy="no such file")
        for is_deciding in (False, True):
            assert {*WORDS.findall(cli_error_text(error, is_deciding=is_deciding))} <= allowed, kind


def test_an_answer_to_what_others_hold_or_ended_is_refused_in_japanese(desk: Desk) -> None:
    texts = cli_text_catalogue("ja")
    asked = desk.ask("返金", form=Form([Text("who", label="名前", required=True), Number("n", label="数", max=3)]))
    with terminal(desk.folder, "watch", "--name", "ann", LC_ALL=LOCALES["ja"]) as screen:
        screen.until("返金")
        screen.press("enter")
        screen.until(OFFERED)
        into(screen, "名前")
        into(screen, "数")
        screen.type("4")
        screen.press("ctrl+s")
        screen.until("✗", texts["fix_fields"])
        assert_translated(screen)
        screen.press("esc")
        desk.work(lambda inbox: inbox.claim(asked.id, by="bob"))
        screen.until("bob さんが対応中", OFFERED)
        into(screen, "名前")
        screen.type("安")
        into(screen, "数")
        screen.press("backspace", "ctrl+s")
        screen.until("まだ何も決まっていません")
        assert_translated(screen)
        desk.respond(asked, "reject", by="bob", message="高い")
        screen.until("辞退（bob、", texts["ended_here"][-8:])
        assert_translated(screen)


def test_a_refused_command_says_why_in_japanese(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", LOCALES["ja"])
    asked = desk.ask("返金", form=Form([Text("who", required=True)]))
    desk.work(lambda inbox: inbox.claim(asked.id, by="bob"))
    for arguments in (("show", "x"), ("respond", asked.id, "approve", "--name", "ann"), ("claim", "x")):
        done = ringi(desk, *arguments)
        assert done.stderr.startswith("エラー：")
        commands = re.sub("`[^`]*`|--\\w+", "", done.stderr)
        assert {*WORDS.findall(commands)} <= {"bob"}
    done = ringi(desk, "respond", asked.id, "approve", "--name", "bob")
    assert done.stderr.startswith("エラー：")
    assert {*WORDS.findall(done.stderr)} <= {"data", "who"}


def helps(command: Any) -> Iterator[str]:
    """Yield the help of a command, of its options and of the commands below it."""
    for each in (command, *command.params, command.get_help_option(typer.Context(command))):
        if text := getattr(each, "help", None):
            yield text
    for below in getattr(command, "commands", {}).values():
        yield from helps(below)


def test_every_command_and_every_option_has_help_in_each_language() -> None:
    names = re.compile(
        r"`[^`]*`|--[\w-]+|\{.*\}|\[.*\]|ringi/[\w.]+|openai:gpt-5|notes/ann|digest|approve|edit|reject|respond"
        r"|Ringi|Claude Code|Codex|PostgreSQL|SQLite|Redis|Webhook|Markdown|[A-Z_]{3,}"
    )
    english = {*helps(typer.main.get_command(app))}
    assert cli_translations("help").keys() == english
    for text, others in cli_translations("help").items():
        assert others.keys() == {*LOCALES}
        for other in others.values():
            assert re.findall(r"`[^`]*`|--[\w-]+|RINGI_\w+", other) == re.findall(r"`[^`]*`|--[\w-]+|RINGI_\w+", text)
            assert WORDS.findall(names.sub("", other)) == [], other


@pytest.mark.parametrize("name", LOCALES)
def test_the_help_is_in_the_language_of_the_terminal(desk: Desk, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("LC_ALL", LOCALES[name])
    for arguments in (("--help",), ("respond", "--help"), ("token",)):
        done = ringi(desk, *arguments)
        assert sum(each[name][:12] in done.stdout + done.stderr for each in cli_translations("help").values()) > 3
        assert "Show this message" not in done.stdout + done.stderr


WRONG_USES = {
    "list --foo": "usage.NoSuchOption",
    "respond": "usage.MissingParameter",
    "list --limit x": "usage.BadParameter",
    "list --status x": "usage.BadParameter_choices",
    "list --limit": "usage.BadOptionUsage",
    "lst": "usage.UsageError",
    "list x": "usage.UsageError",
}


@pytest.mark.parametrize("name", LOCALES)
@pytest.mark.parametrize("arguments", WRONG_USES)
def test_a_wrong_use_is_told_in_the_language_of_the_terminal(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, arguments: str, name: str
) -> None:
    monkeypatch.setenv("LC_ALL", LOCALES[name])
    done = ringi(desk, *arguments.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert cli_text_catalogue(name)[WRONG_USES[arguments]].split("{name}")[-1].split("{choices}")[0] in done.stderr
    data = r"`[^`]*`|--\w+|pending|completed|cancelled|expired|all|id"
    assert WORDS.findall(re.sub(data, "", done.stderr)) == []


def test_in_english_a_wrong_use_is_told_by_typer(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    done = ringi(desk, "list", "--limit", "x")
    assert (done.returncode, done.stdout) == (2, "")
    assert "Invalid value for '--limit'" in done.stderr


@pytest.mark.parametrize("name", LOCALES)
def test_what_people_pass_wrongly_is_told_without_english(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    asked = desk.ask("返金")
    monkeypatch.setenv("LC_ALL", LOCALES[name])
    wrong: list[tuple[str, ...]] = [
        ("respond", asked.id, "approve", "--data", "{"),
        ("respond", asked.id, "agree"),
        ("reassign", asked.id),
        ("ask", "返金", "--form", "/none"),
        ("ask", "返金", "--args", "{}"),
        ("ask", " "),
        ("ask", "返金", "--id", "-x"),
        ("show", "none"),
        ("watch",),
    ]
    for arguments in wrong:
        done = ringi(desk, *arguments)
        words = re.sub(r"`[^`]*`|--\w+|terminal='none'", "", done.stderr)
        assert {*WORDS.findall(words)} <= {"JSON", "data", "decision", "form", "action", "title"}, arguments
        assert done.returncode in (1, 2)


def test_the_runs_that_need_attention_are_listed_in_japanese(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    stuck = desk.ask("発送", thread_id="t1")
    monkeypatch.setenv("LC_ALL", LOCALES["ja"])
    assert output_of(desk, "runs") == "確認が必要な実行はありません\n"
    desk.work(lambda inbox: inbox.mark_attention(stuck.id, reason_of("agent_missing", agent="'bot'")))
    assert "エージェント 'bot' が配備されていません" in output_of(desk, "show", stuck.id)


def test_ringis_own_sentences_are_translated_and_an_agents_sentences_are_not(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    wording = Wording(title=(Sentence(code="finished", params={"task": "俳句"}),))
    own = desk.ask("Is this finished: 俳句", kind="finish", context={"task": "俳句"}, wording=wording)
    other = desk.ask("Is this over: 俳句", kind="finish", context={"task": "俳句"}, wording=wording)
    monkeypatch.setenv("LC_ALL", LOCALES["ja"])
    assert output_of(desk, "show", own.id).splitlines()[0] == sentences_text(wording.title, "ja")
    assert output_of(desk, "show", other.id).splitlines()[0] == "Is this over: 俳句"
    assert sentences_text(wording.title, "ja") in output_of(desk, "list")


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        ("the run failed", "実行に失敗しました"),
        ("the thread was cancelled: 不要", "実行が停止されました：不要"),
        ("superseded", "新しい質問に置き換わりました"),
        ("no longer needed", "no longer needed"),
    ],
)
def test_why_a_run_cancelled_its_question_is_translated(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, reason: str, text: str
) -> None:
    asked = desk.ask("返金")
    desk.work(lambda inbox: inbox.cancel(asked.id, reason, by="ringi"))
    monkeypatch.setenv("LC_ALL", LOCALES["ja"])
    assert text in output_of(desk, "show", asked.id)


def test_an_expiry_and_what_a_run_needs_are_told_in_japanese(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    expired = desk.ask("返金", expires_in=0.001)
    stuck = desk.ask("発送")
    names = {"agent": "'shop'", "here": "langgraph 1.2.20", "requests": "“発送”"}
    desk.work(lambda inbox: inbox.mark_attention(stuck.id, reason_of("steps_missing", steps="'pay'", **names)))
    desk.work(lambda inbox: inbox.expire_due())
    monkeypatch.setenv("LC_ALL", LOCALES["ja"])
    assert "期限までに回答がありませんでした" in output_of(desk, "show", expired.id)
    text = "".join(output_of(desk, "show", stuck.id).split())
    assert "確認が必要：配備中のエージェント'shop'（langgraph1.2.20）には、“発送”を質問したステップ'pay'がもう" in text


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_thing_that_ends_with_a_person_has_a_line(language: Any) -> None:
    assert {f"ended.{kind}" for kind in get_args(HoldingKind)} <= cli_text_catalogue(language).keys()
