"""The report as one page of HTML in each language, to keep and to print: no scripts, nothing from elsewhere."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import timedelta
from html import escape

from ringi.base.texts import LANGUAGES
from ringi.statistics.report import OversightReport, OversightRow

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
COUNTS = [name for name in OversightRow.model_fields if name not in ("name", "fast", "checks", "caught")]
COLUMNS = ("name", *COUNTS, "under_2s", "caught")
NAMELESS = {("rules", "otherwise"): "rule.default", ("groups", ""): "one_person", ("groups", None): "open_to_all"}
"""The texts for rows without a name of their own, by their table."""
TEXTS: dict[str, tuple[str, str, str]] = {
    "title": ("How people decided", "人による決定の報告書", "人工决定报告"),
    "period": ("Period", "期間", "时段"),
    "made_at": ("Made at", "作成日時", "生成时间"),
    "tenant": ("Tenant", "テナント", "租户"),
    "version": ("Version of Ringi", "Ringi のバージョン", "Ringi 版本"),
    "position": ("Audit trail up to position", "監査記録の位置", "审计记录的位置"),
    "head": ("Hash of the event there", "その位置のイベントのハッシュ", "该位置事件的哈希"),
    "incomplete": (
        "Older events are not counted yet: make this report again.",
        "過去のイベントの集計が終わっていません。もう一度作成してください。",
        "较早的事件尚未统计完毕：请重新生成此报告。",
    ),
    "exact": (
        "Days are in UTC. Times run from the asking to the answer of a person, exact to {percent} %.",
        "日付は UTC です。時間は依頼から人の回答までで、誤差は {percent} % 以内です。",
        "日期为 UTC。时间从提出请求到人作出回答，误差不超过 {percent} %。",
    ),
    "fast": (
        "Under 2 s: approvals in under two seconds, of all whose time was measured, from the first look (seen) "
        "or from the asking (asked).",
        "2 秒未満：最初に開いてから（表示）、または依頼されてから（依頼）2 秒未満の承認の数と、"
        "計測した承認の総数です。",
        "2 秒内：从首次打开（打开）或提出请求（请求）起不到两秒的批准数，以及测得时间的批准总数。",
    ),
    "checks": (
        "Checks: planted requests that people noticed, of those that they answered. Only “asked” also counts checks.",
        "確認課題：人が気づいた数と、回答した数です。確認課題を含むのは「依頼」だけです。",
        "检查：人发现的数量和已回答的数量。只有“请求”一列也包含检查。",
    ),
    "total": ("All requests", "すべての依頼", "全部请求"),
    "rules": ("By rule", "規則別", "按规则"),
    "tools": ("By tool", "ツール別", "按工具"),
    "groups": ("By group", "グループ別", "按组"),
    "name": ("Name", "名前", "名称"),
    "asked": ("Asked", "依頼", "请求"),
    "decided_by_people": ("By people", "人による", "由人决定"),
    "decided_by_policy": ("By rules", "規則による", "由规则决定"),
    "decided_by_grant": ("In advance", "事前承認", "事先批准"),
    "edited": ("Edited", "変更", "修改"),
    "rejected": ("Rejected", "却下", "拒绝"),
    "expired": ("Expired", "期限切れ", "过期"),
    "cancelled": ("Cancelled", "取り消し", "取消"),
    "seen": ("Opened", "開かれた", "已打开"),
    "median": ("Median, s", "中央値（秒）", "中位数（秒）"),
    "p90": ("90 %, s", "90 %（秒）", "90 %（秒）"),
    "under_2s": ("Under 2 s", "2 秒未満", "2 秒内"),
    "caught": ("Checks", "確認課題", "检查"),
    "base.seen": ("seen", "表示", "打开"),
    "base.asked": ("asked", "依頼", "请求"),
    "rule.number": ("rule {number} of the policy", "ポリシーのルール {number}", "策略的第 {number} 条规则"),
    "rule.default": ("the default of the policy", "ポリシーの既定", "策略的默认规则"),
    "no_name": ("none", "なし", "无"),
    "one_person": ("one person", "特定の一人", "某一个人"),
    "open_to_all": ("open to all", "全員", "对所有人开放"),
}
"""Each text in English, Japanese and Chinese, as `LANGUAGES` orders them."""


def oversight_report_html(report: OversightReport, language: str = "en") -> str:
    """Return the report as a page of HTML; every name is escaped.

    Args:
        report: The report.
        language: `en`, `ja` or `zh`; English for any other.
    """
    code = language if language in LANGUAGES else "en"
    texts = {name: words[LANGUAGES.index(code)] for name, words in TEXTS.items()}
    about = {
        "period": f"{report.since.date()} – {report.until.date() - timedelta(days=1)}",
        "tenant": report.tenant,
        "made_at": report.made_at.isoformat(timespec="seconds"),
        "version": report.version,
        "position": report.position,
        "head": report.head,
    }
    facts = "".join(f"<dt>{texts[name]}</dt><dd>{escape_name_for_html(value)}</dd>" for name, value in about.items())
    notes = [texts["exact"].format(percent=math.ceil(report.error * 100)), texts["fast"], texts["checks"]]
    notes = notes if report.complete else [f"<strong>{texts['incomplete']}</strong>", *notes]
    tables = {"total": [report.total], "rules": report.rules, "tools": report.tools, "groups": report.groups}
    parts = [
        f'<h2>{texts[name]}</h2><div class="wide">{report_table_html(name, rows, texts)}</div>'
        for name, rows in tables.items()
        if rows
    ]
    return (
        f'<!doctype html>\n<html lang="{code}"><head><meta charset="utf-8"><title>{texts["title"]}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style></head>\n'
        f"<body><h1>{texts['title']}</h1><dl>{facts}</dl>"
        f"{''.join(f'<p>{note}</p>' for note in notes)}\n{chr(10).join(parts)}\n</body></html>\n"
    )


def report_table_html(table: str, rows: Sequence[OversightRow], texts: Mapping[str, str]) -> str:
    """Return rows as a table."""
    head = "".join(f'<th scope="col">{texts[name]}</th>' for name in COLUMNS)
    body = "".join(
        f'<tr><th scope="row">{row_name_html(table, row.name, texts)}</th>{figure_cells_html(row, texts)}</tr>'
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def row_name_html(table: str, name: str | None, texts: Mapping[str, str]) -> str:
    """Return the name of a row as HTML; the words for a row without one: such a rule is known by its position."""
    if words := NAMELESS.get((table, name)):
        return texts[words]
    if table == "rules" and (position := re.fullmatch(r"rules\[(\d+)\]", name or "")):
        return texts["rule.number"].format(number=int(position[1]) + 1)
    return escape_name_for_html(name or "") or texts["no_name"]


def figure_cells_html(row: OversightRow, texts: Mapping[str, str]) -> str:
    """Return the figures of a row as cells."""
    fast = [f"{each.under_2s}/{each.approvals} ({texts[f'base.{each.measured_from}']})" for each in row.fast]
    values = [getattr(row, name) for name in COUNTS]
    found = ["–" if value is None else f"{value:g}" if isinstance(value, float) else str(value) for value in values]
    found += [", ".join(fast) or "–", f"{row.caught}/{row.checks}" if row.checks else "–"]
    return "".join(f"<td>{cell}</td>" for cell in found)


def escape_name_for_html(text: str) -> str:
    """Return a name as HTML; signs that nobody sees, such as those that turn the direction of text, are removed."""
    return escape("".join(sign for sign in text if unicodedata.category(sign) not in ("Cc", "Cf", "Cs")))
