"""The report as one page of HTML: without scripts and without anything from elsewhere, to keep and to print."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from html import escape

from ringi.statistics.report import OversightReport, OversightRow
from ringi.statistics.report_texts import TEXTS

STYLE = """
body { font: 14px/1.5 system-ui, sans-serif; color: #1f1f1f; background: #fff; }
body { margin: 2rem auto; max-width: 75rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; }
dd { margin: 0; overflow-wrap: anywhere; }
.wide { overflow-x: auto; } table { border-collapse: collapse; width: 100%; }
th, td { border: 1px solid #ccc; padding: .25rem .5rem; text-align: right; vertical-align: top; }
th { background: #f5f5f5; } th:first-child { text-align: left; overflow-wrap: anywhere; min-width: 8rem; }
@media print {
  body { margin: 0; max-width: none; font-size: 9px; }
  .wide { overflow: visible; }
  tr { break-inside: avoid; }
}
@page { size: landscape; }
""".strip()
COUNTS = (
    "asked", "decided_by_people", "decided_by_policy", "decided_by_grant", "edited", "rejected", "expired", "cancelled",
    "seen", "median", "p90",
)  # fmt: skip
COLUMNS = ("name", *COUNTS, "under_2s", "caught")


def report_html(report: OversightReport, language: str = "en") -> str:
    """Return the report as a page of HTML; every name is escaped.

    Args:
        report: The report.
        language: `en`, `ja` or `zh`; English for any other.
    """
    code = language if language in TEXTS else "en"
    texts = TEXTS[code]
    last = report.until.date().toordinal() - 1
    about = {
        "period": f"{report.since.date().isoformat()} – {type(report.until.date()).fromordinal(last).isoformat()}",
        "tenant": report.tenant,
        "made_at": report.made_at.isoformat(timespec="seconds"),
        "version": report.version,
        "position": report.position,
        "head": report.head,
    }
    facts = "".join(f"<dt>{texts[name]}</dt><dd>{safe(value)}</dd>" for name, value in about.items())
    notes = [texts["exact"].format(percent=math.ceil(report.error * 100)), texts["fast"], texts["checks"]]
    notes = notes if report.complete else [f"<strong>{texts['incomplete']}</strong>", *notes]
    groups = [row if row.name != "" else row.model_copy(update={"name": texts["one_person"]}) for row in report.groups]
    rules = [row.model_copy(update={"name": rule_name(row.name, texts)}) for row in report.rules]
    tables = {"total": [report.total], "rules": rules, "tools": report.tools, "groups": groups}
    parts = [
        f'<h2>{texts[name]}</h2><div class="wide">{table(rows, texts)}</div>' for name, rows in tables.items() if rows
    ]
    return (
        f'<!doctype html>\n<html lang="{code}"><head><meta charset="utf-8"><title>{texts["title"]}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style></head>\n'
        f"<body><h1>{texts['title']}</h1><dl>{facts}</dl>"
        f"{''.join(f'<p>{note}</p>' for note in notes)}\n{chr(10).join(parts)}\n</body></html>\n"
    )


def table(rows: Sequence[OversightRow], texts: Mapping[str, str]) -> str:
    """Return rows as a table."""
    head = "".join(f'<th scope="col">{texts[name]}</th>' for name in COLUMNS)
    body = "".join(f'<tr><th scope="row">{name_of(row, texts)}</th>{cells(row, texts)}</tr>' for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def name_of(row: OversightRow, texts: Mapping[str, str]) -> str:
    """Return the name of a row as HTML."""
    return texts["open_to_all"] if row.name is None else safe(row.name) or texts["no_name"]


def rule_name(name: str | None, texts: Mapping[str, str]) -> str | None:
    """Return the words for a rule without a name, which is known by its position; any other name as it is."""
    position = re.fullmatch(r"rules\[(\d+)\]", name or "")
    if position:
        return texts["rule.number"].format(number=int(position[1]) + 1)
    return texts["rule.default"] if name == "otherwise" else name


def cells(row: OversightRow, texts: Mapping[str, str]) -> str:
    """Return the figures of a row as cells."""
    fast = [f"{each.under_2s}/{each.approvals} ({texts[f'base.{each.measured_from}']})" for each in row.fast]
    values = [getattr(row, name) for name in COUNTS]
    found = ["–" if value is None else f"{value:g}" if isinstance(value, float) else str(value) for value in values]
    found += [", ".join(fast) or "–", f"{row.caught}/{row.checks}" if row.checks else "–"]
    return "".join(f"<td>{cell}</td>" for cell in found)


def safe(text: str) -> str:
    """Return a name as HTML; signs that nobody sees, such as those that turn the direction of text, are removed."""
    return escape("".join(sign for sign in text if unicodedata.category(sign) not in ("Cc", "Cf", "Cs")))
