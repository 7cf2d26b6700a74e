"""A store with a suggested rule and checks of attention, made by the API as agents, people and administrators do."""

from __future__ import annotations

from typing import Any

import httpx
from tests.acceptance.demo_server import DemoServer

TOOL = "refund_order"
LONG_RULE = "mcp__accounts_payable_of_the_company__pay_invoice_of_supplier"
LONG_TOOL = "mcp__newsletter_and_marketing__send_message_to_subscribers"
COUNTRIES = ("CN", "DE", "JP")
DECISIONS, REFUSED = 210, (50, 150)
"""The decisions from which a rule is suggested, and those that it must not let through."""
CHECKS = {
    TOOL: {"tool": TOOL, "times": {"amount": 10}, "because": "Ten times what the customer paid"},
    LONG_TOOL: {"tool": LONG_TOOL, "set": {"copies": 900}, "because": "900 copies to each subscriber"},
}
ATTENTIVE, HASTY = "ann", "bob.the.builder@customer-service.example.org"
NOTICED = {ATTENTIVE: 5, HASTY: 2}
"""How many of the five checks of the tool with the long name each person notices."""


def client_of(server: DemoServer, name: str, *, role: str = "person", groups: tuple[str, ...] = ()) -> httpx.Client:
    """Return a client with the token of somebody."""
    token = server.token(role, name, groups)
    return httpx.Client(base_url=server.url, headers={"authorization": f"Bearer {token}"}, timeout=30)


def ask_call(server: DemoServer, tool: str, args: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Ask about a call as the agent does, and return the request."""
    with server.client("agent") as agent:
        body = {"title": f"Call {tool}?", "action": {"name": tool, "args": args}, **more}
        request: dict[str, Any] = agent.post("/v1/requests", json=body).raise_for_status().json()
        return request


def refund(number: int) -> dict[str, Any]:
    """Return the arguments of a call that vary as those of real ones do."""
    return {"order": f"o-{number}", "amount": number * 37 % 200 + 1, "country": COUNTRIES[number % 3]}


def decide(client: httpx.Client, request: dict[str, Any], decision: str) -> None:
    """Answer by the API."""
    body = {"decision": decision, "digest": request["digest"]}
    client.post(f"/v1/requests/{request['id']}/respond", json=body).raise_for_status()


def suggest(server: DemoServer, tool: str = TOOL, by: str = "ann", groups: tuple[str, ...] = ()) -> None:
    """Decide as many calls of a tool as a suggestion needs, which may be for groups."""
    with client_of(server, by, groups=groups) as person:
        for number in range(DECISIONS):
            wrong = number in REFUSED
            request = ask_call(server, tool, {**refund(number), **({"amount": 5000} if wrong else {})}, groups=groups)
            decide(person, request, "reject" if wrong else "approve")


def plant(server: DemoServer, tool: str) -> dict[str, Any]:
    """Plant a check, and return it as a person reads it."""
    with server.client("admin") as admin:
        (id,) = admin.post("/v1/checks", json={"checks": [CHECKS[tool]]}).raise_for_status().json()["ids"]
        planted: dict[str, Any] = admin.get(f"/v1/requests/{id}").raise_for_status().json()
        return planted


def answer_checks(server: DemoServer) -> None:
    """Let one person notice all checks, and another few of them."""
    ask_call(server, LONG_TOOL, {"list": "press", "copies": 1})
    for name, noticed in NOTICED.items():
        with client_of(server, name) as person:
            for number in range(5):
                decide(person, plant(server, LONG_TOOL), "reject" if number < noticed else "approve")
