"""The routes of files that people attach to requests, and of the images of threads."""

from __future__ import annotations

from functools import partial
from typing import Annotated
from urllib.parse import quote

from fastapi import FastAPI, Path
from starlette.requests import Request as HttpRequest
from starlette.responses import Response as HttpResponse

from ringi.domain.record import Key
from ringi.domain.thread import Thread
from ringi.errors import NotFoundError
from ringi.files.images import Images
from ringi.server.auth.authenticator import Authenticator
from ringi.server.auth.permissions import require_readable_thread
from ringi.server.components import ServerComponents
from ringi.server.openapi import route_docs


class ImageRoutes:
    """Images of threads over HTTP."""

    def __init__(self, components: ServerComponents, auth: Authenticator) -> None:
        self._store, self._auth, self._images = components.backend.store, auth, Images(components.backend.stream)

    def add_to(self, api: FastAPI) -> None:
        """Add the route."""
        metadata = route_docs(None)
        metadata["responses"][200]["content"] = {"image/*": {"schema": {"type": "string"}}}
        add = partial(api.add_api_route, tags=["threads"])
        add("/v1/threads/{id}/images/{number}", self.image, methods=["GET"], **metadata)

    async def image(self, http: HttpRequest, id: str, number: Annotated[int, Path(ge=1)]) -> HttpResponse:
        """Return an image of a message; browsers may display it inline, because only images are stored."""
        caller = self._auth.caller(http.scope)
        thread = require_readable_thread(caller, await self._store.get(Thread, *Key(caller.tenant, id)))
        if number not in (thread.images or ()):
            raise NotFoundError("image", f"{id}/{number}")
        file = await self._images.find(thread.key, number)
        content = await self._images.content(thread.key, file)
        headers = {"content-disposition": f"inline; filename*=UTF-8''{quote(file['name'], safe='')}"}
        return HttpResponse(content, 200, headers, file["media_type"])
