"""Which variants of a test run outside of `make test-all`."""

from __future__ import annotations

from typing import Any

import pytest
from tests import tiers


def chosen(request: pytest.FixtureRequest, name: str, count: int) -> list[str]:
    """Return which of some variants of a test run, by their numbers."""

    class Variant(pytest.Item):
        def runtest(self) -> None:
            """Do nothing."""

    session: Any = request.session
    items: list[pytest.Item] = [
        Variant.from_parent(session, name=f"test[{n}]", nodeid=f"{name}::test[{n}]") for n in range(count)
    ]
    return [item.name[5:-1] for item in tiers.few_variants(items)]


@pytest.mark.parametrize(
    ("count", "numbers"), [(1, "0"), (5, "0 1 2 3 4"), (6, "0 1 2 4 5"), (83, "0 20 41 62 82"), (9, "0 2 4 6 8")]
)
def test_of_many_variants_the_first_the_last_and_some_between_run(
    request: pytest.FixtureRequest, count: int, numbers: str
) -> None:
    assert chosen(request, "tests/cli/test_sentences.py", count) == numbers.split()


@pytest.mark.parametrize("place", ["tests/faults/test_kill_core.py", "tests/server/test_oidc.py", "tests/domain/x.py"])
def test_every_variant_of_a_promise_about_kills_and_rights_runs_and_every_fast_one(
    request: pytest.FixtureRequest, place: str
) -> None:
    assert len(chosen(request, place, 40)) == 40
