"""What is stored has the same form as before, or the upgrade test has a case for the change."""

from __future__ import annotations

import re
from typing import Any

from pydantic import TypeAdapter

from ringi.backends.migrations import backend_migrations
from ringi.base.canonical_json import short_json_hash
from ringi.contracts.backend import Job, StreamItem
from ringi.contracts.runtime import FrameworkState
from ringi.domain.absence import Absence
from ringi.domain.grants import GrantEntry
from ringi.domain.journal import Journal
from ringi.domain.pauses import Pause
from ringi.domain.record import Event
from ringi.domain.request import Request
from ringi.domain.thread import Thread

STORED = (Request, Thread, Journal, Event, Job, StreamItem, FrameworkState, GrantEntry, Pause, Absence)
DIGESTS = {
    "Request": "f148a1cf5d363b95d6ca7bc066ff3bc1",
    "Thread": "8db3e8fc98dd4be58fa51790f506b630",
    "Journal": "e34661805ff67fc8351fd69551fc8f14",
    "Event": "fb08cc37678841da039de5f240a3fffa",
    "Job": "e03a2b89650a76ae4888250499702b6e",
    "StreamItem": "81a97eac99161a3afbc3a18d11c09b1b",
    "FrameworkState": "b3ca984b8e59fe84bd4e3ed171d2cdd4",
    "GrantEntry": "1141819132953364c46bb253a98b1fcc",
    "Pause": "2bb166bd684d69d04401c0803e944bdf",
    "Absence": "8fd0210a6a5abc6affe31e0ccdb082d4",
    "sqlite": "1d7435d5b694c0fa10abe49eb8a915f3",
    "postgres": "c3ad8988d055413987484eb197915f88",
}
CHANGED = "is stored in another form: change its digest here and add a case to the upgrade test in the same commit"
TEXTS = ("title", "description")


def form_of(schema: Any, definitions: dict[str, Any], above: tuple[str, ...] = ()) -> Any:
    """Return a JSON Schema without names of classes and without texts."""
    if isinstance(schema, list):
        return [form_of(each, definitions, above) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if name := schema.get("$ref", "").rpartition("/")[2]:
        return above.index(name) if name in above else form_of(definitions[name], definitions, (*above, name))
    unread = {name for name in TEXTS if isinstance(schema.get(name), str)} | {"$defs", "discriminator"}
    return {name: form_of(value, definitions, above) for name, value in schema.items() if name not in unread}


def digests() -> dict[str, str]:
    """Return a digest of the form of each kind of stored data, and of the tables of each database."""
    schemas = {kind.__name__: TypeAdapter(kind).json_schema(mode="serialization") for kind in STORED}
    forms = {name: form_of(schema, schema.get("$defs", {})) for name, schema in schemas.items()}
    tables = {
        name: [re.sub("--.*", "", migration.script) for migration in backend_migrations(name)]
        for name in ("sqlite", "postgres")
    }
    return {name: short_json_hash(form) for name, form in (forms | tables).items()}


def test_what_is_stored_changes_only_with_a_case_of_the_upgrade_test() -> None:
    changed = {name: digest for name, digest in digests().items() if DIGESTS.get(name) != digest}
    assert not changed, f"{changed} {CHANGED}"
