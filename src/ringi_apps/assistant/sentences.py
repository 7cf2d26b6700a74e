"""The fixed sentences of an assistant, in three languages, for replies that need no model."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ringi.base import StrictModel, reason_text
from ringi_apps.assistant.declarations import in_language

LANGUAGES = ("en", "ja", "zh")
MAX_FOREIGN_WORDS = 2
"""Up to this number of English words (OK, Q1, yes) does not change the language."""
SENTENCES: dict[str, dict[str, str]] = {
    "noted": {
        "en": "Noted: {what}.",
        "ja": "記録しました: {what}。",
        "zh": "已记录：{what}。",
    },
    "not_recorded": {
        "en": "I did not record “{what}”: I found no value for it in your messages. {todo}",
        "ja": "「{what}」は記録していません。お送りいただいた文章に値が見つかりませんでした。{todo}",
        "zh": "未记录“{what}”：在您的消息中找不到它的值。{todo}",
    },
    "refused": {
        "en": "I could not use “{what}”: {why}. {todo}",
        "ja": "「{what}」は反映できませんでした: {why}。{todo}",
        "zh": "无法采用“{what}”：{why}。{todo}",
    },
    "unfit": {
        "en": "I did not start “{action}”: {what} is not valid. Rephrase it, or press “{action}”.",
        "ja": "{what} が合わないため、「{action}」を実行していません。"
        "別の言い方でお試しいただくか、「{action}」を押してください。",
        "zh": "未执行“{action}”：{what} 不符合要求。请换种说法，或按“{action}”。",
    },
    "too_many": {
        "en": "I ran the first {limit} actions only, and left out further ones of {actions}. "
        "Ask me again for the rest.",
        "ja": "一度に実行できるのは {limit} 件までです。{actions} の残りは実行していません。"
        "残りはもう一度お申し付けください。",
        "zh": "一次最多执行 {limit} 个操作，{actions} 中其余的没有执行。请再次提出其余的要求。",
    },
    "disabled": {
        "en": "“{action}” is not possible yet: {why}. {todo}",
        "ja": "「{action}」はまだ実行できません。{why}。{todo}",
        "zh": "“{action}”目前还不能执行：{why}。{todo}",
    },
    "planning": {
        "en": "I am working on “{action}” (version {version}). You can continue the conversation.",
        "ja": "「{action}」（第{version}版）を作成しています。そのまま会話を続けられます。",
        "zh": "正在进行“{action}”（第{version}版）。您可以继续与我交谈。",
    },
    "too_late": {
        "en": "{by}'s approval of version {version} came too late: the plan is now at version {now}. Nothing was done. "
        "Review version {now} and approve it.",
        "ja": "{by}さんによる第{version}版の承認は間に合いませんでした。現在は第{now}版です。何も実行していません。"
        "第{now}版の内容を確認して承認してください。",
        "zh": "{by} 对第{version}版的批准来得太晚：现在已是第{now}版。未执行任何操作。请查看第{now}版并批准。",
    },
    "pinned": {
        "en": "**Not updated after these values changed: {what}.**",
        "ja": "**次の情報が変わる前に作成された内容のままです: {what}。**",
        "zh": "**此内容在以下信息更改之前制定，未作调整：{what}。**",
    },
    "unasked": {
        "en": "The approval request for “{action}”, version {version}, was withdrawn. Ask again, or plan again.",
        "ja": "「{action}」第{version}版の承認依頼は取り下げられました。もう一度依頼するか、計画し直してください。",
        "zh": "“{action}”第{version}版的批准请求已撤回。请再次请求，或重新计划。",
    },
    "planned": {
        "en": "**{action}**, version {version}:\n\n{plan}",
        "ja": "**{action}** 第{version}版:\n\n{plan}",
        "zh": "**{action}** 第{version}版：\n\n{plan}",
    },
    "defaults": {
        "en": "Nobody has told these, so the defaults are used: {what}. Tell me another value to change it.",
        "ja": "指定がないため、次の初期値を使います: {what}。変更する場合は値をお伝えください。",
        "zh": "以下信息无人指定，因此使用默认值：{what}。如需更改，请告诉我其他值。",
    },
    "no_longer_complete": {
        "en": "I no longer ask to approve “{action}”, because this is missing now: {what}.",
        "ja": "次の情報がなくなったため、「{action}」の承認依頼を取り下げました: {what}。",
        "zh": "由于缺少以下信息，已撤回“{action}”的批准请求：{what}。",
    },
    "may_be_any": {
        "en": "If any value is fine, say so in the chat.",
        "ja": "どれでもよい場合は、チャットでそうお伝えください。",
        "zh": "如果都可以，请在对话中说明。",
    },
    "feedback": {
        "en": "The next version of the plan will address this: “{text}”.",
        "ja": "次の版の計画に反映します: 「{text}」。",
        "zh": "我会在计划的下一版中采纳：“{text}”。",
    },
    "no_plan": {
        "en": "There is no plan to comment on yet. To create one, press “{actions}”.",
        "ja": "対象となる計画がまだありません。計画を作成するには「{actions}」を押してください。",
        "zh": "目前还没有可以反馈的计划。要制定计划，请按“{actions}”。",
    },
    "executing": {
        "en": "This plan is being carried out and can no longer be changed. {todo}",
        "ja": "この計画は実行中のため、変更できません。{todo}",
        "zh": "该计划正在执行，无法再更改。{todo}",
    },
    "plan_failed": {
        "en": "The plan could not be made: {why}\n\nTo try again: {todo}",
        "ja": "計画を作成できませんでした: {why}\n\nもう一度試すには: {todo}",
        "zh": "无法制定计划：{why}\n\n要重试：{todo}",
    },
    "obsolete": {
        "en": "The plan is out of date, because this changed: {what}. Plan again, approve it unchanged, or edit it.",
        "ja": "計画は古くなりました。変わった情報: {what}。計画し直すか、このまま承認するか、編集してください。",
        "zh": "由于以下信息已更改，计划已过时：{what}。请重新计划、按原样批准或进行编辑。",
    },
    "approve": {
        "en": "To carry it out, press “{action}”. Only the button approves it; a message does not.",
        "ja": "実行するには「{action}」を押してください。言葉だけでは承認になりません。",
        "zh": "要执行，请按“{action}”。仅凭文字不构成批准。",
    },
    "start_over": {
        "en": "To do that, press “{action}”. It clears the information collected here.",
        "ja": "「{action}」を押すと、ここで集めた情報が消去されます。",
        "zh": "请按“{action}”：这会清除在此收集的信息。",
    },
    "confirm": {
        "en": "“{action}”, version {version}, would do this:\n\n{plan}\n\nTo approve exactly this, write: {phrase}",
        "ja": "「{action}」第{version}版の内容:\n\n{plan}\n\nこの内容を承認するには「{phrase}」と入力してください。",
        "zh": "“{action}”第{version}版将执行以下内容：\n\n{plan}\n\n要批准此内容，请输入：{phrase}",
    },
    "confirmed": {
        "en": "Your approval is recorded.",
        "ja": "承認を記録しました。",
        "zh": "已记录您的批准。",
    },
    "unconfirmed": {
        "en": "This cannot be approved now: nothing is waiting for approval, or only a person may approve it. "
        "Review the current plan, and ask for its approval again.",
        "ja": "今は承認できません。承認待ちのものがないか、承認できるのは人だけです。"
        "計画の現在の内容を確認し、承認をもう一度依頼してください。",
        "zh": "现在无法批准：没有等待批准的内容，或只有人可以批准。请查看计划的当前内容，并再次请求批准。",
    },
    "approved": {
        "en": "{by} approved version {version}. It is being carried out now.",
        "ja": "{by}さんが第{version}版を承認しました。実行を開始します。",
        "zh": "{by} 批准了第{version}版，正在执行。",
    },
    "not_applied": {
        "en": "Version {version} was not carried out: {why}\n\n{todo}",
        "ja": "第{version}版は実行されませんでした: {why}\n\n{todo}",
        "zh": "第{version}版没有执行：{why}\n\n{todo}",
    },
    "rejected": {
        "en": "{by} rejected version {version}. {text}",
        "ja": "{by}さんが第{version}版を却下しました。{text}",
        "zh": "{by} 拒绝了第{version}版。{text}",
    },
    "plan_with_it": {
        "en": "To plan again with this feedback, press “{action}”.",
        "ja": "これを反映して計画し直すには「{action}」を押してください。",
        "zh": "要据此重新计划，请按“{action}”。",
    },
    "completed": {
        "en": "Done: “{action}”, version {version}, {steps} steps.",
        "ja": "完了しました: 「{action}」第{version}版、{steps}ステップ。",
        "zh": "已完成：“{action}”，第{version}版，共{steps}步。",
    },
    "failed": {
        "en": "“{action}” stopped: {why}\n\nTo try again: {todo}",
        "ja": "「{action}」が停止しました: {why}\n\nもう一度試すには: {todo}",
        "zh": "“{action}”已停止：{why}\n\n要重试：{todo}",
    },
    "asking": {
        "en": "Please answer this: {what}",
        "ja": "こちらにお答えください: {what}",
        "zh": "请回答：{what}",
    },
    "unanswered": {
        "en": "Nobody answered: {what}. {todo}",
        "ja": "回答がありませんでした: {what}。{todo}",
        "zh": "无人回答：{what}。{todo}",
    },
    "fetch_failed": {
        "en": "{what} could not be fetched: {why}\n\n{todo}",
        "ja": "{what}を取得できませんでした: {why}\n\n{todo}",
        "zh": "无法获取{what}：{why}\n\n{todo}",
    },
    "not_usable": {
        "en": "{what} cannot be used: {why}\n\n{todo}",
        "ja": "{what}は使用できません: {why}\n\n{todo}",
        "zh": "无法使用{what}：{why}\n\n{todo}",
    },
    "cancelled": {
        "en": "I have cleared the information collected here.",
        "ja": "ここで集めた情報を消去しました。",
        "zh": "已清除在此收集的信息。",
    },
    "kept_executing": {
        "en": "Still being carried out: {what}.",
        "ja": "実行中のものは継続します: {what}。",
        "zh": "正在执行的内容将继续：{what}。",
    },
    "cut_off": {
        "en": "My answer was cut off at the model's limit, so I may have missed a part of your message. "
        "Send it again in shorter parts.",
        "ja": "モデルの上限で回答が途切れたため、一部を反映できていない可能性があります。"
        "短く分けて、もう一度お送りください。",
        "zh": "我的回答因模型的长度限制而中断，可能漏掉了您的部分内容。请分成较短的几段重新发送。",
    },
    "puzzled": {
        "en": "I did not understand that. Please rephrase it. {todo}",
        "ja": "内容を理解できませんでした。別の言い方でお試しください。{todo}",
        "zh": "没有理解您的意思，请换一种说法。{todo}",
    },
    "unknown": {
        "en": "I do not know “{what}”. {todo}",
        "ja": "「{what}」はわかりません。{todo}",
        "zh": "不认识“{what}”。{todo}",
    },
}


ANY_TEXT = {"en": "any", "ja": "どれでもよい", "zh": "都可以"}
"""The text of the value `ANY`."""


class SpokenSentence(StrictModel):
    """A sentence with its parameters, independent of the language."""

    code: str
    about: dict[str, Any] = {}

    def in_language(self, language: str) -> str:
        """Return the text in a language."""
        words = {name: _render_value(value, language) for name, value in self.about.items()}
        if "why" in words:
            words["why"] = reason_text(words["why"], language)
        return in_language(SENTENCES[self.code], language).format(**words).strip()


def sentence(code: str, **about: object) -> SpokenSentence:
    """Return a sentence. Parameters are texts, texts by language, or lists of them."""
    return SpokenSentence(code=code, about=about)


def render_sentences(sentences: Sequence[SpokenSentence], language: str) -> str:
    """Return sentences as one message."""
    return "\n\n".join(sentence.in_language(language) for sentence in sentences)


def detect_language(text: str, otherwise: str) -> str:
    """Return the language of a person's message.

    Args:
      text: The message.
      otherwise: The language to return if the message does not show one, usually the one used so far.

    Returns:
      `ja`, `zh`, `en`, or `otherwise`.
    """
    if any("\u3040" <= letter <= "\u30ff" for letter in text):
        return "ja"
    if any("\u4e00" <= letter <= "\u9fff" for letter in text):
        # Japanese without kana is rare and short, so the language stays Japanese.
        return otherwise if otherwise == "ja" else "zh"
    words = re.findall(r"[a-z][\w'’-]*", text, re.I | re.A)
    return "en" if len(words) > (0 if otherwise == "en" else MAX_FOREIGN_WORDS) else otherwise


def _render_value(value: object, language: str) -> str:
    if isinstance(value, list | tuple):
        return ("、" if language in ("ja", "zh") else ", ").join(_render_value(each, language) for each in value)
    return in_language(value, language) if isinstance(value, Mapping) else str(value)
