"""The list of what waits."""

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
from ringi.cli.terminal import pieces
from ringi.cli.terminal.controller import InboxController
from ringi.cli.terminal.live import COUNTED
from ringi.cli.terminal.words import ENGLISH as WORDS
from ringi.domain.request import Request
from ringi.errors import RingiError

KIND, STATE = 9, 24
"""How wide two columns are; the title has the rest."""
SCROLLBAR = 1
COLUMNS = ("mark", "title", "kind", "state")
MARK = "▌"


class Rows(DataTable[Text | str]):
    """The rows; the ends of the list are a key away."""

    BINDINGS = [Binding("home,g", "scroll_top", show=False), Binding("end,G", "scroll_bottom", show=False)]


class ListScreen(Screen[None]):
    """All that waits, newest first; news gather in a line until they are asked for."""

    BINDINGS = [
        Binding("j", "move(1)"),
        Binding("k", "move(-1)"),
        Binding("slash", "search"),
        Binding("n", "news"),
        Binding("c", "claim"),
        Binding("u", "release"),
        Binding("escape", "end_search"),
    ]
    AUTO_FOCUS = "Rows"

    class Opened(Message):
        """Enter was pressed on a request."""

        def __init__(self, request: Request) -> None:
            super().__init__()
            self.request = request

    def __init__(self, desk: InboxController) -> None:
        super().__init__()
        self.desk, self.live = desk, desk.live
        self._drawn: dict[str, tuple[Request, str]] = {}
        self._marked: str | None = None

    def compose(self) -> ComposeResult:
        """Lay out the heading, the list, the search and the keys."""
        yield Static(id="heading")
        yield Rows(cursor_type="row", show_header=False, id="list")
        yield Static(id="empty")
        yield Input(placeholder=WORDS.search, compact=True, id="search")
        yield Static(id="told")
        yield Static(Content(WORDS.list_keys), id="keys")

    def on_mount(self) -> None:
        """Draw what is known and let the time run."""
        self.query_one("#search").display = False
        self.set_interval(1, self._tick)

    def on_resize(self, _: events.Resize) -> None:
        """Give the title what is left of the width."""
        self.redraw()

    def on_screen_resume(self) -> None:
        """Show what became of the request that was open."""
        self.redraw()

    async def requests_changed(self, ids: set[str]) -> None:
        """Show what changed, in its place; show news at once only where nothing can be disturbed."""
        if self.live.is_done and self.live.news:
            return await self.action_news()
        self._tick()
        self._draw_heading()

    def redraw(self, at: str | None = None) -> None:
        """Draw the list anew, with the cursor on the same request or the one given."""
        list = self.query_one(Rows)
        chosen, row = at or self._chosen_id(), list.cursor_row
        list.clear(columns=True)
        self._drawn = {}
        title_width = max(20, self.size.width - 1 - KIND - STATE - 2 * len(COLUMNS) - SCROLLBAR)
        for key, width in zip(COLUMNS, (1, title_width, KIND, STATE), strict=True):
            list.add_column("", width=width, key=key)
        for request in self.live.shown.values():
            title, state = self._cells(request)
            list.add_row("", title, Text(WORDS.kind[request.kind]), state, key=request.id)
        if self.live.shown:
            list.move_cursor(row=list.get_row_index(chosen) if chosen in self.live.shown else row, scroll=True)
        self._mark()
        self._draw_heading()

    @property
    def chosen(self) -> Request | None:
        """The request under the cursor."""
        return self.live.shown.get(self._chosen_id() or "")

    @on(DataTable.RowHighlighted)
    async def _moved(self, moved: DataTable.RowHighlighted) -> None:
        self._mark()
        if self.live.has_more and moved.cursor_row >= len(self.live.shown) - 1:
            await self._after(self.live.more())

    @on(DataTable.RowSelected)
    def _opened(self) -> None:
        if self.chosen:
            self.post_message(self.Opened(self.chosen))

    def action_move(self, step: int) -> None:
        """Move the cursor."""
        list = self.query_one(Rows)
        list.move_cursor(row=list.cursor_row + step)

    async def action_news(self) -> None:
        """Show what is new and drop what has ended."""
        await self._after(self.live.reload())

    def action_search(self) -> None:
        """Ask for words."""
        search = self.query_one("#search", Input)
        search.display = True
        search.focus()

    @on(Input.Submitted, "#search")
    async def _search(self, submitted: Input.Submitted) -> None:
        self.live.search = submitted.value.strip()
        submitted.input.display = bool(self.live.search)
        await self.action_news()
        self.query_one(Rows).focus()

    async def action_end_search(self) -> None:
        """Show everything again."""
        search = self.query_one("#search", Input)
        search.value, search.display, self.live.search = "", False, ""
        await self.action_news()
        self.query_one(Rows).focus()

    async def action_claim(self) -> None:
        """Keep others from the request under the cursor."""
        if self.chosen:
            self.tell(await self.desk.claim(self.chosen))

    async def action_release(self) -> None:
        """Let others have the request under the cursor."""
        if self.chosen:
            self.tell(await self.desk.release(self.chosen))

    def tell(self, what: str) -> None:
        """Say something below the list."""
        self.query_one("#told", Static).update(Content(what))

    async def _after(self, reading: Awaitable[None]) -> None:
        try:
            await reading
        except RingiError as error:
            return self.tell(visible(str(error)))
        self.redraw()

    def _chosen_id(self) -> str | None:
        list = self.query_one(Rows)
        if not list.is_valid_row_index(list.cursor_row):
            return None
        return list.coordinate_to_cell_key(Coordinate(list.cursor_row, 0)).row_key.value

    def _tick(self) -> None:
        list = self.query_one(Rows)
        for request in self.live.shown.values():
            if request.id in self._drawn and self._drawn[request.id] != (request, self._state(request)):
                title, state = self._cells(request)
                list.update_cell(request.id, "title", title)
                list.update_cell(request.id, "state", state)

    def _cells(self, request: Request) -> tuple[Text, Text]:
        title = visible(request.title)
        if request.priority in ("high", "urgent"):
            title = f"{WORDS.short_priority[request.priority]} · {title}"
        state = self._state(request)
        self._drawn[request.id] = request, state
        style = "dim" if request.is_final else ""
        return _cell(title, style), _cell(state, style)

    def _state(self, request: Request) -> str:
        if request.is_final:
            return pieces.ended(request)
        now = self.desk.now()
        return " · ".join(part for part in (pieces.deadline(request, now).plain, pieces.claim(request, now)) if part)

    def _mark(self) -> None:
        list, chosen = self.query_one(Rows), self._chosen_id()
        if self._marked in self.live.shown and self._marked in self._drawn:
            list.update_cell(self._marked, "mark", "")
        if chosen:
            list.update_cell(chosen, "mark", MARK)
        self._marked = chosen

    def _draw_heading(self) -> None:
        live = self.live
        count = WORDS.many.format(count=live.waiting) if live.waiting >= COUNTED else str(live.waiting)
        told = (WORDS.found if live.search else WORDS.waiting).format(count=count, text=visible(live.search))
        news = ((WORDS.news, len(live.news)), (WORDS.ended, live.ended))
        more = ", ".join(words.format(count=number) for words, number in news if number)
        parts = [WORDS.inbox, told, more and f"{more}: {WORDS.show_news}", visible(self.desk.name)]
        self.query_one("#heading", Static).update(Content(" · ".join(part for part in parts if part)))
        empty = self.query_one("#empty", Static)
        empty.update(Content(WORDS.empty_search.format(text=visible(live.search)) if live.search else WORDS.empty))
        empty.display = not live.shown
        self.query_one(Rows).display = bool(live.shown)


def _cell(text: str, style: str) -> Text:
    return Text(text, style, no_wrap=True, overflow="ellipsis")
