"""Check the language of the project.

Fail on banned names and on commit subjects that are too long. Report long sentences and docstrings that begin
with a relative clause.

`python scripts/language.py --message FILE` checks the subject of one commit message, for the hook `commit-msg`;
`--list` prints each reported place.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import statistics
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BANNED = frozenset({"asked_before", "given", "kept", "likest", "said", "shown", "soonest", "told"})
"""Participles and adverbs that are no names, with or without underscores around them, in any case."""
PARTS = ("src", "tests", "benchmarks", "scripts")

SUBJECT_LIMIT = 72
SINCE = "9357d22a0a4635df3b8135ce45d5e3994bb8027e"
"""The last commit that may have a longer subject."""

SENTENCE_LIMIT = 35
WORST_PAGES = 3
RELATIVE = re.compile(r"(?:What|Whatever|Who|Whoever|Whom|Whomever|Whose)\b")
SENTENCE_END = re.compile(r"""(?<!e\.g\.)(?<!i\.e\.)(?<=[.!?])["')*_`]*\s+(?=["'(*_\[]*[A-Z0-9`])""")
GENERATED_MERGE = re.compile(r"Merge [0-9a-f]{40} into [0-9a-f]{40}")
"""The subject of the commit that a code host makes to test a pull request."""

MARKUP = (
    (re.compile(r"(?ms)^( *)(```|~~~).*?^\1\2"), "\n\n"),
    (re.compile(r"(?s)<!--.*?-->"), ""),
    (re.compile(r"!?\[([^\]]*)\]\([^)]*\)"), r"\1"),
)
BLOCK_START = re.compile(r"\s*(?:[-*+] |\d+\. |#|\||>|<|!!!)")
BLOCK_END = re.compile(r"\n\s*\n|\n\s*(?:[-*]|\d+\.) |\n +\w+: ")
Scope = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Name:
    """A name that a file defines, and its place."""

    name: str
    place: str


@dataclass(frozen=True)
class Text:
    """A paragraph of the docs, or a docstring, and its place."""

    text: str
    place: str


def main(arguments: list[str]) -> int:
    """Run the checks; return 1 if a rule is broken."""
    parser = argparse.ArgumentParser(description="Check the language of the project.")
    parser.add_argument("--message", type=Path, help="check the subject of this commit message, and nothing else")
    parser.add_argument("--list", action="store_true", help="print each reported place")
    options = parser.parse_args(arguments)
    if options.message:
        broken = long_subjects(options.message.read_text("utf-8").splitlines()[:1])
    else:
        defined = chain.from_iterable(names(ROOT / part) for part in PARTS)
        broken = [*banned_names(defined), *long_subjects(subjects(ROOT, SINCE))]
        print("\n".join(report(ROOT, is_full=options.list)))
    print("\n".join(f"refused: {line}" for line in broken), end="\n" if broken else "")
    return 1 if broken else 0


def names(source: Path) -> Iterator[Name]:
    """Yield each name that the files below a folder define: modules, classes, functions, parameters, variables."""
    for path in sorted(source.rglob("*.py")):
        place = path.relative_to(source.parent).as_posix()
        yield Name(path.parent.name if path.name == "__init__.py" else path.stem, place)
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if name := _defined(node):
                yield Name(name, f"{place}:{getattr(node, 'lineno', 0)}")


def _defined(node: ast.AST) -> str | None:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return name
        case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
            return name
        case ast.arg(arg=name) | ast.alias(asname=name) | ast.MatchAs(name=name) | ast.ExceptHandler(name=name):
            return name
    return None


def banned_names(found: Iterable[Name]) -> Iterator[str]:
    """Yield a line for each banned name, with its place."""
    for name in found:
        if name.name.strip("_").lower() in BANNED:
            yield f"name {name.name!r} in {name.place}: a name says what a thing is or does"


def subjects(root: Path, since: str) -> list[str]:
    """Return the subjects of the commits after `since`, or none without git or its history.

    In a shallow clone without `since`, return all available commits.
    """
    has_since = _git(root, "cat-file", "-e", f"{since}^{{commit}}") is not None
    is_shallow = _git(root, "rev-parse", "--is-shallow-repository") == "true\n"
    if not has_since and not is_shallow:
        print(f"commit subjects: not checked, there is no commit {since}")
        return []
    revisions = [f"{since}..HEAD"] if has_since else ["HEAD"]
    return (_git(root, "log", "--no-merges", "--format=%s", *revisions) or "").splitlines()


def _git(root: Path, *arguments: str) -> str | None:
    # A checkout inside another repository must not find the outer one.
    environment = os.environ | {"GIT_CEILING_DIRECTORIES": str(root.parent)}
    command = ["git", "-C", str(root), *arguments]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, encoding="utf-8", check=False)
    except OSError:
        return None
    return None if done.returncode else done.stdout


def long_subjects(found: Iterable[str]) -> list[str]:
    """Return a line for each commit subject over the limit."""
    return [
        f"commit subject of {len(subject)} characters, limit {SUBJECT_LIMIT}: {subject}"
        for subject in found
        if len(subject) > SUBJECT_LIMIT and not GENERATED_MERGE.fullmatch(subject)
    ]


def report(root: Path, *, is_full: bool) -> Iterator[str]:
    """Yield the lines of the report: sentences over the limit, and docstrings that begin with a relative clause."""
    pages = [*sorted(root.glob("*.md")), *sorted((root / "docs").rglob("*.md"))]
    written = [text for page in pages for text in paragraphs(page, root)]
    docs = [text for path in sorted((root / "src").rglob("*.py")) for text in docstrings(path, root)]
    yield from _sentence_report("docs", written, is_full=is_full)
    yield from _sentence_report("docstrings", docs, is_full=is_full)
    relative = [text for text in docs if RELATIVE.match(text.text)]
    yield f"docstrings: {len(relative)} of {len(docs)} begin with a relative clause"
    if is_full:
        yield from (f"  {text.place}: {text.text.splitlines()[0]}" for text in relative)


def _sentence_report(kind: str, texts: list[Text], *, is_full: bool) -> Iterator[str]:
    found = sorted(
        ((len(words.split()), text.place, words) for text in texts for words in sentences(text)), reverse=True
    )
    long = [sentence for sentence in found if sentence[0] > SENTENCE_LIMIT]
    median = statistics.median(count for count, *_ in found) if found else 0
    yield f"{kind}: {len(long)} of {len(found)} sentences over {SENTENCE_LIMIT} words, median {median:.0f}"
    counts = Counter(place.partition(":")[0] for _, place, _ in long)
    if is_full:
        yield from (f"  {place}: {count} words: {words[:80]}" for count, place, words in long)
    else:
        yield from (f"  {place}: {count}" for place, count in counts.most_common(WORST_PAGES))


def sentences(text: Text) -> list[str]:
    """Return the sentences of a text."""
    blocks = (" ".join(block.split()) for block in BLOCK_END.split(text.text))
    return [part for block in blocks for part in SENTENCE_END.split(block) if part]


def paragraphs(page: Path, root: Path) -> Iterator[Text]:
    """Yield the paragraphs, list items and table cells of a page, without code."""
    text = page.read_text("utf-8")
    for pattern, replacement in MARKUP:
        text = pattern.sub(replacement, text)
    place = page.relative_to(root).as_posix()
    lines: list[str] = []
    for line in [*text.splitlines(), ""]:
        if lines and (not line.strip() or BLOCK_START.match(line)):
            yield Text(" ".join(lines), place)
            lines = []
        if line.lstrip().startswith("|"):
            yield from (Text(cell, place) for cell in line.split("|") if cell.strip(" -:"))
        elif line.strip():
            lines.append(line)


def docstrings(path: Path, root: Path) -> Iterator[Text]:
    """Yield the docstrings of a file."""
    place = path.relative_to(root).as_posix()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, Scope) and (text := ast.get_docstring(node)):
            line = 1 if isinstance(node, ast.Module) else node.lineno
            yield Text(text, f"{place}:{line}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
