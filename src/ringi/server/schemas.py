"""The JSON models of the API: inputs are parsed with them, and outputs are documented by them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, create_model

from ringi.delivery.attempts import Delivery
from ringi.domain import request
from ringi.domain.ask import Answer, Ask, Decision, Id, Name, Time
from ringi.domain.record import Erased, Frozen
from ringi.domain.request import PRIVATE
from ringi.domain.thread import ThreadStatus
from ringi.forms.form import Form
from ringi.privacy.erasure import Erasure, Sweep
from ringi.runs.operations import Trouble
from ringi.server.identity import Role
from ringi.server.uploads import AttachedFile, NewRun, Upload


class Cancel(Frozen):
    """Why a request is withdrawn."""

    reason: str | None = Field(default=None, max_length=20_000)


class Reassign(Frozen):
    """Who shall answer instead."""

    assignee: Name | None = None
    candidate_groups: Annotated[tuple[Name, ...], Field(max_length=100)] = ()


class Operation(Frozen):
    """Why a run is cancelled, retried or abandoned; the audit trail keeps it."""

    reason: str | None = Field(default=None, max_length=20_000)


class BulkItem(Answer):
    """One answer of several."""

    id: Id


class BulkAnswer(Frozen):
    """Several answers, each decided or refused on its own."""

    items: Annotated[list[BulkItem], Field(min_length=1)]


class HitlAnswer(Frozen):
    """The answer to a form that a chat was shown."""

    request_id: Id
    session_id: Id
    """The thread."""
    action: Literal["approve", "edit", "reject"]
    data: dict[str, Any] | None = None


class MemoryEdit(Frozen):
    """What is remembered from now on, all of it."""

    data: dict[str, Any]
    told_at: Time | None = None
    """The `edited_at` that the caller saw, else the `answered_at`; a later change refuses the edit."""


class ChatTurn(Frozen):
    """What `useChat` sends: of the messages only the newest counts, the others are on the server."""

    id: Id
    messages: Annotated[list[Any], Field(min_length=1)]
    trigger: Literal["submit-message", "regenerate-message"] = "submit-message"
    message_id: str | None = Field(default=None, alias="messageId")
    agent: Name | None = None
    """By default the thread's agent, else the only one that accepts messages."""


class Resume(Frozen):
    """What AG-UI says to one interrupt; resolved without a payload leaves it open."""

    interrupt_id: Name = Field(alias="interruptId")
    status: Literal["resolved", "cancelled"]
    payload: Any = None
    metadata: dict[str, Any] | None = None


class AguiTurn(Frozen):
    """AG-UI's input of a run: of the messages only the newest counts, the others are on the server."""

    thread_id: Id = Field(alias="threadId")
    run_id: Name = Field(alias="runId")
    messages: list[Any] = []
    resume: list[Resume] | None = None
    forwarded_props: dict[str, Any] = Field(default={}, alias="forwardedProps")
    """The input of an agent that accepts no messages."""


class SignIn(Frozen):
    """The token or the code of a one-use link, to exchange for a cookie."""

    token: str
    replace: StrictBool = False
    """True to replace the session of another person."""


def _public_request() -> type[BaseModel]:
    fields: dict[str, Any] = {
        name: (field.annotation, field) for name, field in request.Request.model_fields.items() if name not in PRIVATE
    }
    always = ConfigDict(json_schema_serialization_defaults_required=True)
    return create_model("Request", __doc__="One question and where it stands.", __config__=always, **fields)


Request = _public_request()


class RequestPage(BaseModel):
    """Requests, newest first."""

    items: list[Request]  # type: ignore[valid-type]
    next: str | None


class Count(BaseModel):
    """How many there are, counted up to 999."""

    count: int
    more: bool
    """True if the actual count is higher."""


class Counts(BaseModel):
    """How many requests the caller may see."""

    pending: Count
    mine: Count
    """Pending, and assigned to the caller or claimed by them."""
    ended: Count | None = None
    """Ended since the requested time; absent if none was requested."""


class Winner(BaseModel):
    """The answer that came first."""

    decision: Decision
    responder: str
    at: datetime


class FieldProblem(BaseModel):
    """One thing wrong with one field."""

    field: str
    message: str


class Problem(BaseModel):
    """Why a call was refused (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    errors: list[FieldProblem] | None = None
    state: request.Status | None = None
    """The final status of the request."""
    winner: Winner | None = None
    claimed_by: str | None = None


class BulkOutcome(BaseModel):
    """What became of one answer: its status, with the request or the problem."""

    id: str | None
    status: int
    request: Request | None = None  # type: ignore[valid-type]
    problem: Problem | None = None


class BulkResult(BaseModel):
    """What became of each answer, in the order given."""

    items: list[BulkOutcome]
    next: None


class HitlResult(BaseModel):
    """What became of an answer to a form."""

    success: Literal[True]
    next_action: Literal["continue", "complete"]
    """`continue` if a run continues with the answer."""
    message: str


class Agent(BaseModel):
    """An agent that can be run."""

    name: str
    title: str
    description: str
    input_schema: dict[str, Any]
    images: bool
    """True if a message may contain images."""


class AgentPage(BaseModel):
    """The agents."""

    items: list[Agent]
    next: None


class RunStarted(BaseModel):
    """A run that goes on in the background."""

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


class Thread(ThreadSummary):
    """A conversation with an agent, and what it waits for."""

    pending: list[Request]  # type: ignore[valid-type]
    traceback: str | None = Field(default=None, description="For admins only")


class ThreadPage(BaseModel):
    """Threads, newest first."""

    items: list[ThreadSummary]
    next: str | None


class TroublePage(BaseModel):
    """Runs that cannot go on by themselves: failed threads first, then stranded requests."""

    items: list[Trouble]
    next: str | None


class Memory(BaseModel):
    """What the caller told in an approved answer, for their later threads."""

    id: str
    """The id of the request that asked."""
    category: str
    question: str
    answer: dict[str, Any]
    """The answer after its last edit."""
    form: Form | None
    data_schema: dict[str, Any] | None = Field(alias="schema")
    answered_at: datetime
    edited_at: datetime | None
    thread_id: str | None
    place: str
    """The `cursor` of the page after it."""


class MemoryPage(BaseModel):
    """Memories, the newest question first."""

    items: list[Memory]
    next: str | None


class AuditEvent(BaseModel):
    """One change of one record, chained to the one before."""

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


class AuditPage(BaseModel):
    """What happened, oldest first; `next` is the `after` of the page that follows."""

    items: list[AuditEvent]
    next: str | None


class DeliveryPage(BaseModel):
    """The deliveries of a request, oldest first."""

    items: list[Delivery]
    next: None


class FeedEvent(BaseModel):
    """The data of one server-sent event of the feed."""

    type: str
    position: str
    at: datetime
    actor: str
    request: Request | None = None  # type: ignore[valid-type]
    gone: str | None = None
    """In place of `request`: the id of a reassigned request that the reader may no longer read."""


class ChatRun(BaseModel):
    """One run of a chat: one message of the agent, however often it paused."""

    id: str
    """The id of the message."""
    messages: list[dict[str, Any]]
    """The user messages that began it, as messages of the AI SDK."""
    parts: list[dict[str, Any]]
    """The agent's message in the format of its stream, without `finish`."""


class Chat(BaseModel):
    """What was said in a thread so far, a page of it: the newest first of pages, within a page as it was said."""

    id: str
    agent: str
    runs: list[ChatRun]
    next: str | None


class Session(BaseModel):
    """Who is signed in."""

    name: str
    role: Role
    tenant: str
    groups: list[str]


class Ways(BaseModel):
    """How people can sign in besides by a token."""

    oidc: bool
    """True if `GET /v1/session/oidc` leads to a provider."""


class Info(BaseModel):
    """What runs here."""

    scripted: bool
    model: str | None
    version: str


class Health(BaseModel):
    """How the server is."""

    status: Literal["ok", "ready"]
    store: str | None = None
    durability: str | None = None
    """The durability of an acknowledged change, if the store has such a setting."""


INPUTS: tuple[type[BaseModel], ...] = (
    Ask, Answer, BulkAnswer, Cancel, Reassign, HitlAnswer, NewRun, ChatTurn, AguiTurn, Operation, MemoryEdit, SignIn,
    Sweep, Upload)  # fmt: skip
OUTPUTS: tuple[type[BaseModel], ...] = (
    Request, RequestPage, Counts, BulkResult, HitlResult, Problem, AgentPage, RunStarted, Thread, ThreadPage,
    TroublePage, AuditPage, Erasure, Delivery, DeliveryPage, FeedEvent, Chat, Memory, MemoryPage, Session, Ways,
    Info, Health, AttachedFile,
)  # fmt: skip
