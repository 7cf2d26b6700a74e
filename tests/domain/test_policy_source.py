"""Requests that a policy asks or decides name its rule and its digest."""

from __future__ import annotations

import ringi
from ringi import Policy
from ringi.audit.verify import verify_store
from ringi.domain.ask import Ask, request_content_digest
from ringi.inbox.inbox import StoreInbox
from ringi.policy.question import question_about_call
from ringi.policy.rules import Rule

POLICY = Policy(
    rules=(
        Rule(tools=("drop",), effect="deny", name="never"),
        Rule(tools=("refund",), name="refunds"),
        Rule(tools=("mail",)),
    )
)


def test_equal_policies_have_equal_digests_and_others_do_not() -> None:
    assert POLICY.digest == Policy.parse(POLICY.model_dump(mode="json", exclude_unset=True)).digest
    explicit = [{"tools": ["mail"], "allowed": ["approve", "edit", "reject"], "tier": None}]
    assert Policy(rules=(Rule(tools=("mail",)),)).digest == Policy.parse({"rules": explicit}).digest
    assert POLICY.digest != Policy(rules=POLICY.rules[:2]).digest
    assert POLICY.digest.startswith("sha256:")


def test_a_question_names_the_rule_outside_of_its_digest() -> None:
    question = question_about_call(POLICY, POLICY.rules[1], "refund", {"n": 20}, facts={})
    assert question.policy
    assert (question.policy.rule, question.policy.digest) == ("refunds", POLICY.digest)
    assert request_content_digest(question) == request_content_digest(question.model_copy(update={"policy": None}))
    assert POLICY.source_of(POLICY.rules[2]).rule == "rules[2]"
    assert POLICY.source_of(None).rule == "otherwise"


def test_without_a_policy_nothing_is_stored() -> None:
    assert "policy" not in Ask(title="Go?").model_dump()


async def test_what_a_rule_decides_names_it_in_the_event() -> None:
    async with ringi.open("memory://") as inbox:
        assert isinstance(inbox, StoreInbox)
        question = question_about_call(POLICY, POLICY.rules[1], "refund", {"n": 5}, facts={})
        await inbox.submit_approved(question, rule="small")
        await inbox.submit_denied(
            question_about_call(POLICY, None, "drop", {}, facts={}), rule="never", reason="denied"
        )
        sources = [{"rule": rule, "digest": POLICY.digest} for rule in ("small", "never")]
        assert [event.changed["policy"] for event in await inbox.events()] == sources
        assert (await verify_store(inbox.store))[1] == []
