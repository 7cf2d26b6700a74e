"""The assistant for sales: it reads leads, results and the market, and plans a strategy."""

from __future__ import annotations

from functools import partial

from langchain_core.language_models import BaseChatModel

from ringi_apps.assistant import Assistant, CallJob, in_language
from ringi_apps.assistant.demo.ledger import carry_out
from ringi_apps.assistant.demo.lookups import Lookups
from ringi_apps.assistant.demo.office import Office
from ringi_apps.assistant.demo.planner import Planner
from ringi_apps.assistant.demo.shared import TEXTS, Workflows, assistant_of, markdown_table, text_in
from ringi_apps.assistant.demo.speaker import ScriptedAssistant

PROMPT = "You help the sales people of a small company to win customers."
SPEAKER = ScriptedAssistant.of("sales", PROMPT)


def assistant(model: BaseChatModel, office: Office) -> Assistant:
    """Return the assistant for a model and a database."""
    workflows: Workflows = {
        "salesStrategyWorkflow": Planner(model, "sales", action="add_task", about="lead", in_turn=False).plan,
        "salesExecutionWorkflow": partial(carry_out, office),
        "leadAnalysisWorkflow": leads,
        "performanceReportWorkflow": report,
    }
    return assistant_of("sales", "sales", PROMPT, model, workflows, Lookups(office))


async def leads(job: CallJob) -> str:
    """Return the status of the leads."""
    data, language = job.inputs["lead_data"], job.language
    lines = [
        f"| {in_language(each['company'], language)} | {text_in(language, 'stages', each['stage'])} "
        f"| {each['value']:,} | {in_language(each['owner_name'], language)} |"
        for each in data["leads"]
    ]
    return "\n".join(
        [
            text_in(language, "summaries", "leads", **data),
            "",
            markdown_table(text_in(language, "heads", "leads"), lines),
        ]
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
