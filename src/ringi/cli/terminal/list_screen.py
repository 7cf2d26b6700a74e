"""The screen with the list of open requests."""

from __future__ import annotations

from collections.abc import Awaitable, Iterator

from rich.cells import cell_len, set_cell_size
from textual import on
from textual.app import ComposeResult
from textual.content import Content
from textual.message import Message
from textual.widgets import Footer, Input, OptionList, Static
from textual.widgets.option_list import Option

from ringi.cli.format.output import escape_hidden_characters
from ringi.cli.format.requests import (
    claim_text,
    deadline_text,
    held_answer_text,
    request_about_line,
    request_end_text,
    title_of_request,
)
from ringi.cli.keys import terminal_bindings
from ringi.cli.terminal.inbox_screen import InboxScreen
from ringi.cli.terminal.request_list import COUNTED, RequestList
from ringi.cli.texts import cli_text
from ringi.domain.request import Request

KIND, STATE, MARGINS = 9, 24, 6
"""The width of two columns and of all margins; the title has the rest."""
MARK = "▌"
"""Marks the row of the cursor: a color would not be seen everywhere."""


class RequestTable(OptionList):
    """The rows of the list."""

    BINDINGS = [
        *terminal_bindings("list", {"open": "select"}),
        *terminal_bindings("list", {"next": "cursor_down", "previous": "cursor_up"}, show=False),
        *terminal_bindings("list", {"top": "first", "bottom": "last"}, show=False),
    ]

    class Resized(Message):
        """The rows have another width."""

    def on_resize(self) -> None:
        """Tell the screen, which fits the rows."""
        self.post_message(self.Resized())


class ListScreen(InboxScreen):
    """All open requests, most urgent first; new ones are only counted until the person asks for them."""

    BINDINGS = terminal_bindings("list", {"search": "search", "news": "news"})
    AUTO_FOCUS = "RequestTable"

    def __init__(self, requests: RequestList) -> None:
        super().__init__(requests)
        self.table = RequestTable(id="list", compact=True)
        self.search = Input(placeholder=cli_text("search"), compact=True, id="search")

    def compose(self) -> ComposeResult:
        """Create the widgets."""
        yield Static(id="heading")
        yield self.table
        yield Static(id="empty")
        yield self.search
        yield Static(id="message")
        yield Footer(compact=True)

    def on_mount(self) -> None:
        """Hide the search and update the times every second."""
        self.search.display = False
        self.set_interval(1, self._tick)

    def on_screen_resume(self) -> None:
        """Redraw after another screen closed."""
        self.redraw()

    @property
    def chosen(self) -> Request | None:
        """The request under the cursor."""
        option = self.table.highlighted_option
        return self.requests.listed.get(option.id or "") if option else None

    async def requests_changed(self, ids: set[str]) -> None:
        """Update changed rows; add new requests at once only if no listed request is open."""
        if self.requests.is_done and self.requests.news:
            return await self.action_news()
        self._tick()
        self._draw_heading()

    def redraw(self, at: str | None = None) -> None:
        """Redraw the list with the cursor on the same request, or on the request `at`."""
        chosen, place = at or (self.chosen.id if self.chosen else None), self.table.highlighted or 0
        listed = self.requests.listed
        self.table.set_options(self._options())
        self.table.highlighted = self.table.get_option_index(chosen) if chosen in listed else place
        if self.table.highlighted_option and self.table.highlighted_option.disabled:
            self.table.action_cursor_down()
        self._draw_heading()

    @on(RequestTable.Resized)
    def _resized(self) -> None:
        self.redraw()

    @on(OptionList.OptionHighlighted)
    async def _moved(self, moved: OptionList.OptionHighlighted) -> None:
        self._tick()
        if self.requests.has_more and moved.option_index >= self.table.option_count - 1:
            await self._read(self.requests.more())

    async def action_news(self) -> None:
        """Add new requests and remove ended ones."""
        await self._read(self.requests.reload())

    def action_search(self) -> None:
        """Open the search."""
        self.search.display = True
        self.search.focus()

    @on(Input.Submitted)
    async def _search(self) -> None:
        self.requests.search = self.search.value.strip()
        self.search.display = bool(self.requests.search)
        await self.action_news()
        self.table.focus()

    async def go_back(self) -> None:
        """End the search."""
        self.search.value = ""
        await self._search()

    async def _read(self, reading: Awaitable[None]) -> None:
        await self.attempt(reading)
        self.redraw()

    def _tick(self) -> None:
        for option in self.table.options:
            request = self.requests.listed.get(option.id or "")
            if request and (row := self._row(request)) != option.prompt:
                self.table.replace_option_prompt(request.id, row)

    def _options(self) -> Iterator[Option]:
        """Yield the rows, with a heading for each section unless all requests are in the last one."""
        section = "rest"
        for request in self.requests.listed.values():
            if (its := self.requests.urgent.section_of(request)) != section:
                section = its
                yield Option(Content.styled(cli_text(f"section.{section}"), "bold"), disabled=True)
            yield Option(self._row(request), id=request.id)

    def _row(self, request: Request) -> Content:
        title, now = title_of_request(request), self.requests.inbox.clock()
        if request.priority in ("high", "urgent"):
            title = f"{cli_text(f'short_priority.{request.priority}')} · {title}"
        left, _ = deadline_text(request, now)
        state = request_end_text(request) if request.is_final else held_answer_text(request) or left
        states = " · ".join(filter(None, [state, claim_text(request, now)]))
        width = self.table.scrollable_content_region.width
        rest = max(20, width - KIND - STATE - MARGINS)
        cells = ((title, rest), (cli_text(f"kind.{request.kind}"), KIND), (states, STATE))
        row = "  ".join(_fitted(text, width) for text, width in cells)
        mark = MARK if request is self.chosen else " "
        about = Content.styled(_fitted(f"{mark}  {request_about_line(request, now)}", width).rstrip(), "dim")
        first = Content.styled(_fitted(f"{mark}{row}".rstrip(), width), "dim" if request.is_final else "")
        return Content("\n").join((first, about))

    def _draw_heading(self) -> None:
        requests, search = self.requests, escape_hidden_characters(self.requests.search)
        count = cli_text("many", count=requests.waiting) if requests.waiting >= COUNTED else str(requests.waiting)
        counted = cli_text("found" if search else "waiting", count=count, text=search)
        news = {"news": len(requests.news), "ended": requests.ended}
        more = ", ".join(cli_text(key, count=number) for key, number in news.items() if number)
        more = more and f"{more}: {cli_text('show_news')}"
        parts = [cli_text("inbox"), counted, more, escape_hidden_characters(requests.person)]
        self.query_one("#heading", Static).update(Content(" · ".join(filter(None, parts))))
        empty = self.query_one("#empty", Static)
        empty.update(Content(cli_text("empty_search" if search else "empty", text=search)))
        empty.display = not requests.listed
        self.table.display = bool(requests.listed)


def _fitted(text: str, width: int) -> str:
    return set_cell_size(text if cell_len(text) <= width else set_cell_size(text, width - 1) + "…", width)
