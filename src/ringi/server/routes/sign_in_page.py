"""The error page of a failed sign-in: the person arrives from the provider without an open page of Ringi."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from logging import getLogger

from starlette.requests import Request as HttpRequest
from starlette.responses import HTMLResponse
from starlette.responses import Response as HttpResponse

from ringi.base.texts import code_of
from ringi.errors import RingiError
from ringi.server.auth.authenticator import base_of
from ringi.server.language import language_for
from ringi.server.problems import response_of

log = getLogger(__name__)


@dataclass(frozen=True)
class PageTexts:
    """The texts of the page in one language."""

    title: str
    failed: str
    stranger: str
    unavailable: str
    again: str
    back: str


TEXTS = {
    "en": PageTexts(
        title="You are not signed in",
        failed="The sign-in did not succeed. Try again. If it fails again, give the text below to your administrator.",
        stranger="Your account may not use Ringi. Ask your administrator for access, and give them the text below.",
        unavailable="Your organisation's sign-in cannot be reached. Try again in a moment.",
        again="Try again",
        back="Back to Ringi",
    ),
    "ja": PageTexts(
        title="サインインしていません",
        failed="サインインできませんでした。もう一度お試しください。解決しない場合は、下のコードと時刻を管理者に伝えてください。",
        stranger="このアカウントでは Ringi を利用できません。下のコードを添えて、管理者に利用を申請してください。",
        unavailable="組織のサインインに接続できません。しばらくしてからもう一度お試しください。",
        again="もう一度試す",
        back="Ringi に戻る",
    ),
    "zh": PageTexts(
        title="您尚未登录",
        failed="登录未成功，请重试。如果仍然失败，请将下面的代码和时间告知管理员。",
        stranger="您的账号无权使用 Ringi。请向管理员申请权限，并提供下面的代码。",
        unavailable="无法连接组织的登录服务，请稍后重试。",
        again="重试",
        back="返回 Ringi",
    ),
}
PAGE = """<!doctype html>
<html lang="{language}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark"><title>{title} · Ringi</title>
<style>body{{font:16px/1.6 system-ui,sans-serif;max-width:32rem;margin:15vh auto;padding:0 1rem}}
code{{display:block;overflow-wrap:anywhere;padding:.5rem .75rem;border:1px solid #8888}}a{{margin-right:1.5rem}}</style>
</head><body><main><h1>{title}</h1><p>{why}</p><p><code>{detail}</code></p>
<p><a href="{again_at}">{again}</a><a href="{back_at}">{back}</a></p></main></body></html>
"""


def wants_page(http: HttpRequest) -> bool:
    """Return whether the client is a browser, not a program."""
    return "text/html" in http.headers.get("accept", "")


def error_page(http: HttpRequest, error: RingiError, again_at: str) -> HttpResponse:
    """Return the page for an error; the provider's message is escaped as text, and only in English."""
    language, base, problem = language_for(http.scope), base_of(http.scope), response_of(error)
    page = TEXTS[language]
    why = {403: page.stranger, 503: page.unavailable}.get(problem.status_code, page.failed)
    # The detail is in English: other readers get its code, and the administrator finds the detail in the log.
    log.warning("sign-in failed (%s): %s", code_of(error), error)
    detail = str(error) if language == "en" else code_of(error)
    values = {"title": page.title, "why": why, "detail": detail, "again": page.again, "back": page.back}
    links = {"language": language, "again_at": f"{base}{again_at}", "back_at": f"{base}/"}
    escaped = {name: escape(text) for name, text in {**values, **links}.items()}
    headers = {name: value for name, value in problem.headers.items() if name == "retry-after"}
    return HTMLResponse(PAGE.format(**escaped), problem.status_code, headers)
