"""The figures over HTTP: what they say, to whom, and as a table."""

from __future__ import annotations

import csv
import io
import re
from datetime import timedelta
from typing import Any

import httpx
import pytest
from tests.server.world import World

from ringi import Policy
from ringi.domain.ask import Action, Ask
from ringi.domain.checks import Check
from ringi.domain.journal import Journal
from ringi.domain.record import Query
from ringi.domain.request import Request
from ringi.policy.question import question_about_call
from ringi.privacy.candidates import Sweep


async def decided(world: World, tool: str, decision: str, groups: tuple[str, ...] = (), **ask: Any) -> Request:
    """Ask for a call and decide it."""
    body = {"title": "Go?", "action": {"name": tool, "args": {}}, "groups": list(groups), **ask}
    asked = (await world.client("agent", "bot").post("/v1/requests", json=body)).json()
    answer = {"decision": decision, "digest": asked["digest"]}
    reply = await world.client("admin", "root").post(f"/v1/requests/{asked['id']}/respond", json=answer)
    assert reply.status_code == 200, reply.text
    return await world.inbox.get(asked["id"])


async def figures(client: httpx.AsyncClient, **params: str) -> dict[str, Any]:
    reply = await client.get("/v1/statistics", params=params)
    assert reply.status_code == 200, reply.text
    found: dict[str, Any] = reply.json()
    return found


async def test_the_figures_say_how_requests_ended(world: World) -> None:
    await decided(world, "refund", "approve")
    await decided(world, "refund", "reject")
    waiting = await world.inbox.ask("Go?", action=Action("mail", {}))
    found = await figures(world.client("admin", "root"))
    assert found["complete"]
    assert (found["pending"], found["oldest"][:19]) == (1, waiting.created_at.isoformat()[:19])
    assert found["queue"][-1] | {"at": ""} == {"at": "", "pending": 1, "asked": 3, "ended": 2}
    (tool,) = [each["decisions"] for each in found["tools"] if each["name"] == "refund"]
    assert (tool["approved"], tool["rejected"], tool["expired"]) == (1, 1, 0)
    assert found["times"][0]["answers"] == 2
    assert found["fast"] == [{"measured_from": "asked", "approvals": 1, "under_2s": 1}]


async def test_people_read_the_figures_of_their_groups_and_of_what_is_open_to_all(world: World) -> None:
    await decided(world, "refund", "approve", ("finance",))
    await decided(world, "contract", "approve", ("legal",))
    await decided(world, "mail", "approve")
    await decided(world, "secret", "approve", assignee="ann")

    async def tools(role: str, *groups: str, tenant: str = "default") -> set[str]:
        found = await figures(world.client(role, "ann", tenant=tenant, groups=groups))
        return {each["name"] for each in found["tools"]}

    assert await tools("person", "finance") == {"refund", "mail"}
    assert await tools("person") == {"mail"}
    assert await tools("auditor") == await tools("admin") == {"refund", "contract", "mail", "secret"}
    assert await tools("admin", tenant="elsewhere") == set()


async def test_agents_read_no_figures_and_people_no_report(world: World) -> None:
    for path in ("/v1/statistics", "/v1/statistics?format=csv", "/v1/report"):
        assert (await world.client("agent", "bot").get(path)).status_code == 403
        assert (await world.stranger().get(path)).status_code == 401
    assert (await world.client("person", "ann", groups=("finance",)).get("/v1/report")).status_code == 403


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", " =1", "\n=1", "\uff1d1", "\uff20SUM(A1)"])
async def test_no_cell_of_the_table_is_a_formula(world: World, name: str) -> None:
    await world.backend.store.put(
        *Request.approved(
            Ask(title="Go?", action=Action(name, {})), rule="r", id="p1", by="agent:x", now=world.inbox.clock()
        )
    )
    reply = await world.client("admin", "root").get("/v1/statistics", headers={"accept": "text/csv"})
    assert reply.headers["content-type"] == "text/csv; charset=utf-8"
    rows = list(csv.reader(io.StringIO(reply.text, newline="")))
    cells = [row[1] for row in rows if row[0] == "tools"]
    assert set(cells) == {f"'{name}"}
    assert not [cell for row in rows for cell in row if cell.lstrip().startswith(("=", "+", "-", "@"))]


async def test_the_table_has_the_figures_of_the_json(world: World) -> None:
    await decided(world, "refund", "approve")
    client = world.client("admin", "root")
    found = await figures(client)
    rows = list(csv.reader(io.StringIO((await client.get("/v1/statistics?format=csv")).text)))
    assert ["decisions", "", "approved", "1"] in rows
    assert [row[3] for row in rows if row[0] == "queue" and row[2] == "asked"] == [
        str(point["asked"]) for point in found["queue"]
    ]


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"since": "2026-01-05T00:00:00Z", "until": "2026-01-01T00:00:00Z"}, "since_after_until"),
        ({"since": "2020-01-05T00:00:00Z"}, "period_too_long"),
        ({"since": "2026-01-05T00:00:00Z", "until": "2026-03-05T00:00:00Z", "by": "hour"}, "period_too_long"),
    ],
)
async def test_a_wrong_period_is_refused(world: World, params: dict[str, str], code: str) -> None:
    reply = await world.client("admin", "root").get("/v1/statistics", params=params)
    assert reply.status_code == 422
    assert reply.json()["errors"][0]["code"] == code


async def test_the_counts_name_no_person_and_stay_after_an_erasure(world: World) -> None:
    request = await decided(world, "refund", "approve", assignee="ann")
    client = world.client("admin", "boss")
    before = await figures(client)
    await world.inbox.erase(request.id, by="boss")
    after = await figures(client)
    assert (before["decisions"], before["tools"]) == (after["decisions"], after["tools"])
    await world.inbox.trail.erase_some(Sweep(person="root"), by="boss")
    stored = await world.backend.store.find(Journal, Query(tenant="default"))
    ours = [each.model_dump_json() for each in stored if each.id.startswith("statistics")]
    assert len(ours) == 2
    assert not [text for text in ours for name in ("ann", "root", "boss") if name in text]


async def test_the_report_states_what_it_covers(world: World) -> None:
    await decided(world, "refund", "approve", ("finance",))
    await decided(world, "refund", "reject", ("finance", "legal"))
    report = (await world.client("auditor", "eve").get("/v1/report")).json()
    audit = (await world.client("auditor", "eve").get("/v1/audit")).json()["items"]
    requests = [event for event in audit if event["record"] == "request"]
    assert report["head"] == requests[-1]["hash"]
    assert report["position"] == requests[-1]["position"]
    assert report["total"]["decided_by_people"] == 2
    rows = {row["name"]: row for row in report["groups"]}
    assert (rows["finance"]["asked"], rows["finance"]["rejected"], rows["legal"]["asked"]) == (2, 1, 1)
    assert report["tools"][0]["name"] == "refund"
    assert timedelta(seconds=report["tools"][0]["median"]) < timedelta(minutes=1)


async def test_checks_are_in_the_queue_and_in_no_other_figure(world: World) -> None:
    real = await decided(world, "refund", "approve")
    about: dict[str, Any] = {"template": real, "check": Check(expected="reject", because="Too much")}
    for n, decision in enumerate(("approve", "reject")):
        ask = Ask(title="Go?", action=Action("refund", {}))
        planted, event = Request.planted(ask, id=f"planted-{n}", now=world.inbox.clock(), **about)
        await world.backend.store.put(planted, event)
        answer = {"decision": decision, "digest": planted.digest}
        reply = await world.client("admin", "root").post(f"/v1/requests/{planted.id}/respond", json=answer)
        assert reply.status_code == 200, reply.text
    found = await figures(world.client("admin", "root"))
    assert sum(found["decisions"].values()) == found["decisions"]["approved"] == 1
    assert found["fast"][0]["approvals"] == found["times"][0]["answers"] == 1
    assert (found["queue"][-1]["asked"], found["queue"][-1]["ended"], found["pending"]) == (3, 3, 0)
    report = (await world.client("admin", "root").get("/v1/report")).json()
    assert (report["total"]["checks"], report["total"]["caught"]) == (2, 1)
    assert report["total"]["decided_by_people"] == 1


@pytest.mark.parametrize(
    ("language", "title", "rule"),
    [
        ("en", "How people decided", "rule 1 of the policy"),
        ("ja", "人による決定", "ポリシーのルール 1"),
        ("zh", "人工决定报告", "策略的第 1 条规则"),
    ],
)
async def test_the_printed_report_has_no_scripts_and_no_markup_of_others(
    world: World, language: str, title: str, rule: str
) -> None:
    policy = Policy.parse({"rules": [{"tools": ["refund"]}]})
    await world.inbox.submit(question_about_call(policy, policy.rule_of("refund", {}), "refund", {}, facts={}))
    name = '<script>alert(1)</script>"><img src=x onerror=y>\u202e'
    await decided(world, name, "approve", ("</td><b>",))
    client = world.client("auditor", "eve")
    reply = await client.get("/v1/report?format=html", headers={"accept-language": language})
    assert reply.headers["content-disposition"] == 'attachment; filename="report.html"'
    page = reply.text
    assert title in page
    tags = set(re.findall(r"</?([a-z0-9]+)", page))
    assert tags == {
        "html", "head", "meta", "title", "style", "body", "h1", "h2", "dl", "dt", "dd", "p", "div", "table", "thead",
        "tbody", "tr", "th", "td",
    }  # fmt: skip
    assert "&lt;script&gt;" in page
    assert "\u202e" not in page
    assert rule in page
    assert "rules[" not in page
    assert not re.search(r"https?://|url\(|@import", page)
