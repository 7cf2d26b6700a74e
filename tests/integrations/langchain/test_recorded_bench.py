"""The bench of recorded agents, on two shops of a few records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks.recorded import RECORDED, recorded
from benchmarks.shops import Airline, Retail


def user(first: str, card: str, **more: Any) -> dict[str, Any]:
    return {
        "name": {"first_name": first, "last_name": "Lee"},
        "address": {"zip": "10001"},
        "email": f"{first}@example.com",
        "payment_methods": {card: {"source": "credit_card", "id": card}},
        **more,
    }


def order(status: str, *prices: float) -> dict[str, Any]:
    items = [{"item_id": f"i{n}", "product_id": "p1", "price": price} for n, price in enumerate(prices)]
    return {"user_id": "u_ann", "status": status, "items": items, "payment_history": [{"payment_method_id": "card_a"}]}


RETAIL = {
    "users": {"u_ann": user("Ann", "card_a", orders=["#1", "#2"]), "u_bob": user("Bob", "card_b", orders=[])},
    "orders": {"#1": order("pending", 40.0), "#2": order("delivered", 900.0)},
    "products": {
        "p1": {"variants": {f"i{n}": {"price": 45.0, "available": n != 8} for n in (0, 7, 8)}},
        "p2": {"variants": {"i9": {"price": 45.0, "available": True}}},
    },
}
RESERVATION = {
    "user_id": "u_ann",
    "cabin": "economy",
    "flights": [{"flight_number": "F1", "date": "2024-05-20", "price": 100}],
    "passengers": [{}],
    "total_baggages": 1,
    "nonfree_baggages": 0,
    "created_at": "2024-05-15T10:00:00",
}
DAY = {"status": "available", "prices": {"economy": 100, "business": 150}, "available_seats": {"business": 9}}
AIRLINE = {
    "users": {
        "u_ann": user("Ann", "card_a", membership="regular"),
        "u_bob": user("Bob", "card_b", membership="regular"),
    },
    "reservations": {"R1": RESERVATION, "R2": {**RESERVATION, "created_at": "2024-05-01T10:00:00"}},
    "flights": {"F1": {"origin": "A", "destination": "B", "dates": {"2024-05-20": DAY}}},
}
CHOICE = {"order_id": "#1", "item_ids": ["i0"], "new_item_ids": ["i7"], "payment_method_id": "card_a"}
UPGRADE = {
    "reservation_id": "R2",
    "cabin": "business",
    "flights": [{"flight_number": "F1", "date": "2024-05-20"}],
    "payment_id": "card_a",
}
CALLS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "retail": [
        ("get_order_details", {"order_id": "#1"}),
        ("modify_pending_order_items", CHOICE),
        ("return_delivered_order_items", {"order_id": "#2", "item_ids": ["i0"], "payment_method_id": "card_a"}),
    ],
    "airline": [
        ("cancel_reservation", {"reservation_id": "R1"}),
        ("update_reservation_flights", UPGRADE),
        ("cancel_reservation", {"reservation_id": "R2"}),
    ],
}


def write_domains(path: Path) -> None:
    for name, db in (("retail", RETAIL), ("airline", AIRLINE)):
        (path / name).mkdir()
        (path / name / "db.json").write_text(json.dumps(db))
        actions = [{"name": tool, "arguments": args} for tool, args in CALLS[name]]
        tasks = [
            {"user_scenario": "You are u_ann.", "evaluation_criteria": {"actions": actions}},
            {"user_scenario": "You are Bob@example.com.", "evaluation_criteria": {"actions": None}},
        ]
        (path / name / "tasks.json").write_text(json.dumps(tasks))


async def test_every_write_waits_and_the_policy_lets_only_fitting_calls_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_domains(tmp_path)
    monkeypatch.setenv(RECORDED, str(tmp_path))

    rows = {row.what: row for row in await recorded()}

    values = [next(iter(row.ours)) for row in rows.values()]
    names = list(rows)
    assert names[:3] == [
        "every write asks, 5 writes: waited for a person before they ran",
        "every write asks, 5 writes: ran with exactly the approved arguments",
        "every write asks, 1 other calls: waited for a person",
    ]
    assert values[:3] == [5, 5, 0]
    assert rows["every write asks, both: 5 decisions, for each of 4 conversations"].ours == [5 / 4]
    # The refund is large, and the second flight was booked long ago and upgraded only now.
    assert rows["the shop's policy with facts, both: 2 decisions, for each of 2 conversations that write"].ours == [1]
    (forbidden,) = (row for name, row in rows.items() if "calls that break its rules" in name)
    assert (forbidden.ours, forbidden.verdict, forbidden.note) == ([0], "PASS", "")


@pytest.mark.parametrize("value", [None, "nowhere"])
async def test_without_the_benchmark_the_bench_says_what_it_needs(
    value: str | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv(RECORDED, raising=False)
    if value:
        monkeypatch.setenv(RECORDED, value)
    assert await recorded() == []
    assert f"recorded: set {RECORDED} to the folder data/tau2/domains of tau2-bench" in capsys.readouterr().out


@pytest.mark.parametrize("change", [{"new_item_ids": ["i0"]}, {"new_item_ids": ["i8"]}, {"new_item_ids": ["i9"]}])
def test_a_price_of_other_goods_than_a_customer_may_choose_is_unknown(change: dict[str, Any]) -> None:
    shop = Retail(RETAIL, "u_ann")
    assert shop.difference(CHOICE) == 5
    with pytest.raises(LookupError):
        shop.difference({**CHOICE, **change})


def test_an_upgrade_does_not_make_a_flight_one_that_can_be_cancelled() -> None:
    shop = Airline(AIRLINE, "u_ann")
    shop.run("update_reservation_flights", UPGRADE)
    assert (shop.cabin(UPGRADE), shop.booked_cabin(UPGRADE)) == ("business", "economy")
