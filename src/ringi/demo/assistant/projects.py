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
    Text,
    WorkflowNeeds,
    in_language,
)
from ringi.demo.assistant.ledger import PlanExecutor
from ringi.demo.assistant.lookups import Lookups
from ringi.demo.assistant.office import Office, Row
from ringi.demo.assistant.planner import Planner
from ringi.demo.assistant.shared import START_OVER_ACTION, definitions, table
from ringi.demo.assistant.speaker import (
    ALL_RIGHT,
    FEEDBACK,
    GO_AHEAD,
    GREETING,
    REJECT,
    START_OVER,
    THANKS,
    ReplyRule,
    ScriptedAssistant,
)

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
NO_GOAL = (
    r"(?:(?:still|rather|quite|very|not) )*(?:(?:un)?clear|unknown|missing|vague|wrong|open)\b|not (?!to\b)"
    r"|what\b|which\b|何|なに|なん|どう|どれ|どこ|誰|いつ|まだ|未定|什么|怎|哪"
)
ASKED = r"(?<!すか)(?<!しょうか)(?<!りません)(?<!いません)(?<!てません)"
VALUE = rf"((?!{NO_GOAL})[^。！？?\n]+?){ASKED}(?=[.!](?:\s|$)|[。！\n]|$)"
"""The text of a goal: it ends with its sentence, and is not in a question."""
GOAL = rf"\b(?:our|my|the)(?: business| new)? (?:goals?|target|aim) (?:is|are|should be)(?: now)?:?\s+{VALUE}"
SPEAKER = ScriptedAssistant(
    PROMPT,
    rules=(
        ReplyRule(
            r"\b(?:forget|drop|delete|remove|clear) (?:the|our|my|that)(?: business)? goals?\b"
            r"|目標を?(?:忘れ|消|削除|取り消|取り下げ|クリア)|(?:忘记|删除|清除)目标",
            {"en": "The goal is cleared.", "ja": "目標を消去します。", "zh": "我会清除目标。"},
            op="clear",
            key="business_goals",
            is_order=True,
        ),
        ReplyRule(
            rf"(?:^no\b|actually|sorry|instead|rather|correction).*?{GOAL}"
            rf"|(?:いや|いえ|違い|違う|訂正|やはり|やっぱり).*?目標は[、,]?\s*{VALUE}"
            r"|目標を(?!何|どう)[、,]?\s*(.+?)に(?:変更|訂正|修正|変え|直)",
            {
                "en": "I have corrected the goal: “{value}”.",
                "ja": "目標を訂正しました: 「{value}」。",
                "zh": "已更正目标：“{value}”。",
            },
            op="correct",
            key="business_goals",
        ),
        ReplyRule(
            rf"{GOAL}|^goals?:\s*{VALUE}|目標(?:は[、,]?|[:：])\s*{VALUE}|目标是[：:，,]?\s*{VALUE}",
            {
                "en": "I take “{value}” as the goal. Press “Create a plan” when you are ready.",
                "ja": "「{value}」を目標として承りました。準備ができたら「計画を作成」を押してください。",
                "zh": "已将“{value}”记为目标。准备好后请按“制定计划”。",
            },
            op="set",
            key="business_goals",
        ),
        ReplyRule(
            FEEDBACK,
            {
                "en": "I understand: the plan needs another version.",
                "ja": "わかりました。計画を直します。",
                "zh": "明白了，我会修改计划。",
            },
            op="feedback",
        ),
        ReplyRule(
            r"\b(?:make|create|draft|write|prepare|need|want)\b.*\bplan\b"
            r"|^plan\b|\bplan (?:it|this|again)\b|let.s plan\b"
            r"|計画を?(?:作|立て|策定|練)|計画して|計画をお願い|制定计划",
            {"en": "I'll draft a plan.", "ja": "計画の案を作成します。", "zh": "我来起草计划。"},
            action="plan-001",
            is_order=True,
        ),
        REJECT,
        ReplyRule(GO_AHEAD, ALL_RIGHT, action="apply-001", is_order=True),
        START_OVER,
        ReplyRule(
            r"\b(?:choose|select|pick|another)\b.*\bproject\b|プロジェクトを?(?:選|変え)|选择项目",
            {"en": "Which project is it?", "ja": "対象のプロジェクトを選んでください。", "zh": "请选择项目。"},
            action="selector-001",
            is_order=True,
        ),
        ReplyRule(
            r"\bwho (?:has|is) (?:time|free|available)\b|\bresources?\b|\bcapacity\b|リソース|空き|空い[てた]|资源",
            {"en": "Available people:", "ja": "担当者の空き状況です:", "zh": "人员的空闲情况："},
            action="resource-check",
        ),
        ReplyRule(
            r"\bstatus\b|\bprogress\b|\b(?:show|list|see|how are)\b.*\bprojects\b|状況|進捗|一覧|状况",
            {"en": "Status of the projects:", "ja": "プロジェクトの状況です:", "zh": "项目的状况："},
            action="project-status",
        ),
        ReplyRule(
            r"\b(?:goals?|target|aim)\b|目標|目标",
            {
                "en": "The goal is listed under “Business goals”. To set it, write “our goal is …”.",
                "ja": "目標は「ビジネス目標」に表示されます。「目標は…」と書くと設定できます。",
                "zh": "目标显示在“业务目标”中。请写“目标是……”来设定。",
            },
        ),
        THANKS,
        ReplyRule(
            GREETING,
            {
                "en": "Hello! Tell me your business goal, or ask for the project status.",
                "ja": "こんにちは。ビジネス目標を教えてください。プロジェクトの状況もお見せできます。",
                "zh": "您好！请告诉我业务目标，或查看项目状况。",
            },
        ),
        ReplyRule(
            r"\bmilestones?\b|マイルストーン|里程碑",
            {
                "en": "A milestone is a point that a project must reach by a day: it has an owner and a due date.",
                "ja": "マイルストーンとは、期日までに到達すべき節目です。担当者と期限があります。",
                "zh": "里程碑是项目须在某日之前达到的节点，有负责人和截止日期。",
            },
        ),
    ),
    otherwise={
        "en": "I plan projects with you: say “our goal is …”, “make a plan”, or “show me the project status”.",
        "ja": "計画をお手伝いします。「目標は…」「計画を作って」「プロジェクトの状況を見せて」とお伝えください。",
        "zh": "我可以协助制定项目计划。请说“目标是……”、“制定计划”，或“项目状况”。",
    },
)
STATUSES: dict[str, Text] = {
    "planning": {"en": "planning", "ja": "計画中", "zh": "计划中"},
    "active": {"en": "active", "ja": "進行中", "zh": "进行中"},
    "on_hold": {"en": "on hold", "ja": "保留", "zh": "暂停"},
    "done": {"en": "done", "ja": "完了", "zh": "完成"},
}
TEAMS: dict[str, Text] = {
    "data": {"en": "data", "ja": "データ", "zh": "数据"},
    "design": {"en": "design", "ja": "デザイン", "zh": "设计"},
    "development": {"en": "development", "ja": "開発", "zh": "开发"},
    "operations": {"en": "operations", "ja": "運用", "zh": "运营"},
    "quality": {"en": "quality", "ja": "品質", "zh": "质量"},
    "sales": {"en": "sales", "ja": "営業", "zh": "销售"},
}
STATUS_HEAD: Text = {
    "en": "| Project | Status | Done | Milestones | Due |",
    "ja": "| プロジェクト | 状態 | 進捗 | マイルストーン | 期限 |",
    "zh": "| 项目 | 状态 | 进度 | 里程碑 | 截止 |",
}
FREE_HEAD: Text = {
    "en": "| Person | Team | Free hours a week |",
    "ja": "| 担当者 | チーム | 週の空き時間 |",
    "zh": "| 人员 | 团队 | 每周空闲小时 |",
}


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
        return table(in_language(STATUS_HEAD, job.language), lines)

    async def free(self, job: CallJob) -> str:
        """Return the free hours of people as a table."""
        people = await self._lookups.free({})
        lines = [
            f"| {in_language(each['name'], job.language)} | {in_language(TEAMS[each['team']], job.language)} "
            f"| {each['free_hours']} |"
            for each in people
        ]
        return table(in_language(FREE_HEAD, job.language), lines)


def row(project: Row, job: CallJob) -> str:
    """Return a project as a row of the table."""
    name, status = (in_language(text, job.language) for text in (project["name"], STATUSES[project["status"]]))
    done = f"{project['done']}/{project['milestones']}"
    return f"| {name} | {status} | {project['progress']} % | {done} | {project['due_on']} |"
