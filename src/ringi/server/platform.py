"""What a server stands on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ringi.server.settings import ServerSettings

if TYPE_CHECKING:
    from ringi.connect import Backend
    from ringi.delivery.deliveries import Deliveries
    from ringi.inbox.inbox import Inbox
    from ringi.runs.runner import Runner
    from ringi.server.auth.authenticator import Keys


@dataclass(frozen=True)
class Platform:
    """The open parts that a server serves; who opened them closes them."""

    backend: Backend
    inbox: Inbox
    runner: Runner | None
    keys: Keys
    settings: ServerSettings
    deliveries: Deliveries
