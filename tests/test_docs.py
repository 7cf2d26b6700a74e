"""Every block of the README and the docs runs, every link has a target, every public name is described."""

from __future__ import annotations

import ast
import inspect
import re
import tomllib
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from playwright.async_api import Page
from scripts import docs, reference
from tests.pages import ROOT, WRITTEN_DATABASE, WRITTEN_NEW_DATABASE, WRITTEN_REDIS, PageError, Part, Reader, parts_of

import ringi
from ringi.base import settings
from ringi.domain.ask import Ask
from ringi.runs import agui_events, stream_writer
from ringi.server import problems, schemas
from ringi.server.sse import event_hub

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
DECISIONS = [page for page in sorted((ROOT / "docs/decisions").glob("*.md")) if page.name != "index.md"]
ENTRIES = [
    (page.name, entry.splitlines()[0].removeprefix("## "), entry)
    for page in DECISIONS
    for entry in re.split(r"\n\n(?=## )", page.read_text("utf-8"))[1:]
]
ENTRY_NAMES = [f"{page}: {title}" for page, title, _ in ENTRIES]
PITFALL = re.compile(r"(?m)^\| (\d+) \|.*\| ([^|]+) \|$")
PITFALL_TEST = r"def test_pitfall_{}_(here_)?"
RUNNING = [page for page in PAGES if any(part.kind != "text" for part in parts_of(page.read_text("utf-8")))]


def named(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.fixture
def reader(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Reader]:
    def database() -> str:
        server, name = request.getfixturevalue("postgres_url"), f"docs{uuid.uuid4().hex}"
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        return str(urlsplit(server)._replace(path=f"/{name}").geturl())

    def redis() -> str:
        return f"{request.getfixturevalue('durable_redis_url')}?prefix=docs{uuid.uuid4().hex}"

    folder, shims = tmp_path / "page", tmp_path / "shims"
    folder.mkdir()
    shims.mkdir()
    databases = {WRITTEN_DATABASE: database, WRITTEN_NEW_DATABASE: database}
    with Reader(folder, shims, {**databases, WRITTEN_REDIS: redis}) as reader:
        yield reader


@pytest.mark.timeout(300)
@pytest.mark.parametrize("page", RUNNING, ids=named)
def test_a_reader_can_work_through_the_page(page: Path, reader: Reader) -> None:
    reader.work_through(parts_of(page.read_text("utf-8")))


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_next_to_nothing_on_a_page_is_left_unrun(page: Path) -> None:
    parts = parts_of(page.read_text("utf-8"))

    assert {part.kind for part in parts} <= {
        "python", "bash", "console", "json", "javascript", "text", "another terminal", "ctrl-c", "meanwhile", "until",
    }  # fmt: skip
    assert len([part for part in parts if part.kind == "text"]) <= 1
    assert [part.line for part in parts if part.kind in ("json", "javascript") and not part.title] == []


def test_no_command_for_cron_has_a_percent_sign() -> None:
    lines = [line for page in PAGES for line in page.read_text("utf-8").splitlines()]
    commands = [line for line in lines if re.match(r"(?:[\d*/,-]+ ){5}\S", line)]
    assert commands
    # cron would end the command there.
    assert [line for line in commands if "%" in line] == []
    assert [line for line in lines if re.search(r"\bcron run `[^`]*%", line)] == []


def test_each_pitfall_of_langgraph_is_shown_by_tests_of_both_sides_where_the_page_says() -> None:
    page = (ROOT / "docs" / "explanation" / "langgraph-pitfalls.md").read_text("utf-8")
    rows = {int(number): re.findall(r"`(tests/\S+)`", files) for number, files in PITFALL.findall(page)}

    assert list(rows) == list(range(1, 20))
    for number, files in rows.items():
        found = [re.findall(PITFALL_TEST.format(number), (ROOT / file).read_text("utf-8")) for file in files]
        assert {side for sides in found for side in sides} == {"", "here_"}, number


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_what_a_page_saves_is_used_further_down(page: Path) -> None:
    parts = parts_of(page.read_text("utf-8"))
    unused = [
        part.title
        for number, part in enumerate(parts)
        if part.title and not any(Path(part.title).stem in later.body for later in parts[number + 1 :])
    ]

    assert unused == []


def test_the_links_of_the_readme_lead_somewhere() -> None:
    links = re.findall(r"\]\((?!https?://|#)([^)#]+)", (ROOT / "README.md").read_text("utf-8"))

    assert [link for link in links if not (ROOT / link).exists()] == []


def test_the_readme_is_short_and_names_the_cookbook_first() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    where = readme.partition("## Where to read on")[2]

    assert len(readme.split()) <= 900
    assert re.findall(r"\]\((\S+)\)", where)[0] == "docs/cookbook.md"


def text_of(name: str) -> str:
    return (docs.DOCS / name).read_text("utf-8")


def leaves(nav: Any) -> list[str]:
    """Return the pages that a navigation names."""
    if isinstance(nav, str):
        return [nav]
    return [leaf for part in (nav.values() if isinstance(nav, dict) else nav) for leaf in leaves(part)]


def test_every_page_stands_in_the_navigation_once() -> None:
    nav = tomllib.loads((ROOT / "zensical.toml").read_text())["project"]["nav"]

    assert sorted(leaves(nav)) == sorted(path.relative_to(docs.DOCS).as_posix() for path in docs.DOCS.rglob("*.md"))


def test_the_index_links_every_how_to_and_the_cookbook_comes_first() -> None:
    how_to, links = docs.DOCS / "how-to", re.findall(r"\]\(([\w/-]+\.md)\)", text_of("index.md"))

    assert links[0] == "cookbook.md"
    assert sorted(link for link in links if link.startswith("how-to/")) == [
        f"how-to/{page.name}" for page in sorted(how_to.glob("*.md"))
    ]


def test_every_decision_stands_in_the_index_once() -> None:
    links = re.findall(r"(?m)^- \[(.+)\]\((\S+\.md)#\S+\)$", text_of("decisions/index.md"))

    assert sorted(links) == sorted((title, page) for page, title, _ in ENTRIES)
    assert len(set(ENTRY_NAMES)) == len(ENTRIES)


@pytest.mark.parametrize("entry", [text for _, _, text in ENTRIES], ids=ENTRY_NAMES)
def test_a_decision_has_its_date_and_parts_in_200_words(entry: str) -> None:
    title, date, *parts = entry.split("\n\n")

    assert re.fullmatch(r"## .+", title)
    assert re.fullmatch(r"20\d\d-[01]\d-[0-3]\d", date)
    assert parts[0].startswith("**Context.** ")
    assert re.findall(r"(?m)^\*\*(.+?)\*\* \S", entry) == ["Context.", "Decision.", "Consequence."]
    assert len(entry.split()) <= 200


def test_every_variable_is_described() -> None:
    names = r"RINGI_[A-Z]+(?:_[A-Z]+)*"
    sources = "".join(path.read_text("utf-8") for path in (ROOT / "src").rglob("*.py"))

    # A setting's name is made of its field, so the sources do not have each of them whole.
    wanted = set(re.findall(names, sources)) | (set(settings.KNOWN) - {f"RINGI_{name}" for name in settings.CONTAINER})
    assert set(re.findall(names, text_of("reference/settings.md"))) == wanted


def test_every_event_of_both_streams_is_described() -> None:
    page = text_of("reference/events.md")
    source = inspect.getsource(stream_writer) + inspect.getsource(agui_events)
    types = set(re.findall(r'"type": "([A-Z_]+)"', source))

    assert set(re.findall(r"^\| `(request\.\w+)`", page, re.M)) == event_hub.NAMES
    assert set(re.findall(r"`([A-Z]+_[A-Z_]+|CUSTOM)`", page)) == types


def test_every_field_of_a_request_is_described() -> None:
    section, heading, _ = text_of("reference/http.md").partition("## Order of a list")
    fields = {info.alias or name for model in (schemas.PublicRequest, Ask) for name, info in model.model_fields.items()}

    assert heading
    assert fields - set(re.findall(r"`(\w+)`", section)) == set()


def refusals_in_the_source() -> Iterator[tuple[str, int]]:
    """Yield the code and the status of each refusal."""
    for file in (ROOT / "src").rglob("*.py"):
        for call in ast.walk(ast.parse(file.read_text("utf-8"))):
            match call:
                case ast.Call(func=func, args=[ast.Constant(value=int(status)), ast.Constant(value=str(code)), *_]):
                    if ast.unparse(func) in ("RefusalError", "super().__init__"):
                        yield code, status
                case ast.Call(func=ast.Name(id="PlaybookError"), args=[ast.Constant(value=str(code)), *_]):
                    keywords = {each.arg: each.value for each in call.keywords}
                    yield code, ast.literal_eval(keywords.get("status", ast.Constant(409)))


def test_every_code_of_a_refusal_is_described() -> None:
    described = {(code, status) for code, (status, _) in reference.REFUSALS.items()}
    shared = set(problems.STATUSES.items())

    assert set(refusals_in_the_source()) - shared == described


def test_every_public_name_is_described() -> None:
    page = text_of("reference/python.md") + text_of("reference/agents.md")
    generated = {kind.__name__ for kind in (*reference.FIELDS, *reference.errors_of_ringi())}

    assert [name for name in ringi.__all__ if name not in generated and f"ringi.{name}" not in page] == []


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return docs.build(docs.DOCS, tmp_path_factory.mktemp("stage") / "docs")


@pytest.mark.timeout(180)
def test_the_generated_parts_of_the_reference_are_current(site: Path) -> None:
    stage, pages = site.parent / "docs/reference", sorted((docs.DOCS / "reference").glob("*.md"))

    # Otherwise run `python -m scripts.docs`.
    assert [page.name for page in pages if (stage / page.name).read_text("utf-8") != page.read_text("utf-8")] == []


@pytest.mark.parametrize("page", sorted((docs.DOCS / "reference").glob("*.md")), ids=named)
def test_each_anchor_of_the_reference_is_one_place(page: Path) -> None:
    titles = re.findall(r"(?m)^#+ (.+)$", page.read_text("utf-8"))
    anchors = [docs.anchor_of(title) for title in titles]

    assert [anchor for anchor in anchors if anchors.count(anchor) > 1] == []


@pytest.mark.timeout(180)
async def test_the_built_docs_load_nothing_from_elsewhere(page: Page, site: Path) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    for name in ("index.html", "reference/python.html", "reference/http.html"):
        await page.goto((site / name).as_uri())
        # Not networkidle: Playwright can lose that state for a page that it parses for more than 500 ms.
        await page.evaluate("new Promise((done) => requestIdleCallback(() => setTimeout(done, 500)))")

    assert len(asked) > 3
    assert [url for url in asked if not url.startswith((site.as_uri(), "data:"))] == []


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ("[a page](nowhere.md)", "page does not exist"),
        ("[a place](#nowhere)", "anchor does not exist"),
        ("<!-- generated: api ringi.Nowhere -->\n<!-- end -->", "ringi.Nowhere could not be found"),
        ("<!-- generated: api ringi.Form: nothing -->\n<!-- end -->", "ringi.Form.nothing could not be found"),
    ],
)
def test_a_reference_that_leads_nowhere_fails_the_build(wrong: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/index.md").write_text(f"# A page\n\n{wrong}\n")

    with pytest.raises(docs.DocsError, match=why):
        docs.build(tmp_path / "docs", tmp_path / "stage")


PROMPT = Part(3, "console", "$ echo one; echo two\none\n…\n")


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        ([Part(7, "bash", "false")], "line 7: failed: false"),
        ([Part(7, "python", "assert 1 == 2")], "line 7: .*AssertionError"),
        ([PROMPT._replace(body="$ echo one\ntwo\n")], "line 3: the page says\ntwo"),
        ([Part(1, "another terminal", ""), Part(2, "bash", "exit 3")], "line 2: wanted 'a line'"),
    ],
)
def test_a_page_that_says_what_is_not_so_fails_with_its_line(parts: list[Part], why: str, reader: Reader) -> None:
    with pytest.raises(PageError, match=re.compile(why, re.S)):
        reader.work_through(parts)


def test_a_terminal_keeps_what_was_set_and_any_output_fits_the_dots(reader: Reader) -> None:
    reader.work_through(
        [Part(1, "bash", "NAME=ann"), Part(2, "console", '$ echo "hello $NAME, 稟議"\nhello ann, …'), PROMPT]
    )


def test_another_terminal_goes_on_until_it_is_stopped(reader: Reader) -> None:
    other = Part(2, "console", "$ echo here; read -r LINE < <(sleep 60) || true\nhere\n")
    reader.work_through([Part(1, "another terminal", ""), other, Part(3, "ctrl-c", ""), Part(4, "bash", "true")])


def test_ctrl_c_stops_the_terminal_with_its_command_although_a_newer_one_runs(reader: Reader) -> None:
    serve = "python -u -m http.server --bind 127.0.0.1 8123"
    server = Part(2, "console", f"$ {serve}\nServing HTTP on 127.0.0.1 …\n")
    commands = "echo asked; until [ -e answer ]; do sleep 0.05; done; echo answered"
    newer = Part(4, "console", f"$ {commands}\nasked\nanswered\n")
    elsewhere = Part(1, "another terminal", "")

    stop, again, answer = Part(5, "ctrl-c", "python"), server._replace(line=7), Part(8, "bash", "touch answer")
    reader.work_through([elsewhere, server, elsewhere, newer, stop, elsewhere, again, answer])


def test_ctrl_c_without_a_terminal_to_stop_fails_with_its_line(reader: Reader) -> None:
    with pytest.raises(PageError, match="line 2: no terminal runs 'ringi demo"):
        reader.work_through([Part(2, "ctrl-c", "ringi demo")])


def test_a_marker_names_the_command_to_stop() -> None:
    text = "<!-- ctrl-c -->\n<!-- ctrl-c: ringi demo -->\n"

    assert parts_of(text) == [Part(1, "ctrl-c", ""), Part(2, "ctrl-c", "ringi demo")]


def test_a_block_may_stand_in_a_list() -> None:
    text = '1. Save it:\n\n   ```python title="a.py"\n   if True:\n       pass\n   ```\n'

    assert parts_of(text) == [Part(3, "python", "if True:\n    pass\n", "a.py")]
