"""The screen with the list of open requests."""

from __future__ import annotations

from collections.abc import Awaitable

from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.content import Content
from textual.coordinate import Coordinate
from textual.message import Message
from textual.screen import Screen
from textual.widgets import DataTable, Input, Static

from ringi.cli.format.visible import visible
from ringi.cli.terminal import request_view
from ringi.cli.terminal.controller import InboxController
from ringi.cli.terminal.request_list import COUNTED
from ringi.cli.terminal.texts import ENGLISH as TEXTS
from ringi.domain.request import Request
from ringi.errors import RingiError

KIND, STATE = 9, 24
"""The width of two columns; the title has the rest."""
SCROLLBAR = 1
COLUMNS = ("mark", "title", "kind", "state")
MARK = "▌"


class RequestTable(DataTable[Text | str]):
    """The table of requests."""

    BINDINGS = [Binding("home,g", "scroll_top", show=False), Binding("end,G", "scroll_bottom", show=False)]


class ListScreen(Screen[None]):
    """All open requests, newest first; new ones are only counted until the person asks for them."""

    BINDINGS = [
        Binding("j", "move(1)"),
        Binding("k", "move(-1)"),
        Binding("slash", "search"),
        Binding("n", "news"),
        Binding("c", "claim"),
        Binding("u", "release"),
        Binding("escape", "end_search"),
    ]
    AUTO_FOCUS = "RequestTable"

    class Opened(Message):
        """The person opened a request."""

        def __init__(self, request: Request) -> None:
            super().__init__()
            self.request = request

    def __init__(self, controller: InboxController) -> None:
        super().__init__()
        self.controller, self.requests = controller, controller.requests
        self._drawn: dict[str, tuple[Request, str]] = {}
        self._marked: str | None = None

    def compose(self) -> ComposeResult:
        """Create the widgets."""
        yield Static(id="heading")
        yield RequestTable(cursor_type="row", show_header=False, id="list")
        yield Static(id="empty")
        yield Input(placeholder=TEXTS.search, compact=True, id="search")
        yield Static(id="message")
        yield Static(Content(TEXTS.list_keys), id="keys")

    def on_mount(self) -> None:
        """Hide the search and update the times every second."""
        self.query_one("#search").display = False
        self.set_interval(1, self._tick)

    def on_resize(self, _: events.Resize) -> None:
        """Redraw with the new width."""
        self.redraw()

    def on_screen_resume(self) -> None:
        """Redraw after another screen closed."""
        self.redraw()

    async def requests_changed(self, ids: set[str]) -> None:
        """Update changed rows; add new requests at once only if no listed request is open."""
        if self.requests.is_done and self.requests.news:
            return await self.action_news()
        self._tick()
        self._draw_heading()

    def redraw(self, at: str | None = None) -> None:
        """Redraw the list with the cursor on the same request, or on the request `at`."""
        list = self.query_one(RequestTable)
        chosen, row = at or self._chosen_id(), list.cursor_row
        list.clear(columns=True)
        self._drawn = {}
        title_width = max(20, self.size.width - 1 - KIND - STATE - 2 * len(COLUMNS) - SCROLLBAR)
        for key, width in zip(COLUMNS, (1, title_width, KIND, STATE), strict=True):
            list.add_column("", width=width, key=key)
        for request in self.requests.listed.values():
            title, state = self._cells(request)
            list.add_row("", title, Text(TEXTS.kind[request.kind]), state, key=request.id)
        if self.requests.listed:
            list.move_cursor(row=list.get_row_index(chosen) if chosen in self.requests.listed else row, scroll=True)
        self._mark()
        self._draw_heading()

    @property
    def chosen(self) -> Request | None:
        """The request under the cursor."""
        return self.requests.listed.get(self._chosen_id() or "")

    @on(DataTable.RowHighlighted)
    async def _moved(self, moved: DataTable.RowHighlighted) -> None:
        self._mark()
        if self.requests.has_more and moved.cursor_row >= len(self.requests.listed) - 1:
            await self._after(self.requests.more())

    @on(DataTable.RowSelected)
    def _opened(self) -> None:
        if self.chosen:
            self.post_message(self.Opened(self.chosen))

    def action_move(self, step: int) -> None:
        """Move the cursor."""
        list = self.query_one(RequestTable)
        list.move_cursor(row=list.cursor_row + step)

    async def action_news(self) -> None:
        """Add new requests and remove ended ones."""
        await self._after(self.requests.reload())

    def action_search(self) -> None:
        """Open the search."""
        search = self.query_one("#search", Input)
        search.display = True
        search.focus()

    @on(Input.Submitted, "#search")
    async def _search(self, submitted: Input.Submitted) -> None:
        self.requests.search = submitted.value.strip()
        submitted.input.display = bool(self.requests.search)
        await self.action_news()
        self.query_one(RequestTable).focus()

    async def action_end_search(self) -> None:
        """Close the search."""
        search = self.query_one("#search", Input)
        search.value, search.display, self.requests.search = "", False, ""
        await self.action_news()
        self.query_one(RequestTable).focus()

    async def action_claim(self) -> None:
        """Claim the request under the cursor."""
        if self.chosen:
            self.tell(await self.controller.claim(self.chosen))

    async def action_release(self) -> None:
        """Release the request under the cursor."""
        if self.chosen:
            self.tell(await self.controller.release(self.chosen))

    def tell(self, what: str) -> None:
        """Show a message below the list."""
        self.query_one("#message", Static).update(Content(what))

    async def _after(self, reading: Awaitable[None]) -> None:
        try:
            await reading
        except RingiError as error:
            return self.tell(visible(str(error)))
        self.redraw()

    def _chosen_id(self) -> str | None:
        list = self.query_one(RequestTable)
        if not list.is_valid_row_index(list.cursor_row):
            return None
        return list.coordinate_to_cell_key(Coordinate(list.cursor_row, 0)).row_key.value

    def _tick(self) -> None:
        list = self.query_one(RequestTable)
        for request in self.requests.listed.values():
            if request.id in self._drawn and self._drawn[request.id] != (request, self._state(request)):
                title, state = self._cells(request)
                list.update_cell(request.id, "title", title)
                list.update_cell(request.id, "state", state)

    def _cells(self, request: Request) -> tuple[Text, Text]:
        title = visible(request.title)
        if request.priority in ("high", "urgent"):
            title = f"{TEXTS.short_priority[request.priority]} · {title}"
        state = self._state(request)
        self._drawn[request.id] = request, state
        style = "dim" if request.is_final else ""
        return _cell(title, style), _cell(state, style)

    def _state(self, request: Request) -> str:
        if request.is_final:
            return request_view.short_outcome(request)
        now = self.controller.now()
        return " · ".join(
            part
            for part in (request_view.deadline_text(request, now).plain, request_view.claim_text(request, now))
            if part
        )

    def _mark(self) -> None:
        list, chosen = self.query_one(RequestTable), self._chosen_id()
        if self._marked in self.requests.listed and self._marked in self._drawn:
            list.update_cell(self._marked, "mark", "")
        if chosen:
            list.update_cell(chosen, "mark", MARK)
        self._marked = chosen

    def _draw_heading(self) -> None:
        requests = self.requests
        count = TEXTS.many.format(count=requests.waiting) if requests.waiting >= COUNTED else str(requests.waiting)
        counted = (TEXTS.found if requests.search else TEXTS.waiting).format(count=count, text=visible(requests.search))
        news = ((TEXTS.news, len(requests.news)), (TEXTS.ended, requests.ended))
        more = ", ".join(text.format(count=number) for text, number in news if number)
        parts = [TEXTS.inbox, counted, more and f"{more}: {TEXTS.show_news}", visible(self.controller.name)]
        self.query_one("#heading", Static).update(Content(" · ".join(part for part in parts if part)))
        empty = self.query_one("#empty", Static)
        empty.update(
            Content(TEXTS.empty_search.format(text=visible(requests.search)) if requests.search else TEXTS.empty)
        )
        empty.display = not requests.listed
        self.query_one(RequestTable).display = bool(requests.listed)


def _cell(text: str, style: str) -> Text:
    return Text(text, style, no_wrap=True, overflow="ellipsis")
