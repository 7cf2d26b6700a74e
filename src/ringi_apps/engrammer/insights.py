"""Insights, the operations that people decide on, and the proposals shown to them."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field

from ringi.base import StrictModel, utc_now
from ringi_apps.engrammer.entries import (
    MAX_BULLET_LENGTH,
    MAX_SCOPE_LENGTH,
    SECTIONS,
    Content,
    Entry,
    EntryMetadata,
    Evidence,
    EvidenceSource,
    InsightType,
)
from ringi_apps.engrammer.errors import PlaybookError, changed_bullet
from ringi_apps.engrammer.playbook import Playbook
from ringi_apps.engrammer.rendering import estimate_tokens, playbook_tokens, render_line, require_budget
from ringi_apps.engrammer.similarity import SimilarBullet, find_similar

OperationKind: TypeAlias = Literal["add", "edit", "merge", "retire"]
OTHERS = "others"
AnySection = Annotated[str, BeforeValidator(lambda name: name if name in SECTIONS else OTHERS)]
"""An unknown section from a model becomes `others`."""
MAX_ANSWER_LENGTH = 2_000


class AnswerFeedback(StrictModel):
    """Judgement of an answer; the source `self` means only the agent judged it."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)

    source: Literal["ground_truth", "environment", "user", "self"]
    verdict: Literal["right", "wrong", "unknown"]
    text: str = ""
    by: str | None = None


class QuoteClaim(StrictModel):
    """A quote and the source that an agent claims for it, not yet verified."""

    where: EvidenceSource
    ref: str | None = None
    quote: str


class PlaybookOperation(StrictModel):
    """A complete playbook operation that a person approves."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)

    op: OperationKind
    section: str
    text: str
    applies_when: str = ""
    """When the bullet applies; '' if always."""
    bullet: str | None = None
    """The bullet to edit or retire, or that remains after a merge."""
    sources: tuple[str, ...] = ()
    base: dict[str, str] = {}
    """Hash of each affected bullet as shown to the person."""


class Insight(StrictModel):
    """A proposal of an agent, learned from one run."""

    id: str
    type: InsightType
    section: AnySection = OTHERS
    text: str = Field(min_length=1, max_length=MAX_BULLET_LENGTH)
    applies_when: str | None = Field(default=None, exclude_if=lambda scope: scope is None)
    """When the bullet applies; '' if always, None for the scope of the bullet that it changes."""
    why: str = ""
    source_bullet_id: str | None = None
    op: OperationKind = "add"
    sources: tuple[str, ...] = ()
    proposed: str | None = None
    """The agent's original text, if a person edited it and it is proposed again."""
    evidence: tuple[Evidence, ...] = ()
    feedback: AnswerFeedback
    question: str = ""
    answer: Annotated[str, AfterValidator(lambda answer: answer[:MAX_ANSWER_LENGTH])] = ""
    thread_id: str
    run_id: str


class Trial(StrictModel):
    """Results of the test questions without and with a proposal."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)

    cases: int = 0
    right_before: int = 0
    right_after: int = 0
    wins: tuple[str, ...] = ()
    """Questions answered correctly only with the proposal."""
    losses: tuple[str, ...] = ()
    """Questions answered correctly only without the proposal."""
    failed: str | None = None
    """Error that prevented the evaluation."""


class InsightProposal(StrictModel):
    """An insight as shown to a person, with its operation, similar bullets and token cost."""

    insight: Insight
    operation: PlaybookOperation
    similar: tuple[SimilarBullet, ...] = ()
    tokens: int
    """Tokens that the playbook gains; negative if it shrinks."""
    room: int
    """Tokens of the budget left afterwards; negative if it does not fit."""
    before: str | None = None
    """Current text of the bullet that it changes."""
    playbook: str
    version: int
    renewed: str | None = None
    """Why it is proposed again."""
    trial: Trial | None = None
    """None if there was no evaluation."""


def insight_id(run_id: str, position: int) -> str:
    """Return the id of an insight from its run and position; the same on every retry."""
    return "i-" + hashlib.sha256(f"{run_id}\n{position}".encode()).hexdigest()[:16]


def build_proposal(
    insight: Insight, playbook: Playbook, budget: int, name: str, renewed: str | None = None
) -> InsightProposal | None:
    """Return the proposal of an insight for the current playbook, or None if nothing is left to propose.

    An edit of an inactive bullet becomes an add. Nothing is left of a merge of fewer than two active bullets, or of a
    retirement if one of its bullets is inactive.
    """
    operation = _build_operation(insight, playbook)
    if operation is None:
        return None
    after, changed = _size_with(operation, playbook), playbook.bullets.get(operation.bullet or "")
    others = (each for each in playbook.active if each.id not in replaced_bullets(operation))
    return InsightProposal(
        insight=insight,
        operation=operation,
        similar=find_similar(operation.text, others),
        tokens=after - playbook_tokens(playbook),
        room=budget - after,
        before=changed.content.text if changed else None,
        playbook=name,
        version=playbook.version,
        renewed=renewed,
    )


def refusal_code(operation: PlaybookOperation, playbook: Playbook, budget: int) -> str | None:
    """Return the code that explains why an operation cannot be applied, or None if it can.

    `changed`: a bullet differs from what was shown; `gone`: it is retired; `duplicate`: an active bullet has the same
    text; `budget`: the playbook would exceed its budget.
    """
    try:
        check_operation(operation, playbook, budget)
    except PlaybookError as error:
        return error.code
    return None


def check_operation(operation: PlaybookOperation, playbook: Playbook, budget: int) -> None:
    """Raise the `PlaybookError` whose code `refusal_code` returns."""
    playbook.bullets_after(_build_entry(operation, playbook, {}), utc_now())
    require_budget(_size_with(operation, playbook), playbook, budget)


def approved_entry(operation: PlaybookOperation, insight: Insight, request_id: str | None, playbook: Playbook) -> Entry:
    """Return the entry of an approved operation, or raise a `PlaybookError` if it cannot be applied.

    The entry has exactly the text of the operation. If a person edited it, the entry also has the proposed text.
    """
    metadata: EntryMetadata = {
        **_metadata(insight, request_id),
        "proposed": _original_text(operation, insight, playbook),
    }
    return _build_entry(operation, playbook, metadata)


def rejection_entry(
    operation: PlaybookOperation,
    insight: Insight,
    request_id: str | None,
    playbook: Playbook,
) -> Entry:
    """Return the entry of a rejected operation.

    Bullets of a rejected merge are kept separate. A rejected retirement does not say which bullet is wrong, so the pair
    may be proposed again.
    """
    metadata = _metadata(insight, request_id)
    if operation.op == "merge" and not _is_stale(operation, playbook):
        return playbook.keep_apart_entry(operation.base, **metadata)
    bullets = tuple(each for each in (operation.bullet, *operation.sources) if each in playbook.bullets)
    return Entry(op="reject", refused=operation.op, text=operation.text, bullets=bullets, **metadata)


def operation_edit_schema(operation: PlaybookOperation) -> dict[str, Any]:
    """Return the JSON Schema for edits of an operation: only text, section and scope may change."""
    fixed: dict[str, Any] = {name: {"const": value} for name, value in operation.model_dump(mode="json").items()}
    text = {"type": "string", "minLength": 1, "maxLength": MAX_BULLET_LENGTH, "pattern": r"\S"}
    sections = list(dict.fromkeys((*SECTIONS, operation.section)))
    scope = {"type": "string", "maxLength": MAX_SCOPE_LENGTH}
    free = {} if operation.op == "retire" else {"text": text, "section": {"enum": sections}, "applies_when": scope}
    return {"type": "object", "properties": fixed | free, "required": [*fixed], "additionalProperties": False}


def verify_quotes(
    quotes: Iterable[QuoteClaim], sources: Mapping[tuple[EvidenceSource, str | None], str], thread_id: str, run_id: str
) -> tuple[Evidence, ...]:
    """Return the quotes that are found in their claimed source, with positions; drop the others.

    A quote must match its source character by character after both are normalized to NFC.
    """
    located = ((quote, _locate(quote, sources.get((quote.where, quote.ref)))) for quote in quotes)
    return tuple(
        Evidence(where=quote.where, ref=quote.ref, thread_id=thread_id, run_id=run_id, **place)
        for quote, place in located
        if place is not None
    )


def _locate(quote: QuoteClaim, source: str | None) -> dict[str, Any] | None:
    quoted = unicodedata.normalize("NFC", quote.quote)
    start = unicodedata.normalize("NFC", source or "").find(quoted)
    if start < 0 or not quoted.strip():
        return None
    return {"quote": quoted, "start": start, "end": start + len(quoted)}


def _build_operation(insight: Insight, playbook: Playbook) -> PlaybookOperation | None:
    """Return the operation of an insight for the current playbook, or None."""
    ids = dict.fromkeys(filter(None, (insight.source_bullet_id, *insight.sources)))
    active = [each for each in map(playbook.bullets.get, ids) if each and each.content.is_active]
    if insight.op == "add" or (insight.op == "edit" and not active):
        scope = insight.applies_when or ""
        return PlaybookOperation(op="add", section=insight.section, text=insight.text, applies_when=scope)
    if insight.op == "merge" and len(active) < 2:
        return None
    if insight.op == "retire" and (insight.source_bullet_id is None or len(active) < len(ids)):
        return None
    # Who retires a bullet because of another wants it to be as it was shown: else both may be gone.
    bullets = active[:1] if insight.op == "edit" else active
    keep = bullets[0]
    return PlaybookOperation(
        op=insight.op,
        section=keep.content.section,
        text=keep.content.text if insight.op == "retire" else insight.text,
        applies_when=keep.content.applies_when if insight.applies_when is None else insight.applies_when,
        bullet=keep.id,
        sources=tuple(each.id for each in bullets[1:]) if insight.op == "merge" else (),
        base={each.id: each.hash for each in bullets},
    )


def _build_entry(operation: PlaybookOperation, playbook: Playbook, metadata: EntryMetadata) -> Entry:
    for id, hash in operation.base.items():
        if playbook.active_bullet(id).hash != hash:
            raise changed_bullet(id)
    content = (operation.text, operation.section, operation.applies_when)
    return playbook.change_entry(operation.op, operation.bullet, operation.sources, *content, **metadata)


def _is_stale(operation: PlaybookOperation, playbook: Playbook) -> bool:
    bullets = {id: playbook.bullets[id] for id in operation.base if id in playbook.bullets}
    return any(id not in bullets or bullets[id].hash != hash for id, hash in operation.base.items())


def replaced_bullets(operation: PlaybookOperation) -> set[str | None]:
    """Return the ids of the bullets that an operation changes."""
    return {operation.bullet, *operation.sources}


def _size_with(operation: PlaybookOperation, playbook: Playbook) -> int:
    left = (each for each in playbook.active if each.id not in replaced_bullets(operation))
    lines = {each.id: render_line(each.id, each.content) for each in left}
    if operation.op != "retire":
        id = operation.bullet or playbook.next_id
        content = Content(section=operation.section, text=operation.text, applies_when=operation.applies_when)
        lines[id] = render_line(id, content)
    return estimate_tokens("\n".join(lines.values()))


def _original_text(operation: PlaybookOperation, insight: Insight, playbook: Playbook) -> str | None:
    if insight.proposed is not None:
        return insight.proposed
    before = _build_operation(insight, playbook)
    is_same = before is not None and all(
        getattr(before, name) == getattr(operation, name) for name in ("text", "section", "applies_when")
    )
    return None if is_same or before is None else before.text


def _metadata(insight: Insight, request_id: str | None) -> EntryMetadata:
    return {
        "type": insight.type,
        "request_id": request_id,
        "thread_id": insight.thread_id,
        "run_id": insight.run_id,
    }
