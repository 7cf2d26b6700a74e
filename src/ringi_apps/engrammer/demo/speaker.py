"""The generator of the scripted model: it searches notes, reads them, and answers from them.

An answer starts with the matching bullets of the playbook, so learned content is visible.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from ringi.demo.data import package_toml
from ringi.testing import parallel_tool_calls, tool_call
from ringi_apps.engrammer import GENERATOR_PROMPT_START, GET_NOTE_TOOL, SEARCH_NOTES_TOOL, normalize_text, search_terms
from ringi_apps.engrammer.demo.movement import board_in, language_of
from ringi_apps.engrammer.demo.woodworking import NAME as CRAFT

LOCAL = "local_db"
READ = {CRAFT: 2, LOCAL: 1}
"""The number of notes to read from each source."""
MIN_SHARED_TERMS = 3
"""The number of terms that a bullet must share with a question and its notes."""
BULLET = re.compile(r"^\[(b-\d+)\] \(\w+\) (.*)$", re.M)
FOUND = re.compile(r"^([\w-]+): ")
LETTERS = re.compile(r"[\u3041-\u309f]+")
SMALL_TALK = re.compile(
    r"^\W*(?:(?:hello|hi|hey|good (?:morning|afternoon|evening)|thanks|thank you)\b|こんにちは|おはよう|ありがとう"
    r"|你好|您好|谢谢)[\w\s]{0,20}\W*$",
    re.I,
)
TEXTS = package_toml("ringi_apps.engrammer.demo", "texts.toml")


@dataclass(frozen=True)
class ReadNote:
    """A note that was read for an answer."""

    source: str
    title: str
    content: str


def is_asked(messages: Sequence[BaseMessage]) -> bool:
    """Return whether these messages belong to a generator."""
    return GENERATOR_PROMPT_START in messages[0].text


def next_generator_message(messages: Sequence[BaseMessage]) -> AIMessage:
    """Return the next message of the generator: a search, then reading, then the answer."""
    place = max(at for at, message in enumerate(messages) if isinstance(message, HumanMessage))
    query, since = messages[place].text, messages[place + 1 :]
    if SMALL_TALK.match(query):
        return AIMessage(TEXTS["hello"][language_of(query)])
    results = results_of(since)
    if not results:
        return parallel_tool_calls(*(tool_call(SEARCH_NOTES_TOOL, source=source, query=query) for source in READ))
    read = [
        ReadNote(args["source"], *text.split("\n\n", 1))
        for tool, args, text in results
        if tool == GET_NOTE_TOOL and "\n\n" in text
    ]
    note_ids = [] if read else list(chosen(results, language_of(query)))
    if note_ids:
        return parallel_tool_calls(*(tool_call(GET_NOTE_TOOL, source=source, note_id=id) for source, id in note_ids))
    return AIMessage(answer(query, read, BULLET.findall(messages[0].text)))


def results_of(messages: Iterable[BaseMessage]) -> list[tuple[str, dict[str, str], str]]:
    """Return the tool results, each with the tool's name and arguments."""
    called = {call["id"]: call for each in messages if isinstance(each, AIMessage) for call in each.tool_calls}
    results = [(called[each.tool_call_id], each.text) for each in messages if isinstance(each, ToolMessage)]
    return [(call["name"], call["args"], text) for call, text in results]


def chosen(results: Iterable[tuple[str, dict[str, str], str]], language: str) -> Iterable[tuple[str, str]]:
    """Yield the notes to read, in the language of the question: the best match and related ones."""
    for tool, args, text in results:
        if tool != SEARCH_NOTES_TOOL:
            continue
        lines = [line for line in text.splitlines() if FOUND.match(line) and language_of(line) == language]
        best = lines[: args["source"] == CRAFT]
        fit = best + [line for line in lines[len(best) :] if is_about(args["query"], title_in(line) if best else line)]
        yield from ((args["source"], line.partition(":")[0]) for line in fit[: READ.get(args["source"], 0)])


def is_about(query: str, text: str) -> bool:
    """Return whether a text contains a term of a query; pairs of kana do not count."""
    return any(term in normalize_text(text) for term in search_terms(query) if not LETTERS.fullmatch(term))


def title_in(line: str) -> str:
    """Return the title in a line of search results."""
    return line.split(": ", 2)[1]


def answer(query: str, read: Sequence[ReadNote], bullets: Sequence[tuple[str, str]]) -> str:
    """Return the answer: learned bullets, the best note, and links to others."""
    language = language_of(query)
    craft = [note for note in read if note.source == CRAFT]
    if not read:
        return str(TEXTS["nothing"][language])
    parts = [learned(id, text, query, language) for id, text in matching_bullets(query, read, bullets)]
    parts += [f"### {note.title}\n\n{note.content}" for note in craft[:1]]
    parts += [f"{TEXTS['see'][language]}: *{note.title}*" for note in craft[1:]]
    for note in read:
        if note.source == LOCAL:
            text = TEXTS["local"][language]
            parts.append(text.format(title=note.title, line=best_line(query, note.content)))
    return "\n\n".join(parts)


def matching_bullets(
    query: str, read: Sequence[ReadNote], bullets: Sequence[tuple[str, str]]
) -> Iterable[tuple[str, str]]:
    """Yield the bullets that share terms with the question and with its notes."""
    question_terms = set(search_terms(query))
    about = question_terms.union(*(every_term(f"{note.title} {note.content}") for note in read if note.source == CRAFT))
    for id, text in bullets:
        terms = every_term(text)
        if terms & question_terms and len(terms & about) >= MIN_SHARED_TERMS:
            yield id, text


def every_term(text: str) -> set[str]:
    """Return all terms of a text."""
    return {term for line in re.split(r"[\n.;:。、，；：]", text) for term in search_terms(line)}


def learned(id: str, text: str, query: str, language: str) -> str:
    """Return the part of an answer about a bullet, with the calculation for a bullet about one."""
    board = board_in(query)
    worked_out = f" **{board.sum}**" if board and "×" in text else ""
    return f"> **{TEXTS['learned'][language]}:** {text}{worked_out} [{id}]"


def best_line(query: str, content: str) -> str:
    """Return the line of a note with the most terms of a question."""
    lines = [line.strip("->* ") for line in content.splitlines() if not line.startswith("#") and line.strip("->* ")]
    terms = search_terms(query)
    return max(lines, key=lambda line: sum(term in normalize_text(line) for term in terms)).replace("**", "")
