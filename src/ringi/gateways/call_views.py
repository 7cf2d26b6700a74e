"""Views of the calls of common clients: a command, a change of a file, a mail or SQL as display blocks."""

from __future__ import annotations

import json
import os
import re
import shlex
import stat
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from ringi.base.texts import Sentence, sentence_text
from ringi.domain.ask import Wording
from ringi.domain.display import MAX_BLOCKS, MAX_CELL, MAX_CODE, Block, Code, Diff, Table

MAX_FILE = 200_000
"""The size of the largest file in bytes that is read to show what a call changes in it."""
MAX_SHOWN, MIN_SHOWN = 64_000, 4_000
"""Bytes of JSON for all blocks of a call: the server accepts 256 KiB for a request, and the arguments come first."""
ROOM = 230_000
SAME_LINES = 3
"""The number of equal lines around a change that stay in a long diff."""
MAX_LABEL, MAX_NAME = 200, 120
MAX_HEADERS = 20
MIN_TEXT = 200
MAX_SQL_START = 5_000
"""The characters by which SQL is recognized."""

PATHS = ("file_path", "path", "filePath", "notebook_path", "filename", "file")
CONTENTS = ("content", "contents", "file_text", "new_source", "text")
PAIRS = (
    *(("old_string", "new_string"), ("old_str", "new_str"), ("old_text", "new_text")),
    *(("oldText", "newText"), ("oldString", "newString")),
)
LISTS = ("edits", "changes")
COMMANDS = ("command", "cmd")
FOLDERS = ("workdir", "working_directory", "workingDirectory", "cwd")
BODIES = ("body", "text", "html", "content", "message", "html_body")
PATCHES = ("patch", "input", "diff")
SHELL = re.compile(r"(?:^|_)(?:bash|sh|zsh|shell|cmd|powershell|terminal|exec|execute|command|run)(?:_|$)")
WRITER = re.compile(r"(?:^|_)(?:write|create|save|notebook|put|edit)(?:_|$)")
PATCHED = re.compile(r"^(?:\*\*\* (?:Add|Update|Delete) File: |\+\+\+ b/)(.+)$", re.M)
MAILER = re.compile(r"mail|send|message|draft")
IS_PATCH = re.compile(r"\s*(?:\*\*\* Begin Patch|diff --git |--- \S)")
IS_SQL = re.compile(
    r"\s*(?:select\b.*\bfrom\b|select\s+[\d*(']|insert\s+into\b|update\s+\S+\s+set\b|delete\s+from\b|with\s+\S+\s+as\b"
    r"|(?:create|alter|drop|truncate)\s+(?:table|index|view|database|schema|user|role|trigger|function|temp)\b"
    r"|pragma\s+\w|explain\s+\w|merge\s+into\b|replace\s+into\b|vacuum\b|grant\s+\S.*\bto\b|revoke\s+\S.*\bfrom\b)",
    re.I | re.S,
)
SHELLS = re.compile(r"(?:/usr)?(?:/bin/)?(?:ba|z|da)?sh")


class CallView(NamedTuple):
    """What people see of a call before its arguments."""

    title: str
    display: tuple[Block, ...]
    wording: Wording
    """The code of the title, by which each reader sees it in their own language."""


class _Call(NamedTuple):
    name: str
    tool: str
    """The name without that of its server, in lower case with underscores."""
    args: Mapping[str, Any]
    folder: str | None
    room: int
    """The bytes that its blocks may have as JSON."""


def call_view(name: str, args: Mapping[str, Any], folder: str | None) -> CallView:
    """Return the title and the display blocks of a call; without blocks if its kind is unknown.

    A long text is shortened with a mark in it; the arguments themselves are not changed. To show what a call changes in
    a file, the file is read if it is a regular file below the folder and no part of its path is a link or begins
    with a dot.

    Args:
        name: The name of the tool, as the client sends it.
        args: The arguments of the call, as JSON values.
        folder: The folder in which the client works; None if unknown.
    """
    last = re.split(r"__|[./:]", name)[-1]
    tool = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[\s-]", "_", last).lower()
    room = max(MIN_SHOWN, min(MAX_SHOWN, ROOM - _size(args)))
    call = _Call(name, tool, args, folder, room)
    views = (view(call) for view in VIEWS)
    return next((view for view in views if view), None) or _view(_run(name))


def _view(title: Sentence, display: Iterable[Block] = ()) -> CallView:
    return CallView(sentence_text(title, "en"), tuple(display), Wording(title=(title,)))


def _run(name: str) -> Sentence:
    return Sentence(code="run_tool", params={"tool": _label(name, MAX_NAME) or "?"})


def _patch(call: _Call) -> CallView | None:
    # A patch is shown as it is: a reading of it could differ from that of the program that applies it.
    # In a shell it would run as a command, except as the one argument of apply_patch.
    for name in PATCHES + COMMANDS:
        match call.args.get(name):
            case ["apply_patch", str(text)]:
                pass
            case str(text) if "patch" in call.tool or (name in PATCHES and not SHELL.search(call.tool)):
                pass
            case _:
                continue
        if IS_PATCH.match(text):
            paths = [_relative(path.strip(), call.folder) for path in PATCHED.findall(text)]
            title = _label(", ".join(paths), MAX_LABEL) or None
            return _edit_view(paths, [Code(title=title, text=_shortened(text, call.room), language="diff")])
    return None


def _edit_view(paths: list[str], blocks: list[Block]) -> CallView:
    if len(paths) == 1:
        return _view(Sentence(code="edit_file", params={"path": _label(paths[0], MAX_NAME)}), blocks)
    return _view(Sentence(code="edit_files", params={"count": len(paths)}), blocks)


def _edit(call: _Call) -> CallView | None:
    listed = next((call.args[name] for name in LISTS if isinstance(call.args.get(name), list)), None)
    edits = listed or [call.args]
    pairs = [_pair(each) for each in edits]
    if None in pairs:
        return None
    paths = [_text(each, PATHS) or _text(call.args, PATHS) for each in edits]
    places = [_relative(path, call.folder) for path in paths if path]
    if len(places) < len(edits):
        return None
    room = call.room // min(len(edits), MAX_BLOCKS)
    blocks: list[Block] = []
    for number, (edit, pair) in enumerate(zip(edits, pairs, strict=True), 1):
        if pair is None or len(blocks) == MAX_BLOCKS - 1 < len(edits) - 1:
            blocks.append(Code(text=f"[… {len(edits) - len(blocks)} more changes: see the arguments …]"))
            break
        marks = [f"{number}/{len(edits)}"] * (len(edits) > 1) + ["replace_all"] * bool(edit.get("replace_all"))
        blocks.append(_diff(" · ".join([_label(places[number - 1], 150), *marks]), *pair, room))
    return _edit_view(sorted(set(places)), blocks)


def _pair(edit: object) -> tuple[str, str] | None:
    if not isinstance(edit, Mapping):
        return None
    found = ((edit.get(old), edit.get(new)) for old, new in PAIRS)
    return next(((old, new) for old, new in found if isinstance(old, str) and isinstance(new, str)), None)


def _write(call: _Call) -> CallView | None:
    path, content = _text(call.args, PATHS), _text(call.args, CONTENTS)
    if not path or content is None or not WRITER.search(call.tool):
        return None
    is_cell = "notebook" in call.tool
    before = "" if is_cell or call.folder is None else _content_below(call.folder, path) or ""
    place = _relative(path, call.folder)
    named = {"path": _label(place, MAX_NAME)}
    title = Sentence(code="edit_file" if before or is_cell else "write_file", params=named)
    return _view(title, [_diff(_label(place, MAX_LABEL), before, content, call.room)])


def _content_below(folder: str, path: str) -> str | None:
    """Return the text of a file below a folder; None without one, or if a part of the path is hidden or a link."""
    parts = _relative(path, folder).split("/")
    if any(part.startswith(".") or not part for part in parts) or os.open not in os.supports_dir_fd:
        return None
    try:
        with ExitStack() as opened:
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
            place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            opened.callback(os.close, place)
            for part in parts:
                place = os.open(part, flags, dir_fd=place)
                opened.callback(os.close, place)
            found = os.fstat(place)
            if not stat.S_ISREG(found.st_mode) or found.st_size > MAX_FILE:
                return None
            return os.read(place, MAX_FILE).decode()
    except (OSError, ValueError):
        return None


def _command(call: _Call) -> CallView | None:
    inner = call.args.get("action")
    args = inner if isinstance(inner, Mapping) else call.args
    command = next((args[name] for name in COMMANDS if args.get(name)), None)
    text = shell_command_text(command)
    if text is None or not SHELL.search(call.tool):
        return None
    folder = _text(args, FOLDERS) or call.folder
    language = "powershell" if "powershell" in call.tool else "bash"
    block = Code(title=_label(folder or "", MAX_LABEL) or None, text=_shortened(text, call.room), language=language)
    base = folder and _label(PurePosixPath(folder.replace("\\", "/")).name, MAX_NAME)
    title = Sentence(code="run_command_in", params={"folder": base}) if base else Sentence(code="run_command")
    return _view(title, [block])


def shell_command_text(command: object) -> str | None:
    """Return a command as one text: the script of a shell, or the words with quotes; None if it is no command.

    The page does the same, and hides an argument that it finds in a block.

    Args:
        command: A text, or a list of words.
    """
    if isinstance(command, str):
        return command
    if not isinstance(command, list) or not command or not all(isinstance(word, str) for word in command):
        return None
    if len(command) == 3 and SHELLS.fullmatch(command[0]) and command[1] in ("-c", "-lc"):
        return str(command[2])
    return shlex.join(command)


def _mail(call: _Call) -> CallView | None:
    recipients, subject = call.args.get("to"), call.args.get("subject")
    to = recipients if isinstance(recipients, list) else [recipients]
    body = next((name for name in BODIES if isinstance(call.args.get(name), str)), None)
    if not to or not all(isinstance(each, str) for each in to) or not isinstance(subject, str) or body is None:
        return None
    if not MAILER.search(call.tool):
        return None
    headers = {name: value if isinstance(value, list) else [value] for name, value in call.args.items() if name != body}
    rows = [(name, each) for name, values in headers.items() for each in values if isinstance(each, str)]
    if len(rows) > MAX_HEADERS:
        rows = [*rows[: MAX_HEADERS - 1], ("…", f"{len(rows) - MAX_HEADERS + 1} more lines: see the arguments")]
    cell = min(MAX_CELL, call.room // 4 // len(rows))
    cells = tuple((_shortened(name, cell), _shortened(value, cell)) for name, value in rows)
    text = _shortened(call.args[body], call.room // 2)
    blocks: list[Block] = [
        Table(columns=("Field", "Value"), rows=cells),
        Code(title=body, text=text, language="html" if "html" in body else None),
    ]
    first = _label(str(to[0]), MAX_NAME)
    if "draft" in call.tool:
        return _view(_run(call.name), blocks)
    if len(to) == 1:
        return _view(Sentence(code="send_mail", params={"recipient": first}), blocks)
    return _view(Sentence(code="send_mail_to_many", params={"recipient": first, "count": len(to) - 1}), blocks)


def _sql(call: _Call) -> CallView | None:
    text, other = _text(call.args, ("sql",)), _text(call.args, ("query", "statement")) or ""
    if text is None and IS_SQL.match(other[:MAX_SQL_START]):
        text = other
    if not text or not text.strip():
        return None
    return _view(Sentence(code="run_sql"), [Code(text=_shortened(text, call.room), language="sql")])


VIEWS: tuple[Callable[[_Call], CallView | None], ...] = (_patch, _edit, _write, _command, _mail, _sql)


def _text(args: Mapping[str, Any], names: Iterable[str]) -> str | None:
    return next((args[name] for name in names if isinstance(args.get(name), str)), None)


def _relative(path: str, folder: str | None) -> str:
    """Return a path as people read it: without the folder, if it is below it and does not lead out of it."""
    prefix = f"{(folder or '').rstrip('/')}/"
    rest = path.removeprefix(prefix) if len(prefix) > 1 and ".." not in path.split("/") else path
    return rest or path or "?"


def _label(text: str, limit: int) -> str:
    """Return a text in one line with escapes for hidden characters; of a long one the end, which names a file."""
    line = "".join(each if each.isprintable() else f"\\u{{{ord(each):x}}}" for each in text[-limit:]).strip()
    return line if len(text) <= limit and len(line) <= limit else f"…{line[1 - limit :]}"


def _size(value: object) -> int:
    # Half surrogates have no UTF-8, and as escapes they have the size that is counted here.
    return len(json.dumps(value, ensure_ascii=False, default=str).encode(errors="backslashreplace"))


def _storable(text: str) -> str:
    return re.sub("[\0\ud800-\udfff]", lambda found: f"\\u{{{ord(found[0]):x}}}", text)


def _shortened(text: str, room: int) -> str:
    """Return a text with at most so many bytes as JSON: of a longer one the beginning and the end, with a mark."""
    room, keep = max(MIN_TEXT, min(room, MAX_CODE)), len(text)
    excerpt = _storable(text[: room + 1])
    while keep > room or _size(excerpt) > room or len(excerpt) > MAX_CODE:
        keep = min(keep * 3 // 4, room)
        mark = f"\n[… {len(text) - keep} characters: see the arguments …]\n"
        excerpt = _storable(text[: keep - keep // 3]) + mark + _storable(text[len(text) - keep // 3 :])
    return excerpt


def _diff(title: str, before: str, after: str, room: int) -> Diff:
    if _size(before) + _size(after) > room:
        before, after = _around_change(before, after)
    return Diff(title=title or None, before=_shortened(before, room // 2), after=_shortened(after, room // 2))


def _around_change(before: str, after: str) -> tuple[str, str]:
    """Return both texts without the equal lines far above and far below all changes."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    most = min(len(old), len(new))
    top = next((at for at in range(most) if old[at] != new[at]), most)
    end = next((at for at in range(most - top) if old[-1 - at] != new[-1 - at]), most - top)
    top, end = max(0, top - SAME_LINES), max(0, end - SAME_LINES)
    marks = [f"[… {count} equal lines …]\n" if count else "" for count in (top, end)]
    both = ("".join(lines[top : len(lines) - end]) for lines in (old, new))
    first, second = (f"{marks[0]}{text}{marks[1]}" for text in both)
    return first, second
