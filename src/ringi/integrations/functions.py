"""Approval of any function: a call under a policy runs when a person or a rule approves."""

from __future__ import annotations

import copy
import functools
import inspect
import logging
import sys
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from types import LambdaType
from typing import Any, NamedTuple, NoReturn, ParamSpec, TypeVar, cast, overload

from ringi import sync
from ringi.base.canonical_json import JsonObject, digest
from ringi.base.loops import run_without_waiting, running_loop
from ringi.domain.ask import Ask, Outcome
from ringi.domain.request import Request
from ringi.errors import InvalidError, NotAuthorizedError
from ringi.inbox.api import Inbox
from ringi.integrations.askers import CallAsker, FunctionAsker, GatedFunctionCall, InboxAsker, InboxOptions, NoAsker
from ringi.integrations.signatures import CallSignature, is_plain_json
from ringi.policy.question import (
    FactFunction,
    find_call_facts,
    policy_edit_denial,
    question_about_call,
    question_with_schema,
)
from ringi.policy.rules import Policy, Rule
from ringi.runs.context import APPROVAL, set_context_variable
from ringi.runtimes.tool_calls import CURRENT, MARK, AskFirst, GatedCall

log = logging.getLogger(__name__)
P = ParamSpec("P")
R = TypeVar("R")
RequestKey = Callable[[JsonObject], str] | str
"""A text from which a request's id derives, or a function that makes it from the arguments of the call as a dict."""
AnyInbox = Inbox | sync.BlockingInbox
When = Callable[[JsonObject], bool]
"""Whether people are asked about a call with these arguments."""
WHEN = 'takes the arguments of a call as one dict: when=lambda args: args["amount"] > 100'


@overload
def gate(function: Callable[P, R], /) -> Callable[P, R]: ...


@overload
def gate(
    policy: Policy | Mapping[str, Any] | None = None,
    /,
    *,
    when: When | None = None,
    name: str | None = None,
    facts: Mapping[str, FactFunction] | None = None,
    key: RequestKey | None = None,
    inbox: AnyInbox | None = None,
    url: str | None = None,
    timeout: float | None = None,
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


@overload
def gate(
    call: str,
    args: Mapping[str, Any],
    /,
    *,
    policy: Policy | Mapping[str, Any] | None = None,
    when: When | None = None,
    facts: Mapping[str, FactFunction] | None = None,
    key: RequestKey | None = None,
    inbox: Inbox | None = None,
    url: str | None = None,
    timeout: float | None = None,
) -> Coroutine[Any, Any, dict[str, Any]]: ...


def gate(
    subject: Any = None,
    args: Mapping[str, Any] | None = None,
    /,
    *,
    policy: Policy | Mapping[str, Any] | None = None,
    when: When | None = None,
    name: str | None = None,
    facts: Mapping[str, FactFunction] | None = None,
    key: RequestKey | None = None,
    inbox: AnyInbox | None = None,
    url: str | None = None,
    timeout: float | None = None,
) -> Any:
    """Gate each call of a function, async or not, as a decorator: `@ringi.gate`, `@ringi.gate(policy)`.

    As a call, `args = await ringi.gate("refund", {"amount": 40}, policy=…)` returns the authorized arguments of one
    call, which your code then makes.

    In a run of Ringi a question **suspends** the run, as that of a gated tool does: call one gated function in a node
    or task of LangGraph, with no side effects before it, or make it a tool of an agent of another framework. Elsewhere,
    also deeper inside such a tool, the call **waits** in this process until somebody answers in the inbox, however long
    that takes; set `expires_in` in the rule. A log line says which. The function gets exactly the authorized arguments.
    Rules that deny are read again right before the call, and hold with `RINGI_ENABLED=0`.

    A function that is not async blocks its thread while it waits, so it must not be called on an event loop. A call in
    a tool of Pydantic AI suspends the run if the tool has its name and arguments; in one of the OpenAI Agents SDK,
    which cannot pause in the middle of a tool, it waits.

    Args:
        subject: The rules, in which the function is a tool; None asks about every call. Or the name of one call.
        args: The arguments of the one call by name, as plain JSON.
        policy: The rules for the one call; None asks.
        when: A function of the arguments as a dict: people are asked only about calls for which it returns True. Rules
            that deny hold for all calls.
        name: The name of the function in the policy; by default its own.
        facts: Functions that look up what the policy's `facts` need, as in `Approval`.
        key: Identifies the question, so that a retried task does not ask twice: a function of the arguments, or a text
            for a function with a single call. One key is one call: after a rejection or an expiry it never runs.
            A run of Ringi needs none.
        inbox: The inbox to ask in; one of `ringi.sync` if the function is not async.
        url: The store or server to open for each call that asks; by default `RINGI_URL`.
        timeout: Seconds to wait outside of a run, then `WaitTimeoutError`; the request stays open, and a repeated call
            with the same `key` goes on waiting for it. None waits without limit.

    Raises:
        InvalidError: The policy is invalid, names arguments or facts that do not exist, or does not apply to the
            function, or a timeout has no key. Calls raise it for arguments that are not plain JSON, or do not fit
            their annotations.
        TypeError: The function is a generator, or the inbox is of the wrong kind.

    Calls raise `NotAuthorizedError` if the policy denies them, or if the request was rejected, expired or canceled.
    While an administrator has paused the agent of a run, or all agents, an approved call raises `UnavailableError` with
    the code `paused`: let it pass in a run, which goes on after the pause; elsewhere repeat the call with the same
    `key`.
    """
    if timeout is not None and key is None:
        raise InvalidError.of("timeout", "needs key: without one, each repeated call would ask again")
    if when is not None and not callable(when):
        raise InvalidError.of("when", WHEN)
    if isinstance(subject, str):
        if args is None:
            of_file = f"for the rules in a file, Policy.read({subject!r})"
            why = f"give those of the call: await ringi.gate({subject!r}, {{…}}); {of_file}"
            raise InvalidError.of("args", why)
        refuse_other_inbox(inbox, is_async=True)
        options = InboxOptions(cast(Inbox | None, inbox), url, timeout)
        gate = FunctionGate(subject, policy_or_none(policy, subject), dict(facts or {}), when=when)
        return _authorized_args(gate, args, key, options)
    if isinstance(subject, LambdaType) and subject.__name__ == "<lambda>" and name is None:
        raise InvalidError.of("policy", "is no rule: write @ringi.gate(when=lambda args: …), or name= to gate a lambda")
    gated = functools.partial(_gated, when=when, name=name, facts=facts, key=key, inbox=inbox, url=url, timeout=timeout)
    if callable(subject) and not isinstance(subject, Policy):
        return gated(subject, None)
    if policy is not None:
        raise InvalidError.of("policy", "is for one call by name: give the rules of a function as @ringi.gate(policy)")
    return functools.partial(gated, policy=None if subject is None else policy_from_data(subject))


def parameters_of(function: Callable[..., Any] | None) -> tuple[str, ...]:
    """Return the names of the parameters of a function written in Python, else nothing."""
    code = getattr(function, "__code__", None)
    return code.co_varnames[: code.co_argcount] if code else ()


def _gated(
    function: Callable[P, R],
    policy: Policy | None,
    *,
    when: When | None,
    name: str | None,
    facts: Mapping[str, FactFunction] | None,
    key: RequestKey | None,
    inbox: AnyInbox | None,
    url: str | None,
    timeout: float | None,
) -> Callable[P, R]:
    is_async = inspect.iscoroutinefunction(function)
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(f"{function!r} is a generator: gate a function that returns its result")
    refuse_other_inbox(inbox, is_async=is_async)
    signature = CallSignature(function)
    # A `when` with the parameters of the function would get the dict as the first of them.
    if not (signature.names - {"args"}).isdisjoint(parameters_of(when)):
        raise InvalidError.of("when", WHEN)
    own_name = name or str(getattr(function, "__name__", "")) or type(function).__name__
    gate = FunctionGate(own_name, policy_or_none(policy, own_name), dict(facts or {}), signature, when)
    gate.check_policy(signature.names)

    async def call_async(*args: P.args, **kwargs: P.kwargs) -> Any:
        options = InboxOptions(cast(Inbox | None, inbox), url, timeout)
        granted = await gate.authorize(signature.bind(args, kwargs), key, options)
        try:
            with set_context_variable(APPROVAL, granted.request):
                result = await signature.call(function, granted.args)
        except Exception as error:
            await granted.report("failed", error)
            raise
        await granted.report("committed")
        return result

    def call(*args: P.args, **kwargs: P.kwargs) -> Any:
        facade = cast(sync.BlockingInbox | None, inbox)
        options = InboxOptions(None if facade is None else sync.async_inbox(facade), url, timeout)
        granted = gate.authorize_blocking(signature.bind(args, kwargs), key, options)
        try:
            with set_context_variable(APPROVAL, granted.request):
                result = signature.call(function, granted.args)
        except Exception as error:
            granted.run(functools.partial(granted.report, "failed", error))
            raise
        granted.run(functools.partial(granted.report, "committed"))
        return result

    wrapper = functools.wraps(function)(call_async if is_async else call)
    setattr(wrapper, MARK, gate)
    return cast(Callable[P, R], wrapper)


async def _authorized_args(
    gate: FunctionGate, args: Mapping[str, Any], key: RequestKey | None, options: InboxOptions
) -> dict[str, Any]:
    arguments = dict(args)
    if not is_plain_json(arguments):
        raise InvalidError.of("args", "are not plain JSON: pass text, numbers, lists and dicts")
    gate.check_policy(None)
    granted = await gate.authorize(copy.deepcopy(arguments), key, options)
    # The caller runs the call, and only the caller knows its outcome.
    await granted.report("unknown")
    return granted.args


def policy_or_none(policy: Policy | Mapping[str, Any] | None, name: str) -> Policy:
    """Return the policy in plain data; one that always asks for None."""
    return Policy(rules=(Rule(tools=(name,)),)) if policy is None else policy_from_data(policy)


def policy_from_data(policy: object) -> Policy:
    """Return the policy in plain data; raise `TypeError` for anything else."""
    if isinstance(policy, Policy):
        return policy
    if isinstance(policy, Mapping):
        return Policy.parse(dict(policy))
    raise TypeError(f"{policy!r} is no policy: pass a Policy, its plain data, or Policy.read(path)")


def refuse_other_inbox(inbox: object, *, is_async: bool) -> None:
    """Raise `TypeError` for an inbox that the function cannot use."""
    kind, wanted = (Inbox, "ringi.open") if is_async else (sync.BlockingInbox, "ringi.sync.open")
    if inbox is not None and not isinstance(inbox, kind):
        raise TypeError(f"{inbox!r} is no inbox for this function: pass one of {wanted}")


class AuthorizedFunctionCall(NamedTuple):
    """A call that may run."""

    args: JsonObject
    """The authorized arguments."""
    asker: FunctionAsker | None = None
    """The place where the call was asked about."""
    request: Request | None = None
    """The request that approves the call; None if nobody was asked about it."""
    run: Callable[[Callable[[], Coroutine[Any, Any, None]]], None] = sync.run_blocking
    """Awaits a report for a function that is not async."""

    async def report(self, outcome: Outcome, error: Exception | None = None) -> None:
        """Report what became of the call, unless its error pauses the run in the middle of it.

        A failure to report it is logged, because the call has been made.
        """
        if self.asker is None or self.request is None or isinstance(error, self.asker.suspensions):
            return
        try:
            await self.asker.report(self.request, outcome)
        except Exception as why:
            log.warning("the call of request %s is %s, but that is not on record: %s", self.request.id, outcome, why)


@dataclass(eq=False)
class FunctionGate:
    """The authorization of the calls of one function."""

    name: str
    """The name of the function in the policy."""
    policy: Policy
    """The rules."""
    facts: Mapping[str, FactFunction]
    """The functions that look up facts, by name."""
    signature: CallSignature | None = None
    """The signature of the function, if it is known."""
    when: When | None = None
    """Whether people are asked about a call with these arguments; None asks as the policy says."""

    def check_policy(self, arguments: frozenset[str] | None) -> None:
        """Raise `InvalidError` for a policy that does not fit the function.

        Args:
            arguments: The names of its arguments; None if they are unknown.
        """
        self.policy.check_tools({self.name: arguments}, self.facts, only=(self.name,))
        is_named = any(rule.names(self.name) for rule in self.policy.rules)
        if not is_named and self.policy.default_effect == "allow":
            why = f"no rule names {self.name!r}, so nobody would be asked: add a rule, or set otherwise"
            raise InvalidError.of("rules", why)

    async def authorize(
        self, args: JsonObject, key: RequestKey | None, options: InboxOptions
    ) -> AuthorizedFunctionCall:
        """Return the authorized call.

        Args:
            args: The arguments.
            key: The key of the question.
            options: The inbox outside of a run.

        Raises:
            NotAuthorizedError: The call may not run.
        """
        call = GatedFunctionCall(self.name, args)
        if asker := asker_in_run():
            return await self.authorize_at(call, asker)
        if tool_call := CURRENT.get():
            if tool_call.begin(self, args):
                return AuthorizedFunctionCall(args, CallAsker(tool_call), tool_call.request)
            if tool_call.suspend and (tool_call.tool, digest(tool_call.args)) == (self.name, digest(args)):
                return await self._authorize_in_tool(call, tool_call, tool_call.suspend)
        async with AsyncExitStack() as stack:
            return await self.authorize_at(call, InboxAsker(stack, options, gated_call_question_key(key, args)))

    def authorize_blocking(
        self, args: JsonObject, key: RequestKey | None, options: InboxOptions
    ) -> AuthorizedFunctionCall:
        """Do the same without await."""
        call = GatedFunctionCall(self.name, args)
        if asker := asker_in_run(is_blocking=True):
            granted = run_without_waiting(self.authorize_at(call, asker))
        elif (tool_call := CURRENT.get()) and tool_call.begin(self, args):
            granted = AuthorizedFunctionCall(args, CallAsker(tool_call), tool_call.request)
        elif running_loop():
            granted = run_without_waiting(self.authorize_at(call, NoAsker()))
        else:
            return sync.run_blocking(lambda: self.authorize(args, key, options))
        # These reports never wait.
        return granted._replace(run=lambda report: run_without_waiting(report()))

    async def authorize_call(self, call: GatedCall) -> JsonObject:
        """Authorize the call of a tool that is this function, before it runs; see `FunctionGateProtocol`."""
        args = self.signature.bind((), dict(call.args)) if self.signature else dict(call.args)
        asker, of_function = CallAsker(call), GatedFunctionCall(self.name, args)
        if not call.is_approved:
            return (await self.authorize_at(of_function, asker)).args
        await self._refuse_denied(of_function, asker)
        return args

    async def _authorize_in_tool(
        self, call: GatedFunctionCall, tool_call: GatedCall, suspend: Callable[[Ask], NoReturn]
    ) -> AuthorizedFunctionCall:
        tool_call.suspend = None  # A second call in the same tool would ask after the effects of the first.
        try:
            args = await self.authorize_call(tool_call)
            return AuthorizedFunctionCall(args, CallAsker(tool_call), tool_call.request)
        except AskFirst as error:
            suspend(error.question)

    async def authorize_at(self, call: GatedFunctionCall, asker: FunctionAsker) -> AuthorizedFunctionCall:
        """Authorize a call, and ask in a given place.

        Args:
            call: The call.
            asker: The place to ask in.

        Raises:
            NotAuthorizedError: The call may not run.
        """
        current = await self._refuse_denied(call, asker)
        earlier = await asker.earlier_facts(call)
        facts = current if earlier is None else earlier
        if earlier is None and asker.asks():
            names = sorted(self.policy.facts_of(*call) - current.keys())
            facts = current | await find_call_facts(self.facts, names, *call, is_blocking=asker.is_blocking)
        effect, rule, approver = self.policy.decide(*call, facts)
        is_free = self.when is not None and not self.when(copy.deepcopy(call.args))
        # After a question people decide, even if the policy or a fact has changed.
        if earlier is None and (not asker.asks() or effect == "allow" or is_free):
            await asker.check_pauses(is_gated=False)
            asker.begin()
            return AuthorizedFunctionCall(call.args, asker)
        question = question_about_call(self.policy, rule if effect == "ask" else None, *call, facts=facts)
        question = asker.completed(question_with_schema(question, self.signature.schema if self.signature else None))
        request = await asker.approve(question, approver) if approver and earlier is None else None
        request = request or await asker.ask(question)
        granted = self._granted(request)
        if denial := policy_edit_denial(self.policy, request):
            raise NotAuthorizedError(request.id, denial.reason)
        await self._refuse_denied(call._replace(args=granted), asker)
        await asker.check_pauses(is_gated=True)
        asker.begin()
        return AuthorizedFunctionCall(granted, asker, request)

    async def _refuse_denied(self, call: GatedFunctionCall, asker: FunctionAsker) -> dict[str, Any]:
        """Return the facts that decide about a denial, or raise `NotAuthorizedError`."""
        names = sorted(self.policy.facts_of_denial(*call))
        facts = await find_call_facts(self.facts, names, *call, is_blocking=asker.is_blocking)
        denial = self.policy.denial(*call, facts)
        if denial is None:
            return facts
        id = await asker.deny(asker.completed(question_about_call(self.policy, None, *call, facts=facts)), denial)
        raise NotAuthorizedError(id, f"the rule {denial.rule!r} denies it: {denial.reason}")

    def _granted(self, request: Request) -> JsonObject:
        granted, response = request.granted, request.response
        if granted is None:
            why = f"it is {request.status}"
            if response:
                message = f": {response.message}" if response.message else ""
                why = f"{response.responder} decided {response.decision}{message}"
            raise NotAuthorizedError(request.id, why)
        args = copy.deepcopy(granted.args)
        request.authorize(self.name, args)
        try:
            if self.signature:
                self.signature.check(args)
        except InvalidError as error:
            raise NotAuthorizedError(request.id, f"the edited arguments do not fit the function ({error})") from error
        return args


def asker_in_run(*, is_blocking: bool = False) -> FunctionAsker | None:
    """Return the asker in the run of Ringi in which this code runs, if any; see `run_askers.asker_in_graph`."""
    # Without this module, Ringi runs no graph in this process, and LangGraph may be missing.
    if "ringi.runtimes.langgraph.graph_run" not in sys.modules:
        return None
    from ringi.integrations import run_askers

    return run_askers.asker_in_graph(is_blocking=is_blocking)


def gated_call_question_key(key: RequestKey | None, args: JsonObject) -> str | None:
    """Return the key of a call's question.

    Raises:
        InvalidError: The key is not a text.
    """
    found: object = key(copy.deepcopy(args)) if callable(key) else key
    if found is None and not callable(key):
        return None
    if not isinstance(found, str) or not found:
        raise InvalidError.of("key", f"{found!r} is not a text: return one that identifies the call")
    return found
