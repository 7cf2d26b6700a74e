"""Which tests run when.

| run | tests | for |
|---|---|---|
| `check` | readers of the source and of the docs: each file is read once | `make check`, each commit |
| `fast` | no server, no browser, no other process, nothing that takes seconds | each edit |
| `quick` | `fast`, `MAIN`, the command line, the contracts, all on one store | `make test` |
| `stores` | contracts, fences, streams, jobs on PostgreSQL and Redis; faults, clients, `WIDE` | `make test-stores` |
| `all` | everything: each test on each store, all pages, old servers, chaos, the wheel, the docs | `make test-all` |

`check`, `quick` and `stores` share no test, and CI runs the three. A promise needs a test in one of them. Of a test
with many variants, such as one for each wrong value, they run a few (see `MOST_VARIANTS`), and `all` runs each.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from inspect import signature
from pathlib import Path
from time import process_time
from typing import Any

import pytest
from hypothesis import settings
from hypothesis.internal.conjecture.engine import ConjectureRunner

RUNS = ("check", "fast", "quick", "stores", "all")
PARTS = {"check": ("check",), "fast": ("fast",), "quick": ("fast", "quick"), "stores": ("stores",), "all": RUNS}
SHARES = {"check": 0.1, "fast": 0.1, "quick": 0.25, "stores": 0.5, "all": 1.0}
"""Which share of its generated examples a property test runs."""
BUDGETS = {"check": 1.0, "fast": 1.0, "quick": 1.0, "stores": 3.0}
"""The processor time, in seconds, after which a property test takes no further example; `all` has no limit."""
WANTS_MORE = ConjectureRunner.should_generate_more

ROOT = Path(__file__).parent.parent
STORES = ("memory", "sqlite", "postgres", "redis")
ONE_STORE = "sqlite"
RARE = ("postgres_16", "valkey")
SERVERS = ("postgres_url", "redis_url", "durable_redis_url")
CONTRACTS = "ringi.testing.conformance"

MOST_VARIANTS = 5
"""How many variants of one test run outside of `all`: the first and last one, and those evenly between."""
WHOLE = (
    "tests/faults/",
    "tests/privacy/",
    "tests/server/test_every_route.py",
    "tests/server/test_guard.py",
    "tests/server/test_matrix",
    "tests/server/test_oidc",
    "tests/server/test_who_may",
)
"""Where every variant always runs: what a kill may interrupt, what an erasure takes, who may do what.

So do those of `fast`, and of tests that take their parameters alone.
"""

PLACES = {
    "tests/acceptance/": "all",
    "tests/test_extras.py": "quick",
    "tests/acceptance/test_demo.py": "stores",
    "tests/acceptance/test_hostile.py": "stores",
    "tests/acceptance/test_kill_retry.py": "stores",
    "tests/acceptance/test_kill_server.py": "stores",
    "tests/acceptance/test_superseded.py": "stores",
    "tests/apps/assistant/": "quick",
    "tests/backends/postgres/": "stores",
    "tests/backends/postgres/test_postgres_poolers.py": "all",
    "tests/backends/test_upgrade.py": "all",
    "tests/backends/redis/": "stores",
    "tests/backends/sqlite/": "quick",
    "tests/backends/sqlite/test_space.py": "stores",
    "tests/cli/": "quick",
    "tests/cli/test_languages.py": "stores",
    "tests/cli/test_link.py": "stores",
    "tests/cli/test_keys.py": "check",
    "tests/cli/test_watch_answers.py": "stores",
    "tests/cli/test_watch_live.py": "stores",
    "tests/cli/test_watch_terminal.py": "stores",
    "tests/delivery/": "quick",
    "tests/domain/test_derived_ids.py": "quick",
    "tests/apps/engrammer/": "quick",
    "tests/apps/engrammer/test_learning_bench.py": "all",
    "tests/domain/test_events.py": "check",
    "tests/faults/": "stores",
    "tests/faults/test_at_once.py": "quick",
    "tests/faults/test_chaos.py": "all",
    "tests/faults/test_decision_crashes.py": "quick",
    "tests/faults/test_rolling.py": "all",
    "tests/faults/test_soak.py": "all",
    "tests/files/test_attachments.py": "quick",
    "tests/files/test_image_recovery.py": "stores",
    "tests/files/test_images.py": "quick",
    "tests/inbox/test_suggestions.py": "quick",
    "tests/gateways/hooks/": "quick",
    "tests/integrations/langchain/": "quick",
    "tests/gateways/acp/": "quick",
    "tests/gateways/acp/test_proxy.py": "stores",
    "tests/gateways/mcp/": "quick",
    "tests/gateways/mcp/test_stdio.py": "stores",
    "tests/gateways/mcp/test_kill.py": "stores",
    "tests/gateways/mcp_gate/": "quick",
    "tests/gateways/mcp_gate/test_calls.py": "stores",
    "tests/gateways/mcp_gate/test_servers.py": "stores",
    "tests/gateways/mcp_gate/test_kill_ringi.py": "stores",
    "tests/gateways/test_client_calls.py": "quick",
    "tests/openapi_clients/": "stores",
    "tests/protocols/": "quick",
    "tests/readers/": "stores",
    "tests/release/": "all",
    "tests/schema_fuzz/": "stores",
    "tests/server/": "quick",
    "tests/server/test_agents_elsewhere.py": "stores",
    "tests/server/test_matrix": "stores",
    "tests/server/test_offers.py": "stores",
    "tests/server/test_oidc": "stores",
    "tests/server/test_startup.py": "stores",
    "tests/server/test_who_may": "stores",
    "tests/privacy/test_erasure.py": "quick",
    "tests/runs/test_examples.py": "quick",
    "tests/runs/test_without_langgraph.py": "stores",
    "tests/runs/test_reconciler.py": "quick",
    "tests/shapes/": "quick",
    "tests/statistics/test_counting.py": "quick",
    "tests/test_absent_notifier.py": "quick",
    "tests/test_cli.py": "stores",
    "tests/test_cluster.py": "stores",
    "tests/test_docs.py": "all",
    "tests/test_architecture.py": "check",
    "tests/test_deploy.py": "check",
    "tests/test_versions.py": "check",
    "tests/test_language.py": "check",
    "tests/test_mutations.py": "check",
    "tests/test_patterns.py": "check",
    "tests/test_private_names.py": "check",
    "tests/test_promised_docs.py": "check",
    "tests/test_public_api.py": "check",
    "tests/test_repository_files.py": "check",
    "tests/test_entrypoint.py": "quick",
    "tests/test_notify_modes.py": "quick",
    "tests/testing/test_harness_ends.py": "quick",
    "tests/testing/test_person.py": "quick",
    "tests/forms/test_json_schema.py": "quick",
    "tests/audit/test_seal_stores.py": "stores",
    "tests/test_toolchain.py": "stores",
    "tests/inbox/test_tracing.py": "stores",
    "tests/testing/test_plugin.py": "stores",
    "tests/client/": "quick",
    "tests/upgrade/": "all",
    "tests/upgrade/test_stored_forms.py": "check",
    "tests/client/test_commands_over_http.py": "stores",
    "tests/runs/test_lease.py": "quick",
    "tests/runs/test_outages.py": "quick",
    "tests/runtimes/test_without_langgraph.py": "quick",
}
"""The tier of a folder or a file; the longest name that fits counts, and all others are `fast`.

`@pytest.mark.tier("all")` on a test, or on one of its parameters, goes before.
"""

MAIN = pytest.mark.tier("quick")
"""The mark of the main paths of the page, for a few dozen tests: a browser costs two seconds of a processor a test.

What one component says or does is a test of `ui/src`, and other tests of the page are of `all`.
"""

CHECKED = '@pytest.mark.tier("check")'
"""Marks, in a file of other tests, one that reads the source."""

WIDE = pytest.mark.tier("stores")
"""The mark of what is too slow for `quick` and guards a promise, such as a kill or what an agent may not forge."""

DIFFERENT_ON_EACH_STORE = (
    "tests/backends/",
    "tests/delivery/",
    "tests/faults/",
    "tests/server/test_offers.py",
    "tests/server/test_opening.py",
    "tests/privacy/test_erasure.py",
    "tests/test_notify_modes.py",
    "tests/audit/test_seal_stores.py",
    "tests/runs/test_cancel.py",
    "tests/runs/test_history.py",
    "tests/runs/test_run_context.py",
    "tests/runs/test_lease.py",
    "tests/runs/test_loop_watch.py",
    "tests/runs/test_cleanup.py",
    "tests/runs/test_operations_at_once.py",
    "tests/runs/test_outages.py",
    "tests/runs/test_pitfalls.py",
    "tests/runs/test_reconciler.py",
    "tests/runs/test_stream.py",
)
"""Where a test that is repeated for each store guards a promise that each store keeps in its own way."""


PROVIDES: dict[str, tuple[str, ...]] = {"check": (), "fast": (), "quick": (), "stores": DIFFERENT_ON_EACH_STORE}
MOVES: dict[str, tuple[str, ...]] = {
    "check": (CHECKED,),
    "fast": (),
    "quick": ("MAIN", 'tier("quick")', "conformance"),
    "stores": ("WIDE", 'tier("stores")', "postgres", "redis"),
}
"""Where a run also takes tests from files of other tiers: from these places, and from files with one of these words."""


def select(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect what is not part of the run that `--tier` names."""
    run = config.getoption("--tier")
    chosen = [item for item in items if tier_of(item) in PARTS[run]]
    if run != "all":
        chosen = few_variants(chosen)
    if len(chosen) < len(items):
        selected = set(chosen)
        config.hook.pytest_deselected(items=[item for item in items if item not in selected])
        items[:] = chosen


def few_variants(items: list[pytest.Item]) -> list[pytest.Item]:
    """Return the items with only some of the variants of each test."""
    tests = defaultdict[tuple[str, str], list[pytest.Item]](list)
    for item in items:
        tests[item.nodeid.partition("[")[0], tier_of(item)].append(item)
    chosen = set[pytest.Item]()
    for (name, tier), variants in tests.items():
        is_whole = tier in ("check", "fast") or name.startswith(WHOLE) or _is_contract(variants[0])
        chosen.update(variants if is_whole or _needs_nothing(variants[0]) else spread(variants))
    return [item for item in items if item in chosen]


def _needs_nothing(item: pytest.Item) -> bool:
    """Return whether a test takes its parameters alone, and no store or server."""
    callspec: Any = getattr(item, "callspec", None)
    if not isinstance(item, pytest.Function) or callspec is None:
        return False
    return set(signature(item.function).parameters) <= set(callspec.params)


def spread(variants: list[pytest.Item]) -> list[pytest.Item]:
    """Return at most `MOST_VARIANTS` items, evenly chosen."""
    last, steps = len(variants) - 1, MOST_VARIANTS - 1
    return variants if last < MOST_VARIANTS else [variants[round(n * last / steps)] for n in range(MOST_VARIANTS)]


def load_profile(run: str) -> None:
    """Let property tests run the share of their examples, and the seconds, that are fit for a run."""
    for name, share in SHARES.items():
        settings.register_profile(name, max_examples=max(5, round(100 * share)), deadline=None)
    settings.load_profile(run)
    if run in BUDGETS:
        ConjectureRunner.should_generate_more = within(BUDGETS[run])  # type: ignore[assignment,method-assign]


def within(
    seconds: float, more: Callable[[Any], bool] = ConjectureRunner.should_generate_more
) -> Callable[[Any], bool]:
    """Return what ends the examples of a property once it has used so much processor time, but not before the fifth.

    Hypothesis has no public setting for it.
    """

    def should_generate_more(runner: Any) -> bool:
        started = vars(runner).setdefault("started_at", process_time())
        has_time = runner.valid_test_cases < 5 or process_time() - started < seconds
        return (has_time or bool(runner.interesting_test_cases)) and WANTS_MORE(runner)

    return should_generate_more


def examples(count: int) -> int:
    """Return how many of `count` examples the run takes; `count` itself in `make test-all`."""
    return max(5, count * settings.default.max_examples // 100) if settings.default else count


def tier_of(item: pytest.Item) -> str:
    """Return the tier to which a test belongs: one of `RUNS`."""
    path = item.nodeid.partition("::")[0]
    mark = item.get_closest_marker("tier")
    if mark:
        return str(mark.args[0])
    tier = _of_place(path)
    words, fixtures = list(_parameters(item)), getattr(item, "fixturenames", [])
    if tier == "all" or any(rare in word for rare in RARE for word in (*words, *fixtures)):
        return "all"
    store = next((word for word in words if word in STORES), ONE_STORE)
    if _is_contract(item) and tier != "stores":
        return "quick"
    if store != ONE_STORE:
        is_guarded = store != "memory" and path.startswith(DIFFERENT_ON_EACH_STORE)
        return "stores" if is_guarded else "all"
    if any(server in fixtures for server in SERVERS):
        return "stores"
    return "quick" if tier == "fast" and "browser" in fixtures else tier


def is_left_out(path: str, run: str) -> bool:
    """Tell whether a run takes none of the tests of a file, by the words that move a test to another tier."""
    if run == "all" or not path.endswith(".py") or _of_place(path) in PARTS[run] or path.startswith(PROVIDES[run]):
        return False
    return not any(word in (ROOT / path).read_text("utf-8") for word in MOVES[run])


def _of_place(path: str) -> str:
    return PLACES.get(max((name for name in PLACES if path.startswith(name)), key=len, default=""), "fast")


def _parameters(item: pytest.Item) -> Iterator[str]:
    callspec: Any = getattr(item, "callspec", None)
    for value in callspec.params.values() if callspec else ():
        yield value if isinstance(value, str) else getattr(value, "__name__", "")


def _is_contract(item: pytest.Item) -> bool:
    owner = getattr(item, "cls", None)
    return owner is not None and any(base.__module__.startswith(CONTRACTS) for base in owner.__mro__)
