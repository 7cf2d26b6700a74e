"""The policy of an agent of the OpenAI Agents SDK decides about each call, also of tools that need no approval."""

from __future__ import annotations

import json
from typing import Any

import pytest

agents = pytest.importorskip("agents")

from agents import Agent as SDKAgent  # noqa: E402
from agents import AgentHooks, RunContextWrapper, function_tool  # noqa: E402
from agents.exceptions import UserError  # noqa: E402
from agents.mcp import MCPServer  # noqa: E402
from agents.testing import ModelStep, assistant_message, function_call  # noqa: E402
from mcp.types import CallToolResult, TextContent, Tool  # noqa: E402
from openai.types.responses import Response, ResponseCompletedEvent  # noqa: E402
from tests.runtimes.direct import Direct, ended  # noqa: E402
from tests.runtimes.openai_agents.test_openai_agents import INPUT, Shop, last_input  # noqa: E402

from ringi import Policy  # noqa: E402
from ringi.base.settings import SettingError  # noqa: E402
from ringi.errors import NotAuthorizedError  # noqa: E402
from ringi.runs.agent import Agent  # noqa: E402
from ringi.runtimes.openai_agents import OpenAIAgentsRuntime  # noqa: E402
from ringi.testing import ScriptedPerson, TestHarness  # noqa: E402

DENY = {"effect": "deny", "name": "too much", "where": {"amount": {"above": 500}}, "reason": "Over 500."}
ALLOW = {"effect": "allow", "name": "small", "where": {"amount": {"at_most": 20}}}
ALL = {"effect": "allow"}
POLICY = Policy.parse(
    {"rules": [{"tools": ["pay"], **DENY}, {"tools": ["pay"], **ALLOW}, {"tools": ["refund"], **ALL}]}
)


def policy_of(*rules: dict[str, Any], **settings: Any) -> Policy:
    return Policy.parse({"rules": list(rules), **settings})


class PayShop(Shop):
    """An agent with a tool that needs no approval."""

    def __init__(self, *turns: Any, **rest: Any) -> None:
        super().__init__(*turns, **rest)

        @function_tool
        def pay(amount: int) -> str:
            """Pay."""
            self.effects.append((0, amount))
            return f"paid {amount}"

        self.pay = pay
        self.sdk.tools.append(pay)

    def direct(self, policy: Policy | None = POLICY, **settings: Any) -> Direct:
        return super().direct(policy=policy, **settings)


def pay(id: str, amount: int) -> Any:
    return function_call("pay", {"amount": amount}, call_id=id)


async def test_each_call_pauses_that_the_policy_does_not_allow() -> None:
    shop = PayShop([pay("c1", 10), pay("c2", 100), pay("c3", 1000)], [assistant_message("Done.")])
    run = shop.direct()

    asked, denied = (await run.advance()).questions

    assert [each.asks[0].action and each.asks[0].action.args for each in (asked, denied)] == [
        {"amount": 100},
        {"amount": 1000},
    ]
    assert shop.effects == [(0, 10)]
    paused = await run.advance(ended(asked, "edit", args={"amount": 50}))
    assert [each.id for each in paused.questions] == [denied.id]
    done = await run.advance(ended(denied, "reject"))
    assert (done.status, shop.effects) == ("done", [(0, 10), (0, 50)])


async def test_without_a_policy_only_marked_tools_pause() -> None:
    shop = PayShop([pay("c1", 1000)], [assistant_message("Done.")])

    assert (await shop.direct(policy=None).advance()).status == "done"
    assert shop.effects == [(0, 1000)]


async def test_if_nobody_is_asked_only_denied_calls_pause() -> None:
    shop = PayShop([pay("c1", 100), pay("c2", 1000)], [assistant_message("Done.")])
    run = shop.direct()
    run.run.asks = False

    (denied,) = (await run.advance()).questions

    assert denied.id == "run-1/1/shop/c2"
    assert shop.effects == [(0, 100)]


async def test_a_tool_that_decides_itself_pauses_when_it_or_the_policy_says_so() -> None:
    async def for_odd(ctx: RunContextWrapper[Any], args: dict[str, Any], call_id: str) -> bool:
        return bool(args["amount"] % 2)

    shop = PayShop([pay("c1", 10), pay("c2", 11), pay("c3", 100)], [assistant_message("Done.")])
    shop.pay.needs_approval = for_odd

    questions = (await shop.direct().advance()).questions

    assert [each.id[-2:] for each in questions] == ["c2", "c3"]
    assert shop.effects == [(0, 10)]


async def test_a_question_that_waits_stays_when_a_fact_changes() -> None:
    loyal = False
    rule = {"tools": ["pay"], **ALL, "facts": {"loyal": {"equals": True}}}
    shop = PayShop([pay("c1", 1), pay("c2", 2)], [assistant_message("Done.")])
    run = shop.direct(policy_of(rule), facts={"loyal": lambda args: loyal})
    first, second = (await run.advance()).questions

    loyal = True
    paused = await run.advance(ended(first, "reject"))

    assert [each.id for each in paused.questions] == [second.id]
    assert shop.effects == []


async def test_a_denied_call_is_on_record_and_the_model_reads_the_reason() -> None:
    shop = PayShop([pay("c1", 10), pay("c2", 1000)], [assistant_message("Sorry.")])

    result = await TestHarness(ScriptedPerson()).run(Agent("shop", shop.sdk, policy=POLICY), INPUT)

    assert (result.status, shop.effects) == ("done", [(0, 10)])
    assert "Over 500." in last_input(shop.model)


async def test_a_nested_agent_pauses_at_its_first_call() -> None:
    inner = PayShop([pay("n1", 100)], [assistant_message("Paid.")])
    tool = inner.sdk.as_tool("payments", "Handles payments")
    outer = PayShop([function_call("payments", {"input": "order 7"}, call_id="o1")], [assistant_message("All done.")])
    outer.sdk = SDKAgent(name="desk", model=outer.model, tools=[tool])
    run = outer.direct(policy_of({"tools": ["pay"], **ALLOW}, {"tools": ["payments", "refund"], **ALL}))

    (question,) = (await run.advance()).questions

    assert (question.id, inner.effects) == ("run-1/1/o1/1/shop/n1", [])
    done = await run.advance(ended(question, "edit", args={"amount": 2}))
    assert (done.status, inner.effects) == ("done", [(0, 2)])
    assert tool._agent_instance is inner.sdk


async def test_an_agent_that_is_a_tool_pauses_before_its_own_call() -> None:
    inner = PayShop([pay("n1", 100)], [assistant_message("Paid.")])
    tool = inner.sdk.as_tool("payments", "Handles payments")
    outer = PayShop([function_call("payments", {"input": "order 7"}, call_id="o1")], [assistant_message("All done.")])
    outer.sdk = SDKAgent(name="desk", model=outer.model, tools=[tool])
    run = outer.direct(policy_of({"tools": ["pay"], **ALLOW}, otherwise="ask"))

    (first,) = (await run.advance()).questions
    assert first.id == "run-1/1/desk/o1"
    (second,) = (await run.advance(ended(first, "approve"))).questions
    done = await run.advance(ended(second, "approve"))

    assert (done.values, inner.effects) == ({"output": "All done."}, [(0, 100)])


async def test_after_a_handoff_the_policy_holds() -> None:
    inner = PayShop([pay("h1", 100)], [assistant_message("Paid.")])
    outer = PayShop([function_call("transfer_to_shop", {}, call_id="o1")])
    outer.sdk = SDKAgent(name="desk", model=outer.model, handoffs=[inner.sdk])
    run = outer.direct()

    (question,) = (await run.advance()).questions
    await run.advance(ended(question, "reject"))

    assert inner.effects == []


class Server(MCPServer):
    """An MCP server in memory."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Any] = []

    @property
    def name(self) -> str:
        return "memory"

    async def connect(self) -> None:
        pass

    async def cleanup(self) -> None:
        pass

    async def list_tools(self, run_context: Any = None, agent: Any = None) -> list[Tool]:
        schema = {"type": "object", "properties": {"amount": {"type": "integer"}}, "required": ["amount"]}
        return [Tool.model_validate({"name": "send", "inputSchema": schema})]

    async def call_tool(self, tool_name: str, arguments: Any, meta: Any = None) -> CallToolResult:
        self.calls.append(arguments)
        return CallToolResult(content=[TextContent(type="text", text="sent")])

    async def list_prompts(self) -> Any:
        raise AssertionError

    async def get_prompt(self, name: str, arguments: Any = None) -> Any:
        raise AssertionError


async def test_calls_of_mcp_servers_pause() -> None:
    server = Server()
    calls = [function_call("send", {"amount": amount}, call_id=f"c{amount}") for amount in (10, 100, 1000)]
    shop = PayShop(calls, [assistant_message("Done.")], mcp_servers=[server])
    run = shop.direct(policy_of({"tools": ["send"], **ALLOW}, {"tools": ["send"], **DENY}))

    asked, denied = (await run.advance()).questions

    assert (asked.id[-4:], denied.id[-5:], server.calls) == ("c100", "c1000", [{"amount": 10}])
    assert asked.asks[0].allowed == ("approve", "reject", "respond")
    await run.advance({**ended(asked, "approve"), **ended(denied, "reject")})
    assert server.calls == [{"amount": 10}, {"amount": 100}]


def streamed(*output: dict[str, Any]) -> ModelStep:
    """Return a turn with calls that are not of functions."""
    body = {
        "id": "r1",
        "created_at": 0,
        "model": "scripted",
        "object": "response",
        "output": list(output),
        "tool_choice": "none",
        "tools": [],
        "parallel_tool_calls": False,
        "status": "completed",
    }
    response = Response.model_validate(body)
    return ModelStep.stream([ResponseCompletedEvent(response=response, sequence_number=0, type="response.completed")])


async def test_a_shell_pauses_and_its_author_approves_nothing() -> None:
    ran = []

    async def run_commands(request: Any) -> str:
        ran.append(request.data.action.commands)
        return "ok"

    async def approve(ctx: Any, item: Any) -> Any:
        return {"approve": True}

    tool = agents.ShellTool(executor=run_commands, needs_approval=True, on_approval=approve)
    action = {"commands": ["ls"], "timeout_ms": None, "max_output_length": None}
    call = {"type": "shell_call", "id": "s1", "call_id": "s1", "status": "completed", "action": action}
    shop = PayShop(streamed(call), [assistant_message("Done.")])
    shop.sdk.tools.append(tool)
    run = shop.direct(policy_of({"tools": ["shell"]}))

    (question,) = (await run.advance()).questions

    assert ran == []
    await run.advance(ended(question, "approve"))
    assert ran == [["ls"]]
    assert tool.on_approval is approve


async def test_a_custom_tool_pauses() -> None:
    ran = []

    async def execute(ctx: Any, input: str) -> str:
        ran.append(input)
        return "ok"

    call = {"type": "custom_tool_call", "id": "x1", "call_id": "x1", "name": "query", "input": "drop"}
    shop = PayShop(streamed(call), [assistant_message("Done.")])
    shop.sdk.tools.append(agents.CustomTool(name="query", description="Query", on_invoke_tool=execute))
    run = shop.direct(policy_of({"tools": ["query"]}))

    (question,) = (await run.advance()).questions
    await run.advance(ended(question, "reject"))

    assert (question.asks[0].title, ran) == ("Run query?", [])


def test_all_calls_of_a_hosted_mcp_server_ask_the_sdk() -> None:
    from ringi.runtimes.openai_agents.tool_pauses import GuardedAgents, OpenAIToolPauses

    config: Any = {
        "type": "mcp",
        "server_label": "git",
        "server_url": "https://example.com",
        "require_approval": "never",
    }
    hosted = agents.HostedMCPTool(tool_config=config, on_approval_request=lambda request: {"approve": True})
    shop = PayShop()
    shop.sdk.tools.append(hosted)

    copied: Any = GuardedAgents(OpenAIToolPauses(shop.direct().run, 0)).copy_of(shop.sdk).tools[-1]

    assert (copied.tool_config["require_approval"], copied.on_approval_request) == ("always", None)
    assert hosted.tool_config["require_approval"] == "never"


async def test_a_call_that_nobody_asked_about_does_not_run() -> None:
    from agents.tool_context import ToolContext

    from ringi.runtimes.openai_agents.tool_pauses import GuardedAgents, OpenAIToolPauses

    shop = PayShop()
    copied: Any = GuardedAgents(OpenAIToolPauses(shop.direct().run, 0)).copy_of(shop.sdk).tools[-1]

    for amount in (10, 1000):
        args = json.dumps({"amount": amount})
        context: Any = ToolContext(None, tool_name="pay", tool_call_id="c1", tool_arguments=args)
        if amount == 10:
            await copied.on_invoke_tool(context, args)
        else:
            with pytest.raises(NotAuthorizedError):
                await copied.on_invoke_tool(context, args)

    assert shop.effects == [(0, 10)]


def test_rules_name_the_tools_and_arguments_of_the_agent() -> None:
    with pytest.raises(SettingError, match="'payy' is not a tool of this agent: use pay, refund"):
        load(PayShop().sdk, {"tools": ["payy"]})
    with pytest.raises(SettingError, match="'sum' is not an argument of pay"):
        load(PayShop().sdk, {"tools": ["pay"], "where": {"sum": {"above": 1}}})
    clerk = PayShop().sdk.as_tool("clerk", "Asks the clerk")
    load(SDKAgent(name="desk", tools=[clerk], handoffs=[PayShop().sdk]), {"tools": ["pay", "clerk"]})
    load(PayShop(mcp_servers=[Server()]).sdk, {"tools": ["send"]})


def test_a_policy_cannot_stop_a_tool_of_the_provider() -> None:
    sdk = PayShop().sdk
    sdk.tools.append(agents.WebSearchTool())
    with pytest.raises(SettingError, match="calls of 'web_search' cannot be stopped"):
        load(sdk, {"tools": ["web_search"]})
    with pytest.raises(SettingError, match="cannot be stopped"):
        load(sdk, {"tools": ["pay"], **DENY})
    load(sdk, {"tools": ["pay"]})
    load(sdk, {"tools": ["pay"], **DENY}, {"tools": ["web_search"], **ALL})


def test_an_agent_that_makes_its_own_tools_is_refused() -> None:
    from agents.sandbox import SandboxAgent

    with pytest.raises(SettingError, match="the tools of SandboxAgent"):
        load(SandboxAgent(name="box"), {"tools": ["pay"], **DENY})


def load(sdk: Any, *rules: dict[str, Any]) -> None:
    assert OpenAIAgentsRuntime().describe(Agent("shop", sdk, policy=policy_of(*rules)))


class Replacing(AgentHooks[Any]):
    """Puts another function into a tool right before it runs."""

    def __init__(self, effects: list[Any]) -> None:
        self.effects = effects
        self.started = 0

    async def on_tool_start(self, context: Any, agent: Any, tool: Any) -> None:
        self.started += 1

        async def pay_more(context: Any, arguments: str) -> str:
            self.effects.append("other")
            return "paid"

        tool.on_invoke_tool = pay_more


@pytest.mark.parametrize("decision", ["approve", "edit"])
async def test_an_approved_call_does_not_run_if_a_hook_of_its_agent_replaced_the_tool(decision: Any) -> None:
    shop = PayShop([pay("c1", 100)], [assistant_message("Done.")])
    shop.sdk.hooks = Replacing(shop.effects)
    run = shop.direct()
    (question,) = (await run.advance()).questions

    with pytest.raises(UserError, match="'pay' was replaced"):
        await run.advance(ended(question, decision, args={"amount": 50} if decision == "edit" else None))

    assert (shop.effects, shop.sdk.hooks.started) == ([], 1)
