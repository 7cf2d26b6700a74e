"""The prices of models, from the operator's file."""

from __future__ import annotations

import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Annotated

from pydantic import Field

from ringi.base.model import StrictModel
from ringi.base.settings import SettingError
from ringi.domain.ask import parse_body
from ringi.domain.thread import ModelCalls
from ringi.errors import InvalidError

VARIABLE = "RINGI_PRICES"
MILLION = 1_000_000
Price = Annotated[Decimal, Field(ge=0, le=MILLION)]


class ModelPrice(StrictModel):
    """The prices of one model for a million tokens."""

    input: Price
    """The price of tokens that the model reads."""
    cached: Price | None = None
    """The price of tokens that the provider reads from its cache; None if it is that of `input`."""
    output: Price
    """The price of tokens that the model writes."""

    def cost(self, usage: ModelCalls) -> float | None:
        """Return the cost of the reported tokens; None if no call reported any."""
        if usage.input_tokens is None or usage.output_tokens is None:
            return None
        cached = usage.cached_tokens or 0
        read = (usage.input_tokens - cached) * self.input
        reread = cached * (self.input if self.cached is None else self.cached)
        return float((read + reread + usage.output_tokens * self.output) / MILLION)


class Prices(StrictModel):
    """The prices of models in one currency."""

    currency: Annotated[str, Field(pattern=r"^[A-Z]{3}$")]
    """The code of ISO 4217, such as `USD`."""
    models: dict[str, ModelPrice]
    """The prices by the name of the model in `usage` of a thread."""

    @classmethod
    def load(cls, path: str | None) -> Prices | None:
        """Return the prices in a TOML file; None without one.

        Args:
            path: The path of the file, from `RINGI_PRICES`.

        Raises:
            SettingError: The file cannot be read or has an invalid field; the error names it.
        """
        if not path:
            return None
        try:
            return parse_body(cls, tomllib.loads(Path(path).read_text("utf-8")))
        except (OSError, UnicodeDecodeError) as error:
            raise SettingError(VARIABLE, path, f"cannot be read: {error}") from error
        except tomllib.TOMLDecodeError as error:
            raise SettingError(VARIABLE, path, f"is not TOML: {error}") from error
        except InvalidError as error:
            remedy = "give a `currency`, and for each model the prices `input` and `output` of a million tokens"
            raise SettingError(VARIABLE, path, f"{error}; {remedy}") from error
