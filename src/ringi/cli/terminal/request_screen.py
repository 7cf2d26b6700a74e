"""The screen of one request."""

from __future__ import annotations

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Button, Input, Static

from ringi.cli.format.visible import visible
from ringi.cli.terminal import request_view
from ringi.cli.terminal.controller import InboxController
from ringi.cli.terminal.controls import MessageControl
from ringi.cli.terminal.draft import ConfirmationTarget, Mode, answer, editable, target_of
from ringi.cli.terminal.field_box import FieldBox
from ringi.cli.terminal.panel import Panel
from ringi.cli.terminal.sheet import Sheet
from ringi.cli.terminal.texts import ENGLISH as TEXTS
from ringi.domain.ask import Answer, Decision
from ringi.domain.request import Request
from ringi.errors import InvalidError, RequestEndedError, RingiError

LETTERS = ("approve", "edit", "reject", "respond", "claim", "release", "neighbor")
"""The actions of letter keys; disabled while the person types in a field."""
SENT_BY: dict[Mode, Decision] = {"editing": "edit", "rejecting": "reject", "answering": "respond"}
AGAIN = 1.0
"""Seconds before a failed read is repeated."""
HELD_KEY = 0.4
"""Seconds without a key before the next request can be decided, so that a held key decides only one."""


class RequestScreen(Screen[None]):
    """The action, the agent's description, and the decision."""

    BINDINGS = [
        Binding("a", "approve"),
        Binding("e", "edit"),
        Binding("r", "reject"),
        Binding("m", "respond"),
        Binding("c", "claim"),
        Binding("u", "release"),
        Binding("j", "neighbor(1)"),
        Binding("k", "neighbor(-1)"),
        Binding("ctrl+s", "send"),
        Binding("escape", "back"),
    ]
    AUTO_FOCUS = "Sheet"

    class Left(Message):
        """The person leaves to the list or to another request; `message` describes the decision."""

        def __init__(self, to: Request | None, message: str = "") -> None:
            super().__init__()
            self.to, self.message = to, message

    def __init__(self, controller: InboxController, request: Request, message: str = "") -> None:
        super().__init__()
        self.controller, self.request, self.draft = controller, request, controller.drafts[request.id]
        self.sheet, self.panel = Sheet(request, self.draft), Panel(request, self.draft)
        self._message, self._decision, self._sending = message, SENT_BY.get(self.draft.mode, "approve"), False
        self._ready = not message
        self._target: ConfirmationTarget | None = None

    def compose(self) -> ComposeResult:
        """Create the widgets."""
        yield Static(id="standing")
        yield self.sheet
        yield self.panel

    async def on_mount(self) -> None:
        """Show the request and update the times every second."""
        self.panel.tell(visible(self._message))
        self._holding = self.set_timer(HELD_KEY, self._be_ready)
        self.set_interval(1, self._tick)
        await self.enter("deciding" if self.draft.mode == "confirming" else self.draft.mode)
        await self.refresh_request()

    async def requests_changed(self, ids: set[str]) -> None:
        """Show changes of this request; the draft stays."""
        if self.request.id in ids and not self._sending:
            await self.refresh_request()

    async def refresh_request(self) -> None:
        """Read the request again and show its status."""
        try:
            request = await self.controller.inbox.get(self.request.id)
            events = await self.controller.inbox.events(request_id=request.id)
        except RingiError as error:
            self.panel.tell(visible(str(error)))
            self.set_timer(AGAIN, self.refresh_request)
            return
        ended, self.request, self.panel.request = request.is_final, request, request
        self.sheet.tell_history(events)
        self._tick()
        if ended:
            words = TEXTS.ended_here if self.draft.typed else TEXTS.ended_silent
            self.panel.tell(words.format(outcome=request_view.outcome_text(request, events)))
            self.sheet.freeze()
            self.panel.freeze()
            await self.panel.offer_nothing()
            self.sheet.focus()
            self._show_keys()

    async def enter(self, mode: Mode) -> None:
        """Switch to a mode and focus its field."""
        self.draft.mode = mode
        self.sheet.edit(mode == "editing" or (mode == "confirming" and self._decision == "edit"))
        self.panel.open(mode)
        if self.request.is_final or not self._ready:
            await self.panel.offer_nothing()
        else:
            await self.panel.offer(mode, self._decision)
        if mode in self.panel.boxes:
            self.panel.boxes[mode].control.focus()
        elif mode == "editing":
            self.sheet.focus_first()
        else:
            self.sheet.focus()
        self._show_keys()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable letter keys while the person types in a field."""
        return not (action in LETTERS and self.box_in_use)

    @property
    def box_in_use(self) -> FieldBox | None:
        """The focused field."""
        within = self.focused.ancestors_with_self if self.focused else ()
        return next((widget for widget in within if isinstance(widget, FieldBox)), None)

    async def action_approve(self) -> None:
        """Approve, or answer a request that cannot be approved."""
        if "approve" in self.request.allowed or "respond" not in self.request.allowed:
            await self._decide("approve")
        else:
            await self.action_respond()

    async def action_edit(self) -> None:
        """Open the fields of the action or the form."""
        if self._may("edit") and not self.sheet.can_be_edited:
            self.panel.tell(TEXTS.nothing_to_edit)
        elif self._may("edit"):
            await self._begin("editing")

    async def action_reject(self) -> None:
        """Ask for the reason."""
        if self._may("reject"):
            await self._begin("rejecting")

    async def action_respond(self) -> None:
        """Ask for the answer."""
        if self._may("respond"):
            await self._begin("answering")

    async def action_claim(self) -> None:
        """Claim the request."""
        self.panel.tell(await self.controller.claim(self.request))

    async def action_release(self) -> None:
        """Release the request."""
        self.panel.tell(await self.controller.release(self.request))

    def action_neighbor(self, step: int) -> None:
        """Open the next or the previous open request."""
        if to := self.controller.requests.neighbor(self.request.id, step):
            # A key that arrives before the next request opens must not decide this one.
            self._sending = True
            self.post_message(self.Left(to))

    @on(MessageControl.Sent)
    async def action_send(self) -> None:
        """Send the answer of the current mode; from a form field, the form."""
        if self.draft.mode == "confirming":
            await self._confirm()
        elif self.draft.mode != "deciding":
            await self._decide(SENT_BY[self.draft.mode])
        elif self.box_in_use:
            await self.action_approve()

    async def action_back(self) -> None:
        """Leave the field, the mode or the request."""
        if self.request.is_final:
            self.post_message(self.Left(None))
        elif self.draft.mode == "confirming":
            await self.enter("editing" if self._decision == "edit" else "deciding")
        elif self.box_in_use and self.draft.mode in ("deciding", "editing"):
            self.sheet.focus()
        elif self.draft.mode != "deciding":
            await self.enter("deciding")
        else:
            self.post_message(self.Left(None))

    @on(Button.Pressed)
    async def _pressed(self, pressed: Button.Pressed) -> None:
        await self.run_action(str(pressed.button.name))

    @on(Input.Submitted)
    async def _submitted(self) -> None:
        if self.draft.mode == "confirming":
            await self._confirm()
        else:
            self.focus_next()

    @on(FieldBox.Typed)
    def _typed(self, typed: FieldBox.Typed) -> None:
        if typed.is_changed:
            self.draft.typed[typed.path] = typed.raw_value
        else:
            self.draft.typed.pop(typed.path, None)

    def on_descendant_focus(self) -> None:
        """Show the keys of the focused widget."""
        self._show_keys()

    async def _begin(self, mode: Mode) -> None:
        self.panel.tell("")
        self._decision = SENT_BY[mode]
        await self.enter(mode)

    async def _confirm(self) -> None:
        if self._target and not self._target.is_named(self.panel.text("confirming")):
            self.panel.boxes["confirming"].complain(TEXTS.target_differs.format(name=f"“{self._target.name}”"))
        else:
            await self._send(self._decision)

    async def _decide(self, decision: Decision) -> None:
        if not self._may(decision):
            return
        self._decision = decision
        if decision == "edit" and not self.sheet.is_changed:
            return self.panel.tell(TEXTS.change_first)
        try:
            self._target = self._target_of(decision)
        except InvalidError as error:
            return await self._complain(error)
        if not self._target:
            return await self._send(decision)
        self.panel.ask_for(self._target)
        await self.enter("confirming")

    def _target_of(self, decision: Decision) -> ConfirmationTarget | None:
        if decision not in ("approve", "edit"):
            return None
        return target_of(self.request, self.sheet.edited() if decision == "edit" else editable(self.request))

    async def _send(self, decision: Decision) -> None:
        if self._sending:
            return
        self._sending = True
        self.panel.tell(TEXTS.sending)
        try:
            done = await self._answer(decision)
        except InvalidError as error:
            await self._complain(error)
        except RingiError as error:
            self.panel.tell(visible(str(error)))
            if isinstance(error, RequestEndedError):
                self._sending = False
                await self.refresh_request()
        else:
            # Stay in the sending state: a repeated key must not send again.
            return self._leave(done)
        self._sending = False

    async def _answer(self, decision: Decision) -> Request:
        needs_data = decision in ("approve", "edit") or (decision == "respond" and self.sheet.is_changed)
        body = answer(
            self.request,
            decision,
            data=self.sheet.data() if needs_data else None,
            edited=self.sheet.edited() if decision == "edit" else {},
            message=self.panel.text(self.draft.mode),
        )
        return await self.controller.inbox.answer(
            self.request.id, Answer.parse(body), by=self.controller.name, channel="watch"
        )

    async def _complain(self, error: InvalidError) -> None:
        if self.draft.mode == "confirming":
            await self.action_back()
        rest = self.sheet.complain(error.errors)
        if rest and self.draft.mode in self.panel.boxes:
            self.panel.boxes[self.draft.mode].complain("; ".join(error.message for error in rest))
            rest = []
        messages = [TEXTS.fix_fields, *(f"{error.field}: {error.message}" for error in rest)]
        self.panel.tell(visible(" · ".join(messages)))

    def _leave(self, done: Request) -> None:
        self.controller.drafts.pop(done.id, None)
        requests = self.controller.requests
        requests.take(done)
        to = requests.neighbor(done.id, 1) or requests.neighbor(done.id, -1)
        self.post_message(self.Left(to, TEXTS.done.format(what=request_view.decision_name(done), title=done.title)))

    def _may(self, decision: Decision) -> bool:
        if self.request.is_final or self._sending:
            return False
        if not self._ready:
            self._holding.reset()
            return False
        if decision not in self.request.allowed:
            allowed = ", ".join(TEXTS.button[offered].lower() for offered in self.request.allowed)
            self.panel.tell(TEXTS.not_offered.format(decision=TEXTS.button[decision].lower(), allowed=allowed))
            return False
        return True

    async def _be_ready(self) -> None:
        if not self._ready:
            self._ready = True
            await self.enter(self.draft.mode)

    def _tick(self) -> None:
        self.query_one("#standing", Static).update(request_view.status_line(self.request, self.controller.now()))

    def _show_keys(self) -> None:
        if self.request.is_final:
            keys = TEXTS.dead_keys
        elif self.draft.mode != "deciding":
            keys = TEXTS.mode_keys
        elif self.box_in_use:
            keys = TEXTS.field_keys
        else:
            keys = TEXTS.detail_keys
        self.panel.tell_keys(keys)
