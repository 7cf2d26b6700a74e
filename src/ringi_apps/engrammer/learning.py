"""The learning graph: propose an insight, ask a person, and apply exactly what they approved.

Each step is saved before the next begins, so the person sees what was proposed and the playbook gets what was
approved, even if a worker dies between two steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, TypedDict

from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph

from ringi import Action, Request
from ringi.base import Sentence, failpoint, report_outages, sentences_text
from ringi.domain import Ask, Decision, Wording, is_name_of_person
from ringi.integrations.langgraph import ask_question
from ringi.runs import RunContext, run_context
from ringi_apps.engrammer.entries import Entry
from ringi_apps.engrammer.errors import PlaybookError
from ringi_apps.engrammer.evaluation import ProposalEvaluator
from ringi_apps.engrammer.insights import (
    Insight,
    InsightProposal,
    PlaybookOperation,
    approved_entry,
    build_proposal,
    check_operation,
    operation_edit_schema,
    refusal_code,
    rejection_entry,
)
from ringi_apps.engrammer.persistence import append_in_run, read_in_run
from ringi_apps.engrammer.playbook import Playbook
from ringi_apps.engrammer.playbook_models import LearningContext
from ringi_apps.engrammer.settings import EngrammerSettings
from ringi_apps.engrammer.turns import Turns, merge_turns

LEARN = "learn"
"""Name of the action that needs approval: apply one operation to the playbook."""
ALLOWED: tuple[Decision, ...] = ("approve", "edit", "reject")
MAX_TITLE_LENGTH = 80


class InsightOutcome(TypedDict, total=False):
    """Output of the learning graph: the update of the turn."""

    turns: Annotated[Turns, merge_turns]


class LearningState(InsightOutcome, total=False):
    """State of the learning graph for one insight."""

    insight: dict[str, Any]
    renewed: str | None
    """Why it is proposed again; None the first time."""
    proposal: dict[str, Any] | None
    """The proposal for the person; None if nothing is left to ask."""
    request: dict[str, Any]


def build_learning_graph(engrammer: EngrammerSettings) -> Any:
    """Build the graph that handles one insight."""
    steps = LearningNodes(engrammer)
    graph = StateGraph(LearningState, output_schema=InsightOutcome)
    graph.add_node("propose", steps.propose)
    graph.add_node("gate", steps.gate)
    graph.add_node("curate", steps.curate)
    graph.add_edge(START, "propose")
    graph.add_conditional_edges("propose", lambda state: "gate" if state["proposal"] else END, ["gate", END])
    graph.add_edge("gate", "curate")
    graph.add_conditional_edges("curate", lambda state: "propose" if state.get("renewed") else END, ["propose", END])
    return graph.compile()


class LearningNodes:
    """The nodes of the learning graph."""

    def __init__(self, engrammer: EngrammerSettings) -> None:
        self._engrammer, self._evaluator = engrammer, ProposalEvaluator(engrammer)

    async def propose(self, state: LearningState, config: RunnableConfig) -> LearningState:
        """Build the proposal for the current playbook and evaluate it."""
        host, insight = run_context(config), Insight.model_validate(state["insight"])
        name, budget = self._engrammer.playbook_name, self._engrammer.budget
        playbook = await read_in_run(host, name)
        proposal = build_proposal(insight, playbook, budget, name, (renewed := state.get("renewed")))
        is_known = (
            proposal is not None and not renewed and refusal_code(proposal.operation, playbook, budget) == "duplicate"
        )
        if proposal is None or is_known:
            outcome = {"status": "obsolete", "request_id": None, "version": None, "reason": renewed or "duplicate"}
            return {"proposal": None, "turns": outcome_update(insight, outcome)}
        trial = await self._evaluator.of(proposal, playbook, config, host.inbox.clock())
        return {"proposal": proposal.model_copy(update={"trial": trial}).model_dump(mode="json")}

    async def gate(self, state: LearningState) -> LearningState:
        """Ask a person for a decision."""
        return {
            "request": ask_question(self._build_ask(InsightProposal.model_validate(state["proposal"]))).model_dump(
                mode="json"
            )
        }

    async def curate(self, state: LearningState, config: RunnableConfig) -> LearningState:
        """Apply the approved operation unchanged, or propose it again with the reason."""
        host, request = run_context(config), Request.model_validate(state["request"])
        insight = Insight.model_validate(state["insight"])
        status = outcome_status(request)
        if status not in ("learned", "edited"):
            playbook = await self._append_rejection(host, insight, request) if status == "rejected" else None
            return insight_result(insight, request, status, playbook)
        operation = approved_operation(request)

        def make(now: Playbook) -> Entry:
            check_operation(operation, now, self._engrammer.budget)
            return approved_entry(operation, insight, request.id, now)

        try:
            playbook = await self._append(host, request, make)
        except PlaybookError as error:
            # What the person wrote is not lost: it is what is proposed now.
            decided = operation.model_dump(include={"text", "section", "applies_when"})
            original = (insight.proposed or insight.text) if status == "edited" else insight.proposed
            renewed_insight = insight.model_copy(update={**decided, "proposed": original})
            return {"insight": renewed_insight.model_dump(mode="json"), "renewed": error.code}
        return insight_result(insight, request, status, playbook)

    async def _append_rejection(self, host: RunContext, insight: Insight, request: Request) -> Playbook:
        operation = PlaybookOperation.model_validate(request.action.args) if request.action else None
        assert operation
        return await self._append(host, request, lambda now: rejection_entry(operation, insight, request.id, now))

    async def _append(self, host: RunContext, request: Request, make: Callable[[Playbook], Entry]) -> Playbook:
        def make_once(now: Playbook) -> Entry | None:
            # A worker that dies after it has entered this enters it again, and it stands there already.
            return None if request.id in now.applied else make(now)

        failpoint("curate.begun")
        with report_outages():
            # A worker that has not heard yet that its run was cancelled would learn what is withdrawn.
            playbook = await append_in_run(host, self._engrammer.playbook_name, make_once, precheck=host.check_lease)
        failpoint("curate.entered")
        return playbook

    def _build_ask(self, proposal: InsightProposal) -> Ask:
        insight, operation = proposal.insight, proposal.operation
        engrammer = self._engrammer
        title = request_title(insight)
        return Ask(
            title=sentences_text([title]),
            wording=Wording(title=(title,)),
            kind="learning",
            action=Action(LEARN, operation.model_dump(mode="json"), schema=operation_edit_schema(operation)),
            allowed=ALLOWED,
            context={"learning": learning_context(proposal)},
            assignee=engrammer.assignee,
            groups=engrammer.groups,
            expires_in=engrammer.expires_in,
        )


def request_title(insight: Insight) -> Sentence:
    """Return the title of an insight's request."""
    line = insight.text.strip().splitlines()[0] if insight.text.strip() else insight.op
    title = line if len(line) <= MAX_TITLE_LENGTH else f"{line[: MAX_TITLE_LENGTH - 1].rstrip()}…"
    return Sentence(code="learn", params={"insight": title})


def learning_context(proposal: InsightProposal) -> dict[str, Any]:
    """Return the context of a proposal for the person; it is part of what they approve."""
    origin = proposal.insight.model_dump(mode="json", include=set(LearningContext.model_fields))
    details = proposal.model_dump(mode="json", exclude={"insight", "operation"})
    return {**origin, "insight": proposal.insight.id, **details}


def outcome_status(request: Request) -> str:
    """Return the outcome of a request; only a person can approve."""
    response = request.response
    if request.erased or request.status != "completed" or not response:
        return "expired" if request.status == "expired" else "cancelled"
    if response.decision == "reject" or not is_name_of_person(response.responder):
        return "rejected"
    return "edited" if response.decision == "edit" else "learned"


def approved_operation(request: Request) -> PlaybookOperation:
    """Return the operation that a person approved; raise `NotAuthorizedError` if it differs from the approval."""
    granted = request.granted
    args = granted.args if granted else {}
    request.authorize(LEARN, args)
    return PlaybookOperation.model_validate(args)


def insight_result(insight: Insight, request: Request, status: str, playbook: Playbook | None) -> LearningState:
    """Return the state update with the outcome of an insight."""
    version = playbook.applied.get(request.id) if playbook else None
    # A person's own words stay in the request, where they can be erased.
    outcome = {"status": status, "request_id": request.id, "version": version, "reason": request.reason}
    return {"renewed": None, "turns": outcome_update(insight, outcome)}


def outcome_update(insight: Insight, outcome: dict[str, Any]) -> Turns:
    """Return the turn update for one finished insight."""
    return [{"run_id": insight.run_id, "outcomes": {insight.id: outcome}}]
