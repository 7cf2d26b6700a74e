"""A plan, its versions and what people say of it: a pure state machine without clock or I/O.

planning ──> planned <──> obsolete      each planning, edit and pin is the next version, with another hash
                └──> executing ──> completed | failed ──> executing      only by `approved`; cancelled from anywhere

Inputs are given as the hash of each info that the plan is made from, if it is known: one that came or went has changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError

from ringi.base import StrictModel, digest, jsonable
from ringi.errors import ConflictError, InvalidError

if TYPE_CHECKING:
    from ringi.assistant.catalog import Action

Status = Literal["none", "planning", "planned", "executing", "completed", "obsolete", "failed", "cancelled"]
Code = Literal["OBSOLETE", "HASH", "VERSION", "STATUS"]
Inputs = Mapping[str, str]

MAX_VERSIONS = 5
"""How many versions before the newest are kept."""
MAX_ADDRESSED = 100
"""How many remarks that a version has taken up are kept; those that no version has taken up are all kept."""


class Step(StrictModel):
    """One thing that a plan does; the id says which one it is in all versions."""

    # A colon would let two steps of two plans have one key.
    id: str = Field(pattern=r"^[^:\s]{1,64}$")
    title: str
    action: str = ""
    args: dict[str, Any] = {}


class Feedback(StrictModel):
    """What a person said of a plan, and the version that took it up."""

    id: str
    text: str
    by: str
    at: datetime
    addressed_in: int | None = None


class PreviousVersion(StrictModel):
    """A version that a newer one has followed, and how far it had come."""

    version: int
    status: Status
    plan: Any = None
    steps: tuple[Step, ...] = ()
    hash: str
    done: tuple[str, ...] = ()


class ContentDiff(StrictModel):
    """What differs from the version before: steps by id, other content as `plan` or `plan.<its key>`."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()


class ApprovalRecord(StrictModel):
    """Who let the plan with this hash be applied."""

    by: str
    plan_hash: str
    at: datetime
    request_id: str


class Plan(StrictModel):
    """The newest version of a plan, and what came before it."""

    id: str
    """Never of an earlier plan: the keys of the steps are made from it."""
    workflow: str
    action_id: str
    version: int = 0
    status: Status = "none"
    plan: Any = None
    steps: tuple[Step, ...] = ()
    hash: str = ""
    """Of what a person authorizes: id, version, plan and steps. Empty without content."""
    author: str | None = None
    """The person who edited this version."""
    inputs: dict[str, str] = {}
    changed: tuple[str, ...] = ()
    """Of an obsolete plan: which inputs are not what it was made from."""
    feedback: tuple[Feedback, ...] = ()
    versions: tuple[PreviousVersion, ...] = ()
    diff: ContentDiff = ContentDiff()
    pinned: tuple[str, ...] = ()
    """Which inputs had changed when somebody let its content stand all the same."""
    approval: ApprovalRecord | None = None
    is_unasked: bool = False
    """Whether nobody is asked any more to approve it: the question was withdrawn, or its execution failed."""
    thread_id: str | None = None
    done: tuple[str, ...] = ()
    error: str | None = None
    updated_at: datetime | None = None

    @property
    def is_applicable(self) -> bool:
        """Whether it may be approved, its inputs apart: it is planned, or its execution failed on the way."""
        return self.status in ("planned", "obsolete") or (self.status == "failed" and self.approval is not None)


class PlanError(ConflictError):
    """The plan is not one that may be changed or applied so; `code` says why, `changed` which inputs differ."""

    def __init__(self, code: Code, what: str, changed: Iterable[str] = ()) -> None:
        self.code, self.changed = code, tuple(changed)
        super().__init__(what)

    @classmethod
    def of_status(cls, plan: Plan, what: str) -> PlanError:
        """Return the error of a plan that is at another point of its way."""
        return cls("STATUS", f"plan {plan.id!r} is {plan.status} and cannot be {what}: look at it as it is now")

    @classmethod
    def of_version(cls, plan: Plan, version: int) -> PlanError:
        """Return the error of an approval of another version."""
        return cls("VERSION", f"plan {plan.id!r} is at version {plan.version}, not {version}: approve that one")

    @classmethod
    def of_hash(cls, plan: Plan, plan_hash: str) -> PlanError:
        """Return the error of content that is not what was approved."""
        return cls("HASH", f"plan {plan.id!r} is not the one with hash {plan_hash!r}: read it again, approve that one")

    @classmethod
    def of_inputs(cls, plan: Plan, changed: Iterable[str]) -> PlanError:
        """Return the error of a plan that was made from other values than those of now."""
        changed = tuple(changed)
        remedy = "plan again" if plan.approval else "plan again, approve it unchanged, or edit it"
        return cls("OBSOLETE", f"plan {plan.id!r} was made from another {', '.join(changed)}: {remedy}", changed)


def start_version(
    plan: Plan | None, id: str, action: Action, inputs: Inputs, thread_id: str | None, now: datetime
) -> Plan:
    """Return the next version, still without content, that takes up all open feedback; an executing plan stays."""
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
    """Return the plan with this content, at once obsolete if its inputs changed, or failed if it is no plan.

    A draft of another version, or for a plan that is not being planned, changes nothing.
    """
    if plan.status != "planning" or plan.version != version:
        return plan
    try:
        content = _parse_content(plan, draft)
    except InvalidError as error:
        return fail(plan, version, str(error), now)
    before = plan.versions[-1] if plan.versions else None
    done = _steps_still_done(before, content["steps"])
    return check_inputs(
        _update(plan, now, status="planned", **content, done=done, diff=_compare(before, content)), inputs_now, now
    )


def add_feedback(plan: Plan, feedback: Feedback) -> Plan:
    """Return the plan with this feedback, which the next planning takes up; the same again changes nothing."""
    if any(each.id == feedback.id for each in plan.feedback):
        return plan
    open_feedback = feedback.model_copy(update={"addressed_in": None})
    return _update(plan, feedback.at, feedback=(*plan.feedback, open_feedback))


def check_inputs(plan: Plan, inputs_now: Inputs, now: datetime) -> Plan:
    """Return the plan as obsolete with exactly the inputs that changed, or as planned when none differs any more."""
    if plan.status not in ("planned", "obsolete"):
        return plan
    changed = changed_inputs(plan.inputs, inputs_now)
    status = "obsolete" if changed else "planned"
    if (plan.status, plan.changed) == (status, changed):
        return plan
    return _update(plan, now, status=status, changed=changed)


def pin_inputs(plan: Plan, inputs_now: Inputs, thread_id: str | None, now: datetime) -> Plan:
    """Return the next version with the same content, for the inputs of now; it needs an approval of its own."""
    return _next_version(plan, {}, inputs_now, now, author=plan.author, thread_id=thread_id)


def edit_plan(plan: Plan, draft: Mapping[str, Any], by: str, inputs_now: Inputs, now: datetime) -> Plan:
    """Return the next version with what this person wrote, for the inputs of now, or raise `InvalidError`.

    The draft's `plan` and `steps` replace those of the plan; what it does not name stays.
    """
    return _next_version(plan, draft, inputs_now, now, author=by)


def approve_plan(
    plan: Plan, version: int, plan_hash: str, by: str, request_id: str, inputs_now: Inputs, now: datetime
) -> Plan:
    """Return the plan as executing if just this was approved and its inputs are what they were, or raise `PlanError`.

    The same approval again changes nothing. One whose execution failed may be approved again: its done steps stay so.
    """
    if version != plan.version:
        raise PlanError.of_version(plan, version)
    if not plan.hash or not plan_hash == plan.hash == content_hash(plan.id, plan.version, plan.plan, plan.steps):
        raise PlanError.of_hash(plan, plan_hash)
    if plan.status == "executing" and plan.approval and plan.approval.request_id == request_id:
        return plan
    if not plan.is_applicable:
        raise PlanError.of_status(plan, "applied")
    if changed := changed_inputs(plan.inputs, inputs_now):
        raise PlanError.of_inputs(plan, changed)
    approval = ApprovalRecord(by=by, plan_hash=plan_hash, at=now, request_id=request_id)
    return _update(plan, now, status="executing", approval=approval, is_unasked=False, changed=(), error=None)


def resume(plan: Plan, now: datetime) -> Plan:
    """Return a plan whose execution failed as executing again: an operator had its step tried once more."""
    if plan.status != "failed" or plan.approval is None:
        return plan
    return _update(plan, now, status="executing", error=None)


def mark_step_done(plan: Plan, version: int, step_id: str, now: datetime) -> Plan:
    """Return the plan with this step done; what was not approved, or is another version's, changes nothing."""
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
    """Return the plan as failed if this version is being planned or executed; what it took up is open again."""
    if plan.version != version or plan.status not in ("planning", "executing"):
        return plan
    is_unasked = plan.approval is not None
    return _update(plan, now, status="failed", error=error, is_unasked=is_unasked, feedback=_reopen_feedback(plan))


def cancel(plan: Plan, now: datetime) -> Plan:
    """Return the plan as cancelled, unless it has come to its end."""
    if plan.status in ("completed", "cancelled"):
        return plan
    return _update(plan, now, status="cancelled", feedback=_reopen_feedback(plan))


def step_key(plan: Plan, step: Step) -> str:
    """Return the key under which this step of this version has its effect at most once."""
    return format_step_key(plan.id, plan.version, step.id)


def format_step_key(plan_id: str, version: int, step_id: str) -> str:
    """Return the key of a step, of which only the ids are known."""
    return f"{plan_id}:{version}:{step_id}"


def content_hash(id: str, version: int, plan: Any, steps: Iterable[Step]) -> str:
    """Return the digest of what a person authorizes."""
    return digest(
        {"id": id, "version": version, "plan": plan, "steps": [step.model_dump(mode="json") for step in steps]}
    )


def changed_inputs(inputs: Inputs, inputs_now: Inputs) -> tuple[str, ...]:
    """Return the names of the inputs whose value is another, or that came or went, in order."""
    return tuple(sorted(key for key in inputs.keys() | inputs_now.keys() if inputs.get(key) != inputs_now.get(key)))


def _update(plan: Plan, now: datetime, /, **changes: Any) -> Plan:
    return plan.model_copy(update={**changes, "updated_at": now})


def _next_version(plan: Plan, draft: Mapping[str, Any], inputs_now: Inputs, now: datetime, **changes: Any) -> Plan:
    if not plan.is_applicable:
        raise PlanError.of_status(plan, "changed")
    following = _update(
        plan, now, version=plan.version + 1, versions=_version_history(plan), inputs=dict(inputs_now), **changes
    )
    content = _parse_content(following, draft)
    carried_over = {"pinned": plan.changed or plan.pinned, "done": _steps_still_done(plan, content["steps"])}
    update = {"status": "planned", "changed": (), "is_unasked": False, "diff": _compare(plan, content)}
    return following.model_copy(update={**content, **carried_over, **update})


def _parse_content(plan: Plan, draft: Mapping[str, Any]) -> dict[str, Any]:
    """Return plan, steps and hash as this draft says, or raise `InvalidError`; what it does not name stays."""
    try:
        plain = jsonable(dict(draft))
        steps = STEPS.validate_python(plain["steps"], extra="forbid") if "steps" in plain else plan.steps
    except ValidationError as error:
        first = error.errors()[0]
        raise InvalidError.of(".".join(("steps", *map(str, first["loc"]))), first["msg"]) from error
    except (ValueError, TypeError) as error:
        raise InvalidError.of("", f"the draft is no JSON object ({error}): give plan and steps") from error
    if unknown := sorted(plain.keys() - {"plan", "steps"}):
        raise InvalidError.of(unknown[0], "not a part of a draft: put it into plan or steps")
    if len({step.id for step in steps}) < len(steps):
        raise InvalidError.of("steps", "two steps have one id: give each its own")
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
    """Return the steps that an earlier version carried out and that are the same in this one: once is enough."""
    known = {step.id: step for step in before.steps if step.id in before.done} if before else {}
    return tuple(step.id for step in steps if known.get(step.id) == step)


def _reopen_feedback(plan: Plan) -> tuple[Feedback, ...]:
    """Return the feedback; what a version took up that came to no content is open again."""
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
    """Return what a plan is made of by the names that a `Diff` tells."""
    if isinstance(plan, dict):
        rest = {f"plan.{key}": value for key, value in plan.items()}
    else:
        rest = {} if plan is None else {"plan": plan}
    return rest | {step.id: step for step in steps}
