"""The parts of the reference that are generated from the code, as Markdown."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from inspect import getdoc
from itertools import groupby
from pathlib import Path
from typing import Any

from pydantic import BaseModel

import ringi
from ringi import errors
from ringi.base.extras import MissingExtraError, UnsupportedError
from ringi.client.transport import HttpError
from ringi.connect import open_backend, open_inbox_on_backend
from ringi.delivery.deliveries import Deliveries
from ringi.delivery.settings import DeliverySettings
from ringi.server import problems
from ringi.server.app import App
from ringi.server.auth.authenticator import MIN_SECRET_BYTES, Keys
from ringi.server.components import ServerComponents
from ringi.server.extension import built_in_protocols, installed_extensions
from ringi.server.settings import ServerSettings

Json = dict[str, Any]
GROUPS = {
    "requests": "Requests",
    "threads": "Threads",
    "chat": "Chat",
    "assistants": "Assistants",
    "engrammer": "Engrammers",
    "playbooks": "Playbooks",
    "people": "Deputies",
    "memories": "Memories",
    "operations": "Operations",
    "pauses": "Pauses",
    "statistics": "Statistics",
    "grants": "Grants",
    "suggestions": "Suggested rules",
    "checks": "Checks",
    "events": "Events",
    "trail": "Erasures",
    "deliveries": "Deliveries",
    "session": "The page's session",
    "health": "For those who run the server",
}
FIELDS: tuple[type[BaseModel], ...] = (
    *(ringi.Text, ringi.TextArea, ringi.Select, ringi.MultiSelect, ringi.Radio),
    *(ringi.Checkbox, ringi.Number, ringi.Slider, ringi.Date, ringi.DateTime, ringi.Boolean, ringi.Attachment),
)
REFUSALS = {
    # Of the server.
    "malformed": (400, "The call cannot be parsed."),
    "unauthenticated": (401, "The caller is not authenticated."),
    "sign_in": (401, "A sign-in at the provider failed."),
    "agent_session": (403, "An agent's token was used to sign in on the page, where only people decide."),
    "foreign_origin": (403, "A page of another site tried to write with this person's cookie."),
    "too_slow": (408, "A call was not sent within its deadline."),
    "signed_in": (409, "Another person is signed in on the page."),
    "not_newest": (409, "A client tried to continue from a message that is not the thread's newest."),
    "exists": (409, "The thread to be created already exists."),
    "not_served": (409, "The caller answers a request that was not served to them."),
    "too_large": (413, "The body exceeds the limit."),
    "media_type": (415, "The body is not JSON."),
    "headers_too_large": (431, "The address and the headers exceed the limit."),
    "host": (421, "The call names a host that this server does not serve."),
    "not_open": (503, "The application is mounted, but its lifespan was not entered."),
    "connections": (503, "This process has reached its maximum number of connections."),
    # Of assistants.
    "not_possible": (409, "The requested action is not possible now."),
    "uncleared": (409, "The request to clear a conversation's context has not been carried out."),
    # Of Engrammers.
    "unknown": (404, "The playbook has no such bullet."),
    "changed": (409, "A bullet was changed since the entry was made."),
    "gone": (409, "A retired bullet cannot be edited, merged or retired."),
    "standing": (409, "An active bullet cannot be restored."),
    "duplicate": (409, "An active bullet has the same text."),
    "budget": (409, "The playbook would exceed its token budget."),
    "consumed": (409, "A later version changed the same bullets, so this one cannot be undone."),
    "not_undoable": (409, "A version has no change to undo."),
    "applied": (409, "The answer to this request is already applied."),
    "nothing_waits": (409, "No insight awaits a decision of the caller."),
    "unseen": (409, "A caller approves insights that were not shown to them."),
    "left_out": (409, "A caller approves insights that need a decision of their own without naming them."),
    "stale": (409, "A person changes a bullet that was changed since they read it."),
    "notes_unreadable": (503, "A note source cannot be read."),
}
"""The codes of `RefusalError`, each with its status and meaning."""
LIMITS = {
    "minLength": "at least {} long",
    "maxLength": "at most {} long",
    "minItems": "at least {}",
    "maxItems": "at most {}",
    "minimum": "≥ {}",
    "exclusiveMinimum": "> {}",
    "maximum": "≤ {}",
    "pattern": "matches `{}`",
}
CODE_LINE = re.compile(r"^- `(\w+)`: (.+)$", re.M)
"""A code in the text of the class of an error, and what it means."""


def http_api() -> str:
    """Return every route and every schema, from the server's own description."""
    document = asyncio.run(description())
    calls = [(path, method, call) for path, of in document["paths"].items() for method, call in of.items()]
    calls.sort(key=lambda found: list(GROUPS).index(_group(found[2])))  # Fails for a group that has no title here.
    lines = []
    for group, members in groupby(calls, key=lambda found: _group(found[2])):
        lines += [f"## {GROUPS[group]}", ""]
        for path, method, call in members:
            lines += _call(path, method, call)
    lines += ["## Shapes", "", "The JSON that goes in and out. A name in a list of types leads to its own table.", ""]
    for name, schema in sorted(document["components"]["schemas"].items()):
        lines += _shape(name, schema)
    return "\n".join(lines)


async def description() -> Json:
    """Return the description of the whole API, with all applications."""
    async with open_backend("memory://") as backend, open_inbox_on_backend(backend) as inbox:
        keys = Keys("x" * MIN_SECRET_BYTES)
        deliveries = Deliveries(backend, inbox, DeliverySettings())
        components = ServerComponents(backend, inbox, None, keys, ServerSettings(), deliveries)
        return App(components, [*built_in_protocols(), *installed_extensions()]).api.openapi()


def _group(call: Json) -> str:
    return str(call["tags"][0])


def _call(path: str, method: str, call: Json) -> Iterator[str]:
    yield from (f"### {method.upper()} {path}", "")
    yield from (call.get("description") or f"{call['summary']}.", "")
    rows = [
        (f"`{p['name']}`", p["in"], _type(p["schema"]), p.get("description", "")) for p in call.get("parameters", [])
    ]
    yield from _table(("parameter", "in", "type", ""), rows)
    if body := call.get("requestBody"):
        yield from (f"Body: {_type(body['content']['application/json']['schema'])}", "")
    replies = [(code, reply) for code, reply in call["responses"].items() if code != "default"]
    yield from (f"Reply: {', '.join(_reply(code, reply) for code, reply in replies)}", "")


def _reply(code: str, reply: Json) -> str:
    for media, content in reply.get("content", {}).items():
        schema = content.get("schema", {})
        if media == "text/event-stream":
            of = _type(schema["x-event-data"]) if "x-event-data" in schema else schema.get("title", "AG-UI")
            return f"{code}, server-sent events of {of}"
        return f"{code}, {_type(schema) if media == 'application/json' else f'`{media}`'}"
    return code


def _shape(name: str, schema: Json) -> Iterator[str]:
    yield from (f"### Shape {name}", "")
    if described := schema.get("description"):
        yield from (_one_line(described), "")
    required = schema.get("required", [])
    rows = [
        (f"`{field}`", _type(of), _default(of, field in required), _one_line(of.get("description", "")))
        for field, of in schema.get("properties", {}).items()
    ]
    yield from _table(("field", "type", "if left out", ""), rows)


def _default(schema: Json, is_required: bool) -> str:
    if is_required:
        return "required"
    default = schema.get("x-default")
    return "" if default in (None, [], {}) else f"`{default}`"


def _type(schema: Json) -> str:
    if ref := schema.get("$ref"):
        name = ref.rpartition("/")[2]
        return f"[{name}](#shape-{name.lower()})"
    if options := schema.get("anyOf") or schema.get("oneOf"):
        return " or ".join(dict.fromkeys(_type(option) for option in options if option.get("type") != "null"))
    if "enum" in schema or "const" in schema:
        return " ".join(f"`{value}`" for value in schema.get("enum", [schema.get("const")]))
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    limits = [text.format(_cell(str(schema[name]))) for name, text in LIMITS.items() if name in schema]
    return ", ".join([schema.get("format") or schema.get("type") or "any JSON", *limits])


def command_line() -> str:
    """Return every command with its arguments and options, from typer's description."""
    typer = [str(Path(sys.executable).with_name("typer")), "ringi.cli.app", "utils", "docs", "--name", "ringi"]
    typer_docs = subprocess.run(typer, stdout=subprocess.PIPE, text=True, check=True).stdout
    # The page has its own title, and the list of commands truncates their descriptions.
    return (
        typer_docs[typer_docs.index("\n## ") :]
        .replace("**Usage**:\n\n", "")
        .replace("* `--help`: Show this message and exit.\n", "")
    )


def form_fields() -> str:
    """Return the fields of a form, each with its options besides its name."""
    common = set.intersection(*(set(field.model_fields) for field in FIELDS))
    rows = [(f"`{field.__name__}`", _first_line(field), ", ".join(_own(field, common))) for field in FIELDS]
    return "\n".join(_table(("field", "", "takes besides"), rows))


def _own(field: type[BaseModel], common: set[str]) -> list[str]:
    return [f"`{info.alias or name}`" for name, info in field.model_fields.items() if name not in common]


def error_classes() -> str:
    """Return the errors that a caller catches, with their codes."""
    codes = {kind: CODE_LINE.findall(getdoc(kind) or "") or [(kind.code, "")] for kind in errors_of_ringi()}
    rows = [
        (f"`{kind.__name__}`", _first_line(kind), ", ".join(f"`{code}`" for code, _ in codes[kind] if code))
        for kind in codes
    ]
    return "\n".join(_table(("error", "", "codes"), rows))


def errors_of_ringi() -> list[type[errors.RingiError]]:
    """Return the errors that `ringi` exports."""
    kinds = [*vars(errors).values(), HttpError]
    return [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, errors.RingiError)]


def problem_codes() -> str:
    """Return the codes of problem documents with their statuses and meanings."""
    meanings = {code: (problems.STATUSES[code], meaning) for code, meaning in meanings_by_code().items()}
    meanings |= REFUSALS | {problems.INTERNAL[1]: (problems.INTERNAL[0], "Something failed here; it was logged.")}
    rows = [(f"`{code}`", str(status), meaning) for code, (status, meaning) in meanings.items()]
    return "\n".join(_table(("code", "status", ""), sorted(rows, key=lambda row: (row[1], row[0]))))


def meanings_by_code() -> dict[str, str]:
    """Return what each code means: a line of its class, or the first line of a class with one code."""
    kinds: tuple[type[errors.RingiError], ...] = (*errors_of_ringi(), MissingExtraError, UnsupportedError)
    meanings = {kind.code: _first_line(kind) for kind in kinds if kind.code}
    for kind in errors_of_ringi():
        meanings |= {code: text[0].upper() + text[1:] for code, text in CODE_LINE.findall(getdoc(kind) or "")}
    return {code: meaning for code, meaning in meanings.items() if code in problems.STATUSES}


GENERATED: dict[str, Callable[[], str]] = {
    "http": http_api,
    "command line": command_line,
    "fields": form_fields,
    "errors": error_classes,
    "problems": problem_codes,
}
"""The content of a page for `<!-- generated: NAME -->`."""


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    listed = list(rows)
    if not listed:
        return
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in listed:
        yield "| " + " | ".join(row) + " |"
    yield ""


def _first_line(kind: type[object]) -> str:
    return _one_line((kind.__doc__ or "").partition("\n")[0])


def _one_line(text: str) -> str:
    return _cell(" ".join(text.split()))


def _cell(text: str) -> str:
    return text.replace("|", "&#124;")
