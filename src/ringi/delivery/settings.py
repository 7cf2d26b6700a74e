"""The delivery settings: the configured receivers of a server, and its mail."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import unquote, urlsplit

from pydantic import Field

from ringi.base.model import StrictModel
from ringi.base.settings import WEBHOOK_SCHEDULE, Network, SettingError, Settings, setting_variable_name
from ringi.base.texts import Language
from ringi.base.validation import Name
from ringi.delivery.addresses import is_allowed_address, literal_address
from ringi.delivery.signing import checked_secret
from ringi.domain.absence import Absence
from ringi.domain.ask import parse_body
from ringi.domain.events import WEBHOOK_EVENTS, Headers, Tries, Webhook, WebhookEventName, WebhookUrl
from ringi.domain.record import DEFAULT_TENANT, Viewer
from ringi.domain.request import Request
from ringi.domain.voting import PersonName
from ringi.errors import FieldError, InvalidError

log = logging.getLogger(__name__)
RESERVED = ("ask-", "mail-")
MAIL = "mail-"
"""The prefix of the names of mailboxes as receivers."""
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


class Endpoint(StrictModel):
    """A configured receiver of the server; without an address, only a set of secrets that asks may refer to."""

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,49}$")]
    url: WebhookUrl | None = None
    secrets: tuple[str, ...] = ()
    """Every secret signs."""
    headers: Headers = {}
    events: tuple[WebhookEventName, ...] = WEBHOOK_EVENTS
    tenant: str | None = None
    """The tenant whose requests it receives; None for all tenants."""
    max_tries: Tries | None = None

    def receives_from(self, tenant: str) -> bool:
        """Return whether the endpoint receives the requests of this tenant."""
        return self.tenant is None or self.tenant == tenant


class DeliverySettings(StrictModel):
    """The delivery settings."""

    endpoints: tuple[Endpoint, ...] = ()
    schedule: tuple[float, ...] = WEBHOOK_SCHEDULE
    """Seconds between an attempt and the previous one."""
    jitter: float = 0.1
    """The maximum fraction by which a delay is extended, so that retries after a common failure are spread."""
    timeout: float = 15.0
    """Seconds that a receiver has to reply."""
    max_concurrent: int = 64
    """The maximum number of concurrent calls of one process: for configured receivers, and again for those of asks."""
    mail: MailSettings | None = None
    remind_before: float = 3600.0
    """Seconds before `due_at`; halfway, if there is less time."""
    allow: tuple[Network, ...] = ()
    """Private networks that deliveries may reach all the same, even without TLS."""

    @classmethod
    def of(cls, settings: Settings) -> DeliverySettings:
        """Return the settings of deliveries among all settings.

        Args:
            settings: All settings.

        Raises:
            SettingError: A setting is invalid; the error names it.
        """
        return cls(
            endpoints=_endpoints(settings.webhooks or "[]"),
            schedule=settings.webhook_schedule,
            jitter=settings.webhook_jitter,
            timeout=settings.webhook_timeout,
            max_concurrent=int(settings.max_deliveries),
            mail=MailSettings.of(settings),
            remind_before=settings.remind_before,
            allow=settings.webhook_allow,
        )

    def check(self, webhooks: Sequence[Webhook], tenant: str) -> None:
        """Check the receivers that an ask names.

        Args:
            webhooks: The receivers.
            tenant: The tenant of the ask.

        Raises:
            InvalidError: Delivery to a receiver is impossible; there is one error for each field.
        """
        errors = [
            FieldError(f"webhooks.{number}.{field}", why)
            for number, webhook in enumerate(webhooks)
            for field, why in self._check_webhook(webhook, tenant)
        ]
        if errors:
            raise InvalidError(errors)

    def secrets_of(self, name: str | None, tenant: str) -> tuple[str, ...] | None:
        """Return the secrets that an ask of this tenant refers to; None if the name does not exist."""
        if name is None:
            return ()
        return next((each.secrets for each in self.endpoints if each.name == name and each.receives_from(tenant)), None)

    def _check_webhook(self, webhook: Webhook, tenant: str) -> Iterator[tuple[str, str]]:
        if not webhook.url.startswith("https:") and not self.allow:
            yield "url", "use https; otherwise others on the network can read the request"
        address = literal_address(urlsplit(webhook.url).hostname or "")
        if address and not is_allowed_address(address, self.allow):
            yield "url", "is not a public address; use one, or have its network allowed in RINGI_WEBHOOK_ALLOW"
        if self.secrets_of(webhook.secret_ref, tenant) is None:
            yield "secret_ref", f"no endpoint {webhook.secret_ref!r} is configured on this server"


def _mailboxes(text: str) -> tuple[Mailbox, ...]:
    try:
        rows: Any = json.loads(text if text.lstrip().startswith("[") else Path(text).read_text("utf-8"))
        return tuple(parse_body(Mailbox, row) for row in rows)
    except (ValueError, TypeError, OSError, InvalidError) as error:
        raise SettingError("RINGI_MAIL_TO", "…", f"{error}; give a JSON list of people, or the path of one") from None


def _endpoints(text: str) -> tuple[Endpoint, ...]:
    try:
        source = text if text.lstrip().startswith(("[", "{")) else Path(text).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingError("RINGI_WEBHOOKS", text, f"cannot be read: {error}") from error
    try:
        rows = json.loads(source)
        if not isinstance(rows, list):
            raise TypeError("it is not a list")
        endpoints = tuple(_endpoint(row) for row in rows)
    except (ValueError, TypeError, InvalidError) as error:
        why = f"{error}; give a JSON list, or the path of a file with one"
        raise SettingError("RINGI_WEBHOOKS", "…", why) from None  # The value holds secrets.
    names = [endpoint.name for endpoint in endpoints]
    if len(set(names)) < len(names):
        raise SettingError("RINGI_WEBHOOKS", ", ".join(names), "give each endpoint its own name")
    return endpoints


def _endpoint(row: object) -> Endpoint:
    endpoint = parse_body(Endpoint, row)
    for secret in endpoint.secrets:
        checked_secret(secret)
    if endpoint.name.startswith(RESERVED):
        raise InvalidError.of("name", f"{endpoint.name!r} begins with a reserved prefix: ask- or mail-")
    if not endpoint.secrets:
        raise InvalidError.of("secrets", f"endpoint {endpoint.name!r} needs one: `ringi secret create` makes it")
    return endpoint
