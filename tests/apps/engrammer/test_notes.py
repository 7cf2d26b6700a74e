"""What an Engrammer looks up: in a folder, in a SQLite file, by name."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ringi.base.canonical_json import jsonable
from ringi.base.settings import SettingError
from ringi.errors import NotFoundError
from ringi_apps.engrammer.note_search import search_terms
from ringi_apps.engrammer.notes import (
    NOTE_ERRORS,
    NOTES_SCHEMA,
    FolderNotes,
    NoteNotFoundError,
    Notes,
    NoteSource,
    NotesUnreadableError,
    SqliteNotes,
)

TEXTS = {
    "glue": "# Hide glue\n\nHide glue sets as it cools. Clamp the joint for an hour, and sand it the next day.",
    "grain": "# End grain\n\nEnd grain drinks glue: size it first with thinned glue.",
    "koguchi": "# 木口の接着\n\n木口は接着剤を吸うので、薄めて目止めをします。ほぞは緩くしません。クランプは一時間。",
    "hanshui": "# 木材含水率\n\n室内家具用木材的含水率以百分之八到十二为宜。",
    "nikawa": "# 古い接合\n\n膠は熱で外せる。",
    "oil": "# Rags\n\nRags with linseed oil catch fire by themselves: dry them flat, outdoors.",
}
QUERIES = [
    ("How long must HIDE glue be clamped?", "glue"),
    ("gluing end grains", "grain"),
    ("oily rags: are they dangerous?", "oil"),
    ("木口を接着するには?", "koguchi"),
    ("ほぞのきつさ", "koguchi"),
    ("クランプ", "koguchi"),
    ("ｸﾗﾝﾌﾟ", "koguchi"),
    ("木材的含水率应该是多少？", "hanshui"),
    ("膠は?", "nikawa"),
]
Made = Callable[[dict[str, str]], NoteSource]


def folder(tmp_path: Path, texts: dict[str, str]) -> FolderNotes:
    notes = tmp_path / "notes"
    notes.mkdir(exist_ok=True)
    for id, text in texts.items():
        (notes / f"{id}.md").write_text(text, "utf-8")
    return FolderNotes("local_db", notes)


def file(tmp_path: Path, texts: dict[str, str]) -> SqliteNotes:
    path = tmp_path / "with space & 木.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(NOTES_SCHEMA)
        for id, text in texts.items():
            title, _, content = text.removeprefix("# ").partition("\n\n")
            connection.execute("INSERT INTO notes (id, title, content) VALUES (?, ?, ?)", (id, title, content))
    return SqliteNotes("wood_db", path, "Wood")


@pytest.fixture(params=[folder, file])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Made:
    return lambda texts: request.param(tmp_path, texts)


@pytest.mark.parametrize(("query", "best"), QUERIES)
async def test_a_note_is_found_by_words_of_its_own_language(source: Made, query: str, best: str) -> None:
    assert (await source(TEXTS).search(query, 5))[0].id == best


@pytest.mark.parametrize(
    "query", ["", "?!", "how do you do this", "どうですか", "zebra", '"', "' OR 1=1 --", "%", "NEAR(x"]
)
async def test_a_query_that_is_in_no_note_finds_none(source: Made, query: str) -> None:
    assert await source(TEXTS).search(query, 5) == []


async def test_a_note_says_where_it_is_from_and_when(source: Made) -> None:
    made = source(TEXTS)
    note = await made.get("koguchi")
    assert (note.id, note.type, note.title, note.source) == ("koguchi", "text", "木口の接着", made.name)
    assert "薄めて目止め" in note.content
    assert note.created_at.tzinfo is UTC
    assert jsonable(note)["createdAt"].startswith(str(note.created_at.year))


@pytest.mark.parametrize("id", ["absent", "", "../secret", "/etc/passwd", "a\0b", "glue.md", "x" * 5_000, "%"])
async def test_a_missing_note_is_told_by_its_source_and_id(source: Made, id: str, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("# Secret")
    made = source(TEXTS)
    with pytest.raises(NoteNotFoundError) as raised:
        await made.get(id)
    assert isinstance(raised.value, NotFoundError)
    assert repr(id) in str(raised.value)
    assert repr(made.name) in str(raised.value)


async def test_an_excerpt_shows_the_place_that_fits(source: Made) -> None:
    long = f"# Long\n\n{'Nothing of interest. ' * 40}A dovetail is cut here. {'And nothing again. ' * 40}"
    (found,) = await source({"long": long}).search("dovetails", 5)
    assert "A dovetail is cut here" in found.excerpt
    assert found.excerpt.startswith("…")
    assert found.excerpt.endswith("…")
    assert len(found.excerpt) < 300


async def test_a_search_gives_no_more_than_it_is_asked_for(source: Made) -> None:
    many = {f"n{number:03}": f"# Note {number}\n\nabout glue" for number in range(40)}
    made = source(many)
    assert [each.id for each in await made.search("glue", 3)] == ["n000", "n001", "n002"]
    assert len(await Notes(made).search(made.name, "glue", 1_000)) == 20
    assert len(await Notes(made).search(made.name, "glue", -1)) == 1


async def test_a_word_that_few_notes_have_counts_more_than_one_that_many_have(source: Made) -> None:
    common = {f"c{number}": f"# Glue {number}\n\nglue, glue and more glue" for number in range(9)}
    made = source(common | {"rare": "# Old ways\n\nUrea resin is a glue of old."})
    assert (await made.search("urea glue", 1))[0].id == "rare"


async def test_a_link_that_leaves_the_folder_is_no_note(tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("# Secret\n\nglue")
    notes = folder(tmp_path, {"glue": TEXTS["glue"]})
    (tmp_path / "notes" / "linked.md").symlink_to(tmp_path / "secret.md")
    with pytest.raises(NoteNotFoundError):
        await notes.get("linked")
    assert [each.id for each in await notes.search("glue", 5)] == ["glue"]


async def test_a_folder_is_read_anew_each_time(tmp_path: Path) -> None:
    notes = folder(tmp_path, {})
    assert await notes.search("glue", 5) == []
    folder(tmp_path, TEXTS)
    assert (await notes.get("glue")).title == "Hide glue"


async def test_a_file_without_a_heading_is_called_by_its_name(tmp_path: Path) -> None:
    assert (await folder(tmp_path, {"plain": "only words"}).get("plain")).title == "plain"


async def test_what_cannot_be_read_says_so_and_not_that_nothing_was_found(tmp_path: Path) -> None:
    empty, text, broken = tmp_path / "empty.db", tmp_path / "text.db", tmp_path / "broken"
    empty.touch()
    text.write_text("no database at all, but long enough to look at" * 30)
    broken.mkdir()
    (broken / "x.md").write_bytes(b"\xff\xfe\x00")
    unreadable: list[NoteSource] = [
        SqliteNotes("gone", tmp_path / "gone.db"),
        SqliteNotes("empty", empty),
        SqliteNotes("text", text),
        FolderNotes("gone", tmp_path / "gone"),
        FolderNotes("broken", broken),
    ]
    for source in unreadable:
        for work in (source.search("木口の glue", 5), source.get("x")):
            with pytest.raises(NOTE_ERRORS, match=f"notes of '{source.name}' cannot be read"):
                await work
    assert not (tmp_path / "gone.db").exists()


async def test_a_row_that_is_no_note_is_told_by_its_id_and_column(tmp_path: Path) -> None:
    path = tmp_path / "odd.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(NOTES_SCHEMA)
        connection.execute("INSERT INTO notes VALUES ('odd', 'Odd', 'text', 'yesterday')")
    with pytest.raises(NotesUnreadableError, match="note 'odd' has no usable created"):
        await SqliteNotes("odd", path).get("odd")


async def test_more_columns_of_a_database_come_with_its_notes(tmp_path: Path) -> None:
    path = tmp_path / "more.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(NOTES_SCHEMA)
        connection.execute("ALTER TABLE notes ADD COLUMN language TEXT")
        connection.execute("INSERT INTO notes VALUES ('n', 'N', 'text', '2026-02-01T09:00:00Z', 'en')")
    note = await SqliteNotes("more", path).get("n")
    assert (note.more, note.created_at) == ({"language": "en"}, datetime(2026, 2, 1, 9, tzinfo=UTC))


async def test_notes_that_change_in_a_database_are_found_as_they_are_now(tmp_path: Path) -> None:
    notes = file(tmp_path, TEXTS)
    with closing(sqlite3.connect(tmp_path / "with space & 木.db")) as connection, connection:
        connection.execute("UPDATE notes SET content = 'Bone glue.' WHERE id = 'glue'")
        connection.execute("DELETE FROM notes WHERE id = 'grain'")
    assert [each.id for each in await notes.search("bone", 5)] == ["glue"]
    assert await notes.search("size thinned", 5) == []


async def test_reading_leaves_the_database_as_it_is_and_other_work_going_on(tmp_path: Path) -> None:
    notes = file(tmp_path, {f"n{number}": "x" * 2_000 + f" glue {number}" for number in range(500)})
    path = tmp_path / "with space & 木.db"
    before, turns = path.read_bytes(), 0
    search = asyncio.create_task(notes.search("glue 木口", 5))
    while not search.done():
        turns += 1
        await asyncio.sleep(0)  # noqa: TID251
    assert len(search.result()) == 5
    assert turns > 1
    assert path.read_bytes() == before


async def test_a_registry_finds_by_source_and_names_those_it_has(tmp_path: Path) -> None:
    notes = Notes(folder(tmp_path, TEXTS), file(tmp_path, TEXTS))
    assert notes.names == ("local_db", "wood_db")
    assert notes.titles == {"local_db": "local_db", "wood_db": "Wood"}
    assert (await notes.get("wood_db", "oil")).source == "wood_db"
    with pytest.raises(NotFoundError, match=r"'books': choose one of local_db, wood_db$"):
        await notes.get("books", "oil")
    with pytest.raises(NotFoundError):
        await notes.search("books", "oil")


def test_two_sources_of_one_name_and_a_second_playbook_are_refused(tmp_path: Path) -> None:
    for name in ("same", "playbook", ""):
        sources = [FolderNotes(name, tmp_path), FolderNotes(name, tmp_path)]
        with pytest.raises(SettingError, match=f"notes={name!r}"):
            Notes(*sources)


def test_a_query_of_any_length_has_few_terms() -> None:
    assert len(search_terms(" ".join(f"word{number}" for number in range(10_000)))) <= 40
    assert search_terms("The joints, the JOINT and jointing") == ("joint",)
