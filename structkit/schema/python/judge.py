"""Pydantic's verdict on a text: its canonical text, or the rejection by the type or by a validator of the user.

Used to check that a guide and a type agree. `schema/python/output.py` makes values for users.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args

from pydantic import TypeAdapter, ValidationError
from pydantic_core.core_schema import ErrorType
from typing_extensions import TypeForm

from structkit.error_notes import type_and_message
from structkit.schema.ir.path import join_path, path_step
from structkit.schema.python.calls import ReadFunction, adapter_of, reject_function
from structkit.schema.python.validators import is_of_path, own_functions

__all__ = ["Judge", "Refused"]


@dataclass(frozen=True, slots=True)
class Refused:
    """A rejection.

    Attributes:
        place: The path of the rejected part, such as `$.items[2].age`.
        message: The reason.
        by_validator: Whether a validator of the user rejects the part, not the type.
    """

    place: str
    message: str
    by_validator: bool


class Judge:
    """Check texts against a type with pydantic.

    >>> judge = Judge(list[int])
    >>> judge.refusal("[1, true]"), judge.dump("[1,2]")
    (None, '[1, 2]')
    >>> judge.refusal('["x"]').place
    '$[0]'

    Args:
        target: A type, or a `TypeAdapter` of one.
        read_function: Returns the form of each function in the type.
    """

    def __init__(self, target: TypeForm[object], read_function: ReadFunction = reject_function) -> None:
        self._adapter: TypeAdapter[Any] = adapter_of(target, read_function)
        self._has_own = next(own_functions(self._adapter.core_schema), None) is not None

    def refusal(self, text: str) -> Refused | None:
        """Return why a text is rejected; `None` if it is accepted.

        A validator that raises an error other than `ValueError` or `AssertionError` is broken; its error does not count
        as a rejection by the validator.
        """
        try:
            self._adapter.validate_json(text)
        except ValidationError as error:
            errors: Sequence[Any] = error.errors(include_url=False)
            own = next((each for each in errors if self._is_own(each)), None)
            worst = errors[0] if own is None else own
            return Refused(
                "$" + join_path([path_step(part) for part in worst["loc"]]),
                str(worst["msg"]),
                own is not None,
            )
        except Exception as error:  # validators of users can raise any error
            by_validator = isinstance(error, OSError) and is_of_path(error)
            return Refused("$", type_and_message(error), by_validator)
        return None

    def _is_own(self, error: Any) -> bool:
        """Return whether a validator of the user raised an error, or a callable discriminator chose no member.

        Pydantic's types raise pydantic's errors, so any caught exception comes from a function of the user.
        """
        context = error.get("ctx", {})
        if isinstance(context.get("error"), Exception) or error["type"] in _CHECKED_AFTER:
            return True
        if str(context.get("discriminator")).endswith("()"):  # the name of a field is in quotes
            return True
        return self._has_own and error["type"] not in _KNOWN

    def dump(self, text: str) -> str | None:
        """Return the canonical JSON of a text; `None` if the text is rejected or its value has no JSON."""
        try:
            value = self._adapter.validate_json(text)
            dumped = self._adapter.dump_python(
                value, mode="json", by_alias=True, round_trip=True, warnings=False
            )
            return json.dumps(dumped, ensure_ascii=False, allow_nan=False)
        except Exception:  # validators and serializers of users can raise any error
            return None


_KNOWN = frozenset(get_args(ErrorType))

_CHECKED_AFTER = frozenset(
    """
    aba_routing_number cron_str_invalid iban_invalid_checksum iban_invalid_country_code iban_invalid_length import_error
    isbn_invalid_digit_check_isbn10 isbn_invalid_digit_check_isbn13 not_operation_failed parent_does_not_exist
    path_exists path_not_directory path_not_file path_not_socket payment_card_number_brand payment_card_number_luhn
    predicate_failed
    """.split()
)
"""Errors of functions of pydantic and pydantic-extra-types that no automaton can enforce.

They access the file system, compute check digits, or call a predicate of the user.
"""
