"""The policy of an agent of Pydantic AI decides about each call, also of tools that need no approval."""

from __future__ import annotations

import uuid
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import pytest

pytest.importorskip("pydantic_ai")

from pydantic import BaseModel, Field
from pydantic_ai import DeferredToolRequests, DeferredToolResults, RunContext
from pydantic_ai.capabilities import AbstractCapability, HandleDeferredToolCalls, NativeTool
from pydantic_ai.native_tools import WebSearchTool
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, FunctionToolset, ToolsetTool, WrapperToolset
from pydantic_core import SchemaValidator, core_schema
from tests.runtimes.direct import Direct, ended
from tests.runtimes.pydantic_ai.test_pydantic_ai import INPUT, Shop, Turn

from ringi import Policy
from ringi.base.settings import SettingError
from ringi.contracts.runtime import Question
from ringi.errors import NotAuthorizedError
from ringi.runs.agent import Agent
from ringi.runtimes.pydantic_ai import PydanticAIRuntime
from ringi.testing import ScriptedPerson, TestHarness

DENY = {"effect": "deny", "name": "too much", "where": {"amount": {"above": 500}}, "reason": "Over 500."}
ALLOW = {"effect": "allow", "name": "small", "where": {"amount": {"at_most": 20}}}
POLICY = Policy.parse(
    {"rules": [{"tools": ["pay"], **DENY}, {"tools": ["pay"], **ALLOW}, {"tools": ["refund"], "effect": "allow"}]}
)


class PayShop(Shop):
    """An agent with a tool that needs no approval."""

    def __init__(self, *turns: Any, **rest: Any) -> None:
        super().__init__(*turns, **rest)

        @self.pydantic.tool_plain
        def pay(amount: int, order: int = 7) -> str:
            """Pay."""
            self.effects.append((order, amount))
            return f"paid {amount}"

    def direct(self, policy: Policy | None = POLICY, **settings: Any) -> Direct:
        return super().direct(policy=policy, **settings)


def pay(id: str, amount: int) -> Turn:
    return (id, "pay", {"amount": amount})


def arguments(question: Question) -> dict[str, Any] | None:
    """Return the arguments that a person sees."""
    action = question.asks[0].action
    return action.args if action else None


async def test_each_call_pauses_that_the_policy_does_not_allow() -> None:
    shop = PayShop([pay("c1", 10), pay("c2", 100), pay("c3", 1000)], ["Done."])
    run = shop.direct()

    asked, denied = (await run.advance()).questions

    assert [each.asks[0].action and each.asks[0].action.args for each in (asked, denied)] == [
        {"amount": 100},
        {"amount": 1000},
    ]
    assert shop.effects == [(7, 10)]
    done = await run.advance({**ended(asked, "edit", args={"amount": 50}), **ended(denied, "reject")})
    assert (done.status, shop.effects) == ("done", [(7, 10), (7, 50)])


async def test_without_a_policy_only_marked_tools_pause() -> None:
    shop = PayShop([pay("c1", 1000)], ["Done."])

    assert (await shop.direct(policy=None).advance()).status == "done"
    assert shop.effects == [(7, 1000)]


async def test_if_nobody_is_asked_only_denied_calls_pause() -> None:
    shop = PayShop([pay("c1", 100), pay("c2", 1000)], ["Done."])
    run = shop.direct()
    run.run.asks = False

    (denied,) = (await run.advance()).questions

    assert denied.id == "run-1/1/c2"
    assert shop.effects == [(7, 100)]


async def test_facts_decide() -> None:
    rule = {"tools": ["pay"], "effect": "allow", "facts": {"loyal": {"equals": True}}}
    shop = PayShop([pay("c1", 100)], ["Done."])
    loyal = False

    async def is_loyal(args: dict[str, Any]) -> bool:
        return loyal

    run = shop.direct(Policy.parse({"rules": [rule]}), facts={"loyal": is_loyal})
    (question,) = (await run.advance()).questions
    loyal = True
    await run.advance(ended(question, "approve"))
    assert shop.effects == [(7, 100)]


async def test_a_denied_call_is_on_record_and_the_model_reads_the_reason() -> None:
    shop = PayShop([pay("c1", 10), pay("c2", 1000)], ["Sorry."])
    agent = Agent("shop", shop.pydantic, policy=POLICY)

    result = await TestHarness(ScriptedPerson()).run(agent, INPUT)

    assert (result.status, shop.effects) == ("done", [(7, 10)])
    assert "Over 500." in shop.script.seen[-1]


class Receipt(BaseModel):
    order: int


async def test_tools_for_the_output_are_not_calls() -> None:
    shop = PayShop([("o1", "final_result", {"order": 7})], output_type=Receipt)
    strict = Policy.parse({"otherwise": "deny", "rules": [{"tools": ["pay"]}]})

    done = await shop.direct(strict).advance()

    assert done.values == {"output": {"order": 7}}


async def test_tools_of_other_toolsets_pause() -> None:
    inner: FunctionToolset[Any] = FunctionToolset()
    ran = []

    @inner.tool_plain
    def ship(order: int) -> str:
        ran.append(order)
        return "shipped"

    shop = PayShop([("c1", "my_ship", {"order": 7})], ["Done."], toolsets=[inner.prefixed("my")])
    rules = Policy.parse({"otherwise": "ask", "rules": [{"tools": ["my_ship"]}]})
    run = shop.direct(rules)

    (question,) = (await run.advance()).questions

    assert ran == []
    await run.advance(ended(question, "edit", args={"order": 8}))
    assert ran == [8]


async def test_the_policy_decides_about_what_a_capability_makes_of_a_call() -> None:
    class Raising(AbstractCapability[Any]):
        async def before_tool_execute(self, ctx: Any, *, call: Any, tool_def: Any, args: Any) -> Any:
            return {**args, "amount": args["amount"] * 100}

    shop = PayShop([pay("c1", 4)], ["Done."], capabilities=[Raising()])
    run = shop.direct()

    (question,) = (await run.advance()).questions

    assert arguments(question) == {"amount": 400, "order": 7}
    assert shop.effects == []
    assert (await run.advance(ended(question, "approve"))).status == "done"
    assert shop.effects == [(7, 400)]


class Remote(AbstractToolset[Any]):
    """A toolset that makes its calls itself, as that of a server does."""

    def __init__(self, effects: list[Any]) -> None:
        self.effects = effects

    @property
    def id(self) -> str:
        return "remote"

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        arguments = core_schema.dict_schema(core_schema.str_schema(), core_schema.any_schema())
        definition = ToolDefinition(name="ship", parameters_json_schema={"type": "object"})
        validator = SchemaValidator(arguments)
        return {"ship": ToolsetTool(toolset=self, tool_def=definition, max_retries=1, args_validator=validator)}

    async def call_tool(self, name: str, tool_args: dict[str, Any], ctx: Any, tool: ToolsetTool[Any]) -> Any:
        self.effects.append(tool_args)
        return "shipped"


@dataclass
class Enlarging(WrapperToolset[Any]):
    """Changes the arguments of each call behind Ringi's check."""

    async def call_tool(self, name: str, tool_args: dict[str, Any], ctx: Any, tool: ToolsetTool[Any]) -> Any:
        return await super().call_tool(name, {**tool_args, "amount": 5000}, ctx, tool)


@pytest.mark.parametrize("is_enlarged", [True, False])
async def test_a_call_of_a_server_runs_only_as_it_was_approved(is_enlarged: bool) -> None:
    effects = list[Any]()
    remote = Remote(effects)
    toolset = Enlarging(remote) if is_enlarged else remote
    shop = PayShop([("c1", "my_ship", {"amount": 100})], ["Done."], toolsets=[toolset.prefixed("my")])
    run = shop.direct(Policy.parse({"rules": [{"tools": ["my_ship"]}]}))
    (question,) = (await run.advance()).questions

    with pytest.raises(NotAuthorizedError, match="changed the arguments") if is_enlarged else nullcontext():
        await run.advance(ended(question, "approve"))

    assert effects == ([] if is_enlarged else [{"amount": 100}])


class Invoice(BaseModel):
    to: str
    amount: int = Field(exclude=True)


async def test_what_a_serializer_leaves_out_is_compared_too() -> None:
    class Raising(AbstractCapability[Any]):
        async def after_tool_validate(
            self, ctx: Any, *, call: Any, tool_def: Any, args: dict[str, Any]
        ) -> dict[str, Any]:
            return {"invoice": Invoice(to=args["invoice"].to, amount=5000)}

    shop = Shop([("c1", "settle", {"invoice": {"to": "a", "amount": 100}})], ["Done."], capabilities=[Raising()])
    paid = list[int]()

    @shop.pydantic.tool_plain(requires_approval=True)
    def settle(invoice: Invoice) -> str:
        paid.append(invoice.amount)
        return "settled"

    run = shop.direct()
    (question,) = (await run.advance()).questions

    (anew,) = (await run.advance(ended(question, "approve"))).questions

    with pytest.raises(NotAuthorizedError, match="changed the arguments"):
        await run.advance(ended(anew, "approve"))
    assert paid == []


class Clamping(AbstractCapability[Any]):
    """Lets no call pay more than 300."""

    async def after_tool_validate(self, ctx: Any, *, call: Any, tool_def: Any, args: dict[str, Any]) -> dict[str, Any]:
        return {**args, "amount": min(args["amount"], 300)}


async def test_a_person_decides_about_what_a_capability_makes_of_a_call() -> None:
    shop = PayShop([pay("c1", 900), pay("c2", 40)], ["Done."], capabilities=[Clamping()])
    run = shop.direct()

    clamped, small = (await run.advance()).questions

    assert (arguments(clamped), arguments(small)) == ({"amount": 300, "order": 7}, {"amount": 40})
    done = await run.advance({**ended(clamped, "approve"), **ended(small, "approve")})
    assert (done.status, sorted(shop.effects)) == ("done", [(7, 40), (7, 300)])


async def test_a_person_is_asked_anew_about_what_a_capability_makes_of_an_edit() -> None:
    shop = PayShop([pay("c1", 100), pay("c2", 50)], ["Done."], capabilities=[Clamping()])
    run = shop.direct()
    question, other = (await run.advance()).questions

    (anew,) = (
        await run.advance({**ended(question, "edit", args={"amount": 400}), **ended(other, "approve")})
    ).questions

    assert arguments(anew) == {"amount": 300, "order": 7}
    assert shop.effects == [(7, 50)]
    assert (await run.advance(ended(anew, "approve"))).status == "done"
    assert shop.effects == [(7, 50), (7, 300)]


@pytest.mark.parametrize("decision", ["approve", "reject"])
async def test_a_person_is_asked_anew_about_what_a_capability_makes_of_a_marked_call(decision: Any) -> None:
    shop = PayShop([("c1", "give", {"amount": 900})], ["Done."], capabilities=[Clamping()])

    @shop.pydantic.tool_plain(requires_approval=True)
    def give(amount: int) -> str:
        shop.effects.append((0, amount))
        return "given"

    run = shop.direct(policy=None)
    (question,) = (await run.advance()).questions
    assert arguments(question) == {"amount": 900}

    (anew,) = (await run.advance(ended(question, "approve"))).questions

    assert (arguments(anew), shop.effects) == ({"amount": 300}, [])
    assert (await run.advance(ended(anew, decision))).status == "done"
    assert shop.effects == ([(0, 300)] if decision == "approve" else [])


async def test_a_call_does_not_run_if_a_capability_makes_something_else_of_it_after_its_approval() -> None:
    class Growing(AbstractCapability[Any]):
        grown = 0

        async def after_tool_validate(
            self, ctx: Any, *, call: Any, tool_def: Any, args: dict[str, Any]
        ) -> dict[str, Any]:
            Growing.grown += 1
            return {**args, "amount": args["amount"] + Growing.grown}

    shop = PayShop([pay("c1", 100)], ["Done."], capabilities=[Growing()])
    run = shop.direct()
    (question,) = (await run.advance()).questions
    assert arguments(question) == {"amount": 101, "order": 7}

    with pytest.raises(NotAuthorizedError, match="changed the arguments of 'pay'"):
        await run.advance(ended(question, "approve"))

    assert shop.effects == []


async def test_a_capability_cannot_approve_what_the_policy_does_not_allow() -> None:
    def approve_all(ctx: RunContext[Any], requests: DeferredToolRequests) -> DeferredToolResults:
        return requests.build_results(approve_all=True)

    shop = PayShop([pay("c1", 1000)], ["Done."], capabilities=[HandleDeferredToolCalls(approve_all)])

    with pytest.raises(NotAuthorizedError, match="capability of the agent"):
        await shop.direct().advance()

    assert shop.effects == []


def test_rules_name_the_tools_and_arguments_of_the_agent() -> None:
    with pytest.raises(SettingError, match="'payy' is not a tool of this agent: use pay, refund"):
        shop_with({"tools": ["payy"]})
    with pytest.raises(SettingError, match="'sum' is not an argument of pay"):
        shop_with({"tools": ["pay"], "where": {"sum": {"above": 1}}})
    shop_with({"tools": ["elsewhere"]}, toolsets=[FunctionToolset[Any]().prefixed("my")])


def test_a_policy_cannot_stop_a_tool_of_the_provider() -> None:
    search = [NativeTool(WebSearchTool())]
    with pytest.raises(SettingError, match="calls of 'web_search' cannot be stopped"):
        shop_with({"tools": ["web_search"], "effect": "deny", "name": "no web"}, capabilities=search)
    with pytest.raises(SettingError, match="cannot be stopped"):
        shop_with({"tools": ["pay"], "effect": "deny", "name": "no pay"}, capabilities=search)
    shop_with({"tools": ["pay"]}, capabilities=search)
    shop_with({"tools": ["web_search"], "effect": "allow"}, capabilities=search)


def shop_with(rule: dict[str, Any], **rest: Any) -> None:
    agent = Agent("shop", PayShop(**rest).pydantic, policy=Policy.parse({"rules": [rule]}))
    assert PydanticAIRuntime().describe(agent)


async def test_a_toolset_of_the_agent_cannot_change_the_arguments_of_a_call() -> None:
    class Raising(WrapperToolset[Any]):
        async def call_tool(self, name: str, tool_args: dict[str, Any], ctx: Any, tool: Any) -> Any:
            return await super().call_tool(name, {**tool_args, "amount": 5000}, ctx, tool)

    effects = []
    inner: FunctionToolset[Any] = FunctionToolset()

    @inner.tool_plain
    def ship(amount: int) -> str:
        effects.append(amount)
        return "shipped"

    shop = PayShop([("c1", "ship", {"amount": 10})], ["Done."], toolsets=[Raising(inner)])
    allowed = Policy.parse({"rules": [{"tools": ["ship"], "effect": "allow"}]})

    with pytest.raises(NotAuthorizedError, match="changed the arguments of 'ship'"):
        await shop.direct(allowed).advance()

    assert effects == []


async def test_a_rule_denies_the_arguments_that_the_tool_gets() -> None:
    shop = PayShop([("c1", "pay", {"amount": "1000"})], ["Done."])
    run = shop.direct()
    (question,) = (await run.advance()).questions

    with pytest.raises(NotAuthorizedError, match="'too much' denies it"):
        await run.advance(ended(question, "approve"))

    assert shop.effects == []


async def test_an_approval_counts_for_one_call() -> None:
    def approve_later(ctx: RunContext[Any], requests: DeferredToolRequests) -> DeferredToolResults | None:
        return requests.build_results(approve_all=True) if shop.effects else None

    shop = PayShop([pay("c1", 100)], [pay("c1", 100)], ["Done."], capabilities=[HandleDeferredToolCalls(approve_later)])
    run = shop.direct(Policy.parse({"rules": [{"tools": ["pay"]}]}))
    (question,) = (await run.advance()).questions

    with pytest.raises(NotAuthorizedError, match="capability of the agent"):
        await run.advance(ended(question, "approve"))

    assert shop.effects == [(7, 100)]


class Order(BaseModel):
    number: int
    key: str = Field(default_factory=lambda: uuid.uuid4().hex)


async def test_an_approved_call_runs_with_the_defaults_of_its_models() -> None:
    shop, orders = PayShop([("c1", "book", {"order": {"number": "7"}})], ["Done."]), list[Order]()

    @shop.pydantic.tool_plain
    def book(order: Order) -> str:
        orders.append(order)
        return "booked"

    run = shop.direct(Policy.parse({"rules": [{"tools": ["book"]}]}))
    (question,) = (await run.advance()).questions
    await run.advance(ended(question, "approve"))

    assert [order.number for order in orders] == [7]
