"""The parts that a server depends on."""

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
    """The open components that a server uses; the caller that opened them closes them."""

    backend: Backend
    inbox: Inbox
    runner: Runner | None
    keys: Keys
    settings: ServerSettings
    deliveries: Deliveries
