"""The routes of files that people attach to requests, and of the images of threads."""

from __future__ import annotations

import asyncio
import base64
from functools import partial
from typing import Annotated
from urllib.parse import quote

from fastapi import FastAPI, Path
from starlette.requests import Request as HttpRequest
from starlette.responses import Response as HttpResponse

from ringi.domain.ask import parse_body
from ringi.domain.decisions import refuse_files
from ringi.domain.record import Key
from ringi.domain.thread import Thread
from ringi.errors import InvalidError, NotFoundError
from ringi.files.attachments import Attachments, numbers_in
from ringi.files.images import Images
from ringi.server.auth.authenticator import Authenticator
from ringi.server.auth.permissions import inbox_for, require_answerable, require_person, require_readable_thread
from ringi.server.body import json_body
from ringi.server.components import ServerComponents
from ringi.server.openapi import route_docs
from ringi.server.replies import reply
from ringi.server.uploads import AttachedFile, Upload

AT = "/v1/requests/{id}/attachments"


class AttachmentRoutes:
    """Attached files over HTTP."""

    def __init__(self, components: ServerComponents, auth: Authenticator) -> None:
        self._components, self._auth = components, auth
        self._attachments = Attachments(components.backend.stream)

    def add_to(self, api: FastAPI) -> None:
        """Add the routes."""
        add = partial(api.add_api_route, tags=["requests"])
        add(AT, self.attach, methods=["POST"], **route_docs("AttachedFile", 201, body="Upload"))
        metadata = route_docs(None)
        metadata["responses"][200]["content"] = {"application/octet-stream": {"schema": {"type": "string"}}}
        add(f"{AT}/{{number}}", self.attachment, methods=["GET"], **metadata)

    async def attach(self, http: HttpRequest) -> HttpResponse:
        """Store a file for a field of a pending request; the answer's data refers to it by the returned object."""
        caller, id = self._auth.caller(http.scope), str(http.path_params["id"])
        require_person(caller)
        inbox = inbox_for(self._components.inbox, caller, require_answerable)
        # Before the body is read: a caller who may not answer must not send ten megabytes.
        refuse_files(await inbox.get(id), caller.decider, inbox.clock())
        upload = parse_body(Upload, await json_body(http, max_depth=self._components.settings.max_depth))
        try:
            content = await asyncio.to_thread(base64.b64decode, upload.data, validate=True)
        except ValueError as error:
            raise InvalidError.of("data", f"is not valid base64 ({error})") from None
        file = await inbox.attach(id, upload.field, upload.name, content, by=caller.decider)
        return reply(AttachedFile(**file), 201)

    async def attachment(self, http: HttpRequest, id: str, number: Annotated[int, Path(ge=1)]) -> HttpResponse:
        """Download a file that an answer refers to; before the answer is sent, only the uploader may."""
        caller = self._auth.caller(http.scope)
        inbox = inbox_for(self._components.inbox, caller)
        request = await inbox.get(id)
        stored = await self._attachments.find(request.key, number)
        is_own = caller.role != "agent" and stored is not None and stored.by == caller.name
        if not stored or not (is_own or number in numbers_in(request)):
            raise NotFoundError("attachment", f"{id}/{number}")
        name = quote(stored.file["name"], safe="")
        headers = {"content-disposition": f"attachment; filename*=UTF-8''{name}"}
        return HttpResponse(await inbox.attachment(id, number), 200, headers, stored.file["media_type"])


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
