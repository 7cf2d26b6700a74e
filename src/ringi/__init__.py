"""Ringi: an agent stops, asks a person, and continues minutes or months later, on any machine."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ringi.base.extras import lazy_exports

if TYPE_CHECKING:
    from ringi import errors, sync
    from ringi.connect import open
    from ringi.domain.ask import Action, Response
    from ringi.domain.record import Event
    from ringi.domain.request import Request
    from ringi.domain.voting import Person
    from ringi.errors import RingiError
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
    from ringi.integrations.asking import ask
    from ringi.integrations.functions import gate
    from ringi.integrations.langchain.tool_gate import Approval
    from ringi.policy.rules import Policy, Rule
    from ringi.runs.agent import Agent
    from ringi.server.serve import serve

__all__ = [
    "Action",
    "Agent",
    "Approval",
    "Attachment",
    "Boolean",
    "Checkbox",
    "Date",
    "DateTime",
    "Event",
    "Form",
    "MultiSelect",
    "Number",
    "Person",
    "Policy",
    "Radio",
    "Request",
    "Response",
    "RingiError",
    "Rule",
    "Select",
    "Slider",
    "Text",
    "TextArea",
    "ask",
    "errors",
    "gate",
    "open",
    "serve",
    "sync",
]

# Each program imports only what it uses: the command of a hook starts once for each call of a tool.
ROOMS = [
    *("backends", "base", "client", "connect", "contracts", "domain", "errors", "forms", "inbox", "policy"),
    *("privacy", "runs", "sync"),
]
_export = lazy_exports(
    __name__,
    {
        "connect": "open",
        "domain.ask": "Action Response",
        "domain.record": "Event",
        "domain.request": "Request",
        "domain.voting": "Person",
        "errors": "RingiError",
        "forms.fields": (
            "Attachment Boolean Checkbox Date DateTime MultiSelect Number Radio Select Slider Text TextArea"
        ),
        "forms.form": "Form",
        "integrations.asking": "ask",
        "integrations.functions": "gate",
        "integrations.langchain.tool_gate": "Approval",
        "policy.rules": "Policy Rule",
        "runs.agent": "Agent",
        "server.serve": "serve",
    },
)

ELSEWHERE = {
    **{name: f"async with ringi.open() as inbox: await inbox.{name}(…)" for name in ("cancel", "find", "get", "wait")},
    **{
        name: f'async with ringi.open() as inbox: await inbox.respond(request, "{decision}", by="ann")'
        for name, decision in (("respond", "approve"), ("approve", "approve"), ("reject", "reject"))
    },
    **dict.fromkeys(("app", "create_app"), "from ringi.server import create_app"),
    "File": "ringi.Attachment",
    "Client": 'ringi.open("https://…", token=…)',
    "requires_approval": "@ringi.gate(policy)",
    "read_policy": "ringi.Policy.read(path)",
    "idempotency_key": "from ringi.runs import idempotency_key",
    "Query": 'inbox.find(status="pending", tool="refund")',
    **dict.fromkeys(("Inbox", "Limits", "Seen"), "from ringi.inbox import …"),
    **dict.fromkeys(("AutoApproval", "Condition", "ToolCard"), "from ringi.policy import …"),
    **dict.fromkeys(("Code", "Diff", "Image", "Link", "Table", "Button", "Webhook"), "from ringi.domain import …"),
}
"""What somebody expects here, and what to use."""


def __getattr__(name: str) -> Any:
    if name in ELSEWHERE:
        raise AttributeError(f"module 'ringi' has no attribute {name!r}: use `{ELSEWHERE[name]}`")
    if name in ROOMS:
        return import_module(f"{__name__}.{name}")
    if name != "RingiError" and name.endswith("Error") and hasattr(import_module(f"{__name__}.errors"), name):
        raise AttributeError(f"module 'ringi' has no attribute {name!r}: use `ringi.errors.{name}`")
    return _export(name)


def __dir__() -> list[str]:
    return [*__all__, *ROOMS]
