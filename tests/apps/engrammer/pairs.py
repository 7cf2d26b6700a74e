"""Pairs of things that an agent may have learned, in three languages, as a person would judge them."""

from __future__ import annotations

from typing import Literal, NamedTuple

Label = Literal["copy", "duplicate", "contradiction", "unrelated"]


class Pair(NamedTuple):
    """Two texts: the same letters but for their form, the same claim, opposite claims, or nothing in common."""

    label: Label
    language: str
    one: str
    other: str


COPIES = (
    ("en", "Sand along the grain.", "sand  along the grain"),
    ("en", "Let the glue cure for 24 hours.", "Let the glue cure for ２４ hours."),
    ("en", "Check the blade guard first.\n", "Check the blade guard first."),
    ("ja", "木目に沿って研磨する。", "木目に沿って研磨する"),
    ("ja", "エポキシは24時間置く。", "ｴﾎﾟｷｼは２４時間置く。"),
    ("zh", "顺着木纹打磨。", "顺着木纹打磨"),
    ("zh", "胶水要放置24小时。", "胶水要放置２４小时。"),
)
DUPLICATES = (
    ("en", "Sand along the grain, not across it.", "Do the sanding along the grain and not across it."),
    (
        "en",
        "Let epoxy cure for 24 hours before loading the joint.",
        "Epoxy joints need 24 hours of curing before a load.",
    ),
    (
        "en",
        "Drill a pilot hole before driving screws into hardwood.",
        "In hardwood, drill pilot holes before the screws.",
    ),
    ("en", "Read the refund policy before you promise a refund.", "Before promising a refund, read the refund policy."),
    (
        "en",
        "Dividend yield is the annual dividend divided by the share price.",
        "Divide the annual dividend by the share price to get the dividend yield.",
    ),
    ("en", "Store boards flat with stickers between them.", "Boards are stored flat, with stickers in between."),
    ("en", "Answer with a ratio, not a percentage.", "Give ratios as the answer, not percentages."),
    ("en", "Ask for the order number before anything else.", "First of all, ask for the order number."),
    ("en", "Wear a respirator when you spray lacquer.", "When spraying lacquer, wear a respirator."),
    ("en", "Keep both hands away from the spinning blade.", "Hands must be kept away from a spinning blade."),
    ("en", "Leave a gap for wood movement at the panel edges.", "Panel edges need a gap so that the wood can move."),
    ("en", "Retry the payment once after a timeout.", "After a timeout the payment is retried once."),
    ("en", "Be polite when the customer is angry.", "Stay courteous with upset clients."),
    ("en", "Round only the final result.", "Do not round intermediate values."),
    ("en", "Prefer mechanical joints for outdoor furniture.", "Furniture for the garden is best joined mechanically."),
    ("en", "Test the finish on scrap wood.", "Try a finish on an offcut first."),
    ("ja", "木目に沿って研磨し、直角には研磨しない。", "研磨は木目に沿って行い、直角には行わない。"),
    (
        "ja",
        "エポキシ接着は24時間硬化させてから荷重をかける。",
        "エポキシで接着した後は、荷重をかける前に24時間硬化させる。",
    ),
    ("ja", "硬い木にねじを打つ前に下穴を開ける。", "硬い木では、ねじを打つ前に必ず下穴を開けること。"),
    ("ja", "返金を約束する前に返金規定を確認する。", "返金規定を確認してから返金を約束する。"),
    ("ja", "板は桟木を挟んで平らに保管する。", "平らに、桟木を挟んで板を保管する。"),
    ("ja", "ラッカーを吹き付けるときは防毒マスクを着ける。", "ラッカーの吹き付けでは防毒マスクを着用する。"),
    ("ja", "最初に注文番号を尋ねる。", "まず注文番号を尋ねること。"),
    ("ja", "配当利回りは年間配当を株価で割る。", "配当利回りは、年間配当÷株価で求める。"),
    ("ja", "はみ出した接着剤は乾く前に拭き取る。", "乾く前に、はみ出した接着剤を拭き取ること。"),
    ("ja", "鉋の刃は使う前に研ぐ。", "使う前に鉋の刃を研いでおく。"),
    ("ja", "端材で塗料を試す。", "塗る前に、いらない木で試し塗りをする。"),
    ("ja", "途中の値は丸めない。", "丸めるのは最後の結果だけにする。"),
    ("ja", "怒っている客にも丁寧に話す。", "立腹したお客様には礼儀正しく応対する。"),
    ("zh", "顺着木纹打磨，不要横着打磨。", "打磨要顺着木纹，不要横着。"),
    ("zh", "环氧树脂接头固化24小时后再受力。", "环氧树脂的接头要固化24小时以后才能受力。"),
    ("zh", "在硬木上拧螺丝之前先钻导孔。", "硬木要先钻导孔再拧螺丝。"),
    ("zh", "答应退款之前先看退款规定。", "先看退款规定，再答应退款。"),
    ("zh", "木板之间垫木条，平放保存。", "平放保存木板，木板之间要垫木条。"),
    ("zh", "喷漆时要戴防毒面具。", "喷漆的时候戴好防毒面具。"),
    ("zh", "首先询问订单号。", "第一步是询问订单号。"),
    ("zh", "股息率等于年度股息除以股价。", "用年度股息除以股价得到股息率。"),
    ("zh", "溢出的胶水要在干之前擦掉。", "胶水溢出后，要在干之前把它擦掉。"),
    ("zh", "刨刀使用前要磨利。", "使用前要先把刨刀磨利。"),
    ("zh", "先在废料上试漆。", "上漆前用边角料做试验。"),
    ("zh", "中间结果不要四舍五入。", "只对最后的结果取整。"),
    ("zh", "客户生气时也要有礼貌。", "对发火的顾客保持客气。"),
)
CONTRADICTIONS = (
    ("en", "Escalate refunds above 100 USD.", "Escalate refunds above 1000 USD."),
    ("en", "Thin the first coat with oil.", "Do not thin the first coat with oil."),
    ("en", "Always tighten the clamp before the glue sets.", "Never tighten the clamp before the glue sets."),
    (
        "en",
        "Ship the parcel to the billing address of the customer.",
        "Ship the parcel to the shipping address of the customer.",
    ),
    ("en", "Sand the board before staining it.", "Sand the board after staining it."),
    ("en", "Let hide glue cure for 12 hours.", "Let hide glue cure for 24 hours."),
    ("en", "Cut the tenon with its shoulders square.", "Cut the tenon without its shoulders square."),
    ("en", "Give the operating margin as a percentage.", "Give the operating margin as a ratio."),
    ("en", "You can reuse the filter after cleaning.", "You can't reuse the filter after cleaning."),
    ("en", "Apply two coats of varnish.", "Apply three coats of varnish."),
    ("en", "Divide the net income by the total assets.", "Divide the total assets by the net income."),
    (
        "en",
        "Raise the temperature when the finish is slow to dry.",
        "Lower the temperature when the finish is slow to dry.",
    ),
    ("en", "Keep the moisture of the boards below 8.5 percent.", "Keep the moisture of the boards below 85 percent."),
    ("en", "Plane towards the knot in small steps.", "Plane away from the knot in small steps."),
    ("en", "Glue is stronger than nails in this joint.", "Nails hold this joint better than glue."),
    (
        "en",
        "Customers may cancel until the parcel is shipped.",
        "Customers may cancel until the parcel is delivered at home.",
    ),
    ("en", "Turn the stop collar clockwise.", "Turn the stop collar counterclockwise."),
    ("en", "The fee is refundable in all cases.", "The fee is non-refundable in all cases."),
    ("ja", "最初の塗りは油で薄める。", "最初の塗りは油で薄めない。"),
    ("ja", "膠は12時間乾かす。", "膠は24時間乾かす。"),
    ("ja", "着色の前に研磨する。", "着色の後に研磨する。"),
    ("ja", "濡れた布を丸めて捨ててもよい。", "濡れた布を丸めて捨ててはならない。"),
    ("ja", "接着面を紙やすりで荒らす。", "接着面を紙やすりで荒らさず使う。"),
    ("ja", "刃は時計回りに締める。", "刃は反時計回りに締める。"),
    ("ja", "請求先の住所へ送る。", "配送先の住所へ送る。"),
    ("ja", "ニスは二回塗る。", "ニスは三回塗る。"),
    ("ja", "屋内での吹き付けを認める。", "屋内での吹き付けを禁止する。"),
    ("ja", "乾きが遅いときは温度を上げる。", "乾きが遅いときは温度を下げる。"),
    ("ja", "営業利益率は百分率で答える。", "営業利益率は小数で答える。"),
    ("ja", "節に向かって少しずつ削る。", "節から離れる向きに少しずつ削る。"),
    ("ja", "この継手は釘より接着剤が強い。", "この継手は接着剤より釘が強い。"),
    ("ja", "手数料は返金できる。", "手数料は返金不可である。"),
    ("zh", "第一遍要用油稀释。", "第一遍不要用油稀释。"),
    ("zh", "骨胶要干燥12小时。", "骨胶要干燥24小时。"),
    ("zh", "染色之前打磨。", "染色之后打磨。"),
    ("zh", "寄到账单地址。", "寄到收货地址。"),
    ("zh", "清漆刷两遍。", "清漆刷三遍。"),
    ("zh", "干得慢的时候升高温度。", "干得慢的时候降低温度。"),
    ("zh", "油布可以揉成一团扔掉。", "油布禁止揉成一团扔掉。"),
    ("zh", "胶没干的时候可以受力。", "胶没干的时候不可以受力。"),
    ("zh", "用净利润除以总资产。", "用总资产除以净利润。"),
    ("zh", "退款超过100元要上报。", "退款超过1000元要上报。"),
    ("zh", "先拧紧夹具，再擦胶水。", "先擦胶水，再拧紧夹具。"),
    ("zh", "朝着节疤慢慢刨。", "背着节疤慢慢刨。"),
    ("zh", "这种接头胶比钉子牢。", "这种接头钉子比胶牢。"),
    ("zh", "手续费可以退。", "手续费不退。"),
)
UNRELATED = (
    ("en", "Sand along the grain.", "Ask for the order number first."),
    ("en", "Store boards flat with stickers between them.", "Dividend yield is dividend by price."),
    ("en", "Retry a payment after a timeout.", "Wear a respirator when you spray lacquer."),
    ("en", "Use quarter-sawn oak for drawer sides.", "Cite the page of the annual report."),
    ("en", "Write dates as year, month, day.", "Oil finishes need thin coats."),
    ("en", "Close the ticket only when the customer agrees.", "Sharpen chisels at 25 degrees."),
    ("ja", "木目に沿って研磨する。", "最初に注文番号を尋ねる。"),
    ("ja", "板は平らに保管する。", "配当利回りは百分率で答えない。"),
    ("ja", "支払いは一度だけ再試行する。", "塗装では防毒マスクを着ける。"),
    ("ja", "日付は年月日の順に書く。", "鉋の刃はよく研ぐ。"),
    ("zh", "顺着木纹打磨。", "首先询问订单号。"),
    ("zh", "木板要平放保存。", "股息率不要用百分比回答。"),
    ("zh", "超时以后重试付款。", "喷漆时戴防毒面具。"),
    ("zh", "日期按年月日书写。", "凿子要经常磨利。"),
)
LABELLED: dict[Label, tuple[tuple[str, str, str], ...]] = {
    "copy": COPIES,
    "duplicate": DUPLICATES,
    "contradiction": CONTRADICTIONS,
    "unrelated": UNRELATED,
}
PAIRS = tuple(Pair(label, *pair) for label, pairs in LABELLED.items() for pair in pairs)
