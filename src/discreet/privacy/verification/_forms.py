"""Affine forms: what a release kernel computes when rewards and noises are symbols.

    published number = constant + Σ (coefficient · reward) + Σ (coefficient · noise)

A kernel that adds, subtracts and scales by public numbers runs on forms as it runs on floats, and
what it publishes then says in which noisy numbers every reward is, with which coefficient. Anything
else that it does to a reward (a comparison, a product of two rewards, a sigmoid) raises
`NotAffine`, with the reason. What is published is public: read again, it is a plain number.

A number with noise in it may be clipped, or branched on. It then counts as published before that:
whatever follows from it is post-processing, so this is an upper bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import (
    TYPE_CHECKING,
    Any,
    NamedTuple,
    NoReturn,
    SupportsFloat,
    SupportsIndex,
    TypeVar,
    cast,
)

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

REWARD, LAPLACE, GAUSSIAN, TRUNCATED, RESPONSE = (
    "reward", "laplace", "gaussian", "truncated", "response",
)  # fmt: skip


Place = SupportsIndex | slice | tuple[object, ...]
"""What an array may be asked for."""
State = TypeVar("State", bound=NamedTuple)


class NotAffine(Exception):
    """A kernel did something to a reward, or to noise, that forms cannot follow.

    Example:
        >>> from discreet.privacy.verification import NotAffine, Tape
        >>> reward = Tape().reward(1.0, 1.0, first=1, rounds=1)
        >>> try:
        ...     reward > 0.5
        ... except NotAffine as refused:
        ...     print(refused)
        it compares, and so branches on, a number that is not public
    """


class Form:
    """A number that a kernel computes from symbols: constant + Σ coefficient · symbol.

    Symbols are numbered in the order of their making.

    Example:
        >>> from discreet.privacy.verification import Form
        >>> number = 2.0 * Form.symbol(0) - Form.symbol(1) + 3.0
        >>> number.coefficients, number.constant
        (array([ 2., -1.]), 3.0)
    """

    __array_ufunc__ = None  # numpy numbers leave arithmetic with forms to the form
    __hash__ = None  # type: ignore[assignment]
    __slots__ = ("coefficients", "constant", "tape")

    def __init__(
        self, coefficients: NDArray[np.float64], constant: float = 0.0, tape: Tape | None = None
    ) -> None:
        self.coefficients, self.constant, self.tape = coefficients, constant, tape

    @classmethod
    def symbol(cls, number: int, coefficient: float = 1.0, tape: Tape | None = None) -> Form:
        """coefficient · symbol."""
        coefficients = np.zeros(number + 1)
        coefficients[number] = coefficient
        return cls(coefficients, 0.0, tape)

    @property
    def is_constant(self) -> bool:
        """Whether every symbol has cancelled."""
        return not self.coefficients.any()

    def padded(self, length: int) -> NDArray[np.float64]:
        """The coefficients, with zeros for the symbols that came later."""
        if len(self.coefficients) == length:
            return self.coefficients
        padded = np.zeros(length)
        padded[: len(self.coefficients)] = self.coefficients
        return padded

    def _plus(self, other: SupportsFloat, sign: float) -> Form:
        if isinstance(other, Form):
            mine, others = self.coefficients, other.coefficients
            longer = max(len(mine), len(others))
            moved = np.zeros(longer)
            moved[: len(mine)] = mine
            if sign > 0.0:
                moved[: len(others)] += others
            else:
                moved[: len(others)] -= others
            return Form(moved, self.constant + sign * other.constant, self.tape or other.tape)
        if isinstance(other, Unknown):  # what is added to a form is of no account, unless alone
            return Form(self.coefficients, math.nan, self.tape)
        return Form(self.coefficients, self.constant + sign * _number(other), self.tape)

    def __add__(self, other: SupportsFloat) -> Form:
        return self._plus(other, 1.0)

    def __sub__(self, other: SupportsFloat) -> Form:
        return self._plus(other, -1.0)

    def __rsub__(self, other: SupportsFloat) -> Form:
        return (-self)._plus(other, 1.0)

    def __neg__(self) -> Form:
        return self * -1.0

    def __mul__(self, other: SupportsFloat) -> Form:
        if isinstance(other, Form):
            if not other.is_constant and not self.is_constant:
                raise NotAffine("it multiplies two numbers that are not public")
            first, second = (self, other) if other.is_constant else (other, self)
            return first * second.constant
        if isinstance(other, Unknown):
            return Scaled(self.coefficients, math.nan, self.tape)
        factor = _number(other)
        return Form(self.coefficients * factor, self.constant * factor, self.tape)

    def __truediv__(self, other: SupportsFloat) -> Form:
        if isinstance(other, Unknown):
            return Scaled(self.coefficients, math.nan, self.tape)
        if isinstance(other, Form):
            if not other.is_constant:
                raise NotAffine("it divides by a number that is not public")
            other = other.constant
        return self * (1.0 / _number(other))

    __radd__, __rmul__ = __add__, __mul__

    def _plain(self, doing: str) -> float:
        if self.is_constant:
            if math.isnan(self.constant):
                raise NotAffine(f"it {doing} a number of which nothing is known")
            return self.constant
        if self.tape is None or not self.tape.hides(self):
            raise NotAffine(f"it {doing} a number that is not public")
        return self.tape.reveal(self)

    def __float__(self) -> float:
        return self._plain("computes, other than by sums, with")

    def __int__(self) -> int:
        return int(self._plain("rounds"))

    def __round__(self, digits: int = 0) -> float:
        plain: float = round(self._plain("rounds"), digits)
        return plain

    def __bool__(self) -> bool:
        return bool(self._plain("branches on"))

    def __abs__(self) -> float:
        return abs(self._plain("takes the size of"))

    def __pow__(self, power: SupportsFloat) -> float:
        plain: float = self._plain("takes a power of") ** _number(power)
        return plain

    def _compared(self, other: object) -> float:
        gap = self - cast("SupportsFloat", other)  # float() refuses what is none
        if gap.tape is not None and not gap.is_constant and gap.tape.hides(gap):
            return gap.tape.compare(gap)
        return gap._plain("compares, and so branches on,")

    def __lt__(self, other: SupportsFloat) -> bool:
        return self._compared(other) < 0.0

    def __le__(self, other: SupportsFloat) -> bool:
        return self._compared(other) <= 0.0

    def __gt__(self, other: SupportsFloat) -> bool:
        return self._compared(other) > 0.0

    def __ge__(self, other: SupportsFloat) -> bool:
        return self._compared(other) >= 0.0

    def __eq__(self, other: object) -> bool:
        return self._compared(other) == 0.0

    def __ne__(self, other: object) -> bool:
        return self._compared(other) != 0.0

    def _refused(self, *_: object) -> NoReturn:
        raise NotAffine("it computes, other than by sums, with a number that is not public")

    __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __rpow__ = _refused


class Scaled(Form):
    """A form times a public number of which nothing is known. It may be published, for a factor
    changes nothing in what hides a reward, and not be added to anything."""

    __slots__ = ()

    def _plus(self, other: SupportsFloat, sign: float) -> Form:
        raise NotAffine("it adds to a number that was multiplied by a public count")

    def __mul__(self, other: SupportsFloat) -> Form:
        if isinstance(other, Form):
            raise NotAffine("it multiplies two numbers that are not public")
        return Scaled(self.coefficients, math.nan, self.tape)

    def _compared(self, other: object) -> float:
        if isinstance(other, Form) or self.tape is None or not self.tape.hides(self):
            raise NotAffine("it compares, and so branches on, a number that is not public")
        return self.tape.compare(self)

    __truediv__ = __rmul__ = __mul__


class Unknown:
    """A public number of which a kernel is told nothing: see `policies.induction`."""

    __hash__ = None  # type: ignore[assignment]
    __slots__ = ()

    def __float__(self) -> float:
        raise NotAffine("it computes with a public count in a way of its own")


class RewardForm(Form):
    """One reward as it came, and beside it what a fixed map makes of it, in a range again.

    Example:
        >>> from discreet.privacy.verification import Tape
        >>> reward = Tape().reward(1.0, 1.0, first=1, rounds=1)
        >>> type(reward).__name__, reward.width
        ('RewardForm', 1.0)
    """

    __slots__ = ("mapped", "width")
    mapped: Form
    width: float
    """of that range, in steps"""


def _number(value: SupportsFloat) -> float:
    return float(value)


@dataclass(frozen=True)
class Symbol:
    """What a symbol stands for.

    A reward: `scale` is the width of its range. A noise: `law` and `scale`, with `delta` for
    truncated Laplace noise of ε = 1/scale. A response: `scale` is the ε that it costs the reward
    `of`.

    Example:
        >>> from discreet.privacy.verification import Tape
        >>> tape = Tape()
        >>> _ = tape.noise("laplace", 2.0)
        >>> tape.symbols[0].law, tape.symbols[0].scale
        ('laplace', 2.0)
    """

    law: str
    scale: float
    arm: int = -1
    batch: int = -1
    first: int = 0
    """A reward: the first round of its batch."""
    rounds: int = 0
    """A reward: the rounds of its batch, whose rewards all enter alike, through their sum."""
    delta: float = 0.0
    of: int = -1


class Tape:
    """All symbols of one walk, and the numbers that were published, in their order.

    Handed to the kernels as their generator: `noise(scale, rng)` becomes a new symbol.

    Example:
        >>> from discreet.privacy.verification import Tape
        >>> tape = Tape()
        >>> reward = tape.reward(1.0, 1.0, first=1, rounds=1)
        >>> tape.publish(reward + tape.noise("laplace", 2.0), 0)
        0.5
        >>> len(tape.numbers), [symbol.law for symbol in tape.symbols]
        (1, ['reward', 'reward', 'laplace'])
    """

    def __init__(self, value: Callable[[int], float] | None = None, most: int = 1 << 30) -> None:
        self.symbols: list[Symbol] = []
        self.numbers: list[Form] = []
        self.touched: set[tuple[str, int]] = set()
        self.read_values = False
        self.revealed = False
        """whether a noisy number was branched on, and so counts as published as it was"""
        self.most = most
        self._value = value or (lambda arm: 0.5)

    @property
    def is_full(self) -> bool:
        """Whether as many numbers were published as may be followed."""
        return len(self.numbers) >= self.most

    def symbol(self, symbol: Symbol, coefficient: float = 1.0) -> Form:
        """A new symbol as a form."""
        self.symbols.append(symbol)
        return Form.symbol(len(self.symbols) - 1, coefficient, self)

    def reward(
        self, width: float, resolution: float, mapped: float = 1.0, **where: int
    ) -> RewardForm:
        """One reward, counted in steps; of infinite width if it may be of any size."""
        inside = self.symbol(Symbol(REWARD, mapped, **where), resolution)
        raw = self.symbol(Symbol(REWARD, width, **where), resolution)
        form = RewardForm(raw.coefficients, 0.0, self)
        form.mapped, form.width = inside, mapped * resolution
        return form

    def noise(self, law: str, scale: SupportsFloat, delta: float = 0.0) -> Form | float:
        """New noise; none at scale 0."""
        width = float(scale)
        if not width > 0.0:
            return 0.0
        return self.symbol(Symbol(law, width, delta=delta))

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        raise NotAffine(f"it draws {name!r} from the generator by itself, past the source of noise")

    def publish(self, form: Form, place: int) -> float:
        """A number becomes public; from now on it is that of the path that is walked."""
        self.numbers.append(form)
        return self._value(place)

    def hides(self, form: Form) -> bool:
        """Whether there is noise in a form."""
        inside = np.flatnonzero(form.coefficients)
        return any(self.symbols[j].law in (LAPLACE, GAUSSIAN, TRUNCATED) for j in inside)

    def reveal(self, form: Form) -> float:
        """A noisy number that a kernel branches on: published as it is, before anything is built
        from it."""
        self.revealed = True
        self.read_values = True  # another value, another branch
        return self.publish(form, 0)

    def compare(self, form: Form) -> float:
        """A noisy number that is compared with 0."""
        return self.reveal(form)


class Cells:
    """A flat sequence of a ledger that notes which of its entries were used.

    Kernels take it for a sequence of floats or of integers, so what is read has no type.

    Example:
        >>> from discreet.privacy.verification import Cells, Tape
        >>> tape = Tape()
        >>> ledger = Cells(tape, "ledger.total", [0.0, 0.0])
        >>> ledger[1] += 2.0
        >>> ledger.cells, tape.touched
        ([0.0, 2.0], {('ledger.total', 1)})
    """

    __slots__ = ("cells", "name", "tape")

    def __init__(self, tape: Tape, name: str, cells: Iterable[Form | float]) -> None:
        self.tape, self.name, self.cells = tape, name, list(cells)

    def _touch(self, place: Place) -> int:
        if isinstance(place, slice | tuple):
            raise NotAffine(f"it takes more than one entry of {self.name} at once")
        index = int(place)
        if not 0 <= index < len(self.cells):  # compiled code would read or write elsewhere
            raise IndexError(
                f"it reaches outside of its ledger, at entry {index} of {self.name}, which has "
                f"{len(self.cells)} entries"
            )
        self.tape.touched.add((self.name, index))
        return index

    def __getitem__(self, place: Place) -> Any:
        return self.cells[self._touch(place)]

    def __setitem__(self, place: Place, value: Form | float) -> None:
        self.cells[self._touch(place)] = value

    def __len__(self) -> int:
        return len(self.cells)

    def __iter__(self) -> Iterator[Any]:
        for place in range(len(self.cells)):
            yield self[place]


class PublicCells(Cells):
    """Cells of the view: whatever is written is public, and a plain number when read.

    Example:
        >>> from discreet.privacy.verification import PublicCells, Tape
        >>> tape = Tape()
        >>> view = PublicCells(tape, "view.value", [0.0])
        >>> view[0] = tape.reward(1.0, 1.0, first=1, rounds=1) + tape.noise("laplace", 2.0)
        >>> view[0], len(tape.numbers)
        (0.5, 1)
    """

    __slots__ = ()

    def __setitem__(self, place: Place, value: Form | float) -> None:
        if isinstance(value, Form):
            index = self._touch(place)
            value = value.constant if value.is_constant else self.tape.publish(value, index)
        super().__setitem__(place, value)


class Values(PublicCells):
    """Released values: a kernel that reads them again may do other things for other values.

    Example:
        >>> from discreet.privacy.verification import Tape, Values
        >>> tape = Tape()
        >>> Values(tape, "view.value", [0.5])[0], tape.read_values
        (0.5, True)
    """

    __slots__ = ()

    def __getitem__(self, place: Place) -> Any:
        self.tape.read_values = True
        return super().__getitem__(place)


def cells(tape: Tape, name: str, state: State, kind: type[Cells] = Cells) -> State:
    """A NamedTuple of arrays with cells in place of arrays, so that what is used is noted.

    Args:
        tape: The tape that notes it.
        name: What errors call the NamedTuple.
        state: The NamedTuple.
        kind: The kind of cells.

    Returns:
        A NamedTuple of the same type.

    Raises:
        NotAffine: If an array has more than one dimension.

    Example:
        >>> from typing import NamedTuple
        >>> import numpy as np
        >>> from discreet.privacy.verification import Tape, cells
        >>> class Ledger(NamedTuple):
        ...     total: np.ndarray
        >>> ledger = cells(Tape(), "ledger", Ledger(np.zeros(2)))
        >>> ledger.total.name, len(ledger.total)
        ('ledger.total', 2)
    """
    found: list[object] = []
    for field, value in state._asdict().items():
        flat = value.tolist() if hasattr(value, "tolist") else value
        if isinstance(flat, list):
            if any(isinstance(entry, list) for entry in flat):
                raise NotAffine(f"its {name}.{field} has more than one dimension")
            flat = kind(tape, f"{name}.{field}", flat)
        found.append(flat)
    return state._make(found)
