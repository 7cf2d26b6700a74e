"""What the outside sees of conversations and playbooks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from ringi.base import jsonable
from ringi.domain import Request
from ringi.engrammer import models, playbook_models
from ringi.engrammer.access import Conversation, words_in
from ringi.engrammer.entries import Bullet, Entry, Rejected, Written
from ringi.engrammer.notes import Note
from ringi.engrammer.playbook import Diff, Playbook, measures
from ringi.engrammer.rendering import rendered, tokens

Json = dict[str, Any]
Continued = Literal["done", "error", "interrupted"]
REFLECTED = {
    "verdict": "verdict",
    "error": "error_identification",
    "root_cause": "root_cause_analysis",
    "correct_approach": "correct_approach",
    "key_insight": "key_insight",
    "failed": "failed",
}
"""What is shown of a reflection, and what the reflector calls it."""
UNSETTLED = "decided, and not learned yet: no worker has gone on with it in time; read the state again"


def conversation_view(conversation: Conversation) -> models.EngrammerConversation:
    """Return a conversation, all its threads as one."""
    return models.EngrammerConversation(
        id=conversation.id,
        agent=conversation.engrammer.name,
        status=conversation.status,
        turns=[turn_view(conversation, turn) for turn in conversation.turns],
        pending=[request.id for request in conversation.waiting],
        error=conversation.error,
    )


def turn_view(conversation: Conversation, turn: Mapping[str, Any]) -> models.EngrammerTurn:
    """Return a turn, with what became of each insight."""
    insights = [insight_view(conversation, turn, each) for each in turn["insights"]]
    found = turn["reflected"]
    reflected = {name: found.get(own) for name, own in REFLECTED.items()} if found else None
    known = [{**each, "reason": conversation.refused.get(each["request_id"])} for each in turn["suppressed"]]
    return models.EngrammerTurn.model_validate(
        {**turn, "insights": insights, "reflected": reflected, "suppressed": known}
    )


def insight_view(conversation: Conversation, turn: Mapping[str, Any], insight: Mapping[str, Any]) -> models.Insight:
    """Return an insight, and what became of it."""
    became = turn["outcomes"].get(insight["id"])
    request = asked_of(conversation, insight["id"], became["request_id"] if became else None)
    if became is None:
        became = outcome_of(conversation, request, is_over=turn["phase"] == "done")
    shown = request if request and request.id in conversation.seen else None
    asked = models.InsightRequest(id=shown.id, digest=shown.digest, status=shown.status) if shown else None
    # What was said of a request is for its readers, as the request is.
    reason = None if request and not shown else words_in(shown) or became["reason"]
    told = {"status": became["status"], "version": became["version"], "reason": reason}
    return models.Insight.model_validate({**insight, **told, **learned_in(shown, became["status"]), "request": asked})


def learned_in(request: Request | None, status: str) -> Json:
    """Return the text and the section that a person changed an insight to, where that is what was learned."""
    if status != "edited":
        return {}
    args = request.granted.args if request and request.granted else {}
    # Where the answer was erased, or is not for this reader, the agent's text must not stand in its place.
    return {"text": args.get("text", ""), **({"section": args["section"]} if "section" in args else {})}


def asked_of(conversation: Conversation, insight_id: str, request_id: str | None) -> Request | None:
    """Return the request that asks whether to learn an insight; one that is stale is asked again, by another."""
    # Of a request that was erased only the id is left.
    newest = reversed(conversation.asked)
    return next((r for r in newest if r.id == request_id or learning_in(r).get("insight") == insight_id), None)


def outcome_of(conversation: Conversation, request: Request | None, *, is_over: bool) -> Json:
    """Return what became of an insight whose turn does not tell yet."""
    if request is None or not request.is_final:
        return outcome("cancelled" if is_over else "pending")
    said, version = request.response, conversation.applied.get(request.id)
    if said is None:
        return outcome(request.status, reason=request.reason)
    if said.decision == "reject":
        return outcome("rejected", version)
    if version is None:
        return outcome("cancelled" if is_over else "pending")
    return outcome("edited" if said.decision == "edit" else "learned", version)


def outcome(status: str, version: int | None = None, reason: str | None = None) -> Json:
    """Return what became of an insight, as a turn tells it."""
    return {"status": status, "version": version, "reason": reason}


def learning_in(request: Request) -> Json:
    """Return what a request shows of an insight; nothing once it was erased."""
    return request.context.get("learning") or {}


def state_view(conversation: Conversation) -> models.EngrammerState:
    """Return a conversation as the first design knows it: its newest question, and all that waits."""
    asked = [turn for turn in conversation.turns if not turn["parent"] and turn["query"]]
    turn = asked[-1] if asked else None
    status = conversation.status
    return models.EngrammerState(
        status="done" if status == "idle" else status,
        latest_response=turn["response"] if turn else None,
        pending_insights=[pending_view(each) for each in conversation.waiting] or None,
        references=([models.Reference.model_validate(each) for each in turn["references"]] or None) if turn else None,
        error=conversation.error,
    )


def pending_view(request: Request) -> models.PendingInsight:
    """Return what waits to be learned, as it would be learned."""
    about, args = learning_in(request), request.action.args if request.action else {}
    return models.PendingInsight(
        type=about["type"],
        description=str(args["text"]),
        source_bullet_id=about["source_bullet_id"],
        id=request.id,
        digest=request.digest,
    )


def continued_view(
    conversation: Conversation, decided: Sequence[Request], lost: Sequence[Exception], *, is_settled: bool
) -> models.EngrammerContinued:
    """Return where a conversation stands after some decisions, and what of them did not come to pass."""
    if not is_settled:
        return models.EngrammerContinued(status="error", error=UNSETTLED)
    ours = {learning_in(each).get("insight") for each in decided}
    again = [renewed(each) for each in conversation.waiting if learning_in(each).get("insight") in ours]
    threads = {each.thread_id: each.run_id for each in decided}
    failed = [each.error.message for each in conversation.threads if each.error and threads.get(each.id) == each.run_id]
    stopped = [unlearned(each) for each in decided if is_unlearned(conversation, each)]
    told = "; ".join([*failed, *stopped, *map(str, lost), *again])
    status: Continued = "error" if failed or stopped else "interrupted" if conversation.waiting else "done"
    return models.EngrammerContinued(status=status, error=told or None)


def is_unlearned(conversation: Conversation, request: Request) -> bool:
    """Whether a person said yes, and the run that asked has ended without that."""
    if request.response is None or request.response.decision == "reject" or request.id in conversation.applied:
        return False
    ends = {id for turn in conversation.turns for id in turn["outcomes"]}
    is_open = any(each.is_live and each.run_id == request.run_id for each in conversation.threads)
    return not is_open and learning_in(request).get("insight") not in ends


def unlearned(request: Request) -> str:
    """Return that what was approved is not learned."""
    return f"{request.title!r} was approved and is not learned: its run ended before; ask once more to have it proposed"


def renewed(request: Request) -> str:
    """Return why an insight that was decided on is asked once more."""
    return f"{request.title!r} was not learned ({learning_in(request)['renewed']}) and is asked again"


def note_view(note: Note) -> Json:
    """Return a note, with whatever else its source knows of it."""
    known = models.EngrammerNote.model_validate(note.model_dump(by_alias=False, exclude={"more"}))
    return {**jsonable(note.more), **known.model_dump(mode="json")}


def note_of(bullet: Bullet, created_at: datetime, source: str) -> Note:
    """Return a bullet as a note."""
    more = {"section": bullet.content.section, "isActive": bullet.content.is_active, "version": bullet.changed}
    return Note(
        id=bullet.id, title=bullet.id, content=bullet.content.text, created_at=created_at, source=source, more=more
    )


def playbook_view(
    of: Mapping[str, Any], playbook: Playbook, written: list[Written], waiting: int, requests: Mapping[str, Request]
) -> playbook_models.Playbook:
    """Return a playbook as it stands, or stood; `of` has its id, its agent and its budget."""
    then = [each for each in written if each.version <= playbook.version]
    text = rendered(playbook)
    return playbook_models.Playbook(
        **of,
        version=playbook.version,
        head=written[-1].version if written else 1,
        tokens=tokens(text),
        text=text,
        bullets=[bullet_view(each) for each in sorted(playbook.bullets.values(), key=lambda each: each.order)],
        rejected=[rejected_view(each, requests.get(each.request_id or "")) for each in reversed(playbook.rejected)],
        measures=playbook_models.PlaybookMeasures.model_validate(jsonable(measures(then, waiting))),
    )


def rejected_view(rejected: Rejected, request: Request | None) -> playbook_models.RejectedText:
    """Return what a person refused; why is read from the request: who was erased has said nothing."""
    return playbook_models.RejectedText.model_validate({**jsonable(rejected), "reason": words_in(request)})


def bullet_view(bullet: Bullet) -> playbook_models.PlaybookBullet:
    """Return a bullet."""
    return playbook_models.PlaybookBullet.model_validate(bullet_json(bullet))


def bullet_json(bullet: Bullet) -> Json:
    """Return what is told of a bullet, by the names of its parts here."""
    return {
        **bullet.model_dump(mode="json", exclude={"content", "created_at"}),
        **jsonable(bullet.content),
        "hash": bullet.hash,
    }


def entry_view(written: Written, request: Request | None) -> playbook_models.PlaybookEntry:
    """Return an entry; who approved it is read from its request: a person who was erased is gone here too."""
    entry: Entry = written.entry
    said = request.response if request else None
    is_yes = said is not None and said.decision in ("approve", "edit")
    return playbook_models.PlaybookEntry.model_validate(
        {
            **jsonable(entry),
            "version": written.version,
            "at": written.at,
            "by": written.by,
            "reason": entry.reason or words_in(request),
            "text": entry.text or entry.proposed,
            # It quotes what people said: kept in the request, where it can be erased.
            "evidence": learning_in(request).get("evidence", []) if request else [],
            "approved_by": said.responder if said and is_yes else None,
            "rejected_by": said.responder if said and not is_yes else None,
        }
    )


def diff_view(older: Playbook, newer: Playbook, found: Diff) -> playbook_models.PlaybookDiff:
    """Return what differs between two versions."""
    return playbook_models.PlaybookDiff.model_validate({"from": older.version, "to": newer.version, **jsonable(found)})
