"""HTTP representations of conversations and playbooks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from ringi import Request
from ringi.base import JsonObject, jsonable
from ringi_apps.engrammer import models, playbook_models
from ringi_apps.engrammer.access import EngrammerSnapshot, answer_message
from ringi_apps.engrammer.cautions import InsightCaution, learning_context_of
from ringi_apps.engrammer.entries import Bullet, Entry, Rejection, VersionedEntry
from ringi_apps.engrammer.history import proposal_stats
from ringi_apps.engrammer.notes import Note
from ringi_apps.engrammer.playbook import Playbook
from ringi_apps.engrammer.rendering import estimate_tokens, render

ContinueStatus = Literal["done", "error", "interrupted"]
REFLECTED = {
    "verdict": "verdict",
    "error": "error_identification",
    "root_cause": "root_cause_analysis",
    "correct_approach": "correct_approach",
    "key_insight": "key_insight",
    "failed": "failed",
}
"""JSON names of a reflection, each with the reflector's name."""
UNREFLECTED = "the answer is complete, but the agent could not reflect on it, so nothing is proposed: {why}"
UNSETTLED = "decided, but not learned yet: no worker resumed the run in time; read the state again"


def conversation_view(conversation: EngrammerSnapshot) -> models.EngrammerConversation:
    """Return a conversation with the turns of all its threads."""
    return models.EngrammerConversation(
        id=conversation.id,
        agent=conversation.engrammer.name,
        status=conversation.status,
        turns=[turn_view(conversation, turn) for turn in conversation.turns],
        pending=[request.id for request in conversation.pending],
        error=conversation.error,
    )


def turn_view(conversation: EngrammerSnapshot, turn: Mapping[str, Any]) -> models.EngrammerTurn:
    """Return a turn with the outcome of each insight."""
    insights = [insight_view(conversation, turn, each) for each in turn["insights"]]
    reflection = turn["reflected"]
    reflected = {name: reflection.get(own) for name, own in REFLECTED.items()} if reflection else None
    suppressed = [{**each, "reason": conversation.refused.get(each["request_id"])} for each in turn["suppressed"]]
    return models.EngrammerTurn.model_validate(
        {**turn, "insights": insights, "reflected": reflected, "suppressed": suppressed}
    )


def insight_view(
    conversation: EngrammerSnapshot, turn: Mapping[str, Any], insight: Mapping[str, Any]
) -> models.InsightView:
    """Return an insight with its outcome."""
    result = turn["outcomes"].get(insight["id"])
    request = request_for(conversation, insight["id"], result["request_id"] if result else None)
    if result is None:
        result = derive_outcome(conversation, request, is_over=turn["phase"] == "done")
    visible_request = request if request and request.id in conversation.seen else None
    request_view = (
        models.InsightRequest.model_validate(visible_request, from_attributes=True) if visible_request else None
    )
    # What was said of a request is for its readers, as the request is.
    reason = None if request and not visible_request else answer_message(visible_request) or result["reason"]
    status = {"status": result["status"], "version": result["version"], "reason": reason}
    caution = conversation.cautions.get(visible_request.id) if visible_request else None
    content = edited_content(visible_request, result["status"])
    return models.InsightView.model_validate(
        {**insight, **status, **content, **(caution or InsightCaution())._asdict(), "request": request_view}
    )


def edited_content(request: Request | None, status: str) -> JsonObject:
    """Return the edited text, section and scope if the insight was learned as edited."""
    if status != "edited":
        return {}
    args = request.granted.args if request and request.granted else {}
    # Where the answer was erased, or is not for this reader, the agent's text must not stand in its place.
    return {"text": args.get("text", ""), **{name: args[name] for name in ("section", "applies_when") if name in args}}


def request_for(conversation: EngrammerSnapshot, insight_id: str, request_id: str | None) -> Request | None:
    """Return the newest request for an insight; a stale one is replaced by a new request."""
    # Of a request that was erased only the id is left.
    newest = reversed(conversation.requests)
    return next((r for r in newest if r.id == request_id or learning_context_of(r).get("insight") == insight_id), None)


def derive_outcome(conversation: EngrammerSnapshot, request: Request | None, *, is_over: bool) -> JsonObject:
    """Return the outcome of an insight that its turn does not have yet."""
    if request is None or not request.is_final:
        return make_outcome("cancelled" if is_over else "pending")
    response, version = request.response, conversation.applied.get(request.id)
    if response is None:
        return make_outcome(request.status, reason=request.reason)
    if response.decision == "reject":
        return make_outcome("rejected", version)
    if version is None:
        return make_outcome("cancelled" if is_over else "pending")
    return make_outcome("edited" if response.decision == "edit" else "learned", version)


def make_outcome(status: str, version: int | None = None, reason: str | None = None) -> JsonObject:
    """Return an outcome in the form of a turn."""
    return {"status": status, "version": version, "reason": reason}


def state_view(conversation: EngrammerSnapshot) -> models.EngrammerState:
    """Return the state for `getEngrammerState`: the newest question and all pending insights."""
    questions = [turn for turn in conversation.turns if not turn["parent"] and turn["query"]]
    turn = questions[-1] if questions else None
    status, newest = conversation.status, conversation.turns[-1] if conversation.turns else None
    failed = newest["reflected"].get("failed") if newest and newest["reflected"] else None
    return models.EngrammerState(
        status="done" if status == "idle" else status,
        latest_response=turn["response"] if turn else None,
        pending_insights=[pending_view(each) for each in conversation.pending] or None,
        references=([models.Reference.model_validate(each) for each in turn["references"]] or None) if turn else None,
        error=conversation.error or (UNREFLECTED.format(why=failed) if failed else None),
    )


def pending_view(request: Request) -> models.PendingInsight:
    """Return a pending insight with the text that would be learned."""
    about, args = learning_context_of(request), request.action.args if request.action else {}
    return models.PendingInsight(
        type=about["type"],
        description=str(args["text"]),
        source_bullet_id=about["source_bullet_id"],
        id=request.id,
        digest=request.digest,
    )


def continued_view(
    conversation: EngrammerSnapshot,
    decided: Sequence[Request],
    conflicts: Sequence[Exception],
    left_out: Sequence[str],
    *,
    is_settled: bool,
) -> models.EngrammerContinued:
    """Return the state of a conversation after decisions, with those that had no effect and what was left out."""
    if not is_settled:
        return models.EngrammerContinued(status="error", error="; ".join([UNSETTLED, *left_out]))
    insight_ids = {learning_context_of(each).get("insight") for each in decided}
    renewed = [
        renewed_message(each)
        for each in conversation.pending
        if learning_context_of(each).get("insight") in insight_ids
    ]
    threads = {each.thread_id: each.run_id for each in decided}
    failed = [each.error.message for each in conversation.threads if each.error and threads.get(each.id) == each.run_id]
    unlearned = [unlearned_message(each) for each in decided if is_unlearned(conversation, each)]
    messages = "; ".join([*failed, *unlearned, *map(str, conflicts), *renewed, *left_out])
    status: ContinueStatus = "error" if failed or unlearned else "interrupted" if conversation.pending else "done"
    return models.EngrammerContinued(status=status, error=messages or None)


def is_unlearned(conversation: EngrammerSnapshot, request: Request) -> bool:
    """Return whether an insight was approved but its run ended without learning it."""
    if request.response is None or request.response.decision == "reject" or request.id in conversation.applied:
        return False
    ends = {id for turn in conversation.turns for id in turn["outcomes"]}
    is_open = any(each.is_live and each.run_id == request.run_id for each in conversation.threads)
    return not is_open and learning_context_of(request).get("insight") not in ends


def unlearned_message(request: Request) -> str:
    """Return the message for an approved insight that was not learned."""
    return f"{request.title!r} was approved but not learned because its run ended first; ask again to have it proposed"


def renewed_message(request: Request) -> str:
    """Return the message for a decided insight that is proposed again."""
    return f"{request.title!r} was not learned ({learning_context_of(request)['renewed']}) and is asked again"


def note_view(note: Note) -> models.EngrammerNote:
    """Return a note with the further fields of its source."""
    view = models.EngrammerNote.model_validate(note.model_dump(by_alias=False, exclude={"more"}))
    own = view.model_dump().keys()
    return view.model_copy(update={name: value for name, value in jsonable(note.more).items() if name not in own})


def note_of(bullet: Bullet, source: str) -> Note:
    """Return a bullet as a note."""
    more = {"section": bullet.content.section, "isActive": bullet.content.is_active, "version": bullet.changed}
    more |= {"applies_when": bullet.content.applies_when} if bullet.content.applies_when else {}
    text, at = bullet.content.text, bullet.created_at
    return Note(id=bullet.id, title=bullet.id, content=text, created_at=at, source=source, more=more)


def playbook_view(
    identity: Mapping[str, object],
    playbook: Playbook,
    history: list[VersionedEntry],
    pending: int,
    requests: Mapping[str, Request],
) -> playbook_models.PlaybookView:
    """Return a playbook at one version; `identity` has its id, agent and budget."""
    so_far = [each for each in history if each.version <= playbook.version]
    text = render(playbook)
    return playbook_models.PlaybookView(
        **identity,
        version=playbook.version,
        head=history[-1].version if history else 1,
        tokens=estimate_tokens(text),
        text=text,
        bullets=[
            playbook_models.PlaybookBullet.model_validate(bullet_json(each))
            for each in sorted(playbook.bullets.values(), key=lambda each: each.order)
        ],
        rejected=[rejected_view(each, requests.get(each.request_id or "")) for each in reversed(playbook.rejected)],
        measures=proposal_stats(so_far, pending),
    )


def rejected_view(rejected: Rejection, request: Request | None) -> playbook_models.RejectedText:
    """Return a rejected text; the reason comes from the request, so erasure removes it."""
    return playbook_models.RejectedText.model_validate({**jsonable(rejected), "reason": answer_message(request)})


def bullet_json(bullet: Bullet) -> JsonObject:
    """Return the fields of a bullet by their Python names."""
    return {
        **bullet.model_dump(mode="json", exclude={"content", "created_at"}),
        **jsonable(bullet.content),
        "hash": bullet.hash,
    }


def entry_view(versioned: VersionedEntry, request: Request | None) -> playbook_models.PlaybookEntry:
    """Return an entry; its approver comes from the request, so erasure removes the name."""
    entry: Entry = versioned.entry
    response = request.response if request else None
    is_approval = response is not None and response.decision in ("approve", "edit")
    return playbook_models.PlaybookEntry.model_validate(
        {
            **jsonable(entry),
            "version": versioned.version,
            "at": versioned.at,
            "by": versioned.by,
            "reason": entry.reason or answer_message(request),
            "text": entry.text or entry.proposed,
            # It quotes what people said: kept in the request, where it can be erased.
            "evidence": learning_context_of(request).get("evidence", []) if request else [],
            "approved_by": response.responder if response and is_approval else None,
            "rejected_by": response.responder if response and not is_approval else None,
        }
    )


def diff_view(older: Playbook, newer: Playbook) -> playbook_models.PlaybookDiffView:
    """Return the differences between the active bullets of two versions."""
    before, after = _lines(older), _lines(newer)
    return playbook_models.PlaybookDiffView(
        from_=older.version,
        to=newer.version,
        added=[line for id, line in after.items() if id not in before],
        removed=[line for id, line in before.items() if id not in after],
        changed=[
            playbook_models.DiffChange(id=id, before=before[id], after=line)
            for id, line in after.items()
            if id in before and before[id] != line
        ],
    )


def _lines(playbook: Playbook) -> dict[str, playbook_models.DiffBullet]:
    fields = {"section", "text", "applies_when"}
    return {
        each.id: playbook_models.DiffBullet(id=each.id, **each.content.model_dump(include=fields))
        for each in playbook.active
    }
