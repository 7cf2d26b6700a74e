"""Requests as JSON for programs and as text for people."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from difflib import unified_diff
from itertools import islice
from typing import Any, Literal, NamedTuple

from ringi.base.texts import reason_text, translate_sentences
from ringi.cli.format.output import (
    escape_hidden_characters,
    escape_hidden_in_lines,
    json_value_for_people,
    mark_mixed_alphabets,
    value_for_people,
    visible_line,
    visible_lines,
)
from ringi.cli.texts import cli_text, cli_text_or, environment_language
from ringi.domain.ask import Decision, Response
from ringi.domain.display import KINDS, Block, Code, Diff, Link, Table, display_block_summary
from ringi.domain.record import AGENT, GRANT, POLICY, Event
from ringi.domain.request import Request
from ringi.domain.request_data import CARD
from ringi.domain.voting import Vote
from ringi.policy.rules import OTHERWISE

MAX_DIFF_LINES = 2_000
"""Maximum lines of both texts of a diff together."""
DATA_OPTION = """--data '{"answer": …}'"""
SOON = 0.2
"""The part of the time to a deadline in which it is urgent."""
CURRENCY = re.compile("[A-Z]{3}")
CURRENCY_DIGITS = {
    0: "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF",
    3: "BHD IQD JOD KWD LYD OMR TND",
}
"""The currencies of ISO 4217 that have not two digits after the point."""


class TextSection(NamedTuple):
    """A part of a request as text."""

    source: Literal["action", "display", "agent"]
    """What will run, the agent's display blocks, or other text of the agent."""
    title: str
    lines: list[str]


def request_as_public_json(request: Request) -> Any:
    """Return a request as the API returns it."""
    from ringi.server.serialize import request_json

    return json.loads(request_json(request))


def request_line(request: Request) -> str:
    """Return the id, the status and the decision of a request in one line for scripts."""
    response = request.response
    status = cli_text(f"status.{request.status}")
    if not response:
        return "  ".join(part for part in (request.id, status, *voting_text(request)) if part)
    decision, name = cli_text(f"decision.{response.decision}"), escape_hidden_characters(response.responder)
    decided = f"{status}{cli_text('line.decided', decision=decision, name=name)}"
    return "  ".join(filter(None, [request.id, decided, ended_check_text(request)]))


def title_of_request(request: Request) -> str:
    """Return the title of a request; if it is one of Ringi's own sentences, in the language of the reader."""
    return visible_line(_own_words(request, "title", request.title))


def decision_name(request: Request) -> str:
    """Return the name of the decision, or the status if there is none."""
    if not request.response:
        return cli_text(f"status.{request.status}")
    return decided_text(request, request.response.decision)


def decided_text(request: Request, decision: Decision) -> str:
    """Return the text for a decision about a request."""
    return cli_text(f"decided{decision_text_suffix(request)}.{decision}")


def decision_text_suffix(request: Request) -> str:
    """Return the suffix of the texts for a request's decisions: forms and the finish gate have their own."""
    if request.kind == "finish":
        return "_finish"
    # Where an action waits, the answer is not only data.
    return "_form" if request.kind == "form" and not request.action else ""


def request_end_text(request: Request, events: Sequence[Event] = ()) -> str:
    """Return how a request ended, by whom, when and with which effect; the status if it is open."""
    return " · ".join(filter(None, [_ending(request, events), ended_check_text(request)]))


def _ending(request: Request, events: Sequence[Event]) -> str:
    if response := request.response:
        at = local_time_text(response.at)
        text = cli_text("ended.decided", what=decision_name(request), name=_deciders(request, response), at=at)
        notes: list[str] = []
        if response.override:
            notes.append(cli_text("overridden", reason=escape_hidden_characters(response.override)))
        if request.receipt:
            notes.append(cli_text(f"outcome.{request.receipt.outcome}"))
        return f"{text} ({'; '.join(notes)})" if notes else text
    reason = escape_hidden_characters(reason_text(request.reason or "", environment_language()))
    last = next((event for event in reversed(events) if event.type == f"request.{request.status}"), None)
    if last is None or not request.is_final:
        return f"{decision_name(request)}: {reason}" if reason else decision_name(request)
    has_fallback = request.fallback is not None and request.status == "expired"
    detail = "_fallback" if has_fallback else "_because" if reason else ""
    values = {"name": actor_text(last.actor), "reason": reason, "value": json_value_for_people(request.fallback)}
    return cli_text(f"ended.{request.status}{detail}", at=local_time_text(last.at), **values)


def _deciders(request: Request, response: Response) -> str:
    """Return the names of all who decided, with those for whom deputies did."""
    votes = [vote for vote in request.votes if vote.authorised_digest == response.authorised_digest]
    return cli_text("and").join(map(_voter, votes if votes and response.voters else [response]))


def actor_text(name: str) -> str:
    """Return the name of a person, a program or a rule for display."""
    if name.startswith(f"{POLICY}{GRANT}"):
        return cli_text("earlier_approval", id=escape_hidden_characters(name.removeprefix(f"{POLICY}{GRANT}")))
    if not name.startswith(POLICY):
        return cli_text_or(f"actor.{name}", escape_hidden_characters(name))
    rule = name.removeprefix(POLICY)
    if rule == OTHERWISE:
        return cli_text("rule.default")
    # A rule without a name is known by its position.
    if position := re.fullmatch(r"rules\[(\d{1,9})\]", rule):
        return cli_text("rule.number", number=int(position[1]) + 1)
    return cli_text("rule", name=escape_hidden_characters(rule))


def local_time_text(at: datetime) -> str:
    """Return a time in the local time zone, with the day unless it is today."""
    here = at.astimezone()
    return f"{here:%H:%M}" if here.date() == datetime.now().astimezone().date() else f"{here:%Y-%m-%d %H:%M}"


def age_text(since: datetime, now: datetime) -> str:
    """Return the time since a moment in the largest unit: 12 s, 5 min, 3 h, 2 d."""
    seconds = max(0, int((now - since).total_seconds()))
    units = ((86_400, "d"), (3_600, "h"), (60, "min"))
    return next((f"{seconds // size} {name}" for size, name in units if seconds >= size), f"{seconds} s")


def request_about_line(request: Request, now: datetime) -> str:
    """Return the agent, the tool, the declared amount or target, the age and what is at stake, in one line."""
    card = request.card
    amount = quantity_with_unit(card, "amount") if "amount" in card else ""
    target = json_value_for_people(card["target"]) if "target" in card and not amount else ""
    agent = escape_hidden_characters(request.agent or asking_agent_text(request))
    tool = escape_hidden_characters(request.action.name) if request.action else ""
    stake = cli_text_or(f"tier.{request.tier}", "")
    return " · ".join(filter(None, (agent, tool, amount or target, age_text(request.created_at, now), stake)))


def asking_agent_text(request: Request) -> str:
    """Return the agent that waits for the answer, else the client that asked."""
    return request.continuation.target if request.continuation else (request.asked_by or "").removeprefix(AGENT)


def duration_text(seconds: float) -> str:
    """Return a duration in readable units: 3:41, 2:05:00, 3 d."""
    minutes, rest = divmod(max(0, int(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    if hours >= 48:
        return f"{hours // 24} d"
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def deadline_text(request: Request, now: datetime) -> tuple[str, bool]:
    """Return the time to the deadline, and whether it is urgent."""
    until, name = request.expires_at or request.due_at, "expires" if request.expires_at else "due"
    if request.is_final or not until:
        return "", False
    left = (until - now).total_seconds()
    if left < 0:
        return cli_text(f"{name}_passed"), True
    is_near = left < (until - request.created_at).total_seconds() * SOON
    return cli_text(f"{name}_in", time=duration_text(left)), is_near


def voting_text(request: Request) -> list[str]:
    """Return whether nobody can answer, the held answer, who has voted, the missing votes, and the next escalation."""
    if request.is_final:
        return []
    parts = [cli_text("unanswerable")] if request.unanswerable else []
    parts += [held_answer_text(request), *(_vote(vote) for vote in request.votes)]
    stages: list[str] = []
    for stage in request.missing or ():
        names = cli_text("or").join(map(escape_hidden_characters, stage.groups))
        stages.append(cli_text("votes_of" if stage.groups else "votes", count=stage.count, names=names))
    if stages:
        parts.append(cli_text("votes_missing", stages=cli_text("then").join(stages)))
    for step in request.escalation[request.escalated : request.escalated + 1]:
        names = ", ".join(escape_hidden_characters(name) for name in step.to)
        at = local_time_text(request.created_at + timedelta(seconds=step.after))
        parts.append(cli_text("escalates", names=names, at=at))
    return [part for part in parts if part]


def held_answer_text(request: Request) -> str:
    """Return who has just answered, and when it takes effect; empty if no answer is held."""
    if not (own := request.held):
        return ""
    what = decided_text(request, own.decision)
    return cli_text("held", what=what, name=_voter(own), at=f"{own.until.astimezone():%H:%M:%S}")


def _voter(vote: Vote | Response) -> str:
    name = actor_text(vote.responder)
    return cli_text("deputy", name=name, person=escape_hidden_characters(vote.stands_for)) if vote.stands_for else name


def _vote(vote: Vote) -> str:
    text = cli_text("voted", what=cli_text(f"agreed.{vote.decision}"), name=_voter(vote), at=local_time_text(vote.at))
    return f"{text}: {json_value_for_people(vote.args)}" if vote.args is not None else text


def claim_text(request: Request, now: datetime) -> str:
    """Return who has claimed a request; empty if nobody has."""
    is_claimed = request.claimed_until and request.claimed_until > now and not request.is_final
    return cli_text("claimed_by", name=escape_hidden_characters(request.claimed_by or "")) if is_claimed else ""


def request_origin_text(request: Request) -> list[str]:
    """Return who asked when, for whom, and with which priority."""
    at, people = local_time_text(request.created_at), [request.assignee, *request.groups]
    names = ", ".join(escape_hidden_characters(name) for name in people if name)
    return [
        cli_text("asked_by" if request.asked_by else "asked", at=at, name=actor_text(request.asked_by or "")),
        cli_text("meant_for", names=names) if names else "",
        cli_text(f"priority.{request.priority or 'normal'}"),
        cli_text(f"tier.{request.tier}") if request.tier in ("high", "irreversible") else "",
    ]


def request_text_sections(request: Request) -> Iterator[TextSection]:
    """Yield the action first, then what the agent says about it."""
    # A declared card is part of the facts; another one is the agent's own text.
    hidden: tuple[str, ...] = (CARD,) if request.card else ()
    if request.kind == "finish":
        hidden = ("task", "summary")
        named = {cli_text(name): request.context[name] for name in hidden if request.context.get(name)}
        facts = [f"{name}  {line}" for name, value in named.items() for line in visible_lines(str(value))]
        yield TextSection("action", cli_text("finish"), facts)
    if request.action:
        args = [f"  {line}" for line in values_text(request.action.args)] or [cli_text("no_arguments")]
        title = cli_text("facts_ended" if request.is_final else "facts")
        yield TextSection("action", title, [effect_line(request), visible_line(request.action.name), *args])
    for block in request.display or ():
        yield TextSection("display", cli_text("display"), display_block_lines(block))
    if request.description:
        description = _own_words(request, "description", request.description)
        yield TextSection("agent", cli_text("agent_words"), visible_lines(description))
    if context := {name: value for name, value in request.context.items() if name not in hidden}:
        if isinstance(reason := context.get("reason"), str):
            context["reason"] = _own_words(request, "reason", reason)
        yield TextSection("agent", cli_text("context"), values_text(context))


def ended_check_text(request: Request) -> str:
    """Return whether an ended check was noticed, and what was wrong; empty if the request was none."""
    if not (result := request.check_result):
        return ""
    outcome = {None: "unanswered", True: "caught", False: "missed"}[result.caught]
    return cli_text("check.was", result=cli_text(f"check.{outcome}"), because=escape_hidden_characters(result.because))


def request_history_text(events: Sequence[Event]) -> list[str]:
    """Return a line for each event of a request."""
    return [f"{local_time_text(event.at)}  {_step_text(event)}" for event in events if event.record == Request.record]


def _step_text(event: Event) -> str:
    name = event.type.partition(".")[2]
    return cli_text("step", what=cli_text_or(f"event.{name}", name), name=actor_text(event.actor))


def full_request_text(request: Request, events: Sequence[Event]) -> str:
    """Return a request as text: first the action, then the form and the answer, then the agent's words."""
    parts = list(request_text_sections(request))
    return "\n".join(
        [
            title_of_request(request),
            *_standing(request, events),
            *(line for part in parts if part.source == "action" for line in _printed(part)),
            *_form(request),
            *(line for part in parts if part.source != "action" for line in _printed(part)),
            *("", cli_text("history"), *(f"  {line}" for line in request_history_text(events))),
        ]
    )


def display_block_lines(block: Block) -> list[str]:
    """Return a display block as lines of text."""
    names = {kind: cli_text(f"block.{kind}") for kind in KINDS}
    lines = [escape_hidden_characters(display_block_summary(block, names))]
    match block:
        case Table(columns=columns, rows=rows):
            cells = [["" if cell is None else value_for_people(cell) for cell in row] for row in rows]
            cells = [[*map(escape_hidden_characters, columns)], *cells]
            return lines + ["  " + " | ".join(cell.replace("\n", " ") for cell in row) for row in cells]
        case Code(text=text):
            return [*lines, *_indented(visible_lines(text))] if text else lines
        case Diff(before=before, after=after):
            changes = _changes(escape_hidden_in_lines(before), escape_hidden_in_lines(after))
            return [*lines, *_indented(map(mark_mixed_alphabets, changes))]
        case Link(url=url):
            return [*lines, f"  {visible_line(url)}"]
    return lines


def values_text(values: Mapping[str, object]) -> list[str]:
    """Return names and values; further lines of a value are indented."""
    texts = (f"{escape_hidden_characters(name)}: {json_value_for_people(value)}" for name, value in values.items())
    return [line for text in texts for line in text.replace("\n", "\n  ").split("\n")]


def _own_words(request: Request, part: Literal["title", "description", "reason"], text: str) -> str:
    return translate_sentences(text, getattr(request.wording, part, ()), environment_language())


def _changes(before: str, after: str) -> Iterator[str]:
    old, new = before.split("\n"), after.split("\n")
    if len(old) + len(new) > MAX_DIFF_LINES:
        # The time of a diff grows with the square of the lines, and the agent chose their number.
        return iter([*(f"-{line}" for line in old), *(f"+{line}" for line in new)])
    return islice(unified_diff(old, new, lineterm=""), 2, None)


def _standing(request: Request, events: Sequence[Event]) -> Iterator[str]:
    parts = [cli_text(f"kind.{request.kind}"), request_end_text(request, events), *request_origin_text(request)]
    yield " · ".join(part for part in parts if part)
    yield from voting_text(request)
    rows = {"id": request.id, "digest": request.digest, "thread": request.thread_id}
    if not request.is_final:
        dates = {"due": request.due_at, "expires": request.expires_at}
        rows |= {name: f"{at.astimezone():%Y-%m-%d %H:%M:%S %Z}" for name, at in dates.items() if at}
    if request.erased:
        rows["erased"] = cli_text("step", what=local_time_text(request.erased.at), name=actor_text(request.erased.by))
    rows["attention"] = request.attention and reason_text(request.attention, environment_language())
    if not request.is_final:
        rows["answer"] = ", ".join(request.allowed)
    yield from (
        f"{cli_text(f'label.{name}')}  {escape_hidden_characters(value)}" for name, value in rows.items() if value
    )


def _printed(section: TextSection) -> list[str]:
    mark = {"action": "  ", "display": "", "agent": "  | "}[section.source]
    return ["", section.title, *(f"{mark}{line}" for line in section.lines)]


def _form(request: Request) -> Iterator[str]:
    if request.form:
        yield from ("", cli_text("form"))
        for field in request.form.fields:
            choices = ", ".join(json_value_for_people(option.value) for option in getattr(field, "options", ()))
            options = f": {choices}" if choices else ""
            needed = f", {cli_text('required')}" if field.required else ""
            yield f"  {field.name}  {field.type}{needed}  {escape_hidden_characters(field.label)}{options}"
    if request.data_schema is not None:
        yield from ("", cli_text("form"), *_indented(json_value_for_people(request.data_schema).split("\n")))
    if (schema := request.answer_schema) is not None:
        yield from ("", cli_text("answers"))
        for decision, button in request.actions.items():
            if button.value is not None:
                yield f"  {cli_text('sends', decision=decision, value=json_value_for_people(button.value))}"
        key = "sends_fitting" if schema else "sends_any"
        yield f"  {cli_text(key, option=DATA_OPTION, schema=json_value_for_people(schema))}"
    if response := request.response:
        values = [*values_text(response.data or {}), *values_text(response.args or {})]
        yield from ("", cli_text("answer"), *_indented(values))
        if response.message:
            yield from _indented(escape_hidden_in_lines(response.message).split("\n"))


def _indented(lines: Iterable[str]) -> Iterator[str]:
    return (f"  {line}" for line in lines)


def effect_line(request: Request) -> str:
    """Return the declared effect, amount, target and whether it can be undone; a sentence if nothing is declared."""
    card = request.card
    if not card:
        return cli_text("effect.none")
    reversible = card.get("reversible")
    parts = [visible_line(card["effect"])] if "effect" in card else []
    if "amount" in card:
        parts.append(quantity_with_unit(card, "amount", value_for_people(card["amount"])))
    if "target" in card:
        name = escape_hidden_characters((card.get("arguments") or {}).get("target", ""))
        target = cli_text("effect.target", name=name, value=value_for_people(card["target"]))
        parts.append(" ".join(target.split()))
    if isinstance(reversible, str):
        parts.append(cli_text("effect.undo_how", how=escape_hidden_characters(reversible)))
    elif reversible is not None:
        parts.append(cli_text("effect.undo" if reversible else "effect.no_undo"))
    if card.get("above_limit"):
        parts.append(cli_text("effect.above", limit=quantity_with_unit(card, "limit")))
    return " · ".join(parts)


def quantity_with_unit(card: dict[str, Any], name: str, text: str | None = None) -> str:
    """Return a value of a card with its unit; a number of a currency has at least the digits of the currency.

    Args:
        card: The card.
        name: The name of the value, such as `amount`.
        text: The text of a value that is no number; None for its JSON.
    """
    value, unit = card[name], card.get("unit") or ""
    written = json_value_for_people(value) if text is None else text
    if isinstance(value, int | float) and not isinstance(value, bool):
        number = Decimal(str(value))
        whole, _, fraction = f"{number:f}".partition(".")
        fraction = fraction.rstrip("0")
        digits = next((digits for digits, codes in CURRENCY_DIGITS.items() if unit in codes), 2)
        digits = digits if CURRENCY.fullmatch(unit) else 0
        written = f"{whole}.{fraction:0<{digits}}" if fraction else whole
    return f"{written} {escape_hidden_characters(unit)}".strip()
