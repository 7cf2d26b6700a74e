"""From an insight to the playbook: propose, ask a person, and enter exactly what the person approved.

Three steps, each saved before the next begins: what is shown is what was proposed, and what is entered is what was
approved, also when a worker dies between any two of them.
"""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph

from ringi.backends import report_outages
from ringi.base import failpoint, jsonable
from ringi.domain import Action, Ask, Decision, Request, is_person
from ringi.engrammer.evaluation import Trials
from ringi.engrammer.insights import (
    Insight,
    Operation,
    Proposal,
    args_schema,
    entry_of,
    proposed,
    refused,
    rejection_of,
)
from ringi.engrammer.persistence import enter_in, read_in
from ringi.engrammer.playbook import Entry, Playbook
from ringi.engrammer.settings import EngrammerSettings
from ringi.engrammer.turns import Turns, merged
from ringi.integrations.langgraph import put
from ringi.runs import RunContext, run_context

LEARN = "learn"
"""What the gated action is called: to enter one operation in the playbook."""
ALLOWED: tuple[Decision, ...] = ("approve", "edit", "reject")
TITLE = 80
SHOWN = ("type", "why", "source_bullet_id", "evidence", "feedback", "question", "answer", "thread_id", "run_id")


class Learning(TypedDict, total=False):
    """The state of one insight on its way."""

    insight: dict[str, Any]
    renewed: str | None
    """Why it is proposed once more; None the first time."""
    proposal: dict[str, Any] | None
    """What a person is asked; None where nothing is left to ask."""
    request: dict[str, Any]
    turns: Annotated[Turns, merged]


class StaleError(Exception):
    """What was approved does not fit the playbook any more."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


def learning(engrammer: EngrammerSettings) -> Any:
    """Return the graph of one insight."""
    steps = Steps(engrammer)
    graph = StateGraph(Learning, output_schema=Outcome)
    graph.add_node("propose", steps.propose)
    graph.add_node("gate", steps.gate)
    graph.add_node("curate", steps.curate)
    graph.add_edge(START, "propose")
    graph.add_conditional_edges("propose", lambda state: "gate" if state["proposal"] else END, ["gate", END])
    graph.add_edge("gate", "curate")
    graph.add_conditional_edges("curate", lambda state: "propose" if state.get("renewed") else END, ["propose", END])
    return graph.compile()


class Outcome(TypedDict, total=False):
    """What the run is told of an insight."""

    turns: Annotated[Turns, merged]


class Steps:
    """The nodes of one Engrammer's learning."""

    def __init__(self, engrammer: EngrammerSettings) -> None:
        self._engrammer, self._trials = engrammer, Trials(engrammer)

    async def propose(self, state: Learning, config: RunnableConfig) -> Learning:
        """Lay an insight beside the playbook as it stands, and try it where that can be done."""
        host, insight, name = (
            run_context(config),
            Insight.model_validate(state["insight"]),
            self._engrammer.playbook_name,
        )
        playbook = await read_in(host, name)
        proposal = proposed(insight, playbook, self._engrammer.budget, name, (renewed := state.get("renewed")))
        is_known = proposal is not None and not renewed and self._why_not(proposal.operation, playbook) == "duplicate"
        if proposal is None or is_known:
            outcome = {"status": "obsolete", "request_id": None, "version": None, "reason": renewed or "duplicate"}
            return {"proposal": None, "turns": outcome_of(insight, outcome)}
        trial = await self._trials.of(proposal, playbook, config, host.inbox.clock())
        return {"proposal": proposal.model_copy(update={"trial": trial}).model_dump(mode="json")}

    async def gate(self, state: Learning) -> Learning:
        """Ask a person, and nothing else."""
        return {"request": put(self._asked(Proposal.model_validate(state["proposal"]))).model_dump(mode="json")}

    async def curate(self, state: Learning, config: RunnableConfig) -> Learning:
        """Enter what a person approved, as it was approved; or say why not."""
        host, request = run_context(config), Request.model_validate(state["request"])
        insight = Insight.model_validate(state["insight"])
        status = status_of(request)
        if status not in ("learned", "edited"):
            playbook = await self._refused(host, insight, request) if status == "rejected" else None
            return told(insight, request, status, playbook)
        operation = authorized(request)
        try:
            playbook = await self._enter(host, request, lambda now: self._entry(operation, insight, request, now))
        except StaleError as error:
            # What the person wrote is not lost: it is what is proposed now.
            said = {"text": operation.text, "section": operation.section}
            proposed = (insight.proposed or insight.text) if status == "edited" else insight.proposed
            anew = insight.model_copy(update={**said, "proposed": proposed})
            return {"insight": anew.model_dump(mode="json"), "renewed": error.why}
        return told(insight, request, status, playbook)

    def _entry(self, operation: Operation, insight: Insight, request: Request, now: Playbook) -> Entry:
        if why := self._why_not(operation, now):
            raise StaleError(why)
        return entry_of(operation, insight, request.id, now)

    def _why_not(self, operation: Operation, now: Playbook) -> str | None:
        return refused(operation, now, self._engrammer.budget)

    async def _refused(self, host: RunContext, insight: Insight, request: Request) -> Playbook:
        operation = Operation.model_validate(request.action.args) if request.action else None
        assert operation
        return await self._enter(host, request, lambda now: rejection_of(operation, insight, request.id, now))

    async def _enter(self, host: RunContext, request: Request, make: Any) -> Playbook:
        def once(now: Playbook) -> Entry | None:
            # A worker that dies after it has entered this enters it again, and it stands there already.
            return None if request.id in now.applied else make(now)

        failpoint("curate.begun")
        with report_outages():
            # A worker that has not heard yet that its run was cancelled would learn what is withdrawn.
            playbook = await enter_in(host, self._engrammer.playbook_name, once, first=host.check_lease)
        failpoint("curate.entered")
        return playbook

    def _asked(self, proposal: Proposal) -> Ask:
        insight, operation = proposal.insight, proposal.operation
        engrammer = self._engrammer
        return Ask(
            title=titled(insight),
            kind="learning",
            action=Action(LEARN, jsonable(operation), schema=args_schema(operation)),
            allowed=ALLOWED,
            context={"learning": shown(proposal)},
            assignee=engrammer.assignee,
            candidate_groups=engrammer.candidate_groups,
            expires_in=engrammer.expires_in,
        )


def titled(insight: Insight) -> str:
    """Return what a request of an insight is called."""
    line = insight.text.strip().splitlines()[0] if insight.text.strip() else insight.op
    return f"Learn: “{line if len(line) <= TITLE else line[: TITLE - 1].rstrip() + '…'}”"


def shown(proposal: Proposal) -> dict[str, Any]:
    """Return all that a person is shown of a proposal beside the operation: it is part of what they approve."""
    insight = proposal.insight.model_dump(mode="json")
    about = proposal.model_dump(mode="json", exclude={"insight", "operation"})
    return {**{name: insight[name] for name in SHOWN}, "insight": insight["id"], **about}


def status_of(request: Request) -> str:
    """Return what became of the question: only a person's yes is one."""
    said = request.response
    if request.erased or request.status != "completed" or not said:
        return "expired" if request.status == "expired" else "cancelled"
    if said.decision == "reject" or not is_person(said.responder):
        return "rejected"
    return "edited" if said.decision == "edit" else "learned"


def authorized(request: Request) -> Operation:
    """Return the operation that a person approved; raise `NotAuthorizedError` unless it is exactly that."""
    granted = request.granted
    args = granted.args if granted else {}
    request.authorize(LEARN, args)
    return Operation.model_validate(args)


def told(insight: Insight, request: Request, status: str, playbook: Playbook | None) -> Learning:
    """Return the outcome of an insight, for its turn."""
    version = playbook.applied.get(request.id) if playbook else None
    # A person's own words stay in the request, where they can be erased.
    outcome = {"status": status, "request_id": request.id, "version": version, "reason": request.reason}
    return {"renewed": None, "turns": outcome_of(insight, outcome)}


def outcome_of(insight: Insight, outcome: dict[str, Any]) -> Turns:
    """Return what is new of a turn when one of its insights has come to its end."""
    return [{"run_id": insight.run_id, "outcomes": {insight.id: outcome}}]
