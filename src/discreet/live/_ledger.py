"""What the trials that a person takes part in may cost together.

>>> import discreet, tempfile, pathlib
>>> folder = pathlib.Path(tempfile.mkdtemp())
>>> ledger = discreet.Ledger(folder / "budgets.db", cap=discreet.Pure(2.0))
>>> trial = discreet.Trial(
...     discreet.policy("dp-imed", epsilon=1.0), ["A", "B"],
...     assignment=discreet.Assignment(ledger=ledger),
... )
>>> arm = trial.assign("patient-1")
>>> ledger.spent("patient-1")
{'epsilon': 1.0}

A person is charged the whole price of a trial before the first place is taken, once a trial, and
nothing is ever given back: a refund would tell who has answered. The charge is on disk before the
place is. After a crash in between someone has paid for nothing, and pays no second time when
asking again; the other order could give a place for nothing.

ε adds up with ε, and ρ with ρ: two sums, two caps. Amounts are whole numbers of 10⁻¹², prices
rounded up and caps down, so that sums are exact. A person is an HMAC under a secret of the ledger.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from pathlib import Path
from typing import NoReturn

from .._checks import Name, check_unit
from ..errors import AlreadyOpen, DamagedFile, InvalidArgument, TrialError
from ..privacy.budgets import ZCDP, Budget, Pure

PATIENCE = 10.0
APPLICATION = 0x64697362
OWNER_ONLY = 0o600
UNIT = Decimal(10) ** 12
LARGEST = 10**6
"""Of a cap; so that sums fit into 64 bits."""
SCHEMA = (
    "CREATE TABLE meta(name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE spent(person TEXT NOT NULL, trial TEXT NOT NULL, kind TEXT NOT NULL, "
    "amount INTEGER NOT NULL, PRIMARY KEY(person, trial))",
)


class Ledger:
    """Budgets of people across trials, in a file that several processes may use at once.

    Args:
        path: The file; it is made if it is not there.
        cap: What all trials of a person may cost together: `Pure(2.0)`, `ZCDP(0.5)`, or a list with
            one of each. Fixed when the file is made; leave it out to open one.

    Give it to every trial: `Assignment(ledger=ledger)`. People must have the same name in all of
    them. An old copy of the file that is put back forgets what was charged since.

    Example:
        >>> import discreet, tempfile
        >>> ledger = discreet.Ledger(tempfile.mkdtemp() + "/budgets.db", cap=discreet.Pure(2.0))
        >>> ledger.spent("patient-1")
        {'epsilon': 0.0}
    """

    def __init__(
        self, path: str | os.PathLike[str], cap: Budget | Sequence[Budget] | None = None
    ) -> None:
        if not isinstance(path, str | os.PathLike):
            raise InvalidArgument("path", "be a path", path, 'use for example "budgets.db"')
        self.path = Path(path).absolute()
        asked = None if cap is None else caps_of(cap)
        self._lock, self._process = threading.Lock(), os.getpid()
        if not self.path.exists():
            if asked is None:
                raise InvalidArgument(
                    "cap", "be given for a new ledger", None, "use for example cap=Pure(2.0)"
                )
            self._make(asked)
        self._base = self._connected()
        with self._held():
            found = dict(self._base.execute("SELECT name, value FROM meta").fetchall())
        try:
            self.id, self._secret = found["id"], bytes.fromhex(found["secret"])
            self._caps: dict[str, int] = json.loads(found["caps"])
        except (KeyError, ValueError):
            self._base.close()
            raise DamagedFile(f"{self.path} is not a ledger, or a damaged one") from None
        if asked is not None and asked != self._caps:
            raise InvalidArgument(
                "cap", f"be that of the ledger, {self.caps}, which was fixed when it was made", cap,
                "leave it out",
            )  # fmt: skip

    def _make(self, caps: dict[str, int]) -> None:
        """A whole file, under another name until it is."""
        if not self.path.parent.is_dir():
            raise InvalidArgument(
                "path", "lie in an existing folder", str(self.path), "create it first"
            )
        part = Path(f"{self.path}.{secrets.token_hex(8)}.part")
        os.close(os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, OWNER_ONLY))
        base = sqlite3.connect(part, isolation_level=None)
        try:
            base.execute("BEGIN IMMEDIATE")
            for statement in SCHEMA:
                base.execute(statement)
            values = {
                "id": secrets.token_hex(16), "secret": secrets.token_hex(32),
                "caps": json.dumps(caps),
            }  # fmt: skip
            base.executemany("INSERT INTO meta VALUES (?, ?)", values.items())
            base.execute(f"PRAGMA application_id = {APPLICATION}")
            base.execute("COMMIT")
            base.close()
            with suppress(FileExistsError):  # another process has just made one
                os.link(part, self.path)
        finally:
            base.close()
            part.unlink(missing_ok=True)

    def _connected(self) -> sqlite3.Connection:
        try:
            base = sqlite3.connect(
                f"{self.path.as_uri()}?mode=rw", uri=True, isolation_level=None,
                check_same_thread=False, timeout=PATIENCE,
            )  # fmt: skip
            found = base.execute("PRAGMA application_id").fetchone()
        except sqlite3.Error:
            found = None
        if found != (APPLICATION,):
            raise DamagedFile(f"{self.path} is not a ledger of budgets")
        base.execute("PRAGMA synchronous=FULL")
        return base

    @property
    def caps(self) -> dict[str, float]:
        """What all trials of a person may cost together, by kind."""
        return {kind: amount / float(UNIT) for kind, amount in self._caps.items()}

    def check(self, budget: Budget) -> None:
        """Refuse a trial whose budget has no cap here, or is beyond it by itself."""
        kind, price = price_of(budget)
        if price > self._caps.get(kind, -1):
            raise InvalidArgument(
                "ledger", f"have a cap that the trial's budget {budget} fits into", self.caps,
                "plan a smaller budget, or make a ledger with cap=[Pure(2.0), ZCDP(0.5)]",
            )  # fmt: skip

    def charge(self, unit: Name, trial: str, budget: Budget) -> bool:
        """The price of a trial, once; whether it is paid. If it would pass the cap, nothing is."""
        person, (kind, price) = self._person(unit), price_of(budget)
        with self._held():
            base = self._base
            known = base.execute(
                "SELECT 1 FROM spent WHERE person = ? AND trial = ?", (person, trial)
            ).fetchone()
            if known is not None:
                return True
            if self._sum(person, kind) + price > self._caps.get(kind, -1):
                return False
            base.execute("INSERT INTO spent VALUES (?, ?, ?, ?)", (person, trial, kind, price))
            return True

    def spent(self, unit: Name) -> dict[str, float]:
        """What someone's trials cost together so far, by kind."""
        person = self._person(unit)
        with self._held():
            sums = {kind: self._sum(person, kind) for kind in self._caps}
        return {kind: amount / float(UNIT) for kind, amount in sums.items()}

    def _sum(self, person: str, kind: str) -> int:
        rows = self._base.execute(
            "SELECT amount FROM spent WHERE person = ? AND kind = ?", (person, kind)
        )
        return sum(amount for (amount,) in rows)

    def _person(self, unit: Name) -> str:
        name = json.dumps(check_unit(unit)).encode()
        return hmac.new(self._secret, name, hashlib.sha256).hexdigest()

    @contextmanager
    def _held(self) -> Iterator[None]:
        """One transaction, synced when it ends; others wait."""
        if self._process != os.getpid():
            raise TrialError(
                f"the ledger {self.path} was opened by another process, of which this is a fork; "
                "open it in every process, after the fork"
            )
        failed = ""
        with self._lock:
            try:
                self._base.execute("BEGIN IMMEDIATE")
                try:
                    yield
                    self._base.execute("COMMIT")
                finally:
                    if self._base.in_transaction:
                        self._base.execute("ROLLBACK")
            except sqlite3.Error as error:
                failed = str(error)
        if failed:
            self._refuse(failed)

    def _refuse(self, why: str) -> NoReturn:
        if "locked" in why or "busy" in why:
            raise AlreadyOpen(
                f"another process has held {self.path} for {PATIENCE:g} seconds; nobody was "
                "charged: try again, or end the process that hangs"
            )
        raise TrialError(f"{self.path} could not be read or written: {why}; nobody was charged")

    def close(self) -> None:
        """End the use of this object."""
        self._base.close()

    def __repr__(self) -> str:
        return f"<Ledger {self.path}: {self.caps}>"

    def __reduce__(self) -> NoReturn:
        raise TrialError("a ledger must not be copied or pickled; open its file again by Ledger()")


def caps_of(cap: Budget | Sequence[Budget]) -> dict[str, int]:
    """Caps as whole numbers, by kind."""
    given = [cap] if isinstance(cap, Budget) else cap
    found: dict[str, int] = {}
    for one in given if isinstance(given, list | tuple) else ():
        if isinstance(one, Pure | ZCDP) and one.is_finite and kind_of(one) not in found:
            amount = one.epsilon if isinstance(one, Pure) else one.rho
            if amount <= LARGEST:
                found[kind_of(one)] = int((Decimal(repr(amount)) * UNIT).to_integral(ROUND_FLOOR))
                continue
        found = {}
        break
    if not found:
        raise InvalidArgument(
            "cap", f"be a Pure or a ZCDP budget of at most {LARGEST:g}, or one of each", cap,
            "use for example cap=Pure(2.0)",
        )  # fmt: skip
    return found


def kind_of(budget: Pure | ZCDP) -> str:
    """What adds up with it."""
    return "epsilon" if isinstance(budget, Pure) else "rho"


def price_of(budget: Budget) -> tuple[str, int]:
    """A budget as its kind and a whole number."""
    if not isinstance(budget, Pure | ZCDP) or not budget.is_finite:
        raise InvalidArgument(
            "ledger", "be left out for a budget other than ε or ρ, which do not simply add up",
            budget, "plan the trial with epsilon=1.0 or rho=0.5",
        )  # fmt: skip
    amount = budget.epsilon if isinstance(budget, Pure) else budget.rho
    return kind_of(budget), int((Decimal(repr(amount)) * UNIT).to_integral(ROUND_CEILING))
