"""The panel below a request: a message, the text field, the buttons and the keys."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Button, Static

from ringi.cli.format.visible import visible, visible_value
from ringi.cli.terminal.controls import LineControl, MessageControl
from ringi.cli.terminal.draft import ConfirmationTarget, Draft, Mode
from ringi.cli.terminal.field_box import FieldBox
from ringi.cli.terminal.texts import ENGLISH as TEXTS
from ringi.domain.ask import Decision
from ringi.domain.request import Request

LETTER: dict[Decision, str] = {"approve": "a", "edit": "e", "reject": "r", "respond": "m"}
SOLE_ANSWER = "a"
"""The key to answer a request that cannot be approved."""


class Panel(Vertical):
    """The panel of the decision."""

    def __init__(self, request: Request, draft: Draft) -> None:
        super().__init__()
        self.request, self.draft = request, draft
        self.boxes: dict[Mode, FieldBox] = {
            "rejecting": self._box(":reason", TEXTS.reason),
            "answering": self._box(":message", TEXTS.your_answer),
            "confirming": FieldBox(":target", "", LineControl, untouched="", typed=""),
        }

    def compose(self) -> ComposeResult:
        """Create the widgets."""
        yield from self.boxes.values()
        yield Static(id="message")
        yield Horizontal(id="buttons")
        yield Static(id="keys")

    def tell(self, what: str) -> None:
        """Show a message above the buttons."""
        line = self.query_one("#message", Static)
        line.update(Content(what))
        line.display = bool(what)

    def tell_keys(self, keys: str) -> None:
        """Show the available keys."""
        self.query_one("#keys", Static).update(Content(keys))

    def text(self, mode: Mode) -> str:
        """Return the text in the field of a mode."""
        return str(self.boxes[mode].control.raw_value()) if mode in self.boxes else ""

    def freeze(self) -> None:
        """Disable the fields; their content stays readable."""
        for box in self.boxes.values():
            box.disabled = True

    def ask_for(self, target: ConfirmationTarget) -> None:
        """Ask the person to type the name of the target."""
        words = TEXTS.target_argument if target.label else TEXTS.target
        self.boxes["confirming"].relabel(words.format(label=target.label, name=f"“{target.name}”"))

    def open(self, mode: Mode) -> None:
        """Show only the field of a mode."""
        for name, box in self.boxes.items():
            box.display = name == mode

    async def offer(self, mode: Mode, decision: Decision) -> None:
        """Show the buttons of a mode."""
        bar = await self.offer_nothing()
        if mode == "deciding":
            await bar.mount(*(self._button(offered) for offered in self.request.allowed))
            return
        send_edit = self._label("edit") if self.request.kind == "finish" else TEXTS.send_edit
        label = {"editing": send_edit, "confirming": TEXTS.confirm}.get(mode, self._label(decision))
        await bar.mount(_button(label, "send", "ctrl+s"), _button(TEXTS.back, "back", "esc"))

    async def offer_nothing(self) -> Horizontal:
        """Remove the buttons."""
        bar = self.query_one("#buttons", Horizontal)
        await bar.remove_children()
        return bar

    def _button(self, decision: Decision) -> Button:
        return _button(self._label(decision), decision, self._letter(decision))

    def _letter(self, decision: Decision) -> str:
        sole = decision == "respond" and "approve" not in self.request.allowed
        return SOLE_ANSWER if sole else LETTER[decision]

    def _label(self, decision: Decision) -> str:
        words = TEXTS.button_finish if self.request.kind == "finish" else TEXTS.button
        own, button = words[decision], self.request.actions.get(decision)
        label = visible(button.label or "").strip() if button else ""
        if button and button.value is not None:
            return f"{own} → {visible_value(button.value)}"
        return own if label.lower() in ("", own.lower()) else TEXTS.called_by_agent.format(own=own, label=label)

    def _box(self, path: str, label: str) -> FieldBox:
        return FieldBox(path, label, MessageControl, untouched="", typed=self.draft.typed.get(path, ""))


def _button(label: str, action: str, key: str) -> Button:
    return Button(Content(f"{label} [{key}]"), name=action, compact=True)
