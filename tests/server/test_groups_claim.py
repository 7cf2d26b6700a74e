"""The groups claim of a provider gives the groups that it lists, and none where it is of another shape."""

from __future__ import annotations

from typing import Any

import pytest

from ringi.server.auth.oidc_provider import oidc_person
from ringi.server.identity import GroupRoles, Oidc

CLAIMS = {"sub": "7", "email": "ann@example.com", "email_verified": True}


@pytest.mark.parametrize(
    ("groups", "understood"),
    [
        (["ops", "sales"], ("ops", "sales")),
        ("ops", ("ops",)),
        (["ops", 7, None, ["admins"]], ("ops",)),
        ({"ops": True}, ()),
        (7, ()),
        (True, ()),
        (1.5, ()),
    ],
)
def test_only_what_is_a_list_of_names_gives_groups(groups: Any, understood: tuple[str, ...]) -> None:
    oidc = Oidc("https://id.example", "ringi", group_roles=GroupRoles(admins=frozenset({"root"})))
    person = oidc_person(oidc, {**CLAIMS, "groups": groups})
    assert (person.role, person.groups) == ("person", understood)
