"""The terminal app of `ringi watch`."""

from __future__ import annotations

import logging
import os
from collections import deque

from textual import events, on
from textual.app import App
from textual.binding import Binding
from textual.filter import LineFilter
from textual.message import Message
from textual.message_pump import MessagePump

from ringi.cli.format.visible import visible
from ringi.cli.terminal.controller import InboxController
from ringi.cli.terminal.help_screen import HelpScreen
from ringi.cli.terminal.list_screen import ListScreen
from ringi.cli.terminal.request_screen import RequestScreen
from ringi.cli.terminal.safety import ControlCharacterFilter
from ringi.cli.terminal.texts import ENGLISH as TEXTS
from ringi.inbox.inbox import Inbox

INTERRUPTED = 130
AT_ONCE = ("ctrl+c", "ctrl+z")
"""Keys that are handled without waiting for earlier ones."""


class KeyHandled(Message):
    """Follows a key through the message queues; when it arrives, the key was handled."""


class WatchApp(App[None]):
    """A list of requests and one open request, both updated as they change."""

    CSS_PATH = "app.tcss"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS = [
        Binding("q", "leave", show=False),
        Binding("question_mark", "help", show=False),
        Binding("ctrl+c", "interrupt", show=False, priority=True),
        Binding("ctrl+z", "suspend_process", show=False, priority=True),
    ]

    def __init__(self, inbox: Inbox, name: str) -> None:
        no_color = bool(os.environ.get("NO_COLOR"))
        # With ANSI colors Textual writes only bold and reverse; otherwise it would write shades of gray.
        super().__init__(ansi_color=no_color or None)
        self.theme = "ansi-dark" if no_color else "textual-dark"
        self.controller = InboxController(inbox, name)
        self.list = ListScreen(self.controller)
        self.crash: Exception | None = None
        self._is_warned = False
        self._keys: deque[events.Key] = deque()
        self._handling: MessagePump | None = None

    async def on_event(self, event: events.Event) -> None:
        """Handle keys one by one: a key may open the field that the next one is typed into."""
        if not isinstance(event, events.Key) or event.is_forwarded or event.key in AT_ONCE:
            return await super().on_event(event)
        self._keys.append(event)
        await self._handle_keys()

    async def on_mount(self) -> None:
        """Read the list, then follow it."""
        self.run_worker(self._follow(), exit_on_error=True)
        await self.controller.requests.reload()
        await self.push_screen(self.list)

    def get_line_filters(self) -> list[LineFilter]:
        """Return the filters of all output."""
        return [*super().get_line_filters(), ControlCharacterFilter()]

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable letter keys while the person types in a field."""
        in_field = isinstance(self.screen, RequestScreen) and self.screen.box_in_use
        return not (in_field and action in ("leave", "help"))

    def action_leave(self) -> None:
        """Quit; with unsent text, only after a second key."""
        if self.controller.has_unsent and not self._is_warned:
            self._is_warned = True
            self._show(TEXTS.unsent)
        else:
            self.exit()

    def action_interrupt(self) -> None:
        """Quit at once."""
        self.exit(return_code=INTERRUPTED)

    def action_help(self) -> None:
        """Show the keys."""
        self.push_screen(HelpScreen())

    def show_warning(self, record: logging.LogRecord) -> None:
        """Show a warning in the app."""
        self.call_later(self._show, visible(record.getMessage()))

    @on(ListScreen.Opened)
    async def _open(self, opened: ListScreen.Opened) -> None:
        if isinstance(self.screen, ListScreen):
            await self.push_screen(RequestScreen(self.controller, opened.request))

    @on(RequestScreen.Left)
    async def _left(self, left: RequestScreen.Left) -> None:
        if not isinstance(self.screen, RequestScreen):
            return
        if left.to:
            await self.switch_screen(RequestScreen(self.controller, left.to, left.message))
            return
        request_id = self.screen.request.id
        await self.pop_screen()
        if left.message and self.controller.requests.is_done:
            await self.list.action_news()
        self.list.redraw(at=request_id)
        self.list.tell(left.message)

    async def _handle_keys(self) -> None:
        """Handle waiting keys until one is being processed."""
        while self._keys and not (self._handling and self._handling.is_running):
            event, to = self._keys.popleft(), self.focused or self.screen
            await super().on_event(event)
            follows = event.is_forwarded and to.post_message(KeyHandled().set_sender(to))
            self._handling = to if follows else None

    @on(KeyHandled)
    def _key_handled(self) -> None:
        # Textual moves the focus later, so the next key must wait too.
        self.call_later(self._handle_next)

    async def _handle_next(self) -> None:
        self._handling = None
        await self._handle_keys()

    async def _follow(self) -> None:
        async for ids in self.controller.requests.changes():
            for screen in self.screen_stack:
                if isinstance(screen, ListScreen | RequestScreen):
                    await screen.requests_changed(ids)

    def _show(self, what: str) -> None:
        if isinstance(self.screen, RequestScreen):
            self.screen.panel.tell(what)
        else:
            self.list.tell(what)

    def _handle_exception(self, error: Exception) -> None:
        # Textual would print the whole stack with all local variables.
        self.crash = self.crash or error
        self.exit(return_code=1)
