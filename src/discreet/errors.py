"""Every error that discreet raises on purpose.

    DiscreetError
    ├── InvalidArgument (also a ValueError)   a value breaks a stated rule
    │   ├── UnknownPolicy                     no such policy in the catalogue
    │   ├── UnsupportedBudget                 the policy cannot satisfy this kind of budget
    │   ├── NoConversion                      one budget does not imply another of that kind
    │   └── NoData                            a data set is not on this machine, and none was named
    ├── DamagedFile (also a ValueError)       a saved file is foreign, damaged or too new
    └── TrialError (also a RuntimeError)      a step that the state of a live trial does not allow
        ├── AlreadyOpen                       the file of a trial is held by another process
        ├── ClockJumped                       the clock went further than a trial takes on trust
        ├── Fenced                            a file that is old, or lacks its witness
        ├── TrialBusy                         a release that others make has not come in time
        ├── OverBudget                        a person's budget across trials does not allow a place
        ├── UnknownUnit (also a KeyError)     an outcome for someone who was never assigned
        ├── Withdrawn                         a participant who has withdrawn asks for an arm
        └── ConflictingOutcome                a second, different outcome for one unit

A message names the argument, the rule, the value and the fix. Of an object of someone else's class
it names the class alone: what its `repr` does, and what it shows, no one knows here.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = [
    "AlreadyOpen",
    "ClockJumped",
    "ConflictingOutcome",
    "DamagedFile",
    "DiscreetError",
    "Fenced",
    "InvalidArgument",
    "NoConversion",
    "NoData",
    "OverBudget",
    "ServiceError",
    "TrialBusy",
    "TrialError",
    "UnknownPolicy",
    "UnknownUnit",
    "UnsupportedBudget",
    "Withdrawn",
]

OWN = ("builtins", "discreet", "numpy", "pathlib", "datetime", "fractions", "decimal")
"""Packages whose objects are shown as they show themselves."""
CONTAINERS = (list, tuple, set, frozenset, dict)


def shown(value: object) -> str:
    """A value in a message."""
    if not _is_known(value, 3):
        return f"a value of type {type(value).__name__}"
    try:
        return repr(value)
    except Exception:  # of something inside it
        return f"a value of type {type(value).__name__}"


def _is_known(value: object, depth: int) -> bool:
    """Whether `repr` calls no code but ours, NumPy's and Python's."""
    if type(value).__module__.partition(".")[0] not in OWN or depth == 0:
        return False
    if getattr(getattr(value, "dtype", None), "hasobject", False):
        return False
    if not isinstance(value, CONTAINERS):
        return True
    parts = value.items() if isinstance(value, dict) else value
    return all(_is_known(part, depth - (type(part) is not tuple)) for part in parts)


class DiscreetError(Exception):
    """Base of all errors that discreet raises on purpose.

    Example:
        >>> import discreet
        >>> try:
        ...     discreet.policy("dp-imedd", epsilon=1.0)
        ... except discreet.DiscreetError as error:
        ...     print(type(error).__name__)
        UnknownPolicy
    """


class InvalidArgument(DiscreetError, ValueError):
    """A value breaks a stated rule: the message names the argument, the rule, the value and a fix.

    Args:
        argument: The name of the argument.
        rule: What it must be.
        value: What it was; never an outcome.
        fix: What to do instead.

    Example:
        >>> import discreet
        >>> try:
        ...     discreet.Bernoulli([1.5])
        ... except discreet.InvalidArgument as error:
        ...     print(error.argument)
        means[0]
    """

    def __init__(self, argument: str, rule: str, value: object, fix: str) -> None:
        super().__init__(f"{argument} must {rule}, got {shown(value)}; {fix}")
        self.argument, self.rule, self.value, self.fix = argument, rule, value, fix

    def __reduce__(self) -> tuple[type, tuple[str, str, object, str]]:
        return type(self), (self.argument, self.rule, self.value, self.fix)


class UnknownPolicy(InvalidArgument):
    """No policy of that name; the message suggests the nearest."""

    @classmethod
    def near(cls, name: str, known: Iterable[str]) -> UnknownPolicy:
        known = sorted(known)
        close = get_close_matches(name.lower(), known, n=3, cutoff=0.4)
        hint = f"did you mean {' or '.join(close)}?" if close else f"known: {', '.join(known)}"
        return cls("policy", "be a policy of the catalogue", name, hint)


class UnsupportedBudget(InvalidArgument):
    """A budget of a kind that this policy cannot be calibrated to."""


class NoConversion(InvalidArgument):
    """No proved formula turns this budget into the kind that was asked for."""


class NoData(InvalidArgument):
    """A data set is in none of the places where it is looked for unasked."""


class DamagedFile(DiscreetError, ValueError):
    """A saved file cannot be trusted: foreign, damaged, or of a later version."""


class TrialError(DiscreetError, RuntimeError):
    """A live trial refuses a step; its state is unchanged."""


class AlreadyOpen(TrialError):
    """Someone else holds the file of a trial, and has done so for longer than a call takes."""


class ClockJumped(TrialError):
    """The clock went further than a trial takes on trust, and no one has said that it is right."""


class Fenced(TrialError):
    """The file of a trial is not known to be the newest, so what it holds may be released
    already."""


class TrialBusy(TrialError):
    """Newcomers wait for a release that another process makes, and it has not come in time."""


class OverBudget(TrialError):
    """With the price of this trial, someone's budget across trials would pass its cap."""


class Withdrawn(TrialError):
    """Someone who has withdrawn, and whose name was overwritten, asks for an arm."""


class ServiceError(DiscreetError, RuntimeError):
    """A service does not answer, or refuses a request; `status` is that of HTTP, 0 without one."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status

    def __reduce__(self) -> tuple[type, tuple[str, int]]:
        return type(self), (str(self), self.status)


class UnknownUnit(TrialError, KeyError):
    """An outcome for a unit that was never assigned."""

    def __str__(self) -> str:  # KeyError would show the repr of the message
        return str(self.args[0]) if self.args else ""


class ConflictingOutcome(TrialError):
    """A unit already has another outcome."""
