"""The promises of the explanations and of `--help`, compared with the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ringi.base.clock import utc_now
from ringi.cli.app import app
from ringi.demo import agents
from ringi.domain.ask import Ask
from ringi.domain.request import Request
from ringi.protocols.agui import Resume, answer_from_agui
from ringi.protocols.hitl import HitlAnswer

PAGES = Path(__file__).resolve().parents[1] / "docs/explanation"


def page(name: str) -> str:
    return " ".join((PAGES / name).read_text("utf-8").split())


def printed(*arguments: str) -> str:
    done = CliRunner().invoke(app, [*arguments, "--help"])
    assert done.exit_code == 0
    return " ".join(done.stdout.split())


def test_seals_are_built_and_promised() -> None:
    assert "--expect" in printed("verify")
    assert "ringi verify --expect" in page("promises.md")
    assert "not built" not in page("promises.md")


def test_a_token_can_be_taken_back_and_the_page_says_so() -> None:
    assert "token" in printed("token", "revoke").lower()
    security = page("security.md")
    assert "ringi token revoke" in security
    assert "Taking back one token" not in security
    assert "until the secret is changed" not in security


@pytest.mark.parametrize("entries", [{}, {"digest": "sha256:shown"}])
def test_the_entries_that_need_no_digest_are_named_as_such(entries: dict[str, str]) -> None:
    assert "digest" not in HitlAnswer.model_fields
    request, _ = Request.asked(Ask(title="Go?"), id="q1", now=utc_now(), by=None)
    answer = answer_from_agui(request, Resume(interrupt_id="q1", status="resolved", payload="yes", metadata=entries))
    assert answer
    assert answer["digest"] == entries.get("digest", request.digest)
    security = page("security.md")
    assert "`POST /hitl/respond` knows no digest" in security
    assert "`resume[].metadata.digest` if it is there" in security


def test_the_demo_says_how_many_agents_it_has_or_no_number() -> None:
    words = "one two three four five six seven eight nine ten"
    numbers = {word: number for number, word in enumerate(words.split(), 1)}
    for word in re.findall(r"(\w+) (?:sample )?agents", printed("demo")):
        assert numbers.get(word, len(agents())) == len(agents()), word
