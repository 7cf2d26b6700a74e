"""The terminal app of `ringi watch`; no control characters of its widgets reach the terminal."""

from __future__ import annotations

import asyncio
import logging
import os
from contextlib import suppress
from functools import lru_cache

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from textual import events, on
from textual.app import App
from textual.color import Color
from textual.filter import LineFilter
from textual.message_pump import MessagePump
from textual.widgets import HelpPanel, OptionList

from ringi.cli.format.output import escape_hidden_characters, is_hidden_character
from ringi.cli.keys import terminal_bindings
from ringi.cli.terminal.inbox_screen import LETTERS, InboxScreen
from ringi.cli.terminal.list_screen import ListScreen
from ringi.cli.terminal.request_list import RequestList
from ringi.cli.terminal.request_screen import RequestScreen
from ringi.cli.texts import cli_text
from ringi.domain.request import Request
from ringi.inbox.inbox import StoreInbox

INTERRUPTED = 130
AT_ONCE = ("ctrl+c", "ctrl+z")
"""Keys that are handled without waiting for earlier ones."""


class WatchApp(App[None]):
    """A list of requests and one open request, both updated as they change."""

    CSS_PATH = "app.tcss"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS = [
        *terminal_bindings("everywhere", {"help": "help"}, key_display="?"),
        *terminal_bindings("everywhere", {"quit": "leave"}),
        *terminal_bindings("everywhere", {"interrupt": "interrupt"}, show=False, priority=True),
        *terminal_bindings("everywhere", {"suspend": "suspend_process"}, show=False, priority=True),
    ]

    def __init__(self, inbox: StoreInbox, name: str, groups: tuple[str, ...] = ()) -> None:
        no_color = bool(os.environ.get("NO_COLOR"))
        # With ANSI colors Textual writes only bold and reverse; otherwise it would write shades of gray.
        super().__init__(ansi_color=no_color or None)
        self.theme = "ansi-dark" if no_color else "textual-dark"
        self.requests = RequestList(inbox, name, groups)
        self.list = ListScreen(self.requests)
        self.unsent: dict[str, RequestScreen] = {}
        """Screens of other requests with text that was not sent."""
        self.crash: Exception | None = None
        self._is_warned = False
        self._keys: asyncio.Queue[events.Key] = asyncio.Queue()

    async def on_event(self, event: events.Event) -> None:
        """Put keys in a queue: a key may open the field that the next one is typed into."""
        if isinstance(event, events.Key) and not event.is_forwarded and event.key not in AT_ONCE:
            self._keys.put_nowait(event)
        else:
            await super().on_event(event)

    async def on_mount(self) -> None:
        """Read the list, then follow it."""
        self.run_worker(self._follow())
        self.run_worker(self._handle_keys())
        await self.requests.reload()
        await self.push_screen(self.list)

    def get_line_filters(self) -> list[LineFilter]:
        """Return the filters of all output."""
        return [*super().get_line_filters(), ControlCharacterFilter()]

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable letter keys while the person types in a field."""
        return not (isinstance(self.screen, InboxScreen) and action in LETTERS and self.screen.in_field)

    def action_leave(self) -> None:
        """Quit; with unsent text, only after a second key."""
        screens = [self.screen, *self.unsent.values()]
        is_unsent = any(isinstance(screen, RequestScreen) and screen.has_unsent for screen in screens)
        if is_unsent and not self._is_warned:
            self._is_warned = True
            self._show(cli_text("unsent"))
        else:
            self.exit()

    def action_interrupt(self) -> None:
        """Quit at once."""
        self.exit(return_code=INTERRUPTED)

    def action_help(self) -> None:
        """Show or hide the keys."""
        if self.screen.query(HelpPanel):
            self.action_hide_help_panel()
        else:
            self.action_show_help_panel()

    def show_warning(self, record: logging.LogRecord) -> None:
        """Show a warning in the app."""
        message = escape_hidden_characters(record.getMessage())
        self.call_later(self._show, cli_text("warning", message=message, source=record.name))

    @on(OptionList.OptionSelected, "RequestTable")
    async def _open(self) -> None:
        if self.screen is self.list and self.list.chosen:
            await self.push_screen(self._screen_of(self.list.chosen))

    async def leave(self, to: Request | None, message: str) -> None:
        """Leave a request to another one or to the list; the message describes the decision."""
        screen = self.screen
        if not isinstance(screen, RequestScreen):
            return
        if screen.has_unsent:
            self.unsent[screen.request.id] = screen
            self.install_screen(screen, screen.request.id)
        if to:
            await self.switch_screen(self._screen_of(to, message))
            return
        await self.pop_screen()
        if message and self.requests.is_done:
            await self.list.action_news()
        self.list.redraw(at=screen.request.id)
        self.list.tell(message)

    def _screen_of(self, request: Request, message: str = "") -> RequestScreen:
        screen = self.unsent.pop(request.id, None) or RequestScreen(self.requests, request, self.leave)
        self.uninstall_screen(screen)
        screen.message = message
        return screen

    async def _handle_keys(self) -> None:
        """Handle one key after another, each once everything that the previous one did has happened."""
        while True:
            event = await self._keys.get()
            target = self.focused or self.screen
            await super().on_event(event)
            # An unused key goes from the target up to the app; the app then moves the focus.
            for pump in (*target.ancestors_with_self, self):
                await _become_idle(pump)

    async def _follow(self) -> None:
        async for ids in self.requests.changes():
            for screen in self.screen_stack:
                if isinstance(screen, InboxScreen):
                    await screen.requests_changed(ids)

    def _show(self, message: str) -> None:
        if isinstance(self.screen, InboxScreen):
            self.screen.tell(message)

    def _handle_exception(self, error: Exception) -> None:
        # Textual would print the whole stack with all local variables.
        self.crash = self.crash or error
        self.exit(return_code=1)


async def _become_idle(pump: MessagePump) -> None:
    """Wait until a widget has handled the messages that it has now, or was closed."""
    handled = asyncio.Event()
    pump.call_later(handled.set)
    while pump.is_running and not handled.is_set():
        with suppress(TimeoutError):
            await asyncio.wait_for(handled.wait(), 0.1)


class ControlCharacterFilter(LineFilter):
    """Replaces hidden characters by blanks: widgets draw typed and pasted text unchanged."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the segments without control characters."""
        return [Segment(without_control_characters(text), style, control) for text, style, control in segments]


@lru_cache(4096)
def without_control_characters(text: str) -> str:
    """Return a text of the same width without hidden characters."""
    if text.isascii() and text.isprintable():
        return text
    visible_text = "".join(character for character in text if not is_hidden_character(character))
    return set_cell_size(visible_text, cell_len(text))
