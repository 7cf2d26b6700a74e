"""The database queries of the assistants, as handlers of their infos."""

from __future__ import annotations

import json
from datetime import date

from pydantic import TypeAdapter

from ringi.base import JsonObject
from ringi.demo.data import package_toml
from ringi.errors import InvalidError
from ringi_apps.assistant import InfoHandler
from ringi_apps.assistant.demo.office import Office, TableRow

HANDLERS = TypeAdapter(tuple[InfoHandler, ...])
MOST = 50
QUALIFIED = ("qualified", "proposal", "won")

PROJECTS = """
SELECT id, name_en, name_ja, status, owner, starts_on, due_on, budget, spent,
  (SELECT count(*) FROM milestones WHERE project = projects.id) AS milestones,
  (SELECT count(*) FROM milestones WHERE project = projects.id AND status = 'done') AS done,
  (SELECT count(*) FROM milestones WHERE project = projects.id AND status IN ('late', 'blocked')) AS in_trouble
FROM projects WHERE :status IS NULL OR status = :status ORDER BY id LIMIT :limit
"""
PERSON = """
SELECT id, name_en, name_ja, role_en, role_ja, team, language, preferences,
  weekly_hours - booked_hours AS free_hours FROM people WHERE id = :id
"""
FREE = """
SELECT id, name_en, name_ja, team, weekly_hours - booked_hours AS free_hours FROM people
WHERE :team IS NULL AND team <> 'sales' OR team = :team ORDER BY free_hours DESC, id
"""
SALES_BY_MONTH = """
SELECT month, sum(target) AS target, sum(amount) AS amount FROM sales
WHERE month BETWEEN :first AND :last GROUP BY month ORDER BY month
"""
SALES_BY_PERSON = """
SELECT person AS id, name_en, name_ja, sum(amount) AS amount FROM sales JOIN people ON people.id = person
WHERE month BETWEEN :first AND :last GROUP BY person ORDER BY amount DESC LIMIT 3
"""
TRENDS = """
SELECT id, noted_on, industry, region, direction, title_en, title_ja, note_en, note_ja FROM market_notes
WHERE (:industry IS NULL OR industry = :industry) AND (:region IS NULL OR region = :region)
ORDER BY noted_on DESC LIMIT 10
"""
LEADS = """
SELECT leads.id, company_en, company_ja, industry, region, stage, value, owner, name_en AS owner_name_en,
  name_ja AS owner_name_ja, contacts, last_contact_on, note_en, note_ja
FROM leads JOIN people ON people.id = owner WHERE :stage IS NULL OR stage = :stage ORDER BY value DESC, leads.id
"""
FEEDBACK = """
SELECT id, received_on, topic, score, said_en, said_ja FROM customer_feedback ORDER BY received_on DESC, id
"""
INDUSTRIES = "SELECT DISTINCT industry FROM leads ORDER BY industry"
INDUSTRY_NAMES = package_toml("ringi_apps.assistant.demo", "speakers.toml")["industries"]


class Lookups:
    """The queries of the handlers."""

    def __init__(self, office: Office) -> None:
        self._office = office

    async def projects(self, params: JsonObject) -> list[TableRow]:
        """Return projects with their state: those of a `status`, at most `limit`."""
        limit = whole(params, "limit", MOST)
        found = await self._office.read(PROJECTS, {"status": params.get("status"), "limit": limit})
        return [each | {"progress": percent(each["done"], each["milestones"])} for each in found]

    async def person(self, params: JsonObject) -> TableRow:
        """Return a person with their preferences."""
        found = await self._office.read(PERSON, {"id": params["userId"]})
        if not found:
            raise InvalidError.of("userId", f"there is nobody {params['userId']!r}: give an id such as 'user-001'")
        return found[0] | {"preferences": json.loads(found[0]["preferences"])}

    async def free(self, params: JsonObject) -> list[TableRow]:
        """Return the free hours per week of a `team`, or of everybody but sales."""
        return await self._office.read(FREE, {"team": params.get("team")})

    async def sales(self, params: JsonObject) -> TableRow:
        """Return sales and target in the months from `startDate` to `endDate`."""
        span = {"first": month(params, "startDate"), "last": month(params, "endDate")}
        months = await self._office.read(SALES_BY_MONTH, span)
        target, amount = (sum(each[name] for each in months) for name in ("target", "amount"))
        best = await self._office.read(SALES_BY_PERSON, span)
        period = {"start": params["startDate"], "end": params["endDate"]}
        rate = percent(amount, target)
        return {**period, "target": target, "amount": amount, "rate": rate, "months": months, "top_performers": best}

    async def trends(self, params: JsonObject) -> list[TableRow]:
        """Return the newest notes on the market: of an `industry`, of a `region`."""
        return await self._office.read(TRENDS, {name: params.get(name) for name in ("industry", "region")})

    async def leads(self, params: JsonObject) -> TableRow:
        """Return the status of the leads, and the twenty most valuable open ones."""
        found = await self._office.read(LEADS, {"stage": params.get("stage")})
        qualified = [each for each in found if each["stage"] in QUALIFIED]
        still_open = [each for each in found if each["stage"] not in ("won", "lost")]
        return {
            "total_leads": len(found),
            "qualified_leads": len(qualified),
            "conversion_rate": percent(len(qualified), len(found)),
            "average_deal": round(sum(each["value"] for each in found) / len(found)) if found else 0,
            "leads": still_open[:20],
        }

    async def lead_choices(self, params: JsonObject) -> list[TableRow]:
        """Return the leads to choose from, the most valuable first."""
        found = await self._office.read(LEADS, {"stage": params.get("stage")})
        return [each | {"name": each["company"]} for each in found if each["stage"] not in ("won", "lost")]

    async def feedback(self, params: JsonObject) -> TableRow:
        """Return the scores of customers by topic, and their newest comments."""
        found = await self._office.read(FEEDBACK)
        topics = sorted({each["topic"] for each in found})
        scores = {topic: mean([each["score"] for each in found if each["topic"] == topic]) for topic in topics}
        average = mean([each["score"] for each in found])
        return {"count": len(found), "average_score": average, "by_topic": scores, "latest": found[:5]}

    async def industries(self, params: JsonObject) -> list[TableRow]:
        """Return the industries of the leads."""
        found = await self._office.read(INDUSTRIES)
        return [
            {"id": each["industry"], "name": INDUSTRY_NAMES.get(each["industry"], each["industry"])} for each in found
        ]


def mean(scores: list[int]) -> float:
    """Return the mean of scores, to one digit."""
    return round(sum(scores) / len(scores), 1) if scores else 0.0


def percent(part: int, whole: int) -> int:
    """Return a part in percent."""
    return round(100 * part / whole) if whole else 0


def whole(params: JsonObject, name: str, otherwise: int) -> int:
    """Return a positive number from the parameters, at most `otherwise`, which is the default."""
    number = params.get(name, otherwise)
    if type(number) is not int or number < 1:
        raise InvalidError.of(name, f"{number!r} is not a number of rows: pass one from 1 to {otherwise}")
    return min(number, otherwise)


def month(params: JsonObject, name: str) -> str:
    """Return the month of a date in the parameters."""
    try:
        return date.fromisoformat(params[name]).isoformat()[:7]
    except (TypeError, ValueError) as error:
        raise InvalidError.of(name, f"{params[name]!r} is not a date: pass one such as '2026-10-31'") from error


def info_handlers(assistant: str, lookups: Lookups) -> tuple[InfoHandler, ...]:
    """Return the handlers of an assistant; the `handler` of each in `assistants.toml` is a query of `lookups`."""
    defined = package_toml("ringi_apps.assistant.demo", "assistants.toml")[assistant].get("handlers", ())
    return HANDLERS.validate_python([{**each, "handler": getattr(lookups, each["handler"])} for each in defined])
