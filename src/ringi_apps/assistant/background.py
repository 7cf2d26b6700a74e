"""The background agents of an assistant: planning, asking and executing, each in a thread of its own.

Each ends by sending an event to the conversation. After a crash a node is repeated, so its event may be sent twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypedDict

from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphBubbleUp
from langgraph.graph import END, START, StateGraph

from ringi import Action as RequestAction
from ringi import Form, MultiSelect, Request, Select, TextArea, ask
from ringi.base import OutageError, jsonable, report_outages
from ringi.domain import Decision
from ringi.errors import ConflictError, ForbiddenError
from ringi.forms import MAX_OPTIONS, check_json
from ringi.runs import RunContext, run_context
from ringi_apps.assistant.declarations import ANY, Info, in_language
from ringi_apps.assistant.event_context import BACKGROUND_PREFIX
from ringi_apps.assistant.explanations import display_name
from ringi_apps.assistant.handlers import HandlerError, Scope
from ringi_apps.assistant.jobs import PlanJob, StepJob, error_text, run_workflow
from ringi_apps.assistant.plans import Step, content_hash, format_step_key
from ringi_apps.assistant.sentences import ANY_TEXT, sentence
from ringi_apps.assistant.settings import AssistantSettings
from ringi_apps.assistant.stored_values import check_inputs_fit, is_valid

MAX_GRAPH_STEPS = 10_000
VALUE_FIELD = "value"
"""The only field of a form whose answer is not an object."""
DEFINITION_KEYS = ("$schema", "$defs", "definitions")
"""The keys that are valid only at the top level of a JSON Schema."""
APPROVAL_DECISIONS: tuple[Decision, ...] = ("approve", "edit", "reject")
CONFIRMATION_DECISIONS: tuple[Decision, ...] = ("approve", "reject")
STEP_SCHEMA = {
    "type": "object",
    "properties": {
        "id": {"type": "string", "pattern": r"^[^:\s]+$", "maxLength": 64},
        "title": {"type": "string"},
        "action": {"type": "string"},
        "args": {"type": "object"},
    },
    "required": ["id", "title"],
    "additionalProperties": False,
}
CONTENT_SCHEMA = {
    "type": "object",
    "properties": {"plan": {}, "steps": {"type": "array", "items": STEP_SCHEMA}},
    "required": ["plan", "steps"],
    "additionalProperties": False,
}
"""The JSON Schema of a plan that a person edits."""


class BackgroundRun(TypedDict, total=False):
    """The graph state of a background thread."""

    job: dict[str, Any]
    event: dict[str, Any]
    options: list[dict[str, Any]]
    done: int


def build_plan_graph(assistant: AssistantSettings) -> Any:
    """Return the graph of the plan agent."""

    async def plan(state: BackgroundRun, config: RunnableConfig) -> BackgroundRun:
        job = read_job(state, config)
        about = {"plan": job["plan"], "version": job["version"]}
        action = assistant.definitions.action(job["action"])
        try:
            check_inputs_fit(assistant.definitions, job["inputs"])
            feedback, new = tuple(job["feedback"]), tuple(job["new_feedback"])
            work = PlanJob(job["inputs"], feedback, job["previous"], job["version"], job["language"], new)
            draft = jsonable(await run_workflow(assistant.workflows[str(action.workflow)], work))
            check_json(draft, field="draft")
        except (GraphBubbleUp, OutageError):
            raise
        except Exception as error:
            return {"event": {"type": "plan_failed", **about, "error": error_text(error, job["language"])}}
        return {"event": {"type": "planned", **about, "draft": draft}}

    return compile_with_report(
        assistant, StateGraph(BackgroundRun).add_node("plan", plan).add_edge(START, "plan"), "plan"
    )


def build_ask_graph(assistant: AssistantSettings) -> Any:
    """Return the graph of the agent that asks people for an info or for the approval of a plan."""

    async def look_up(state: BackgroundRun, config: RunnableConfig) -> BackgroundRun:
        job, host = read_job(state, config), run_context(config)
        info = assistant.definitions.infos_by_key.get(job.get("info", ""))
        if info is None or info.choices is None:
            return {"options": []}
        # A model may only narrow the options.
        choices = replace(info.choices, filters={**job["filters"], **info.choices.filters})
        if job["max_items"]:
            choices = replace(choices, max_items=min(job["max_items"], choices.max_items))
        try:
            found = await assistant.handlers.options(choices, handler_scope(host), job["language"])
        except HandlerError as error:
            return {"event": {"type": "answered", "info": info.key, "status": "unanswered", "why": str(error)}}
        return {"options": [option.model_dump(mode="json") for option in found]}

    async def put(state: BackgroundRun) -> BackgroundRun:
        job = state["job"]
        if "info" in job:
            info = assistant.definitions.info(job["info"])
            return {"event": answer_event(info, ask_for_info(assistant, info, state))}
        return {"event": decision_event(job, ask_for_approval(assistant, job))}

    graph = StateGraph(BackgroundRun).add_node("look_up", look_up).add_node("ask", put).add_edge(START, "look_up")
    graph.add_conditional_edges("look_up", lambda state: "tell" if "event" in state else "ask", ["ask", "tell"])
    return compile_with_report(assistant, graph, "ask")


def build_execute_graph(assistant: AssistantSettings) -> Any:
    """Return the graph of the agent that executes approved plans, step by step."""

    async def step(state: BackgroundRun, config: RunnableConfig) -> BackgroundRun:
        job, number = read_job(state, config), state.get("done", 0)
        about = {"plan": job["plan"], "version": job["version"]}
        left = [each for each in job["steps"] if each["id"] not in job["done"]]
        if number >= len(left):
            return {"event": {"type": "executed", **about}}
        one, action = left[number], assistant.definitions.action(job["action"])
        key = format_step_key(job["plan"], job["version"], one["id"])
        try:
            check_inputs_fit(assistant.definitions, job["inputs"])
            work = StepJob(one, key, job["content"], job["inputs"], job["language"])
            await run_workflow(assistant.workflows[str(action.workflow)], work)
        except (GraphBubbleUp, OutageError):
            raise
        except Exception as error:
            why = f"{one['title']}: {error_text(error, job['language'])}"
            await send_event(assistant, run_context(config), job, {"type": "execution_failed", **about, "error": why})
            # The run fails too, so that an operator can retry this step under the same key.
            raise
        return {"event": {"type": "step", **about, "step": one["id"]}, "done": number + 1}

    def ahead(state: BackgroundRun) -> str:
        return END if state["event"]["type"] == "executed" else "step"

    graph = StateGraph(BackgroundRun).add_node("step", step).add_node("tell", report_node(assistant))
    graph.add_edge(START, "step").add_edge("step", "tell").add_conditional_edges("tell", ahead, ["step", END])
    return graph.compile().with_config(recursion_limit=MAX_GRAPH_STEPS)


def compile_with_report(assistant: AssistantSettings, graph: StateGraph[BackgroundRun], last_node: str) -> Any:
    """Return the compiled graph, with a final node that sends its event to the conversation."""
    return graph.add_node("tell", report_node(assistant)).add_edge(last_node, "tell").add_edge("tell", END).compile()


def report_node(assistant: AssistantSettings) -> Any:
    """Return the node that sends a background thread's event to the conversation."""

    async def tell(state: BackgroundRun, config: RunnableConfig) -> BackgroundRun:
        await send_event(assistant, run_context(config), state["job"], state["event"])
        return {}

    return tell


async def send_event(
    assistant: AssistantSettings, host: RunContext, job: dict[str, Any], event: dict[str, Any]
) -> None:
    """Send an event to the conversation, waiting while it is busy."""
    runner, backend = host.runner, host.runner.backend
    by = f"{BACKGROUND_PREFIX}{host.key.id}"
    with report_outages():
        thread = await runner.get(host.key.tenant, job["conversation"])
    async with backend.notifier.subscribe(thread.topic) as wakeup:
        while True:
            try:
                with report_outages():
                    await runner.start(thread.tenant, thread.id, assistant.name, {"event": event}, by=by)
            except ConflictError as error:
                if error.code != "busy":
                    raise
                await wakeup.wait(backend.notifier.recheck_after)
            else:
                return


def ask_for_info(assistant: AssistantSettings, info: Info, state: BackgroundRun) -> Request:
    """Ask a person for an info."""
    language = state["job"]["language"]
    context = {"assistant": assistant.name, "info": info.key, "conversation": state["job"]["conversation"]}
    if info.scope == "user":
        context["memory_category"] = info.key
    hint = sentence("may_be_any").in_language(language) if info.may_be_any else ""
    title, about = info.name_in(language), "\n\n".join(filter(None, [in_language(info.description, language), hint]))
    options = {"form": info.form} if info.form else build_form(info, state.get("options") or [], title, language)
    return ask(title, description=about or None, context=context, **options)


def build_form(info: Info, options: list[dict[str, Any]], title: str, language: str) -> dict[str, Any]:
    """Return the form or schema of a question about an info."""
    if info.choices:
        kind = MultiSelect if info.schema.get("type") == "array" else Select
        if info.may_be_any and kind is Select:
            others = [option for option in options if option.get("value") != ANY]
            options = [*others[: MAX_OPTIONS - 1], {"value": ANY, "label": ANY_TEXT[language]}]
        return {"form": Form([kind(VALUE_FIELD, label=title, options=options, required=True)])}
    if not info.schema or dict(info.schema) == {"type": "string"}:
        return {"form": Form([TextArea(VALUE_FIELD, label=title, required=True)])}
    if info.schema.get("type") == "object":
        return {"schema": inline_refs(info.schema, info.schema)}
    field = inline_refs(info.schema, info.schema)
    return {"schema": {"type": "object", "properties": {VALUE_FIELD: field}, "required": [VALUE_FIELD]}}


def inline_refs(part: Any, schema: Mapping[str, Any]) -> Any:
    """Return a part of a schema with its references replaced by their definitions, as it is no longer at the top."""
    if isinstance(part, list):
        return [inline_refs(each, schema) for each in part]
    if not isinstance(part, Mapping):
        return part
    left = ("$ref", *DEFINITION_KEYS) if part is schema else ("$ref",) if isinstance(part.get("$ref"), str) else ()
    own = {key: inline_refs(each, schema) for key, each in part.items() if key not in left}
    if not isinstance(part.get("$ref"), str):
        return own
    _, where, name = part["$ref"].split("/")
    return {**inline_refs(schema[where][name], schema), **own}


def answer_event(info: Info, request: Request) -> dict[str, Any]:
    """Return the event of a question that was answered or ended without an answer."""
    response = request.response
    event = {"type": "answered", "info": info.key, "request": request.id, "status": "unanswered"}
    if response is None or response.decision not in ("approve", "edit") or response.data is None:
        return event
    return event | {"status": "answered", "value": answer_value(info, response.data), "by": response.responder}


def answer_value(info: Info, data: dict[str, Any]) -> Any:
    """Return the info's value from the data of an answer."""
    # If the definition has changed since the question, the answer may be that of one field or of a whole form.
    is_whole = info.form is not None or info.schema.get("type") == "object"
    if not is_whole or info.choices:
        return data.get(VALUE_FIELD, data)
    return data if data.keys() != {VALUE_FIELD} or is_valid(info, data) else data[VALUE_FIELD]


def ask_for_approval(assistant: AssistantSettings, job: dict[str, Any]) -> Request:
    """Ask a person to approve a plan. The plan's content is the arguments of the request's action."""
    action, language = assistant.definitions.action(job["action"]), job["language"]
    context = {"assistant": assistant.name, "conversation": job["conversation"]}
    context |= {"plan": job["plan"], "version": job["version"]}
    changed = [display_name(key, assistant.definitions, language) for key in job["pinned"]]
    defaults = job["defaults"]
    paragraphs = [
        in_language(action.description, language),
        *([sentence("pinned", what=changed).in_language(language)] if changed else []),
        *([sentence("defaults", what=defaults).in_language(language)] if defaults else []),
    ]
    return ask(
        f"{action.name_in(language)} · v{job['version']}",
        kind="approval",
        description="\n\n".join(filter(None, paragraphs)) or None,
        action=RequestAction(str(action.workflow), approval_content(job), schema=CONTENT_SCHEMA),
        # The values of a confirmed action are changed in the conversation, so that they stay valid.
        allowed=CONFIRMATION_DECISIONS if action.confirmed else APPROVAL_DECISIONS,
        context=context,
    )


def decision_event(job: dict[str, Any], request: Request) -> dict[str, Any]:
    """Return the event of a decision on a plan. The hash is computed from the content that the person saw."""
    about = {"plan": job["plan"], "version": job["version"], "request": request.id}
    response = request.response
    if request.granted is None or response is None:
        details = {"by": response.responder, "text": response.message} if response else {"by": None, "text": None}
        return {"type": "rejected" if response else "lapsed", **about, **details}
    steps = [Step.model_validate(each) for each in job["steps"]]
    approved_hash = content_hash(job["plan"], job["version"], job["content"], steps)
    edited = None if request.granted.args == approval_content(job) else request.granted.args
    return {"type": "approved", **about, "by": response.responder, "hash": approved_hash, "edited": edited}


def approval_content(job: dict[str, Any]) -> dict[str, Any]:
    """Return the part of a plan that a person approves."""
    return {"plan": job["content"], "steps": job["steps"]}


def read_job(state: BackgroundRun, config: RunnableConfig) -> dict[str, Any]:
    """Return the job, or raise unless the conversation that the job names started this run."""
    job, by = state["job"], run_context(config).by
    if by != f"{BACKGROUND_PREFIX}{job.get('conversation')}":
        raise ForbiddenError(f"only a conversation starts this agent, not {by!r}: run the action in the conversation")
    return job


def handler_scope(host: RunContext) -> Scope:
    """Return the scope of handler results: the conversation and its background threads."""
    return Scope(host.key.tenant, host.key.id.partition("~")[0])
