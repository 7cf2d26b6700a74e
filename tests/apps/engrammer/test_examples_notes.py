"""The notes of the example: a real database on woodworking, in three languages, and what is to be learned from them."""

from __future__ import annotations

import asyncio
import multiprocessing
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ringi_apps.engrammer import demo
from ringi_apps.engrammer.demo.woodworking import WoodworkingNotes
from ringi_apps.engrammer.notes import FolderNotes, Notes

FOLDER = Path(demo.__file__).parent / "notes"


@pytest.fixture
def craft(tmp_path: Path) -> WoodworkingNotes:
    return WoodworkingNotes(tmp_path / "woodworking.db")


async def rows(craft: WoodworkingNotes, path: Path) -> list[tuple[str, str, str, str]]:
    await craft.search("glue", 1)
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT id, language, topic, title FROM notes ORDER BY id").fetchall()


async def test_there_are_notes_on_every_topic_in_three_languages(craft: WoodworkingNotes, tmp_path: Path) -> None:
    found = await rows(craft, tmp_path / "woodworking.db")
    by_language = {language: {id for id, each, _, _ in found if each == language} for language in ("en", "ja", "zh")}
    assert [len(ids) for ids in by_language.values()] >= [60, 15, 11]
    assert {topic for _, _, topic, _ in found} == {"joints", "glue", "clamps", "wood", "finishes", "safety"}
    for language in ("ja", "zh"):
        assert all(id.endswith(f"-{language}") for id in by_language[language])


async def test_every_note_is_found_by_its_title_and_read_by_its_id(craft: WoodworkingNotes, tmp_path: Path) -> None:
    for id, language, _, title in await rows(craft, tmp_path / "woodworking.db"):
        assert id in [each.id for each in await craft.search(title, 3)], title
        note = await craft.get(id)
        assert (note.title, note.source, note.more["language"]) == (title, "woodworking_db", language)


QUESTIONS = {
    "How long do I leave the clamps on?": "clamp-003",
    "What finish do I take for a cutting board?": "finish-008",
    "How do I attach a solid wood table top?": "wood-004",
    "クランプはいつ外せますか?": "clamp-003-ja",
    "木口はどうやって接着しますか?": "joint-012-ja",
    "寒い日に接着しても大丈夫ですか?": "glue-009-ja",
    "夹具要夹多久？": "clamp-003-zh",
    "实木桌面怎么固定？": "wood-004-zh",
    "低温下能用白乳胶吗？": "glue-009-zh",
}


@pytest.mark.parametrize("question", QUESTIONS)
async def test_a_question_finds_the_note_that_answers_it_first(craft: WoodworkingNotes, question: str) -> None:
    assert (await craft.search(question, 3))[0].id == QUESTIONS[question]


async def test_the_database_is_made_in_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RINGI_HOME", str(tmp_path / "home"))
    assert (await WoodworkingNotes().get("joint-012")).title == "Gluing end grain"
    assert (tmp_path / "home" / "woodworking.db").exists()


def left_in(folder: Path) -> list[str]:
    return [each.name for each in folder.iterdir()]


@pytest.mark.parametrize("content", [b"", b"no database, but words " * 99])
async def test_what_an_older_version_or_an_accident_left_is_replaced(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "woodworking.db"
    path.write_bytes(content)
    assert await WoodworkingNotes(path).search("clamps", 1)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE notes SET title = 'old'")
        connection.execute("PRAGMA user_version = 1")
    assert (await WoodworkingNotes(path).get("joint-012")).title == "Gluing end grain"
    assert left_in(tmp_path) == ["woodworking.db"]


async def test_the_database_is_made_once(craft: WoodworkingNotes, tmp_path: Path) -> None:
    await craft.get("joint-012")
    before = (tmp_path / "woodworking.db").stat()
    await craft.search("clamps", 5)
    after = (tmp_path / "woodworking.db").stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def title_elsewhere(path: str) -> str:
    return asyncio.run(WoodworkingNotes(Path(path)).get("joint-012")).title


def test_processes_that_come_first_together_all_find_the_whole_database(tmp_path: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        titles = pool.map(title_elsewhere, [str(tmp_path / "woodworking.db")] * 4, chunksize=1)
    assert titles == ["Gluing end grain"] * 4


async def test_the_local_notes_are_files_beside_the_example() -> None:
    local = FolderNotes("local_db", FOLDER)
    assert len(list(FOLDER.glob("*.md"))) >= 5
    for file in FOLDER.glob("*.md"):
        assert (await local.get(file.stem)).title
    assert (await local.search("forum clamp tips", 1))[0].id == "forum-clamps"


async def test_what_a_lesson_quotes_stands_in_its_note_letter_by_letter(craft: WoodworkingNotes) -> None:
    from ringi_apps.engrammer.demo.reflector import lessons

    notes = Notes(craft, FolderNotes("local_db", FOLDER))
    assert {lesson.type for lesson in lessons().values()} == {"new_strategy", "error_pattern"}
    for lesson in lessons().values():
        assert lesson.refines is None or lesson.refines in lessons()
        assert lesson.text.keys() == lesson.notes.keys() == lesson.why.keys() == lesson.quotes.keys()
        for language, name in lesson.notes.items():
            note = await notes.get(*name.split("/"))
            assert all(quote in note.content for quote in lesson.quotes[language]), (lesson.name, language)
