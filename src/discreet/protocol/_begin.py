"""A trial that has not begun: its design, its head and its vault; and what fills the steps in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from .._compiled import Function, Kernel
from ..policies._ceilings import takes_notes
from ..policies._epochs import Cells, EpochPlan
from ..policies._epochs import Room as CellRoom
from ..policies._parts import says_itself
from ..policies._schedules import LONGEST
from ..policies._step import collecting, fresh_state, parts_of
from ..policies._streams import evidence_in
from ..policies._view import Empty, Setting, View
from ..policies.releases._pairs import Pairs, pair_scale_of, publish_pair
from ..privacy._source import Source
from ._missing import everybody, release_pair, release_sum, release_whole, those_who_answer
from ._play import released_means
from ._state import ANSWER, EVIDENCE, LATEST, NEVER, Design, Head, Vault
from ._verdicts import no_verdict, verdict_of
from .plans import PLANS
from .plans._batch import SAYS
from .plans._epochs import EpochRoom, Epochs
from .plans._index import Room, ask_scores, least_shares
from .plans._looks import Looks
from .plans._top_two import SIZED, Covered, TopTwo
from .worlds import WORLDS
from .worlds._calendar import reply_by_device

if TYPE_CHECKING:
    from numpy.random import Generator

    from .._types import Floats, Ints
    from ..policies._policy import Policy

T = TypeVar("T")

DEPTH = 8
"""Blocks of an arm for which there is room in the beginning."""


class Playing(NamedTuple):
    """How a policy is played: what a trial fixes beside it."""

    plan: str = "one batch"
    window: int = 1
    shares: Sequence[float] = ()
    """the least of every arm; none by default"""
    deadline: float = 0.0
    default: float = 0.0
    """what a missing outcome counts as ..."""
    estimate: bool = False
    """... unless means are estimated from those who answer"""
    longest: int = 0
    """epochs: the most places of one"""
    cuts: bool = False
    """whether what the horizon cuts off is never released"""


class Started(NamedTuple):
    """A trial that has not begun."""

    design: Design
    head: Head
    vault: Vault


def whole(entries: int, value: int = 0) -> Ints:
    import numpy as np

    return np.full(entries, value, np.int64)


def real(entries: int, value: float = 0.0) -> Floats:
    import numpy as np

    return np.full(entries, value)


def begin(
    policy: Policy, setting: Setting, terms: Playing, depth: int = DEPTH, *,
    epochs: int | None = None, first: Setting | None = None,
) -> Started:  # fmt: skip
    """All of it in arrays; `as_lists` makes lists of them, for what is interpreted. There is room
    for `epochs` in the notes, for all by default; `first` is the setting that schedule, rule and
    plan were fixed for, where arms were added since.

    Args:
        policy: The policy.
        setting: Its setting.
        terms: How it is played: plan, window, deadline.
        depth: Blocks of an arm that can wait.
        epochs: Epochs that there is room for; default: all.
        first: The setting that schedule, rule and plan were fixed for.

    Returns:
        Design, head and vault.
    """
    arms, plan, fixed = setting.arms, terms.plan, first or setting
    horizon = LONGEST if setting.horizon is None else setting.horizon
    parts, state = parts_of(policy, fixed), fresh_state(policy, setting)
    memory, public = state.memory, state.public
    assert isinstance(public, View)
    if plan == "one batch" and takes_notes(policy) and not setting.source.secure:
        memory = policy.rule.notes(arms)
    pair: Any = Empty()
    pairs: Any = Empty()
    if terms.estimate:
        pair = pair_scale_of(policy.release, setting.source)
        # whole where noise is: a rounded sum would not be what its noise hides
        none = real if setting.source.resolution == 1 else whole
        pairs = Pairs(none(arms), none(arms), whole(arms))
    share = real(arms)
    share[: len(terms.shares)] = terms.shares
    resolution = setting.source.resolution
    evidence = EVIDENCE.index(evidence_in(policy)) if plan == "index" else 0
    own, _, _ = _plan_parts(policy, fixed, terms, parts.rule, epochs)
    _, room, notes = _plan_parts(policy, setting, terms, parts.rule, epochs)
    release = policy.release.parameters(setting)
    design = Design(
        parts.schedule, release, parts.rule, policy.stopping_parameters(fixed), own, room,
        share, terms.window, horizon, terms.deadline, terms.default,
        0.5 if resolution == 1 else resolution // 2, pair, evidence, depth, int(terms.cuts),
    )  # fmt: skip
    head = Head(
        places=whole(arms), closed=whole(arms), mark=whole(arms), newest=whole(arms),
        block=whole(arms), released=whole(arms), full=whole(arms), left=whole(arms),
        active=whole(arms, 1), erased=whole(arms), last=real(arms), value=public.value,
        size=public.size, pulls=public.pulls, due=real(arms * depth), many=whole(arms * depth),
        at=whole(6), when=real(2, NEVER), memory=memory, pairs=pairs, notes=notes,
    )  # fmt: skip
    head.at[ANSWER], head.when[LATEST] = -1, 0.0
    _first_marks(policy, design, head, plan)
    return Started(
        design, head, Vault(real(arms * depth), whole(arms * depth), state.ledger, Empty())
    )


def _plan_parts(
    policy: Policy, setting: Setting, terms: Playing, rule: Any, epochs: int | None
) -> tuple[Any, Any, Any]:
    """Parameters, scratch and notes of a plan."""
    arms, plan = setting.arms, terms.plan
    if plan == "index":
        return Empty(), _window_room(arms, terms.estimate), Empty()
    if plan == "top two":
        return (
            TopTwo(float(getattr(policy.rule, "beta", 0.5))),
            _window_room(arms),
            Covered(whole(1, 1)),
        )
    if plan == "looks":
        import numpy as np

        lengths = getattr(rule, "length", None)
        if lengths is None:
            return Looks(whole(0), int(policy.has_fixed_size), 0), Empty(), Empty()
        by_look = np.array(lengths, np.int64)  # one number a look for all arms, or one for each
        by_arm = by_look.reshape(-1, 1) if by_look.ndim == 1 else by_look
        marks = np.cumsum(np.broadcast_to(by_arm, (len(by_arm), arms)), axis=0)
        uneven = int((marks != marks[:, :1]).any())
        return Looks(marks.ravel().copy(), int(policy.has_fixed_size), uneven), Empty(), Empty()
    if plan == "epochs":
        growth = policy.schedule.parameters(setting)
        first, ratio = growth.first, growth.ratio  # type: ignore[attr-defined]
        own = EpochPlan(setting.pure_epsilon("epochs"), first, ratio, terms.longest)
        horizon = LONGEST if setting.horizon is None else setting.horizon
        most = (epochs or min(horizon // (arms * first) + 2, MOST_EPOCHS)) * arms
        room = CellRoom(whole(arms), whole(arms), real(arms), real(arms))
        cells = Cells(whole(most), real(most), whole(most))
        return own, EpochRoom(room, real(arms), whole(arms)), Epochs(cells, whole(1), whole(1))
    return Empty(), Empty(), Empty()


MOST_EPOCHS = 1 << 20
"""There is room for so many at most in the beginning."""


def _window_room(arms: int, estimate: bool = False) -> Room:
    evidence = real(arms) if estimate else whole(arms)
    return Room(
        whole(arms), real(arms), evidence, whole(arms), real(arms), real(1),
        *(whole(arms) for _ in range(5)),
    )  # fmt: skip


def _first_marks(policy: Policy, design: Design, head: Head, plan: str) -> None:
    """Where the first block of every arm ends; a rule with looks is asked for its first phase."""
    linked = {**PLANS[plan], **policy.kernels, **_sized(policy, plan)}
    if plan == "looks":
        from .plans._looks import ask_all, next_mark, phase

        Kernel(ask_all, **linked).interpreted()(design, head, None)
        for arm in range(len(head.places)):
            planned = len(design.plan.marks) > 0
            head.mark[arm] = next_mark(design, head, arm) if planned else phase(design, head)
    else:
        mark = _mark_kernel(policy, plan)
        for arm in range(len(head.places)):
            head.mark[arm] = mark(design, head, arm)


@lru_cache(maxsize=256)
def _mark_kernel(policy: Policy, plan: str) -> Function:
    linked = {**PLANS[plan], **policy.kernels, **_sized(policy, plan)}
    return Kernel(linked["mark"], **linked).interpreted()


def _sized(policy: Policy, plan: str) -> Mapping[str, Function]:
    return SIZED if plan == "top two" and not policy.schedule.fixed_sizes else {}


def below(rng: Generator, number: int) -> int:
    """By a fraction: for simulations."""
    return int(rng.random() * number)


def slots(
    policy: Policy, terms: Playing, source: Source, world: str = "at once",
    draw: Function | None = None,
) -> dict[str, Function | Kernel]:  # fmt: skip
    """What fills the steps in, and `play`: of the policy, of its plan and of a world.

    Args:
        policy: The policy.
        terms: How it is played: plan, window, deadline.
        source: Where noise comes from.
        world: Who comes when, and what they answer.
        draw: How the environment draws rewards.

    Returns:
        Functions by the name of their slot.
    """
    release, respond = policy.release, policy.release.respond_kernel(source)
    filled: dict[str, Function | Kernel] = {
        **PLANS[terms.plan], **_sized(policy, terms.plan), **WORLDS[world], **policy.kernels,
        "publish": release.publish_kernel(source), "below": below,
        "worth": everybody, "release_block": release_sum,
    }  # fmt: skip
    filled.setdefault("verdict", no_verdict)
    filled.setdefault("conclude", released_means)
    if "enough" in filled:
        filled["verdict"] = verdict_of
        if terms.plan in ("one batch", "mixed"):
            filled |= SAYS
    if world == "at once" or respond is not None:
        filled["release_block"] = release_whole
    if "release_block" in WORLDS[world]:
        filled["release_block"] = WORLDS[world]["release_block"]
    if terms.estimate:
        filled |= {
            "release_block": Kernel(
                release_pair, publish_pair=release.kernel(publish_pair, source)
            ),
            "worth": those_who_answer,
        }
    if any(terms.shares) and "keep_shares" in filled:
        filled["keep_shares"] = least_shares
    if terms.plan == "one batch" and takes_notes(policy) and not source.secure:
        filled["choose"] = Kernel(policy.rule.noted)  # type: ignore[arg-type]
    if terms.plan == "index" and _is_still(policy):
        filled |= {**policy.choose_kernel.parts, "ask": ask_scores}
    if respond is not None:
        filled["respond"] = respond
        if world != "at once":
            filled["reply"] = reply_by_device
    if draw is not None:
        filled |= {"draw": draw, "gather": collecting(policy, draw, source)}
    return filled


def _is_still(policy: Policy) -> bool:
    """Whether scores stand still while an arm is not played, so that few need to be worked out."""
    parts = policy.choose_kernel.parts
    return (
        policy.rule.still and says_itself(policy.rule, "still", "choose")
        and {"prepare", "score"} <= set(parts)
    )  # fmt: skip


def grown(started: Started, depth: int) -> Started:
    """The same with room for more blocks of every arm.

    Args:
        started: A trial that has begun.
        depth: Blocks of an arm that can wait.

    Returns:
        The same trial.
    """
    design, head, vault = started
    arms, before = len(head.places), design.depth
    due, many = real(arms * depth), whole(arms * depth)
    total, answers = real(arms * depth), whole(arms * depth)
    for arm in range(arms):
        open_too = head.block[arm] - head.released[arm] < before  # else it has no one and no slot
        for number in range(head.released[arm], head.block[arm] + open_too):
            old, new = arm * before + number % before, arm * depth + number % depth
            due[new], many[new] = head.due[old], head.many[old]
            total[new], answers[new] = vault.total[old], vault.answers[old]
    return Started(
        design._replace(depth=depth), head._replace(due=due, many=many),
        vault._replace(total=total, answers=answers),
    )  # fmt: skip


def as_lists(state: T) -> T:
    """Arrays as lists, for what is interpreted and stored.

    Args:
        state: A NamedTuple of arrays.

    Returns:
        The same with lists.
    """
    if hasattr(state, "_fields"):
        return type(state)(*map(as_lists, state))  # type: ignore[call-overload]
    return state.tolist() if hasattr(state, "tolist") else state
