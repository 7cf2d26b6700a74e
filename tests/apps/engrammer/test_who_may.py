"""Who may do what with conversations and playbooks: by role, owner and tenant."""

from __future__ import annotations

from functools import partial
from itertools import product

import pytest
from tests.apps.engrammer.lab import Models
from tests.apps.engrammer.rows import CONVERSATIONS, PLAYBOOKS
from tests.apps.engrammer.served import served
from tests.server.test_matrix import HIDDEN, OWNERS, ROLES, ROWS, assert_hidden, call, expected_of, id_of
from tests.server.world import is_at_rest, until

from ringi.domain.thread import Thread


@pytest.mark.parametrize(("method", "path"), CONVERSATIONS, ids=lambda part: part)
async def test_a_conversation_is_known_to_its_tenants_people_and_to_the_agent_that_began_it(
    method: str, path: str
) -> None:
    row = ROWS[method, path]
    async with served("memory://", Models()) as world:
        begun = list[Thread]()
        for tenant, name in product(("default", "elsewhere"), (*ROLES, "stranger")):
            by = "agent:agent" if name == "agent" else name
            begun.append(await world.runner.start(tenant, f"{tenant}-{name}", "engrammer", {"query": "What?"}, by=by))
        await until(partial(is_at_rest, world))
        for role, owner in product(ROLES, OWNERS):
            id, expected = id_of(owner, role), expected_of(method, path, role)[owner]
            reply = await call(world, method, path, row, role, id)
            if expected == HIDDEN:
                await assert_hidden(world, method, path, role, id, reply)
            else:
                assert reply.status_code == expected, (role, owner, reply.text)
        elsewhere = [thread for thread in begun if thread.tenant == "elsewhere"]
        runs = [(await world.runner.get(*thread.key)).run_id for thread in elsewhere]
        assert runs == [thread.run_id for thread in elsewhere]


@pytest.mark.parametrize(("method", "path"), PLAYBOOKS, ids=lambda part: part)
async def test_an_agent_reads_what_it_is_told_and_changes_nothing(method: str, path: str) -> None:
    row = ROWS[method, path]
    async with served("memory://", Models()) as world:
        for role in ROLES:
            await until(partial(is_at_rest, world))
            reply = await call(world, method, path, row, role, "engrammer")
            assert reply.status_code == expected_of(method, path, role), (role, reply.text)
            if "{id}" in path:
                # An auditor is refused before the playbook is looked for.
                missing = 403 if role == "auditor" and method != "GET" else 404
                assert (await call(world, method, path, row, role, "nowhere")).status_code == missing
