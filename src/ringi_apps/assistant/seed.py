"""Reads and writes context memories and action definitions in the JSON format of the first design.

It is for programs that have such documents: nothing in Ringi calls it. `load_memory` and `load_actions` turn a document
into the `Definitions` of an assistant and the `ContextMemory` of a conversation; `context_memory_document` and
`actions_document` write them back unchanged. What Ringi computes (whether an action is enabled, how much is collected)
is written but not read, as a stored copy may be wrong. A required name that is no info is the plan itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple

from pydantic import ConfigDict
from pydantic.alias_generators import to_camel

from ringi.base import JsonObject, StrictModel
from ringi.domain import SYSTEM, parse_body
from ringi_apps.assistant import memory as memories
from ringi_apps.assistant import plans
from ringi_apps.assistant.declarations import ActionDefinition, Info, Needs, WorkflowNeeds, in_language
from ringi_apps.assistant.definitions import Definitions
from ringi_apps.assistant.freshness import Freshness
from ringi_apps.assistant.memory import ContextMemory, InfoEntry, Provenance
from ringi_apps.assistant.models import AvailableAction, CurrentInfo, PlanData, RequiredInfo
from ringi_apps.assistant.views import CONVERSATION_SOURCE, memory_view


class _SeedModel(StrictModel):
    model_config = ConfigDict(alias_generator=to_camel)


class MemoryDocument(_SeedModel):
    """A context memory: required infos, known values, the plan and the actions."""

    required_info_list: tuple[RequiredInfo, ...] = ()
    current_info_list: tuple[CurrentInfo, ...] = ()
    plan_data: PlanData = PlanData()
    available_actions: tuple[AvailableAction, ...] = ()


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


def load_memory(document: JsonObject, now: datetime) -> SeedData:
    """Return the definitions and the memory of a context memory document.

    A claim that an info without a value was collected is ignored.

    Args:
        document: The parsed JSON document.
        now: The time of entries that have none.

    Raises:
        InvalidError: The document is malformed.
    """
    parsed = parse_body(MemoryDocument, document)
    definitions, memory = _definitions_of(parsed), ContextMemory()
    for each in parsed.current_info_list:
        source = _source(each.source)
        memory = memories.record_value(memory, each.type, each.value, source, each.timestamp, definitions)
    entry = partial(InfoEntry, hash=memories.EMPTY_HASH, version=memory.version, observed_at=now)
    unknown = {
        each.type: entry(status="not_needed" if each.status == "not_needed" else "pending", source=_source(each.source))
        for each in parsed.required_info_list
        if each.type not in memory.items and each.source is not None
    }
    memory = memory.model_copy(update={"items": memory.items | unknown})
    plan = next((each for each in definitions.actions if each.kind == "plan"), None)
    if plan is not None and parsed.plan_data.status != "none":
        memory = _with_plan(memory, definitions, plan, parsed.plan_data, now)
    return SeedData(definitions, memory)


def load_actions(document: JsonObject, now: datetime, known: ContextMemory | None = None) -> SeedData:
    """Return the definitions of an action document, and a memory with the document's planned data.

    Args:
        document: The parsed JSON document.
        now: The time of the planned data.
        known: The memory to add to; by default an empty one.

    Raises:
        InvalidError: The document is malformed.
    """
    parsed = parse_body(ActionsDocument, document)
    definitions, memory = _defined_by(parsed), known or ContextMemory()
    for key, content in (parsed.planned_data or {}).items():
        if action := definitions.plan_actions.get(key):
            data = PlanData(status="planned", plan=content)
            memory = _with_plan(memory, definitions, action, data, now)
    return SeedData(definitions, memory)


def context_memory_document(
    definitions: Definitions, memory: ContextMemory, now: datetime, language: str = "ja"
) -> JsonObject:
    """Return a context memory document. Absent fields are omitted, except those of `planData`.

    Args:
        definitions: The definitions of the assistant.
        memory: The memory of the conversation.
        now: The time at which freshness is computed.
        language: The language of titles and descriptions.
    """
    view = memory_view(definitions, memory, now, language).model_dump(mode="json")
    names = ("requiredInfoList", "currentInfoList", "planData", "availableActions")
    lists = {name: [_present(each) for each in view[name]] for name in ("requiredInfoList", "availableActions")}
    return {name: lists.get(name, view[name]) for name in names}


def actions_document(
    definitions: Definitions, memory: ContextMemory, now: datetime, language: str = "ja"
) -> JsonObject:
    """Return an action document, with the number of collected infos and the newest plans.

    Args:
        definitions: The definitions of the assistant.
        memory: The memory of the conversation.
        now: The time at which freshness is computed.
        language: The language of names and descriptions.
    """
    known = Freshness(definitions, memory, now)
    infos = [each.key for each in definitions.infos if each.key not in definitions.plan_actions]
    plans_by_key = {key: memory.plans.get(each.workflow or "") for key, each in definitions.plan_actions.items()}
    planned = {key: plan.plan for key, plan in plans_by_key.items() if plan and plan.plan is not None}
    waiting = [_dependency(each, language) for each in definitions.actions if each.requires_workflow]
    collected = sum(known.state(key) == "fresh" for key in infos)
    return {
        "requiredInfoStatus": {"infoTypes": infos, "collectedCount": collected, "totalCount": len(infos)},
        "plannedData": planned or None,
        **({"workflowDependencies": waiting} if waiting else {}),
        "actions": [_action(each, language) for each in definitions.actions],
    }


def _definitions_of(document: MemoryDocument) -> Definitions:
    infos = {each.type: each.description for each in document.required_info_list}
    infos |= {each.type: "" for each in document.current_info_list if each.type not in infos}
    offered = document.available_actions
    products = tuple(
        dict.fromkeys(key for each in offered if each.type == "apply" for key in each.required_info if key not in infos)
    )
    plan = next((each.id for each in offered if each.type == "plan"), None)
    actions = tuple(
        ActionDefinition(
            id=each.id,
            kind=each.type,
            label=each.label,
            description=each.description,
            workflow=each.workflow_name,
            handler=each.handler,
            requires=tuple(each.required_info),
            depends_on=(plan,) if plan and each.type == "apply" else (),
            produces=products if each.id == plan else (),
        )
        for each in offered
    )
    return Definitions(_infos(infos, (key for each in offered for key in each.required_info)), actions)


def _defined_by(document: ActionsDocument) -> Definitions:
    infos = dict.fromkeys(document.required_info_status.info_types, "")
    waiting = {each.workflow_name: each for each in document.workflow_dependencies}
    actions: list[ActionDefinition] = []
    for each in document.actions:
        after = waiting.get(each.workflow_name)
        requires = tuple(_needs(each.required_info))
        products = () if each.immediate_execution else tuple(key for key in _keys(requires) if key not in infos)
        if products:
            _let_produce(actions, products, {*each.dependencies, *(after.depends_on if after else ())})
        wanted = {name: WorkflowNeeds(name) for name in after.depends_on} if after else {}
        for need in after.required_status if after else ():
            wanted[need.workflow_name] = WorkflowNeeds(need.workflow_name, need.status, need.description)
        actions.append(
            ActionDefinition(
                id=each.name,
                kind="immediate" if each.immediate_execution else "apply" if products else "plan",
                label=each.name,
                description=after.description if after else "",
                workflow=each.workflow_name,
                handler=each.action_handler,
                requires=requires,
                depends_on=each.dependencies,
                requires_workflow=tuple(wanted.values()),
            )
        )
    return Definitions(_infos(infos, (key for each in actions for key in _keys(each.requires))), tuple(actions))


def _let_produce(actions: list[ActionDefinition], products: tuple[str, ...], named: set[str]) -> None:
    """Let the plan that an action applies produce these infos: the one it names, or the nearest before it."""
    before = [each for each in actions if each.kind == "plan"]
    for plan in ([each for each in before if {each.id, each.workflow} & named] or before)[-1:]:
        actions[actions.index(plan)] = replace(plan, produces=(*plan.produces, *products))


def _infos(described: dict[str, str], others: Iterable[str]) -> tuple[Info, ...]:
    texts = {**described, **{key: "" for key in others if key not in described}}
    return tuple(Info(key, title=text, description=text) for key, text in texts.items())


def _needs(requirements: Iterable[RequiredTypes | str]) -> Iterator[Needs | str]:
    for each in requirements:
        if isinstance(each, str):
            yield each
        else:
            yield from (Needs(key, each.description, each.optional) for key in each.info_types)


def _keys(requires: Iterable[Needs | str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each if isinstance(each, str) else each.info for each in requires))


def _source(text: str | None) -> Provenance:
    return Provenance(kind="user") if text == CONVERSATION_SOURCE else Provenance(kind="handler", actor=text)


def _with_plan(
    memory: ContextMemory, definitions: Definitions, action: ActionDefinition, data: PlanData, now: datetime
) -> ContextMemory:
    at, workflow, id = data.last_updated or now, action.workflow or action.id, f"loaded/{action.workflow}"
    hash = "" if data.plan is None else plans.content_hash(id, 1, data.plan, ())
    remark = partial(plans.Feedback, by=SYSTEM, at=at)
    plan = plans.Plan(
        id=id,
        workflow=workflow,
        action_id=action.id,
        version=1,
        status=data.status,
        plan=data.plan,
        hash=hash,
        inputs=Freshness(definitions, memory, now).inputs(action),
        feedback=tuple(remark(id=f"loaded-{number}", text=text) for number, text in enumerate(data.feedback)),
        updated_at=at,
    )
    run = "planning" if data.status == "planning" else "completed"
    memory = memories.set_workflow_status(memory.with_plan(plan), workflow, run, at)
    source, product = Provenance(kind="derived", actor=workflow), {"plan": data.plan, "version": 1, "hash": hash}
    for key in action.produces if hash else ():
        memory = memories.record_value(memory, key, product, source, at, definitions)
    return memory


def _present(fields: JsonObject) -> JsonObject:
    return {key: value for key, value in fields.items() if value is not None}


def _dependency(action: ActionDefinition, language: str) -> JsonObject:
    text, wanted = partial(in_language, language=language), action.requires_workflow
    return {
        "workflowName": action.workflow,
        "dependsOn": [each.workflow for each in wanted],
        "requiredStatus": [
            {"workflowName": each.workflow, "status": each.status, "description": text(each.description)}
            for each in wanted
        ],
        "description": text(action.description),
    }


def _action(action: ActionDefinition, language: str) -> JsonObject:
    groups = groupby(action.needs, lambda need: (in_language(need.description, language), need.optional))
    long = [
        {"infoTypes": [need.info for need in needs], "description": description, "optional": optional}
        for (description, optional), needs in groups
    ]
    is_short = all(isinstance(each, str) for each in action.requires)
    return {
        "name": action.name_in(language),
        "workflowName": action.workflow,
        "actionHandler": action.handler,
        "requiredInfo": list(action.requires) if is_short else long,
        "immediateExecution": action.kind == "immediate",
        **({"dependencies": list(action.depends_on)} if action.depends_on else {}),
    }
