"""The assistant for projects: it collects goals, plans milestones, and saves the approved ones."""

from __future__ import annotations

from functools import partial

from langchain_core.language_models import BaseChatModel

from ringi_apps.assistant import Assistant, CallJob, in_language
from ringi_apps.assistant.demo.ledger import carry_out
from ringi_apps.assistant.demo.lookups import Lookups
from ringi_apps.assistant.demo.office import Office, TableRow
from ringi_apps.assistant.demo.planner import Planner
from ringi_apps.assistant.demo.shared import Workflows, assistant_of, markdown_table, text_in
from ringi_apps.assistant.demo.speaker import ScriptedAssistant

PROMPT = "You help the people of a small company to plan their projects."
SPEAKER = ScriptedAssistant.of("projects", PROMPT)


def assistant(model: BaseChatModel, office: Office) -> Assistant:
    """Return the assistant for a model and a database."""
    lookups = Lookups(office)
    workflows: Workflows = {
        "projectPlanWorkflow": Planner(model, "projects", action="add_milestone", about="project", in_turn=True).plan,
        "projectExecuteWorkflow": partial(carry_out, office),
        "projectListWorkflow": partial(status, lookups),
        "resourceCheckWorkflow": partial(free, lookups),
    }
    return assistant_of("projects", "assistant", PROMPT, model, workflows, lookups)


async def status(lookups: Lookups, job: CallJob) -> str:
    """Return the status of the projects as a table."""
    lines = [row(each, job) for each in await lookups.projects({})]
    return markdown_table(text_in(job.language, "heads", "projects"), lines)


async def free(lookups: Lookups, job: CallJob) -> str:
    """Return the free hours of people as a table."""
    lines = [
        f"| {in_language(each['name'], job.language)} | {text_in(job.language, 'teams', each['team'])} "
        f"| {each['free_hours']} |"
        for each in await lookups.free({})
    ]
    return markdown_table(text_in(job.language, "heads", "people"), lines)


def row(project: TableRow, job: CallJob) -> str:
    """Return a project as a row of the table."""
    name, status = in_language(project["name"], job.language), text_in(job.language, "statuses", project["status"])
    done = f"{project['done']}/{project['milestones']}"
    return f"| {name} | {status} | {project['progress']} % | {done} | {project['due_on']} |"
