"""Approval of the end of a LangChain agent: it ends when a person confirms that its task is finished."""

from __future__ import annotations

import copy
import functools
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, cast, get_args

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse, hook_config
from langchain.agents.middleware.types import ExtendedModelResponse, OmitFromInput, PrivateStateAttr, ToolCallRequest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage, ToolMessage
from langchain_core.runnables import ensure_config
from langchain_core.tools import BaseTool, InjectedToolCallId, StructuredTool, tool
from langgraph.config import get_stream_writer
from langgraph.errors import GraphBubbleUp, is_invalid_resume
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.managed.is_last_step import RemainingStepsManager
from langgraph.runtime import Runtime
from langgraph.types import Command

from ringi.base.canonical_json import clean_text
from ringi.base.outages import OutageError
from ringi.base.settings import SettingError
from ringi.base.texts import Sentence, reason_of, sentences_text
from ringi.domain.ask import Ask, Decision, Kind, Response, Wording, parse_body
from ringi.domain.thread import FenceError
from ringi.errors import RingiError
from ringi.integrations.finish_words import FinishDecision, parse_finish_decision
from ringi.integrations.langgraph import ask_question
from ringi.runtimes.langgraph.graph_run import run_asks_people
from ringi.runtimes.langgraph.graphs import HOOKS

CHANGES = {
    "update": "- {by} changed the task “{task}” to “{next}”.",
    "anew": "- {by} completed the task “{task}” and began “{next}” with its hand-over.",
    "reject": "- {by} sent it on: {message}",
}
FinishNote = dict[str, str]
Update = dict[str, Any]
DEFAULT_CALLS = 100
"""Model calls before a person is asked, if the gate has no limit of its own."""
RESERVED_STEPS = 12
"""Steps reserved for reaching and leaving the gate as a run's step limit approaches."""
STREAM_MODES = ("values", "custom")
"""The stream modes read from a delegate: its state, and its progress events."""
LONGEST = 20_000
"""Maximum characters of a text that people are shown."""
MAX_TITLE, MAX_QUOTE = 500, 19_000
STEP_LIMIT = Sentence(code="step_limit")
UNDECIDED = {"cancelled": Sentence(code="undecided_cancelled"), "expired": Sentence(code="undecided_expired")}
PASSING = (GraphBubbleUp, FenceError, OutageError)
"""Exceptions that are not errors of the agent: a pause, a lost lease, a store outage."""


class NotFinishedError(RingiError):
    """An agent ended although nobody confirmed its task as finished; its output is not a result."""

    def __init__(self, task: str, why: str) -> None:
        super().__init__(f"the task {task[:200]!r} is not finished: {why}")


def append_notes(before: list[FinishNote] | None, more: list[FinishNote]) -> list[FinishNote]:
    """Append the notes for the gate; an empty list resets them."""
    return [*(before or []), *more] if more else []


class FinishState(AgentState[Any]):
    """The gate's entries in the agent's own state."""

    task: NotRequired[Annotated[str, OmitFromInput]]
    finish_outcome: NotRequired[Annotated[str, OmitFromInput]]
    finish_history: NotRequired[Annotated[list[dict[str, Any]], OmitFromInput]]
    finish_notes: NotRequired[Annotated[list[FinishNote], PrivateStateAttr, append_notes]]
    finish_calls: NotRequired[Annotated[int, PrivateStateAttr]]
    remaining_steps: NotRequired[Annotated[int, PrivateStateAttr, RemainingStepsManager]]


class FinishVerdict(NamedTuple):
    """The decision of a person."""

    decision: Literal["complete", "update", "anew", "reject"]
    by: str
    next: str = ""
    message: str = ""


class FinishGate(AgentMiddleware[FinishState, Any, Any]):
    """Let an agent end only when a person completes its task; otherwise it continues with its whole context.

    Put it first in the list of middleware, so that others can retry before it. The agent may stop after an answer, an
    error of the model or a tool, or a limit. Each time, a request of kind `finish` shows the task, the agent's summary
    and the reason. A cancelled request is asked again.

    Args:
        max_rounds: The number of times that people can send the agent back. A rejection after that raises
            `NotFinishedError` in the run.
        anew: If True, a new task first completes the current one and starts with only its hand-over; if False, the
            agent keeps its conversation.
        max_calls: The number of model calls before a person is asked, counted again after each decision. Without it,
            `DEFAULT_CALLS`, and the request says that this is the default. A lower limit of the agent applies first.

    Raises:
        SettingError: `max_rounds` or `max_calls` is below 1.
    """

    state_schema = FinishState

    def __init__(self, *, max_rounds: int = 50, anew: bool = False, max_calls: int | None = None) -> None:
        super().__init__()
        for name, value in (("max_rounds", max_rounds), ("max_calls", max_calls)):
            if value is not None and value < 1:
                raise SettingError(name, value, "use at least 1")
        self._max_rounds, self._anew = max_rounds, anew
        self._max_calls = max_calls or DEFAULT_CALLS
        params = {"calls": self._max_calls}
        self._call_limit = Sentence(code="call_limit" if max_calls else "default_call_limit", params=params)

    def around(self, *others: AgentMiddleware[Any, Any, Any]) -> list[AgentMiddleware[Any, Any, Any]]:
        """Return the list of middleware with the gate first; errors of the other middleware also lead to the gate.

        Args:
            others: The other middleware of the agent, such as limits, in their order.
        """
        return [self, *map(watch_middleware, others)]

    def before_agent(self, state: FinishState, runtime: Runtime[Any]) -> Update:
        """Reset the notes of an earlier run on the thread."""
        task = next((message.text for message in reversed(state["messages"]) if isinstance(message, HumanMessage)), "")
        return {"task": task, "finish_outcome": "", "finish_history": [], "finish_notes": [], "finish_calls": 0}

    @hook_config(can_jump_to=["end"])
    def before_model(self, state: FinishState, runtime: Runtime[Any]) -> Update | None:
        """Jump to the gate if something stopped the agent, or a limit of steps or model calls is reached."""
        if state.get("finish_notes"):
            return {"jump_to": "end"}
        if not run_asks_people():
            return None
        calls = state.get("finish_calls", 0)
        if state["remaining_steps"] > RESERVED_STEPS and calls < self._max_calls:
            return {"finish_calls": calls + 1}
        limit = self._call_limit if calls >= self._max_calls else STEP_LIMIT
        return {"jump_to": "end", "finish_notes": [{"reason": sentences_text([limit])}]}

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        """Call the model with its task; an error leads to the gate."""
        try:
            return handler(model_request_with_task(request))
        except Exception as error:
            return failed_model_answer(error)

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        """Call the model with its task; an error leads to the gate."""
        try:
            return await handler(model_request_with_task(request))
        except Exception as error:
            return failed_model_answer(error)

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]]
    ) -> ToolMessage | Command[Any]:
        """Call the tool; an error leads to the gate."""
        try:
            return handler(request)
        except Exception as error:
            return failed_tool_result(request, error)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]]
    ) -> ToolMessage | Command[Any]:
        """Call the tool; an error leads to the gate."""
        try:
            return await handler(request)
        except Exception as error:
            return failed_tool_result(request, error)

    @hook_config(can_jump_to=["model"])
    def after_agent(self, state: FinishState, runtime: Runtime[Any]) -> Update:
        """Ask whether the task is finished, and continue if it is not."""
        history, context = state.get("finish_history", []), stopped_agent_context(state)
        if not run_asks_people():
            return final_agent_state("unasked", [*history, {"decision": "unasked", **context}])
        limits = (STEP_LIMIT, self._call_limit)
        verdict = FinishGateQuestion(context, len(history) + 1, self._max_rounds, self._anew, limits).verdict()
        entry = {**context, **{name: value for name, value in verdict._asdict().items() if value}}
        runtime.stream_writer({"name": f"finish.{verdict.decision}", **entry})
        if verdict.decision == "complete":
            return final_agent_state("completed", [*history, entry])
        after = {"finish_history": [*history, entry], "finish_notes": [], "finish_calls": 0}
        return {**after, **finish_continuation(state, verdict, context), "jump_to": "model"}


class FinishGateQuestion:
    """The question at the gate, repeated until it has a clear answer."""

    def __init__(
        self, context: FinishNote, round: int, max_rounds: int, anew: bool, limits: tuple[Sentence, ...]
    ) -> None:
        self._context, self._max_rounds, self._is_last, self._anew = context, max_rounds, round > max_rounds, anew
        self._reason = tuple(each for each in limits if sentences_text([each]) == context.get("reason"))

    def verdict(self) -> FinishVerdict:
        """Return the decision, or raise `NotFinishedError`."""
        decisions: tuple[Decision, ...] = ("approve", "reject", "respond") if self._is_last else get_args(Decision)
        limit = [Sentence(code="round_limit", params={"rounds": self._max_rounds})] if self._is_last else []
        verdict, unclear = None, list[Sentence]()
        while not verdict:
            response = self._asked(self._title(), [*unclear, *limit], "finish", decisions)
            verdict = self._verdict(response)
            answer = clip_text_for_people(response.message or "")[:MAX_QUOTE]
            unclear = [Sentence(code="unclear", params={"answer": answer})]
        return verdict

    def _title(self) -> Sentence:
        is_stopped, task = "reason" in self._context, " ".join(self._context["task"].split())
        if not task:
            return Sentence(code="stopped_untitled" if is_stopped else "finished_untitled")
        title = Sentence(code="stopped" if is_stopped else "finished", params={"task": ""})
        used = len(sentences_text([title]))
        return title.model_copy(update={"params": {"task": task[: MAX_TITLE - used]}})

    def _verdict(self, response: Response) -> FinishVerdict | None:
        if response.decision == "reject":
            why = response.message or reason_of("no_reason")
            if self._is_last:
                raise NotFinishedError(self._context["task"], f"rejected after {self._max_rounds} rounds: {why}")
            return FinishVerdict("reject", response.responder, message=why)
        answer = finish_gate_decision(response)
        if answer.decision == "complete":
            return FinishVerdict("complete", response.responder)
        if answer.decision == "unclear" or self._is_last:
            return None
        task = answer.task or self._new_task()
        if not task or (self._anew and not self._is_completed_first(task)):
            return None
        return FinishVerdict("anew" if self._anew else "update", response.responder, next=task)

    def _new_task(self) -> str:
        response = self._asked(Sentence(code="new_task"), [], "question", ("respond", "reject"))
        return (response.message or "").strip() if response.decision == "respond" else ""

    def _is_completed_first(self, task: str) -> bool:
        hint = Sentence(code="next_task", params={"task": clip_text_for_people(task)[:MAX_QUOTE]})
        response = self._asked(Sentence(code="previous_task"), [hint], "finish", ("approve", "reject", "respond"))
        return finish_gate_decision(response).decision == "complete"

    def _asked(self, title: Sentence, hints: Sequence[Sentence], kind: Kind, decisions: Sequence[Decision]) -> Response:
        while True:
            wording = Wording(title=(title,), description=tuple(hints), reason=self._reason)
            description = clip_text_for_people(sentences_text(hints)) or None
            texts = {"title": sentences_text([title]), "description": description}
            about = {"kind": kind, "context": self._context, "allowed": decisions, "wording": wording}
            request = ask_question(parse_body(Ask, texts | about))
            if request.response:
                return request.response
            hints = [UNDECIDED[request.status]]


def finish_gate_decision(response: Response) -> FinishDecision:
    """Return the meaning of an answer to the gate, given by a button or in words."""
    if response.decision == "approve":
        return FinishDecision("complete")
    if response.decision == "edit":
        return FinishDecision("update", str((response.data or {}).get("task") or "").strip())
    if response.decision == "respond":
        return parse_finish_decision(response.message or "")
    return FinishDecision("unclear")


def stopped_agent_context(state: FinishState) -> FinishNote:
    """Return the context that a person sees of a stopped agent."""
    notes, messages = state.get("finish_notes", []), state["messages"]
    texts = [each.text for each in messages if isinstance(each, AIMessage) and each.text.strip()]
    reason = "; ".join(note["reason"] for note in notes if "reason" in note)
    if not notes and texts and state.get("jump_to") == "end":
        # A middleware that ends the agent states the reason in a message of the agent.
        reason = texts.pop()
    entry = next((note for note in reversed(notes) if "summary" in note), {"summary": texts[-1] if texts else ""})
    agent = ensure_config().get("metadata", {}).get("lc_agent_name")
    found = {**entry, "reason": reason or last_tool_failure(messages), "agent": agent}
    return {
        "task": clip_text_for_people(state.get("task", "")),
        **{name: clip_text_for_people(text) for name, text in found.items() if text},
    }


def last_tool_failure(messages: Sequence[AnyMessage]) -> str:
    """Return the error of the last tool call, if it failed and no user message has followed."""
    for message in reversed(messages):
        if isinstance(message, HumanMessage):
            return ""
        if isinstance(message, ToolMessage):
            return f"{message.name}: {message.text}" if message.status == "error" else ""
    return ""


def clip_text_for_people(text: str) -> str:
    """Return a text, cut to the length that people are shown."""
    text = clean_text(text)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def final_agent_state(outcome: str, history: list[dict[str, Any]]) -> Update:
    """Return the final state of an agent."""
    return {"finish_outcome": outcome, "finish_history": history, "finish_notes": []}


def finish_continuation(state: FinishState, verdict: FinishVerdict, context: FinishNote) -> Update:
    """Return the state with which the agent continues."""
    if verdict.decision == "anew":
        handover = context.get("handover") or context.get("summary", "")
        fresh = f"{verdict.next}\n\nAn earlier task was completed: {context['task']}\nIts hand-over: {handover}"
        return {"task": verdict.next, "messages": [RemoveMessage(REMOVE_ALL_MESSAGES), HumanMessage(fresh)]}
    if verdict.decision == "update":
        message = HumanMessage(f"Your task has changed. From now on it is: {verdict.next}")
        return {"task": verdict.next, "messages": [*missing_tool_results(state["messages"]), message]}
    message = HumanMessage(f"This is not finished: {verdict.message}\nGo on with your task: {context['task']}")
    return {"messages": [*missing_tool_results(state["messages"]), message]}


def missing_tool_results(messages: Sequence[AnyMessage]) -> list[ToolMessage]:
    """Return a result for each call of the last message without one: models refuse to continue without it."""
    results = {message.tool_call_id for message in messages if isinstance(message, ToolMessage)}
    calls = [call for message in messages[-1:] if isinstance(message, AIMessage) for call in message.tool_calls]
    text = "Not run: the agent was stopped before."
    return [ToolMessage(text, tool_call_id=c["id"], status="error") for c in calls if c["id"] not in results]


def agent_stop_reason(error: Exception) -> str:
    """Return the reason that the agent stops; re-raise non-agent errors, and all errors if questions are disabled."""
    if isinstance(error, PASSING) or is_invalid_resume(error) or not run_asks_people():
        raise error
    return f"{type(error).__name__}: {error}"[:2000]


def failed_model_answer(error: Exception) -> ExtendedModelResponse[Any]:
    """Return the answer of a model call that failed."""
    note = {"reason": agent_stop_reason(error)}
    return ExtendedModelResponse(ModelResponse(result=[]), Command(update={"finish_notes": [note]}))


def failed_tool_result(request: ToolCallRequest, error: Exception) -> Command[Any]:
    """Return the result of a tool call that failed."""
    name, reason = request.tool_call["name"], agent_stop_reason(error)
    message = ToolMessage(f"Error: {reason}", tool_call_id=request.tool_call["id"], name=name, status="error")
    return Command(update={"messages": [message], "finish_notes": [{"reason": f"{name}: {reason}"}]})


def watch_middleware(middleware: AgentMiddleware[Any, Any, Any]) -> AgentMiddleware[Any, Any, Any]:
    """Return the same middleware, with errors in its own steps redirected to the gate."""
    kind: Any = type(middleware)
    steps = {
        name: watch_middleware_hook(hook, getattr(kind, name), is_async=name != hook)
        for hook in HOOKS
        for name in (hook, f"a{hook}")
        if getattr(kind, name) is not getattr(AgentMiddleware, name)
    }
    other: Any = copy.copy(middleware)
    other.__class__ = type(kind.__name__, (kind,), steps)
    return cast(AgentMiddleware[Any, Any, Any], other)


def watch_middleware_hook(name: str, hook: Any, *, is_async: bool) -> Any:
    """Return a hook whose errors lead to the gate, and that may jump to the end."""

    @functools.wraps(hook)
    def step(*args: Any, **kwargs: Any) -> Any:
        try:
            return hook(*args, **kwargs)
        except Exception as error:
            return failed_step_result(name, error)

    @functools.wraps(hook)
    async def async_step(*args: Any, **kwargs: Any) -> Any:
        try:
            return await hook(*args, **kwargs)
        except Exception as error:
            return failed_step_result(name, error)

    watched: Any = async_step if is_async else step
    # The last hook already runs at the end, and would repeat itself.
    if name != "after_agent":
        watched.__can_jump_to__ = [*getattr(watched, "__can_jump_to__", []), "end"]
    return watched


def failed_step_result(name: str, error: Exception) -> dict[str, Any]:
    """Return the result of a step that failed."""
    note = {"finish_notes": [{"reason": agent_stop_reason(error)}]}
    return note if name == "after_agent" else {**note, "jump_to": "end"}


def model_request_with_task(request: ModelRequest[Any]) -> ModelRequest[Any]:
    """Return the request with the task included: summarization of long conversations may have dropped it."""
    task = str(request.state.get("task", ""))
    if not task or not run_asks_people() or any(task in message.text for message in request.messages):
        return request
    return request.override(messages=[HumanMessage(f"Your task is: {task}"), *request.messages])


@tool("finish")
def finish_tool(summary: str, tool_call_id: Annotated[str, InjectedToolCallId], handover: str = "") -> Command[Any]:
    """Say that your task is done, with a summary of what you did and what others must know to go on.

    A person decides whether it is finished, or gives you another task.
    """
    message = ToolMessage("A person is asked whether the task is finished.", tool_call_id=tool_call_id, name="finish")
    note = {"summary": summary, "handover": handover}
    return Command(update={"messages": [message], "finish_notes": [note]})


def delegate(agent: Any, *, name: str, description: str) -> BaseTool:
    """Return a gated agent as a tool of another agent.

    Args:
        agent: The compiled graph of an agent with a `FinishGate`.
        name: The name of the tool.
        description: The description of the tool for the model.

    Returns:
        A tool whose result is the agent's report, after a person has let it finish.
    """

    async def run_async(task: str) -> str:
        state: Any = {}
        async for part in agent.astream({"messages": [HumanMessage(task)]}, stream_mode=list(STREAM_MODES)):
            state = newest_delegate_state(part, state)
        return delegate_report(state)

    def run_sync(task: str) -> str:
        state: Any = {}
        for part in agent.stream({"messages": [HumanMessage(task)]}, stream_mode=list(STREAM_MODES)):
            state = newest_delegate_state(part, state)
        return delegate_report(state)

    return StructuredTool.from_function(run_sync, run_async, name=name, description=description)


def newest_delegate_state(part: tuple[str, Any], state: object) -> Any:
    """Return the newest state of a delegate, and pass on its progress events."""
    mode, value = part
    if mode == "values":
        return value
    get_stream_writer()(value)
    return state


def delegate_report(state: FinishState) -> str:
    """Return a finished agent's report to its delegator: its hand-over, and the changes of its task."""
    last, rounds = state["finish_history"][-1], state["finish_history"][:-1]
    parts = [last.get("summary", ""), last.get("handover", "")]
    changes = [CHANGES[step["decision"]].format(**step) for step in rounds]
    return "\n\n".join(filter(None, [*parts, "\n".join(["On the way:", *changes]) if changes else ""]))
