"""Renders plans and results as Markdown: all of their content, whatever its shape."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pydantic_core import to_json

from ringi_apps.assistant.plans import Step

MAX_ROWS = 20
"""The maximum number of rows of a result's table; a plan is shown whole."""


def plan_markdown(plan: object, steps: Sequence[Step]) -> str:
    """Return a plan as Markdown: its text, its other fields and its steps."""
    step_lines = "\n".join(f"{number}. {step.title}" for number, step in enumerate(steps, 1))
    content = "" if plan is None else value_markdown(plan, most_rows=None)
    return "\n\n".join(part for part in (content, step_lines) if part)


def value_markdown(value: object, *, most_rows: int | None = MAX_ROWS) -> str:
    """Return a value as Markdown: a text unchanged, an object as its `text` and its other fields, rows as a table.

    Args:
        value: A JSON value.
        most_rows: The maximum number of rows of a table; None for no limit.
    """
    return "\n\n".join(value_parts(value, most_rows=most_rows))


def value_parts(value: object, *, most_rows: int | None = MAX_ROWS) -> list[str]:
    """Return the parts of a value as Markdown: the `text` of an object, which may be said already, and the rest.

    Args:
        value: A JSON value. Fields of an object without content, such as `{}`, are left out.
        most_rows: The maximum number of rows of a table; None for no limit.
    """
    if isinstance(value, Mapping) and value:
        text = value.get("text")
        words = [text] if isinstance(text, str) else []
        others = {name: each for name, each in value.items() if name != "text" or not words}
        fields = [f"- {name}: {value_text(each)}" for name, each in others.items() if each not in ({}, [], "", None)]
        return [part for part in (*words, "\n".join(fields)) if part]
    if isinstance(value, list) and value:
        is_table = all(isinstance(row, Mapping) for row in value)
        table = markdown_table(value, most_rows) if is_table else "\n".join(f"- {value_text(each)}" for each in value)
        return [table]
    return [value_text(value)]


def value_text(value: object) -> str:
    """Return a value as text: itself, or its JSON."""
    return value if isinstance(value, str) else to_json(value, fallback=str).decode()


def markdown_table(rows: Sequence[Mapping[str, object]], most: int | None) -> str:
    """Return rows as a Markdown table, with the number of further rows if there are more."""
    first = rows[:most]
    names = list(dict.fromkeys(name for row in first for name in row))
    lines = [markdown_table_row(names), markdown_table_row("---" for _ in names)]
    lines += [
        markdown_table_row("" if row.get(name) is None else value_text(row[name]) for name in names) for row in first
    ]
    more = len(rows) - len(first)
    return "\n".join(lines) + (f"\n\n… + {more}" if more > 0 else "")


def markdown_table_row(cells: Iterable[str]) -> str:
    """Return one row of a table, with the cells escaped."""
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
