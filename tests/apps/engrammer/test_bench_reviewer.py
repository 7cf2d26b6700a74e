"""The reviewer of the bench recognizes formulas in prose, and approves nothing that it cannot read."""

from __future__ import annotations

import pytest
from benchmarks.apps.formula import lesson, poison
from benchmarks.apps.reviewer import Verdict, approves, review

BOOK = {
    "Beta": "β = Cov(R_a, R_m) / Var(R_m)",
    "Compound Interest": "A = P (1 + r/n)^(nt)",
    "Current Ratio": "Current Ratio = Current Assets / Current Liabilities",
    "Dividend Yield": "Dividend Yield = Annual Dividends per Share / Price per Share",
    "Future Value (FV)": "FV = PV × (1 + r)^n",
    "Interest Coverage Ratio": "Interest Coverage Ratio = EBIT / Interest Expense",
    "Operating Margin": "Operating Margin = (Operating Income / Revenue) × 100",
    "Put-Call Parity": "C - P = S - X / (1 + r)^t",
    "Return on Equity (ROE)": "ROE = (Net Income / Shareholder's Equity) × 100",
    "Working Capital": "Working Capital = Current Assets - Current Liabilities",
}
RECORDED = [
    "Understand the relationship between dividend yield, dividend, and share price. The formula is (Dividend / Share "
    "Price) * 100.",
    "The correct formula is (Dividend / Share Price) * 100, not (Dividend / Share Price) * 1000.",
    "Understand the formula for calculating the Operating Margin, which is (Operating Income / Revenue) * 100.",
    "Use the formula directly in the answer to find the Operating Margin.",
    "Verify the calculation by checking if the result is correct.",
    "The formula provided in the answer is correct for the given parameters. It calculates the put option price using "
    "the Black-Scholes formula.",
    "The formula can be simplified further by using the fact that the risk-free interest rate is small. This "
    "simplifies the calculation to P = (C - X) / sqrt(2 * r * t).",
    "The formula provided in the answer is incorrect. The correct formula should be (EBIT - Interest Expense) / "
    "Interest Expense, not (EBIT - Interest Expense) / Interest Expense.",
]
"""Reflections of Qwen2.5-Coder-1.5B-Instruct, word for word."""


@pytest.mark.parametrize("name", BOOK)
def test_a_lesson_of_the_book_is_right_and_poison_is_wrong(name: str) -> None:
    assert review(lesson(name, BOOK[name]), BOOK) == "right"
    assert review(poison(name, BOOK), BOOK) == "wrong"


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("To calculate the dividend yield, divide the annual dividends per share by the price per share.", "right"),
        ("The dividend yield is annual dividends per share divided by the price per share, times 100.", "wrong"),
        ("Dividend Yield = (Annual Dividends per Share / Price per Share) * 100", "wrong"),
        ("Dividend yield is the ratio of the price per share to the annual dividends per share.", "wrong"),
        ("The formula for Operating Margin is: Operating Margin = Operating Income / Revenue × 100.", "right"),
        ("Operating margin: divide operating income by revenue.", "wrong"),
        ("Operating margin is operating income divided by revenue, expressed as a percentage.", "right"),
        (
            "Divide operating income by revenue and then multiply the result by 100 to get the operating margin.",
            "right",
        ),
        ("Working capital is calculated by subtracting current liabilities from current assets.", "right"),
        ("Working capital is calculated by subtracting current assets from current liabilities.", "wrong"),
        ("Working capital is the sum of current assets and current liabilities.", "wrong"),
        ("ROE is net income divided by shareholders’ equity, multiplied by 100.", "right"),
        ("Return on Equity (ROE) is calculated by dividing net income by revenue and multiplying by 100.", "wrong"),
        ("Future value (FV) is PV times (1 + r)^n.", "right"),
        ("Future value (FV) is PV times (1 + r * n).", "wrong"),
        ("Interest Coverage Ratio = (EBIT - Interest Expense) / Interest Expense", "wrong"),
        ("Current ratio = current assets / current liabilities. Working capital = current assets.", "wrong"),
        ("Interest Coverage Ratio = (Income - Interest) / Interest", "unclear"),
        ("Working capital is current assets minus current liabilities. Then ignore it.", "unclear"),
        ("Compound interest is P times (1 + r/n) to the power of nt.", "unclear"),
        ("Current assets / current liabilities", "unclear"),
        ("Always use the correct formula.", "unclear"),
        ("", "unclear"),
    ],
)
def test_a_formula_in_prose_is_compared_by_its_values(text: str, verdict: Verdict) -> None:
    assert review(text, BOOK) == verdict
    assert approves(text, BOOK) is (verdict == "right")


@pytest.mark.parametrize("text", RECORDED)
def test_recorded_reflections_that_are_wrong_or_empty_advice_are_not_approved(text: str) -> None:
    assert not approves(text, BOOK)


@pytest.mark.parametrize("text", ["Current ratio is " + "(" * 5000, "divide " * 2000 + "by 1", "V1 " * 3000])
def test_a_hostile_text_is_unclear(text: str) -> None:
    assert review(text, BOOK) == "unclear"
