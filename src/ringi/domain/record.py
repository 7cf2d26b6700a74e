"""Stored data: versioned records, and the events that produced them."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self, TypeVar
from urllib.parse import quote, unquote

from pydantic import AfterValidator
from pydantic_core import to_json

from ringi.base.canonical_json import digest, jsonable, sha256_of_text
from ringi.base.clock import EPOCH
from ringi.base.model import StrictModel
from ringi.base.validation import FieldValidationError, check_name
from ringi.errors import InvalidError, RingiError, UnavailableError

T = TypeVar("T")
Position = str
"""A position in the feed of events. Opaque: only the store that issued it can compare it."""

START: Position = ""
"""The position before the first event."""

DEFAULT_TENANT = "default"
SYSTEM = "system"
"""The actor of changes that no person or agent made."""

AGENT = "agent:"
"""The prefix of agents' names; a person's name contains no colon."""
THREAD = "thread:"
"""The prefix of the names under which a thread's run starts other runs."""

POLICY = "policy:"
"""The prefix of the names of rules that decide without a person."""
GRANT = "grant:"
"""The prefix, after `policy:`, of the id of a grant that decides like a rule."""

ERASED_PERSON = "erased:person"
"""Replaces the erased name of a person; no token can have this name."""


class UnreadableError(UnavailableError):
    """This version cannot read a record: a newer one wrote it, or it was damaged. Nothing was changed."""

    is_unwritten = True

    def __init__(self, kind: str, id: str, why: str, retry_after: float = 1.0) -> None:
        self.retry_after, self.position = retry_after, id if kind == "event" else None
        """The position of an unreadable event, or of the last of several: later events can be read after it."""
        remedy = "upgrade Ringi if a newer version wrote it, otherwise check for damage with `ringi verify`"
        RingiError.__init__(self, f"{kind} {id!r} cannot be read ({why}): {remedy}")


class Page(list[T]):
    """A part of a list.

    Args:
        items: The items.
        next: The cursor of the next page; None at the end.
    """

    def __init__(self, items: Iterable[T] = (), next: str | None = None) -> None:
        super().__init__(items)
        self.next = next


class CutPage(list[T]):
    """Records of a page that ended with `Query.max_bytes`: more may follow the last."""


class Key(NamedTuple):
    """Identifies a record of one kind, below HTTP."""

    tenant: str
    """The tenant that owns the record."""
    id: str
    """The id of the record, unique within its tenant and kind."""


class Event(StrictModel):
    """One change of one record, chained to the record's previous event by `previous`."""

    tenant: str
    """The tenant of the record."""
    record: str
    """The kind of the record: `request`, `thread` or `journal`."""
    record_id: str
    """The id of the record."""
    version: int
    """The version of the record after the change; 1 after its creation."""
    type: str
    """The kind of the record and the name of the change, such as `request.completed`."""
    at: datetime
    """The time of the change."""
    payload: dict[str, Any]
    """`{"actor": …, "changed": {…}}`; only the actor after an erasure. The event of an erasure also has `covers`."""
    payload_digest: str
    """The digest of the original payload: `sha256:` and 64 hex digits. An erasure leaves it unchanged."""
    previous: str
    """The `hash` of the record's previous event; '' in the first event."""
    hash: str
    """`sha256:` and the hex digest of the fields above, with `payload_digest` in place of the payload."""
    position: Position = START
    """The position in the feed; `START` until the event is stored."""

    @property
    def id(self) -> str:
        """The id of the event: stable across retries, unique across tenants."""
        return self.hash.removeprefix("sha256:")[:32]

    @property
    def actor(self) -> str:
        """The name of the actor; `system` if there is none, `erased:person` after an erasure of the name."""
        return str(self.payload.get("actor", ERASED_PERSON))

    @property
    def changed(self) -> dict[str, Any]:
        """The changed fields; empty after an erasure."""
        changed: dict[str, Any] = self.payload.get("changed", {})
        return changed

    @property
    def is_redacted(self) -> bool:
        """Return whether the payload was erased; only the actor remains, unless it was a person's name."""
        return self.payload.keys() == {"actor"}

    @property
    def redacted_versions(self) -> dict[int, str]:
        """The earlier events of the record that an erasure redacted: the remaining actor by version."""
        return {int(version): actor for version, actor in self.payload.get("covers", {}).items()}

    def computed_hash(self) -> str:
        """Return the hash that this event must have, computed from its fields."""
        return event_hash(self.model_dump(include=HASHED))


HASHED = {"tenant", "record", "record_id", "version", "type", "at", "payload_digest", "previous"}
IN_ORDER = sorted(HASHED)


def event_hash(fields: Mapping[str, Any]) -> str:
    """Return the hash of an event with these fields; the payload is represented by its digest."""
    # Texts and a number under sorted names: in this order any encoder writes canonical JSON.
    ordered = {name: fields[name] for name in IN_ORDER} | {"at": fields["at"].astimezone(UTC)}
    return sha256_of_text(to_json(ordered))


class Erased(StrictModel):
    """The erasure of a record's content: time, actor and reason."""

    at: datetime
    by: str
    rule: Literal["request", "person", "age"]
    """`request`: an admin selected the record. `person`: only this person's content. `age`: the retention period."""


class WaitingErasure(Erased):
    """An erasure of a request that waits for the end of a review; `at` is the time at which somebody asked for it."""

    request: str
    """The id of the request: the overridden one, or the review itself."""
    person: str | None = None
    """The person whose part to erase; None for all content."""


class Record(StrictModel):
    """A versioned record with a tenant, an id and a chain of events."""

    record: ClassVar[str]
    unchained: ClassVar[frozenset[str]] = frozenset({"head", "version"})

    tenant: str
    id: str
    version: int = 1
    created_at: datetime
    head: str = ""
    erased: Erased | None = None

    @property
    def emptied(self) -> tuple[str, ...]:
        """The fields that are not stored while they are empty, and that a step may have emptied."""
        return ()

    @property
    def key(self) -> Key:
        """The key of the record within its kind."""
        return Key(self.tenant, self.id)

    @property
    def topic(self) -> str:
        """The topic that waiters for this record subscribe to."""
        return record_topic(self.record, self.key)

    def created(self, type: str, actor: str) -> tuple[Self, Event]:
        """Return the record as version 1 with its creation event.

        Args:
            type: The name of the event without the kind of the record, such as `created`.
            actor: The person, agent or rule that creates the record, or `system`.

        Returns:
            The record and its event, to be stored together. The event has all fields except those in `unchained`.

        Raises:
            InvalidError: A field is not portable JSON, such as NaN or an integer above 2**53 - 1.
        """
        changed = {k: v for k, v in self.model_dump(mode="json").items() if k not in self.unchained}
        event = self._event(1, type, actor, self.created_at, changed)
        return self.model_copy(update={"version": 1, "head": event.hash}), event

    def changed(self, type: str, actor: str, at: datetime, **changes: object) -> tuple[Self, Event]:
        """Return the next version and its event.

        Args:
            type: The name of the event without the kind of the record, such as `completed`.
            actor: The person, agent or rule that makes the change, or `system`.
            at: The time of the change.
            changes: The new values by field name. They are not validated.

        Returns:
            The record and its event, to be stored together.

        Raises:
            InvalidError: A new value is not portable JSON, such as NaN or an integer above 2**53 - 1.
        """
        fields = self.__class__.model_fields
        stored = {fields[name].alias or name if name in fields else name: value for name, value in changes.items()}
        event = self._event(self.version + 1, type, actor, at, jsonable(stored))
        return self.model_copy(update={**changes, "version": event.version, "head": event.hash}), event

    def redacted(self, erased: Erased, redacted_versions: Mapping[int, str], **changes: object) -> tuple[Self, Event]:
        """Return the next version without its content, and the event of the erasure.

        The event states everything that remains: the redacted events before it can no longer be summed up.

        Args:
            erased: The time, the actor and the rule of the erasure.
            redacted_versions: The remaining actor of each redacted event, by the event's version.
            changes: The values that replace erased content, by field name.

        Returns:
            The record and its event, to be stored together. Fields that only a newer version knows are removed.

        Raises:
            InvalidError: A remaining value is not portable JSON, such as an integer above 2**53 - 1.
        """
        left = self.model_copy(update={**changes, "erased": erased, "version": self.version + 1})
        # Fields of a newer version may contain personal data: they are removed too.
        left = type(self).model_validate_json(left.model_dump_json(), extra="ignore")
        stored = left.model_dump(mode="json")
        values = {name: value for name, value in stored.items() if name not in self.unchained}
        values |= {name: None for name in left.emptied if name not in stored}
        more = {"covers": {str(version): actor for version, actor in sorted(redacted_versions.items())}}
        event = self._event(left.version, "erased", erased.by, erased.at, values, more)
        return left.model_copy(update={"head": event.hash}), event

    def _event(
        self, version: int, type: str, actor: str, at: datetime, changed: object, more: Mapping[str, Any] | None = None
    ) -> Event:
        if not actor.isprintable():
            # Some stores refuse a control character, and nobody can see it.
            try:
                check_name(actor)
            except FieldValidationError as error:
                raise InvalidError([error.at("by")]) from None
        payload = {"actor": actor, "changed": changed, **(more or {})}
        fields = {
            "tenant": self.tenant,
            "record": self.record,
            "record_id": self.id,
            "version": version,
            "type": f"{self.record}.{type}",
            "at": at,
            "payload_digest": digest(payload),
            "previous": self.head,
        }
        return Event(**fields, payload=payload, hash=event_hash(fields))


def record_topic(record: str, key: Key) -> str:
    """Return the topic of a record, even if the record does not exist yet.

    Args:
        record: The kind of the record, such as `request`.
        key: The tenant and the id of the record.
    """
    return f"{record}/{key.tenant}/{key.id}"


class Viewer(StrictModel):
    """A person who sees requests that are open to all, assigned to them, offered to their groups, or asked by them."""

    name: str
    groups: tuple[str, ...] = ()
    subject: str = ""
    """The issuer and the subject of the person's sign-in; empty if only the name is known."""
    deputy_for: tuple[Viewer, ...] = ()
    """The absent people whose deputy the person is: what is open to them is open to the person."""


class Query(StrictModel):
    """Selects records of a kind: every field that is set must match; newest first, unless `order` says otherwise."""

    order: Literal["newest", "urgent", "ended"] = "newest"
    """`urgent`: pending requests of one tenant: the overdue, those due within an hour, both by the nearer of due_at and
    expires_at; then the rest by priority, tier, first of its kind, and the oldest first. `ended`: ended requests of one
    tenant, the latest end first."""
    now: datetime | None = None
    """The present time of the order `urgent`; a cursor has its own."""
    tenant: str | None = None
    statuses: Annotated[tuple[str, ...], AfterValidator(lambda names: tuple(dict.fromkeys(names)))] = ()
    """A status that is given twice counts once."""
    kind: str | None = None
    priority: str | None = None
    """A request without a priority counts as `normal`."""
    assignee: str | None = None
    assigned_or_claimed_by: str | None = None
    """Requests that this person is assigned to or has claimed."""
    thread_id: str | None = None
    tool: str | None = None
    """Requests about a call of this tool or action."""
    agent: str | None = None
    """Requests that this agent asked; see `Request.agent`."""
    tier: str | None = None
    """A request without a tier counts as `low`."""
    group: str | None = None
    """Requests that the members of this group may decide."""
    asked_by: str | None = None
    remembered_by: str | None = None
    """Requests whose answers are memories of this person."""
    viewer: Viewer | None = None
    text: str | None = None
    """The request must contain each word: see `query_terms`."""
    ended_since: datetime | None = None
    """Requests that ended at this time or later."""
    expired_at: datetime | None = None
    """Pending requests for which the clock has something to do at this time, longest due first: they expire, escalate,
    or a held answer is released. If they exceed the limit, it is divided among the tenants."""
    unacknowledged: bool = False
    """Ended requests with a continuation that no run has acknowledged and that need no attention."""
    attention: bool = False
    """Requests that wait for an operator."""
    unexecuted: bool = False
    """Approved calls that are not known to have begun: nobody has acknowledged the approval."""
    unanswerable: bool = False
    """Pending requests that nobody who is known here can answer."""
    unsettled: bool = False
    """Requests that are pending, unacknowledged, or wait for an operator."""
    unleased_at: datetime | None = None
    """Running threads without a worker at this time."""
    jobless: bool = False
    """Only running threads, or ended requests, without an unfinished job. A store without jobs returns all of them."""
    before: str | None = None
    """The cursor of the last record of the previous page."""
    limit: int = 50
    max_bytes: int | None = None
    """Stored bytes with which a page ends, however few its records: it is then a `CutPage`. None: no limit."""


def cursor_after_record(record: Record) -> str:
    """Return the cursor of the page after this record: the record's position in the order of lists."""
    return f"{unix_microseconds(record.created_at)}:{quote(record.tenant, safe='')}:{record.id}"


def unix_microseconds(at: datetime) -> int:
    """Return the time as whole microseconds since 1970: integers sort correctly where texts do not."""
    return (at - EPOCH) // MICROSECOND


MICROSECOND = timedelta(microseconds=1)
CURSOR = re.compile(r"(-?[0-9]{1,18}):([^:]*):(.*)", re.DOTALL | re.ASCII)


def parse_record_cursor(cursor: str) -> tuple[int, str, str]:
    """Return the (microseconds, id, tenant) of a page's cursor, or raise `InvalidError`."""
    parts = CURSOR.fullmatch(cursor)
    if not parts:
        raise InvalidError.of("cursor", f"{cursor!r} is not a cursor of this list: take it from `next`")
    return int(parts[1]), parts[3], unquote(parts[2])


def parse_position_number(position: Position) -> int:
    """Return the number of a position in a store with numeric positions, or raise `InvalidError`."""
    if position == START:
        return 0
    if not (position.isascii() and position.isdigit() and len(position) < 19):
        raise InvalidError.of("after", f"{position!r} is not a position of this feed: take it from an event's id")
    return int(position)


SCRIPTS_WITHOUT_SPACES = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3040-\u318f\u31a0-\u31bf\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
"""Scripts without spaces between words (Chinese, Japanese, Korean, Thai and its neighbors): any part of a run
matches."""
RUN = re.compile(f"[{SCRIPTS_WITHOUT_SPACES}]+")
WORD = re.compile(rf"[^\W_{SCRIPTS_WITHOUT_SPACES}]+")
WORDS = re.compile(f"({WORD.pattern})")
STEMS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
"""The number of a word's letters that are indexed."""
MAX_SEARCH = 500
MAX_TERMS = 16
"""The maximum number of terms that narrow a search; the text itself is always compared."""


def normalize_for_search(*texts: str | None) -> str:
    """Return texts normalized for search: one width, one case, a space before each word."""
    plain = unicodedata.normalize("NFKC", "\n".join(text for text in texts if text)).casefold()
    # Half of a surrogate pair is not valid text and would make the store's comparison fail.
    parts = WORDS.split(plain)  # A substitution with a template would take three times as long.
    parts[1::2] = [f" {word}" for word in parts[1::2]]
    spaced = "".join(parts)
    return spaced if spaced.isascii() else spaced.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def texts_in_json(value: object) -> Iterator[str]:
    """Yield the texts and numbers in JSON data."""
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from texts_in_json(each)
    elif value is not None and not isinstance(value, bool):
        yield str(value)


def query_terms(text: str) -> tuple[str, ...]:
    """Return the terms that a searchable text must all contain to match this search.

    A term is the literal text between two spaces. It matches at the start of a word, or anywhere in a run of the
    scripts without spaces.

    Args:
        text: The search as a person typed it, of at most `MAX_SEARCH` characters.

    Raises:
        InvalidError: The text is longer.
    """
    if len(text) > MAX_SEARCH:
        why = f"search for {MAX_SEARCH} characters at most, not {len(text)}"
        raise InvalidError.of("text", why, "search_too_long", max=MAX_SEARCH)
    return tuple(dict.fromkeys(normalize_for_search(term) for term in unicodedata.normalize("NFKC", text).split()))


def index_terms(text: str) -> list[str]:
    """Return the index terms of a searchable text: letters and digits only."""
    stems = [word[:size] for word in set(WORD.findall(text)) for size in STEMS[: bisect(STEMS, len(word))]]
    runs = set(RUN.findall(text))
    pairs = {run[n : n + 2] for run in runs for n in range(len(run))}
    return [f"w{stem}" for stem in stems] + [f"r{part}" for part in pairs.union(*runs)] + _signs(set(text))


def lookup_terms(query: Sequence[str]) -> list[str]:
    """Return index terms that every text with these query terms has; other texts may have them too."""
    found = dict.fromkeys(each for term in query for each in _narrowest(term))
    return sorted(found, key=len, reverse=True)[:MAX_TERMS]


def _narrowest(term: str) -> list[str]:
    words = [f"w{word[: STEMS[bisect(STEMS, len(word)) - 1]]}" for word in WORD.findall(term)]
    runs = [f"r{run[n : n + 2]}" for run in RUN.findall(term) for n in range(max(1, len(run) - 1))]
    return words + runs or _signs(term)


def _signs(letters: Iterable[str]) -> list[str]:
    return [f"s{ord(letter):x}" for letter in letters if not letter.isalnum() and not letter.isspace()]
