"""Dates, times and durations of ISO 8601."""

from __future__ import annotations

from typing import Literal, TypeAlias

from structkit.arguments.checks import check_choice
from structkit.targets.grammar import Grammar

__all__ = ["DATE", "iso8601"]

Form: TypeAlias = Literal["date", "time", "datetime", "duration"]

_LEAP = "(?:[0-9][0-9](?:0[48]|[2468][048]|[13579][26])|(?:0[48]|[2468][048]|[13579][26])00)"

DATE = (
    "(?:(?!0000)[0-9]{4}-(?:"
    "(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])"
    "|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)"
    "|02-(?:0[1-9]|1[0-9]|2[0-8]))"
    f"|{_LEAP}-02-29)"
)
"""A pattern of the calendar dates from 0001-01-01 to 9999-12-31."""

_TIME = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{3}(?:[0-9]{3})?)?"
_OFFSET = r"Z|\+(?:[01][0-9]|2[0-3]):[0-5][0-9]|-(?!00:00)(?:[01][0-9]|2[0-3]):[0-5][0-9]"
_COUNT = "(?:0|[1-9][0-9]{0,3})"


def _some(first: str, second: str, third: str) -> str:
    """Return a pattern of one to three parts in this order."""
    return f"{first}(?:{second})?(?:{third})?|{second}(?:{third})?|{third}"


_GRAMMAR = rf"""
date: DATE
time: TIME OFFSET?
datetime: DATE "T" TIME OFFSET?
duration: WEEKS | "P" (DAYS ("T" HOURS)? | "T" HOURS)
DATE: /{DATE}/
TIME: /{_TIME}/
OFFSET: /{_OFFSET}/
WEEKS: /P{_COUNT}W/
DAYS: /{_some(f"{_COUNT}Y", f"{_COUNT}M", f"{_COUNT}D")}/
HOURS: /{_some(f"{_COUNT}H", f"{_COUNT}M", rf"{_COUNT}(?:[.][0-9]{{1,6}})?S")}/
"""


def iso8601(form: Form | None = None) -> Grammar[str]:
    """Return the grammar of dates, times and durations of ISO 8601 in the extended format.

    A date exists in the calendar of the years 1 to 9999. A time has seconds and may have milliseconds or microseconds
    and an offset; there is no second 60. The numbers of a duration have up to four digits. Weeks such as `2026-W48-2`
    and days of the year such as `2026-328` are not in the language.

    Args:
        form: The form of the text; by default any of the four.

    >>> import structkit as sk
    >>> from structkit.testing import ScriptedModel
    >>> sk.extract(ScriptedModel(["2026-02-28T09:30:00+01:00"]), "When?", sk.grammars.iso8601("datetime"))
    '2026-02-28T09:30:00+01:00'
    """
    forms = ("date", "time", "datetime", "duration")
    if form is not None:
        check_choice("form", form, forms)
    return Grammar(f"start: {form or ' | '.join(forms)}\n{_GRAMMAR}")
