"""The version after this one, made from a copy: new columns, new fields, a new event type."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import ringi

HERE = Path(ringi.__file__).parent
ROOT = Path(__file__).parent.parent
MARK = "of_next"
"""The name of what the next version adds, wherever it adds something."""
FIELDS = {
    "domain/ask.py": """
class Ask(Ask):
    of_next: str | None = "asked"


AskOptions.__annotations__["of_next"] = str | None


class Response(Response):
    of_next: str | None = Field(default=None, exclude_if=lambda value: value is None)

    def __init__(self, /, **fields):
        super().__init__(**{"of_next": "answered", **fields})

    __init__.__pydantic_base_init__ = True
""",
    "domain/request.py": """
class Request(Request):
    of_next: str | None = None
    noted: bool | None = None
""",
    "domain/thread.py": """
class Thread(Thread):
    of_next: int | None = None

    def _let_go(self, type, fence, now, **changes):
        return super()._let_go(type, fence, now, **changes, of_next=fence)
""",
    "inbox/inbox.py": """
class StoreInbox(StoreInbox):
    async def submit(self, ask, **more):
        request = await super().submit(ask, **more)
        return await self.change(
            request.id, lambda r: (r, None) if r.noted else r.changed("noted", "next", self.clock(), noted=True)
        )
""",
}
"""What is added at the end of each file."""


def next_version(folder: Path, *, breaking: bool = False) -> Path:
    """Make it in a folder, which is what comes first on its `PYTHONPATH`."""
    shutil.copytree(HERE, folder / "ringi", ignore=shutil.ignore_patterns("__pycache__"))
    for name, added in FIELDS.items():
        with (folder / "ringi" / name).open("r+") as file:  # A file that has moved is an error here.
            file.seek(0, os.SEEK_END)
            file.write(added)
    for backend in ("sqlite", "postgres"):
        add_migration(folder / "ringi/backends" / backend / "sql", breaking=breaking)
    return folder


def add_migration(folder: Path, *, breaking: bool) -> None:
    """Add a column to every table there is."""
    scripts = sorted(folder.glob("*.sql"))
    tables = [name for script in scripts for name in re.findall(r"(?m)^CREATE TABLE (\w+)", script.read_text())]
    lines = [f"ALTER TABLE {table} ADD COLUMN {MARK} text;" for table in tables]
    name = f"{len(scripts) + 1:03d}_{MARK}{'.breaking' if breaking else ''}.sql"
    (folder / name).write_text("\n".join(lines))


def environment(code: Path, **more: str) -> Mapping[str, str]:
    """Return the environment of a process that runs the Ringi in that folder."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(code), str(ROOT)]), **more}
