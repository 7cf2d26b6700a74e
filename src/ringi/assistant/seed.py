"""Reads and writes context memories and action definitions in the JSON format of the first design.

`load_memory` and `load_actions` turn such a document into `Definitions` and a `ContextMemory`. `memory_document` and
`actions_document` write them back. Fields that Ringi computes (whether an action is enabled, how much is collected)
are written but not read, as a stored copy may be wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import groupby
from typing import Any, Literal, NamedTuple, TypeAlias

from pydantic import ConfigDict
from pydantic.alias_generators import to_camel

from ringi.assistant import memory as memories
from ringi.assistant import plans
from ringi.assistant.declarations import Action, Info, Needs, WorkflowNeeds, in_language
from ringi.assistant.definitions import Definitions
from ringi.assistant.freshness import Freshness
from ringi.assistant.memory import ContextMemory, InfoEntry, Provenance
from ringi.assistant.plans import Feedback, Plan, Status
from ringi.assistant.views import CONVERSATION_SOURCE, memory_view
from ringi.base import StrictModel
from ringi.domain import SYSTEM, parse_body

Json: TypeAlias = dict[str, Any]
Kind: TypeAlias = Literal["plan", "apply", "selector", "immediate", "cancel"]


class _SeedModel(StrictModel):
    model_config = ConfigDict(alias_generator=to_camel)


class SeedRequiredInfo(_SeedModel):
    """One entry of `requiredInfoList`."""

    type: str
    description: str = ""
    status: Literal["pending", "collected", "not_needed"] = "pending"
    source: str | None = None


class SeedCurrentInfo(_SeedModel):
    """One entry of `currentInfoList`: a known value with its time and source."""

    type: str
    value: Any
    timestamp: datetime
    source: str


class SeedPlanData(_SeedModel):
    """The `planData` of a context memory."""

    status: Literal["none", "planning", "planned", "executing", "completed"] = "none"
    plan: Any = None
    feedback: tuple[str, ...] = ()
    last_updated: datetime | None = None


class SeedAvailableAction(_SeedModel):
    """One entry of `availableActions`."""

    id: str
    type: Kind
    label: str
    description: str = ""
    enabled: bool = False
    required_info: tuple[str, ...] = ()
    workflow_name: str | None = None
    handler: str | None = None


class MemoryDocument(_SeedModel):
    """A context memory: required infos, known values, the plan and the actions."""

    required_info_list: tuple[SeedRequiredInfo, ...] = ()
    current_info_list: tuple[SeedCurrentInfo, ...] = ()
    plan_data: SeedPlanData = SeedPlanData()
    available_actions: tuple[SeedAvailableAction, ...] = ()


class SeedInfoStatus(_SeedModel):
    """The `requiredInfoStatus`: the infos, and how many of them have a value."""

    info_types: tuple[str, ...] = ()
    collected_count: int = 0
    total_count: int = 0


class RequiredTypes(_SeedModel):
    """The long form of a requirement: infos with a description."""

    info_types: tuple[str, ...]
    description: str = ""
    optional: bool = False


class RequiredStatus(_SeedModel):
    """A status that another workflow must have."""

    workflow_name: str
    status: str
    description: str = ""


class WorkflowDependency(_SeedModel):
    """The workflows and statuses that one workflow depends on."""

    workflow_name: str
    depends_on: tuple[str, ...] = ()
    required_status: tuple[RequiredStatus, ...] = ()
    description: str = ""


class DefinedAction(_SeedModel):
    """One entry of `actions`. Its `requiredInfo` may have the long form or the short form."""

    name: str
    workflow_name: str
    action_handler: str
    required_info: tuple[RequiredTypes | str, ...] = ()
    immediate_execution: bool = False
    dependencies: tuple[str, ...] = ()


class ActionsDocument(_SeedModel):
    """An action definition: the infos, the planned data, the dependencies and the actions."""

    required_info_status: SeedInfoStatus = SeedInfoStatus()
    planned_data: dict[str, Any] | None = None
    workflow_dependencies: tuple[WorkflowDependency, ...] = ()
    actions: tuple[DefinedAction, ...] = ()


class SeedData(NamedTuple):
    """The definitions and the memory that a document contains."""

    definitions: Definitions
    memory: ContextMemory


def load_memory(document: Json, now: datetime) -> SeedData:
    """Return the definitions and the memory of a context memory document; raise `InvalidError` if it is malformed.

    `now` is the time of entries that have none.
    """
    parsed = parse_body(MemoryDocument, document)
    definitions = _definitions_of(parsed)
    memory = ContextMemory()
    for known in parsed.current_info_list:
        source, at = _source(known.source), known.timestamp
        memory = memories.record_value(memory, known.type, known.value, source, at, definitions)
    memory = _with_the_rest(memory, parsed.required_info_list, now)
    action = next((each for each in definitions.actions if each.kind == "plan"), None)
    if action is None or parsed.plan_data.status == "none":
        return SeedData(definitions, memory)
    return SeedData(definitions, _with_plan(memory, definitions, action, parsed.plan_data, now))


def load_actions(document: Json, now: datetime, known: ContextMemory | None = None) -> SeedData:
    """Return the definitions of an action document, and the memory `known` with the document's planned data.

    `now` is the time of the planned data. Raises `InvalidError` if the document is malformed.
    """
    parsed = parse_body(ActionsDocument, document)
    definitions, memory = _defined_by(parsed), known or ContextMemory()
    for key, content in (parsed.planned_data or {}).items():
        action = definitions.plan_actions.get(key)
        if action is not None:
            data = SeedPlanData(status="planned", plan=content, last_updated=now)
            memory = _with_plan(memory, definitions, action, data, now)
    return SeedData(definitions, memory)


def memory_document(definitions: Definitions, memory: ContextMemory, now: datetime, language: str = "ja") -> Json:
    """Return a context memory document. Absent fields are omitted, except those of `planData`.

    `now` is the time at which freshness is computed, `language` that of titles and descriptions.
    """
    view = memory_view(definitions, memory, now, language)
    return {
        "requiredInfoList": [_present(each) for each in view["requiredInfoList"]],
        "currentInfoList": view["currentInfoList"],
        "planData": view["planData"],
        "availableActions": [_present(each) for each in view["availableActions"]],
    }


def actions_document(definitions: Definitions, memory: ContextMemory, now: datetime, language: str = "ja") -> Json:
    """Return an action document, with the number of collected infos and the newest plans."""
    known = Freshness(definitions, memory, now)
    infos = [each.key for each in definitions.infos if each.key not in definitions.plan_actions]
    planned = {
        key: plan.plan
        for key, action in definitions.plan_actions.items()
        if (plan := memory.plans.get(action.workflow or "")) and plan.plan is not None
    }
    waiting = [_dependency(each, language) for each in definitions.actions if each.requires_workflow]
    collected = sum(known.state(key) == "fresh" for key in infos)
    return {
        "requiredInfoStatus": {"infoTypes": infos, "collectedCount": collected, "totalCount": len(infos)},
        "plannedData": planned or None,
        **({"workflowDependencies": waiting} if waiting else {}),
        "actions": [_action(each, language) for each in definitions.actions],
    }


def _definitions_of(document: MemoryDocument) -> Definitions:
    descriptions = {each.type: each.description for each in document.required_info_list}
    keys = dict.fromkeys((*descriptions, *(each.type for each in document.current_info_list)))
    products = _products((each.required_info for each in document.available_actions if each.type == "apply"), keys)
    plan = next((each.id for each in document.available_actions if each.type == "plan"), None)
    actions = [
        Action(
            id=each.id,
            kind=each.type,
            label=each.label,
            description=each.description,
            workflow=each.workflow_name,
            handler=each.handler,
            requires=each.required_info,
            depends_on=(plan,) if plan and each.type == "apply" else (),
            produces=products if each.id == plan else (),
        )
        for each in document.available_actions
    ]
    others = (key for each in actions for key in each.requires if isinstance(key, str))
    return Definitions(_infos((*keys, *others), descriptions), tuple(actions))


def _defined_by(document: ActionsDocument) -> Definitions:
    types = document.required_info_status.info_types
    waiting = {each.workflow_name: each for each in document.workflow_dependencies}
    actions: list[Action] = []
    for each in document.actions:
        requires = tuple(_needs(each.required_info))
        products = _products([] if each.immediate_execution else [_keys(requires)], dict.fromkeys(types))
        if products:
            _let_produce(actions, _plan_before(actions, each, waiting.get(each.workflow_name)), products)
        actions.append(_defined(each, requires, waiting.get(each.workflow_name), is_apply=bool(products)))
    keys = (*types, *(key for each in actions for key in _keys(each.requires)))
    return Definitions(_infos(keys, {}), tuple(actions))


def _defined(
    action: DefinedAction, requires: tuple[Needs | str, ...], waiting: WorkflowDependency | None, *, is_apply: bool
) -> Action:
    wanted = {each: WorkflowNeeds(each) for each in waiting.depends_on} if waiting else {}
    for each in waiting.required_status if waiting else ():
        wanted[each.workflow_name] = WorkflowNeeds(each.workflow_name, each.status, each.description)
    return Action(
        id=action.name,
        kind="immediate" if action.immediate_execution else "apply" if is_apply else "plan",
        label=action.name,
        description=waiting.description if waiting else "",
        workflow=action.workflow_name,
        handler=action.action_handler,
        requires=requires,
        depends_on=action.dependencies,
        requires_workflow=tuple(wanted.values()),
    )


def _plan_before(actions: Sequence[Action], action: DefinedAction, waiting: WorkflowDependency | None) -> Action | None:
    """Return the plan action that an action applies: the one it names, or the nearest before it."""
    plans_before = [each for each in actions if each.kind == "plan"]
    workflows = waiting.depends_on if waiting else ()
    named = [each for each in plans_before if each.id in action.dependencies or each.workflow in workflows]
    found = named or plans_before
    return found[-1] if found else None


def _let_produce(actions: list[Action], plan: Action | None, keys: tuple[str, ...]) -> None:
    if plan is not None:
        actions[actions.index(plan)] = replace(plan, produces=(*plan.produces, *keys))


def _products(required: Iterable[Iterable[str]], known: Iterable[str]) -> tuple[str, ...]:
    """Return the required names that are not infos: each is the name of the plan itself."""
    known = set(known)
    return tuple(dict.fromkeys(key for keys in required for key in keys if key not in known))


def _infos(keys: Iterable[str], descriptions: dict[str, str]) -> tuple[Info, ...]:
    return tuple(
        Info(key, title=descriptions.get(key, ""), description=descriptions.get(key, "")) for key in dict.fromkeys(keys)
    )


def _needs(requirements: Iterable[RequiredTypes | str]) -> Iterable[Needs | str]:
    for each in requirements:
        if isinstance(each, str):
            yield each
        else:
            yield from (Needs(key, each.description, each.optional) for key in each.info_types)


def _keys(requires: Iterable[Needs | str]) -> list[str]:
    return [each if isinstance(each, str) else each.info for each in requires]


def _source(text: str) -> Provenance:
    return Provenance(kind="user") if text == CONVERSATION_SOURCE else Provenance(kind="handler", actor=text)


def _with_the_rest(memory: ContextMemory, listed: Iterable[SeedRequiredInfo], now: datetime) -> ContextMemory:
    """Return the memory with the listed infos that have no value; a claim that they were collected is ignored."""
    items = dict(memory.items)
    for each in listed:
        if each.type not in items and each.source is not None:
            status: Literal["pending", "not_needed"] = "not_needed" if each.status == "not_needed" else "pending"
            items[each.type] = InfoEntry(
                hash=memories.EMPTY_HASH,
                version=memory.version,
                status=status,
                source=_source(each.source),
                observed_at=now,
            )
    return memory.model_copy(update={"items": items})


def _with_plan(
    memory: ContextMemory, definitions: Definitions, action: Action, data: SeedPlanData, now: datetime
) -> ContextMemory:
    at, inputs = data.last_updated or now, Freshness(definitions, memory, now).inputs(action)
    status: Status = data.status
    plan = Plan(
        id=f"loaded/{action.workflow}",
        workflow=action.workflow or action.id,
        action_id=action.id,
        version=1,
        status=status,
        plan=data.plan,
        hash="" if data.plan is None else plans.content_hash(f"loaded/{action.workflow}", 1, data.plan, ()),
        inputs=inputs,
        feedback=tuple(
            Feedback(id=f"loaded-{number}", text=text, by=SYSTEM, at=at) for number, text in enumerate(data.feedback)
        ),
        updated_at=at,
    )
    memory = memories.set_workflow_status(memory.with_plan(plan), plan.workflow, _run_of(status), at)
    source, product = (
        Provenance(kind="derived", actor=plan.workflow),
        {"plan": plan.plan, "version": 1, "hash": plan.hash},
    )
    for key in action.produces if plan.hash else ():
        memory = memories.record_value(memory, key, product, source, at, definitions)
    return memory


def _run_of(status: Status) -> str:
    return "planning" if status == "planning" else "completed"


def _present(fields: Json) -> Json:
    return {key: value for key, value in fields.items() if value is not None}


def _dependency(action: Action, language: str) -> Json:
    wanted = action.requires_workflow
    return {
        "workflowName": action.workflow,
        "dependsOn": [each.workflow for each in wanted],
        "requiredStatus": [
            {
                "workflowName": each.workflow,
                "status": each.status,
                "description": in_language(each.description, language),
            }
            for each in wanted
        ],
        "description": in_language(action.description, language),
    }


def _action(action: Action, language: str) -> Json:
    document: Json = {
        "name": action.name_in(language),
        "workflowName": action.workflow,
        "actionHandler": action.handler,
        "requiredInfo": _required(action, language),
        "immediateExecution": action.kind == "immediate",
    }
    return document | ({"dependencies": list(action.depends_on)} if action.depends_on else {})


def _required(action: Action, language: str) -> list[Any]:
    if all(isinstance(each, str) for each in action.requires):
        return list(action.requires)
    groups = groupby(action.needs, lambda need: (in_language(need.description, language), need.optional))
    return [
        {"infoTypes": [need.info for need in needs], "description": description, "optional": optional}
        for (description, optional), needs in groups
    ]
