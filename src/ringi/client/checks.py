"""The calls of a client about checks and suggested rules."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import quote

from ringi.base.canonical_json import jsonable
from ringi.client.transport import ApiCall, Transport
from ringi.domain.checks import CheckRecipe, CheckReport
from ringi.domain.request import Request
from ringi.domain.suggestions import Suggestion
from ringi.inbox.api import InboxAPI

CHECKS, SUGGESTIONS = "/v1/checks", "/v1/suggestions"


class CheckCalls(InboxAPI):
    """The part of a client that plants and lists checks, and switches on suggested rules."""

    _transport: Transport

    async def plant_checks(
        self, checks: Sequence[CheckRecipe | Mapping[str, Any]], *, by: str | None = None, share: float | None = None
    ) -> list[str]:
        await self._refuse_other(by)
        recipes = [each.model_dump(exclude_unset=True) if isinstance(each, CheckRecipe) else each for each in checks]
        body = {"checks": jsonable(recipes), **({} if share is None else {"share": share})}
        reply = await self._transport.call(ApiCall("POST", CHECKS, body=body, is_repeatable=False))
        return [str(id) for id in reply["ids"]]

    async def checks(self) -> CheckReport:
        return CheckReport.model_validate(await self._transport.call(ApiCall("GET", CHECKS)), extra="ignore")

    async def suggestions(self) -> list[Suggestion]:
        items = (await self._transport.call(ApiCall("GET", SUGGESTIONS)))["items"]
        return [Suggestion.model_validate(item, extra="ignore") for item in items]

    async def accept_suggestion(
        self,
        id: str,
        *,
        by: str | None = None,
        until: datetime | None = None,
        max_uses: int = 1_000,
        one_in: int = 20,
        groups: Sequence[str] = (),
    ) -> Request:
        await self._refuse_other(by)
        body = {"until": jsonable(until), "max_uses": max_uses, "one_in": one_in}
        path = f"{SUGGESTIONS}/{quote(id, safe='')}/accept"
        call = ApiCall("POST", path, id, body, is_repeatable=False, kind="suggestion")
        return Request.model_validate(await self._transport.call(call), extra="ignore")

    @abstractmethod
    async def _refuse_other(self, name: str | None) -> None:
        """Raise `ForbiddenError` if a name is not that of the token."""
