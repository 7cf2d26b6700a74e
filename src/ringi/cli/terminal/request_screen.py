"""The screen of one request: the action, the agent's words, the form, and the decision."""

from __future__ import annotations

import unicodedata
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Literal, cast, get_args

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.reactive import var
from textual.widgets import Button, Footer, Input, Static

from ringi.cli.error_texts import cli_error_text, cli_field_error_text
from ringi.cli.format.output import escape_hidden_characters, json_value_for_people
from ringi.cli.format.requests import (
    TextSection,
    claim_text,
    deadline_text,
    decided_text,
    decision_name,
    decision_text_suffix,
    ended_check_text,
    request_end_text,
    request_history_text,
    request_origin_text,
    request_text_sections,
    title_of_request,
    voting_text,
)
from ringi.cli.keys import terminal_bindings, terminal_keys_of_area
from ringi.cli.terminal.confirmation import (
    ConfirmationFact,
    confirmation_fact,
    needs_confirmation_step,
    request_digest_number,
)
from ringi.cli.terminal.fields import (
    FieldBox,
    MessageArea,
    form_field_box,
    json_value_box,
    one_line_input,
    parse_typed_json,
    read_field_boxes,
    several_lines_input,
)
from ringi.cli.terminal.inbox_screen import InboxScreen
from ringi.cli.terminal.request_list import AGAIN, RequestList
from ringi.cli.texts import cli_text
from ringi.domain.ask import AGREEING, Answer, Decision
from ringi.domain.record import Event
from ringi.domain.request import Request
from ringi.errors import InvalidError, RingiError
from ringi.forms.form import Form

Mode = Literal["decide", "edit", "reject", "respond", "confirm"]
KEYS: dict[Decision, str] = {name: terminal_keys_of_area("request", name).split(",")[0] for name in get_args(Decision)}
HELD_KEY = 0.5
"""Seconds without a key before the next request can be decided, so that a held key decides only one."""
WHOLE = "data"
"""The path of an answer that is typed as one JSON value."""


def decision_action(decision: Decision) -> str:
    """Return the action of the screen that begins a decision."""
    return "approve" if decision == "approve" else f"begin('{decision}')"


class RequestScreen(InboxScreen):
    """One request. Text that was not sent stays in its fields while the screen exists."""

    BINDINGS = [
        *terminal_bindings("request", {name: decision_action(name) for name in get_args(Decision)}, show=False),
        *terminal_bindings("request", {"field": "app.focus_next", "next": "neighbor(1)"}),
        *terminal_bindings("request", {"previous": "neighbor(-1)", "send": "send"}),
    ]
    AUTO_FOCUS = "#sheet"
    mode: var[Mode] = var("decide", init=False)

    def __init__(
        self, requests: RequestList, request: Request, leave: Callable[[Request | None, str], Awaitable[None]]
    ) -> None:
        super().__init__(requests)
        self.request, self.leave, self.message = request, leave, ""
        self.form = request_form(request)
        self.fields = answer_field_boxes(request, self.form)
        self.edits = action_edit_boxes(request)
        several_lines = partial(several_lines_input, area=MessageArea)
        self.texts: dict[Mode, FieldBox] = {
            "reject": FieldBox(":reject", cli_text("message.reject"), several_lines, ""),
            "respond": FieldBox(":respond", cli_text("message.respond"), several_lines, ""),
            "confirm": FieldBox(":confirm", "", one_line_input, ""),
        }
        self.boxes = [*self.edits, *self.fields, *self.texts.values()]
        self.decision: Decision = "approve"
        self.fact: ConfirmationFact | None = None
        self._choices: dict[str, str] = {}
        self._wrong = 0
        self._sending, self._ready = False, True

    def compose(self) -> ComposeResult:
        """Create the widgets; the action comes before the agent's words."""
        parts = list(request_text_sections(self.request))
        yield Static(id="standing")
        with VerticalScroll(id="sheet"):
            yield Static(Content.styled(title_of_request(self.request), "bold"))
            yield from (request_section_box(part) for part in parts if part.source == "action")
            with Vertical(id="edits") as edits:
                edits.border_title = cli_text("finish" if self.request.kind == "finish" else "facts")
                if self.request.action:
                    yield Static(Content.styled(escape_hidden_characters(self.request.action.name), "bold"))
                yield from self.edits
            yield from (request_section_box(part) for part in parts if part.source != "action")
            yield from self.fields
            yield Static(id="history")
        with Vertical(id="panel"):
            yield from self.texts.values()
            yield Static(id="message")
            with Horizontal(id="decisions"):
                for decision in self.request.allowed:
                    is_only = decision == "respond" and "approve" not in self.request.allowed
                    key = "a" if is_only else KEYS[decision]
                    yield button_with_key(self._label(decision), decision_action(decision), key)
            with Horizontal(id="sending"):
                yield Button(id="send", name="send", compact=True)
                yield button_with_key(cli_text("back"), "back", "esc")
        yield Footer(compact=True)

    def on_mount(self) -> None:
        """Update the times every second."""
        self.set_interval(1, self._tick)

    async def on_screen_resume(self) -> None:
        """Show the request as it is now; after a decision, wait until no key is held."""
        self.tell(self.message)
        self._sending, self._ready = False, not self.message
        self._holding = self.set_timer(HELD_KEY, self._be_ready)
        await self.refresh_request()
        self._show_mode()

    @property
    def chosen(self) -> Request:
        """The request."""
        return self.request

    @property
    def has_unsent(self) -> bool:
        """Whether the person typed something that can still be sent."""
        return not self.request.is_final and any(box.is_changed for box in self.boxes)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable sending where nothing can be sent."""
        if action == "send":
            return not self.request.is_final and (self.mode != "decide" or self.in_field)
        return super().check_action(action, parameters)

    async def requests_changed(self, ids: set[str]) -> None:
        """Show changes of this request; what was typed stays."""
        if self.request.id in ids and not self._sending:
            await self.refresh_request()

    async def refresh_request(self) -> None:
        """Read the request again and show its status."""
        try:
            self.request = await self.requests.inbox.get(self.request.id)
            events = await self.requests.inbox.events(request_id=self.request.id)
        except RingiError as error:
            self.tell(cli_error_text(error))
            self.set_timer(AGAIN, self.refresh_request)
            return
        self._tick()
        history = [cli_text("history"), *request_history_text(events)]
        self.query_one("#history", Static).update(Content("\n".join(history)))
        if self.request.is_final:
            self._freeze(events)

    def watch_mode(self) -> None:
        """Show the fields and the buttons of the mode, and focus its first field."""
        self._show_mode()
        first = [*self.edits, *self.fields][0] if self.mode == "edit" else self.texts.get(self.mode)
        (self.query_one("#sheet") if first is None else first.control).focus()

    async def action_approve(self) -> None:
        """Approve, or answer a request that cannot be approved."""
        if "approve" in self.request.allowed or "respond" not in self.request.allowed:
            await self._decide("approve")
        else:
            self.action_begin("respond")

    def action_begin(self, decision: Literal["edit", "reject", "respond"]) -> None:
        """Open the fields of a decision."""
        if self._may(decision) and decision == "edit" and not (self.edits or self.fields):
            self.tell(cli_text("nothing_to_edit"))
        elif self._may(decision):
            self.tell("")
            self.decision = self.mode = decision

    def action_neighbor(self, step: int) -> None:
        """Open the next or the previous open request."""
        if to := self.requests.neighbor(self.request.id, step):
            # A key that arrives before the next request opens must not decide this one.
            self._sending = True
            self.app.call_later(self.leave, to, "")

    @on(MessageArea.Sent)
    async def action_send(self) -> None:
        """Send the answer of the current mode; from a form field, the form."""
        if self.mode == "confirm":
            await self._confirm()
        elif self.mode == "decide":
            await self.action_approve()
        else:
            await self._decide(self.mode)

    async def go_back(self) -> None:
        """Leave the field, the mode or the request."""
        if self.request.is_final or (self.mode == "decide" and not self.in_field):
            self.app.call_later(self.leave, None, "")
        elif self.mode in ("decide", "edit") and self.in_field:
            self.query_one("#sheet").focus()
        else:
            self.mode = "edit" if self.mode == "confirm" and self.decision == "edit" else "decide"

    @on(Button.Pressed)
    async def _pressed(self, pressed: Button.Pressed) -> None:
        await self.run_action(str(pressed.button.name))

    @on(Input.Submitted)
    async def _submitted(self) -> None:
        if self.mode == "confirm":
            await self._confirm()
        else:
            self.focus_next()

    async def _confirm(self) -> None:
        box = self.texts["confirm"]
        typed = unicodedata.normalize("NFKC", box.content).strip()
        if not self.fact or self._choices.get(typed) == self.fact.right:
            return await self._send(self.decision)
        self._wrong += 1
        self._ask_fact(self.fact)
        box.complain(cli_text("fact_wrong"))

    def _ask_fact(self, fact: ConfirmationFact) -> None:
        """Show the question of fact and its choices, in another order after each wrong answer."""
        choices = fact.choices(request_digest_number(self.request) + self._wrong)
        self._choices = {str(number): each for number, each in enumerate(choices, 1)}
        question = cli_text(f"fact.{fact.subject}", name=cli_text("quoted", text=fact.name))
        numbered = [f"{number}  {each}" for number, each in self._choices.items()]
        box = self.texts["confirm"]
        box.relabel("\n".join([question, *numbered, cli_text("fact_answer")]))
        with self.prevent(Input.Changed):  # It would clear the error of a wrong answer.
            cast(Input, box.control).clear()

    async def _decide(self, decision: Decision) -> None:
        if not self._may(decision):
            return
        self.decision = decision
        if decision == "edit" and not any(box.is_changed for box in [*self.edits, *self.fields]):
            return self.tell(cli_text("change_first"))
        try:
            args = self._args()
        except InvalidError as error:
            return self._complain(error)
        if decision not in AGREEING or not needs_confirmation_step(self.request):
            return await self._send(decision)
        self.fact = confirmation_fact(self.request, args)
        if self.fact:
            self._ask_fact(self.fact)
        else:
            self.texts["confirm"].relabel(cli_text("look_again"))
        self.mode = "confirm"

    async def _send(self, decision: Decision) -> None:
        if self._sending:
            return
        self._sending = True
        self.tell(cli_text("sending"))
        try:
            answer, by = Answer.parse(self._body(decision)), await self.requests.decider()
            done = await self.requests.inbox.answer(self.request.id, answer, by=by, channel="watch")
        except InvalidError as error:
            self._complain(error)
        except RingiError as error:
            self.tell(cli_error_text(error, is_deciding=True))
            if error.code == "final":
                await self.refresh_request()
        else:
            # Stay in the sending state: a repeated key must not send again.
            return self._done(done)
        self._sending = False

    def _body(self, decision: Decision) -> dict[str, Any]:
        """Return the answer, with the digest of the displayed request."""
        body: dict[str, Any] = {"decision": decision, "digest": self.request.digest}
        if decision in ("reject", "respond") and (message := self.texts[decision].content).strip():
            body["message"] = message
        is_filled = any(box.is_changed for box in self.fields)
        if self.fields and (decision in ("approve", "edit") or (decision == "respond" and is_filled)):
            values = read_field_boxes(self.fields)
            filled = {name: value for name, value in values.items() if value not in ("", None, [])}
            body["data"] = filled if self.form else values[WHOLE]
        if decision == "edit" and self.edits:
            whole = self._args() if self.request.action else {**body.get("data", {}), **self._args()}
            body["args" if self.request.action else "data"] = whole
        return body

    def _args(self) -> dict[str, Any]:
        """Return the arguments of the action, or the task of a finish gate, as the person edited them."""
        if self.decision != "edit":
            return self.request.action.args if self.request.action else {}
        values = read_field_boxes(self.edits)
        return {box.label: values[box.path] for box in self.edits}

    def _complain(self, error: InvalidError) -> None:
        """Show errors at their fields and focus the first; show the others as a message."""
        if self.mode == "confirm":
            self.mode = "edit" if self.decision == "edit" else "decide"
        message = cli_text("fix_fields")
        for each in error.errors:
            if box := next((box for box in self.boxes if box.owns(each.field)), self.texts.get(self.mode)):
                box.complain(cli_field_error_text(each))
            else:
                message += f" · {escape_hidden_characters(each.field)}: {cli_field_error_text(each)}"
        for box in [box for box in self.boxes if box.error][:1]:
            box.control.focus()
        self.tell(message)

    def _done(self, done: Request) -> None:
        self.request = done
        self.requests.take(done)
        to = self.requests.neighbor(done.id, 1, waiting=True) or self.requests.neighbor(done.id, -1, waiting=True)
        key = "done" if done.is_final else "held_done" if done.held else "own_vote"
        what = decided_text(done, done.held.decision) if done.held else decision_name(done)
        parts = [cli_text(key, what=what, title=title_of_request(done)), ended_check_text(done)]
        self.app.call_later(self.leave, to, " · ".join(filter(None, parts)))

    def _may(self, decision: Decision) -> bool:
        if self.request.is_final or self._sending:
            return False
        if not self._ready:
            self._holding.reset()
            return False
        if decision not in self.request.allowed:
            own, *allowed = (cli_text(f"button.{name}").lower() for name in (decision, *self.request.allowed))
            self.tell(cli_text("not_offered", decision=own, allowed=", ".join(allowed)))
            return False
        return True

    def _be_ready(self) -> None:
        self._ready = True
        self._show_mode()

    def _freeze(self, events: list[Event]) -> None:
        """Show the outcome and disable the fields; their content stays readable."""
        key = "ended_here" if any(box.is_changed for box in self.boxes) else "ended_silent"
        self.tell(cli_text(key, outcome=request_end_text(self.request, events)))
        self.query(FieldBox).set(disabled=True)
        for facts in self.query(".action, #edits"):
            facts.border_title = cli_text("facts_ended")
        self._show_mode()
        self.query_one("#sheet").focus()

    def _show_mode(self) -> None:
        is_open = self._ready and not self.request.is_final
        edits = bool(self.edits) and "edit" in (self.mode, self.mode == "confirm" and self.decision)
        self.query_one("#edits").display = edits
        self.query(".action").set(display=not edits)
        for mode, box in self.texts.items():
            box.display = mode == self.mode
        self.query_one("#decisions").display = is_open and self.mode == "decide"
        self.query_one("#sending").display = is_open and self.mode != "decide"
        edit = self._label("edit") if self.request.kind == "finish" else cli_text("send_edit")
        label = {"edit": edit, "confirm": cli_text("confirm")}.get(self.mode, self._label(self.decision))
        self.query_one("#send", Button).label = Content(f"{label} [ctrl+s]")
        self.refresh_bindings()

    def _label(self, decision: Decision) -> str:
        own = cli_text(f"button{decision_text_suffix(self.request)}.{decision}")
        offered = self.request.actions.get(decision)
        if offered and offered.value is not None:
            return f"{own} → {json_value_for_people(offered.value)}"
        label = escape_hidden_characters(offered.label or "").strip() if offered else ""
        return own if label.lower() in ("", own.lower()) else cli_text("called_by_agent", own=own, label=label)

    def _tick(self) -> None:
        request, now = self.request, self.requests.inbox.clock()
        left, is_urgent = deadline_text(request, now)
        parts = [cli_text(f"kind.{request.kind}"), *request_origin_text(request)]
        parts += [claim_text(request, now), *voting_text(request)]
        standing = [*map(Content, parts), Content.styled(left, "bold $warning" if is_urgent else "")]
        self.query_one("#standing", Static).update(Content(" · ").join(part for part in standing if part.plain))


def request_form(request: Request) -> Form | None:
    """Return the form of a request, made from its JSON schema if it is flat; None if there is none."""
    if request.form or request.data_schema is None:
        return request.form
    try:
        return Form.from_json_schema(request.data_schema)
    except InvalidError:
        return None


def answer_field_boxes(request: Request, form: Form | None) -> list[FieldBox]:
    """Return the fields of the form; without one, a field for an answer that fits the schema."""
    if form or request.data_schema is None:
        return [form_field_box(field) for field in form.fields] if form else []
    schema = json_value_for_people(request.data_schema)
    return [FieldBox(WHOLE, cli_text("answer_json"), several_lines_input, "{}", read=parse_typed_json, note=schema)]


def action_edit_boxes(request: Request) -> list[FieldBox]:
    """Return the fields of the action's arguments, or of the task of a finish gate."""
    if request.action:
        return [json_value_box(f"args.{name}", name, value) for name, value in request.action.args.items()]
    is_finish = request.kind == "finish"
    return [json_value_box("data.task", "task", str(request.context.get("task") or ""))] if is_finish else []


def request_section_box(section: TextSection) -> Static:
    """Return a part of a request: what will run in a frame, other words of the agent beside a line."""
    is_quiet = section.source == "agent"
    head = Content.styled(section.title if is_quiet else section.lines[0], "italic" if is_quiet else "bold")
    box = Static(Content("\n").join([head, *map(Content, section.lines[not is_quiet :])]), classes=section.source)
    box.border_title = None if is_quiet else section.title
    return box


def button_with_key(label: str, action: str, key: str) -> Button:
    """Return a button with its key."""
    return Button(Content(f"{label} [{key}]"), name=action, compact=True)
