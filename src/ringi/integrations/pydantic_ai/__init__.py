"""Conversations and answers of people for plain code of Pydantic AI, without a worker of Ringi."""

from typing import TYPE_CHECKING

from ringi.base.extras import lazy_exports

if TYPE_CHECKING:
    from ringi.integrations.pydantic_ai.conversations import RingiConversationStore
    from ringi.integrations.pydantic_ai.waiter import RingiEventWaiter, ask_people

__all__ = ["RingiConversationStore", "RingiEventWaiter", "ask_people"]

__getattr__ = lazy_exports(
    __name__, {"conversations": "RingiConversationStore", "waiter": "RingiEventWaiter ask_people"}
)
