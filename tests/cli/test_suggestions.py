"""Rules that decisions suggest, from the terminal: `suggestions`, `suggestions accept`."""

from __future__ import annotations

import shutil
from datetime import timedelta
from pathlib import Path

import pytest
from tests.cli.desk import Desk
from tests.cli.test_commands import output_of, printed, refused
from tests.cli.test_languages import LOCALES
from tests.cli.test_sentences import Walk, english

from ringi import Action
from ringi.base.clock import utc_now
from ringi.domain.voting import Person
from ringi.inbox.inbox import StoreInbox


@pytest.fixture(scope="module")
def decided(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a store with as many decisions as a suggestion needs."""
    desk = Desk(tmp_path_factory.mktemp("decided"))

    async def decide(inbox: StoreInbox) -> None:
        for number in range(200):
            call = Action("refund", {"amount": number % 40, "currency": "JPY"})
            request = await inbox.ask("Refund?", action=call, groups=["finance"])
            await inbox.respond(request, "approve", by=Person("fay", ["finance"]))

    desk.work(decide)
    return desk.folder


@pytest.fixture
def full(decided: Path, tmp_path: Path) -> Desk:
    """A store of the test's own with a suggestion."""
    return Desk(Path(shutil.copytree(decided, tmp_path / "full")))


def test_a_suggestion_is_listed_with_its_figures_and_switched_on(full: Desk) -> None:
    (rule,) = printed(full, "suggestions")["items"]
    listed = output_of(full, "suggestions")
    assert f'{rule["id"]}  refund · {{"amount":{{"at_least":0,"at_most":39}},"currency":' in listed
    assert "200 of 200 decisions were approvals\n" in listed
    assert "Tried on the last 200 requests: it would have approved 200, and none that people refused" in listed
    assert f"The newest such request: {rule['template']}\n" in listed

    done = output_of(full, "suggestions", "accept", rule["id"], "--one-in", "7", "--name", "fay", "--groups", "finance")
    (grant,) = printed(full, "grants")["items"]
    assert done.startswith(f"switched on {grant['id']}: approves at most 1000 such calls of refund until ")
    assert done.endswith(f"; 1 in 7 still asks. `ringi revoke {grant['id']}` ends it\n")
    assert (grant["granted_by"], grant["grant"]["one_in"]) == ("fay", 7)
    assert printed(full, "show", grant["id"])["response"]["channel"] == "cli"
    assert output_of(full, "suggestions") == "no rule is suggested\n"
    assert "no suggestion" in refused(full, 1, "suggestions", "accept", rule["id"])
    assert output_of(full, "revoke", grant["id"]).startswith("revoked")


def test_only_who_decides_such_calls_for_themselves_switches_a_rule_on(full: Desk) -> None:
    full.work(lambda inbox: inbox.people.leave("dan", utc_now() + timedelta(days=1), by=Person("fay", ["finance"])))
    (rule,) = printed(full, "suggestions")["items"]
    accept = ("suggestions", "accept", rule["id"], "--name", "dan")
    assert "is assigned to 'group:finance', not to 'eve'" in refused(full, 1, *accept[:-1], "eve")
    assert "a deputy decides each request alone" in refused(full, 1, *accept)
    made = printed(full, *accept, "--groups", "finance")
    assert (made["response"]["responder"], "seed" in made) == ("dan", False)


@pytest.mark.parametrize("name", LOCALES)
def test_suggestions_have_no_english(full: Desk, desk: Desk, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    (rule,) = printed(full, "suggestions")["items"]
    monkeypatch.setenv("LC_ALL", LOCALES[name])
    Walk(desk).run("suggestions")
    ids = (rule["id"], rule["template"])
    walk = Walk(full, "refund", "amount", "at_least", "at_most", "currency", "one_of", "JPY", *ids)
    walk.run("suggestions")
    done = output_of(full, "suggestions", "accept", rule["id"], "--name", "fay", "--groups", "finance")
    (grant,) = printed(full, "grants")["items"]
    assert english(done, "refund", grant["id"]) == []
    walk.run("suggestions", "accept", rule["id"], "--one-in", "1", code=2)
    walk.run("suggestions", "accept", rule["id"], code=1)
