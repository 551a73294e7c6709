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
    """No policy of that name; the message suggests the nearest.

    Example:
        >>> import discreet
        >>> try:
        ...     discreet.policy("dp-imedd", epsilon=1.0)
        ... except discreet.errors.UnknownPolicy as error:
        ...     print(error.fix)
        did you mean dp-imed or imed or dp-se?
    """

    @classmethod
    def near(cls, name: str, known: Iterable[str]) -> UnknownPolicy:
        known = sorted(known)
        close = get_close_matches(name.lower(), known, n=3, cutoff=0.4)
        hint = f"did you mean {' or '.join(close)}?" if close else f"known: {', '.join(known)}"
        return cls("policy", "be a policy of the catalogue", name, hint)


class UnsupportedBudget(InvalidArgument):
    """A budget of a kind that this policy cannot be calibrated to.

    Example:
        >>> import discreet
        >>> try:
        ...     discreet.privacy.Laplace.calibrated(discreet.ZCDP(1.0))
        ... except discreet.errors.UnsupportedBudget as error:
        ...     print(error.fix)
        give epsilon alone, or use Gaussian noise
    """


class NoConversion(InvalidArgument):
    """No proved formula turns this budget into the kind that was asked for.

    Example:
        >>> import discreet
        >>> try:
        ...     discreet.ZCDP(1.0).to_pure()
        ... except discreet.errors.NoConversion as error:
        ...     print(error.fix)
        use to_approximate(delta) instead
    """


class NoData(InvalidArgument):
    """A data set is in none of the places where it is looked for unasked.

    Example:
        >>> import discreet
        >>> try:
        ...     raise discreet.errors.NoData("path", "be given", None, "download the data")
        ... except discreet.InvalidArgument as error:
        ...     print(error)
        path must be given, got None; download the data
    """


class DamagedFile(DiscreetError, ValueError):
    """A saved file cannot be trusted: foreign, damaged, or of a later version.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> import discreet
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder) / "result.parquet"
        ...     _ = path.write_bytes(b"something else")
        ...     try:
        ...         discreet.load(path)
        ...     except discreet.errors.DamagedFile as error:
        ...         print(type(error).__name__)
        DamagedFile
    """


class TrialError(DiscreetError, RuntimeError):
    """A live trial refuses a step; its state is unchanged.

    Example:
        >>> import discreet
        >>> with discreet.Trial(discreet.policy("dp-imed", epsilon=1.0), ["A", "B"], 20) as trial:
        ...     try:
        ...         trial.record("Ann", 1.0)  # before she was assigned
        ...     except discreet.errors.TrialError as error:
        ...         print(type(error).__name__)
        UnknownUnit
    """


class AlreadyOpen(TrialError):
    """Another process holds the file of a trial, and has done so for longer than a call takes.

    Nothing was changed. End the process that holds it, or wait, and try again.

    Example:
        >>> from discreet.errors import AlreadyOpen, TrialError
        >>> issubclass(AlreadyOpen, TrialError)  # caught with every other refusal
        True
    """


class ClockJumped(TrialError):
    """The clock went further than a trial takes on trust, and no one has said that it is right.

    Nothing was released. If the clock is wrong, set it right; if it is right, `confirm_clock()`.

    Example:
        >>> from discreet.errors import ClockJumped, TrialError
        >>> issubclass(ClockJumped, TrialError)  # caught with every other refusal
        True
    """


class Fenced(TrialError):
    """The file of a trial is not known to be the newest, so what it holds may be released already.

    Nothing was released: load the newest file, or follow the message.

    Example:
        >>> from discreet.errors import Fenced, TrialError
        >>> issubclass(Fenced, TrialError)  # caught with every other refusal
        True
    """


class TrialBusy(TrialError):
    """Newcomers wait for a release that another process makes, and it has not come in time.

    Nothing was changed: try again.

    Example:
        >>> from discreet.errors import TrialBusy, TrialError
        >>> issubclass(TrialBusy, TrialError)  # caught with every other refusal
        True
    """


class OverBudget(TrialError):
    """With the price of this trial, a participant's budget across trials would pass its cap.

    Nothing was charged, and nothing changed.

    Example:
        >>> import discreet
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> policy = discreet.policy("dp-imed", epsilon=1.0)
        >>> with TemporaryDirectory() as folder:
        ...     ledger = discreet.Ledger(Path(folder) / "ledger.db", cap=discreet.Pure(1.5))
        ...     paid = discreet.Assignment(ledger=ledger)
        ...     arm = discreet.Trial(policy, ["A", "B"], 20, assignment=paid).assign("Ann")
        ...     try:
        ...         discreet.Trial(policy, ["A", "B"], 20, assignment=paid).assign("Ann")
        ...     except discreet.errors.OverBudget as error:
        ...         print("nothing was charged" in str(error))
        True
    """


class Withdrawn(TrialError):
    """Someone who has withdrawn, and whose name was overwritten, asks for an arm.

    Example:
        >>> import discreet
        >>> with discreet.Trial(discreet.policy("dp-imed", epsilon=1.0), ["A", "B"], 20) as trial:
        ...     arm = trial.assign("Ann")
        ...     note = trial.withdraw("Ann")
        ...     try:
        ...         trial.assign("Ann")
        ...     except discreet.errors.Withdrawn as error:
        ...         print(str(error).partition(",")[0])
        unit 'Ann' has withdrawn and was forgotten
    """


class ServiceError(DiscreetError, RuntimeError):
    """A service does not answer, or refuses a request; `status` is that of HTTP, 0 without one.

    Example:
        >>> from discreet.errors import ServiceError
        >>> ServiceError("the service is not ready", status=503).status
        503
    """

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status

    def __reduce__(self) -> tuple[type, tuple[str, int]]:
        return type(self), (str(self), self.status)


class UnknownUnit(TrialError, KeyError):
    """An outcome for a participant who was never assigned.

    Example:
        >>> import discreet
        >>> with discreet.Trial(discreet.policy("dp-imed", epsilon=1.0), ["A", "B"], 20) as trial:
        ...     try:
        ...         trial.record("Ann", 1.0)
        ...     except discreet.errors.UnknownUnit as error:
        ...         print(str(error).partition(",")[0])
        unit must have been assigned before an outcome is recorded
    """

    def __str__(self) -> str:  # KeyError would show the repr of the message
        return str(self.args[0]) if self.args else ""


class ConflictingOutcome(TrialError):
    """A participant already has another outcome.

    Example:
        >>> import discreet
        >>> policy = discreet.policy("dp-imed", epsilon=1.0, first=10)
        >>> with discreet.Trial(policy, ["A", "B"], 40) as trial:
        ...     arm = trial.assign("Ann")
        ...     trial.record("Ann", 1.0)
        ...     try:
        ...         trial.record("Ann", 0.0)
        ...     except discreet.errors.ConflictingOutcome as error:
        ...         print(isinstance(error, discreet.errors.TrialError))
        True
    """
