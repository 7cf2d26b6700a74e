"""Two shops of a public benchmark of agents: the records of one customer's conversation, facts, and policies.

Each policy lets a call run without a person only if the customer may have it by the shop's own rules, if it moves
little money, and if that money stays with the customer's own payment methods.
"""

from __future__ import annotations

import copy
import itertools
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

Args = dict[str, Any]
OWN = {"is_own": {"equals": True}}
COVERED = {**OWN, "is_covered": {"equals": True}}
NOT_FLOWN = {**OWN, "is_open": {"equals": True}}
LITTLE = {"at_least": -100, "at_most": 100}
NOW = datetime(2024, 5, 15, 15, tzinfo=UTC)
"""The time of the airline's records."""
BAG_PRICE, INSURANCE_PRICE = 50, 30
FREE_BAGS = {
    "regular": {"basic_economy": 0, "economy": 1, "business": 2},
    "silver": {"basic_economy": 1, "economy": 2, "business": 3},
    "gold": {"basic_economy": 2, "economy": 3, "business": 4},
}
"""The free bags of each passenger by membership and cabin."""


def rule(tool: str, *auto_approve: dict[str, Any]) -> dict[str, Any]:
    return {"tools": [tool], "auto_approve": auto_approve}


RETAIL_POLICY = {
    "rules": [
        rule(
            "cancel_pending_order",
            {
                "name": "cancel an order that is not shipped",
                "where": {"reason": {"one_of": ["no longer needed", "ordered by mistake"]}},
                "facts": {**OWN, "status": {"equals": "pending"}, "total": {"at_most": 1000}},
            },
        ),
        rule(
            "return_delivered_order_items",
            {
                "name": "return goods of little value",
                "facts": {
                    **OWN,
                    "status": {"equals": "delivered"},
                    "refund": {"at_most": 500},
                    "payment": {"one_of": ["original", "gift card"]},
                },
            },
        ),
        rule(
            "exchange_delivered_order_items",
            {
                "name": "exchange goods of a similar price",
                "facts": {**COVERED, "status": {"equals": "delivered"}, "difference": LITTLE},
            },
        ),
        rule(
            "modify_pending_order_items",
            {
                "name": "choose goods of a similar price",
                "facts": {**COVERED, "status": {"equals": "pending"}, "difference": LITTLE},
            },
        ),
        rule(
            "modify_pending_order_address",
            {
                "name": "ship to an address of earlier orders",
                "facts": {**OWN, "status": {"matches": "pending.*"}, "is_known_address": {"equals": True}},
            },
        ),
        rule(
            "modify_user_address",
            {"name": "an address of earlier orders", "facts": {**OWN, "is_known_address": {"equals": True}}},
        ),
        rule("modify_pending_order_payment"),
    ]
}
AIRLINE_POLICY = {
    "rules": [
        rule(
            "cancel_reservation",
            {"name": "cancel within a day", "facts": {**NOT_FLOWN, "hours_since_booking": {"at_most": 24}}},
            {"name": "cancel business", "facts": {**NOT_FLOWN, "booked_cabin": {"equals": "business"}}},
            {"name": "cancel what the airline cancelled", "facts": {**NOT_FLOWN, "is_grounded": {"equals": True}}},
        ),
        rule(
            "update_reservation_flights",
            {
                "name": "other flights of a similar price",
                "facts": {
                    **NOT_FLOWN,
                    **COVERED,
                    "cabin": {"one_of": ["economy", "business"]},
                    "keeps_route": {"equals": True},
                    "difference": LITTLE,
                },
            },
            {
                "name": "another cabin of a similar price",
                "facts": {**NOT_FLOWN, **COVERED, "keeps_flights": {"equals": True}, "difference": LITTLE},
            },
        ),
        rule(
            "update_reservation_baggages",
            {
                "name": "more bags",
                "facts": {**NOT_FLOWN, **COVERED, "is_fee_right": {"equals": True}, "difference": {"at_most": 100}},
            },
        ),
        rule(
            "book_reservation",
            {
                "name": "a cheap flight that can be cancelled for a day",
                "facts": {
                    **OWN,
                    "is_paid": {"equals": True},
                    "is_fee_right": {"equals": True},
                    "total": {"at_most": 500},
                },
            },
        ),
        rule("update_reservation_passengers"),
        rule("send_certificate"),
    ]
}


class Shop:
    """The records of a shop as one conversation with a signed-in customer sees and changes them.

    A fact fails, and is unknown, if the call names a record that does not exist.
    """

    policy: dict[str, Any]
    fact_names: tuple[str, ...]

    def __init__(self, db: dict[str, Any], customer: str) -> None:
        self._db, self.customer = db, customer
        self._changed: dict[tuple[str, str], Any] = {}

    @property
    def facts(self) -> dict[str, Callable[[Args], Any]]:
        return {name: getattr(self, name) for name in self.fact_names}

    def record(self, table: str, id: str) -> Any:
        """Return a copy that belongs to this conversation."""
        if (table, id) not in self._changed:
            self._changed[table, id] = copy.deepcopy(self._db[table][id])
        return self._changed[table, id]

    def run(self, tool: str, args: Args) -> None:
        """Make the changes of a tool that facts of later calls depend on."""
        if change := getattr(self, f"_{tool}", None):
            change(args)

    @cached_property
    def profile(self) -> Any:
        return self.record("users", self.customer)

    def method(self, id: str) -> Any:
        """Return a payment method of the customer."""
        return self.profile["payment_methods"][id]

    def charge(self, id: str, price: float) -> None:
        if "balance" in (method := self.method(id)):
            method["balance"] -= price

    def has_balance(self, id: str, price: float) -> bool:
        return float(self.method(id).get("balance", price)) >= price


class Retail(Shop):
    """A shop that sells goods."""

    policy = RETAIL_POLICY
    fact_names = ("is_own", "status", "total", "refund", "difference", "payment", "is_covered", "is_known_address")

    def order(self, args: Args) -> Any:
        return self.record("orders", args["order_id"])

    def is_own(self, args: Args) -> bool:
        return bool(self.customer == (args.get("user_id") or self.order(args)["user_id"]))

    def status(self, args: Args) -> Any:
        return self.order(args)["status"]

    def total(self, args: Args) -> float:
        return round(float(sum(item["price"] for item in self.order(args)["items"])), 2)

    def refund(self, args: Args) -> float:
        return round(float(sum(item["price"] for item in self.items(args))), 2)

    def items(self, args: Args) -> list[Any]:
        """Return the items of the order that a call names; as often as the order has them, at most."""
        found = [next(i for i in self.order(args)["items"] if i["item_id"] == id) for id in args["item_ids"]]
        if Counter(args["item_ids"]) - Counter(item["item_id"] for item in self.order(args)["items"]):
            raise LookupError("the order has fewer of these items")
        return found

    def difference(self, args: Args) -> float:
        """Return what other variants of the same products cost more."""
        more = 0.0
        for item, new in zip(self.items(args), args["new_item_ids"], strict=True):
            variant = self._db["products"][item["product_id"]]["variants"][new]
            if new == item["item_id"] or not variant["available"]:
                raise LookupError("the same item, or not in stock")
            more += variant["price"] - item["price"]
        return round(more, 2)

    def payment(self, args: Args) -> Any:
        id = args["payment_method_id"]
        source = self.method(id)["source"].replace("_", " ")
        return "original" if id == self.order(args)["payment_history"][0]["payment_method_id"] else source

    def is_covered(self, args: Args) -> bool:
        return self.has_balance(args["payment_method_id"], self.difference(args))

    def is_known_address(self, args: Args) -> bool:
        """Tell whether goods were ordered to an address before the conversation."""
        new = {name: args[name] for name in ("address1", "address2", "city", "state", "country", "zip")}
        return any(self._db["orders"][id]["address"] == new for id in self.profile["orders"])

    def _cancel_pending_order(self, args: Args) -> None:
        self._move(args, "pending", "cancelled")

    def _return_delivered_order_items(self, args: Args) -> None:
        self._move(args, "delivered", "return requested")

    def _exchange_delivered_order_items(self, args: Args) -> None:
        self._move(args, "delivered", "exchange requested")

    def _modify_pending_order_items(self, args: Args) -> None:
        self.charge(args["payment_method_id"], self.difference(args))
        self._move(args, "pending", "pending (item modified)")

    def _move(self, args: Args, before: str, after: str) -> None:
        # The shop's own tools refuse another status.
        if self.status(args) == before:
            self.order(args)["status"] = after


class Airline(Shop):
    """An airline that takes reservations."""

    policy = AIRLINE_POLICY
    fact_names = (
        "is_own",
        "is_open",
        "is_grounded",
        "hours_since_booking",
        "cabin",
        "booked_cabin",
        "keeps_route",
        "keeps_flights",
        "difference",
        "total",
        "is_covered",
        "is_paid",
        "is_fee_right",
    )

    def reservation(self, args: Args) -> Any:
        return self.record("reservations", args["reservation_id"])

    def flight(self, flight: Args) -> Any:
        return self._db["flights"][flight["flight_number"]]["dates"][flight["date"]]

    def is_own(self, args: Args) -> bool:
        return bool(self.customer == (args.get("user_id") or self.reservation(args)["user_id"]))

    def is_open(self, args: Args) -> bool:
        """Tell whether a reservation is not cancelled, and no flight of it has left."""
        reservation = self.reservation(args)
        has_left = any(self.flight(each)["status"] in ("flying", "landed") for each in reservation["flights"])
        return not has_left and reservation.get("status") != "cancelled"

    def is_grounded(self, args: Args) -> bool:
        return any(self.flight(each)["status"] == "cancelled" for each in self.reservation(args)["flights"])

    def hours_since_booking(self, args: Args) -> float:
        return (NOW - datetime.fromisoformat(self.reservation(args)["created_at"] + "Z")).total_seconds() / 3600

    def cabin(self, args: Args) -> Any:
        return self.reservation(args)["cabin"]

    def booked_cabin(self, args: Args) -> Any:
        """Return the cabin before the conversation: nobody upgrades a flight in order to cancel it."""
        return self._db["reservations"][args["reservation_id"]]["cabin"]

    def keeps_route(self, args: Args) -> bool:
        return self.route(args["flights"]) == self.route(self.reservation(args)["flights"])

    def route(self, flights: list[Any]) -> tuple[str, str, str]:
        """Return the origin, the farthest place and the end, of flights that follow each other."""
        legs = [self._db["flights"][each["flight_number"]] for each in flights]
        pairs = list(itertools.pairwise(legs))
        dates = [each["date"] for each in flights]
        if dates != sorted(dates) or any(leg["destination"] != after["origin"] for leg, after in pairs):
            raise LookupError("a flight does not begin where and when the one before ends")
        middle = legs[(len(legs) - 1) // 2]["destination"]
        return legs[0]["origin"], middle, legs[-1]["destination"]

    def keeps_flights(self, args: Args) -> bool:
        old, new = self.reservation(args)["flights"], args["flights"]
        return [(f["flight_number"], f["date"]) for f in old] == [(f["flight_number"], f["date"]) for f in new]

    def difference(self, args: Args) -> float:
        """Return what a change costs the customer."""
        reservation = self.reservation(args)
        if "nonfree_baggages" in args:
            return float(BAG_PRICE * max(0, args["nonfree_baggages"] - reservation["nonfree_baggages"]))
        size = len(reservation["passengers"])
        return float(
            sum(each["price"] for each in self.flights(args)) * size
            - sum(each["price"] for each in reservation["flights"]) * size
        )

    def flights(self, args: Args) -> list[Any]:
        """Return the flights of a changed reservation with their prices: flights that stay keep theirs."""
        old, size = self.reservation(args), len(self.reservation(args)["passengers"])
        prices = {(f["flight_number"], f["date"]): f["price"] for f in old["flights"] if args["cabin"] == old["cabin"]}
        return [
            {**each, "price": prices.get((each["flight_number"], each["date"])) or self.fare(each, args["cabin"], size)}
            for each in args["flights"]
        ]

    def fare(self, flight: Args, cabin: str, size: int) -> float:
        day = self.flight(flight)
        if day["status"] != "available" or day["available_seats"][cabin] < size:
            raise LookupError("no seats")
        return float(day["prices"][cabin])

    def total(self, args: Args) -> float:
        size = len(args["passengers"])
        fares = sum(self.fare(each, args["cabin"], size) for each in args["flights"])
        insurance = INSURANCE_PRICE * (args["insurance"] == "yes")
        return float((fares + insurance) * size + BAG_PRICE * args["nonfree_baggages"])

    def is_covered(self, args: Args) -> bool:
        """Tell whether a card of the customer pays a change: certificates may not."""
        id = args["payment_id"]
        return self.method(id)["source"] != "certificate" and self.has_balance(id, self.difference(args))

    def is_paid(self, args: Args) -> bool:
        """Tell whether methods of the customer pay exactly the price of at most five passengers."""
        methods = args["payment_methods"]
        sources = Counter(self.method(each["payment_id"])["source"] for each in methods)
        return (
            len(args["passengers"]) <= 5
            and sources["certificate"] <= 1
            and sources["credit_card"] <= 1
            and sources["gift_card"] <= 3
            and all(self.has_balance(each["payment_id"], each["amount"]) for each in methods)
            and sum(each["amount"] for each in methods) == self.total(args)
        )

    def is_fee_right(self, args: Args) -> bool:
        """Tell whether exactly the bags above the allowance cost money, and none is removed."""
        is_new = "passengers" in args
        booked = args if is_new else self.reservation(args)
        free = FREE_BAGS[self.profile["membership"]][booked["cabin"]] * len(booked["passengers"])
        least = 0 if is_new else booked["total_baggages"]
        bags = args["total_baggages"]
        return bool(bags >= least and args["nonfree_baggages"] == max(0, bags - free))

    def has_balance(self, id: str, price: float) -> bool:
        return float(self.method(id).get("amount", price)) >= price

    def charge(self, id: str, price: float) -> None:
        if "amount" in (method := self.method(id)):
            method["amount"] -= price

    def _cancel_reservation(self, args: Args) -> None:
        self.reservation(args)["status"] = "cancelled"

    def _update_reservation_flights(self, args: Args) -> None:
        self.charge(args["payment_id"], self.difference(args))
        self.reservation(args).update(flights=self.flights(args), cabin=args["cabin"])

    def _update_reservation_baggages(self, args: Args) -> None:
        self.charge(args["payment_id"], self.difference(args))
        self.reservation(args).update(total_baggages=args["total_baggages"], nonfree_baggages=args["nonfree_baggages"])


SHOPS: dict[str, type[Shop]] = {"retail": Retail, "airline": Airline}
