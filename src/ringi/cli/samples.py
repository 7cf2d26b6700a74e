"""Sample requests for a demo without agents."""

from __future__ import annotations

from ringi.domain.ask import Action
from ringi.domain.record import Query
from ringi.forms.form import Form, Select, TextArea
from ringi.inbox.inbox import Inbox

SPORTS = ["basketball", "football", "swimming", "running"]


async def ask_samples(inbox: Inbox) -> None:
    """Create one request of each kind, unless requests are pending."""
    if await inbox.count(Query(statuses=("pending",), limit=1)):
        return
    await inbox.ask("Which color should the poster have?")
    form = Form([Select("sport", label="Your favorite sport", required=True, options=SPORTS), TextArea("notes")])
    await inbox.ask("Which sport do you like?", form=form)
    await inbox.ask(
        "Refund 40 for order 1182?",
        description="The parcel came nine days late and the customer wrote twice.",
        action=Action("refund", {"order": 1182, "amount": 40}),
    )
