"""Ringi: an agent stops, asks a person, and continues minutes or months later, on any machine."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ringi.base.extras import lazy_exports

if TYPE_CHECKING:
    from ringi import sync
    from ringi.client.client import Client
    from ringi.client.transport import HttpError
    from ringi.connect import open
    from ringi.domain.ask import Action, Answer, Ask, AskOptions, Button, Response
    from ringi.domain.conditions import Condition
    from ringi.domain.display import Code, Diff, Image, Link, Table
    from ringi.domain.events import Webhook
    from ringi.domain.memories import Memory
    from ringi.domain.record import Event, Query
    from ringi.domain.request import Request
    from ringi.errors import (
        AgentServiceError,
        ClaimedError,
        ClosedError,
        ConflictError,
        DefinitionError,
        DifferentAskError,
        DigestMismatchError,
        FenceError,
        FieldError,
        ForbiddenError,
        FreshSignInError,
        HeldError,
        InvalidError,
        JobNotDueError,
        LegalHoldError,
        LimitError,
        LostReplyError,
        MissingExtraError,
        NotAuthorizedError,
        NotFinishedError,
        NotFoundError,
        OutageError,
        PausedError,
        PendingError,
        RequestEndedError,
        RingiError,
        SettingError,
        SignatureError,
        ThreadBusyError,
        UnavailableError,
        UndecidedError,
        UnderReviewError,
        UnreachableError,
        UnreadableError,
        UnsupportedError,
        WaitTimeoutError,
    )
    from ringi.forms.field_parts import AttachedFile
    from ringi.forms.fields import (
        Attachment,
        Boolean,
        Checkbox,
        Date,
        DateTime,
        MultiSelect,
        Number,
        Radio,
        Select,
        Slider,
        Text,
        TextArea,
    )
    from ringi.forms.form import Form
    from ringi.inbox.api import InboxAPI
    from ringi.inbox.inbox import Inbox, Limits
    from ringi.integrations.functions import gate, requires_approval
    from ringi.integrations.langchain.approval import Approval
    from ringi.policy.rules import AutoApproval, Policy, Rule, ToolCard
    from ringi.privacy.candidates import Erasure
    from ringi.runs.agent import Agent
    from ringi.runs.context import idempotency_key

__all__ = [
    "Action",
    "Agent",
    "AgentServiceError",
    "Answer",
    "Approval",
    "Ask",
    "AskOptions",
    "AttachedFile",
    "Attachment",
    "AutoApproval",
    "Boolean",
    "Button",
    "Checkbox",
    "ClaimedError",
    "Client",
    "ClosedError",
    "Code",
    "Condition",
    "ConflictError",
    "Date",
    "DateTime",
    "DefinitionError",
    "Diff",
    "DifferentAskError",
    "DigestMismatchError",
    "Erasure",
    "Event",
    "FenceError",
    "FieldError",
    "ForbiddenError",
    "Form",
    "FreshSignInError",
    "HeldError",
    "HttpError",
    "Image",
    "Inbox",
    "InboxAPI",
    "InvalidError",
    "JobNotDueError",
    "LegalHoldError",
    "LimitError",
    "Limits",
    "Link",
    "LostReplyError",
    "Memory",
    "MissingExtraError",
    "MultiSelect",
    "NotAuthorizedError",
    "NotFinishedError",
    "NotFoundError",
    "Number",
    "OutageError",
    "PausedError",
    "PendingError",
    "Policy",
    "Query",
    "Radio",
    "Request",
    "RequestEndedError",
    "Response",
    "RingiError",
    "Rule",
    "Select",
    "SettingError",
    "SignatureError",
    "Slider",
    "Table",
    "Text",
    "TextArea",
    "ThreadBusyError",
    "ToolCard",
    "UnavailableError",
    "UndecidedError",
    "UnderReviewError",
    "UnreachableError",
    "UnreadableError",
    "UnsupportedError",
    "WaitTimeoutError",
    "Webhook",
    "gate",
    "idempotency_key",
    "open",
    "requires_approval",
    "sync",
]

# Each program imports only what it uses: the command of a hook starts once for each call of a tool.
ROOMS = [
    "backends",
    "base",
    "client",
    "connect",
    "contracts",
    "domain",
    "errors",
    "forms",
    "inbox",
    "policy",
    "privacy",
    "runs",
    "sync",
]
_export = lazy_exports(
    __name__,
    {
        "client.client": "Client",
        "client.transport": "HttpError",
        "connect": "open",
        "domain.ask": "Action Answer Ask AskOptions Button Response",
        "domain.conditions": "Condition",
        "domain.display": "Code Diff Image Link Table",
        "domain.memories": "Memory",
        "domain.record": "Event Query",
        "domain.request": "Request",
        "domain.events": "Webhook",
        "errors": (
            "AgentServiceError ClaimedError ClosedError ConflictError DefinitionError DifferentAskError "
            "DigestMismatchError FenceError FieldError ForbiddenError FreshSignInError HeldError "
            "InvalidError JobNotDueError LegalHoldError LimitError LostReplyError MissingExtraError "
            "NotAuthorizedError NotFinishedError NotFoundError OutageError PausedError PendingError "
            "RequestEndedError RingiError SettingError SignatureError ThreadBusyError UnavailableError "
            "UndecidedError UnderReviewError UnreachableError UnreadableError UnsupportedError WaitTimeoutError"
        ),
        "forms.field_parts": "AttachedFile",
        "forms.fields": (
            "Attachment Boolean Checkbox Date DateTime MultiSelect Number Radio Select Slider Text TextArea"
        ),
        "forms.form": "Form",
        "inbox.api": "InboxAPI",
        "inbox.inbox": "Inbox Limits",
        "integrations.functions": "gate requires_approval",
        "integrations.langchain.approval": "Approval",
        "policy.rules": "AutoApproval Policy Rule ToolCard",
        "privacy.candidates": "Erasure",
        "runs.agent": "Agent",
        "runs.context": "idempotency_key",
    },
)


VERBS = {name: f"{name}(…)" for name in ("ask", "cancel", "find", "get", "respond", "wait")} | {
    decision: f'respond(request, "{decision}", …)' for decision in ("approve", "reject")
}
"""What somebody expects here, and the call of an inbox that does it."""


def __getattr__(name: str) -> Any:
    if name in VERBS:
        example = f"async with ringi.open() as inbox: await inbox.{VERBS[name]}"
        raise AttributeError(f"module 'ringi' has no attribute {name!r}: open an inbox: `{example}`")
    return import_module(f"{__name__}.{name}") if name in ROOMS else _export(name)
