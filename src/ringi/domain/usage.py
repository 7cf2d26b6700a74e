"""The use of chat models by a run: calls, tokens and seconds."""

from __future__ import annotations

from pydantic import Field

from ringi.base.model import StrictModel


def is_none(value: object) -> bool:
    """Return whether a number is unknown; then it is not stored."""
    return value is None


class ModelCalls(StrictModel):
    """The calls of one model by one run."""

    model: str
    """The requested name of the model, else the name in its answer."""
    calls: int
    """The number of calls, failed ones included."""
    unreported_calls: int = 0
    """The calls for which the provider reported no tokens; they are not part of the sums."""
    input_tokens: int | None = Field(default=None, exclude_if=is_none)
    """The tokens that the model read, cached ones included; None if no call reported any."""
    cached_tokens: int | None = Field(default=None, exclude_if=is_none)
    """The part of `input_tokens` that the provider read from its cache; None if no call reported any."""
    output_tokens: int | None = Field(default=None, exclude_if=is_none)
    """The tokens that the model wrote; None if no call reported any."""
    seconds: float
    """The sum of the durations of the calls; calls at the same time count each."""

    def plus(self, other: ModelCalls) -> ModelCalls:
        """Return the sum of two uses, under the name of this one."""
        return ModelCalls(
            model=self.model,
            calls=self.calls + other.calls,
            unreported_calls=self.unreported_calls + other.unreported_calls,
            input_tokens=sum_of(self.input_tokens, other.input_tokens),
            cached_tokens=sum_of(self.cached_tokens, other.cached_tokens),
            output_tokens=sum_of(self.output_tokens, other.output_tokens),
            seconds=round(self.seconds + other.seconds, 3),
        )


def sum_of(one: int | None, other: int | None) -> int | None:
    """Return the sum of the known numbers; None if both are unknown."""
    return other if one is None else one if other is None else one + other
