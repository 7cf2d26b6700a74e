"""Changes of the configuration files of clients: read, shown as a difference, and written whole."""

from __future__ import annotations

import difflib
import json
import os
import stat
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from ringi.base.canonical_json import refuse_repeated_json_keys
from ringi.base.extras import raise_missing_extra
from ringi.base.settings import SettingError

ClientSettings = dict[str, Any]


class FileChange(NamedTuple):
    """A change of a file that nothing has written yet."""

    path: Path
    before: str
    """The text of the file; empty if there is none."""
    after: str

    @property
    def diff(self) -> str:
        """The difference as a unified diff; empty if nothing changes."""
        name = str(self.path)
        lines = difflib.unified_diff(self.before.splitlines(), self.after.splitlines(), name, name, lineterm="")
        return "\n".join(lines)

    def write(self) -> None:
        """Replace the file at once, with the permissions it has; create its folders.

        Raises:
            SettingError: Another program has changed the file since it was read.
        """
        path = self.path.resolve()  # A linked file stays a link, as people have it who keep such files elsewhere.
        if read_config_text(path) != self.before:
            raise SettingError("file", str(self.path), "it has changed since it was read: run the command again")
        path.parent.mkdir(parents=True, exist_ok=True)
        mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o600
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", newline="", dir=path.parent, delete=False) as file:
            new = Path(file.name)
            try:
                file.write(self.after)
                file.flush()
                os.fsync(file.fileno())
                new.chmod(mode)
                new.replace(path)
            except BaseException:
                new.unlink()
                raise


def change_json_config(path: Path, change: Callable[[ClientSettings], ClientSettings]) -> FileChange:
    """Return the change of a JSON file; the rest of its settings, their order and the indentation stay.

    Args:
        path: The file; an absent one counts as empty.
        change: Returns the new settings; it may change the ones it gets.

    Raises:
        SettingError: The file is not a JSON object: such a file is never written.
    """
    before = read_config_text(path)
    parse = partial(json.loads, object_pairs_hook=refuse_repeated_json_keys)
    settings = parsed_config(path, before, "JSON", parse) if before else {}
    after = change(json.loads(json.dumps(settings)))
    if after == settings:
        return FileChange(path, before, before)
    text = json.dumps(after, indent=_indent(before), ensure_ascii=False)
    return FileChange(path, before, text + ("" if before and not before.endswith("\n") else "\n"))


def change_toml_config(path: Path, table: str, name: str, settings: ClientSettings | None) -> FileChange:
    """Return the change of one subtable of a TOML file, such as `[mcp_servers.ringi]`; comments and the rest stay.

    Args:
        path: The file; an absent one counts as empty.
        table: The table, such as `mcp_servers`.
        name: The name of the subtable.
        settings: The new content of the subtable; None removes it.

    Raises:
        MissingExtraError: The library that writes TOML is not installed.
        SettingError: The file is not TOML: such a file is never written.
    """
    try:
        import tomlkit
    except ModuleNotFoundError as error:
        raise_missing_extra("the configuration in TOML", error)
    before = read_config_text(path)
    document: Any = parsed_config(path, before, "TOML", tomlkit.parse)
    current = document.get(table, {})
    if not isinstance(current, dict):
        raise SettingError("file", str(path), f"{table} is not a table: correct it first")
    if settings is None:
        current.pop(name, None)
    elif current.get(name) != settings:
        document.setdefault(table, tomlkit.table(is_super_table=True))[name] = settings
    return FileChange(path, before, tomlkit.dumps(document))


def read_config_text(path: Path) -> str:
    """Return the text of a file in UTF-8; empty for an absent one.

    Raises:
        SettingError: The file cannot be read as text.
    """
    try:
        return path.read_bytes().decode()
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise SettingError("file", str(path), "it cannot be read as UTF-8: correct it first") from error


def parsed_config(path: Path, text: str, kind: str, parse: Callable[[str], Any]) -> ClientSettings:
    """Return the settings in the text of a file.

    Args:
        path: The file.
        text: Its text.
        kind: The name of the format.
        parse: Reads the format.

    Raises:
        SettingError: The text is not an object in this format.
    """
    try:
        settings = parse(text)
    except (ValueError, RecursionError) as error:
        raise SettingError("file", str(path), f"it is not {kind} ({error}): correct it first") from error
    if not isinstance(settings, dict):
        raise SettingError("file", str(path), f"it is not a {kind} object: correct it first")
    return settings


def _indent(text: str) -> int | str:
    line = next((line for line in text.splitlines() if line[:1] in " \t" and line.strip()), "  ")
    space = line[: len(line) - len(line.lstrip())]
    return space if "\t" in space else len(space)
