"""The route of the images of threads."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote

from fastapi import Path
from starlette.responses import Response as HttpResponse

from ringi.domain.record import Key
from ringi.domain.thread import Thread
from ringi.errors import NotFoundError
from ringi.files.images import Images
from ringi.server.auth.permissions import require_readable_thread
from ringi.server.callers import AnyCaller, Components
from ringi.server.openapi import route_docs, router_of

router = router_of("threads")


@router.get("/v1/threads/{id}/images/{number}", **route_docs(None, file="image/*"))
async def image(caller: AnyCaller, components: Components, id: str, number: Annotated[int, Path(ge=1)]) -> HttpResponse:
    """Return an image of a message; browsers may display it inline, because only images are stored."""
    backend, images = components.backend, Images(components.backend.stream)
    thread = require_readable_thread(caller, await backend.store.get(Thread, *Key(caller.tenant, id)))
    if number not in (thread.images or ()):
        raise NotFoundError("image", f"{id}/{number}")
    file = await images.find(thread.key, number)
    headers = {"content-disposition": f"inline; filename*=UTF-8''{quote(file['name'], safe='')}"}
    return HttpResponse(await images.content(thread.key, file), 200, headers, file["media_type"])
