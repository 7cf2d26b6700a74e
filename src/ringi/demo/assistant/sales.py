"""The assistant for sales: it reads leads, results and the market, and plans a strategy."""

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
from ringi.demo.assistant.lookups import INDUSTRY_NAMES, Lookups
from ringi.demo.assistant.office import Office
from ringi.demo.assistant.planner import Planner
from ringi.demo.assistant.shared import START_OVER_ACTION, TEXTS, definitions, table, text_in
from ringi.demo.assistant.speaker import ScriptedAssistant

PROMPT = "You help the sales people of a small company to win customers."
HANDLERS = (
    "fetch_sales_performance",
    "fetch_market_trends",
    "fetch_leads",
    "fetch_lead_choices",
    "fetch_industries",
    "fetch_customer_feedback",
)
PERIOD = {"startDate": "2025-11-01", "endDate": "2026-10-31"}
HOUR = 3600
INFOS = (
    Info(
        "lead_data",
        title={"en": "Leads", "ja": "リード情報", "zh": "线索信息"},
        description={"en": "Leads and contacts with them", "ja": "リード情報と接触履歴", "zh": "线索信息与接触记录"},
        handler="fetch_leads",
        ttl=HOUR,
    ),
    Info(
        "sales_performance",
        title={"en": "Sales performance", "ja": "営業実績", "zh": "销售业绩"},
        description={"en": "Sales of the last year", "ja": "過去の営業実績", "zh": "过去的销售业绩"},
        handler="fetch_sales_performance",
        params=PERIOD,
        ttl=HOUR,
    ),
    Info(
        "focus_industry",
        title={"en": "Industry in focus", "ja": "注力する業種", "zh": "重点行业"},
        description={"en": "Which industry to win", "ja": "どの業種に注力するか", "zh": "重点开拓哪个行业"},
        schema={"type": "string", "enum": list(INDUSTRY_NAMES)},
        choices=Choices("fetch_industries"),
    ),
    Info(
        "market_trends",
        title={"en": "Market trends", "ja": "市場動向", "zh": "市场动向"},
        description={"en": "The market and competitors", "ja": "市場動向と競合情報", "zh": "市场动向与竞争信息"},
        handler="fetch_market_trends",
        params={"industry": {"info": "focus_industry"}},
        ttl=HOUR,
    ),
    Info(
        "customer_feedback",
        title={"en": "Customer feedback", "ja": "顧客の声", "zh": "客户反馈"},
        description={"en": "Feedback from customers", "ja": "顧客からの評価", "zh": "客户的评价"},
        handler="fetch_customer_feedback",
        ttl=HOUR,
    ),
    Info(
        "lead_priority",
        title={"en": "Leads first", "ja": "優先リード", "zh": "优先线索"},
        description={"en": "The leads to win first", "ja": "優先して対応するリード", "zh": "优先跟进的线索"},
        schema={"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 5},
        choices=Choices("fetch_lead_choices"),
    ),
    Info(
        "sales_strategy",
        title={"en": "Sales strategy", "ja": "営業戦略", "zh": "销售策略"},
        description={"en": "The strategy that was made", "ja": "策定済みの営業戦略", "zh": "已制定的销售策略"},
    ),
)
ACTIONS = (
    Action(
        "plan-002",
        "plan",
        label={"en": "Plan the sales strategy", "ja": "営業戦略を計画", "zh": "制定销售策略"},
        description={
            "en": "Plans a strategy from leads and results",
            "ja": "リードデータと実績を基に営業戦略を策定",
            "zh": "根据线索与业绩制定销售策略",
        },
        workflow="salesStrategyWorkflow",
        requires=(
            "lead_data",
            "sales_performance",
            "market_trends",
            Needs("focus_industry", optional=True),
            Needs("lead_priority", optional=True),
        ),
        produces=("sales_strategy",),
    ),
    Action(
        "apply-002",
        "apply",
        label={"en": "Carry out the strategy", "ja": "戦略を実行", "zh": "执行策略"},
        description={"en": "Adds a task for each lead", "ja": "リードごとの作業を登録", "zh": "为每条线索登记任务"},
        workflow="salesExecutionWorkflow",
        requires=("lead_data", "sales_performance", "market_trends", "sales_strategy"),
        depends_on=("plan-002",),
        requires_workflow=(WorkflowNeeds("salesStrategyWorkflow"),),
    ),
    Action(
        "selector-002",
        "selector",
        label={"en": "Choose leads", "ja": "リード優先度設定", "zh": "设定线索优先级"},
        description={"en": "Which leads come first", "ja": "リードの優先度を設定", "zh": "设定线索的优先级"},
        requires=("lead_data",),
        info="lead_priority",
    ),
    Action(
        "selector-003",
        "selector",
        label={"en": "Choose an industry", "ja": "業種を選択", "zh": "选择行业"},
        description={"en": "Which industry to win", "ja": "注力する業種を選択", "zh": "选择重点行业"},
        info="focus_industry",
    ),
    Action(
        "lead-analysis",
        "immediate",
        label={"en": "Analyse leads", "ja": "リード分析", "zh": "分析线索"},
        description={"en": "Shows the status of the leads", "ja": "リードの状況を分析", "zh": "分析线索的状况"},
        workflow="leadAnalysisWorkflow",
        requires=("lead_data",),
    ),
    Action(
        "performance-report",
        "immediate",
        label={"en": "Performance report", "ja": "パフォーマンスレポート生成", "zh": "生成业绩报告"},
        description={
            "en": "Results and customer feedback",
            "ja": "実績と顧客の声の報告",
            "zh": "业绩与客户反馈的报告",
        },
        workflow="performanceReportWorkflow",
        requires=("sales_performance", "customer_feedback"),
    ),
    START_OVER_ACTION,
)
SPEAKER = ScriptedAssistant.of("sales", PROMPT)


def assistant(model: BaseChatModel, office: Office, name: str = "sales") -> Assistant:
    """Return the assistant for a model and a database."""
    planner = Planner(model, "sales", action="add_task", about="lead", in_turn=False)
    return Assistant(
        name,
        definitions(INFOS, ACTIONS, HANDLERS, Lookups(office)),
        model,
        workflows={
            "salesStrategyWorkflow": planner.plan,
            "salesExecutionWorkflow": PlanExecutor(office).carry_out,
            "leadAnalysisWorkflow": leads,
            "performanceReportWorkflow": report,
        },
        title={"en": "Sales", "ja": "営業の最適化", "zh": "销售优化"},
        description={
            "en": "Plans sales with you; say 'we focus on manufacturing', 'analyse the leads' or 'make a strategy'.",
            "ja": "営業戦略を一緒に立てます。",
            "zh": "与您一起制定销售策略。",
        },
        prompt=PROMPT,
    )


async def leads(job: CallJob) -> str:
    """Return the status of the leads."""
    data, language = job.inputs["lead_data"], job.language
    lines = [
        f"| {in_language(each['company'], language)} | {text_in(language, 'stages', each['stage'])} "
        f"| {each['value']:,} | {in_language(each['owner_name'], language)} |"
        for each in data["leads"]
    ]
    return "\n".join(
        [text_in(language, "summaries", "leads", **data), "", table(text_in(language, "heads", "leads"), lines)]
    )


async def report(job: CallJob) -> str:
    """Return a report on sales, the best sellers and customer feedback."""
    sales, feedback = job.inputs["sales_performance"], job.inputs["customer_feedback"]
    scores = feedback["by_topic"]
    lowest = [TEXTS["topics"][topic] for topic, score in scores.items() if score == min(scores.values())]
    worst = ("、" if job.language in ("ja", "zh") else ", ").join(in_language(each, job.language) for each in lowest)
    best = ", ".join(in_language(each["name"], job.language) for each in sales["top_performers"])
    values = {"best": best, "worst": worst, "average_score": feedback["average_score"]}
    return text_in(job.language, "summaries", "report", **sales, **values)
