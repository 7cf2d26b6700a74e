"""The office of the example assistants: a real database, and the handlers that look things up in it."""

from __future__ import annotations

import asyncio
import multiprocessing
from pathlib import Path
from typing import Any

import pytest

from ringi.connect import home_folder
from ringi.demo.data import package_toml
from ringi.errors import InvalidError
from ringi_apps.assistant import InfoHandler
from ringi_apps.assistant.demo.lookups import INDUSTRY_NAMES, Lookups, info_handlers
from ringi_apps.assistant.demo.office import Office


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return Office(tmp_path / "office.db")


@pytest.fixture
def lookups(office: Office) -> Lookups:
    return Lookups(office)


async def counted(office: Office, table: str) -> int:
    return int((await office.read(f"SELECT count(*) AS rows FROM {table}"))[0]["rows"])


async def test_the_office_has_some_hundred_rows_in_two_languages(office: Office) -> None:
    tables = ["people", "projects", "milestones", "leads", "tasks", "sales", "market_notes", "customer_feedback", "faq"]
    assert sum([await counted(office, table) for table in tables]) > 250
    texts = await office.read("SELECT title_en, title_ja FROM texts")
    assert all(row["title"]["en"] and row["title"]["ja"] for row in texts)


async def test_the_office_is_made_in_the_home_folder_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RINGI_HOME", str(tmp_path / "home"))
    await Office().do(lambda connection: connection.execute("DELETE FROM tasks WHERE id = 1"))
    before = await counted(Office(), "tasks")
    assert home_folder() / "office.db" == tmp_path / "home" / "office.db"
    assert (home_folder() / "office.db").exists()
    assert await counted(Office(), "tasks") == before


def counted_elsewhere(path: str) -> int:
    return asyncio.run(counted(Office(Path(path)), "projects"))


def test_processes_that_come_first_together_make_one_office(tmp_path: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        counts = pool.map(counted_elsewhere, [str(tmp_path / "office.db")] * 6, chunksize=1)
    assert counts == [12] * 6


async def test_projects_are_fetched_with_their_progress(lookups: Lookups) -> None:
    projects = await lookups.projects({})
    assert len(projects) == 12
    assert projects[0]["name"] == {"en": "Website relaunch", "ja": "Webサイトリニューアル"}
    assert 0 < projects[0]["progress"] < 100
    active = await lookups.projects({"status": "active", "limit": 2})
    assert [project["status"] for project in active] == ["active", "active"]


async def test_a_person_is_fetched_with_their_preferences(lookups: Lookups) -> None:
    person = await lookups.person({"userId": "user-001"})
    assert (person["name"]["ja"], person["preferences"]["priority"]) == ("田中 愛子", "quality")


async def test_sales_are_summed_up_over_the_months_asked_for(lookups: Lookups) -> None:
    year = await lookups.sales({"startDate": "2025-11-01", "endDate": "2026-10-31"})
    month = await lookups.sales({"startDate": "2026-10-01", "endDate": "2026-10-31"})
    assert (len(year["months"]), len(month["months"])) == (12, 1)
    assert year["amount"] == sum(each["amount"] for each in year["months"]) > month["amount"] > 0
    assert [person["name"]["ja"][:2] for person in year["top_performers"]] == ["田中", "佐藤", "鈴木"]


async def test_market_trends_are_those_of_an_industry_and_a_region(lookups: Lookups) -> None:
    everything = await lookups.trends({})
    food = await lookups.trends({"industry": "food"})
    assert everything[0]["noted_on"] == max(note["noted_on"] for note in everything)
    assert {note["industry"] for note in food} == {"food"}
    assert await lookups.trends({"industry": "food", "region": "chubu"}) == []


async def test_leads_feedback_and_free_hours_are_fetched(lookups: Lookups) -> None:
    leads, feedback, free = await lookups.leads({}), await lookups.feedback({}), await lookups.free({})
    assert (leads["total_leads"], len(leads["leads"])) == (60, 20)
    assert 0 < leads["qualified_leads"] < 60
    assert 1 <= feedback["average_score"] <= 5
    assert free[0]["free_hours"] >= free[-1]["free_hours"]
    assert "sales" not in {person["team"] for person in free}
    assert {person["team"] for person in await lookups.free({"team": "sales"})} == {"sales"}


def handlers_of(lookups: Lookups) -> dict[str, InfoHandler]:
    return {each.name: each for name in ("projects", "sales") for each in info_handlers(name, lookups)}


async def test_people_can_focus_on_each_industry_with_leads(lookups: Lookups) -> None:
    """The definition of the info repeats the industries that the script and the database have."""
    infos = package_toml("ringi_apps.assistant.demo", "assistants.toml")["sales"]["infos"]
    offered = next(each["schema"]["enum"] for each in infos if each["key"] == "focus_industry")
    assert set(offered) == {each["id"] for each in await lookups.industries({})}
    assert offered == list(INDUSTRY_NAMES)


@pytest.mark.parametrize(
    ("name", "params", "field"),
    [
        ("fetch_user_info", {"userId": "user-999"}, "userId"),
        ("fetch_projects", {"limit": 0}, "limit"),
        ("fetch_sales_performance", {"startDate": "soon", "endDate": "2026-10-31"}, "startDate"),
    ],
)
async def test_a_parameter_that_means_nothing_is_named(
    lookups: Lookups, name: str, params: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidError, match=field):
        await handlers_of(lookups)[name].handler(params)


def test_the_four_handlers_are_kept_and_called_as_they_were_asked_for(lookups: Lookups) -> None:
    handlers = handlers_of(lookups)
    declarations = {
        name: (handlers[name].cache_duration, handlers[name].required_params)
        for name in ("fetch_projects", "fetch_user_info", "fetch_sales_performance", "fetch_market_trends")
    }
    assert declarations == {
        "fetch_projects": (300, ()),
        "fetch_user_info": (600, ("userId",)),
        "fetch_sales_performance": (1800, ("startDate", "endDate")),
        "fetch_market_trends": (3600, ()),
    }
