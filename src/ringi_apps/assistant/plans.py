"""A plan with its versions and the remarks about it: a pure state machine without clock or I/O.

planning ──> planned <──> obsolete      each planning, edit and pin is the next version, with another hash
                └──> executing ──> completed | failed ──> executing      only by `approved`; cancelled from any status

Inputs are the hashes of the infos that the plan is made from. An input that was added or removed has changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from ringi.base import StrictModel, digest, jsonable, reason_of
from ringi.errors import ConflictError, InvalidError

if TYPE_CHECKING:
    from ringi_apps.assistant.declarations import ActionDefinition

PlanStatus = Literal["none", "planning", "planned", "executing", "completed", "obsolete", "failed", "cancelled"]
PlanReason = Literal["OBSOLETE", "HASH", "VERSION", "STATUS"]
Inputs = Mapping[str, str]

MAX_VERSIONS = 5
"""The maximum number of versions before the newest."""
MAX_ADDRESSED = 100
"""The maximum number of addressed remarks. Remarks that no version has addressed are never dropped."""


class Step(StrictModel):
    """One step of a plan; its id identifies it in all versions."""

    # With a colon, steps of two plans could have the same key.
    id: str = Field(pattern=r"^[^:\s]{1,64}$")
    title: str
    action: str = ""
    args: dict[str, Any] = {}


class Feedback(StrictModel):
    """A remark of a person about a plan, and the version that takes it into account."""

    id: str
    text: str
    by: str
    at: datetime
    addressed_in: int | None = None


class PreviousVersion(StrictModel):
    """A version before the newest, with the steps that it has completed."""

    version: int
    status: PlanStatus
    plan: Any = None
    steps: tuple[Step, ...] = ()
    hash: str
    done: tuple[str, ...] = ()


class ContentDiff(StrictModel):
    """The differences from the previous version: steps by id, other content as `plan` or `plan.<key>`."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()


class ApprovalRecord(StrictModel):
    """The person who approved the plan with this hash, and the request."""

    by: str
    plan_hash: str
    at: datetime
    request_id: str


class Plan(StrictModel):
    """The newest version of a plan, with its previous versions."""

    id: str
    """Unique among all plans, as the keys of the steps contain it."""
    workflow: str
    action_id: str
    version: int = 0
    status: PlanStatus = "none"
    plan: Any = None
    steps: tuple[Step, ...] = ()
    hash: str = ""
    """The digest of the content that a person approves: id, version, plan and steps. Empty without content."""
    author: str | None = None
    """The person who edited this version."""
    inputs: dict[str, str] = {}
    changed: tuple[str, ...] = ()
    """The changed inputs of an obsolete plan."""
    feedback: tuple[Feedback, ...] = ()
    versions: tuple[PreviousVersion, ...] = ()
    diff: ContentDiff = ContentDiff()
    pinned: tuple[str, ...] = ()
    """The inputs that had changed when a person kept the content unchanged."""
    approval: ApprovalRecord | None = None
    is_unasked: bool = False
    """True if there is no open approval request, because it was withdrawn or the execution failed."""
    thread_id: str | None = None
    done: tuple[str, ...] = ()
    error: str | None = None
    updated_at: datetime | None = None

    @property
    def is_applicable(self) -> bool:
        """Whether the status allows approval: the plan is planned or obsolete, or its execution failed."""
        return self.status in ("planned", "obsolete") or (self.status == "failed" and self.approval is not None)


PLAN_TEXTS: dict[PlanReason, dict[str, str]] = {
    "OBSOLETE": {
        "ja": "計画の元になった情報が変わっています。計画し直してください",
        "zh": "计划所依据的信息已更改，请重新计划",
    },
    "HASH": {
        "ja": "計画の内容が承認されたものと異なります。現在の内容を読み直して承認してください",
        "zh": "计划内容与获批准的内容不同，请重新阅读并批准当前内容",
    },
    "VERSION": {
        "ja": "計画の版が変わっています。現在の版を承認してください",
        "zh": "计划的版本已变更，请批准当前版本",
    },
    "STATUS": {
        "ja": "計画の現在の状態ではできません。状態を確認してください",
        "zh": "计划目前的状态不允许此操作，请查看其状态",
    },
}


class PlanError(ConflictError):
    """A plan cannot be changed or applied for a `reason`; `changed` names the inputs that differ."""

    def __init__(self, reason: PlanReason, what: str, changed: tuple[str, ...] = ()) -> None:
        self.reason, self.changed = reason, changed
        self.text = {"en": what, **PLAN_TEXTS[reason]}
        super().__init__(what)

    @classmethod
    def of_status(cls, plan: Plan, what: str) -> PlanError:
        """Return the error of a plan whose status does not allow this."""
        return cls("STATUS", f"plan {plan.id!r} is {plan.status} and cannot be {what}: read its current state")


def next_plan_version(
    plan: Plan | None, id: str, action: ActionDefinition, inputs: Inputs, thread_id: str | None, now: datetime
) -> Plan:
    """Return the next version without content, which addresses all open remarks; raise if the plan is executing."""
    if plan and plan.status == "executing":
        raise PlanError.of_status(plan, "planned again")
    version = plan.version + 1 if plan else 1
    return Plan(
        id=plan.id if plan else id,
        workflow=action.workflow or action.id,
        action_id=action.id,
        version=version,
        status="planning",
        inputs=dict(inputs),
        feedback=_address_feedback(plan, version) if plan else (),
        versions=_version_history(plan) if plan else (),
        thread_id=thread_id,
        updated_at=now,
    )


def add_draft(plan: Plan, version: int, draft: Mapping[str, Any], inputs_now: Inputs, now: datetime) -> Plan:
    """Return the plan with this content, obsolete if its inputs have changed, or failed if the draft is invalid.

    A draft of another version, or for a plan that is not in planning, has no effect.
    """
    if plan.status != "planning" or plan.version != version:
        return plan
    try:
        content = _parse_content(plan, draft)
    except InvalidError as error:
        return fail(plan, version, reason_of("draft_invalid", details=str(error)), now)
    before = plan.versions[-1] if plan.versions else None
    done = _steps_still_done(before, content["steps"])
    return check_inputs(
        _update(plan, now, status="planned", **content, done=done, diff=_compare(before, content)), inputs_now, now
    )


def add_feedback(plan: Plan, feedback: Feedback) -> Plan:
    """Return the plan with this remark for the next version. A remark with a known id has no effect."""
    if any(each.id == feedback.id for each in plan.feedback):
        return plan
    open_feedback = feedback.model_copy(update={"addressed_in": None})
    return _update(plan, feedback.at, feedback=(*plan.feedback, open_feedback))


def check_inputs(plan: Plan, inputs_now: Inputs, now: datetime) -> Plan:
    """Return the plan as obsolete with the changed inputs, or as planned if no input differs."""
    if plan.status not in ("planned", "obsolete"):
        return plan
    changed = changed_inputs(plan.inputs, inputs_now)
    status = "obsolete" if changed else "planned"
    if (plan.status, plan.changed) == (status, changed):
        return plan
    return _update(plan, now, status=status, changed=changed)


def pin_inputs(plan: Plan, inputs_now: Inputs, thread_id: str | None, now: datetime) -> Plan:
    """Return the next version with the same content and the current inputs. It needs a new approval."""
    return _next_version(plan, {}, inputs_now, now, author=plan.author, thread_id=thread_id)


def edit_plan(plan: Plan, draft: Mapping[str, Any], by: str, inputs_now: Inputs, now: datetime) -> Plan:
    """Return the next version with this person's content and the current inputs, or raise `InvalidError`.

    The draft's `plan` and `steps` replace those of the plan. A part that the draft does not have stays.
    """
    return _next_version(plan, draft, inputs_now, now, author=by)


def approve_plan(
    plan: Plan, version: int, plan_hash: str, by: str, request_id: str, inputs_now: Inputs, now: datetime
) -> Plan:
    """Return the plan as executing if this content was approved and its inputs are the same, or raise `PlanError`.

    The same approval again has no effect. A plan whose execution failed may be approved again; done steps stay done.
    """
    if version != plan.version:
        what = f"plan {plan.id!r} is at version {plan.version}, not {version}"
        raise PlanError("VERSION", f"{what}: approve the current version")
    if not plan.hash or not plan_hash == plan.hash == content_hash(plan.id, plan.version, plan.plan, plan.steps):
        what = f"plan {plan.id!r} does not have the hash {plan_hash!r}"
        raise PlanError("HASH", f"{what}: read it again and approve the current content")
    if plan.status == "executing" and plan.approval and plan.approval.request_id == request_id:
        return plan
    if not plan.is_applicable:
        raise PlanError.of_status(plan, "applied")
    if changed := changed_inputs(plan.inputs, inputs_now):
        what = f"plan {plan.id!r} was made from other values of {', '.join(changed)}"
        remedy = "plan again" if plan.approval else "plan again, approve it unchanged, or edit it"
        raise PlanError("OBSOLETE", f"{what}: {remedy}", changed)
    approval = ApprovalRecord(by=by, plan_hash=plan_hash, at=now, request_id=request_id)
    return _update(plan, now, status="executing", approval=approval, is_unasked=False, changed=(), error=None)


def resume(plan: Plan, now: datetime) -> Plan:
    """Return a plan whose execution failed as executing, after an operator's retry."""
    if plan.status != "failed" or plan.approval is None:
        return plan
    return _update(plan, now, status="executing", error=None)


def mark_step_done(plan: Plan, version: int, step_id: str, now: datetime) -> Plan:
    """Return the plan with this step done. A step that was not approved, or of another version, has no effect."""
    is_known = any(step.id == step_id for step in plan.steps)
    if plan.version != version or not plan.approval or not is_known or step_id in plan.done:
        return plan
    return _update(plan, now, done=(*plan.done, step_id))


def complete(plan: Plan, version: int, now: datetime) -> Plan:
    """Return the plan as completed if this version is executing."""
    if plan.version != version or plan.status != "executing":
        return plan
    return _update(plan, now, status="completed")


def fail(plan: Plan, version: int, error: str, now: datetime) -> Plan:
    """Return the plan as failed if this version is in planning or executing, with its remarks open again."""
    if plan.version != version or plan.status not in ("planning", "executing"):
        return plan
    is_unasked = plan.approval is not None
    return _update(plan, now, status="failed", error=error, is_unasked=is_unasked, feedback=_reopen_feedback(plan))


def cancel(plan: Plan, now: datetime) -> Plan:
    """Return the plan as cancelled, unless it is completed or cancelled."""
    if plan.status in ("completed", "cancelled"):
        return plan
    return _update(plan, now, status="cancelled", feedback=_reopen_feedback(plan))


def format_step_key(plan_id: str, version: int, step_id: str) -> str:
    """Return the idempotency key of a step from the ids."""
    return f"{plan_id}:{version}:{step_id}"


def content_hash(id: str, version: int, plan: object, steps: Iterable[Step]) -> str:
    """Return the digest of the content that a person approves."""
    return digest(
        {"id": id, "version": version, "plan": plan, "steps": [step.model_dump(mode="json") for step in steps]}
    )


def changed_inputs(inputs: Inputs, inputs_now: Inputs) -> tuple[str, ...]:
    """Return the names of the inputs that differ, in order."""
    return tuple(sorted(key for key in inputs.keys() | inputs_now.keys() if inputs.get(key) != inputs_now.get(key)))


def _update(plan: Plan, now: datetime, /, **changes: object) -> Plan:
    return plan.model_copy(update={**changes, "updated_at": now})


def _next_version(
    plan: Plan, draft: Mapping[str, object], inputs_now: Inputs, now: datetime, **changes: object
) -> Plan:
    if not plan.is_applicable:
        raise PlanError.of_status(plan, "changed")
    following = _update(
        plan, now, version=plan.version + 1, versions=_version_history(plan), inputs=dict(inputs_now), **changes
    )
    content = _parse_content(following, draft)
    carried_over = {"pinned": plan.changed or plan.pinned, "done": _steps_still_done(plan, content["steps"])}
    update = {"status": "planned", "changed": (), "is_unasked": False, "diff": _compare(plan, content)}
    return following.model_copy(update={**content, **carried_over, **update})


def _parse_content(plan: Plan, draft: Mapping[str, object]) -> dict[str, Any]:
    """Return the plan, steps and hash of a draft, or raise `InvalidError`. Missing parts stay."""
    try:
        plain = jsonable(dict(draft))
        steps = STEPS.validate_python(plain["steps"], extra="forbid") if "steps" in plain else plan.steps
    except ValidationError as error:
        first = error.errors()[0]
        raise InvalidError.of(".".join(("steps", *map(str, first["loc"]))), first["msg"]) from error
    except (ValueError, TypeError) as error:
        raise InvalidError.of("", f"the draft is not a JSON object ({error}): give plan and steps") from error
    if unknown := sorted(plain.keys() - {"plan", "steps"}):
        raise InvalidError.of(unknown[0], "is not a field of a draft: put it into plan or steps")
    if len({step.id for step in steps}) < len(steps):
        raise InvalidError.of("steps", "two steps have the same id: give each its own id")
    body = plain.get("plan", plan.plan)
    if body is None and not steps:
        raise InvalidError.of("", "the draft is empty: give plan or steps")
    return {"plan": body, "steps": steps, "hash": content_hash(plan.id, plan.version, body, steps)}


STEPS = TypeAdapter(tuple[Step, ...])


def _version_history(plan: Plan) -> tuple[PreviousVersion, ...]:
    if not plan.hash:
        return plan.versions
    content = {"plan": plan.plan, "steps": plan.steps, "hash": plan.hash, "done": plan.done}
    version = PreviousVersion(version=plan.version, status=plan.status, **content)
    return (*plan.versions, version)[-MAX_VERSIONS:]


def _steps_still_done(before: Plan | PreviousVersion | None, steps: Iterable[Step]) -> tuple[str, ...]:
    """Return the steps that a previous version completed and that are unchanged; they do not run again."""
    known = {step.id: step for step in before.steps if step.id in before.done} if before else {}
    return tuple(step.id for step in steps if known.get(step.id) == step)


def _reopen_feedback(plan: Plan) -> tuple[Feedback, ...]:
    """Return the remarks, reopening those that a version without content addressed."""
    if plan.hash:
        return plan.feedback
    return tuple(
        each.model_copy(update={"addressed_in": None}) if each.addressed_in == plan.version else each
        for each in plan.feedback
    )


def _address_feedback(plan: Plan, version: int) -> tuple[Feedback, ...]:
    feedback = _reopen_feedback(plan)
    addressed = [each for each in feedback if each.addressed_in is not None][-MAX_ADDRESSED:]
    opened = [each.model_copy(update={"addressed_in": version}) for each in feedback if each.addressed_in is None]
    return (*addressed, *opened)


def _compare(before: Plan | PreviousVersion | None, content: Mapping[str, Any]) -> ContentDiff:
    if before is None:
        return ContentDiff()
    old, new = _parts(before.plan, before.steps), _parts(content["plan"], content["steps"])
    return ContentDiff(
        added=tuple(name for name in new if name not in old),
        removed=tuple(name for name in old if name not in new),
        changed=tuple(name for name in new if name in old and old[name] != new[name]),
    )


def _parts(plan: Any, steps: Iterable[Step]) -> dict[str, Any]:
    """Return the parts of a plan by the names that a `ContentDiff` has."""
    if isinstance(plan, dict):
        rest = {f"plan.{key}": value for key, value in plan.items()}
    else:
        rest = {} if plan is None else {"plan": plan}
    return rest | {step.id: step for step in steps}
