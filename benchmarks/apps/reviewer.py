"""A reviewer that looks formulas up in a book, also those in prose; it approves nothing that it cannot read."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Literal

from benchmarks.apps.answers import ExpressionError, evaluate

Verdict = Literal["right", "wrong", "unclear"]
SIGNS = str.maketrans({"×": "*", "÷": "/", "−": "-", "–": "-", "^": "**", **dict.fromkeys("'’`“”\"", None)})
SENTENCE_END = re.compile(r"(?<=[.;!?])\s+|\n+")
BETWEEN = re.compile(r"\s-\s|[+*/()=]")
"""The signs between the variables of a formula."""
FILLER = re.compile(r"(?<!\w)(?:the|a|an|its|their|your|companys|firms)\s+(?=\w)")
LEAD = re.compile(
    r"(?:(?:always )?(?:use|remember|apply) )?(?:correct |right )?"
    r"(?:formula (?:for|of|to (?:calculate|find|compute)) |(?:to |when )?(?:calculat|comput|find|determin)(?:e|ing|) )?"
)
LINK = re.compile(
    r"(?:\s*(?:[,:]|work it out as|(?:is|are|should be|must be|can be|calculated|computed|determined|found|defined|"
    r"formula|equals|equal to|as|by|use)\b))*\s*"
)
TO_GET = r",? to (?:get|obtain|find|calculate|compute|determine) "
PART = r"(?:[V\d(][V\d\s.+*/()-]*?)"
"""A part that is arithmetic already; `V7` stands for a variable."""
ONE = r"(?:V?\d+(?:\.\d+)?|\([^()]*\))"
THEN = r",?(?: and)?(?: then)? "
IT = r"(?: (?:it|this|that|result))?"
PHRASES = [
    (re.compile(rf"\b(?:ratio|quotient) of (?P<a>{PART}) (?:to|and) (?P<b>{ONE})"), "/"),
    (re.compile(rf"\bdivid(?:e|ing) (?P<a>{PART}) by (?P<b>{ONE})"), "/"),
    (re.compile(rf"\bsubtract(?:ing)? (?P<b>{PART}) from (?P<a>{ONE})"), "-"),
    (re.compile(rf"\bdifference (?:between|of) (?P<a>{PART}) and (?P<b>{ONE})"), "-"),
    (re.compile(rf"\b(?:sum of|add(?:ing)?) (?P<a>{PART}) (?:and|to) (?P<b>{ONE})"), "+"),
    (re.compile(rf"\bproduct of (?P<a>{PART}) and (?P<b>{ONE})"), "*"),
    (re.compile(rf"\bmultiply(?:ing)? (?P<a>{PART}) by (?P<b>{ONE})"), "*"),
    (re.compile(rf"^(?P<a>{PART})(?:{THEN}multiply(?:ing)?{IT} by|, \*) (?P<b>{ONE})$"), "*"),
    (re.compile(rf"^(?P<a>{PART})(?:{THEN}divid(?:e|ing){IT} by|, /) (?P<b>{ONE})$"), "/"),
]
WORDS = {"divided by": "/", "multiplied by": "*", "times": "*", "minus": "-", "plus": "+"}
PERCENTAGE = re.compile(rf"^(?P<a>{PART}),? (?:expressed )?as percentage$")
ARITHMETIC = re.compile(r"[V\d\s.+*/()-]+")
TRIALS = (1, 2, 3)
MAX_LENGTH = 500
"""The maximum characters of a text that is read."""


def approves(text: str, book: Mapping[str, str]) -> bool:
    """Return whether a text states formulas as the book does, and nothing else."""
    return review(text, book) == "right"


def review(text: str, book: Mapping[str, str]) -> Verdict:
    """Return `right` if each sentence states a formula of the book, `wrong` if one differs, or else `unclear`."""
    if len(text) > MAX_LENGTH:
        return "unclear"
    variables = variables_of(book)
    verdicts = {review_sentence(each, book, variables) for each in SENTENCE_END.split(text.strip()) if each}
    if "wrong" in verdicts:
        return "wrong"
    return "right" if verdicts == {"right"} else "unclear"


def review_sentence(sentence: str, book: Mapping[str, str], variables: Mapping[str, str]) -> Verdict:
    """Compare what a sentence states with the formula of that name."""
    text, bodies = normalize(sentence).rstrip(".;! "), {name: normalize(body) for name, body in book.items()}
    verdicts = set[Verdict]()
    for name, body in bodies.items():
        for claim in claims_about(text, name, body):
            verdicts.add("wrong" if claim in bodies.values() else compare(claim, body, variables))
    if "right" in verdicts:
        return "right"
    return "wrong" if "wrong" in verdicts else "unclear"


def claims_about(text: str, name: str, body: str) -> Iterator[str]:
    """Yield what a sentence states about a formula: the rest of it, before or behind the name."""
    left, _, _ = body.partition(" = ")
    forms = "|".join(map(re.escape, sorted(names_of(name), key=len, reverse=True)))
    subject = rf"(?:{forms})(?:\s*\((?:{forms})\))?"
    if found := re.fullmatch(rf"{LEAD.pattern}{subject}(?!\w){LINK.pattern}(?P<claim>.+)", text):
        claim = found["claim"].strip()
        start = re.match(rf"(?:{re.escape(left)}|{forms})?\s*=\s*", claim)
        yield claim[start.end() :] if start else claim
    elif found := re.fullmatch(rf"(?P<claim>.+?){TO_GET}{subject}", text):
        yield found["claim"]


def names_of(name: str) -> set[str]:
    """Return the forms of a name: whole, without its parentheses, and what stands in them."""
    whole, _, short = normalize(name).rstrip(")").partition(" (")
    return {each for each in (normalize(name), whole, short) if each}


def compare(claim: str, body: str, variables: Mapping[str, str]) -> Verdict:
    """Compare two right sides by their values; what has no values is compared letter by letter."""
    right = body.partition(" = ")[2]
    if claim == right:
        return "right"
    ours, truth = (to_arithmetic(each, variables) for each in (claim, right))
    if ours is None or truth is None:
        return "unclear"
    try:
        pairs = [[evaluate(each, values_of(variables, trial)) for each in (ours, truth)] for trial in TRIALS]
    except ExpressionError:
        return "unclear"
    return "right" if all(math.isclose(*pair, rel_tol=1e-9) for pair in pairs) else "wrong"


def to_arithmetic(text: str, variables: Mapping[str, str]) -> str | None:
    """Return a formula in signs or prose as arithmetic of placeholders, or None if a word is left."""
    names = "|".join(map(re.escape, sorted(variables, key=len, reverse=True)))
    text = re.sub(rf"(?<![\w-])(?:{names})(?![\w-])", lambda found: variables[found[0]], text)
    for words, sign in WORDS.items():
        text = text.replace(words, sign)
    before = None
    while before != text:
        before = text
        for phrase, sign in PHRASES:
            text = phrase.sub(rf"((\g<a>) {sign} (\g<b>))", text, count=1)
    text = PERCENTAGE.sub(r"(\g<a>) * 100", text)
    # "β (a - b)" multiplies.
    text = re.sub(r"(?<=[\d)])\s*\((?!\))", " * (", text)
    return text if ARITHMETIC.fullmatch(text) else None


def variables_of(book: Mapping[str, str]) -> dict[str, str]:
    """Return a placeholder for each variable of the formulas."""
    parts = [part.strip() for body in book.values() for part in BETWEEN.split(normalize(body))]
    names = sorted({part for part in parts if part and not part[0].isdigit()})
    return {name: f"V{number}" for number, name in enumerate(names)}


def values_of(variables: Mapping[str, str], trial: int) -> dict[str, float]:
    """Return a number for each placeholder, unlike any other and of no simple ratio."""
    return {each: 1 + math.sqrt(int(each[1:]) * 7 + trial * 3 + 2) for each in variables.values()}


def normalize(text: str) -> str:
    """Return a text in lower case with single spaces, plain signs and no articles."""
    return FILLER.sub("", " ".join(text.translate(SIGNS).casefold().split()))
