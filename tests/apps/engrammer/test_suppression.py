"""What was refused of one thing keeps out nothing that is said of another."""

import pytest
from tests.apps.engrammer.lab import Models, insight, lab

from ringi.testing.clock import NOON
from ringi_apps.engrammer.entries import Rejection
from ringi_apps.engrammer.similarity import NEAR_COPY_SCORE, find_recent_rejection, similarity_score

RATIO = "Net Credit Sales / Average Accounts Receivable, rounded to two decimal places"


@pytest.mark.parametrize(
    ("refused", "proposed"),
    [
        (f"Working Capital: work it out as {RATIO}.", f"Accounts Receivable Turnover: work it out as {RATIO}."),
        (f"Beta: work it out as {RATIO}.", f"Balance of Trade: work it out as {RATIO}."),
        (
            "Gross Output: work it out as Margin = (Profit / Revenue) × 100.",
            "Margin: work it out as Margin = (Profit / Revenue) × 100.",
        ),
        ("木工用ボンドは接着面の両方に薄く塗って20分おく。", "エポキシ接着剤は接着面の両方に薄く塗って20分おく。"),
        ("白胶要在两个胶合面上都薄薄涂一层再夹紧。", "环氧树脂要在两个胶合面上都薄薄涂一层再夹紧。"),
    ],
)
def test_a_rule_for_another_thing_is_not_suppressed(refused: str, proposed: str) -> None:
    assert find_recent_rejection(proposed, [Rejection(text=refused, at=NOON)], NOON) is None


def test_texts_of_two_things_may_be_as_alike_as_copies_are() -> None:
    one, other = (f"{name}: work it out as {RATIO}." for name in ("Working Capital", "Accounts Receivable Turnover"))

    assert similarity_score(one, other) >= NEAR_COPY_SCORE


@pytest.mark.parametrize(
    ("refused", "proposed"),
    [
        ("Clamp the glued joint at once.", "Clamp the glued joint, at once"),
        ("Dry-fit every joint before you open the glue.", "Always dry-fit every joint before you open the glue."),
        ("接着する前に、必ず一度は仮組みをして確かめる。", "接着する前に、必ず一度は仮組みをしてよく確かめる。"),
    ],
)
def test_the_same_in_nearly_the_same_words_is_suppressed(refused: str, proposed: str) -> None:
    assert find_recent_rejection(proposed, [Rejection(text=refused, at=NOON)], NOON)


async def test_the_reflector_is_not_told_that_a_bullet_is_refused_which_a_person_kept(file: str) -> None:
    async with lab(Models(lessons={"How long?": [insight("Sand across the grain.")]}), file) as it:
        await it.learn("Clamp a glued joint for 30 minutes.", "Clamp a glued joint for 45 minutes.")
        await it.tidy()
        (request,) = await it.waiting("tidy")
        assert request.action
        assert request.action.args["op"] == "retire"
        await it.decide("reject", "tidy", message="two glues")
        await it.ask("How long?")
        await it.decide("reject")
        await it.ask("More?")
        refusals = it.models.prompts[-1][1].text.partition("## Refused by people")[2]
        assert "Sand across the grain." in refusals
        assert "Clamp a glued joint" not in refusals
