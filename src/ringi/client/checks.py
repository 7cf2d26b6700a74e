"""The calls of a client that plant and list checks."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from ringi.base.canonical_json import jsonable
from ringi.client.transport import ApiCall, Transport
from ringi.domain.checks import CheckRecipe, CheckReport
from ringi.inbox.api import InboxAPI

CHECKS = "/v1/checks"


class CheckCalls(InboxAPI):
    """The part of a client that plants and lists checks."""

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

    @abstractmethod
    async def _refuse_other(self, name: str | None) -> None:
        """Raise `ForbiddenError` if a name is not that of the token."""
