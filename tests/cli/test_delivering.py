"""The commands about what was sent to others."""

from __future__ import annotations

import asyncio
import re

from tests.cli.desk import Desk
from tests.cli.test_commands import output_of, printed, refused
from tests.delivery.office import endpoint, office, settings
from tests.delivery.receivers import OK, Receiver, answers, receiving

from ringi.delivery.signing import checked_secret


def sent(desk: Desk, waiting_for: int) -> Receiver:
    """Ask something unless somebody did, deliver until the receiver was called so often, and return it."""

    async def deliver() -> Receiver:
        async with receiving(answers(404), OK) as crm:
            async with office(desk.url, settings(endpoint(crm.url, max_tries=1))) as here:
                if waiting_for == 1:
                    await here.asked(id="q1")
                await crm.calls(1)
                await here.settled(await here.inbox.get("q1"), "failed")
            return crm

    return asyncio.run(deliver())


def test_a_delivery_is_found_and_sent_again(desk: Desk) -> None:
    assert output_of(desk, "deliveries") == "no deliveries (`ringi serve` or `ringi worker` sends webhooks)\n"
    sent(desk, 1)

    (item,) = printed(desk, "deliveries", "q1")["items"]
    assert (item["id"], item["status"], item["tries"][0]["code"]) == ("crm.1.q1", "failed", 404)
    assert re.search(
        r"crm\.1\.q1 +request\.created +http://127\.0\.0\.1:\d+ +failed after 1 try: 404", output_of(desk, "deliveries")
    )

    assert printed(desk, "redeliver", "crm.1.q1", "--name", "olga")["status"] == "queued"
    assert "queued after 1 try" in output_of(desk, "deliveries", "q1")
    assert len(sent(desk, 2).got) == 1
    assert [each["by"] for each in printed(desk, "deliveries", "q1")["items"][0]["tries"]] == [None, "olga", None]


def test_unfinished_deliveries_are_counted_for_each_endpoint(desk: Desk) -> None:
    assert output_of(desk, "deliveries", "--endpoints") == "no unfinished deliveries\n"

    async def fail() -> None:
        async with (
            receiving(answers(500)) as crm,
            office(desk.url, settings(endpoint(crm.url), schedule=(0.0, 3600.0))) as here,
        ):
            await here.settled(await here.asked(), "waiting")

    asyncio.run(fail())
    expected = {"endpoint": "crm", "waiting": 0, "running": 0, "retrying": 1}
    assert printed(desk, "deliveries", "--endpoints")["items"] == [expected]
    assert re.search(r"crm +0 +0 +1", output_of(desk, "deliveries", "--endpoints"))


def test_a_delivery_that_does_not_exist_is_told_by_its_name(desk: Desk) -> None:
    assert refused(desk, 1, "redeliver", "crm.1.q1").startswith("error: no delivery 'crm.1.q1': list the deliveries")
    assert refused(desk, 1, "deliveries", "q1").startswith("error: no request 'q1'")


def test_a_secret_is_made_that_signs(desk: Desk) -> None:
    secret = printed(desk, "secret", "create")["secret"]

    assert checked_secret(secret) == secret != output_of(desk, "secret", "create").strip()
