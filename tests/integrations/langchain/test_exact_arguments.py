"""What was approved runs, to the last argument: nothing unknown is shown, added or dropped on the way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, TypedDict

import pytest
from langchain.agents.middleware import AgentMiddleware, HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool, tool
from langgraph.graph import START, StateGraph
from langgraph.prebuilt import InjectedState
from langgraph.types import interrupt
from pydantic import AfterValidator, BaseModel, ConfigDict, model_validator
from tests.integrations.langchain.office import Changing, agent, call
from tests.runs.world import at_work, opened, working

from ringi import Approval
from ringi.errors import InvalidError
from ringi.runs.agent import Agent
from ringi.runs.operations import retry_failed_run
from ringi.runtimes.langgraph.tool_arguments import injected_arguments, tool_call_schema

RAN: list[Any] = []
SCHEMA = {"type": "object", "properties": {"order": {"type": "integer"}, "note": {"type": "string"}}}


class State(TypedDict):
    heard: dict[str, Any]


class Customer(BaseModel):
    name: str


class Small(BaseModel):
    order: int
    amount: float

    @model_validator(mode="after")
    def _small(self) -> Small:
        if self.amount > 100:
            raise ValueError("at most 100 can be paid back")
        return self


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    order: int


def even(value: int) -> int:
    if value % 2:
        raise ValueError("is odd")
    return value


@tool
def pay(order: int, amount: float = 1, to: Customer | None = None, copies: list[Customer] | None = None) -> str:
    """Pay."""
    RAN.append((order, amount, to and to.name))
    return f"paid {amount:g}"


@tool(args_schema=Small)
def small(order: int, amount: float) -> str:
    """Pay a little."""
    return f"paid {amount:g}"


@tool
def pair(order: Annotated[int, AfterValidator(even)], state: Annotated[dict[str, Any], InjectedState]) -> str:
    """Pay for two."""
    return f"paid {order} of {len(state['messages'])}"


@tool(args_schema=Open)
def write(order: int, **more: Any) -> str:
    """Write down."""
    return f"wrote {order} {more}"


@tool
def gather(order: int, **kwargs: int) -> str:
    """Gather."""
    RAN.append((order, kwargs))
    return f"gathered {order}"


def noted(**args: Any) -> str:
    return f"noted {args}"


plain = StructuredTool.from_function(noted, name="plain", description="Note.", args_schema=SCHEMA)
loose = StructuredTool.from_function(
    noted, name="loose", description="Note.", args_schema={**SCHEMA, "additionalProperties": {"type": "integer"}}
)
TOOLS: list[BaseTool] = [pay, small, pair, write, gather, plain, loose]
NAMES = [each.name for each in TOOLS]
GATE = {"rules": [{"tools": NAMES, "auto_approve": [{"name": "order 5", "where": {"order": {"equals": 5}}}]}]}


def tries(*wanted: dict[str, Any]) -> Any:
    """Return a script that makes one call after another, whatever comes of it."""

    def script(messages: Sequence[BaseMessage]) -> AIMessage | str:
        done = sum(isinstance(message, ToolMessage) for message in messages)
        if done == len(wanted):
            return " | ".join(message.text for message in messages if isinstance(message, ToolMessage))
        return AIMessage("Now.", tool_calls=[{**wanted[done], "type": "tool_call"}])

    return script


def gated(*wanted: dict[str, Any]) -> Agent:
    return agent(tries(*wanted), TOOLS, [Approval(GATE, TOOLS)])


def stock(mode: Any, *calls: dict[str, Any], tools: Sequence[BaseTool] = TOOLS, allowed: Any = True) -> Agent:
    """Return an agent behind LangChain's own gate whose model makes all calls at once."""

    def script(messages: Sequence[BaseMessage]) -> AIMessage | str:
        results = [message for message in messages if isinstance(message, ToolMessage)]
        if results:
            return " | ".join(message.text for message in results)
        return AIMessage("Now.", tool_calls=[{**each, "type": "tool_call"} for each in calls])

    gate: Any = HumanInTheLoopMiddleware(dict.fromkeys(NAMES, allowed), interrupt_mode=mode)
    return agent(script, tools, [gate])


FOUR: list[dict[str, Any]] = [{"order": 1, "memo": "x"}, {"order": 2}, {}, {"order": 4}]
UNFIT = [
    ("pay", {"order": 1, "amount": 2, "memo": "x"}, "args.memo: is not in the schema"),
    ("pay", {"order": 1, "to": {"name": "ann", "iban": "DE1"}}, "args.to.iban: is not in the schema"),
    ("pay", {"order": 1, "copies": [{"name": "ann"}, {"name": "bob", "x": 1}]}, "args.copies[1].x"),
    ("pay", {"order": "1", "amount": "2", "to": {"name": "ann", "iban": "DE1"}}, "args.to.iban"),
    ("pay", {"amount": 2}, "args.order: Field required"),
    ("pay", {"order": "many"}, "args.order: Input should be a valid integer"),
    ("pay", {}, "args.order"),
    ("small", {"order": 1, "amount": 200}, "at most 100 can be paid back"),
    ("pair", {"order": 1}, "is odd"),
    ("pair", {"order": 2, "states": {}}, "args.states"),
    ("gather", {"order": 1, "more_of": "x"}, "args.more_of"),
    ("plain", {"order": 1, "memo": "x"}, "args.memo"),
    ("plain", {"order": "x"}, "args.order"),
    ("loose", {"order": 1, "memo": "x"}, "args.memo"),
]
FIT = [
    ("pay", {"order": 1, "amount": "2"}),
    ("pay", {"order": 1, "to": {"name": "ann"}}),
    ("small", {"order": 1, "amount": 100}),
    ("pair", {"order": 2}),
    ("write", {"order": 1, "memo": "x"}),
    ("gather", {"order": 1, "memo": 7}),
    ("plain", {"order": 1, "note": "x"}),
    ("loose", {"order": 1, "memo": 7}),
]


@pytest.mark.parametrize(("name", "args", "why"), UNFIT)
async def test_a_call_that_its_tool_refuses_goes_back_to_the_model(
    file: str, name: str, args: dict[str, Any], why: str
) -> None:
    async with at_work(file, [gated({"name": name, "args": args, "id": "c1"})]) as world:
        thread = await world.run("office", {})
        status, text = thread.values["results"]["c1"]
        assert (thread.status, status, why in text) == ("done", "error", True), text
        assert await world.asked() == []


@pytest.mark.parametrize(("name", "args"), FIT)
async def test_a_call_that_fits_is_asked_as_it_is(file: str, name: str, args: dict[str, Any]) -> None:
    async with at_work(file, [gated({"name": name, "args": args, "id": "c1"})]) as world:
        await world.run("office", {})
        request = await world.one()
        assert request.action is not None
        assert request.action.args == args
        thread = await world.answer(request, "approve")
        assert thread.values["results"]["c1"][0] == "success"


async def test_a_tool_with_keyword_arguments_gets_all_that_was_approved(file: str) -> None:
    RAN.clear()
    async with at_work(file, [gated(call("gather", order=1, memo=7))]) as world:
        await world.run("office", {})
        await world.answer(await world.one(), "edit", args={"order": 1, "memo": 8, "pages": 3})
        assert RAN == [(1, {"memo": 8, "pages": 3})]


async def test_the_model_corrects_its_call_and_then_a_person_is_asked(file: str) -> None:
    RAN.clear()
    wanted = call("pay", "c1", order=1, memo="x"), call("pay", "c2", order=1)
    async with at_work(file, [gated(*wanted)]) as world:
        await world.run("office", {})
        request = await world.one()
        assert request.context["tool_call_id"] == "c2"
        await world.answer(request, "approve")
        assert RAN == [(1, 1, None)]


async def test_no_rule_approves_a_call_that_its_tool_refuses(file: str) -> None:
    async with at_work(file, [gated(call("pay", order=5, memo="x"))]) as world:
        thread = await world.run("office", {})
        assert (thread.values["results"]["c1"][0], await world.asked()) == ("error", [])


@pytest.mark.parametrize(
    ("name", "edited", "fits"),
    [
        ("pay", {"order": 1, "amount": 3, "to": {"name": "ann"}}, True),
        ("pay", {"order": 1, "memo": "x"}, False),
        ("pay", {"order": 1, "to": {"name": "ann", "iban": "DE1"}}, False),
        ("write", {"order": 1, "memo": "x"}, True),
        ("plain", {"order": 1, "memo": "x"}, False),
        ("loose", {"order": 1, "memo": 7}, True),
        ("loose", {"order": 1, "memo": "x"}, False),
    ],
)
async def test_a_person_adds_no_argument_that_the_tool_does_not_have(
    file: str, name: str, edited: dict[str, Any], *, fits: bool
) -> None:
    async with at_work(file, [gated(call(name, order=1))]) as world:
        await world.run("office", {})
        request = await world.one()
        if not fits:
            with pytest.raises(InvalidError, match=r"args\."):
                await world.respond(request, "edit", args=edited)
            assert (await world.one()).status == "pending"
        else:
            thread = await world.answer(request, "edit", args=edited)
            assert thread.values["results"]["c1"][0] == "success"


@pytest.mark.parametrize("mode", ["batched", "per_call"])
@pytest.mark.parametrize(("name", "args", "why"), UNFIT)
async def test_behind_langchains_own_gate_it_goes_back_to_the_model_too(
    file: str, mode: str, name: str, args: dict[str, Any], why: str
) -> None:
    async with at_work(file, [stock(mode, {"name": name, "args": args, "id": "c1"})]) as world:
        thread = await world.run("office", {})
        assert (thread.status, thread.error, await world.asked()) == ("done", None, [])
        status, text = thread.values["results"]["c1"]
        assert (status, why in text, "Nobody was asked" in text) == ("error", True, True), text


@pytest.mark.parametrize("mode", ["batched", "per_call"])
async def test_of_several_calls_only_those_that_fit_are_asked(file: str, mode: str) -> None:
    RAN.clear()
    unfit, two, none, four = (call("pay", f"c{n}", **args) for n, args in enumerate(FOUR, 1))
    async with at_work(file, [stock(mode, unfit, two, none, four)]) as world:
        await world.run("office", {})
        second, fourth = sorted(await world.pending(), key=lambda each: each.action.args["order"] if each.action else 0)
        await world.answer(second, "approve")
        thread = await world.answer(fourth, "edit", args={"order": 4, "amount": 9})
        results = {id: status for id, (status, _) in thread.values["results"].items()}
        assert results == {"c1": "error", "c2": "success", "c3": "error", "c4": "success"}
        assert sorted(RAN) == [(2, 1, None), (4, 9, None)]


@pytest.mark.parametrize("mode", ["batched", "per_call"])
async def test_where_the_gate_takes_no_rejection_a_person_is_asked_all_the_same(file: str, mode: str) -> None:
    one = stock(mode, call("pay", order=1, memo="x"), allowed={"allowed_decisions": ["approve"]})
    async with at_work(file, [one]) as world:
        await world.run("office", {})
        assert (await world.one()).action is not None


@pytest.mark.parametrize("mode", ["batched", "per_call"])
async def test_an_edit_behind_langchains_own_gate_has_the_arguments_of_the_tool(file: str, mode: str) -> None:
    RAN.clear()
    async with at_work(file, [stock(mode, call("pay", order=1))]) as world:
        await world.run("office", {})
        request = await world.one()
        for wrong in ({"order": 1, "memo": "x"}, {"order": "x"}, {"order": 1, "to": {"name": "ann", "iban": "DE1"}}):
            with pytest.raises(InvalidError, match=r"args\."):
                await world.respond(request, "edit", args=wrong)
        await world.answer(request, "edit", args={"order": 1, "to": {"name": "ann"}})
        assert RAN == [(1, 1, "ann")]


@pytest.mark.parametrize("mode", ["batched", "per_call"])
async def test_a_deploy_that_changes_a_tool_leaves_its_open_question_answerable(file: str, mode: str) -> None:
    @tool("pay")
    def pay_before(order: int, amount: float = 1) -> str:
        """Pay."""
        return "paid before"

    wanted = call("pay", order=1)
    async with opened(file, [stock(mode, wanted, tools=[pay_before])]) as world, working(world):
        await world.run("office", {})
        before = await world.one()
    async with at_work(file, [stock(mode, wanted)]) as world:
        thread = await world.answer(before, "approve")
        assert (thread.status, thread.values["results"]["c1"]) == ("done", ["success", "paid 1"])
        assert len(await world.asked()) == 1


REVIEWED = {"order": 1, "amount": "2"}


@pytest.mark.parametrize("decision", ["approve", "edit"])
@pytest.mark.parametrize("mode", ["batched", "per_call"])
async def test_behind_langchains_own_gate_no_later_change_runs(mode: Any, decision: str) -> None:
    RAN.clear()

    def enlarged(request: Any) -> Any:
        called = request.tool_call
        return request.override(tool_call={**called, "args": {**called["args"], "amount": 5000}})

    gate: Any = HumanInTheLoopMiddleware({"pay": True}, interrupt_mode=mode)
    async with at_work(
        "memory://", [agent(tries(call("pay", **REVIEWED)), TOOLS, [gate, Changing(enlarged)])]
    ) as world:
        await world.run("office", {})
        edit = {"args": {"order": 1, "amount": 3}} if decision == "edit" else {}
        thread = await world.answer(await world.one(), decision, **edit)
        assert (RAN, thread.status) == ([], "error")
        assert "after people had decided" in str(thread.attention)
        await retry_failed_run(world.backend, world.inbox, "t1", by="root")
        assert ((await world.rest()).status, RAN) == ("error", [])


class Replacing(AgentMiddleware[Any, Any, Any]):
    """A middleware that gives a call another id, or calls the tool itself."""

    def __init__(self, amount: str, *, is_direct: bool) -> None:
        super().__init__()
        self.amount, self.is_direct = amount, is_direct

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        called = request.tool_call
        args = {**called["args"], "amount": self.amount}
        if not self.is_direct:
            return await handler(request.override(tool_call={**called, "id": "other", "args": args}))
        return ToolMessage(await request.tool.ainvoke(args), tool_call_id=called["id"])


@pytest.mark.parametrize("is_changed", [True, False])
@pytest.mark.parametrize("is_direct", [True, False])
@pytest.mark.parametrize("mode", ["batched", "per_call", "approval"])
async def test_a_call_runs_as_approved_under_whatever_id_it_gets(mode: Any, is_direct: bool, is_changed: bool) -> None:
    RAN.clear()
    own = Approval(GATE, TOOLS) if mode == "approval" else None
    gate: Any = own or HumanInTheLoopMiddleware({"pay": True}, interrupt_mode=mode)
    replacing = Replacing("5000" if is_changed else "2", is_direct=is_direct)
    async with at_work("memory://", [agent(tries(call("pay", **REVIEWED)), TOOLS, [gate, replacing])]) as world:
        await world.run("office", {})
        thread = await world.answer(await world.one(), "approve")
        assert [amount for _, amount, _ in RAN] in ([], [2.0])
        if not is_changed and not own:
            assert (len(RAN), thread.attention) == (1, None)
        if is_changed and not own:
            assert "after people had decided" in str(thread.attention)


@pytest.mark.parametrize("mode", ["batched", "per_call"])
async def test_behind_langchains_own_gate_what_was_approved_runs(mode: str) -> None:
    RAN.clear()
    twice = [call("pay", "c1", **REVIEWED), call("pay", "c2", **REVIEWED), call("pair", "c3", order=2)]
    async with at_work("memory://", [stock(mode, *twice)]) as world:
        await world.run("office", {})
        for request in await world.pending():
            is_pay = "pay" in request.title
            await world.respond(request, "edit" if is_pay else "approve", **({"args": {"order": 9}} if is_pay else {}))
        thread = await world.rest()
        assert (thread.status, RAN) == ("done", [(9, 1, None)] * 2)
        assert thread.values["results"]["c3"][0] == "success"


@pytest.mark.parametrize("mode", ["batched", "per_call"])
async def test_behind_langchains_own_gate_a_later_call_may_have_the_id_of_an_approved_one(mode: Any) -> None:
    RAN.clear()
    gate: Any = HumanInTheLoopMiddleware({"pay": True}, interrupt_mode=mode)
    turns = tries(call("pay", **REVIEWED), call("pair", order=2))
    async with at_work("memory://", [agent(turns, TOOLS, [gate])]) as world:
        await world.run("office", {})
        thread = await world.answer(await world.one(), "approve")
        assert (thread.attention, thread.status, len(RAN)) == (None, "done", 1)


@pytest.mark.parametrize("is_list", [True, False])
async def test_an_edit_for_agent_inbox_adds_no_argument(file: str, *, is_list: bool) -> None:
    def asking(state: State) -> State:
        allowed = {"allow_accept": True, "allow_edit": True, "allow_ignore": True, "allow_respond": True}
        asked = {"action_request": {"action": "pay", "args": {"order": 1, "to": "ann"}}, "config": allowed}
        return {"heard": interrupt([asked] if is_list else asked)[0]["args"]["args"]}

    graph = StateGraph(State).add_node("ask", asking).add_edge(START, "ask").compile()
    async with at_work(file, [Agent("inbox", graph, output=dict)]) as world:
        await world.run("inbox", {})
        with pytest.raises(InvalidError, match=r"args\.iban: is not in the schema"):
            await world.respond(await world.one(), "edit", args={"order": 1, "to": "ann", "iban": "DE1"})
        thread = await world.answer(await world.one(), "edit", args={"order": 2, "to": "bob"})
        assert thread.values == {"heard": {"order": 2, "to": "bob"}}


def test_the_schema_of_a_tool_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    @tool
    def pay(amount: int, state: Annotated[dict[str, Any], InjectedState]) -> str:
        """Pay."""
        return "paid"

    made, make = list[BaseTool](), BaseTool.get_input_schema

    def counting(self: BaseTool, *args: Any) -> Any:
        made.append(self)
        return make(self, *args)

    monkeypatch.setattr(BaseTool, "get_input_schema", counting)
    first = injected_arguments(pay), tool_call_schema(pay)
    count = len(made)

    assert first == (injected_arguments(pay), tool_call_schema(pay)) == (frozenset({"state"}), first[1])
    assert 0 < len(made) == count

    class Other(BaseModel):
        sum: int

    pay.args_schema = Other
    assert list((tool_call_schema(pay) or {})["properties"]) == ["sum"]
