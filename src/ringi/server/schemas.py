"""The JSON models of the API: inputs are parsed with them, and outputs are documented by them."""

from __future__ import annotations

from collections.abc import Set
from datetime import datetime
from typing import Annotated, Any, Generic, Literal, TypeVar, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StringConstraints, create_model

from ringi.base.model import StrictModel
from ringi.base.validation import NOT_BLANK, Name
from ringi.delivery.attempt_log import Delivery, EndpointCounts
from ringi.domain.absence import Absence, Away, Leave
from ringi.domain.ask import Answer, Ask, Cancel, Decision, Id, Receipt
from ringi.domain.checks import CheckReport, NewChecks, PlantedChecks
from ringi.domain.grants import GrantPage
from ringi.domain.memories import Memory, MemoryEdit
from ringi.domain.pauses import NewPause, Pause, PausePage
from ringi.domain.people import Reassignment
from ringi.domain.precedent import Precedent
from ringi.domain.record import Erased
from ringi.domain.request import Request
from ringi.domain.request_data import PRIVATE, Status
from ringi.domain.suggestions import NewRule, SuggestionPage
from ringi.domain.thread import ThreadStatus
from ringi.domain.voting import Tier
from ringi.files.images import MAX_IMAGES
from ringi.forms import field_parts
from ringi.forms.field_parts import Upload
from ringi.privacy.candidates import Erasure, Sweep
from ringi.runs.operations import Trouble
from ringi.server.identity import Role
from ringi.statistics.figures import OverviewFigures
from ringi.statistics.report import OversightReport

T = TypeVar("T")
MAX_BODY = field_parts.MAX_ENCODED + 8 * 1024
"""Maximum bytes of a call that attaches the largest file."""


def absent_if_none() -> Any:
    """Return a field that is absent from a reply while it is None."""
    return Field(default=None, exclude_if=lambda value: value is None)


class View(BaseModel):
    """A model whose name in the API is not that of its class."""

    def __init_subclass__(cls, *, name: str, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.__name__ = cls.__qualname__ = name


class PageOf(BaseModel, Generic[T]):
    """A page of a list; `next` is the cursor of the following page."""

    items: list[T]
    next: str | None


class WholeList(BaseModel, Generic[T]):
    """A list that is never cut."""

    items: list[T]
    next: None


class Count(BaseModel):
    """A number of records, counted up to 999."""

    count: int
    more: bool
    """True if the actual count is higher."""


class Counts(BaseModel):
    """The numbers of requests that the caller may read."""

    pending: Count
    mine: Count
    """Pending requests that are assigned to the caller, or claimed by the caller."""
    ended: Count | None = absent_if_none()
    """Requests that ended since the requested time; absent if no time was requested."""


class Amounts(BaseModel):
    """The totals of the amounts that the author of a tool declares."""

    unit: str | None
    sum: int | float
    least: int | float
    greatest: int | float


class Totals(BaseModel):
    """The pending requests that some filters select, counted up to 999."""

    count: int
    more: bool
    """True if there are more than counted; then the amounts and tiers are those of the newest."""
    tiers: list[Tier]
    """The tiers of the requests, the highest first."""
    amounts: Amounts | None
    """None unless all requests are about one tool whose author declares an amount of one unit."""


class AuditEvent(BaseModel):
    """One change of one record, linked by its hash to the previous change."""

    id: str
    record: str
    record_id: str
    version: int
    type: str
    at: datetime
    payload_digest: str
    previous: str
    hash: str
    position: str
    actor: str
    changed: dict[str, Any]


class AuditPage(PageOf[AuditEvent]):
    """A page of the audit trail, oldest first; `next` is the `after` of the following page."""


class Access(BaseModel):
    """What an auditor read at about the same time."""

    at: datetime
    by: str
    """The auditor's name; `erased:person` after its erasure."""
    read: list[str]
    """The paths of the calls."""


class AccessPage(PageOf[Access]):
    """A page of the access log, oldest first; `next` is the `after` of the following page."""


class LegalHold(StrictModel):
    """The reason for a legal hold; the audit trail records it."""

    reason: Annotated[str, StringConstraints(min_length=1, max_length=2_000, pattern=NOT_BLANK)]


class OperatorReason(StrictModel, View, name="Operation"):
    """The reason for canceling, retrying or abandoning a run; the audit trail records it."""

    reason: str | None = Field(default=None, max_length=20_000)


class BulkItem(Answer):
    """One answer of a bulk call."""

    id: Id


class BulkAnswer(StrictModel):
    """Several answers; each is accepted or refused independently."""

    items: Annotated[list[BulkItem], Field(min_length=1)]


class ImageUpload(StrictModel):
    """An image of a message."""

    name: Annotated[str, Field(max_length=1_000)] = "image"
    data: Annotated[str, Field(json_schema_extra={"contentEncoding": "base64"})]


class NewRun(StrictModel):
    """The agent, input and images of a new run."""

    agent: Name
    input: dict[str, Any] = {}
    images: Annotated[list[ImageUpload], Field(max_length=MAX_IMAGES)] = []
    """Images of the newest message; the agent must accept images."""


_file_fields: dict[str, Any] = {name: (kind, ...) for name, kind in get_type_hints(field_parts.AttachedFile).items()}
AttachedFile: type[BaseModel] = create_model(
    "AttachedFile", __doc__="An attached file, as the answer's data contains it.", **_file_fields
)


class ChatTurn(StrictModel):
    """The body that `useChat` sends; only the newest message is used, the server stores the others."""

    id: Id
    messages: Annotated[list[Any], Field(min_length=1)]
    trigger: Literal["submit-message", "regenerate-message"] = "submit-message"
    message_id: str | None = Field(default=None, alias="messageId")
    agent: Name | None = None
    """The agent; by default the thread's agent, else the only agent that accepts messages."""


class SignIn(StrictModel):
    """A token, or the code of a one-use link, to exchange for a cookie."""

    token: str
    replace: StrictBool = False
    """True to replace the session of another person."""


def _public(model: type[BaseModel], private: Set[str], description: str) -> type[BaseModel]:
    """Return the model of a domain's model without its private fields; in the API it has the same name."""
    fields: dict[str, Any] = {
        name: (field.annotation, field) for name, field in model.model_fields.items() if name not in private
    }
    always = ConfigDict(json_schema_serialization_defaults_required=True, serialize_by_alias=True)
    return create_model(model.__name__, __doc__=description, __config__=always, **fields)


PublicRequest = _public(Request, PRIVATE, "A question for a person, its status and its answer.")


class RequestPage(PageOf[PublicRequest]):  # type: ignore[valid-type]
    """A page of requests, newest first or in the order `urgent` or `ended`."""

    now: datetime | None = absent_if_none()
    """In the order `urgent`: the time of the first page. A request is overdue if its deadline, the nearer of due_at and
    expires_at, is not later."""
    due_soon_until: datetime | None = absent_if_none()
    """In the order `urgent`: a request is due soon if its deadline is not later."""


class Winner(BaseModel):
    """The answer that arrived first and was accepted."""

    decision: Decision
    responder: str
    at: datetime


class FieldProblem(BaseModel):
    """A validation error of one field."""

    field: str
    message: str
    """The rule that the value breaks, and the correction, in English for a developer."""
    code: str
    """The rule as a code, for a text in the person's language."""
    params: dict[str, Any]
    """The values in that text."""


class Problem(BaseModel):
    """A problem document: the reason for refusing a call (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    errors: list[FieldProblem] | None = absent_if_none()
    state: Status | None = absent_if_none()
    """The final status of the request."""
    winner: Winner | None = absent_if_none()
    claimed_by: str | None = absent_if_none()


class BulkOutcome(BaseModel):
    """The result of one answer: its HTTP status, with the request or the problem."""

    id: str | None
    status: int
    request: PublicRequest | None = absent_if_none()  # type: ignore[valid-type]
    problem: Problem | None = absent_if_none()


class BulkResult(WholeList[BulkOutcome]):
    """The results of a bulk call, in the order of its answers."""


class AgentView(View, name="Agent"):
    """An agent that callers can start."""

    name: str
    title: str
    description: str
    input_schema: dict[str, Any]
    images: bool
    """True if a message may contain images."""


class AgentPage(WholeList[AgentView]):
    """All agents."""


class RunStarted(BaseModel):
    """A run that was started and continues in the background."""

    thread_id: str
    run_id: str


class ThreadSummary(BaseModel):
    """A conversation with an agent."""

    id: str
    agent: str
    title: str | None
    status: ThreadStatus
    run_id: str | None
    values: dict[str, Any]
    error: str | None
    attention: str | None
    can_ask_again: bool
    reason: str | None
    started_by: str | None
    created_at: datetime
    updated_at: datetime
    erased: Erased | None


class PricedCalls(View, name="ModelCalls"):
    """The calls of one model by the newest run of a thread."""

    model: str
    calls: int
    """The number of calls, failed ones included."""
    unreported_calls: int
    """The calls for which the provider reported no tokens; no sum contains them."""
    input_tokens: int | None
    """The tokens that the model read, cached ones included; null if no call reported any."""
    cached_tokens: int | None
    """The part of `input_tokens` that came from the provider's cache; null if no call reported any."""
    output_tokens: int | None
    """The tokens that the model wrote; null if no call reported any."""
    seconds: float
    """The sum of the durations of the calls."""
    cost: float | None
    """The cost of the reported tokens at the operator's present prices; null without a price."""
    currency: str | None
    """The currency of `cost`, as a code of ISO 4217."""


class ThreadView(ThreadSummary, View, name="Thread"):
    """A conversation with an agent, and its pending requests."""

    pending: list[PublicRequest]  # type: ignore[valid-type]
    usage: list[PricedCalls]
    """The newest run's calls of models, in the order of their first calls."""
    traceback: str | None = Field(default=None, description="For admins only")


class ThreadPage(PageOf[ThreadSummary]):
    """A page of threads, newest first."""


class TroublePage(PageOf[Trouble]):
    """Runs that need an operator: failed threads first, then stranded requests."""


class AbsencePage(WholeList[Absence]):
    """All absences of the tenant, the first to end first."""


class KnownNames(View, name="People"):
    """People and groups that the caller knows of, the most frequent first."""

    people: list[str]
    groups: list[str]


MemoryView = _public(Memory, {"person"}, "An answer that the caller allowed agents to use in later threads.")


class MemoryPage(PageOf[MemoryView]):  # type: ignore[valid-type]
    """A page of memories, newest question first."""


class DeliveryPage(WholeList[Delivery]):
    """The deliveries of a request, oldest first."""


class EndpointCountsPage(WholeList[EndpointCounts]):
    """The unfinished deliveries of each endpoint, by its name."""


class FeedEvent(BaseModel):
    """The data of one server-sent event of the feed."""

    type: str
    position: str
    at: datetime
    actor: str
    request: PublicRequest | None = None  # type: ignore[valid-type]
    gone: str | None = None
    """Sent instead of `request`: the id of a reassigned request that the reader may no longer read."""


class ChatRun(BaseModel):
    """One run of a chat, which is one message of the agent even if the run paused."""

    id: str
    """The id of the message."""
    messages: list[dict[str, Any]]
    """The user messages that started the run, as messages of the AI SDK."""
    parts: list[dict[str, Any]]
    """The agent's message in the format of its stream, without `finish`."""


class Chat(BaseModel):
    """A page of a thread's history: newest page first, and in chronological order within a page."""

    id: str
    agent: str
    runs: list[ChatRun]
    next: str | None


class Session(BaseModel):
    """The signed-in person."""

    name: str
    role: Role
    tenant: str
    groups: list[str]


class Ways(BaseModel):
    """The ways to sign in other than by a token."""

    oidc: bool
    """True if `GET /v1/session/oidc` redirects to a provider."""


class ServerInfo(View, name="Info"):
    """Information about this server."""

    scripted: bool
    model: str | None
    version: str
    no_deliveries: bool
    """True if the store is a copy of one in use: nothing is sent, and no agent runs."""


class Health(BaseModel):
    """The health of the server."""

    status: Literal["ok", "ready"]
    store: str | None = absent_if_none()
    durability: str | None = absent_if_none()
    """The durability of an acknowledged change, if the store has such a setting."""


INPUTS: tuple[type[BaseModel], ...] = (
    Ask, Answer, BulkAnswer, Cancel, Reassignment, Leave, NewRun, ChatTurn, OperatorReason, MemoryEdit,
    SignIn, Sweep, Upload, LegalHold, NewPause, NewChecks, NewRule,
    Receipt)  # fmt: skip

OUTPUTS: tuple[type[BaseModel], ...] = (
    PublicRequest, RequestPage, Counts, Totals, BulkResult, Problem, AgentPage, RunStarted, ThreadView, PricedCalls,
    ThreadPage, TroublePage, Pause, PausePage, GrantPage, PlantedChecks, CheckReport, Precedent, AuditPage, AccessPage,
    Erasure, Delivery, DeliveryPage, EndpointCountsPage, FeedEvent, Chat, MemoryView, OverviewFigures,
    OversightReport, SuggestionPage, Away, AbsencePage, KnownNames, MemoryPage, Session, Ways, ServerInfo, Health,
    AttachedFile)  # fmt: skip
