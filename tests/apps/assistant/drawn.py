"""Definitions as Hypothesis draws them: infos of all kinds, made from each other, and actions that require some."""

from __future__ import annotations

from typing import Literal

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from tests.apps.assistant.office import nothing

from ringi_apps.assistant.declarations import ActionDefinition, Info, InfoHandler, Needs
from ringi_apps.assistant.definitions import Definitions

SLOW = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""How slow the machine is says nothing of a rule."""
VALUES = st.integers(0, 2)
TIMES = st.sampled_from([None, None, 5, 20])
PLAN, APPLY = "plan", "apply"


def summed(**inputs: int) -> int:
    return sum(inputs.values()) % 3


@st.composite
def services(draw: st.DrawFn) -> Definitions:
    """Draw infos of all kinds, made from each other, and actions that require some of them."""
    infos: list[Info] = []
    for number in range(draw(st.integers(2, 5))):
        key, before = f"i{number}", [each.key for each in infos]
        sources = tuple(draw(st.lists(st.sampled_from(before), min_size=1, max_size=2, unique=True))) if before else ()
        how = draw(st.sampled_from(["ask", "handler", "derived", "static"]))
        scope: Literal["thread", "user"] = draw(st.sampled_from(["thread", "thread", "user"]))
        if how == "handler":
            params = {f"p{n}": {"info": source} for n, source in enumerate(sources)}
            infos.append(Info(key, handler="fetch", params=params, ttl=draw(TIMES), scope=scope))
        elif how == "derived" and sources:
            infos.append(Info(key, derive=summed, inputs=sources))
        elif how == "static":
            infos.append(Info(key, value=draw(VALUES)))
        else:
            infos.append(Info(key, ttl=draw(TIMES), scope=scope))
    keys = [each.key for each in infos]
    actions = [
        ActionDefinition(f"a{number}", "immediate", "Act", workflow=f"w{number}", requires=draw(needs(keys)))
        for number in range(draw(st.integers(1, 3)))
    ]
    actions += [
        ActionDefinition(PLAN, "plan", "Plan", workflow="planning", requires=draw(needs(keys))),
        ActionDefinition(APPLY, "apply", "Apply", workflow="applying", requires=draw(needs(keys)), depends_on=(PLAN,)),
    ]
    return Definitions(tuple(infos), tuple(actions), (InfoHandler("fetch", nothing),))


@st.composite
def needs(draw: st.DrawFn, keys: list[str]) -> tuple[Needs | str, ...]:
    """Draw what an action requires: some of it optional, some of it newer than it would have to be."""
    chosen = draw(st.lists(st.sampled_from(keys), max_size=4, unique=True))
    forms: list[list[Needs | str]] = [[key, Needs(key, optional=True), Needs(key, max_age=10)] for key in chosen]
    return tuple(draw(st.sampled_from(each)) for each in forms)
