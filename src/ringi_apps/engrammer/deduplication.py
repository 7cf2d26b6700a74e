"""Find duplicate or contradictory bullets, by a fast comparison of all with all, and ask a person about them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple, TypeAlias

from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, StateGraph

from ringi.base import jsonable
from ringi.runs import run_context
from ringi_apps.engrammer.entries import Bullet
from ringi_apps.engrammer.graph import EngrammerThreadState, compile_with_learning
from ringi_apps.engrammer.insights import AnswerFeedback, Insight, insight_id
from ringi_apps.engrammer.persistence import read_in_run
from ringi_apps.engrammer.playbook import Playbook
from ringi_apps.engrammer.settings import EngrammerSettings
from ringi_apps.engrammer.similarity import count_grams, rank_similar, round_score
from ringi_apps.engrammer.turns import new_turn

Pair: TypeAlias = tuple[Bullet, Bullet, tuple[str, ...]]
"""The older bullet, the newer bullet, and flags for a possible contradiction."""
THRESHOLD = 0.6
"""Minimum similarity of a pair for review; a score cannot tell a duplicate from a contradiction."""
RARE_GRAM_TEXTS = 20
"""A gram in at most this number of texts is looked up instead of compared by bits."""
MAX_GRAM_COUNT = 16
"""Maximum count of a gram compared by bits; it takes the square of the count in bits."""


class GramCounts(NamedTuple):
    """The counts of a text's common grams: `one.rows & other.columns` has as many bits as the product of two is.

    A gram has a square of bits: a text that has it twice sets two rows of it, or two columns.
    """

    rows: int
    columns: int


class SimilarityIndex:
    """Index for pairwise scores; gives the same values as `similarity_score`, faster."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._gram_counts = [count_grams(text) for text in texts]
        texts_with, most = Counter[str](), dict[str, int]()
        for grams, _ in self._gram_counts:
            texts_with.update(grams.keys())
            most.update((gram, count) for gram, count in grams.items() if count > most.get(gram, 0))
        self._places, self._size = dict[str, tuple[int, int]](), 0
        for gram, count in most.items():
            if count <= MAX_GRAM_COUNT and texts_with[gram] > RARE_GRAM_TEXTS:
                self._places[gram] = (self._size, count)
                self._size += count * count
        self._rare_positions: dict[str, list[tuple[int, int]]] = {}
        for position, (grams, _) in enumerate(self._gram_counts):
            for gram in grams.keys() - self._places.keys():
                self._rare_positions.setdefault(gram, []).append((position, grams[gram]))
        self._bits = [self._to_bits(grams) for grams, _ in self._gram_counts]

    def neighbors(self, position: int) -> Iterator[tuple[int, float]]:
        """Yield the positions and scores of the later texts that are close to one."""
        grams, length = self._gram_counts[position]
        rows, common = self._bits[position].rows, [0] * len(self._gram_counts)
        for gram in grams.keys() - self._places.keys():
            for at, count in self._rare_positions[gram]:
                common[at] += count * grams[gram]
        for at in range(position + 1, len(common)):
            product = common[at] + (rows & self._bits[at].columns).bit_count()
            score = product / (length * self._gram_counts[at][1])
            if score > THRESHOLD - 0.001 and round_score(score) >= THRESHOLD:
                yield at, round_score(score)

    def _to_bits(self, grams: Counter[str]) -> GramCounts:
        rows, columns = bytearray(b"0" * (self._size + 1)), bytearray(b"0" * (self._size + 1))
        for gram in grams.keys() & self._places.keys():
            count, (start, most) = grams[gram], self._places[gram]
            rows[start : start + count * most] = b"1" * (count * most)
            for row in range(start, start + most * most, most):
                columns[row : row + count] = b"1" * count
        return GramCounts(int(rows, 2), int(columns, 2))


def find_close_pairs(playbook: Playbook) -> Iterator[Pair]:
    """Yield pairs of similar bullets, each bullet once, except pairs that a person keeps separate."""
    taken, bullets = set[str](), playbook.active
    closeness = SimilarityIndex([each.content.text for each in bullets])
    for position, older in enumerate(bullets):
        if older.id in taken:
            continue
        neighbors = ((bullets[at], score) for at, score in closeness.neighbors(position))
        free = (each for each in neighbors if not (playbook.apart and playbook.is_kept_apart(older, each[0])))
        match = next((each for each in rank_similar(older.content.text, free) if each.bullet not in taken), None)
        if match is not None:
            taken |= {older.id, match.bullet}
            yield older, playbook.bullets[match.bullet], tuple(match.flags)


MAX_PAIRS = 10
"""Maximum number of pairs proposed at a time."""


def build_deduplication_graph(engrammer: EngrammerSettings) -> object:
    """Build the graph of the agent that finds duplicates in a playbook."""

    async def look(state: EngrammerThreadState, config: RunnableConfig) -> EngrammerThreadState:
        host = run_context(config)
        playbook = await read_in_run(host, engrammer.playbook_name)
        turn = new_turn(host.run_id, host.key.id, "", host.inbox.clock().isoformat())
        # The lease of the run would end while the loop compares the bullets of a large playbook.
        pairs = await asyncio.to_thread(lambda: list(islice(find_close_pairs(playbook), MAX_PAIRS)))
        insights = [pair_insight(pair, number, host.run_id, host.key.id) for number, pair in enumerate(pairs)]
        phase = "reviewing" if insights else "done"
        return {"turns": [{**turn, "phase": phase, "insights": jsonable(insights)}]}

    graph = StateGraph(EngrammerThreadState)
    graph.add_node("look", look)
    graph.add_edge(START, "look")
    return compile_with_learning(graph, "look", engrammer)


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
        feedback=AnswerFeedback(source="self", verdict="unknown"),
        thread_id=thread_id,
        run_id=run_id,
    )
