"""What people see of a call of a common client before its arguments: the command, the diff, the mail, the SQL."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringi.base.texts import sentences_text
from ringi.domain.ask import Action, Ask
from ringi.domain.display import Code, Diff, Table
from ringi.gateways.call_views import (
    BODIES,
    COMMANDS,
    CONTENTS,
    FOLDERS,
    MAX_SHOWN,
    PAIRS,
    PATCHES,
    PATHS,
    CallView,
    call_view,
)

PATCH = "*** Begin Patch\n*** Update File: src/app.py\n@@\n-a = 1\n+a = 2\n*** End Patch\n"
HOME = "/home/ann/project"


def ask_of(name: str, args: dict[str, Any], view: CallView) -> Ask:
    ask = Ask(title=view.title, action=Action(name, args), display=view.display or None, wording=view.wording)
    return ask.checked(max_fields=50)


@pytest.mark.parametrize(
    ("name", "args", "command", "place"),
    [
        ("Bash", {"command": "ls -l", "description": "List files", "timeout": 1000}, "ls -l", HOME),
        ("shell", {"command": ["bash", "-lc", "ls | wc -l"], "workdir": "/tmp/x"}, "ls | wc -l", "/tmp/x"),
        ("shell", {"command": ["rm", "-r", "a b"]}, "rm -r 'a b'", HOME),
        ("exec_command", {"cmd": "make", "workdir": "/tmp/x"}, "make", "/tmp/x"),
        ("local_shell", {"action": {"type": "exec", "command": ["ls"], "working_directory": "/tmp"}}, "ls", "/tmp"),
        ("mcp__desktop__runCommand", {"command": "ls"}, "ls", HOME),
        ("run_in_terminal", {"command": "npm test"}, "npm test", HOME),
    ],
)
def test_a_command_is_shown_with_its_folder(name: str, args: dict[str, Any], command: str, place: str) -> None:
    view = call_view(name, args, HOME)
    assert view.display == (Code(title=place, text=command, language="bash"),)
    assert view.title == f"Run a command in {place.rsplit('/', 1)[1]}?"


def test_a_command_without_a_folder_has_no_title_for_it() -> None:
    view = call_view("Bash", {"command": "ls"}, None)
    assert (view.title, view.display) == ("Run a command?", (Code(text="ls", language="bash"),))


@pytest.mark.parametrize(("old", "new"), PAIRS)
def test_an_edit_is_shown_as_a_diff_titled_by_its_path(old: str, new: str) -> None:
    view = call_view("Edit", {"file_path": f"{HOME}/src/app.py", old: "a", new: "b"}, HOME)
    assert view.display == (Diff(title="src/app.py", before="a", after="b"),)
    assert view.title == "Edit src/app.py?"


def test_a_path_out_of_the_folder_is_shown_whole() -> None:
    for path in (f"{HOME}/../other/app.py", "/etc/passwd", f"{HOME}s/app.py"):
        view = call_view("Edit", {"file_path": path, "old_string": "a", "new_string": "b"}, HOME)
        assert view.title == f"Edit {path}?"


def test_an_edit_of_every_place_says_so() -> None:
    view = call_view("Edit", {"file_path": "a", "old_string": "x", "new_string": "y", "replace_all": True}, None)
    assert view.display[0].title == "a · replace_all"


def test_several_edits_are_several_diffs_and_the_rest_is_counted() -> None:
    edits = [{"oldText": str(n), "newText": str(n + 1)} for n in range(12)]
    view = call_view("edit_file", {"path": "a.txt", "edits": edits}, None)
    assert [block.title for block in view.display[:2]] == ["a.txt · 1/12", "a.txt · 2/12"]
    assert len(view.display) == 10
    assert view.display[-1] == Code(text="[… 3 more changes: see the arguments …]")


def test_changes_of_several_files_are_titled_by_their_paths() -> None:
    changes = [{"type": "diff", "path": f"{HOME}/{name}", "oldText": "a", "newText": "b"} for name in ("x.py", "y.py")]
    view = call_view("edit", {"title": "Edit", "changes": changes}, HOME)
    assert [block.title for block in view.display] == ["x.py · 1/2", "y.py · 2/2"]
    assert view.title == "Edit 2 files?"
    assert call_view("edit", {"changes": [*changes, {"oldText": "a", "newText": "b"}]}, HOME).display == ()


def test_edits_that_are_not_all_understood_are_shown_as_arguments_alone() -> None:
    edits = [{"oldText": "a", "newText": "b"}, {"regex": "a", "newText": "b"}]
    assert call_view("edit_file", {"path": "a.txt", "edits": edits}, None).display == ()


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("apply_patch", {"input": PATCH}),
        ("apply_patch", {"command": PATCH}),
        ("shell", {"command": ["apply_patch", PATCH]}),
        ("edit", {"patch": PATCH}),
    ],
)
def test_a_patch_is_shown_as_it_is(name: str, args: dict[str, Any]) -> None:
    view = call_view(name, args, HOME)
    assert view.display == (Code(title="src/app.py", text=PATCH, language="diff"),)
    assert view.title == "Edit src/app.py?"


def test_a_command_that_looks_like_a_patch_is_a_command() -> None:
    for command in (PATCH, ["rm", PATCH], ["apply_patch", PATCH, "x"]):
        assert call_view("Bash", {"command": command}, HOME).title == "Run a command in project?"


def test_a_patch_of_several_files_names_their_number() -> None:
    patch = PATCH + "*** Add File: b.py\n+b\n"
    view = call_view("apply_patch", {"input": patch}, HOME)
    assert (view.title, view.display[0].title) == ("Edit 2 files?", "src/app.py, b.py")


def test_a_new_file_is_a_diff_from_nothing(tmp_path: Path) -> None:
    view = call_view("Write", {"file_path": str(tmp_path / "a.py"), "content": "new\n"}, str(tmp_path))
    assert view == call_view("write_file", {"path": "a.py", "content": "new\n"}, None)
    assert (view.title, view.display) == ("Write a.py?", (Diff(title="a.py", before="", after="new\n"),))


def test_an_existing_file_is_shown_with_what_changes(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("old\n")
    view = call_view("Write", {"file_path": str(tmp_path / "src/a.py"), "content": "new\n"}, str(tmp_path))
    assert view.display == (Diff(title="src/a.py", before="old\n", after="new\n"),)
    assert view.title == "Edit src/a.py?"


def test_only_plain_files_below_the_folder_are_read(tmp_path: Path) -> None:
    folder, secret = tmp_path / "project", tmp_path / "secret"
    folder.mkdir()
    secret.mkdir()
    (secret / "key").write_text("secret")
    (folder / "link").symlink_to(secret / "key")
    (folder / "elsewhere").symlink_to(secret)
    (folder / ".env").write_text("secret")
    (folder / ".git").mkdir()
    (folder / ".git" / "config").write_text("secret")
    (folder / "large").write_bytes(b"x" * 200_001)
    (folder / "binary").write_bytes(b"\xff\xfe")
    (folder / "directory").mkdir()
    os.mkfifo(folder / "pipe")
    pipe = os.open(folder / "pipe", os.O_RDWR)
    os.write(pipe, b"secret")
    names = [
        "link",
        "elsewhere/key",
        ".env",
        ".git/config",
        "large",
        "binary",
        "directory",
        "pipe",
        "no",
        "a\0b",
        "\ud800",
    ]
    for path in [*names, "../secret/key", str(secret / "key"), f"{folder}/../secret/key", "x/../../secret/key", ""]:
        view = call_view("write_file", {"path": path, "content": "new"}, str(folder))
        assert [block.before for block in view.display if isinstance(block, Diff)] in ([], [""]), path
    os.close(pipe)


def test_a_notebook_cell_is_shown_as_its_new_source(tmp_path: Path) -> None:
    (tmp_path / "a.ipynb").write_text("{}")
    args = {"notebook_path": str(tmp_path / "a.ipynb"), "cell_id": "c1", "new_source": "x = 1"}
    view = call_view("NotebookEdit", args, str(tmp_path))
    assert view.display == (Diff(title="a.ipynb", before="", after="x = 1"),)
    assert view.title == "Edit a.ipynb?"


def test_a_mail_is_shown_as_its_head_and_its_body() -> None:
    args = {"to": ["ann@example.com", "bob@example.com"], "cc": "eve@example.com", "subject": "Hi", "body": "Dear all"}
    view = call_view("mcp__mail__send_email", args, HOME)
    rows = (("to", "ann@example.com"), ("to", "bob@example.com"), ("cc", "eve@example.com"), ("subject", "Hi"))
    assert view.display == (Table(columns=("Field", "Value"), rows=rows), Code(title="body", text="Dear all"))
    assert view.title == "Send a mail to ann@example.com and 1 more?"
    assert call_view("send_mail", {**args, "to": "ann@example.com"}, None).title == "Send a mail to ann@example.com?"
    assert call_view("create_draft", args, None).title == "Run create_draft?"


@pytest.mark.parametrize(
    ("args", "is_sql"),
    [
        ({"query": "SELECT * FROM users"}, True),
        ({"query": "  drop table users"}, True),
        ({"statement": "DELETE FROM users WHERE id = 1"}, True),
        ({"sql": "anything"}, True),
        ({"query": "hotels in Paris"}, False),
        ({"query": "select a hotel"}, False),
        ({"query": "update on the weather"}, False),
        ({"query": 1}, False),
    ],
)
def test_sql_is_recognized_by_its_text(args: dict[str, Any], is_sql: bool) -> None:
    view = call_view("mcp__db__query", args, None)
    assert (view.title == "Run SQL?", bool(view.display)) == (is_sql, is_sql)


def test_any_other_call_is_named_and_shown_by_its_arguments() -> None:
    view = call_view("mcp__weather__get", {"city": "Oslo"}, HOME)
    assert (view.title, view.display) == ("Run mcp__weather__get?", ())


def test_a_long_text_keeps_its_beginning_and_end_around_a_mark() -> None:
    command = f"echo begin {'x' * 100_000}; rm -rf end"
    (block,) = call_view("Bash", {"command": command}, None).display
    assert isinstance(block, Code)
    assert block.text.startswith("echo begin")
    assert block.text.endswith("rm -rf end")
    assert "characters: see the arguments …]" in block.text
    assert len(block.text) <= 50_000


def test_a_long_diff_shows_the_lines_around_its_change(tmp_path: Path) -> None:
    lines = [f"line {number}\n" for number in range(10_000)]
    (tmp_path / "a.txt").write_text("".join(lines))
    after = "".join([*lines[:5_000], "inserted\n", *lines[5_000:]])
    (block,) = call_view("Write", {"file_path": "a.txt", "content": after}, str(tmp_path)).display
    assert isinstance(block, Diff)
    around = "line 4997\nline 4998\nline 4999\n{}line 5000\nline 5001\nline 5002\n"
    before, after = (
        f"[… 4997 equal lines …]\n{around.format(each)}[… 4997 equal lines …]\n" for each in ("", "inserted\n")
    )
    assert (block.before, block.after) == (before, after)


def test_hostile_names_are_visible_in_one_line() -> None:
    path = "a\u202egnp.exe\n\x1b[31m/b"
    view = call_view("Edit", {"file_path": path, "old_string": "", "new_string": ""}, None)
    assert view.title == "Edit a\\u{202e}gnp.exe\\u{a}\\u{1b}[31m/b?"
    assert call_view("\x1b[2J", {}, None).title == "Run \\u{1b}[2J?"


NAMES = (*PATHS, *CONTENTS, *COMMANDS, *FOLDERS, *BODIES, *PATCHES, *(each for pair in PAIRS for each in pair))
KEYS = st.sampled_from(
    (*NAMES, "edits", "changes", "to", "subject", "sql", "query", "statement", "action", "replace_all")
)
TEXTS = st.one_of(
    st.text(st.characters(codec=None), max_size=30),
    st.sampled_from(("x" * 60_000, "\U0001f600" * 20_000, "\x01" * 60_000, "a\n" * 40_000, "\ud800\0" * 30_000, PATCH)),
    st.sampled_from(("bash", "-lc", "apply_patch", "select 1", ".", "..", "/", " ")),
)
VALUES = st.recursive(
    st.one_of(TEXTS, st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False)),
    lambda inner: st.one_of(st.lists(inner, max_size=15), st.dictionaries(st.one_of(KEYS, TEXTS), inner, max_size=6)),
    max_leaves=20,
)
TOOLS = st.one_of(st.text(max_size=20), st.sampled_from(("Bash", "Write", "apply_patch", "send_mail", "NotebookEdit")))


@given(name=TOOLS, args=st.dictionaries(st.one_of(KEYS, TEXTS), VALUES, max_size=6), folder=st.none() | TEXTS)
def test_any_call_has_a_view_that_a_request_accepts(name: str, args: dict[str, Any], folder: str | None) -> None:
    view = call_view(name, args, folder)
    checked = Ask(title=view.title, display=view.display or None, wording=view.wording).checked(max_fields=50)
    assert checked.title == view.title == sentences_text(view.wording.title)
    assert view.title.isprintable()
    blocks = [block.model_dump(mode="json", exclude_none=True) for block in view.display]
    assert len(json.dumps(blocks, ensure_ascii=False).encode()) < MAX_SHOWN + 8_000


@pytest.mark.parametrize("size", [1_000, 100_000, 225_000])
def test_an_ask_with_long_arguments_stays_within_what_a_server_accepts(size: int) -> None:
    text = "日本" * (size // 6)
    mail = {"to": ["a" * 5_000] * 100, "subject": "s", "body": text}
    edits = {"path": "a", "edits": [{"old_string": text[: size // 60], "new_string": text[: size // 60]}] * 10}
    for name, args in (
        ("Bash", {"command": text}),
        ("Write", {"path": "a", "content": text}),
        ("edit", edits),
        ("mail", mail),
    ):
        if len(json.dumps(args, ensure_ascii=False).encode()) < 230_000:
            ask = ask_of(name, args, call_view(name, args, "/home"))
            assert len(ask.model_dump_json(by_alias=True, exclude_none=True).encode()) < 256 * 1024


def test_what_cannot_be_stored_is_escaped_in_a_short_and_in_a_long_command() -> None:
    for count in (1, 60_000):
        command = "\0\ud800" * count
        view = call_view("Bash", {"command": command}, None)
        checked = Ask(title=view.title, display=view.display).checked(max_fields=50)
        assert isinstance(checked.display and checked.display[0], Code)
