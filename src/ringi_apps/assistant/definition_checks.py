"""The faults that an assistant's definitions can have; each names the definition and the remedy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter

from ringi.errors import FieldError, InvalidError
from ringi.forms import check_instance, check_schema
from ringi_apps.assistant.catalog import Catalog
from ringi_apps.assistant.declarations import ActionDefinition, Info

KINDS = ("plan", "apply", "selector", "immediate", "cancel")
SCOPES = ("thread", "user")
SOURCE_FIELDS = ("handler", "derive", "value")
RESERVED_CHARS = ":/"
STATUSES = {
    "plan": ("planning", "planned", "executing", "completed", "obsolete", "failed", "cancelled"),
    "apply": ("executing", "completed", "failed"),
    "immediate": ("completed", "failed"),
}
"""The statuses that a workflow can have, by the kind of its action. Workflows of other kinds never run."""


def find_faults(definitions: Catalog) -> Iterator[FieldError]:
    """Yield the faults of names and references, and only if there are none, the cycles."""
    found = [*_name_faults(definitions), *_info_faults(definitions), *_action_faults(definitions)]
    yield from found or _cycles(definitions)


def _name_faults(definitions: Catalog) -> Iterator[FieldError]:
    for what, names in (
        ("info", [each.key for each in definitions.infos]),
        ("action", [each.id for each in definitions.actions]),
        ("handler", [each.name for each in definitions.handlers]),
        ("workflow", [each.workflow for each in definitions.actions if each.workflow is not None]),
    ):
        for name, count in Counter(names).items():
            if count > 1:
                yield FieldError(f"{what} {name!r}", f"is defined {count} times: rename or remove all but one")
            if not name or any(mark in name for mark in RESERVED_CHARS):
                yield FieldError(
                    f"{what} {name!r}", f"is not a valid name: use text without {' and '.join(RESERVED_CHARS)}"
                )


def _info_faults(definitions: Catalog) -> Iterator[FieldError]:
    for info in definitions.infos:
        where = f"info {info.key!r}"
        for message in (*_source_faults(info), *_value_faults(info), *_reference_faults(definitions, info)):
            yield FieldError(where, message)
        yield from _info_schema_faults(info, where)


def _source_faults(info: Info) -> Iterator[str]:
    source_fields = [way for way in SOURCE_FIELDS if getattr(info, way) is not None]
    if len(source_fields) > 1:
        yield f"has {' and '.join(source_fields)}: keep only one of them"
    if info.kind != "ask" and (info.form is not None or info.choices is not None):
        yield f"is never asked, as it has {source_fields[0]}, but has a form or choices: remove one of them"
    if info.derive is not None and not info.inputs:
        yield "has derive but no inputs: name its inputs"
    if info.inputs and info.derive is None:
        yield f"has inputs {_quoted_list(info.inputs)} and no derive: add the function, or remove the inputs"


def _value_faults(info: Info) -> Iterator[str]:
    if info.ttl is not None and info.ttl <= 0:
        yield f"has ttl {info.ttl}: give seconds above 0, or None"
    if info.ttl is not None and info.derive is not None:
        yield "is derived and cannot have a ttl: set it on its inputs, or use max_age where it is required"
    if info.scope not in SCOPES:
        yield f"has scope {info.scope!r}: use one of {_quoted_list(SCOPES)}"
    if info.default is not None and info.kind != "ask":
        yield f"has a default, but is {info.kind}, so its value never depends on people: remove the default"
    if info.migrate is not None and info.kind != "ask":
        yield f"has migrate, but is {info.kind}, so its value is obtained again: remove migrate"
    if info.may_be_any and info.kind != "ask":
        yield f"may be any, but is {info.kind}, so its value never depends on people: remove may_be_any"
    if info.choices and info.choices.max_items < 1:
        yield f"has max_items {info.choices.max_items}: use at least 1"


def _reference_faults(definitions: Catalog, info: Info) -> Iterator[str]:
    known = {each.key for each in definitions.infos}
    if maker := definitions.sole_producers.get(info.key):
        if info.default is not None:
            yield f"has a default, but action {maker.id!r} produces it: remove the default"
        if info.may_be_any:
            yield f"may be any, but action {maker.id!r} produces it: remove may_be_any"
    for key in info.builds_on:
        if key not in known:
            yield f"is made from info {key!r}, which is not defined: {_suggestion(known)}"
    if info.handler is not None:
        yield from _handler_call_faults(definitions, info.handler, info.params)
    if info.choices is not None:
        yield from _handler_call_faults(definitions, info.choices.handler, info.choices.params)


def _handler_call_faults(definitions: Catalog, name: str, params: Mapping[str, object]) -> Iterator[str]:
    handler = definitions.handlers_by_name.get(name)
    if handler is None:
        yield f"calls handler {name!r}, which is not defined: {_suggestion(definitions.handlers_by_name)}"
        return
    for param in handler.required_params:
        if param not in params:
            yield f"calls handler {name!r} without its parameter {param!r}: add it to params"


def _info_schema_faults(info: Info, where: str) -> Iterator[FieldError]:
    found = list(_schema_faults(info.schema, f"{where} schema"))
    yield from found
    for name, value in (("value", info.value), ("default", info.default)):
        if info.schema and value is not None and not info.is_any(value) and not found:
            try:
                check_instance(dict(info.schema), value, field=f"{where} {name}")
            except InvalidError as error:
                yield from error.errors


def _schema_faults(schema: Mapping[str, object], where: str) -> Iterator[FieldError]:
    if schema:
        try:
            check_schema(dict(schema), field=where)
        except InvalidError as error:
            yield from error.errors


def _action_faults(definitions: Catalog) -> Iterator[FieldError]:
    for action in definitions.actions:
        where = f"action {action.id!r}"
        for message in (*_kind_faults(definitions, action), *_requirement_faults(definitions, action)):
            yield FieldError(where, message)
        if action.schema and action.kind != "immediate":
            yield FieldError(
                where, f"has a schema, but only an immediate action takes arguments, not a {action.kind}: remove it"
            )
        if action.schema.get("type", "object") != "object":
            yield FieldError(
                f"{where} schema", f"is of type {action.schema['type']!r}: arguments are an object, so use 'object'"
            )
        yield from _schema_faults(action.schema, f"{where} schema")


def _kind_faults(definitions: Catalog, action: ActionDefinition) -> Iterator[str]:
    if action.kind not in KINDS:
        yield f"has kind {action.kind!r}: use one of {_quoted_list(KINDS)}"
    if action.kind in ("plan", "apply") and action.workflow is None:
        yield f"is a {action.kind} without a workflow: name it"
    if action.kind == "selector" and action.info is None and action.handler is None:
        yield "is a selector without an info: name it"
    plans = [each.id for each in definitions.plans_of(action)]
    if action.confirmed:
        yield from _confirmed_faults(definitions, action, plans)
    elif action.kind == "apply" and len(plans) != 1:
        which = _quoted_list(plans) if plans else "no plan"
        yield f"applies {which}: make it depend on exactly one action of kind 'plan'"
    if action.kind == "immediate" and action.transactional:
        yield "is transactional and immediate, so nobody could approve it: make it an 'apply' that depends on a plan"
    if action.kind == "plan":
        yield from _apply_faults(definitions, action)


def _confirmed_faults(definitions: Catalog, action: ActionDefinition, plans: list[str]) -> Iterator[str]:
    if action.kind != "apply":
        yield f"is confirmed, but only an 'apply' can be, not a {action.kind}: remove confirmed"
    if plans:
        yield f"is confirmed, so it plans itself, but it also applies {_quoted_list(plans)}: remove one of them"
    if not definitions.required_needs[action.id]:
        yield "is confirmed, but requires no info, so there is nothing to confirm: name what it requires"
    if action.produces:
        yield f"is confirmed and produces {_quoted_list(action.produces)}, but has no result: remove produces"


def _apply_faults(definitions: Catalog, plan: ActionDefinition) -> Iterator[str]:
    appliers = [each.id for each in definitions.actions if plan in definitions.plans_of(each)]
    if len(appliers) > 1:
        yield f"is applied by {len(appliers)} actions, {_quoted_list(appliers)}: keep one, or define a plan for each"


def _requirement_faults(definitions: Catalog, action: ActionDefinition) -> Iterator[str]:
    infos = {each.key for each in definitions.infos}
    for key, count in Counter(need.info for need in action.needs).items():
        if key not in infos:
            yield f"requires info {key!r}, which is not defined: {_suggestion(infos)}"
        if count > 1:
            yield f"requires info {key!r} {count} times: keep one"
    for verb, keys in (("produces", action.produces), ("sets", (action.info,) if action.info is not None else ())):
        for key in keys:
            if key not in infos:
                yield f"{verb} info {key!r}, which is not defined: {_suggestion(infos)}"
    yield from _keep_faults(definitions, action)
    yield from _selector_faults(definitions, action)
    yield from _order_faults(definitions, action)


def _keep_faults(definitions: Catalog, action: ActionDefinition) -> Iterator[str]:
    if action.keep and action.kind != "apply":
        yield f"keeps {_quoted_list(action.keep)}, but only a completed 'apply' clears values: name them there"
    for key in action.keep:
        if key not in definitions.infos_by_key:
            yield f"keeps info {key!r}, which is not defined: {_suggestion(definitions.infos_by_key)}"
        elif key in definitions.plan_actions:
            yield f"keeps info {key!r}, the plan of {definitions.plan_actions[key].id!r}: remove it"


def _selector_faults(definitions: Catalog, action: ActionDefinition) -> Iterator[str]:
    info = definitions.infos_by_key.get(action.info or "")
    if action.kind != "selector" or info is None:
        return
    if info.kind != "ask":
        yield f"sets info {info.key!r}, which is {info.kind}, so people are not asked for it: use an asked info"
    if info.key in definitions.plan_actions:
        yield f"sets info {info.key!r}, the plan of {definitions.plan_actions[info.key].id!r}: use an asked info"


def _order_faults(definitions: Catalog, action: ActionDefinition) -> Iterator[str]:
    for id in action.depends_on:
        if id not in definitions.actions_by_id:
            yield f"depends on action {id!r}, which is not defined: {_suggestion(definitions.actions_by_id)}"
        elif (kind := definitions.actions_by_id[id].kind) not in STATUSES:
            yield f"depends on action {id!r}, but a {kind} is never completed: require the info that it sets instead"
    workflows = {each.workflow for each in definitions.actions if each.workflow is not None}
    for requirement in action.requires_workflow:
        if requirement.workflow not in workflows:
            yield f"requires workflow {requirement.workflow!r}, which no action has: {_suggestion(workflows)}"
        elif requirement.status not in (known := STATUSES.get(definitions.workflows[requirement.workflow].kind, ())):
            use = f"use one of {_quoted_list(known)}" if known else "require the info that it sets instead"
            needed = f"workflow {requirement.workflow!r} to be {requirement.status!r}"
            yield f"requires {needed}, which it never is: {use}"


def _cycles(definitions: Catalog) -> Iterator[FieldError]:
    infos = {each.key: each.builds_on for each in definitions.infos}
    of_workflow = {each.workflow: each.id for each in definitions.actions}
    actions = {
        each.id: [
            *each.depends_on,
            *(of_workflow[requirement.workflow] for requirement in each.requires_workflow),
            *(definitions.plan_actions[need.info].id for need in each.needs if need.info in definitions.plan_actions),
        ]
        for each in definitions.actions
    }
    for where, before, fault in (
        ("infos", infos, "are made from each other: remove one of the references"),
        ("actions", actions, "wait for each other: remove one of the dependencies"),
    ):
        try:
            TopologicalSorter(before).prepare()
        except CycleError as error:
            yield FieldError(where, f"{' → '.join(map(repr, error.args[1]))} {fault}")


def _suggestion(names: Iterable[str]) -> str:
    suggestions = sorted(names)[:10]
    return f"define it, or use one of {_quoted_list(suggestions)}" if suggestions else "define it"


def _quoted_list(names: Iterable[str]) -> str:
    return ", ".join(repr(name) for name in names)
