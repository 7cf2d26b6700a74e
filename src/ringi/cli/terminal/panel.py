"""What stands below a request: what happened last, the words to send, the buttons, the keys that work now."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Button, Static

from ringi.cli.format.visible import visible, visible_value
from ringi.cli.terminal.controls import LineControl, WordsControl
from ringi.cli.terminal.draft import Draft, Mode, Target
from ringi.cli.terminal.field_box import FieldBox
from ringi.cli.terminal.words import ENGLISH as WORDS
from ringi.domain.ask import Decision
from ringi.domain.request import Request

LETTER: dict[Decision, str] = {"approve": "a", "edit": "e", "reject": "r", "respond": "m"}
SOLE_ANSWER = "a"
"""The key to answer where nothing can be approved."""


class Panel(Vertical):
    """The place of the decision."""

    def __init__(self, request: Request, draft: Draft) -> None:
        super().__init__()
        self.request, self.draft = request, draft
        self.boxes: dict[Mode, FieldBox] = {
            "rejecting": self._box(":reason", WORDS.reason),
            "answering": self._box(":message", WORDS.your_answer),
            "confirming": FieldBox(":target", "", LineControl, untouched="", typed=""),
        }

    def compose(self) -> ComposeResult:
        """Lay out the lines and the buttons."""
        yield from self.boxes.values()
        yield Static(id="told")
        yield Horizontal(id="buttons")
        yield Static(id="keys")

    def tell(self, what: str) -> None:
        """Say something above the buttons."""
        line = self.query_one("#told", Static)
        line.update(Content(what))
        line.display = bool(what)

    def tell_keys(self, keys: str) -> None:
        """Say which keys work now."""
        self.query_one("#keys", Static).update(Content(keys))

    def words(self, mode: Mode) -> str:
        """Return what is written in the field of a mode."""
        return str(self.boxes[mode].control.held()) if mode in self.boxes else ""

    def freeze(self) -> None:
        """Take no more input; what is typed stays to be read."""
        for box in self.boxes.values():
            box.disabled = True

    def ask_for(self, target: Target) -> None:
        """Say what has to be typed before it goes on."""
        words = WORDS.target_argument if target.label else WORDS.target
        self.boxes["confirming"].relabel(words.format(label=target.label, name=f"“{target.name}”"))

    def open(self, mode: Mode) -> None:
        """Show the field of a mode, and no other."""
        for name, box in self.boxes.items():
            box.display = name == mode

    async def offer(self, mode: Mode, decision: Decision) -> None:
        """Show the buttons that a mode has."""
        bar = await self.offer_nothing()
        if mode == "deciding":
            await bar.mount(*(self._button(offered) for offered in self.request.allowed))
            return
        send_edit = self._label("edit") if self.request.kind == "finish" else WORDS.send_edit
        label = {"editing": send_edit, "confirming": WORDS.confirm}.get(mode, self._label(decision))
        await bar.mount(_button(label, "send", "ctrl+s"), _button(WORDS.back, "back", "esc"))

    async def offer_nothing(self) -> Horizontal:
        """Take the buttons away: nothing can be decided now."""
        bar = self.query_one("#buttons", Horizontal)
        await bar.remove_children()
        return bar

    def _button(self, decision: Decision) -> Button:
        return _button(self._label(decision), decision, self._letter(decision))

    def _letter(self, decision: Decision) -> str:
        sole = decision == "respond" and "approve" not in self.request.allowed
        return SOLE_ANSWER if sole else LETTER[decision]

    def _label(self, decision: Decision) -> str:
        words = WORDS.button_finish if self.request.kind == "finish" else WORDS.button
        own, given = words[decision], self.request.actions.get(decision)
        label = visible(given.label or "").strip() if given else ""
        if given and given.value is not None:
            return f"{own} → {visible_value(given.value)}"
        return own if label.lower() in ("", own.lower()) else WORDS.called_by_agent.format(own=own, given=label)

    def _box(self, path: str, label: str) -> FieldBox:
        return FieldBox(path, label, WordsControl, untouched="", typed=self.draft.typed.get(path, ""))


def _button(label: str, action: str, key: str) -> Button:
    return Button(Content(f"{label} [{key}]"), name=action, compact=True)
