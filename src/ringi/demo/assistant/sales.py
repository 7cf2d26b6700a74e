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
    Text,
    WorkflowNeeds,
    in_language,
)
from ringi.demo.assistant.ledger import PlanExecutor
from ringi.demo.assistant.lookups import INDUSTRY_NAMES, Lookups
from ringi.demo.assistant.office import Office
from ringi.demo.assistant.planner import Planner
from ringi.demo.assistant.shared import START_OVER_ACTION, definitions
from ringi.demo.assistant.speaker import (
    ALL_RIGHT,
    FEEDBACK,
    GO_AHEAD,
    REJECT,
    START_OVER,
    THANKS,
    ReplyRule,
    ScriptedAssistant,
)

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
FOCUS = tuple(
    ReplyRule(
        rf"\b(?:focus|concentrate|industry|bet)\b.*\b{words['en']}\b|{words['ja']}.*(?:注力|集中|重点|狙|業種)"
        rf"|(?:注力|業種).*{words['ja']}|{words['zh']}.*(?:重点|集中)|重点.*{words['zh']}",
        {
            "en": f"Then we focus on {words['en'].lower()}. I'll look up that market.",
            "ja": f"{words['ja']}に注力しますね。市場動向を調べます。",
            "zh": f"那就重点关注{words['zh']}行业。我来查询市场动向。",
        },
        op="correct",
        key="focus_industry",
        value=industry,
        is_order=True,
    )
    for industry, words in INDUSTRY_NAMES.items()
)
SPEAKER = ScriptedAssistant(
    PROMPT,
    rules=(
        *FOCUS,
        ReplyRule(
            FEEDBACK,
            {
                "en": "I understand: the strategy needs another version.",
                "ja": "わかりました。戦略を直します。",
                "zh": "明白了，我会修改策略。",
            },
            op="feedback",
        ),
        ReplyRule(
            r"\b(?:make|create|draft|prepare|need|want|plan)\b.*\b(?:plan|strategy)\b"
            r"|^plan\b|\bplan (?:it|this|again)\b|let.s plan\b"
            r"|(?:計画|戦略)を?(?:作|立て|策定|練)|計画して|(?:計画|戦略)をお願い|制定(?:计划|策略)",
            {"en": "I'll draft a strategy.", "ja": "戦略の案を作成します。", "zh": "我来起草策略。"},
            action="plan-002",
            is_order=True,
        ),
        REJECT,
        ReplyRule(GO_AHEAD, ALL_RIGHT, action="apply-002", is_order=True),
        START_OVER,
        THANKS,
        ReplyRule(
            r"\b(?:choose|select|pick|prioriti[sz]e)\b.*\bleads?\b|リードを?(?:選|並べ)|優先度|选择线索",
            {"en": "Which leads come first?", "ja": "優先するリードを選んでください。", "zh": "请选择优先的线索。"},
            action="selector-002",
            is_order=True,
        ),
        ReplyRule(
            r"\b(?:choose|select|pick)\b.*\bindustry\b|業種を?選|选择行业",
            {"en": "Which industry is it?", "ja": "業種を選んでください。", "zh": "请选择行业。"},
            action="selector-003",
            is_order=True,
        ),
        ReplyRule(
            r"\b(?:report|performance|results)\b|レポート|実績|業績|报告|业绩",
            {"en": "Report:", "ja": "レポートです:", "zh": "报告如下："},
            action="performance-report",
        ),
        ReplyRule(
            r"\bleads\b|リード|线索",
            {"en": "Status of the leads:", "ja": "リードの状況です:", "zh": "线索的状况："},
            action="lead-analysis",
        ),
        ReplyRule(
            r"\bconversion rate\b|転換率|转化率",
            {
                "en": "The conversion rate is the share of leads that became qualified.",
                "ja": "転換率は、見込みありと判断されたリードの割合です。",
                "zh": "转化率是成为合格线索的比例。",
            },
        ),
    ),
    otherwise={
        "en": "I plan sales with you: say “we focus on manufacturing”, “analyse the leads”, or “make a strategy”.",
        "ja": "営業の計画をお手伝いします。「製造業に注力する」「リードを分析して」「戦略を立てて」とお伝えください。",
        "zh": "我可以协助制定销售策略。请说“重点是制造业”、“线索”，或“制定策略”。",
    },
)
LEADS_SUMMARY: Text = {
    "en": "**{total_leads}** leads, **{qualified_leads}** of them qualified ({conversion_rate} %); "
    "{average_deal:,} USD each on average.",
    "ja": "リードは **{total_leads}** 件、うち有望なものは **{qualified_leads}** 件（{conversion_rate}%）、"
    "平均金額は {average_deal:,} ドルです。",
    "zh": "线索共 **{total_leads}** 条，其中合格 **{qualified_leads}** 条（{conversion_rate}%），"
    "平均金额 {average_deal:,} 美元。",
}
LEADS_HEAD: Text = {
    "en": "| Lead | Stage | Value (USD) | Owner |",
    "ja": "| リード | 段階 | 金額 (ドル) | 担当 |",
    "zh": "| 线索 | 阶段 | 金额（美元） | 负责人 |",
}
REPORT_SUMMARY: Text = {
    "en": "**{amount:,} USD** of {target:,} USD sold from {start} to {end}: {rate} %. Most came from {best}. "
    "Customers give {average_score} of 5; the lowest score is for: {worst}.",
    "ja": "{start} から {end} の売上は **{amount:,} ドル**、目標 {target:,} ドルに対し {rate}% です。上位は {best}。"
    "顧客評価は5点中 {average_score} 点、最も低いのは「{worst}」です。",
    "zh": "{start} 至 {end} 销售额 **{amount:,} 美元**，目标 {target:,} 美元，完成 {rate}%。业绩最佳：{best}。"
    "客户评分 {average_score}（满分5分），最低的是“{worst}”。",
}
TOPICS: dict[str, Text] = {
    "delivery": {"en": "delivery", "ja": "納期", "zh": "交期"},
    "price": {"en": "price", "ja": "価格", "zh": "价格"},
    "product": {"en": "product", "ja": "製品", "zh": "产品"},
    "support": {"en": "support", "ja": "サポート", "zh": "支持"},
    "training": {"en": "training", "ja": "研修", "zh": "培训"},
}
STAGES: dict[str, Text] = {
    "new": {"en": "new", "ja": "新規", "zh": "新"},
    "contacted": {"en": "contacted", "ja": "接触済み", "zh": "已接触"},
    "qualified": {"en": "qualified", "ja": "有望", "zh": "合格"},
    "proposal": {"en": "proposal", "ja": "提案中", "zh": "提案中"},
}


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
        f"| {in_language(each['company'], language)} | {in_language(STAGES[each['stage']], language)} "
        f"| {each['value']:,} | {in_language(each['owner_name'], language)} |"
        for each in data["leads"]
    ]
    head = [
        in_language(LEADS_SUMMARY, language).format(**data),
        "",
        in_language(LEADS_HEAD, language),
        "|---" * 4 + "|",
    ]
    return "\n".join([*head, *lines])


async def report(job: CallJob) -> str:
    """Return a report on sales, the best sellers and customer feedback."""
    sales, feedback = job.inputs["sales_performance"], job.inputs["customer_feedback"]
    scores = feedback["by_topic"]
    lowest = [TOPICS[topic] for topic, score in scores.items() if score == min(scores.values())]
    worst = ("、" if job.language in ("ja", "zh") else ", ").join(in_language(each, job.language) for each in lowest)
    best = ", ".join(in_language(each["name"], job.language) for each in sales["top_performers"])
    values = {"best": best, "worst": worst, "average_score": feedback["average_score"]}
    return in_language(REPORT_SUMMARY, job.language).format(**sales, **values)
