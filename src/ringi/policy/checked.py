"""The mark of a policy file that was found valid: a hook does not check it again at each call of a tool.

A mark holds no rules. Whoever can write one, but not the policy, cannot change what the policy decides.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ringi.base.canonical_json import digest, jsonable
from ringi.policy.decision import PlainRule

PACKAGE = Path(__file__).parents[1]
VALID = (
    *("base/model.py", "base/patterns.py", "base/validation.py", "domain/ask.py", "domain/conditions.py"),
    *("domain/voting.py", "policy/rules.py"),
)
"""The files that decide what is a valid policy: after a change of one, each policy is checked again."""


def policy_data(path: Path, text: bytes) -> Any:
    """Return the data in the text of a policy file: JSON, or TOML if the name of the file ends in `.toml`.

    Raises:
        ValueError: The text is not UTF-8, or not in this format.
        RecursionError: It is nested too deeply.
    """
    if path.suffix != ".toml":
        return json.loads(text.decode())
    import tomllib

    return tomllib.loads(text.decode())


def read_checked_policy(path: Path, home: Path) -> Mapping[str, Any] | None:
    """Return the data of a policy file that is marked as valid; None for any other file.

    Args:
        path: The path of the file.
        home: The folder of the local files.

    Raises:
        OSError: The file or its mark cannot be read.
    """
    mark, text = _mark(path, home).read_text(), path.read_bytes()
    data: Mapping[str, Any] | None = policy_data(path, text) if mark == _expected(text) else None
    return data


def mark_checked_policy(path: Path, home: Path, text: bytes, rules: Sequence[PlainRule], otherwise: str | None) -> None:
    """Mark the text of a policy file as valid, unless its plain data would decide otherwise than the policy.

    Args:
        path: The path of the file.
        home: The folder of the local files.
        text: The text that was checked.
        rules: The rules of the policy in it.
        otherwise: The effect that it names for other calls.

    Raises:
        OSError: The mark cannot be written.
        InvalidError: The policy has values that are not portable JSON.
    """
    data, mark = policy_data(path, text), _mark(path, home)
    is_plain = digest(jsonable([PlainRule.of(each) for each in data["rules"]])) == digest(jsonable(rules))
    if not is_plain or data.get("otherwise") != otherwise:
        return
    mark.parent.mkdir(parents=True, exist_ok=True)
    new = mark.with_suffix(f".{os.getpid()}")
    new.write_text(_expected(text))
    new.replace(mark)


def _mark(path: Path, home: Path) -> Path:
    return home / "checked-policies" / hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:32]


def _expected(text: bytes) -> str:
    found = hashlib.sha256(text)
    for name in VALID:
        found.update((PACKAGE / name).read_bytes())
    return found.hexdigest()
