"""The page: one HTML file for all its URLs, and its assets."""

from __future__ import annotations

import os
from html import escape

from anyio import to_thread
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request as HttpRequest
from starlette.responses import FileResponse, HTMLResponse
from starlette.responses import Response as HttpResponse
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from ringi.server import problems
from ringi.server.auth.authenticator import server_base_path
from ringi.server.settings import ServerSettings

ADDRESSES = (
    "/", "/r/{id}", "/threads", "/t/{id}", "/chat", "/chat/{id}", "/learning", "/learning/{id}", "/memory",
    "/operations", "/overview", "/grants", "/sessions/{id}",
)  # fmt: skip
UNVERSIONED_FILES = frozenset({"look.js", "stamp.svg", "stamp-dot.svg", "third-party-licenses.md"})
"""Files with fixed names, which must be revalidated on each use."""
IMMUTABLE = "public, max-age=31536000, immutable"
REMEDY = "the page is not built: run `make demo`, or `python3 hatch_build.py --build`, and reload"


class PageRoutes:
    """The built page."""

    def __init__(self, settings: ServerSettings) -> None:
        self._static = settings.static

    def routes(self) -> list[BaseRoute]:
        """Return the routes."""
        pages = [Route(path, self.page, methods=["GET"]) for path in ADDRESSES]
        assets = Mount("/assets", GZipMiddleware(PageAssets(directory=self._static / "assets", check_dir=False)))
        return [*pages, assets, *(Route(f"/{name}", self.file, methods=["GET"]) for name in UNVERSIONED_FILES)]

    async def page(self, http: HttpRequest, status: int = 200) -> HttpResponse:
        """Return the page."""
        try:
            built = await to_thread.run_sync((self._static / "index.html").read_text, "utf-8")
        except FileNotFoundError as error:
            raise HTTPException(503, REMEDY) from error
        text = page_with_base_path(built, escape(server_base_path(http.scope)))
        return HTMLResponse(text, status, {"cache-control": "no-cache"})

    async def not_found(self, http: HttpRequest, error: Exception) -> HttpResponse:
        """Return the page, which says that there is nothing here, to a browser; a problem document to a program."""
        wants_page = http.method == "GET" and "text/html" in http.headers.get("accept", "")
        if wants_page and (self._static / "index.html").is_file():
            return await self.page(http, 404)
        return await problems.respond_to_http_error(http, error)

    async def file(self, http: HttpRequest) -> HttpResponse:
        """Return a file next to the page."""
        file = self._static / http.url.path.rpartition("/")[2]
        if not file.is_file():
            raise HTTPException(404, "no such file")
        return FileResponse(file, headers={"cache-control": "no-cache"})


def page_with_base_path(page: str, base: str) -> str:
    """Return the page with asset URLs for its base path; its API calls use the same base path."""
    page = page.replace('="./', f'="{base}/')
    return page.replace("</title>", f'</title><meta name="ringi-base" content="{base}">') if base else page


class PageAssets(StaticFiles):
    """Files whose names change with their content."""

    async def check_config(self) -> None:
        """Accept a missing build: it contains no files."""
        if not await to_thread.run_sync(os.path.isdir, str(self.directory)):
            raise HTTPException(404, "no such file")

    async def get_response(self, path: str, scope: Scope) -> HttpResponse:
        """Return a file that a browser may cache indefinitely."""
        response = await super().get_response(path, scope)
        response.headers["cache-control"] = IMMUTABLE
        return response
