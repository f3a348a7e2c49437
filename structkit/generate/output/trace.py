"""What happened while the replies of a model were corrected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from structkit.models.capabilities import Constraint

__all__ = ["Draft", "DraftEnd", "Trace"]

DraftEnd: TypeAlias = Literal["complete", "ended", "refused", "empty", "failed", "timeout"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """One reply of a model, and what became of it."""

    attempt: int
    """The number of the attempt, from 0; validators rejected the attempts before."""

    prefix: str
    """The text of the answer that was kept when the reply was read."""

    reply: str
    """The reply, as far as it was read."""

    accepted: str
    """What the reply added to `prefix`, in the spelling of the target."""

    refused: str
    """The rest of the reply, from the first character that cannot follow; empty if there is none."""

    forced: str
    """The only text that can follow, which was appended after the reply."""

    choices: tuple[str, ...]
    """The texts that the request offered as the only ones that can follow."""

    hint: str
    """The description of what can follow that the request offered."""

    end: DraftEnd
    """`"complete"`: the reply completes the value. `"ended"`: the reply ended inside the value. `"refused"`: the rest
    of the reply cannot follow. `"empty"`: the reply added nothing. `"failed"` and `"timeout"`: the model failed, or was
    too slow, after it had added text."""

    seconds: float
    """The time of the reply."""

    constraint: Constraint | None = None
    """The notation in which the request told the server what can follow, if the server did not refuse it."""

    @property
    def is_correction(self) -> bool:
        """Whether the reply was cut, or added nothing."""
        return self.end in ("refused", "empty")


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """The replies from which a value was made; see `structkit.Result.trace`."""

    drafts: tuple[Draft, ...] = ()
    """The replies, in order."""

    forced_fields: tuple[str, ...] = ()
    """The paths of the values that `finish="shortest"` wrote, such as `items[2].name`; the model did not write them, or
    not to their end."""

    @property
    def corrections(self) -> int:
        """The number of replies that were cut, or added nothing."""
        return sum(draft.is_correction for draft in self.drafts)

    @property
    def is_constrained(self) -> bool:
        """Whether each reply was constrained and accepted to the last byte, and no value was closed by force."""
        return (
            bool(self.drafts)
            and not self.forced_fields
            and all(
                draft.constraint is not None
                and "".join(draft.reply.split()) == "".join(draft.accepted.split())
                for draft in self.drafts
            )
        )
