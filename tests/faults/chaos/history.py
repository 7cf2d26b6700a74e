"""What clients did and saw, one JSON line for each call."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, Self


class Call(NamedTuple):
    """One call. It may have taken effect although nothing came back: then `code` is None."""

    op: str
    request: str
    client: str
    invoked: float
    returned: float
    code: int | None
    seen: dict[str, Any]


class History:
    """A file that grows by a line with each call."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> Self:
        self._file = self._path.open("a", buffering=1, encoding="utf-8")
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, op: str, request: str, client: str, invoked: float, code: int | None, seen: dict[str, Any]) -> None:
        """Add a call that has just returned, or failed."""
        call = Call(op, request, client, invoked, time.time(), code, seen)
        self._file.write(json.dumps(call._asdict()) + "\n")

    def calls(self) -> Iterator[Call]:
        """Yield all calls."""
        with self._path.open(encoding="utf-8") as lines:
            for line in lines:
                yield Call(**json.loads(line))
