"""What the screens of `ringi watch` share: messages, claims, and keys in the person's language."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeVar

from textual.binding import ActiveBinding
from textual.content import Content
from textual.screen import Screen
from textual.widgets import HelpPanel, Input, Static

from ringi.cli.error_texts import cli_error_text
from ringi.cli.format.requests import local_time_text, title_of_request
from ringi.cli.keys import terminal_bindings
from ringi.cli.terminal.fields import FieldBox
from ringi.cli.terminal.request_list import RequestList
from ringi.cli.texts import cli_text
from ringi.domain.request import Request
from ringi.domain.voting import Person
from ringi.errors import RingiError

T = TypeVar("T")
LETTERS = ("approve", "begin", "claim", "release", "neighbor", "search", "news", "leave", "help")
"""The actions of letter keys."""


class InboxScreen(Screen[None]):
    """A screen that shows requests."""

    BINDINGS = terminal_bindings("request", {"claim": "claim", "release": "release", "back": "back"})

    def __init__(self, requests: RequestList) -> None:
        super().__init__()
        self.requests = requests

    @property
    def chosen(self) -> Request | None:
        """The request that keys act on."""
        raise NotImplementedError

    @property
    def in_field(self) -> bool:
        """Whether the person types in a field."""
        within = self.focused.ancestors_with_self if self.focused else ()
        return any(isinstance(widget, FieldBox | Input) for widget in within)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable letter keys while the person types in a field."""
        return not (action in LETTERS and self.in_field)

    async def requests_changed(self, ids: set[str]) -> None:
        """Show the new state of requests."""
        raise NotImplementedError

    @property
    def active_bindings(self) -> dict[str, ActiveBinding]:
        """The bindings that are described in the catalogue; Textual's own descriptions are English."""
        return {
            key: active._replace(binding=replace(active.binding, description=cli_text(active.binding.description)))
            for key, active in super().active_bindings.items()
            if active.binding.description.startswith("key.")
        }

    def tell(self, message: str) -> None:
        """Show a message."""
        line = self.query_one("#message", Static)
        line.update(Content(message))
        line.display = bool(message)

    async def attempt(self, work: Awaitable[T]) -> T | None:
        """Return the result of an operation; show its error and return None if it fails."""
        try:
            return await work
        except RingiError as error:
            self.tell(cli_error_text(error))
            return None

    async def action_claim(self) -> None:
        """Claim the request."""
        await self._change("claimed", self.requests.inbox.claim)

    async def action_release(self) -> None:
        """Undo the person's latest held answer; without one, release the request."""
        if (held := self.requests.held_by_person) is None:
            await self._change("released", self.requests.inbox.release)
        elif done := await self.attempt(self.requests.inbox.undo(held.id, by=self.requests.person)):
            self.requests.take(done)
            self.tell(cli_text("undone", title=title_of_request(done)))

    async def action_back(self) -> None:
        """Close the help, else go back."""
        if self.query(HelpPanel):
            self.app.action_hide_help_panel()
        else:
            await self.go_back()

    async def go_back(self) -> None:
        """Leave what is open."""
        raise NotImplementedError

    async def _change(self, key: str, change: Callable[..., Awaitable[Request]]) -> None:
        if (chosen := self.chosen) is None:
            return
        requests = self.requests
        if done := await self.attempt(change(chosen, by=Person(requests.person, requests.groups))):
            self.tell(cli_text(key, at=local_time_text(done.claimed_until) if done.claimed_until else ""))
