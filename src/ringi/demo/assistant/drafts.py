"""What the scripted model plans: a function of what the planner is given, and nothing else."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from ringi.assistant import Text, in_language
from ringi.testing import calls

Given = Mapping[str, Any]
Step = dict[str, Any]
PHASES: tuple[tuple[str, Text, str, int], ...] = (
    ("design", {"en": "Design", "ja": "設計", "zh": "设计"}, "design", 2),
    ("build", {"en": "Build", "ja": "開発", "zh": "开发"}, "development", 6),
    ("test", {"en": "Test", "ja": "テスト", "zh": "测试"}, "quality", 2),
)
CALL: Text = {"en": "Win {name}: {note}", "ja": "{name}への提案: {note}", "zh": "跟进{name}：{note}"}
REMARK: Text = {"en": "Look into: {text}", "ja": "検討: {text}", "zh": "检讨：{text}"}
WORDS: dict[str, Text] = {
    "goal": {"en": "It is for: {goal}.", "ja": "目標: {goal}", "zh": "目标：{goal}"},
    "project": {
        "en": "I begin with **{name}**: {progress} % of its milestones are done, and it is due on {due_on}.",
        "ja": "対象は **{name}** です。マイルストーンの{progress}%が完了し、期限は{due_on}です。",
        "zh": "从 **{name}** 开始：里程碑已完成{progress}%，截止日期为{due_on}。",
    },
    "sales": {
        "en": "We stand at {rate} % of the target, and the market says: {trend}.",
        "ja": "目標達成率は{rate}%です。市場の動き: {trend}。",
        "zh": "目标完成率为{rate}%。市场动向：{trend}。",
    },
    "longer": {
        "en": "You said “{text}”: every step gets half as much time again.",
        "ja": "「{text}」とのご指摘を受け、各工程の期間を1.5倍にしました。",
        "zh": "您说“{text}”：每个步骤的时间增加一半。",
    },
    "shorter": {
        "en": "You said “{text}”: every step gets a third less time.",
        "ja": "「{text}」とのご指摘を受け、各工程の期間を三分の二に縮めました。",
        "zh": "您说“{text}”：每个步骤的时间缩短三分之一。",
    },
    "others": {
        "en": "You said “{text}”: other people do the steps now.",
        "ja": "「{text}」とのご指摘を受け、担当者の割り当てを見直しました。",
        "zh": "您说“{text}”：已重新分配负责人。",
    },
    "noted": {
        "en": "You said “{text}”: there is a step for that now.",
        "ja": "「{text}」とのご指摘を受け、そのための工程を加えました。",
        "zh": "您说“{text}”：已为此增加一个步骤。",
    },
}
LONGER = re.compile(
    r"tight|too (short|fast|ambitious|optimistic)|more time|longer|extend|厳し|きつ|短すぎ|余裕|延ば|紧|宽", re.I
)
SHORTER = re.compile(r"too (long|slow|late)|shorte|faster|sooner|earlier|長すぎ|遅すぎ|早く|早め|短く|快|提前", re.I)
OTHERS = re.compile(r"resource|people|staff|owner|assign|リソース|人員|担当|配分|割り当て|资源|人员", re.I)


def is_planning(messages: Sequence[BaseMessage]) -> bool:
    """Whether these are the messages of a planner."""
    return messages[0].text.startswith("You plan for ")


def drafted(messages: Sequence[BaseMessage]) -> AIMessage:
    """Return why the plan is so, in Markdown, with the call that proposes its steps."""
    given = json.loads(messages[-1].text)
    is_of_projects = "project_list" in given["inputs"]
    fresh, why = (of_project if is_of_projects else of_sales)(given)
    steps, remarks = revised(given, before(given, fresh) or fresh)
    return AIMessage("\n\n".join([*why, *remarks]), tool_calls=calls("Proposal", steps=steps).tool_calls)


def of_project(given: Given) -> tuple[list[Step], list[str]]:
    """Return the phases of the project that was chosen, or of the one that most needs them, and why."""
    inputs = given["inputs"]
    project = chosen_project(inputs)
    steps = [
        {"id": id, "title": worded(given, title), "about": project["id"], "owner": free(inputs, team), "weeks": weeks}
        for id, title, team, weeks in PHASES
    ]
    told = {"name": worded(given, project["name"]), "progress": project["progress"], "due_on": project["due_on"]}
    return steps, [said(given, "goal", goal=inputs["business_goals"]), said(given, "project", **told)]


def chosen_project(inputs: Given) -> Given:
    """Return the project that a person chose, else the next one to begin, else the first to be due."""
    projects: list[Given] = inputs["project_list"]
    wanted = [each for each in projects if each["id"] == inputs.get("target_project")]
    ahead = sorted((each for each in projects if each["status"] == "planning"), key=lambda each: each["starts_on"])
    return (wanted or ahead or sorted(projects, key=lambda each: each["due_on"]))[0]


def of_sales(given: Given) -> tuple[list[Step], list[str]]:
    """Return a task for each lead that is worth it, and why."""
    inputs = given["inputs"]
    steps = [
        {"id": lead["id"], "title": about(given, lead), "about": lead["id"], "owner": lead["owner"], "weeks": 2}
        for lead in chosen_leads(inputs)
    ]
    trend = inputs["market_trends"][0]["title"] if inputs["market_trends"] else {"en": "nothing new", "ja": "特になし"}
    return steps, [said(given, "sales", rate=inputs["sales_performance"]["rate"], trend=worded(given, trend))]


def chosen_leads(inputs: Given) -> list[Given]:
    """Return the leads that a person chose, else the most valuable of the industry, else the most valuable."""
    leads: list[Given] = inputs["lead_data"]["leads"]
    wanted = [each for each in leads if each["id"] in (inputs.get("lead_priority") or ())]
    alike = [each for each in leads if each["industry"] == inputs.get("focus_industry")]
    return (wanted or alike or leads)[:3]


def about(given: Given, lead: Given) -> str:
    """Return what is to be done about a lead."""
    return worded(given, CALL).format(
        name=worded(given, lead["company"]), note=worded(given, lead["note"]).rstrip(".。")
    )


def before(given: Given, fresh: list[Step]) -> list[Step]:
    """Return the steps of the version before, as they were proposed; what nobody knows of them is made afresh."""
    previous = given["previous"] or {"steps": []}
    content = previous.get("plan")
    weeks = [each["weeks"] for each in content.get("milestones", [])] if isinstance(content, dict) else []
    other = fresh[0] if fresh else {}
    return [
        {
            "id": step["id"],
            "title": step["title"],
            "about": step["args"].get("project") or step["args"].get("lead") or other.get("about"),
            "owner": step["args"].get("owner") or other.get("owner"),
            "weeks": weeks[number] if number < len(weeks) else 2,
        }
        for number, step in enumerate(previous["steps"])
    ]


def revised(given: Given, steps: list[Step]) -> tuple[list[Step], list[str]]:
    """Return steps that take up what people said of them, and what is said of each remark."""
    remarks = []
    # The version before has taken up the rest; what is made afresh takes up all.
    for text in given["new_feedback"] if given["previous"] else given["feedback"]:
        code, change = next(((code, change) for form, code, change in REVISIONS if form.search(text)), ("noted", added))
        steps = change(given, steps, text)
        remarks.append(said(given, code, text=text))
    return steps, remarks


def longer(given: Given, steps: list[Step], text: str) -> list[Step]:
    """Return steps that take half as long again."""
    return [{**each, "weeks": math.ceil(each["weeks"] * 1.5)} for each in steps]


def shorter(given: Given, steps: list[Step], text: str) -> list[Step]:
    """Return steps that take a third less time."""
    return [{**each, "weeks": max(1, each["weeks"] * 2 // 3)} for each in steps]


def others(given: Given, steps: list[Step], text: str) -> list[Step]:
    """Return steps that those do who have most time and do none of them yet."""
    people = list(people_in(given["inputs"]))
    busy = {each["owner"] for each in steps}
    ready = [id for id in people if id not in busy] or people
    return [{**each, "owner": ready[number % len(ready)]} for number, each in enumerate(steps)]


def added(given: Given, steps: list[Step], text: str) -> list[Step]:
    """Return the steps and one more, about a remark."""
    title = worded(given, REMARK).format(text=text)
    return [*steps, {**steps[-1], "id": f"remark-{given['version']}-{len(steps)}", "title": title, "weeks": 1}]


Change = Callable[[Given, list[Step], str], list[Step]]
REVISIONS: tuple[tuple[re.Pattern[str], str, Change], ...] = (
    (LONGER, "longer", longer),
    (SHORTER, "shorter", shorter),
    (OTHERS, "others", others),
)


def people_in(inputs: Given) -> dict[str, Text]:
    """Return the people that a plan may name, those with most time or success first."""
    people = inputs.get("resource_availability") or inputs["sales_performance"]["top_performers"]
    leads = inputs.get("lead_data", {}).get("leads", [])
    return {each["id"]: each["name"] for each in people} | {each["owner"]: each["owner_name"] for each in leads}


def free(inputs: Given, team: str) -> str:
    """Return who of a team has most time."""
    people = inputs["resource_availability"]
    able = [each for each in people if each["team"] == team] or people
    return str(max(able, key=lambda each: each["free_hours"])["id"])


def said(given: Given, code: str, **about: Any) -> str:
    """Return a sentence in the language of the conversation."""
    return worded(given, WORDS[code]).format(**about)


def worded(given: Given, text: Text) -> str:
    """Return words in the language of the conversation."""
    return in_language(text, given["language"])
