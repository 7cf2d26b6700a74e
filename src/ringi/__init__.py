"""An agent stops, asks a person, and goes on: minutes or months later, on any machine."""

from ringi import sync
from ringi.ask import Action, Answer, Ask, Button
from ringi.client import Client
from ringi.connect import open
from ringi.errors import RingiError
from ringi.form import (
    Boolean,
    Checkbox,
    Date,
    Form,
    MultiSelect,
    Number,
    Radio,
    Select,
    Slider,
    Text,
    TextArea,
)
from ringi.inbox import Inbox, Limits
from ringi.record import Event, Query
from ringi.request import Request, Response

__all__ = [
    "Action",
    "Answer",
    "Ask",
    "Boolean",
    "Button",
    "Checkbox",
    "Client",
    "Date",
    "Event",
    "Form",
    "Inbox",
    "Limits",
    "MultiSelect",
    "Number",
    "Query",
    "Radio",
    "Request",
    "Response",
    "RingiError",
    "Select",
    "Slider",
    "Text",
    "TextArea",
    "open",
    "sync",
]
