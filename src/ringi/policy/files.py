"""Policies in files: JSON, or TOML if the name ends in `.toml`."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

from ringi.errors import InvalidError
from ringi.policy.rules import Policy


def read_policy(path: str | Path) -> Policy:
    """Return the policy in a file: JSON, or TOML if the name ends in `.toml`.

    Args:
        path: The path of the file, in UTF-8.

    Raises:
        InvalidError: The file cannot be read, or its policy is invalid.
    """
    return Policy.parse(read_data(Path(path), "policy"))


def read_data(path: Path, name: str) -> Any:
    """Return the data in a file: JSON, or TOML if the name ends in `.toml`.

    Args:
        path: The path of the file, in UTF-8.
        name: What the data is, as the path of the error.

    Raises:
        InvalidError: The file cannot be read.
    """
    try:
        text = path.read_bytes().decode()
    except OSError as error:
        raise _unreadable(path, error, name) from error
    except UnicodeDecodeError as error:
        raise InvalidError.of(name, f"{path} is not UTF-8: save it as UTF-8", "invalid_unicode") from error
    if path.suffix == ".toml":
        try:
            return tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise InvalidError.of(name, f"{path} is not TOML ({error}): correct it") from error
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidError.of(name, f"{path} is not JSON ({error}): correct it", "not_json") from error


class PolicyFile:
    """The policy in a file, read again after each change of the file.

    Args:
        path: The path of the file: JSON, or TOML if the name ends in `.toml`.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._read: tuple[tuple[int, int, int], Policy] | None = None

    def policy(self) -> Policy:
        """Return the current policy.

        Raises:
            InvalidError: The file cannot be read, or its policy is invalid.
        """
        try:
            stat = self._path.stat()
        except OSError as error:
            raise _unreadable(self._path, error) from error
        version = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
        if self._read is None or self._read[0] != version:
            self._read = None
            self._read = version, read_policy(self._path)
        return self._read[1]


def _unreadable(path: Path, error: OSError, name: str = "policy") -> InvalidError:
    return InvalidError.of(name, f"cannot read {path}: {error.strerror}", "unreadable_file")
