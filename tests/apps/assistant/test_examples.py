"""The example assistants in whole conversations, in English and Japanese, on the scripted model and a real database."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage

from ringi.domain.request import Request
from ringi.testing import RunFailedError, ScriptedPerson, TestHarness
from ringi.testing.model import ScriptedModel, tool_call
from ringi_apps.assistant.demo import agents, helper, projects, sales, say
from ringi_apps.assistant.demo.office import Office
from ringi_apps.assistant.demo.planner import NoProposalError, Planner
from ringi_apps.assistant.jobs import CallJob, PlanJob
from ringi_apps.assistant.memory import ContextMemory, memory_from_json
from ringi_apps.assistant.plans import Plan

CHAT = "chat"


class ChatDriver:
    """A conversation with one of the assistants, and the person who approves."""

    def __init__(self, office: Office, name: str) -> None:
        self.model = ScriptedModel(script=self._say)
        served = {agent.name: agent for agent in agents(self.model, office)}
        self.person = ScriptedPerson()
        self.desk, self._front = TestHarness(self.person, agents=served.values()), served[name]
        self.office, self.asked_of_model = office, 0
        self._displayed = 0

    def _say(self, messages: Any) -> Any:
        self.asked_of_model += 1
        return say(messages)

    async def say(self, text: str) -> ContextMemory:
        """Return the memory after a message."""
        return await self._start({"messages": [{"role": "user", "content": text}]})

    async def press(self, action: str) -> ContextMemory:
        """Return the memory after an action was pressed."""
        return await self._start({"event": {"type": "action", "action": action}})

    async def planned(self) -> Plan:
        """Return the plan once it is made."""
        plan = only_plan(await self.memory())
        if plan.status == "planning":
            await self.desk.resume(str(plan.thread_id))
        return only_plan(await self.memory())

    async def approve(self) -> ContextMemory:
        """Approve the plan, have it carried out, and return the memory then."""
        self.person.approves(kind="approval", times=1)
        return await self.carry_out()

    async def carry_out(self) -> ContextMemory:
        """Have the plan carried out that the person decides on, and return the memory then."""
        await self.desk.resume(str(only_plan(await self.memory()).thread_id))
        await self.desk.resume(str(only_plan(await self.memory()).thread_id))
        return await self.memory()

    async def chosen(self, info: str, **data: Any) -> ContextMemory:
        """Answer what is asked for an info, and return the memory then."""
        self.person.approves(kind="form", data=data, times=1)
        await self.desk.resume((await self.memory()).asks[info])
        return await self.memory()

    async def memory(self) -> ContextMemory:
        """Return the memory once the conversation rests."""
        return memory_from_json((await self.desk.resume(CHAT)).state["memory"])

    async def heard(self) -> str:
        """Return what was said since this was last asked."""
        messages = (await self.desk.resume(CHAT)).state["messages"]
        new, self._displayed = messages[self._displayed :], len(messages)
        return "\n".join(message.text for message in new if isinstance(message, AIMessage))

    async def _start(self, input: dict[str, Any]) -> ContextMemory:
        if self.asked_of_model:
            await self.memory()
        await self.desk.start(self._front, input, CHAT)
        return await self.memory()

    async def counted(self, table: str) -> int:
        return int((await self.office.read(f"SELECT count(*) AS rows FROM {table}"))[0]["rows"])


def only_plan(memory: ContextMemory) -> Plan:
    (plan,) = memory.plans.values()
    return plan


@pytest.fixture
def talk(tmp_path: Path) -> Callable[[str], ChatDriver]:
    return lambda name: ChatDriver(Office(tmp_path / "office.db"), name)


PROJECT_TALKS: dict[str, dict[str, Any]] = {
    "en": {
        "goal": "Our goal is 20% more sales in the first quarter.",
        "told": "20% more sales in the first quarter",
        "plan": "Make a plan, please.",
        "criticism": "The schedule is too tight",
        "taken": "half as much time again",
        "ahead": "Go ahead!",
        "button": "Carry out the plan",
        "steps": ["Design", "Build", "Test"],
        "done": "Done",
    },
    "ja": {
        "goal": "目標は第1四半期で売上20%向上です。",
        "told": "第1四半期で売上20%向上",
        "plan": "計画を作って",
        "criticism": "スケジュールが厳しすぎる",
        "taken": "1.5倍",
        "ahead": "進めて",
        "button": "計画を実行",
        "steps": ["設計", "開発", "テスト"],
        "done": "完了",
    },
}


@pytest.mark.parametrize("language", ["en", "ja"])
async def test_projects_are_planned_criticised_and_entered_once_a_person_approved(
    talk: Callable[[str], ChatDriver], language: str
) -> None:
    words, one = PROJECT_TALKS[language], talk("assistant")
    memory = await one.say(words["goal"])
    assert memory.items["business_goals"].value == words["told"]
    assert len(memory.items["project_list"].value) == 12
    before = await one.counted("milestones")
    await one.say(words["plan"])
    first = await one.planned()
    assert (first.status, [step.title for step in first.steps]) == ("planned", words["steps"])
    assert [each["weeks"] for each in first.plan["milestones"]] == [2, 6, 2]
    await one.say(words["criticism"])
    second = await one.planned()
    assert (second.status, second.version) == ("planned", 2)
    assert [each["weeks"] for each in second.plan["milestones"]] == [3, 9, 3]
    assert words["taken"] in second.plan["text"]
    assert second.steps[-1].args["due_on"] > first.steps[-1].args["due_on"]
    await one.heard()
    await one.say(words["ahead"])
    assert words["button"] in await one.heard()
    assert await one.counted("milestones") == before
    memory = await one.approve()
    assert memory.runs["projectExecuteWorkflow"].status == "completed"
    assert words["done"] in await one.heard()
    written = await one.office.read("SELECT * FROM milestones WHERE key IS NOT NULL ORDER BY starts_on")
    assert [row["name"][language] for row in written] == words["steps"]
    assert {row["project"] for row in written} == {second.steps[0].args["project"]}
    assert [plan.status for plan in memory.plans.values()] == ["completed"]
    assert ("business_goals" in memory.items, "project_list" in memory.items) == (False, True)


SALES_TALKS = {
    "en": {
        "plan": "Make a strategy",
        "waiting": "Market trends",
        "focus": "We focus on manufacturing.",
        "choose": "Choose leads",
        "criticism": "That is too tight",
        "taken": "half as much time again",
        "report": "Show me the performance report",
        "reported": "Tanaka",
        "ahead": "go ahead",
        "button": "Carry out the strategy",
    },
    "ja": {
        "plan": "戦略を立てて",
        "waiting": "市場動向",
        "focus": "製造業に注力する",
        "choose": "リードを選びたい",
        "criticism": "期限がきつすぎます",
        "taken": "1.5倍",
        "report": "実績レポートを見せて",
        "reported": "田中",
        "ahead": "承認します。進めて",
        "button": "戦略を実行",
    },
}


@pytest.mark.parametrize("language", ["en", "ja"])
async def test_sales_wait_for_the_market_and_then_become_tasks(
    talk: Callable[[str], ChatDriver], language: str
) -> None:
    words, one = SALES_TALKS[language], talk("sales")
    memory = await one.say(words["plan"])
    assert words["waiting"] in await one.heard()
    assert (memory.plans, "market_trends" in memory.items) == ({}, False)
    memory = await one.say(words["focus"])
    assert memory.items["focus_industry"].value == "manufacturing"
    assert {note["industry"] for note in memory.items["market_trends"].value} == {"manufacturing"}
    await one.say(words["choose"])
    wanted = sorted(lead["id"] for lead in memory.items["lead_data"].value["leads"][:2])
    memory = await one.chosen("lead_priority", value=wanted)
    assert memory.items["lead_priority"].value == wanted
    await one.heard()
    await one.say(words["report"])
    assert words["reported"] in await one.heard()
    before = await one.counted("tasks")
    await one.say(words["plan"])
    await one.planned()
    await one.say(words["criticism"])
    plan = await one.planned()
    assert (plan.version, [each["weeks"] for each in plan.plan["milestones"]]) == (2, [3, 3])
    assert words["taken"] in plan.plan["text"]
    await one.heard()
    await one.say(words["ahead"])
    assert words["button"] in await one.heard()
    assert await one.counted("tasks") == before
    memory = await one.approve()
    assert memory.runs["salesExecutionWorkflow"].status == "completed"
    written = await one.office.read("SELECT lead FROM tasks WHERE key IS NOT NULL ORDER BY lead")
    assert [row["lead"] for row in written] == wanted


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How do I reset my password?", "Forgotten password"),
        ("パスワードを忘れました", "パスワードをお忘れの方"),
        ("What is 15% of 2400?", "**360**"),
        ("12500 × 12 を計算して", "**150000**"),
        ("200の10%増しは?", "**220**"),
        ("What happened on 2026-11-22?", "No frequent question matches"),
        ("0で割ると? 1/0", "計算しません"),
        ("search for warehouse", "Warehouse scanners"),
        ("倉庫を検索して", "倉庫スキャナー導入"),
        ("スキャナー", "倉庫スキャナー導入"),
        ("Hello", "Ask me a question"),
        ("何ができますか?", "計算ができます"),
    ],
)
async def test_a_quick_question_is_answered_within_its_turn_by_one_call_of_the_model(
    talk: Callable[[str], ChatDriver], question: str, answer: str
) -> None:
    one = talk("helper")
    await one.say(question)
    assert answer in await one.heard()
    assert one.asked_of_model == 1


async def test_the_next_question_takes_the_place_of_the_one_before(talk: Callable[[str], ChatDriver]) -> None:
    one = talk("helper")
    await one.say("What is 2 * 21?")
    memory = await one.say("How do I export a report?")
    assert memory.items["user_query"].value == "How do I export a report?"
    assert "Export" in await one.heard()
    await one.press("search")
    assert "faq-009" in await one.heard()
    assert one.asked_of_model == 2


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Show me the project status", "| Website relaunch | active |"),
        ("プロジェクトの状況を見せて", "| Webサイトリニューアル | 進行中 |"),
        ("Who has time?", "| Yui Nakamura | design |"),
        ("誰の手が空いていますか", "| 中村 結衣 | デザイン |"),
    ],
)
async def test_the_status_is_looked_up_and_told_within_the_turn(
    talk: Callable[[str], ChatDriver], question: str, answer: str
) -> None:
    one = talk("assistant")
    memory = await one.say(question)
    assert answer in await one.heard()
    assert memory.items["project_list"].source.actor == "fetch_projects"
    assert one.asked_of_model == 1


@pytest.mark.parametrize(
    ("question", "answer"),
    [("What is a milestone?", "has an owner"), ("マイルストーンとは?", "節目"), ("Is it raining?", "our goal is")],
)
async def test_a_plain_question_is_answered_without_a_workflow(
    talk: Callable[[str], ChatDriver], question: str, answer: str
) -> None:
    one = talk("assistant")
    memory = await one.say(question)
    assert answer in await one.heard()
    assert (memory.runs, memory.plans, memory.asks) == ({}, {}, {})


@pytest.mark.parametrize(
    ("goal", "correction", "value"),
    [
        ("Our goal is to grow.", "No, our goal is to keep customers", "to keep customers"),
        ("目標は売上20%向上です。", "いや、目標は顧客満足度の向上です", "顧客満足度の向上"),
        ("目標は売上20%向上です。", "目標を解約率の低減に変更してください", "解約率の低減"),
    ],
)
async def test_a_corrected_goal_puts_the_plan_out_of_date(
    talk: Callable[[str], ChatDriver], goal: str, correction: str, value: str
) -> None:
    one = talk("assistant")
    await one.say(goal)
    await one.press("plan-001")
    assert (await one.planned()).status == "planned"
    memory = await one.say(correction)
    assert memory.items["business_goals"].value == value
    assert memory.items["business_goals"].source.quote == correction
    plan = only_plan(memory)
    assert (plan.status, plan.changed) == ("obsolete", ("business_goals",))
    await one.press("plan-001")
    again = await one.planned()
    assert (again.status, again.version) == ("planned", 2)
    assert value in again.plan["text"]


@pytest.mark.parametrize(
    ("words", "label"), [("Choose a project", "Warehouse scanners"), ("プロジェクトを選びたい", "倉庫スキャナー導入")]
)
async def test_the_chosen_project_is_the_one_that_is_planned(
    talk: Callable[[str], ChatDriver], words: str, label: str
) -> None:
    one = talk("assistant")
    await one.say("目標は誤出荷の削減です" if "選" in words else "Our goal is fewer wrong parcels")
    await one.say(words)
    await one.chosen("target_project", value="proj-003")
    (asked,) = one.person.requests
    assert label in [option.label for option in options_of(asked)]
    await one.press("plan-001")
    plan = await one.planned()
    assert {step.args["project"] for step in plan.steps} == {"proj-003"}
    assert label in plan.plan["text"]


def options_of(request: Request) -> list[Any]:
    assert request.form
    return list(getattr(request.form.fields[0], "options", []))


@pytest.mark.parametrize(
    ("remark", "weeks", "steps"),
    [
        ("This takes too long", [1, 4, 1], 3),
        ("もっと余裕がほしい", [3, 9, 3], 3),
        ("The plan should include a pilot in Kobe", [2, 6, 2, 1], 4),
    ],
)
async def test_each_kind_of_remark_shows_in_the_next_version(
    talk: Callable[[str], ChatDriver], remark: str, weeks: list[int], steps: int
) -> None:
    one = talk("assistant")
    await one.say("Our goal is to grow")
    await one.press("plan-001")
    await one.planned()
    await one.say(remark)
    plan = await one.planned()
    assert [each["weeks"] for each in plan.plan["milestones"]] == weeks
    assert len(plan.steps) == steps
    assert remark in plan.plan["text"]


async def test_other_people_do_the_steps_when_the_resources_are_criticised(talk: Callable[[str], ChatDriver]) -> None:
    one = talk("assistant")
    await one.say("目標は売上20%向上です")
    await one.press("plan-001")
    first = await one.planned()
    await one.say("リソース配分を見直して")
    second = await one.planned()
    assert not set(first.plan["resources"]) & set(second.plan["resources"])


async def test_a_plan_that_a_person_edited_is_entered_as_they_made_it(talk: Callable[[str], ChatDriver]) -> None:
    one = talk("assistant")
    await one.say("Our goal is to grow")
    await one.press("plan-001")
    plan = await one.planned()
    step = plan.steps[0].model_dump()
    changed = {"plan": plan.plan, "steps": [{**step, "args": {**step["args"], "title": "Sketch", "owner": "user-006"}}]}
    one.person.edits(kind="approval", args=changed, times=1)
    await one.carry_out()
    written = await one.office.read("SELECT * FROM milestones WHERE key IS NOT NULL")
    assert [(row["name"]["en"], row["owner"]) for row in written] == [("Sketch", "user-006")]


async def test_a_step_about_what_is_not_there_fails_in_words_and_the_rest_waits(
    talk: Callable[[str], ChatDriver],
) -> None:
    one = talk("assistant")
    await one.say("Our goal is to grow")
    await one.press("plan-001")
    plan = await one.planned()
    step = plan.steps[0].model_dump()
    changed = {"plan": plan.plan, "steps": [{**step, "args": {**step["args"], "project": "proj-999"}}]}
    one.person.edits(kind="approval", args=changed, times=1)
    await one.desk.resume(str(plan.thread_id))
    running = only_plan(await one.memory())
    with pytest.raises(RunFailedError):
        await one.desk.resume(str(running.thread_id))
    failed = only_plan(await one.memory())
    assert failed.status == "failed"
    assert str(failed.error) == "Design: 'proj-999' is not in projects: use an existing id"


async def test_a_model_that_proposes_nothing_makes_no_plan_and_says_so(tmp_path: Path) -> None:
    silent = Planner(ScriptedModel(script=lambda _: "I cannot."), "projects", "add_milestone", "project", in_turn=True)
    with pytest.raises(NoProposalError, match="plan again, or use a model that calls tools"):
        await silent.plan(PlanJob({}, (), None, 1, "en"))


async def test_a_model_that_invents_a_project_makes_no_plan() -> None:
    step = {"id": "a", "title": "a", "about": "proj-999", "owner": "user-001", "weeks": 2}
    model = ScriptedModel(script=lambda _: tool_call("Proposal", steps=[step]))
    planner = Planner(model, "projects", "add_milestone", "project", in_turn=True)
    with pytest.raises(NoProposalError, match="unknown ids: proj-999"):
        await planner.plan(PlanJob({"project_list": [{"id": "proj-001", "owner": "user-001"}]}, (), None, 1, "en"))


def test_steps_follow_each_other_from_the_next_monday_on() -> None:
    steps = [{"id": id, "title": id, "about": "proj-001", "owner": "user-001", "weeks": 2} for id in ("a", "b")]
    model = ScriptedModel(script=lambda _: tool_call("Proposal", steps=steps))
    planner = Planner(model, "projects", "add_milestone", "project", in_turn=True, today=lambda: date(2026, 11, 22))
    known = {"project_list": [{"id": "proj-001", "owner": "user-001"}]}
    draft = asyncio.run(planner.plan(PlanJob(known, (), None, 1, "en")))
    assert [(step["args"]["starts_on"], step["args"]["due_on"]) for step in draft["steps"]] == [
        ("2026-11-23", "2026-12-04"),
        ("2026-12-07", "2026-12-18"),
    ]


@pytest.mark.parametrize("module", [projects, sales, helper])
def test_everything_that_is_shown_is_worded_in_three_languages(module: Any, tmp_path: Path) -> None:
    assistants = module.assistant(ScriptedModel(script=say), Office(tmp_path / "office.db"))
    definitions = assistants.definitions
    titled = [text for each in (*definitions.infos, *definitions.handlers) for text in (each.title, each.description)]
    labelled = [text for each in definitions.actions for text in (each.label, each.description)]
    for text in (*titled, *labelled, assistants.title, assistants.description):
        assert isinstance(text, dict)
        assert set(text) == {"en", "ja", "zh"}


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ("目標は何ですか？", None),
        ("目標は何ですか", None),
        ("目標はまだ決まっていません", None),
        ("目标是什么", None),
        ("The goal is unclear to me, what do you mean?", None),
        ("The goal is unclear to me", None),
        ("Our goal is what exactly?", None),
        ("目標は売上20%向上です。よろしくお願いします", "売上20%向上"),
        ("Our goal is 20.5% more sales. Can you help me?", "20.5% more sales"),
        ("Our goal is not to lose customers.", "not to lose customers"),
    ],
)
async def test_a_goal_is_what_its_sentence_says_and_a_question_is_none(
    talk: Callable[[str], ChatDriver], words: str, value: str | None
) -> None:
    memory = await talk("assistant").say(words)
    assert (memory.items["business_goals"].value if "business_goals" in memory.items else None) == value


@pytest.mark.parametrize(
    ("words", "is_order"),
    [
        ("Do not make a plan", False),
        ("please don't make a plan yet", False),
        ("I don’t need a plan", False),
        ("How do I make a plan?", False),
        ("計画を作らないでください", False),
        ("計画を作りますか？", False),
        ("不要制定计划", False),
        ("Could you make a plan?", True),
        ("Make a plan, but do not hurry", True),
        ("計画を作ってもらえませんか？", True),
        ("計画を作っていただけないでしょうか", True),
    ],
)
async def test_who_says_no_or_asks_orders_no_plan(
    talk: Callable[[str], ChatDriver], words: str, is_order: bool
) -> None:
    one = talk("assistant")
    await one.say("Our goal is to grow")
    assert bool((await one.say(words)).plans) == is_order


@pytest.mark.parametrize("words", ["We do not focus on manufacturing", "製造業には注力しません"])
async def test_an_industry_that_is_ruled_out_is_not_chosen(talk: Callable[[str], ChatDriver], words: str) -> None:
    assert "focus_industry" not in (await talk("sales").say(words)).items


@pytest.mark.parametrize("words", ["Forget the goal", "目標を忘れて"])
async def test_a_goal_is_forgotten_when_somebody_says_so(talk: Callable[[str], ChatDriver], words: str) -> None:
    one = talk("assistant")
    await one.say("Our goal is to grow")
    assert "business_goals" in (await one.say("Do not forget the goal")).items
    assert "business_goals" not in (await one.say(words)).items


@pytest.mark.parametrize(
    ("name", "words", "answer"),
    [
        ("assistant", "ありがとう", "どういたしまして"),
        ("sales", "Thank you very much!", "You are welcome"),
        ("helper", "ありがとうございます。", "どういたしまして"),
        ("assistant", "空いている人は？", "中村 結衣"),
        ("assistant", "却下します", "「却下」を押して"),
        ("sales", "I reject the strategy", "press “Reject”"),
        ("assistant", "目標は何ですか？", "「ビジネス目標」"),
    ],
)
async def test_small_talk_is_answered_to_the_point(
    talk: Callable[[str], ChatDriver], name: str, words: str, answer: str
) -> None:
    one = talk(name)
    await one.say(words)
    assert answer in await one.heard()


async def test_a_step_that_fails_says_so_in_the_language_of_the_conversation(talk: Callable[[str], ChatDriver]) -> None:
    one = talk("assistant")
    await one.say("目標は売上20%向上です")
    await one.press("plan-001")
    plan = await one.planned()
    step = plan.steps[0].model_dump()
    changed = {"plan": plan.plan, "steps": [{**step, "args": {**step["args"], "project": "proj-999"}}]}
    one.person.edits(kind="approval", args=changed, times=1)
    await one.desk.resume(str(plan.thread_id))
    with pytest.raises(RunFailedError):
        await one.desk.resume(str(only_plan(await one.memory()).thread_id))
    assert "設計: 「proj-999」は projects にありません" in await one.heard()


async def test_a_plan_is_made_anew_from_one_whose_owner_nobody_knows(talk: Callable[[str], ChatDriver]) -> None:
    one = talk("assistant")
    await one.say("Our goal is to grow")
    await one.press("plan-001")
    plan = await one.planned()
    steps = [each.model_dump() for each in plan.steps]
    steps[0]["args"]["owner"] = "user-999"
    one.person.edits(kind="approval", args={"plan": plan.plan, "steps": steps}, times=1)
    await one.desk.resume(str(plan.thread_id))
    with pytest.raises(RunFailedError):
        await one.desk.resume(str(only_plan(await one.memory()).thread_id))
    assert only_plan(await one.memory()).status == "failed"
    await one.press("plan-001")
    again = await one.planned()
    assert (again.status, again.version) == ("planned", plan.version + 2)
    assert "user-999" not in {step.args["owner"] for step in again.steps}


@pytest.mark.parametrize(("language", "name"), [("en", "Emma Clark"), ("ja", "エマ・クラーク")])
async def test_what_people_read_of_a_plan_is_made_of_the_very_steps_that_are_proposed(language: str, name: str) -> None:
    step = {"id": "a", "title": "Sketch", "about": "proj-001", "owner": "user-005", "weeks": 2}
    lie = "We begin soon.\n\n| Step | Who |\n|---|---|\n| Spend it all | nobody |"
    model = ScriptedModel(script=lambda _: tool_call("Proposal", steps=[step]).model_copy(update={"content": lie}))
    planner = Planner(model, "projects", "add_milestone", "project", in_turn=True, today=lambda: date(2026, 11, 22))
    people = [{"id": "user-005", "name": {"en": "Emma Clark", "ja": "エマ・クラーク"}}]
    known = {"project_list": [{"id": "proj-001", "owner": "user-005"}], "resource_availability": people}
    plan = (await planner.plan(PlanJob(known, (), None, 1, language)))["plan"]
    assert plan["text"].startswith("We begin soon.")
    assert "Spend it all" not in plan["text"]
    assert plan["text"].endswith(f"| Sketch | 2 | {name} | 2026-12-04 |")
    assert plan["resources"] == [name]


@pytest.mark.parametrize(
    ("words", "answer"),
    [("Start over", "press “Start over”. It clears"), ("最初からやり直したい", "「最初からやり直す」を押すと")],
)
async def test_who_wants_to_start_over_is_told_of_that_button(
    talk: Callable[[str], ChatDriver], words: str, answer: str
) -> None:
    one = talk("assistant")
    await one.say(words)
    text = await one.heard()
    assert answer in text
    assert "approve" not in text


@pytest.mark.parametrize(("message", "is_told"), [("too dear", True), (None, False)])
async def test_a_rejection_with_a_reason_says_how_to_go_on(
    talk: Callable[[str], ChatDriver], message: str | None, is_told: bool
) -> None:
    one = talk("assistant")
    await one.say("Our goal is to grow")
    await one.press("plan-001")
    plan = await one.planned()
    await one.heard()
    one.person.rejects(message, kind="approval", times=1)
    await one.desk.resume(str(plan.thread_id))
    text = await one.heard()
    assert "rejected version 1" in text
    assert ("To plan again with this feedback, press “Create a plan”" in text) == is_told


@pytest.mark.parametrize(
    ("language", "topics", "amounts"),
    [("en", "delivery, price.", ["1,200 USD", "2,000 USD"]), ("ja", "「納期、価格」", ["1,200 ドル", "2,000 ドル"])],
)
async def test_a_report_names_all_that_customers_like_least_and_the_currency(
    language: str, topics: str, amounts: list[str]
) -> None:
    sold = {"amount": 1200, "target": 2000, "rate": 60, "start": "2026-01-01", "end": "2026-10-31"}
    feedback = {"by_topic": {"delivery": 3.0, "price": 3.0, "support": 4.2}, "average_score": 3.6}
    known = {"sales_performance": {**sold, "top_performers": []}, "customer_feedback": feedback}
    text = await sales.report(CallJob({}, known, language))
    assert topics in text
    assert all(amount in text for amount in amounts)
