"""The plans of the scripted model; they depend only on the planner's input."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from ringi.testing import tool_call
from ringi_apps.assistant import LocalizedText, in_language
from ringi_apps.assistant.demo.shared import TEXTS, text_in

PlannerInput = Mapping[str, Any]
DraftStep = dict[str, Any]


def is_planning(messages: Sequence[BaseMessage]) -> bool:
    """Return whether these messages belong to a planner."""
    return messages[0].text.startswith("You plan for ")


def draft(messages: Sequence[BaseMessage]) -> AIMessage:
    """Return the reasons for a plan in Markdown, with the call that proposes its steps."""
    planner_input = json.loads(messages[-1].text)
    is_of_projects = "project_list" in planner_input["inputs"]
    new_steps, why = (draft_project if is_of_projects else draft_sales)(planner_input)
    steps, remarks = revise(planner_input, previous_steps(planner_input, new_steps) or new_steps)
    return AIMessage("\n\n".join([*why, *remarks]), tool_calls=tool_call("Proposal", steps=steps).tool_calls)


def draft_project(planner_input: PlannerInput) -> tuple[list[DraftStep], list[str]]:
    """Return the phases of the project to plan, and the reasons."""
    inputs = planner_input["inputs"]
    project = chosen_project(inputs)
    steps = [
        {
            "id": phase["id"],
            "title": localized(planner_input, phase["title"]),
            "about": project["id"],
            "owner": free(inputs, phase["team"]),
            "weeks": phase["weeks"],
        }
        for phase in TEXTS["phases"]
    ]
    values = {
        "name": localized(planner_input, project["name"]),
        "progress": project["progress"],
        "due_on": project["due_on"],
    }
    return steps, [
        sentence(planner_input, "goal", goal=inputs["business_goals"]),
        sentence(planner_input, "project", **values),
    ]


def chosen_project(inputs: PlannerInput) -> PlannerInput:
    """Return the project that a person chose, else the next one to start, else the next one due."""
    projects: list[PlannerInput] = inputs["project_list"]
    selected = [each for each in projects if each["id"] == inputs.get("target_project")]
    ahead = sorted((each for each in projects if each["status"] == "planning"), key=lambda each: each["starts_on"])
    return (selected or ahead or sorted(projects, key=lambda each: each["due_on"]))[0]


def draft_sales(planner_input: PlannerInput) -> tuple[list[DraftStep], list[str]]:
    """Return a task for each lead to follow up, and the reasons."""
    inputs = planner_input["inputs"]
    steps = [
        {"id": lead["id"], "title": about(planner_input, lead), "about": lead["id"], "owner": lead["owner"], "weeks": 2}
        for lead in chosen_leads(inputs)
    ]
    trend = inputs["market_trends"][0]["title"] if inputs["market_trends"] else {"en": "nothing new", "ja": "特になし"}
    return steps, [
        sentence(
            planner_input, "sales", rate=inputs["sales_performance"]["rate"], trend=localized(planner_input, trend)
        )
    ]


def chosen_leads(inputs: PlannerInput) -> list[PlannerInput]:
    """Return the leads that a person chose, else the most valuable of the industry, else the most valuable."""
    leads: list[PlannerInput] = inputs["lead_data"]["leads"]
    selected = [each for each in leads if each["id"] in (inputs.get("lead_priority") or ())]
    alike = [each for each in leads if each["industry"] == inputs.get("focus_industry")]
    return (selected or alike or leads)[:3]


def about(planner_input: PlannerInput, lead: PlannerInput) -> str:
    """Return the title of a task for a lead."""
    note = localized(planner_input, lead["note"]).rstrip(".。")
    return sentence(planner_input, "call", name=localized(planner_input, lead["company"]), note=note)


def previous_steps(planner_input: PlannerInput, new_steps: list[DraftStep]) -> list[DraftStep]:
    """Return the steps of the previous version; unknown values come from the new draft."""
    previous = planner_input["previous"] or {"steps": []}
    content = previous.get("plan")
    weeks = [each["weeks"] for each in content.get("milestones", [])] if isinstance(content, dict) else []
    other = new_steps[0] if new_steps else {}
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


def revise(planner_input: PlannerInput, steps: list[DraftStep]) -> tuple[list[DraftStep], list[str]]:
    """Return the steps changed by the feedback, and a sentence about each remark."""
    remarks = []
    # The previous version already includes the older feedback; a new draft needs all of it.
    for text in planner_input["new_feedback"] if planner_input["previous"] else planner_input["feedback"]:
        code, change = next(
            ((code, change) for code, change in REVISIONS.items() if re.search(TEXTS["revisions"][code], text, re.I)),
            ("added", add_step),
        )
        steps = change(planner_input, steps, text)
        remarks.append(sentence(planner_input, code, text=text))
    return steps, remarks


def lengthen(planner_input: PlannerInput, steps: list[DraftStep], text: str) -> list[DraftStep]:
    """Return the steps with half as much time again."""
    return [{**each, "weeks": math.ceil(each["weeks"] * 1.5)} for each in steps]


def shorten(planner_input: PlannerInput, steps: list[DraftStep], text: str) -> list[DraftStep]:
    """Return the steps with a third less time."""
    return [{**each, "weeks": max(1, each["weeks"] * 2 // 3)} for each in steps]


def reassign(planner_input: PlannerInput, steps: list[DraftStep], text: str) -> list[DraftStep]:
    """Assign the steps to other people, those with the most time first."""
    people = list(people_in(planner_input["inputs"]))
    busy = {each["owner"] for each in steps}
    ready = [id for id in people if id not in busy] or people
    return [{**each, "owner": ready[number % len(ready)]} for number, each in enumerate(steps)]


def add_step(planner_input: PlannerInput, steps: list[DraftStep], text: str) -> list[DraftStep]:
    """Return the steps and one more for a remark."""
    title = sentence(planner_input, "remark", text=text)
    return [*steps, {**steps[-1], "id": f"remark-{planner_input['version']}-{len(steps)}", "title": title, "weeks": 1}]


DraftChange = Callable[[PlannerInput, list[DraftStep], str], list[DraftStep]]
REVISIONS: dict[str, DraftChange] = {"longer": lengthen, "shorter": shorten, "others": reassign}
"""The change of a draft for each pattern of feedback."""


def people_in(inputs: PlannerInput) -> dict[str, LocalizedText]:
    """Return the people that a plan may name, those with the most time or sales first."""
    people = inputs.get("resource_availability") or inputs["sales_performance"]["top_performers"]
    leads = inputs.get("lead_data", {}).get("leads", [])
    return {each["id"]: each["name"] for each in people} | {each["owner"]: each["owner_name"] for each in leads}


def free(inputs: PlannerInput, team: str) -> str:
    """Return the person of a team with the most time."""
    people = inputs["resource_availability"]
    able = [each for each in people if each["team"] == team] or people
    return str(max(able, key=lambda each: each["free_hours"])["id"])


def sentence(planner_input: PlannerInput, code: str, **values: object) -> str:
    """Return a sentence of the plan in the language of the conversation."""
    return text_in(planner_input["language"], "drafts", code, **values)


def localized(planner_input: PlannerInput, text: LocalizedText) -> str:
    """Return a text in the language of the conversation."""
    return in_language(text, planner_input["language"])
