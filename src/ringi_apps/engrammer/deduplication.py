"""Find duplicate or contradictory bullets and ask a person about them."""

from __future__ import annotations

import asyncio
from itertools import islice

from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph

from ringi.base import jsonable
from ringi.runs import run_context
from ringi_apps.engrammer.close_pairs import Pair, find_close_pairs
from ringi_apps.engrammer.graph import ConversationState, finish, send_insights
from ringi_apps.engrammer.insights import AnswerFeedback, Insight, insight_id
from ringi_apps.engrammer.learning import build_learning_graph
from ringi_apps.engrammer.persistence import read_in_run
from ringi_apps.engrammer.settings import EngrammerSettings
from ringi_apps.engrammer.turns import new_turn

MAX_PAIRS = 10
"""Maximum number of pairs proposed at a time."""


def build_deduplication_graph(engrammer: EngrammerSettings) -> object:
    """Build the graph of the agent that finds duplicates in a playbook."""

    async def look(state: ConversationState, config: RunnableConfig) -> ConversationState:
        host = run_context(config)
        playbook = await read_in_run(host, engrammer.playbook_name)
        turn = new_turn(host.run_id, host.key.id, "", host.inbox.clock().isoformat())
        # The lease of the run would end while the loop compares the bullets of a large playbook.
        pairs = await asyncio.to_thread(lambda: list(islice(find_close_pairs(playbook), MAX_PAIRS)))
        insights = [pair_insight(pair, number, host.run_id, host.key.id) for number, pair in enumerate(pairs)]
        phase = "reviewing" if insights else "done"
        return {"turns": [{**turn, "phase": phase, "insights": jsonable(insights)}]}

    graph = StateGraph(ConversationState)
    graph.add_node("look", look)
    graph.add_node("learn", build_learning_graph(engrammer))
    graph.add_node("finish", finish)
    graph.add_edge(START, "look")
    graph.add_conditional_edges("look", send_insights, ["learn", "finish"])
    graph.add_edge("learn", "finish")
    graph.add_edge("finish", END)
    return graph.compile()


def pair_insight(pair: Pair, number: int, run_id: str, thread_id: str) -> Insight:
    """Return the insight for a pair: merge both, or retire the older if they may contradict each other."""
    older, newer, flags = pair
    is_same = not set(flags) - {"same"}
    longer = max(older, newer, key=lambda bullet: len(bullet.content.text))
    op, text = ("merge", longer.content.text) if is_same else ("retire", older.content.text)
    why = "says nearly the same as" if is_same else f"may contradict ({', '.join(flags)})"
    return Insight(
        id=insight_id(run_id, number),
        type="refine_strategy",
        section=older.content.section,
        text=text,
        why=f"{older.id} {why} {newer.id}: {newer.content.text}",
        source_bullet_id=older.id,
        op=op,
        sources=(newer.id,),
        evidence=(),
        feedback=AnswerFeedback(source="self", verdict="unknown"),
        question="",
        answer="",
        thread_id=thread_id,
        run_id=run_id,
    )
