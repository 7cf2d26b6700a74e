"""The value of approval: the Formula questions of the ACE authors, learned with and without a person who checks.

`python -m benchmarks.learning --data FOLDER [--model PROVIDER:NAME]`. Without a model, a script answers, and the
result shows only that the mechanics work.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections import Counter
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from langchain_core.language_models import BaseChatModel

from benchmarks.classroom import Course, Material, Report, run_course, usage_of
from benchmarks.formula import TEST, TRAIN, FormatError, book_of, contradicts, read, select
from benchmarks.measure import folder
from benchmarks.playbooks import Cost, costs
from benchmarks.pupil import Pupil

QUESTIONS, POISON_EVERY = 10, 3
SCRIPT = (
    "MECHANICS CHECK: no --model was given, so a script answers. It knows every second formula by heart, and of the\n"
    "others what its playbook says. The numbers say that what was approved is used and what was rejected is not.\n"
    "They say nothing about how well anything learns. Tokens are Ringi's estimate."
)
PAPER = {
    "base model": 67.5,
    "in-context examples (ICL)": 67.0,
    "MIPROv2": 69.5,
    "GEPA": 71.5,
    "ACE offline, with labels": 85.5,
    "ACE offline, without labels": 83.0,
    "Dynamic Cheatsheet online, with labels": 69.5,
    "Dynamic Cheatsheet online, without labels": 62.5,
    "ACE online, with labels": 76.5,
    "ACE online, without labels": 78.5,
}
"""Formula, accuracy in %, DeepSeek-V3.1: the table of arXiv 2510.04618."""
HARMFUL = {"never": 78.3, "100": 78.2, "25": 77.8, "10": 77.0, "5": 76.1, "1": 66.7}
"""FiNER, not Formula: harmful reflection in every k-th step; the base model has 70.7. From the paper's appendix."""


def main(arguments: Sequence[str]) -> int:
    options = parse_arguments(arguments)
    try:
        lessons, exams = (read(options.data, name) for name in (TRAIN, TEST))
    except FormatError as error:
        print(error, file=sys.stderr)
        return 2
    book = book_of([*lessons, *exams])
    material = Material(select(lessons, options.questions), select(exams, options.questions), book)
    try:
        model = load_model(options.model) if options.model else Pupil([*material.lessons, *material.exams]).model
    except (ImportError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    print(head(options.model, material), flush=True)
    broken = asyncio.run(run(model, material, options.poison_every, is_script=not options.model))
    if broken:
        print("\nBROKEN: see 'not approved', 'audit' and, of a script, 'no answer' above")
    return 1 if broken else 0


def parse_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="make bench-learning", description="Learn formulas, with a person who approves."
    )
    parser.add_argument("--data", type=Path, required=True, help=f"a folder with {TRAIN} and {TEST} of ace-agent/ace")
    parser.add_argument("--model", help="PROVIDER:NAME as init_chat_model takes it; without it a script answers")
    parser.add_argument("--questions", type=int, default=QUESTIONS, help="lessons, and as many exam questions")
    parser.add_argument("--poison-every", type=int, default=POISON_EVERY, help="which insight is poisoned: every K-th")
    options = parser.parse_args(arguments)
    if options.questions < 1 or options.poison_every < 1:
        parser.error("--questions and --poison-every are 1 or more")
    return options


def load_model(name: str) -> BaseChatModel:
    """Return the model of a provider."""
    from langchain.chat_models import init_chat_model

    model: BaseChatModel = init_chat_model(name)
    return model


def courses(material: Material, every: int) -> list[Course]:
    """Return the courses to compare."""
    return [
        Course("base: nothing is taught", None),
        Course("all insights approved", lambda _: True),
        Course("all insights rejected", lambda _: False),
        Course(f"every {every}. poisoned, a rule rejects", lambda text: not contradicts(text, material.book), every),
        Course(f"every {every}. poisoned, all approved", lambda _: True, every),
    ]


async def run(model: BaseChatModel, material: Material, every: int, *, is_script: bool) -> bool:
    """Run every course, report each at its end, and return whether the product broke a promise."""
    reports = []
    for course in courses(material, every):
        with folder() as path:
            began = time.monotonic()
            reports.append(await run_course(course, material, model, path))
        print(f"- {course.name}: {time.monotonic() - began:.0f} s", flush=True)
    print(f"\n{outcome_table(reports)}\n\n{cost_table(reports)}")
    with folder() as path:
        print(f"\n{growth_table(await costs(path))}")
    if not is_script:
        print(f"\n{paper()}")
    return any(each.unapproved or each.findings or (is_script and each.failed) for each in reports)


def head(model: str | None, material: Material) -> str:
    """Return a description of the run."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("ringi", "langgraph", "langchain-core"))
    what = f"{len(material.lessons)} lessons, one after another, once; {len(material.exams)} exam questions"
    formulas = len({question.name for question in material.lessons})
    method = SCRIPT if model is None else f"Model: {model}. An answer is right if its number is, to the last digit."
    return f"{time.strftime('%Y-%m-%d')}, {packages}\n{what}; {formulas} formulas\n{method}\n"


def outcome_table(reports: Sequence[Report]) -> str:
    """Return the table of the courses."""
    head = ["", "right", "of", "%", "no answer", "learned", "rejected", "suppressed", "other", "poison offered"]
    lines: list[list[object]] = [[*head, "poison learned", "bullets", "tokens", "not approved", "audit"]]
    for each in reports:
        ends, share = each.outcomes, f"{100 * each.right / each.asked:.1f}"
        other = ends.total() - ends["learned"] - ends["rejected"] - ends["suppressed"]
        exam = [each.right, each.asked, share, each.failed]
        insights = [ends["learned"], ends["rejected"], ends["suppressed"], other, each.poison_count, each.wrong_bullets]
        lines.append([each.name, *exam, *insights, each.bullets, each.tokens, each.unapproved, each.findings])
    return table(lines)


def cost_table(reports: Sequence[Report]) -> str:
    """Return the cost of a question, by course and role."""
    costs = ["model calls", "tokens read", "of them cached", "tokens written"]
    lines = [["a question costs", *(f"{what}: {cost}" for what in ("lesson", "exam") for cost in costs)]]
    for each in reports:
        lesson = usage_of(each.lessons, "answer") + usage_of(each.lessons, "reflect")
        exam = average_costs(usage_of(each.exams, "answer"), len(each.exams))
        lines.append([each.name, *average_costs(lesson, len(each.lessons)), *exam])
    return table(lines)


def average_costs(total: Counter[str], number: int) -> list[str]:
    """Return the cost of each of a number of questions; providers that count no tokens report 0."""
    if not number:
        return [""] * 4
    tokens = [
        f"{total[name] / number:,.1f}" if total["input"] else "not counted" for name in ("input", "cached", "output")
    ]
    return [f"{total['calls'] / number:,.1f}", *tokens]


def growth_table(found: Sequence[Cost]) -> str:
    """Return the cost of one more bullet, by the size of the playbook."""
    head = ["one more bullet in a playbook of", "model calls to curate", "tokens read to curate", "a model would read"]
    times = ["proposal, processor ms", "curation, processor ms", "curation and storing, ms"]
    lines = [[*head, *times, "prompt that stays cached", "after an edit in the middle"]]
    for each in found:
        took, prefixes = (each.proposal_ms, each.curation_ms, each.stored_ms), (each.prefix, each.edited)
        numbers = [f"{each.bullets:,}", "0", "0", f"{each.tokens:,}", *(f"{ms:.2f}" for ms in took)]
        lines.append([*numbers, *(f"{prefix:.1%}" for prefix in prefixes)])
    return table(lines)


def paper() -> str:
    """Return the paper's numbers; Ringi measured none of them."""
    lines = [("the paper's numbers, not ours: Formula, 500 lessons in up to 5 epochs, 200 questions", "%")]
    lines += [(name, f"{value:.1f}") for name, value in PAPER.items()]
    harmful = [("the paper's numbers, not ours: FiNER, harmful reflection in every k-th step", "%")]
    harmful += [(f"k = {name}" if name != "never" else name, f"{value:.1f}") for name, value in HARMFUL.items()]
    return f"{table(lines)}\n\n{table(harmful)}"


def table(lines: Sequence[Sequence[object]]) -> str:
    """Return lines as a Markdown table, readable as plain text too."""
    cells = [[str(cell) for cell in line] for line in lines]
    widths = [max(len(line[n]) for line in cells) for n in range(len(cells[0]))]
    rows = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |" for line in cells
    ]
    return "\n".join([rows[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *rows[1:]])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
