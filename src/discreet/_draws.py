"""Random numbers of simulated runs: NumPy's own, drawn inside compiled code.

`Draws` is a NumPy `Generator` on the SFC64 bit generator, number for number. What differs is how
compiled code reaches it: numba calls NumPy through a pointer at every draw and counts references to
the generator on the way, while the three additions and shifts of an SFC64 step are compiled into
the kernel here. The state stays NumPy's: anyone who draws next, in Python or compiled, continues
from there. The ziggurat of normals and exponentials is numba's translation of NumPy's, with the
sign and the conversions written so that nothing is left to guess for the processor; all other
distributions are numba's own.

Only the simulator draws from here. It imports numba, so nothing imports it before a run is played.
"""

from __future__ import annotations

import ctypes
from functools import lru_cache, partial
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import (
    NativeValue,
    intrinsic,
    models,
    overload,
    overload_method,
    register_jitable,
    register_model,
    typeof_impl,
    unbox,
)
from numba.np.random._constants import (
    fe_double,
    fi_double,
    ke_double,
    ki_double,
    we_double,
    wi_double,
    ziggurat_exp_r,
    ziggurat_nor_inv_r,
    ziggurat_nor_r,
)
from numba.np.random.generator_core import next_double, next_uint32, next_uint64

WORDS = 4
"""Words of 64 bits in the state of SFC64: a, b, c and a counter."""

HAS_HALF, HALF = 2 * WORDS, 2 * WORDS + 1
"""Behind them, in half words: whether half a word is kept for the next draw of 32 bits, and it."""


class Draws(np.random.Generator):
    """A generator whose draws are compiled into the kernels that make them."""

    address: int
    """where its bit generator has its state"""

    def __init__(self, bits: np.random.SFC64) -> None:
        super().__init__(bits)
        self.address = bits.ctypes.state_address

    def normals(self, out: Any, mean: Any, sd: float) -> None:
        """Fill an array with normals of their own means and one standard deviation."""
        out[:] = mean + sd * self.standard_normal(len(out))


def draws(seed: np.random.SeedSequence) -> np.random.Generator:
    """The random numbers of a run; the same ones, more slowly, from a NumPy that is not known."""
    bits = np.random.SFC64(seed)
    return Draws(bits) if is_known() else np.random.Generator(bits)


@lru_cache(maxsize=1)
def is_known() -> bool:
    """Whether NumPy lays out the state of SFC64 as the steps below take it."""
    made = Draws(np.random.SFC64(1))
    made.integers(0, 10, dtype=np.uint32)  # so that half a word is kept
    said: Any = made.bit_generator.state
    words = (ctypes.c_uint64 * WORDS).from_address(made.address)
    kept = (ctypes.c_uint32 * 2).from_address(made.address + 8 * WORDS)
    own = [int(word) for word in said["state"]["state"]]
    return list(words) == own and list(kept) == [said["has_uint32"], said["uinteger"]]


class BitsType(types.Type):
    """The address of a state, as compiled code sees it."""

    def __init__(self) -> None:
        super().__init__(name="discreet._draws.Bits")


class DrawsType(types.NumPyRandomGeneratorType):
    """`Draws`, as compiled code sees it: with all methods that numba knows of a generator."""

    def __init__(self) -> None:
        super().__init__("discreet._draws.Draws")
        self.name = "discreet._draws.Draws"


BITS, DRAWS = BitsType(), DrawsType()


@typeof_impl.register(Draws)
def _typeof(value: Draws, context: Any) -> DrawsType:
    return DRAWS


@register_model(BitsType)
class _BitsModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, ir.IntType(64))


@register_model(DrawsType)
class _DrawsModel(models.StructModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, [("bit_generator", BITS)])


@unbox(DrawsType)
def _unbox(kind: Any, value: Any, c: Any) -> Any:
    address = c.pyapi.object_getattr_string(value, "address")
    seen = cgutils.create_struct_proxy(kind)(c.context, c.builder)
    seen.bit_generator = c.pyapi.long_as_ulonglong(address)
    c.pyapi.decref(address)
    failed = cgutils.is_not_null(c.builder, c.pyapi.err_occurred())
    return NativeValue(seen._getvalue(), is_error=failed)


def _sfc64(context: Any, bits: Any) -> Any:
    """One step of SFC64: 64 random bits."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = ir.IntType(64)
        state = builder.inttoptr(arguments[0], word.as_pointer())
        places = [builder.gep(state, [ir.Constant(ir.IntType(32), k)]) for k in range(WORDS)]
        a, b, c, counter = (builder.load(place) for place in places)

        def shifted(shift: Any, value: Any, by: int) -> Any:
            return shift(value, ir.Constant(word, by))

        out = builder.add(builder.add(a, b), counter)
        turned = builder.or_(shifted(builder.shl, c, 24), shifted(builder.lshr, c, 40))
        builder.store(builder.xor(b, shifted(builder.lshr, b, 11)), places[0])
        builder.store(builder.add(c, shifted(builder.shl, c, 3)), places[1])
        builder.store(builder.add(turned, out), places[2])
        builder.store(builder.add(counter, ir.Constant(word, 1)), places[3])
        return out

    return types.uint64(bits), code


def _place(builder: Any, width: int, address: Any, place: Any) -> Any:
    """Where a number of so many bits lies, counted from the start of the state."""
    start = builder.inttoptr(address, ir.IntType(width).as_pointer())
    return builder.gep(start, [place])


def _loading(kind: Any) -> Any:
    """(bits, place) -> a word of the state, or half a word."""

    def load(context: Any, bits: Any, place: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.load(_place(builder, kind.bitwidth, *arguments))

        return kind(bits, place), code

    return intrinsic(load)


def _storing(kind: Any) -> Any:
    """(bits, place, value): the same, written."""

    def store(context: Any, bits: Any, place: Any, value: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            address, place, value = arguments
            builder.store(value, _place(builder, kind.bitwidth, address, place))
            return context.get_dummy_value()

        return types.void(bits, types.int64, kind), code

    return intrinsic(store)


_step: Any = intrinsic(_sfc64)
_load, _store = _loading(types.uint32), _storing(types.uint32)
_load_word, _store_word = _loading(types.uint64), _storing(types.uint64)
apart: Any = partial(njit, no_cpython_wrapper=True, no_cfunc_wrapper=True, nogil=True)()
"""Compiled for kernels to call, by name: too rare to be part of every one that draws."""


@overload(next_uint64)
def _next_uint64(bitgen: Any) -> Any:
    def drawn(bitgen: Any) -> Any:
        return _step(bitgen)

    return drawn if isinstance(bitgen, BitsType) else None


@overload(next_uint32)
def _next_uint32(bitgen: Any) -> Any:
    def drawn(bitgen: Any) -> Any:
        return half(bitgen)

    return drawn if isinstance(bitgen, BitsType) else None


@overload(next_double)
def _next_double(bitgen: Any) -> Any:
    def drawn(bitgen: Any) -> Any:
        return uniform(bitgen)

    return drawn if isinstance(bitgen, BitsType) else None


LOWER, ELEVEN, NINE, EIGHT, THREE = (np.uint64(by) for by in (32, 11, 9, 8, 3))
ONE, BYTE, MANTISSA = np.uint64(1), np.uint64(0xFF), np.uint64((1 << 52) - 1)
SIGNED_BYTE = np.uint64(0x1FF)
TURN, BACK = np.uint64(24), np.uint64(40)
ULP = 1.0 / (1 << 53)
EXPONENTIAL_INSIDE = ke_double.astype(np.int64)
NORMAL_INSIDE = np.tile(ki_double.astype(np.int64), 2)
NORMAL_WIDTH = np.concatenate([wi_double, -wi_double])
"""Of the strips on the right, and of those on the left: the bit above the strip is the sign."""
RIM_SLACK = 1e-4
"""More than rounding and a grid of a hundred points miss of a bend: it is below .25, so 2.5e-5."""


def _rims() -> tuple[Any, Any, Any]:
    """How far, of its rise, the density lies below and above the straight line from the outer to
    the inner edge of each strip's rim; and how much of the rim is one step of a number's size."""
    outer, inner = float(1 << 52) * wi_double[1:], ki_double[1:].astype(float) * wi_double[1:]
    rise, line = fi_double[:-1] - fi_double[1:], np.linspace(0.0, 1.0, 101)[:, np.newaxis]
    x = outer + line * (inner - outer)
    bend = (np.exp(-0.5 * x * x) - fi_double[1:]) / rise - line
    low, high, slope = np.zeros(256), np.zeros(256), np.zeros(256)
    low[1:], high[1:] = bend.min(axis=0) - RIM_SLACK, bend.max(axis=0) + RIM_SLACK
    slope[1:] = 1.0 / ((1 << 52) - ki_double[1:].astype(float))
    return low, high, slope


RIM_LOW, RIM_HIGH, RIM_SLOPE = _rims()


@register_jitable
def half(bits: Any) -> Any:
    """32 random bits: a step serves two of them, as in NumPy."""
    if _load(bits, HAS_HALF) != 0:
        _store(bits, HAS_HALF, np.uint32(0))
        return _load(bits, HALF)
    word = _step(bits)
    _store(bits, HAS_HALF, np.uint32(1))
    _store(bits, HALF, np.uint32(word >> LOWER))
    return np.uint32(word)


@register_jitable
def uniform(bits: Any) -> Any:
    """Uniform on [0, 1)."""
    return np.int64(_step(bits) >> ELEVEN) * ULP


@register_jitable
def normal(bits: Any) -> Any:
    """Standard normal, by NumPy's ziggurat."""
    word = _step(bits)
    strip, size = word & SIGNED_BYTE, np.int64((word >> NINE) & MANTISSA)
    x = size * NORMAL_WIDTH[strip]
    if size < NORMAL_INSIDE[strip]:
        return x
    return normal_outside(bits, strip, size, x)


@register_jitable
def load_state(bits: Any) -> Any:
    """The words of SFC64."""
    return _load_word(bits, 0), _load_word(bits, 1), _load_word(bits, 2), _load_word(bits, 3)


@register_jitable
def store_state(bits: Any, a: Any, b: Any, c: Any, counter: Any) -> None:
    """The same, back where they belong."""
    _store_word(bits, 0, a)
    _store_word(bits, 1, b)
    _store_word(bits, 2, c)
    _store_word(bits, 3, counter)


@register_jitable
def normals(bits: Any, out: Any, mean: Any, sd: Any) -> None:
    """An array of normals, as `normal` draws them one by one; in between, the state stays in
    registers."""
    a, b, c, counter = load_state(bits)
    for place in range(np.uint64(len(out))):
        word = a + b + counter
        a, b = b ^ (b >> ELEVEN), c + (c << THREE)
        c = ((c << TURN) | (c >> BACK)) + word
        counter += ONE
        strip, size = word & SIGNED_BYTE, np.int64((word >> NINE) & MANTISSA)
        x = size * NORMAL_WIDTH[strip]
        if size >= NORMAL_INSIDE[strip]:
            store_state(bits, a, b, c, counter)
            x = normal_outside(bits, strip, size, x)
            a, b, c, counter = load_state(bits)
        out[place] = mean[place] + sd * x
    store_state(bits, a, b, c, counter)


@apart
def normal_outside(bits: Any, strip: Any, size: Any, x: Any) -> Any:
    """One in a hundred: the tail, or the rim of a strip."""
    while True:
        height = np.int64(strip & BYTE)
        if height == 0:
            while True:
                beyond = -ziggurat_nor_inv_r * np.log1p(-uniform(bits))
                level = -np.log1p(-uniform(bits))
                if level + level > beyond * beyond:
                    end = ziggurat_nor_r + beyond
                    return -end if (size >> 8) & 1 else end
        level = uniform(bits)
        line = ((1 << 52) - size) * RIM_SLOPE[height]
        if level < line + RIM_LOW[height]:  # surely below the density
            return x
        if level < line + RIM_HIGH[height]:
            rim = (fi_double[height - 1] - fi_double[height]) * level + fi_double[height]
            if rim < np.exp(-0.5 * x * x):
                return x
        word = _step(bits)
        strip, size = word & SIGNED_BYTE, np.int64((word >> NINE) & MANTISSA)
        x = size * NORMAL_WIDTH[strip]
        if size < NORMAL_INSIDE[strip]:
            return x


@register_jitable
def exponential(bits: Any) -> Any:
    """Exponential of mean 1, by NumPy's ziggurat."""
    word = _step(bits) >> THREE
    strip, size = np.int64(word & BYTE), np.int64(word >> EIGHT)
    x = size * we_double[strip]
    if size < EXPONENTIAL_INSIDE[strip]:
        return x
    return exponential_outside(bits, strip, x)


@apart
def exponential_outside(bits: Any, strip: Any, x: Any) -> Any:
    """One in a hundred: the tail, or the rim of a strip."""
    while True:
        if strip == 0:
            return ziggurat_exp_r - np.log1p(-uniform(bits))
        rim = (fe_double[strip - 1] - fe_double[strip]) * uniform(bits) + fe_double[strip]
        if rim < np.exp(-x):
            return x
        word = _step(bits) >> THREE
        strip, size = np.int64(word & BYTE), np.int64(word >> EIGHT)
        x = size * we_double[strip]
        if size < EXPONENTIAL_INSIDE[strip]:
            return x


@overload_method(DrawsType, "random")
def _random(inst: Any) -> Any:
    def drawn(inst: Any) -> Any:
        return uniform(inst.bit_generator)

    return drawn


@overload_method(DrawsType, "standard_normal")
def _standard_normal(inst: Any) -> Any:
    def drawn(inst: Any) -> Any:
        return normal(inst.bit_generator)

    return drawn


@overload_method(DrawsType, "normals")
def _normals(inst: Any, out: Any, mean: Any, sd: Any) -> Any:
    def drawn(inst: Any, out: Any, mean: Any, sd: Any) -> Any:
        normals(inst.bit_generator, out, mean, sd)

    return drawn


@overload_method(DrawsType, "standard_exponential")
def _standard_exponential(inst: Any) -> Any:
    def drawn(inst: Any) -> Any:
        return exponential(inst.bit_generator)

    return drawn
