"""The inbox in the terminal."""

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
from ringi.cli.terminal.safety import Harmless
from ringi.cli.terminal.words import ENGLISH as WORDS
from ringi.inbox.inbox import Inbox

INTERRUPTED = 130
AT_ONCE = ("ctrl+c", "ctrl+z")
"""Keys that wait for no other."""


class Passed(Message):
    """Follows a key on its way: where this is, the key has been dealt with."""


class WatchApp(App[None]):
    """A list and one request at a time, both live."""

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
        # Without colours of its own Textual leaves only bold and reverse; otherwise it would write shades of grey.
        super().__init__(ansi_color=no_color or None)
        self.theme = "ansi-dark" if no_color else "textual-dark"
        self.desk = InboxController(inbox, name)
        self.list = ListScreen(self.desk)
        self.crash: Exception | None = None
        self._is_warned = False
        self._keys: deque[events.Key] = deque()
        self._deals: MessagePump | None = None

    async def on_event(self, event: events.Event) -> None:
        """Deal with one key to its end before the next: it may open the field that the next one is typed into."""
        if not isinstance(event, events.Key) or event.is_forwarded or event.key in AT_ONCE:
            return await super().on_event(event)
        self._keys.append(event)
        await self._give()

    async def on_mount(self) -> None:
        """Read the list, then follow it."""
        self.run_worker(self._follow(), exit_on_error=True)
        await self.desk.live.reload()
        await self.push_screen(self.list)

    def get_line_filters(self) -> list[LineFilter]:
        """Return the filters of the last step before the terminal."""
        return [*super().get_line_filters(), Harmless()]

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave letters to the field in which they are typed."""
        in_field = isinstance(self.screen, RequestScreen) and self.screen.box_in_use
        return not (in_field and action in ("leave", "help"))

    def action_leave(self) -> None:
        """Quit; what is typed and not sent is worth a second key."""
        if self.desk.has_unsent and not self._is_warned:
            self._is_warned = True
            self._tell(WORDS.unsent)
        else:
            self.exit()

    def action_interrupt(self) -> None:
        """Quit at once."""
        self.exit(return_code=INTERRUPTED)

    def action_help(self) -> None:
        """Show the keys."""
        self.push_screen(HelpScreen())

    def show_warning(self, record: logging.LogRecord) -> None:
        """Show a warning where it cannot break the picture."""
        self.call_later(self._tell, visible(record.getMessage()))

    @on(ListScreen.Opened)
    async def _open(self, opened: ListScreen.Opened) -> None:
        if isinstance(self.screen, ListScreen):
            await self.push_screen(RequestScreen(self.desk, opened.request))

    @on(RequestScreen.Left)
    async def _left(self, left: RequestScreen.Left) -> None:
        if not isinstance(self.screen, RequestScreen):
            return
        if left.to:
            await self.switch_screen(RequestScreen(self.desk, left.to, left.told))
            return
        shown = self.screen.request.id
        await self.pop_screen()
        if left.told and self.desk.live.is_done:
            await self.list.action_news()
        self.list.redraw(at=shown)
        self.list.tell(left.told)

    async def _give(self) -> None:
        """Hand out keys until one of them is on its way."""
        while self._keys and not (self._deals and self._deals.is_running):
            event, to = self._keys.popleft(), self.focused or self.screen
            await super().on_event(event)
            follows = event.is_forwarded and to.post_message(Passed().set_sender(to))
            self._deals = to if follows else None

    @on(Passed)
    def _passed(self) -> None:
        # Later: what the key did may have moved the focus, which Textual does later too.
        self.call_later(self._go_on)

    async def _go_on(self) -> None:
        self._deals = None
        await self._give()

    async def _follow(self) -> None:
        async for ids in self.desk.live.changes():
            for screen in self.screen_stack:
                if isinstance(screen, ListScreen | RequestScreen):
                    await screen.requests_changed(ids)

    def _tell(self, what: str) -> None:
        if isinstance(self.screen, RequestScreen):
            self.screen.panel.tell(what)
        else:
            self.list.tell(what)

    def _handle_exception(self, error: Exception) -> None:
        # Textual would print the whole stack with all local variables.
        self.crash = self.crash or error
        self.exit(return_code=1)
