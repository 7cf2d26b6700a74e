"""The assistant for projects: it collects goals, plans milestones, and saves the approved ones."""

from __future__ import annotations

from langchain_core.language_models import BaseChatModel

from ringi.assistant import (
    Action,
    Assistant,
    CallJob,
    Choices,
    Info,
    Needs,
    WorkflowNeeds,
    in_language,
)
from ringi.demo.assistant.ledger import PlanExecutor
from ringi.demo.assistant.lookups import Lookups
from ringi.demo.assistant.office import Office, Row
from ringi.demo.assistant.planner import Planner
from ringi.demo.assistant.shared import START_OVER_ACTION, definitions, table, text_in
from ringi.demo.assistant.speaker import ScriptedAssistant

PROMPT = "You help the people of a small company to plan their projects."
HANDLERS = ("fetch_projects", "fetch_user_info", "fetch_resources")
QUARTER_HOUR, HOUR = 900, 3600
INFOS = (
    Info(
        "project_list",
        title={"en": "Projects", "ja": "プロジェクト一覧", "zh": "项目列表"},
        description={"en": "The current projects", "ja": "現在のプロジェクト一覧", "zh": "当前的项目列表"},
        handler="fetch_projects",
        ttl=QUARTER_HOUR,
    ),
    Info(
        "user_preferences",
        title={"en": "Preferences", "ja": "ユーザーの優先設定", "zh": "用户偏好"},
        description={"en": "How you like to work", "ja": "ユーザーの優先設定", "zh": "用户的优先设置"},
        handler="fetch_user_info",
        params={"userId": "user-001"},
        ttl=HOUR,
    ),
    Info(
        "business_goals",
        title={"en": "Business goals", "ja": "ビジネス目標", "zh": "业务目标"},
        description={
            "en": "The result to reach, such as 20 % more sales in the first quarter",
            "ja": "達成したいこと。例: 第1四半期で売上20%向上",
            "zh": "希望达成的目标，例如第一季度销售额提高20%",
        },
        schema={"type": "string", "minLength": 1, "maxLength": 500},
    ),
    Info(
        "resource_availability",
        title={"en": "Free people", "ja": "リソースの利用可能性", "zh": "资源可用性"},
        description={"en": "Who has time", "ja": "担当者の空き状況", "zh": "人员的空闲情况"},
        handler="fetch_resources",
        ttl=HOUR,
    ),
    Info(
        "target_project",
        title={"en": "Chosen project", "ja": "対象プロジェクト", "zh": "目标项目"},
        description={"en": "The project to plan", "ja": "計画の対象とするプロジェクト", "zh": "要制定计划的项目"},
        schema={"type": "string", "minLength": 1, "maxLength": 100},
        choices=Choices("fetch_projects", max_items=12),
    ),
    Info(
        "project_plan",
        title={"en": "Project plan", "ja": "プロジェクト計画", "zh": "项目计划"},
        description={"en": "The plan that was made", "ja": "作成済みのプロジェクト計画", "zh": "已制定的项目计划"},
    ),
)
ACTIONS = (
    Action(
        "plan-001",
        "plan",
        label={"en": "Create a plan", "ja": "計画を作成", "zh": "制定计划"},
        description={
            "en": "Plans a project from the known information",
            "ja": "現在の情報を基にプロジェクト計画を作成",
            "zh": "根据现有信息制定项目计划",
        },
        workflow="projectPlanWorkflow",
        requires=(
            "project_list",
            "business_goals",
            Needs("user_preferences", optional=True),
            Needs("target_project", optional=True),
        ),
        produces=("project_plan",),
    ),
    Action(
        "apply-001",
        "apply",
        label={"en": "Carry out the plan", "ja": "計画を実行", "zh": "执行计划"},
        description={
            "en": "Adds the milestones of the plan",
            "ja": "作成された計画を実行に移す",
            "zh": "将计划的里程碑登记并付诸实施",
        },
        workflow="projectExecuteWorkflow",
        requires=("project_list", "business_goals", "project_plan", "resource_availability"),
        depends_on=("plan-001",),
        requires_workflow=(
            WorkflowNeeds(
                "projectPlanWorkflow",
                description={
                    "en": "The project is planned",
                    "ja": "プロジェクト計画が完了していること",
                    "zh": "项目计划已完成",
                },
            ),
        ),
    ),
    Action(
        "selector-001",
        "selector",
        label={"en": "Choose a project", "ja": "プロジェクト選択", "zh": "选择项目"},
        description={"en": "Which project to plan", "ja": "対象プロジェクトを選択", "zh": "选择目标项目"},
        requires=("project_list",),
        info="target_project",
    ),
    Action(
        "project-status",
        "immediate",
        label={"en": "Project status", "ja": "プロジェクト一覧取得", "zh": "项目状况"},
        description={
            "en": "Shows the status of the projects",
            "ja": "プロジェクトの状況を表示",
            "zh": "显示项目的状况",
        },
        workflow="projectListWorkflow",
    ),
    Action(
        "resource-check",
        "immediate",
        label={"en": "Who has time", "ja": "リソース状況確認", "zh": "确认资源状况"},
        description={"en": "Shows free hours a week", "ja": "週あたりの空き時間を表示", "zh": "显示每周的空闲时间"},
        workflow="resourceCheckWorkflow",
        requires=("project_list",),
    ),
    START_OVER_ACTION,
)
SPEAKER = ScriptedAssistant.of("projects", PROMPT)


def assistant(model: BaseChatModel, office: Office, name: str = "assistant") -> Assistant:
    """Return the assistant for a model and a database."""
    lookups = Lookups(office)
    reports = ProjectReports(lookups)
    planner = Planner(model, "projects", action="add_milestone", about="project", in_turn=True)
    return Assistant(
        name,
        definitions(INFOS, ACTIONS, HANDLERS, lookups),
        model,
        workflows={
            "projectPlanWorkflow": planner.plan,
            "projectExecuteWorkflow": PlanExecutor(office).carry_out,
            "projectListWorkflow": reports.status,
            "resourceCheckWorkflow": reports.free,
        },
        title={"en": "Projects", "ja": "プロジェクト管理", "zh": "项目管理"},
        description={
            "en": "Plans projects with you; say 'our goal is …', 'make a plan' or 'show me the project status'.",
            "ja": "プロジェクトの計画を一緒に作ります。",
            "zh": "与您一起制定项目计划。",
        },
        prompt=PROMPT,
    )


class ProjectReports:
    """The workflows of the immediate actions."""

    def __init__(self, lookups: Lookups) -> None:
        self._lookups = lookups

    async def status(self, job: CallJob) -> str:
        """Return the status of the projects as a table."""
        projects = await self._lookups.projects({})
        lines = [row(each, job) for each in projects]
        return table(text_in(job.language, "heads", "projects"), lines)

    async def free(self, job: CallJob) -> str:
        """Return the free hours of people as a table."""
        people = await self._lookups.free({})
        lines = [
            f"| {in_language(each['name'], job.language)} | {text_in(job.language, 'teams', each['team'])} "
            f"| {each['free_hours']} |"
            for each in people
        ]
        return table(text_in(job.language, "heads", "people"), lines)


def row(project: Row, job: CallJob) -> str:
    """Return a project as a row of the table."""
    name, status = in_language(project["name"], job.language), text_in(job.language, "statuses", project["status"])
    done = f"{project['done']}/{project['milestones']}"
    return f"| {name} | {status} | {project['progress']} % | {done} | {project['due_on']} |"
