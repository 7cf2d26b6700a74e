"""Tool cards: the effect, target, amount and risk of a tool's calls, for the people who decide."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import Field, StrictBool, StringConstraints, model_validator

from ringi.base.validation import FieldValidationError, Name
from ringi.domain.conditions import MISSING, Args, Condition, PolicyData, argument_of
from ringi.domain.voting import Tier

ShortText = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"\S")]


class ToolCard(PolicyData):
    """The meaning of a tool's calls; people see it with each request, and the digest covers it."""

    effect: ShortText | None = None
    """The effect of the call, such as `pays money back`."""
    target: Name | None = None
    """The argument that names the affected object; `customer.id` is a nested value."""
    amount: Name | None = None
    """The argument with the amount."""
    unit: ShortText | None = None
    """The unit of the amount, such as `EUR`."""
    limit: float | None = Field(default=None, strict=True, allow_inf_nan=False)
    """The usual maximum of the amount: people see that a call is above it. To stop such calls, write a rule."""
    tier: Tier | None = None
    """The risk of the call."""
    reversible: StrictBool | ShortText | None = None
    """Whether the effect can be undone, or how, such as `within 14 days`; None declares nothing."""

    @model_validator(mode="after")
    def _has_amount(self) -> Self:
        for name in ("unit", "limit"):
            if getattr(self, name) is not None and self.amount is None:
                raise FieldValidationError(name, "needs amount: name the argument with the amount")
        return self

    @property
    def arguments(self) -> tuple[str, ...]:
        """The arguments that the card names."""
        return tuple(path for path in (self.target, self.amount) if path is not None)

    def describe(self, args: Args) -> dict[str, Any]:
        """Return the card of one call as JSON data; an argument that is missing is left out.

        Args:
            args: The arguments of the call by name.
        """
        values = {name: argument_of(args, path) for name, path in self._paths().items()}
        own = self.model_dump(include={"effect", "unit", "limit", "tier", "reversible"})
        # With the names of the arguments, a person's edit changes the target and the amount on the page too.
        text = {**own, **values, "arguments": self._paths() or None}
        found = {name: value for name, value in text.items() if value is not None and value is not MISSING}
        # An amount that is no number may be above the limit.
        if self.limit is not None and Condition(at_most=self.limit).holds(values["amount"]) is not True:
            found["above_limit"] = True
        return found

    def _paths(self) -> dict[str, str]:
        named = {"target": self.target, "amount": self.amount}
        return {name: path for name, path in named.items() if path is not None}
