"""The mail settings: the recipients and the mail server."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import unquote, urlsplit

from pydantic import Field

from ringi.base.model import StrictModel
from ringi.base.settings import SettingError, Settings, setting_variable_name
from ringi.base.texts import Language
from ringi.base.validation import Name
from ringi.domain.absence import Absence
from ringi.domain.ask import parse_body
from ringi.domain.record import DEFAULT_TENANT, Viewer
from ringi.domain.request import Request
from ringi.domain.voting import PersonName
from ringi.errors import InvalidError

log = logging.getLogger(__name__)
MAIL = "mail-"
"""The prefix of these receivers' names."""
STARTTLS = "smtp+starttls"
"""The scheme that requires STARTTLS: nothing is sent in clear text."""
REQUIRED = {
    "public_url": "set the address of the page, such as https://inbox.example.com",
    "mail_from": "set the sender of the mails, such as ringi@example.com",
    "mail_to": "give a JSON list of people, or the path of a file with one",
}
"""The settings that mail needs, each with the remedy if it is missing."""
PORTS = {"smtp": 587, STARTTLS: 587, "smtps": 465}


class Mailbox(StrictModel):
    """A person who receives mails about the requests that they may answer."""

    address: Annotated[str, Field(pattern=r"^[A-Za-z0-9!#$%&'*+/=^_`{|}~.-]{1,64}@[A-Za-z0-9.-]{1,255}$")]
    """A plain address: no display name, no quotes, and no `?`, which encoded words need."""
    name: PersonName
    """The name of the person's token."""
    groups: tuple[Name, ...] = ()
    admin: bool = False
    """True if the person administers the tenant; they receive mails about requests that nobody else on the list may
    answer."""
    language: Language = "en"
    tenant: str = DEFAULT_TENANT

    @property
    def id(self) -> str:
        """The name of this receiver, which does not reveal the address."""
        return f"{MAIL}{sha256(f'{self.tenant}/{self.name}'.encode()).hexdigest()[:12]}"

    def may_answer(self, request: Request, absences: Sequence[Absence] = ()) -> bool:
        """Return whether the person may answer this request.

        Args:
            request: The request.
            absences: The absences of its tenant.
        """
        deputy_for = tuple(each.viewer for each in absences if each.deputy == self.name)
        viewer = Viewer(name=self.name, groups=self.groups, deputy_for=deputy_for)
        return request.tenant == self.tenant and request.is_open_to(viewer)


class MailSettings(StrictModel):
    """The settings for sending mail."""

    server: str
    sender: str
    page: str
    """The URL of the page for people."""
    mailboxes: tuple[Mailbox, ...]

    @classmethod
    def of(cls, settings: Settings) -> MailSettings | None:
        """Return the settings of mail among all settings.

        Args:
            settings: All settings.

        Returns:
            The settings; None without `RINGI_SMTP_URL`.

        Raises:
            SettingError: A setting is missing or invalid; the error names it.
        """
        server = settings.smtp_url
        if not server:
            return None
        if urlsplit(server).scheme not in PORTS or not urlsplit(server).hostname:
            raise SettingError("RINGI_SMTP_URL", "…", "write smtps:// or smtp://, and user:password@host:587")
        missing = next((name for name in REQUIRED if not getattr(settings, name)), None)
        if missing:
            raise SettingError(setting_variable_name(missing), None, REQUIRED[missing])
        mailboxes = _mailboxes(str(settings.mail_to))
        page = str(settings.public_url).rstrip("/")
        return cls(server=server, sender=str(settings.mail_from), page=page, mailboxes=mailboxes)

    @property
    def parts(self) -> tuple[str, str, int, str | None, str | None]:
        """The scheme, the host and the port of the server, the user and the password."""
        url = urlsplit(self.server)
        user = unquote(url.username) if url.username else None
        return url.scheme, str(url.hostname), url.port or PORTS[url.scheme], user, unquote(url.password or "")

    def recipients(self, request: Request, absences: Sequence[Absence]) -> Sequence[Mailbox]:
        """Return the recipients of an event: those who may answer, with their deputies, else the administrators.

        Args:
            request: The request.
            absences: The absences of its tenant.
        """
        of_tenant = [mailbox for mailbox in self.mailboxes if mailbox.tenant == request.tenant]
        recipients = [mailbox for mailbox in of_tenant if mailbox.may_answer(request, absences)]
        recipients = recipients or [mailbox for mailbox in of_tenant if mailbox.admin]
        if not recipients:
            addressees = ", ".join(filter(None, (request.assignee, *request.groups))) or "everybody"
            what = "nobody in RINGI_MAIL_TO may answer request %s, for %s; add them or an admin"
            log.warning(what, request.id, addressees)
        return recipients

    def mailbox(self, id: str) -> Mailbox | None:
        """Return the mailbox with this receiver name."""
        return next((mailbox for mailbox in self.mailboxes if mailbox.id == id), None)


def _mailboxes(text: str) -> tuple[Mailbox, ...]:
    try:
        rows: Any = json.loads(text if text.lstrip().startswith("[") else Path(text).read_text("utf-8"))
        return tuple(parse_body(Mailbox, row) for row in rows)
    except (ValueError, TypeError, OSError, InvalidError) as error:
        raise SettingError("RINGI_MAIL_TO", "…", f"{error}; give a JSON list of people, or the path of one") from None
