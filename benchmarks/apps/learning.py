"""The value of approval: the Formula questions of the ACE authors, learned with and without a person who checks.

`python -m benchmarks.apps.learning --data FOLDER [--model PROVIDER:NAME]`. Without a model, a script answers, and the
result shows only that the mechanics work. With a model, `--cache FOLDER` lets a bench that was stopped go on: run the
same command again.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path

from langchain_core.language_models import BaseChatModel

from benchmarks.apps.answers import PROMPT, as_answerer
from benchmarks.apps.classroom import PATIENCE, Course, Material, Report, run_course
from benchmarks.apps.formula import TEST, TRAIN, FormatError, book_of, read, select
from benchmarks.apps.grades import ResultLog, cost_table, growth_table, outcome_table, pair_table, table
from benchmarks.apps.model_cache import FolderCache
from benchmarks.apps.playbooks import costs
from benchmarks.apps.pupil import Pupil
from benchmarks.apps.reviewer import approves
from benchmarks.measure import folder
from ringi_apps.engrammer.playbook import Playbook
from ringi_apps.engrammer.roles import generator_messages

QUESTIONS, POISON_EVERY, BULLETS = 10, 3, 5
COURSES = ("base", "approved", "rejected", "reviewed", "unreviewed", "selected")
REFLECTORS = ("script", "model")
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
    cache = FolderCache(options.cache)
    try:
        material = load_material(options)
        model = load_model(options.model, cache) if options.model else script_of(material)
    except (FormatError, ImportError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    print(head(options, material), flush=True)
    with ResultLog(options.results, cache) as log:
        broken = asyncio.run(run(options, material, model, log))
    if broken:
        print("\nBROKEN: see 'not approved', 'audit' and, of a script, 'no answer' above")
    return 1 if broken else 0


def parse_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="make bench-learning", description="Learn formulas, with a person who approves."
    )
    add = parser.add_argument
    add("--data", type=Path, required=True, help=f"a folder with {TRAIN} and {TEST} of ace-agent/ace")
    add("--model", help="PROVIDER:NAME as init_chat_model takes it, at temperature 0; without it a script answers")
    add("--reflector", choices=REFLECTORS, help="who proposes insights; by default the model, if there is one")
    add("--courses", help=f"the courses, with commas between them; by default {','.join(COURSES)}")
    add("--questions", type=int, default=QUESTIONS, help="the number of exam questions")
    add("--lessons", type=int, help="the number of lessons; by default as many as exam questions")
    add("--poison-every", type=int, default=POISON_EVERY, help="which insight is poisoned: every K-th")
    add("--bullets", type=int, default=BULLETS, help="the bullets in the prompt of the course 'selected'")
    add("--cache", type=Path, help="a folder for the model's answers: equal calls are not made again")
    add("--results", type=Path, help="a file for the answer to each exam question, as lines of JSON")
    options = parser.parse_args(arguments)
    options.courses = options.courses.split(",") if options.courses else list(COURSES)
    options.lessons = options.questions if options.lessons is None else options.lessons
    if min(options.questions, options.lessons, options.poison_every, options.bullets) < 1:
        parser.error("--questions, --lessons, --poison-every and --bullets are 1 or more")
    if unknown := [each for each in options.courses if each not in COURSES]:
        parser.error(f"--courses: there is no course {unknown[0]!r}; choose from {', '.join(COURSES)}")
    if options.reflector == "model" and not options.model:
        parser.error("--reflector model needs --model PROVIDER:NAME")
    options.reflector = options.reflector or ("model" if options.model else "script")
    return options


def load_material(options: argparse.Namespace) -> Material:
    """Return the questions, or raise `FormatError`."""
    lessons, exams = (read(options.data, name) for name in (TRAIN, TEST))
    book = book_of([*lessons, *exams])
    return Material(select(lessons, options.lessons), select(exams, options.questions), book)


def load_model(name: str, cache: FolderCache) -> BaseChatModel:
    """Return the model of a provider, at temperature 0."""
    from langchain.chat_models import init_chat_model

    model: BaseChatModel = init_chat_model(name, temperature=0, timeout=PATIENCE, cache=cache)
    return model


def script_of(material: Material) -> BaseChatModel:
    """Return the script that knows the formulas."""
    return Pupil([*material.lessons, *material.exams]).model


def courses(material: Material, every: int, bullets: int = BULLETS) -> list[Course]:
    """Return all courses, as `COURSES` names them."""
    look_up = partial(approves, book=material.book)
    return [
        Course("base", "nothing is taught", None),
        Course("approved", "all insights approved", lambda _: True),
        Course("rejected", "all insights rejected", lambda _: False),
        Course("reviewed", f"every {every}. poisoned, a rule rejects", look_up, every),
        Course("unreviewed", f"every {every}. poisoned, all approved", lambda _: True, every),
        Course("selected", f"all approved, {bullets} bullets in the prompt", lambda _: True, bullets=bullets),
    ]


async def run(options: argparse.Namespace, material: Material, model: BaseChatModel, log: ResultLog) -> bool:
    """Run the courses, report each at its end, and return whether the product broke a promise."""
    chosen = [each for each in courses(material, options.poison_every, options.bullets) if each.key in options.courses]
    teacher = model if options.reflector == "model" else script_of(material)
    if options.model:
        log.lesson_calls = 2 if options.reflector == "model" else 0
        lessons = len(material.lessons) * sum(each.approves is not None for each in chosen)
        log.calls = log.lesson_calls * lessons + len(material.exams) * len(chosen)
        await log.estimate(partial(answer_one, model, material))
    reports = list[Report]()
    for course in chosen:
        with folder() as path:
            began = time.monotonic()
            reports.append(await run_course(course, material, model, path, teacher=teacher, progress=log.add))
        print(f"- {course.title}: {time.monotonic() - began:.0f} s", flush=True)
    print(f"\n{outcome_table(reports)}\n\n{pair_table(reports)}\n\n{cost_table(reports)}")
    with folder() as path:
        print(f"\n{growth_table(await costs(path))}")
    if options.model:
        print(f"\n{paper()}")
    return any(each.unapproved or each.findings or (not options.model and each.failed) for each in reports)


async def answer_one(model: BaseChatModel, material: Material) -> None:
    """Make the first call of the course 'base'."""
    await as_answerer(model).ainvoke(generator_messages(PROMPT, Playbook(), [], material.exams[0].text))


def head(options: argparse.Namespace, material: Material) -> str:
    """Return a description of the run."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("ringi", "langgraph", "langchain-core"))
    what = f"{len(material.lessons)} lessons, one after another, once; {len(material.exams)} exam questions"
    formulas = len({question.name for question in material.lessons})
    rule = "An answer is right if its expression, worked out by code, is the number to two decimal places."
    teacher = "\nA script answers the lessons, and proposes the right formula." if options.reflector == "script" else ""
    method = f"Model: {options.model}. {rule}{teacher}" if options.model else SCRIPT
    return f"{time.strftime('%Y-%m-%d')}, {packages}\n{what}; {formulas} formulas\n{method}\n"


def paper() -> str:
    """Return the paper's numbers; Ringi measured none of them."""
    lines = [("the paper's numbers, not ours: Formula, 500 lessons in up to 5 epochs, 200 questions", "%")]
    lines += [(name, f"{value:.1f}") for name, value in PAPER.items()]
    harmful = [("the paper's numbers, not ours: FiNER, harmful reflection in every k-th step", "%")]
    harmful += [(f"k = {name}" if name != "never" else name, f"{value:.1f}") for name, value in HARMFUL.items()]
    return f"{table(lines)}\n\n{table(harmful)}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
