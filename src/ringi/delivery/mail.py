"""Mails about requests, with what a request displays as lines: a link for signed-in users, but no way to decide."""

from __future__ import annotations

import asyncio
import html
import smtplib
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from email.header import Header
from email.message import EmailMessage
from email.policy import Policy
from email.utils import formatdate
from functools import partial
from itertools import islice
from urllib.parse import quote

from ringi.base.alphabets import mixed_words, with_code_points
from ringi.base.texts import LANGUAGES, translate_sentences
from ringi.delivery.addresses import find_tls_error
from ringi.delivery.receivers import DeliveryResult
from ringi.delivery.settings import STARTTLS, Mailbox, MailSettings
from ringi.domain.display import Block, Code, Diff, Link, Table, display_block_summary
from ringi.domain.request import Request

TEXTS_BY_NAME: dict[str, tuple[str, str, str]] = {
    "request.created": ("A question waits for you", "回答待ちの依頼があります", "有一项请求等待您的答复"),
    "request.reassigned": ("A question was passed on to you", "依頼が引き継がれました", "有一项请求转交给您"),
    "request.escalated": (
        "A question that nobody has answered now waits for you too",
        "未回答の依頼があなたにも回ってきました",
        "一项无人答复的请求现在也等待您答复",
    ),
    "request.reminded": ("A question still waits for you", "依頼がまだ回答待ちです", "仍有一项请求等待您的答复"),
    "request.expired": (
        "A question has expired unanswered",
        "依頼は回答のないまま期限切れになりました",
        "请求已过期，无人答复",
    ),
    "asked": ("Asked by", "依頼者", "提出者"),
    "action": ("What it would let happen", "実行される操作", "将要执行的操作"),
    "due": ("Wanted by", "希望期日", "希望答复时间"),
    "until": ("Answers count until", "回答期限", "答复截止时间"),
    "mixed": ("Look-alike letters of another alphabet", "別の文字体系のよく似た文字", "来自其他字母表的形似字母"),
    "shown": ("On the page", "画面に表示", "页面上显示"),
    "table": ("Table", "表", "表格"),
    "image": ("Image", "画像", "图片"),
    "code": ("Code", "コード", "代码"),
    "diff": ("Change", "変更点", "改动"),
    "link": ("Link", "リンク", "链接"),
    "more": ("{n} more on the page", "ほか {n} 行は画面に表示", "另有 {n} 行见页面"),
    "open": ("See the question", "依頼を見る", "查看请求"),
    "safe": (
        "Opening the link decides nothing. You decide on the page, signed in.",
        "リンクを開くだけでは何も決まりません。サインインして画面で決定してください。",
        "打开链接不会作出任何决定。请登录后在页面上决定。",
    ),
}
"""Each text in English, Japanese and Chinese, as `LANGUAGES` orders them."""
TEXTS = {language: {name: texts[n] for name, texts in TEXTS_BY_NAME.items()} for n, language in enumerate(LANGUAGES)}
MOST_LINES = 20
"""Rows of a table, or lines of code or of a diff, in a mail; the page shows all."""
MOST_CHARACTERS = 200
"""The maximum number of characters in one line."""
MOST_CELL = 60


class Mailer:
    """Sends mails."""

    def __init__(self, settings: MailSettings, timeout: float) -> None:
        import httpx  # For mail only.

        self._settings, self._timeout, self._tls = settings, timeout, httpx.create_ssl_context()

    async def send(self, mailbox: Mailbox, id: str, type: str, request: Request) -> DeliveryResult:
        """Send one mail and return the outcome; never raises."""
        started = time.monotonic()
        code: int | None = 250
        error: str | None = None
        try:
            await asyncio.to_thread(self._send, compose_mail(self._settings, mailbox, id, type, request))
        except smtplib.SMTPAuthenticationError as refused:
            code, error = refused.smtp_code, f"{refused.smtp_code}: the mail server rejected the password"
        except smtplib.SMTPResponseException as refused:
            code, error = refused.smtp_code, f"{refused.smtp_code}: the mail server rejected the mail"
        except smtplib.SMTPRecipientsRefused as refused:
            ((code, _),) = refused.recipients.values()
            error = f"{code}: the mail server rejected the recipient"
        except (smtplib.SMTPException, OSError, ValueError) as failure:
            code, error = None, find_tls_error(failure) or f"{failure.__class__.__name__}: {failure}"
        return DeliveryResult(round(time.monotonic() - started, 3), code, error)

    def _send(self, message: EmailMessage) -> None:
        scheme, host, port, user, password = self._settings.parts
        is_tls = scheme == "smtps"
        connect: Callable[..., smtplib.SMTP] = partial(smtplib.SMTP_SSL, context=self._tls) if is_tls else smtplib.SMTP
        server = connect(host, port, timeout=self._timeout)
        try:
            server.ehlo()
            if not is_tls and server.has_extn("starttls"):
                server.starttls(context=self._tls)
                is_tls = True
            if not is_tls and (user or scheme == STARTTLS):
                remedy = "Ringi sends no password without TLS, and with smtp+starttls no mail"
                raise smtplib.SMTPNotSupportedError(f"the mail server offers no TLS; {remedy}")
            if user:
                server.login(user, password or "")
            server.send_message(message)
            # Errors from here on are no reason to send the mail again.
            with suppress(smtplib.SMTPException, OSError):
                server.quit()
        finally:
            server.close()


def compose_mail(settings: MailSettings, mailbox: Mailbox, id: str, type: str, request: Request) -> EmailMessage:
    """Return the mail. Arguments are excluded, because mailboxes are not confidential; display blocks are abridged."""
    texts, link = TEXTS[mailbox.language], f"{settings.page}/r/{quote(request.id, safe='')}"
    own = request.wording.title if request.wording else ()
    title = mail_line_of_text(translate_sentences(request.title, own, mailbox.language))
    facts = [(texts["asked"], mail_line_of_text(request.asked_by or ""))]
    facts.append((texts["action"], mail_line_of_text(request.action.name) if request.action else ""))
    facts.append((texts["due"], f"{request.due_at:%Y-%m-%d %H:%M %Z}" if request.due_at else ""))
    facts.append((texts["until"], f"{request.expires_at:%Y-%m-%d %H:%M %Z}" if request.expires_at else ""))
    sections = ["\n".join(mail_lines_of_block(block, texts)) for block in request.display or ()]
    mixed = mixed_words("\n".join([title, *(value for _, value in facts), *sections]))
    words = dict.fromkeys(f"{word.text}: {with_code_points(word.letters)}" for word in mixed)
    facts.append((texts["mixed"], "; ".join(words)))
    lines = [f"{name}: {value}" for name, value in facts if value]
    blocks = "\n\n".join([f"{texts['shown']}:", *sections]) if sections else ""
    message = EmailMessage()
    message["Subject"] = EncodedSubject(f"{texts[type]}: {title}"[:200])
    message["From"], message["To"], message["Date"] = settings.sender, mailbox.address, formatdate()
    message["Message-ID"] = f"<{id}.{mailbox.id}@ringi>"
    message["Auto-Submitted"] = "auto-generated"
    head = [texts[type], "", title, *lines, "", *([blocks, ""] if blocks else [])]
    message.set_content("\n".join([*head, f"{texts['open']}: {link}", "", texts["safe"], ""]))
    rows = "".join(f"<p>{html.escape(line)}</p>" for line in lines)
    rows += f"<pre>{html.escape(blocks)}</pre>" if blocks else ""
    message.add_alternative(
        f'<!doctype html><html lang="{mailbox.language}"><body><p>{texts[type]}</p><h1>{html.escape(title)}</h1>{rows}'
        f'<p><a href="{html.escape(link)}">{texts["open"]}</a></p><p>{texts["safe"]}</p></body></html>',
        subtype="html",
    )
    return message


class EncodedSubject(str):
    """A subject that is always written as encoded words.

    `EmailMessage` decodes encoded words in a plain string: `=?utf-8?q?=0d=0aReply-To:…?=` would become a header.
    """

    __slots__ = ()
    name = "Subject"

    def fold(self, *, policy: Policy) -> str:
        """Return the header's lines."""
        value = Header(self, "utf-8", header_name=self.name).encode(linesep=policy.linesep)
        return f"{self.name}: {value}{policy.linesep}"


def mail_line_of_text(text: str) -> str:
    """Return an agent's text as one line, without characters that hide it, reverse it, or make it a link."""
    return " ".join(_plain(text).split())


def mail_lines_of_block(block: Block, texts: Mapping[str, str]) -> Iterator[str]:
    """Yield the description of a block and then its content; images have no content."""
    yield mail_line_of_text(display_block_summary(block, texts))
    lines = _lines(block)
    for line in islice(lines, MOST_LINES):
        yield f"  {cut_with_ellipsis(line, MOST_CHARACTERS)}".rstrip()
    remaining = sum(1 for _ in lines)
    if remaining:
        yield f"  … {texts['more'].format(n=remaining)}"


def _lines(block: Block) -> Iterator[str]:
    match block:
        case Table(columns=columns, rows=rows):
            for row in (columns, *rows):
                cells = (mail_line_of_text("" if cell is None else str(cell)) for cell in row)
                yield " | ".join(cut_with_ellipsis(cell, MOST_CELL) for cell in cells)
        case Code(text=text):
            yield from map(_plain, text.splitlines())
        case Diff(before=before, after=after):
            yield from changed_diff_lines(before.splitlines(), after.splitlines())
        case Link(url=url):
            yield mail_line_of_text(url)


def changed_diff_lines(before: list[str], after: list[str]) -> Iterator[str]:
    """Yield the removed and the added lines, without the lines that both texts begin or end with."""
    shorter = min(len(before), len(after))
    start = next((n for n in range(shorter) if before[n] != after[n]), shorter)
    end = next((n for n in range(shorter - start) if before[-1 - n] != after[-1 - n]), shorter - start)
    yield from (f"- {_plain(line)}" for line in before[start : len(before) - end])
    yield from (f"+ {_plain(line)}" for line in after[start : len(after) - end])


def cut_with_ellipsis(text: str, limit: int) -> str:
    """Return a text of at most `limit` characters, with an ellipsis if it was cut."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _plain(text: str) -> str:
    return "".join(each if each.isprintable() else " " for each in text).replace("://", ": //")
