"""The memory of one conversation: values, plans, workflow statuses and history. Pure: no clock and no I/O.

People and models never write to it. They send operations, which are checked before they are applied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Literal

from pydantic import ConfigDict, Field, ValidationError

from ringi.base import JsonObject, StrictModel, canonical, digest, jsonable
from ringi.domain import UnreadableError
from ringi.errors import InvalidError
from ringi_apps.assistant.declarations import Info
from ringi_apps.assistant.definitions import Definitions
from ringi_apps.assistant.memory_ops import MemoryOp, RejectedOp, check_value, find_rejection
from ringi_apps.assistant.plans import Plan

MIGRATIONS: tuple[Callable[[JsonObject], JsonObject], ...] = ()
"""The first migrates schema version 1 to 2, the second 2 to 3, and so on."""
MAX_HISTORY = 200
"""The maximum number of changes in the history. The newest change of each key is never dropped."""
MAX_VALUE_BYTES = 200
"""The maximum number of bytes of a value in the history."""


class Provenance(StrictModel):
    """The origin of a value."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)

    kind: Literal["user", "handler", "model", "edited", "derived", "static", "remembered", "default"]
    actor: str | None = None
    ref: str | None = None
    """The message, run or request that it came from."""
    quote: str | None = None


class InfoEntry(StrictModel):
    """The current value of an info, or the error of obtaining it."""

    value: Any = None
    hash: str
    version: int
    """The version of the memory in which the value last changed."""
    status: Literal["pending", "collected", "not_needed", "error"] = "collected"
    source: Provenance
    observed_at: datetime
    fresh_until: datetime | None = None
    inputs: dict[str, str] = {}
    """The hashes of the infos that the value was made from, by key."""
    error: str | None = None
    """The error of the last attempt to obtain it. A value that is still fresh is kept beside it."""

    @property
    def is_default(self) -> bool:
        """Whether nobody told the value, so that it is the default of its info."""
        return self.source.kind == "default"


class HistoryEntry(StrictModel):
    """One change of the memory; long values are shortened."""

    number: int
    at: datetime
    op: str
    key: str
    source: Provenance
    before: Any = None
    after: Any = None


class WorkflowStatus(StrictModel):
    """The last status of a workflow."""

    status: str
    at: datetime
    error: str | None = None


class ContextMemory(StrictModel):
    """The memory of a conversation, as it is stored."""

    schema_version: int = 1
    version: int = 0
    items: dict[str, InfoEntry] = {}
    plans: dict[str, Plan] = {}
    """The newest version of each plan, by workflow."""
    runs: dict[str, WorkflowStatus] = {}
    """The status of each workflow, by name."""
    asks: dict[str, str] = {}
    """The threads that ask people for an info, by info."""
    log: tuple[JsonObject, ...] = Field(default=(), alias="history")
    """The changes as JSON. They are written in each turn, and parsed only when somebody reads the history."""
    changes: int = 0
    """The total number of changes."""

    @property
    def history(self) -> tuple[HistoryEntry, ...]:
        """The stored changes, oldest first."""
        return tuple(HistoryEntry.model_validate(each) for each in self.log)

    def with_plan(self, plan: Plan) -> ContextMemory:
        """Return the memory with this plan as the newest of its workflow."""
        if plan == self.plans.get(plan.workflow):
            return self
        before, after = _plan_summary(self.plans.get(plan.workflow)), _plan_summary(plan)
        plans = {**self.plans, plan.workflow: plan}
        if before == after or plan.updated_at is None:
            return self._with_update(plans=plans)
        source = Provenance(kind="derived", actor=plan.author, ref=plan.id)
        return self._with_change(plan.updated_at, "plan", plan.workflow, source, before, after, plans=plans)

    def with_open_question(self, key: str, thread: str) -> ContextMemory:
        """Return the memory with the thread that asks for an info."""
        return self._with_update(asks={**self.asks, key: thread})

    def without_question(self, key: str) -> ContextMemory:
        """Return the memory without an open question for an info."""
        if key not in self.asks:
            return self
        return self._with_update(asks={name: thread for name, thread in self.asks.items() if name != key})

    def _with_update(self, **changes: object) -> ContextMemory:
        return self.model_copy(update={**changes, "version": self.version + 1})

    def _with_change(
        self,
        at: datetime,
        op: str,
        key: str,
        source: Provenance,
        before: object = None,
        after: object = None,
        **changes: object,
    ) -> ContextMemory:
        short = {"before": shorten(before), "after": shorten(after)}
        change = HistoryEntry(number=self.changes + 1, at=at, op=op, key=key, source=source, **short)
        log = _trim_history((*self.log, change.model_dump(mode="json", exclude_defaults=True)))
        return self._with_update(**changes, log=log, changes=change.number)


def apply_ops(
    memory: ContextMemory, ops: Iterable[MemoryOp], definitions: Definitions, source: Provenance, now: datetime
) -> tuple[ContextMemory, list[RejectedOp]]:
    """Return the memory after the allowed operations, and the rejected operations with their reasons.

    An operation without effect is not rejected and changes nothing. Feedback is about plans and is ignored here.
    """
    rejected: list[RejectedOp] = []
    seen = memory.items
    for op in ops:
        if op.op == "feedback":
            continue
        item = seen.get(op.key)
        if rejection := find_rejection(op, definitions, item.version if item else None):
            rejected.append(rejection)
        else:
            op_source = source.model_copy(update={"quote": op.quote}) if op.quote else source
            memory = _apply_op(memory, op, definitions.info(op.key), op_source, now)
    return memory, rejected


def record_value(
    memory: ContextMemory,
    key: str,
    value: object,
    source: Provenance,
    now: datetime,
    definitions: Definitions,
    inputs: Mapping[str, str] | None = None,
) -> ContextMemory:
    """Return the memory with a value from a handler, a derivation or a workflow, or with the error if it is invalid.

    The same value again updates only its freshness and its inputs.
    """
    info = definitions.info(key)
    try:
        plain = jsonable(value)
        check_value(info, plain)
        return store_value(memory, info, plain, source, now, "observe", dict(inputs or {}))
    except InvalidError as error:
        return record_failure(memory, key, str(error), source, now, inputs)
    except Exception as error:
        # A value that is not JSON can raise any error here; the conversation must continue.
        return record_failure(memory, key, f"is not JSON: {type(error).__name__}: {error}", source, now, inputs)


def record_failure(
    memory: ContextMemory,
    key: str,
    error: str,
    source: Provenance,
    now: datetime,
    inputs: Mapping[str, str] | None = None,
) -> ContextMemory:
    """Return the memory with the error of obtaining an info. A value that is still fresh is kept beside it."""
    before = memory.items.get(key)
    if inputs is None:
        inputs = before.inputs if before else {}
    is_late = before is None or (before.fresh_until is not None and before.fresh_until <= now)
    if before and before.status == "collected" and not is_late and inputs == before.inputs:
        item = before.model_copy(update={"error": error})
    else:
        update = {"version": memory.version + 1, "status": "error", "source": source, "inputs": inputs, "error": error}
        item = (before or InfoEntry(hash=EMPTY_HASH, observed_at=now, **update)).model_copy(update=update)
    if before and (before.status, before.error, before.inputs) == (item.status, error, item.inputs):
        return memory
    return memory._with_change(now, "fail", key, source, None, error, items={**memory.items, key: item})


def replace_item(memory: ContextMemory, key: str, item: InfoEntry, op: str, now: datetime) -> ContextMemory:
    """Return the memory with another entry of an info, with the change in the history."""
    after = item.error if item.status == "pending" else item.value
    items = {**memory.items, key: item}
    return memory._with_change(now, op, key, item.source, memory.items[key].value, after, items=items)


def set_workflow_status(
    memory: ContextMemory,
    workflow: str,
    status: str,
    now: datetime,
    error: str | None = None,
) -> ContextMemory:
    """Return the memory with a new status of a workflow."""
    before = memory.runs.get(workflow)
    run = WorkflowStatus(status=status, at=now, error=error)
    if before and before.model_copy(update={"at": now}) == run:
        return memory
    source, runs = Provenance(kind="derived"), {**memory.runs, workflow: run}
    return memory._with_change(now, "run", workflow, source, before and before.status, status, runs=runs)


def reset_workflow(memory: ContextMemory, definitions: Definitions, workflow: str, now: datetime) -> ContextMemory:
    """Return the memory without the values that only a workflow, or the plan and apply of one pair, used.

    Values that they `keep` stay. The status of a completed apply stays, as other actions may depend on it. Its plan
    stays until the next one is made.
    """
    pair = definitions.workflow_actions(workflow)
    of_plan = {each.workflow for each in pair if each.kind == "plan"}
    own, keep = {each.id for each in pair}, {key for each in pair for key in each.keep}
    known = {**memory.items, **memory.asks}
    gone = [key for key in known if key not in keep and _is_exclusive_to(definitions, key, own)]
    left = remove_values(memory, gone, Provenance(kind="derived", actor=workflow), now, "reset")
    return left._with_update(
        plans={name: plan for name, plan in left.plans.items() if name not in of_plan or plan.status == "completed"},
        runs={name: run for name, run in left.runs.items() if name not in of_plan},
        asks={key: thread for key, thread in left.asks.items() if key not in gone},
    )


def clear_context(memory: ContextMemory, definitions: Definitions, source: Provenance, now: datetime) -> ContextMemory:
    """Return the memory without the values that people gave in this thread, all that is made from them, and all plans.

    Plans that are executing stay, and so do values that belong to the user.
    """
    plans = {name: plan for name, plan in memory.plans.items() if plan.status == "executing"}
    running = {each.workflow for name in plans for each in definitions.workflow_actions(name)}
    left = remove_values(memory, _thread_inputs(definitions, plans), source, now, "cancel")
    runs = {name: run for name, run in left.runs.items() if name in running}
    return left._with_change(now, "cancel", "", source, plans=plans, runs=runs, asks={})


def memory_from_json(data: JsonObject) -> ContextMemory:
    """Return a stored memory, migrated to the current schema version, or raise `UnreadableError`."""
    newest, version = 1 + len(MIGRATIONS), data.get("schema_version", 1)
    if not isinstance(version, int) or not 0 < version <= newest:
        raise UnreadableError("context memory", f"schema_version {version}", f"up to {newest} is known")
    for migrate in MIGRATIONS[version - 1 :]:
        data = migrate(data)
    # The log is the largest part and affects no decision, so it is validated only when `history` is read.
    log = tuple(data.get("history", ()))
    try:
        memory = ContextMemory.model_validate({**data, "schema_version": newest, "history": ()})
    except ValidationError as error:
        why = f"{error.error_count()} parts are damaged"
        raise UnreadableError("context memory", f"schema_version {version}", why) from error
    return memory.model_copy(update={"log": log})


def drop_undefined(memory: ContextMemory, definitions: Definitions, now: datetime) -> ContextMemory:
    """Return the memory without plans, statuses and questions that are no longer defined; the history records it."""
    names = definitions.workflows.keys() | definitions.actions_by_id.keys()
    plans = {name: plan for name, plan in memory.plans.items() if _is_defined(definitions, plan)}
    runs = {name: run for name, run in memory.runs.items() if name in names}
    asks = {key: thread for key, thread in memory.asks.items() if key in definitions.infos_by_key}
    gone = [*(memory.plans.keys() - plans), *(memory.runs.keys() - runs), *(memory.asks.keys() - asks)]
    for key in sorted(set(gone)):
        memory = memory._with_change(
            now, "forget", key, Provenance(kind="static"), _plan_summary(memory.plans.get(key))
        )
    return memory._with_update(plans=plans, runs=runs, asks=asks) if gone else memory


def with_defaults(memory: ContextMemory, definitions: Definitions, now: datetime) -> ContextMemory:
    """Return the memory with the default of each info that nobody told, and without defaults of older definitions."""
    defaults, source = definitions.default_hashes, Provenance(kind="default")
    for key, item in memory.items.items():
        if item.is_default and item.hash != defaults.get(key):
            items = {name: each for name, each in memory.items.items() if name != key}
            memory = memory._with_change(now, "forget", key, item.source, item.value, items=items)
    for key, hash in defaults.items():
        # A told value that is pending for a reason is asked for again; the default does not replace it.
        before = memory.items.get(key)
        if before is None or (before.status == "pending" and before.value is None):
            value = jsonable(definitions.info(key).default)
            item = InfoEntry(value=value, hash=hash, version=memory.version + 1, source=source, observed_at=now)
            items = {**memory.items, key: item}
            memory = memory._with_change(now, "observe", key, source, None, value, items=items)
    return memory


def memory_to_json(memory: ContextMemory) -> JsonObject:
    """Return a memory as it is stored. `memory_from_json` reads it."""
    return memory.model_dump(mode="json", exclude={"log"}) | {"history": list(memory.log)}


def shorten(value: object, most: int = MAX_VALUE_BYTES) -> Any:
    """Return the value, or the beginning of its JSON if that is longer than the maximum."""
    text = canonical(value)
    return value if len(text) <= most else f"{text[:most].decode(errors='ignore')}…"


EMPTY_HASH = digest(None)


def _apply_op(memory: ContextMemory, op: MemoryOp, info: Info, source: Provenance, now: datetime) -> ContextMemory:
    if op.op == "clear":
        return remove_values(memory, [op.key], source, now, "clear")
    if op.op == "not_needed":
        return store_value(memory, info, None, source, now, op.op, {}, "not_needed")
    return store_value(memory, info, jsonable(op.value), source, now, op.op, {})


def store_value(
    memory: ContextMemory,
    info: Info,
    value: object,
    source: Provenance,
    now: datetime,
    op: str,
    inputs: dict[str, str],
    status: Literal["collected", "not_needed"] = "collected",
) -> ContextMemory:
    """Return the memory with a value, which is not checked against its info."""
    before, hash = memory.items.get(info.key), digest(value)
    is_same = before is not None and (before.status, before.hash) == (status, hash)
    if before and is_same and (op == "not_needed" or info.kind == "static"):
        return memory
    # A person who tells the default takes it over; the value is the same, so nothing becomes obsolete.
    is_repeated = is_same and not (before and before.is_default)
    item = InfoEntry(
        value=value,
        hash=hash,
        version=before.version if before and is_same else memory.version + 1,
        status=status,
        source=before.source if before and is_repeated else source,
        observed_at=now,
        fresh_until=now + timedelta(seconds=info.ttl) if info.ttl is not None and status == "collected" else None,
        inputs=inputs,
    )
    items = {**memory.items, info.key: item}
    if is_repeated:
        return memory._with_update(items=items)
    return memory._with_change(now, op, info.key, source, before and before.value, value, items=items)


def remove_values(
    memory: ContextMemory, keys: Iterable[str], source: Provenance, now: datetime, op: str = "forget"
) -> ContextMemory:
    """Return the memory without the values of these infos."""
    gone = {key: memory.items[key] for key in keys if key in memory.items and not memory.items[key].is_default}
    if not gone:
        return memory
    items = {key: item for key, item in memory.items.items() if key not in gone}
    for key, item in gone.items():
        memory = memory._with_change(now, op, key, source, item.value, items=items)
    return memory


def _is_exclusive_to(definitions: Definitions, key: str, own: set[str]) -> bool:
    info, users = definitions.infos_by_key.get(key), {each.id for each in definitions.consumers(key)}
    return info is not None and info.scope == "thread" and info.kind != "static" and bool(users) and users <= own


def _thread_inputs(definitions: Definitions, executing: Iterable[str]) -> set[str]:
    products = {key for name in executing for each in definitions.workflow_actions(name) for key in each.produces}
    gone: set[str] = set()
    for info in definitions.ordered_infos:
        is_given = info.kind == "ask" or not gone.isdisjoint(info.sources)
        if is_given and info.scope == "thread" and info.key not in products:
            gone.add(info.key)
    return gone


def _is_defined(definitions: Definitions, plan: Plan) -> bool:
    maker = definitions.actions_by_id.get(plan.action_id)
    if maker is None or definitions.plan_of(maker) is not maker or maker.workflow != plan.workflow:
        return False
    return plan.status != "executing" or definitions.apply_of(maker) is not None


def _plan_summary(plan: Plan | None) -> JsonObject | None:
    return {"version": plan.version, "status": plan.status} if plan else None


def _trim_history(log: tuple[JsonObject, ...]) -> tuple[JsonObject, ...]:
    if len(log) <= MAX_HISTORY:
        return log
    newest = {change["key"]: change["number"] for change in log}
    for place, change in enumerate(log):
        if newest[change["key"]] != change["number"]:
            return log[:place] + log[place + 1 :]
    return log
