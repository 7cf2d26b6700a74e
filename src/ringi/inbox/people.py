"""The people who are known in each tenant: a stream that servers and commands add to."""

from __future__ import annotations

import asyncio
import json
import logging
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ringi.base.failpoints import failpoint
from ringi.base.settings import Settings
from ringi.contracts.backend import Stream, StreamItem
from ringi.contracts.store import TRIES
from ringi.domain.people import PeopleOnRecord
from ringi.domain.record import DEFAULT_TENANT, Key, Query
from ringi.errors import ConflictError

log = logging.getLogger(__name__)
PAGE = 500
NOBODY = PeopleOnRecord()


class NamedPerson(NamedTuple):
    """A person whom a setting names, and the person's groups."""

    tenant: str | None
    """The tenant; None for all."""
    name: str | None
    """The name; None for groups of people who are not named."""
    groups: tuple[str, ...] = ()


class KnownPeople:
    """The people of all tenants of a store: those who have a token or have signed in, and those of the settings.

    Args:
        stream: The streams of the store; None if only settings name people.
        named: The people of the settings.
    """

    def __init__(self, stream: Stream | None = None, named: Iterable[NamedPerson] = ()) -> None:
        self._stream, self.named = stream, list(named)
        self._noted: dict[str, dict[str, frozenset[str]]] = {}
        """The groups of each person, by tenant and name."""
        self._last_number: dict[str, int] = {}
        self.unmarked: dict[str, Query] = {}
        """The requests, by tenant, whose marks do not count people who were noted lately."""
        self.marking: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        """Held by tenant while marks are set, because the first calls of a person come together; of one event loop."""

    def has(self, tenant: str, name: str, groups: Iterable[str] = ()) -> bool:
        """Return whether this process knows that a person with these groups is on record and counts for all marks."""
        return tenant not in self.unmarked and self.is_noted(tenant, name, groups)

    def is_noted(self, tenant: str, name: str, groups: Iterable[str]) -> bool:
        """Return whether this process knows that a person with these groups is on record."""
        noted = self._noted.get(tenant, {}).get(name)
        if noted is not None and noted.issuperset(groups):
            return True
        return any(each.name == name and each.tenant == tenant and {*groups} <= {*each.groups} for each in self.named)

    async def note(self, tenant: str, name: str, groups: Iterable[str] = ()) -> None:
        """Record durably that a person has a token or has signed in.

        Args:
            tenant: The tenant.
            name: The name of the person.
            groups: The groups of the person.
        """
        if self._stream is None or self.is_noted(tenant, name, groups):
            return
        is_first = (await self.known(tenant)).is_empty
        if self.is_noted(tenant, name, groups):
            return
        # As long as nobody was known, nothing could be compared.
        due = Query() if is_first else self.unmarked.get(tenant, Query(unanswerable=True))
        # A copy, because marks that are being set now do not count this person.
        self.unmarked[tenant] = due.model_copy()
        await self._stream.append(key_of(tenant), [note_of(name, groups)], fence=0)
        await self._read(tenant)

    async def forget(self, tenant: str, name: str) -> bool:
        """Record that a person has no token any more; return False if the person was not on record.

        Args:
            tenant: The tenant.
            name: The name of the person.
        """
        is_noted = False
        for _ in range(TRIES):
            await self._read(tenant)
            noted = self._noted.get(tenant, {})
            if self._stream is None or name not in noted:
                return is_noted
            # The whole list is written again, so that nothing of the person stays.
            left = [note_of(other, groups) for other, groups in noted.items() if other != name]
            items, is_noted = [StreamItem({"name": None}), *left], True
            failpoint("people.before_replace")
            with suppress(ConflictError):  # Another process has noted or forgotten somebody: read again.
                await self._stream.replace(key_of(tenant), items, last=self._last_number[tenant])
        raise ConflictError.too_often("people", tenant)

    async def known(self, tenant: str) -> PeopleOnRecord:
        """Return the people and groups who are known in a tenant now.

        Args:
            tenant: The tenant.
        """
        if self._stream is None and not self.named:
            return NOBODY
        await self._read(tenant)
        noted = self._noted.get(tenant, {})
        named = [each for each in self.named if each.tenant in (None, tenant)]
        people = frozenset(noted).union(each.name for each in named if each.name)
        return PeopleOnRecord(people, frozenset().union(*noted.values(), *(each.groups for each in named)))

    async def _read(self, tenant: str) -> None:
        while self._stream:
            items = await self._stream.read(key_of(tenant), self._last_number.get(tenant, 0), PAGE)
            noted = self._noted.setdefault(tenant, {})
            for item in items:
                if item.number <= self._last_number.get(tenant, 0):
                    continue  # Another task of this process has read it meanwhile.
                self._last_number[tenant] = item.number
                if (name := item.event["name"]) is None:
                    noted.clear()
                else:
                    noted[name] = noted.get(name, frozenset()).union(item.event["groups"])
            if len(items) < PAGE:
                return


def named_people(settings: Settings) -> list[NamedPerson]:
    """Return the people and groups that the settings name: `RINGI_MAIL_TO`, and the groups that may sign in.

    Args:
        settings: All settings.
    """
    found = [NamedPerson(None, None, (*settings.admin_groups, *settings.people_groups))]
    try:
        text = settings.mail_to or "[]"
        rows = json.loads(text if text.lstrip().startswith("[") else Path(text).read_text("utf-8"))
        found += [
            NamedPerson(row.get("tenant", DEFAULT_TENANT), row["name"], tuple(row.get("groups", ()))) for row in rows
        ]
    except (ValueError, TypeError, AttributeError, LookupError, OSError) as error:
        # Mail has its own check of this setting, which stops the server.
        log.warning("the people of RINGI_MAIL_TO are not known: %s", error)
    return found


def note_of(name: str, groups: Iterable[str]) -> StreamItem:
    """Return the item by which a person is on record."""
    return StreamItem({"name": name, "groups": sorted(groups)})


def key_of(tenant: str) -> Key:
    """Return the key of the stream; no id of a thread has a slash."""
    return Key(tenant, "people/known")
