"""Sample requests for a demo without agents."""

from __future__ import annotations

from typing import Any

from ringi.domain.ask import Action
from ringi.forms.form import Form, Select, TextArea
from ringi.inbox.inbox import Inbox

SPORTS = ["basketball", "football", "swimming", "running"]
SAMPLES: dict[str, tuple[str, dict[str, Any]]] = {
    "sample-question": ("Which color should the poster have?", {}),
    "sample-form": (
        "Which sport do you like?",
        {
            "form": Form(
                [Select("sport", label="Your favorite sport", required=True, options=SPORTS), TextArea("notes")]
            )
        },
    ),
    "sample-mail": (
        "Send this mail?",
        {
            "action": Action(
                "send_mail",
                {
                    "to": "aiko.mori@example.com",
                    "subject": "Your order 1182",
                    "body": "Your parcel came nine days late. I am sorry for that.",
                },
            )
        },
    ),
    "sample-delete": (
        "Delete customer c-77?",
        {"action": Action("delete_customer", {"customer": "c-77"}), "tier": "irreversible"},
    ),
    "sample-refund": (
        "Refund 40 for order 1182?",
        {
            "description": "The parcel came nine days late and the customer wrote twice.",
            "action": Action("refund", {"order": 1182, "amount": 40}),
        },
    ),
}
"""The title and the other fields of each request, by its id."""


async def ask_samples(inbox: Inbox) -> None:
    """Ask the samples, once: an id that exists is not asked again."""
    for id, (title, fields) in SAMPLES.items():
        await inbox.ask(title, id=id, **fields)
