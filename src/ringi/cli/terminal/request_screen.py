"""One request on the screen: it stays where it is, whatever happens elsewhere, until it is decided."""

from __future__ import annotations

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Button, Input, Static

from ringi.cli.format.visible import visible
from ringi.cli.terminal import pieces
from ringi.cli.terminal.controller import InboxController
from ringi.cli.terminal.controls import WordsControl
from ringi.cli.terminal.draft import Mode, Target, answer, editable, target_of
from ringi.cli.terminal.field_box import FieldBox
from ringi.cli.terminal.panel import Panel
from ringi.cli.terminal.sheet import Sheet
from ringi.cli.terminal.words import ENGLISH as WORDS
from ringi.domain.ask import Answer, Decision
from ringi.domain.request import Request
from ringi.errors import FinalError, InvalidError, RingiError

LETTERS = ("approve", "edit", "reject", "respond", "claim", "release", "neighbour")
"""What single letters do, as long as they are not typed into a field."""
SENT_BY: dict[Mode, Decision] = {"editing": "edit", "rejecting": "reject", "answering": "respond"}
AGAIN = 1.0
"""Seconds after which a store that could not be read is asked again."""
HELD_KEY = 0.4
"""Seconds without a key before a request that opened by itself can be decided: a key held down decides one."""


class RequestScreen(Screen[None]):
    """What would happen, what the agent says, and the decision."""

    BINDINGS = [
        Binding("a", "approve"),
        Binding("e", "edit"),
        Binding("r", "reject"),
        Binding("m", "respond"),
        Binding("c", "claim"),
        Binding("u", "release"),
        Binding("j", "neighbour(1)"),
        Binding("k", "neighbour(-1)"),
        Binding("ctrl+s", "send"),
        Binding("escape", "back"),
    ]
    AUTO_FOCUS = "Sheet"

    class Left(Message):
        """The person goes back to the list, or on to another request; `told` says what was done."""

        def __init__(self, to: Request | None, told: str = "") -> None:
            super().__init__()
            self.to, self.told = to, told

    def __init__(self, desk: InboxController, request: Request, told: str = "") -> None:
        super().__init__()
        self.desk, self.request, self.draft = desk, request, desk.drafts[request.id]
        self.sheet, self.panel = Sheet(request, self.draft), Panel(request, self.draft)
        self._told, self._decision, self._sending = told, SENT_BY.get(self.draft.mode, "approve"), False
        self._ready = not told
        self._target: Target | None = None

    def compose(self) -> ComposeResult:
        """Lay out the heading, the sheet and the panel."""
        yield Static(id="standing")
        yield self.sheet
        yield self.panel

    async def on_mount(self) -> None:
        """Draw where it stands and let the time run."""
        self.panel.tell(visible(self._told))
        self._holding = self.set_timer(HELD_KEY, self._be_ready)
        self.set_interval(1, self._tick)
        await self.enter("deciding" if self.draft.mode == "confirming" else self.draft.mode)
        await self.look()

    async def requests_changed(self, ids: set[str]) -> None:
        """Show what happened to this request elsewhere; what is typed stays."""
        if self.request.id in ids and not self._sending:
            await self.look()

    async def look(self) -> None:
        """Read the request again and show where it stands."""
        try:
            request = await self.desk.inbox.get(self.request.id)
            events = await self.desk.inbox.events(request_id=request.id)
        except RingiError as error:
            self.panel.tell(visible(str(error)))
            self.set_timer(AGAIN, self.look)
            return
        ended, self.request, self.panel.request = request.is_final, request, request
        self.sheet.tell_history(events)
        self._tick()
        if ended:
            words = WORDS.ended_here if self.draft.typed else WORDS.ended_silent
            self.panel.tell(words.format(outcome=pieces.ending(request, events)))
            self.sheet.freeze()
            self.panel.freeze()
            await self.panel.offer_nothing()
            self.sheet.focus()
            self._tell_keys()

    async def enter(self, mode: Mode) -> None:
        """Open what a mode needs and go there."""
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
        self._tell_keys()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave letters to the field in which they are typed."""
        return not (action in LETTERS and self.box_in_use)

    @property
    def box_in_use(self) -> FieldBox | None:
        """The field in which the cursor is."""
        within = self.focused.ancestors_with_self if self.focused else ()
        return next((widget for widget in within if isinstance(widget, FieldBox)), None)

    async def action_approve(self) -> None:
        """Approve; answer what is only to be answered."""
        if "approve" in self.request.allowed or "respond" not in self.request.allowed:
            await self._decide("approve")
        else:
            await self.action_respond()

    async def action_edit(self) -> None:
        """Open the values that can be changed."""
        if self._may("edit") and not self.sheet.can_be_edited:
            self.panel.tell(WORDS.nothing_to_edit)
        elif self._may("edit"):
            await self._begin("editing")

    async def action_reject(self) -> None:
        """Ask for the reason."""
        if self._may("reject"):
            await self._begin("rejecting")

    async def action_respond(self) -> None:
        """Ask for the words."""
        if self._may("respond"):
            await self._begin("answering")

    async def action_claim(self) -> None:
        """Keep others from it."""
        self.panel.tell(await self.desk.claim(self.request))

    async def action_release(self) -> None:
        """Let others have it."""
        self.panel.tell(await self.desk.release(self.request))

    def action_neighbour(self, step: int) -> None:
        """Go to the next request that waits, or the one before."""
        if to := self.desk.live.neighbour(self.request.id, step):
            # The next key may come before the other request does, and is not meant for this one.
            self._sending = True
            self.post_message(self.Left(to))

    @on(WordsControl.Sent)
    async def action_send(self) -> None:
        """Send what the open mode is for; from inside a form, the form."""
        if self.draft.mode == "confirming":
            await self._confirm()
        elif self.draft.mode != "deciding":
            await self._decide(SENT_BY[self.draft.mode])
        elif self.box_in_use:
            await self.action_approve()

    async def action_back(self) -> None:
        """Leave the field, then the mode, then the request."""
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
            self.draft.typed[typed.path] = typed.held
        else:
            self.draft.typed.pop(typed.path, None)

    def on_descendant_focus(self) -> None:
        """Say which keys work here."""
        self._tell_keys()

    async def _begin(self, mode: Mode) -> None:
        self.panel.tell("")
        self._decision = SENT_BY[mode]
        await self.enter(mode)

    async def _confirm(self) -> None:
        if self._target and not self._target.is_named(self.panel.words("confirming")):
            self.panel.boxes["confirming"].complain(WORDS.target_differs.format(name=f"“{self._target.name}”"))
        else:
            await self._send(self._decision)

    async def _decide(self, decision: Decision) -> None:
        if not self._may(decision):
            return
        self._decision = decision
        if decision == "edit" and not self.sheet.is_changed:
            return self.panel.tell(WORDS.change_first)
        try:
            self._target = self._target_of(decision)
        except InvalidError as error:
            return await self._complain(error)
        if not self._target:
            return await self._send(decision)
        self.panel.ask_for(self._target)
        await self.enter("confirming")

    def _target_of(self, decision: Decision) -> Target | None:
        if decision not in ("approve", "edit"):
            return None
        return target_of(self.request, self.sheet.edited() if decision == "edit" else editable(self.request))

    async def _send(self, decision: Decision) -> None:
        if self._sending:
            return
        self._sending = True
        self.panel.tell(WORDS.sending)
        try:
            done = await self._answer(decision)
        except InvalidError as error:
            await self._complain(error)
        except RingiError as error:
            self.panel.tell(visible(str(error)))
            if isinstance(error, FinalError):
                self._sending = False
                await self.look()
        else:
            # Still sending: the same key once more, already on its way, must not send again.
            return self._leave(done)
        self._sending = False

    async def _answer(self, decision: Decision) -> Request:
        needs_data = decision in ("approve", "edit") or (decision == "respond" and self.sheet.is_changed)
        body = answer(
            self.request,
            decision,
            data=self.sheet.data() if needs_data else None,
            edited=self.sheet.edited() if decision == "edit" else {},
            message=self.panel.words(self.draft.mode),
        )
        return await self.desk.inbox.answer(self.request.id, Answer.parse(body), by=self.desk.name, channel="watch")

    async def _complain(self, error: InvalidError) -> None:
        if self.draft.mode == "confirming":
            await self.action_back()
        rest = self.sheet.complain(error.errors)
        if rest and self.draft.mode in self.panel.boxes:
            self.panel.boxes[self.draft.mode].complain("; ".join(wrong.message for wrong in rest))
            rest = []
        told = [WORDS.fix_fields, *(f"{wrong.field}: {wrong.message}" for wrong in rest)]
        self.panel.tell(visible(" · ".join(told)))

    def _leave(self, done: Request) -> None:
        self.desk.drafts.pop(done.id, None)
        live = self.desk.live
        live.take(done)
        to = live.neighbour(done.id, 1) or live.neighbour(done.id, -1)
        self.post_message(self.Left(to, WORDS.done.format(what=pieces.decided(done), title=done.title)))

    def _may(self, decision: Decision) -> bool:
        if self.request.is_final or self._sending:
            return False
        if not self._ready:
            self._holding.reset()
            return False
        if decision not in self.request.allowed:
            allowed = ", ".join(WORDS.button[offered].lower() for offered in self.request.allowed)
            self.panel.tell(WORDS.not_offered.format(decision=WORDS.button[decision].lower(), allowed=allowed))
            return False
        return True

    async def _be_ready(self) -> None:
        if not self._ready:
            self._ready = True
            await self.enter(self.draft.mode)

    def _tick(self) -> None:
        self.query_one("#standing", Static).update(pieces.standing(self.request, self.desk.now()))

    def _tell_keys(self) -> None:
        if self.request.is_final:
            keys = WORDS.dead_keys
        elif self.draft.mode != "deciding":
            keys = WORDS.mode_keys
        elif self.box_in_use:
            keys = WORDS.field_keys
        else:
            keys = WORDS.detail_keys
        self.panel.tell_keys(keys)
