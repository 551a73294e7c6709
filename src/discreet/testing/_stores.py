"""The contract of stores, for those that you write yourself.

>>> from discreet.live.stores import MemoryStore
>>> check_store(MemoryStore)

`make` opens an empty store. `reopen`, for stores that outlive their process, closes nothing: it is
handed a store that was closed and opens what that one has stored. Stores that several users may
have at once keep `check_shared` as well: `again` opens what another one has stored and still uses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..errors import DiscreetError, TrialError
from ..live._rules import VOID, Member, Place
from ..live.stores import Store

Make = Callable[[], Store]
Worker = Callable[[Store, bool], Store]
"""Another user of the trial of a store, one that releases or not."""
Reopen = Callable[[Store], Store]

STATE_OF_RUN: dict[str, object] = {"t": 0, "ledger": {"sums": [0, 0]}}
STATE: dict[str, Any] = {"arms": ["A", "B"], "protocol": STATE_OF_RUN}


def check_store(make: Make, reopen: Reopen | None = None) -> None:
    """Raise AssertionError where a store does not do what a trial needs.

    Args:
        make: Makes an empty store.
        reopen: Opens the same store again.

    Raises:
        AssertionError: If it does not.

    Raises:
        AssertionError: If it does not.

    Example:
        >>> from discreet.live.stores import MemoryStore
        >>> from discreet.testing import check_store
        >>> check_store(MemoryStore)
    """
    for check in (
        check_members, check_outcomes, check_release, check_several_blocks, check_streams,
        check_begin, check_moved, check_together, check_void, check_people, check_create,
        check_trial,
    ):  # fmt: skip
        check(make, reopen)


def fresh(make: Make) -> Store:
    """A store with two members in its block, and a visitor."""
    store = make()
    store.create(dict(STATE), 2, "1")
    assign(store, "x", Member(0, 1, "1", 0), Place("x", 0))
    assign(store, 7, Member(1, 1, "1", 1), Place(7, 1, 99.5))
    assign(store, "7", Member(1), None)
    return store


@contextmanager
def call(store: Store) -> Iterator[Store]:
    """A call of a trial, which has the store in its hands."""
    with store.held():
        store.ready()
        yield store


def assign(store: Store, unit: Any, member: Member, place: Place | None, **moved: object) -> None:
    """One assignment, with what it changes of the run."""
    with call(store):
        store.assign(unit, member, place, lambda: moved)


def record(store: Store, block: str, slot: int, value: int) -> None:
    """One outcome."""
    with call(store):
        store.record(block, slot, value)


def release(store: Store, block: str | None, state: dict[str, Any], opens: str | None) -> None:
    """One release."""
    with call(store):
        store.release(block, state, opens)


def after(store: Store, reopen: Reopen | None) -> Store:
    """The store once more, if it outlives its process."""
    if reopen is None:
        return store
    store.close()
    again = reopen(store)
    again.ready()
    return again


def check_members(make: Make, reopen: Reopen | None = None) -> None:
    """Units keep their type, their arm and their place; strangers are no one."""
    store = after(fresh(make), reopen)
    assert store.member("x") == Member(0, 1, "1", 0)
    assert store.member(7) == Member(1, 1, "1", 1)
    assert store.member("7") == Member(1, 0)
    assert store.member("stranger") is None
    assert list(store.assigned) == [1, 2]
    block = store.blocks["1"]
    assert [place.unit for place in block.places] == ["x", 7]
    assert block.due == 99.5
    assign(store, "7", Member(0, 1, "1", 2), Place("7", 0))
    store = after(store, reopen)
    assert store.member("7") == Member(0, 1, "1", 2)
    assert list(store.assigned) == [2, 2]
    store.close()


def check_outcomes(make: Make, reopen: Reopen | None = None) -> None:
    """Outcomes are there, by slot, as whole numbers."""
    store = fresh(make)
    record(store, "1", 1, 1 << 20)
    record(store, "1", 0, 0)
    store = after(store, reopen)
    assert dict(store.blocks["1"].outcomes) == {1: 1 << 20, 0: 0}
    store.close()


def check_release(make: Make, reopen: Reopen | None = None) -> None:
    """A release puts a state in place and erases a block, in one step; members stay."""
    store = fresh(make)
    record(store, "1", 0, 5)
    state = {**STATE, "protocol": {"t": 2, "ledger": {"sums": [123_456, 0]}}}
    release(store, "1", state, "2")
    store = after(store, reopen)
    assert store.state["protocol"] == state["protocol"]
    assert list(store.blocks) == ["2"]
    assert not store.blocks["2"].places
    assert not store.blocks["2"].outcomes
    known = store.member("x")
    assert known is not None
    assert known[:2] == (0, 1)
    assert known.block not in store.blocks
    assert list(store.assigned) == [1, 2]
    store.close()


def check_several_blocks(make: Make, reopen: Reopen | None = None) -> None:
    """Blocks wait concurrently; a release erases its own outcomes alone."""
    store = fresh(make)
    record(store, "1", 0, 5)
    release(store, "1", dict(STATE), "a-1")
    assign(store, "y", Member(0, 1, "a-1", 0), Place("y", 0))
    record(store, "a-1", 0, 11)
    state = {**STATE, "protocol": {"t": 3, "ledger": {"sums": [0, 0]}}}
    assign(store, "z", Member(1, 1, "a-1", 1), Place("z", 1))
    release(store, None, state, "b-1")  # another block opens beside the first
    assign(store, "w", Member(1, 1, "b-1", 0), Place("w", 1))
    record(store, "b-1", 0, 12)
    store = after(store, reopen)
    assert sorted(store.blocks) == ["a-1", "b-1"]
    assert dict(store.blocks["a-1"].outcomes) == {0: 11}
    assert [place.unit for place in store.blocks["a-1"].places] == ["y", "z"]
    assert store.member("z") == Member(1, 1, "a-1", 1)
    release(store, "a-1", state, None)
    store = after(store, reopen)
    assert list(store.blocks) == ["b-1"]
    assert dict(store.blocks["b-1"].outcomes) == {0: 12}
    store.close()


def check_streams(make: Make, reopen: Reopen | None = None) -> None:
    """Blocks open with their first place, many of them; arms may be added."""
    store, many = make(), 100
    store.create(dict(STATE), 2, None)
    store = after(store, reopen)
    assert not store.blocks
    for number in range(many):
        key = f"{number % 2}-{number // 2 + 1}"
        place = Place(f"u{number}", number % 2, at=5.5, number=number)
        assign(store, place.unit, Member(place.arm, 1, key, 0), place)
        record(store, key, 0, number)
    store = after(store, reopen)
    assert len(store.blocks) == many
    (place,) = store.blocks["1-3"].places
    assert place[:7] == Place("u5", 1, at=5.5, number=5)[:7]
    whole = store.whole("1-3")
    assert (len(whole.places), dict(whole.outcomes)) == (1, {0: 5})
    assert dict(store.blocks["1-3"].outcomes) == {0: 5}
    release(store, "1-3", {**STATE, "arms": ["A", "B", "C"]}, None)
    assign(store, "late", Member(2, 1, "2-1", 0), Place("late", 2, at=6.0, number=many))
    store = after(store, reopen)
    assert "1-3" not in store.blocks
    assert len(store.blocks) == many
    assert list(store.assigned) == [50, 50, 1]
    assert store.member("late") == Member(2, 1, "2-1", 0)
    assert store.member("u7") == Member(1, 1, "1-4", 0)
    store.close()


def check_begin(make: Make, reopen: Reopen | None = None) -> None:
    """What the rule built from a release is added to the state."""
    store = fresh(make)
    release(store, "1", {**STATE, "protocol": {"t": 2, "begun": False, "ledger": {}}}, "2")
    with call(store):
        store.begin("2", {"begun": True, "arm": 1})
    store = after(store, reopen)
    assert store.state["protocol"] == {"t": 2, "begun": True, "arm": 1, "ledger": {}}
    store.close()


def check_moved(make: Make, reopen: Reopen | None = None) -> None:
    """What a place changes of the run is in the state from then on, up to the next one."""
    store = fresh(make)
    assign(store, "y", Member(0, 1, "1", 2), Place("y", 0), t=5, cells=[[1, None]])
    store = after(store, reopen)
    assert store.state["protocol"] == {**STATE_OF_RUN, "t": 5, "cells": [[1, None]]}
    assign(store, "visitor", Member(1), None)
    assert store.state["protocol"]["t"] == 5
    release(store, "1", {**STATE, "protocol": {"t": 7, "ledger": {"sums": [1, 2]}}}, "2")
    store = after(store, reopen)
    assert store.state["protocol"] == {"t": 7, "ledger": {"sums": [1, 2]}}
    store.close()


def check_together(make: Make, reopen: Reopen | None = None) -> None:
    """Writes that are gathered are stored together, or not at all."""
    store = fresh(make)
    with call(store), store.together():
        for slot in (2, 3):
            place = Place(f"m{slot}", 0)
            store.assign(place.unit, Member(0, 1, "1", slot), place, lambda slot=slot: {"t": slot})  # type: ignore[misc]
        store.record("1", 3, 8)
    store = after(store, reopen)
    assert store.state["protocol"]["t"] == 3
    assert dict(store.blocks["1"].outcomes) == {3: 8}
    try:
        with call(store), store.together():
            store.assign("m4", Member(1, 1, "1", 4), Place("m4", 1), lambda: {"t": 4})
            store.assign("new", Member(1, 1, "9", 0), Place("new", 1), lambda: {"t": 5})
            store.record("1", 4, 9)
            store.record("1", 2, 9)
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        pass
    with call(store):
        assert store.member("m4") is None
        assert store.member("new") is None
        assert list(store.blocks) == ["1"]
        assert len(store.blocks["1"].places) == 4
        assert dict(store.blocks["1"].outcomes) == {3: 8}
        assert store.state["protocol"]["t"] == 3
        assert list(store.assigned) == [3, 2]
    store = after(store, reopen)
    assert len(store.blocks["1"].places) == 4
    store.close()


def check_void(make: Make, reopen: Reopen | None = None) -> None:
    """Who withdraws has `VOID` in place of an outcome, and is forgotten at the release."""
    store = fresh(make)
    record(store, "1", 0, 5)
    with call(store):
        store.void("1", 0)
    with call(store), store.together():
        store.void("1", 1)
        store.record("1", 1, VOID)
    store = after(store, reopen)
    assert dict(store.blocks["1"].outcomes) == {0: VOID, 1: VOID}
    assert store.member("x") == Member(0, 1, "1", 0), "a withdrawal is seen before the release"
    with call(store):
        assert not store.people.is_forgotten("x")
        assert dict(store.whole("1").outcomes) == {0: VOID, 1: VOID}
    release(store, "1", dict(STATE), "2")
    store = after(store, reopen)
    with call(store):
        for unit in ("x", 7):
            assert store.member(unit) is None, "a name was kept"
            assert store.people.is_forgotten(unit)
        assert not store.people.is_forgotten("7")
        assert store.member("7") == Member(1, 0)
    assert list(store.assigned) == [1, 2]
    store.close()


def check_people(make: Make, reopen: Reopen | None = None) -> None:
    """Names, the trail, shares and kits; what is gathered and fails leaves nothing."""
    store = fresh(make)
    with call(store):
        assert store.people.seats("x") == [("1", 0)]
        assert not store.people.seats("stranger")
        store.people.note({"what": "first"})
        store.noted()
    with call(store):
        store.people.note({"what": "never stored"})
    with call(store), store.together():
        store.people.note({"what": "second"})
        store.people.stock({0: ["a", "b"], 1: ["c"]})
        assert store.people.hand_out("x", 0) == "a"
        store.people.issue({"parts": [1, 2]})
        store.noted()
    store = after(store, reopen)
    with call(store):
        trail = store.people.trail()
        assert [entry.number for entry in trail.entries] == [1, 2]
        assert "second" in trail.entries[1].text
        assert (trail.number, trail.chain) == (2, trail.entries[1].chain)
        assert store.people.kit_of("x") == "a"
        assert [store.people.left(arm) for arm in (0, 1, 2)] == [1, 1, 0]
        assert store.people.issued(0) == store.people.issued(1) == {"parts": [1, 2], "version": 1}
        assert store.people.issued(2) is None
        with store.together():
            store.people.forget("x")
            store.people.erase()
            store.noted()
    with call(store):
        store.forget_copies()
    store = after(store, reopen)
    with call(store):
        assert [store.member(unit) for unit in ("x", 7, "7")] == [None] * 3
        assert not store.people.is_forgotten("x"), "the key is still there"
    assert not [place for place in store.blocks["1"].places if place.unit in ("x", 7)]
    store.close()


def check_create(make: Make, reopen: Reopen | None = None) -> None:
    """A store that holds a trial takes no other, and loses nothing by being asked."""
    store = fresh(make)
    record(store, "1", 0, 5)
    try:
        store.create(dict(STATE), 2, "1")
    except DiscreetError:
        pass
    else:
        raise AssertionError("a second trial was put in place of the first")
    assert store.member("x") == Member(0, 1, "1", 0)
    assert dict(store.blocks["1"].outcomes) == {0: 5}
    store.close()


def check_trial(make: Make, reopen: Reopen | None = None) -> None:
    """A trial runs on it, contexts and all, and is loaded again."""
    from ..linear import policy as linear_policy
    from ..live import Features, Trial
    from ..policies import policy
    from ..privacy.budgets import ZCDP, Pure

    store = make()
    late: dict[str, Any] = {"deadline": "10000 days", "missing": 0.0}
    trial = Trial(policy("adap-klucb", epsilon=1.0), ["A", "B"], path=store, **late)
    arm = trial.assign("x")
    trial.record("x", 0.5)
    expected = trial.report()
    if reopen is not None:
        trial.close()
        store = reopen(store)
    with Trial.load(store) as again:
        assert again.report() == expected
        assert again.assign("x") == arm
        try:
            again.record("x", 0.75)
        except TrialError:
            pass
        else:
            raise AssertionError("the outcome was lost")
    rows = [[0.9, 0.0], [0.0, 0.9]]
    for name in ("adac-oful", "private-linucb"):
        budget = ZCDP(0.5) if name == "adac-oful" else Pure(1.0)
        row, store = linear_policy(name, budget=budget), make()
        contextual = Trial(row, 2, horizon=20, features=Features(dimension=2), path=store, **late)
        contextual.assign("x", rows)
        expected = contextual.report()
        if reopen is not None:
            contextual.close()
            store = reopen(store)
        with Trial.load(store) as again:
            assert again.report() == expected


# --- several users of one store -------------------------------------------------------------------


def check_shared(make: Make, again: Reopen) -> None:
    """Raise AssertionError where two users of one store could undo each other's steps.

    Args:
        make: Makes an empty store.
        again: Opens the same store a second time.
    """
    check_news(make, again)
    check_turns(make, again)
    check_shared_trials(make, again)


def check_news(make: Make, again: Reopen) -> None:
    """`ready` says once that someone else continued, and what they stored is there."""
    one = fresh(make)
    other = again(one)
    assert not news(other), "nothing has happened since it was opened"
    assign(one, "y", Member(0, 1, "1", 2), Place("y", 0), t=5)
    assert not news(one), "its own steps are no news"
    assert news(other), "a participant was assigned"
    assert not news(other), "that is known by now"
    assert other.member("y") == Member(0, 1, "1", 2)
    assert len(other.blocks["1"].places) == 3
    assert list(other.assigned) == [2, 2]
    assert other.state["protocol"]["t"] == 5
    record(other, "1", 2, 11)
    with call(one):
        assert dict(one.whole("1").outcomes) == {2: 11}, "an outcome of another user is lost"
    release(other, "1", {**STATE, "arms": ["A", "B", "C"]}, "2")
    assert news(one), "a block was released"
    assert list(one.blocks) == ["2"]
    assert list(one.assigned) == [2, 2, 0]
    one.close()
    assert other.member("y") is not None, "one user's end is not the other's"
    other.close()


def news(store: Store) -> bool:
    """What `ready` says."""
    with store.held():
        return store.ready()


def check_turns(make: Make, again: Reopen) -> None:
    """A write that is not decided on what is stored now is refused, and changes nothing."""
    one = fresh(make)
    other = again(one)
    assign(one, "y", Member(0, 1, "1", 2), Place("y", 0))
    try:
        with other.held():
            other.assign("z", Member(1, 1, "1", 2), Place("z", 1), dict)
    except DiscreetError:
        pass
    else:
        raise AssertionError("two participants were given one place")
    with call(one):
        assert one.member("z") is None
    one.close()
    other.close()


KINDS: dict[str, dict[str, Any]] = {
    "index": {"assignment": {"window": 2}},
    "index, twice": {"assignment": {"window": 2}, "outcomes": {"contributions": 2}},
    "pairs": {"assignment": {"window": 2}, "missing": "estimate"},
    "epochs": {"assignment": {"trend": True, "window": 6}},
    "batches": {"assignment": {"streams": False}},
    "looks": {"policy": "race", "risk": 0.1, "horizon": 20},
    "top two": {"policy": "adap-tt", "risk": 0.1, "assignment": {"window": 2}},
    "local": {"policy": "ldp-ucb-l", "assignment": {"window": 2}},
    "contexts, public": {"policy": "private-linucb", "horizon": 20},
    "contexts, private": {"policy": "jdp-linucb", "horizon": 20, "batch": 3},
}
"""A trial of every kind of plan."""


def trial_of(kind: str, store: Store, clock: Callable[[], float]) -> Any:
    """A new one, with a deadline of nine."""
    from ..identify import identifier
    from ..linear import policy as linear_policy
    from ..live import Assignment, Features, Outcomes, Trial
    from ..policies import policy

    options = dict(KINDS[kind])
    name, batch = options.pop("policy", "dp-imed"), options.pop("batch", None)
    if kind.startswith("contexts"):
        budget: dict[str, Any] = {"rho": 0.5} if name == "jdp-linucb" else {"epsilon": 1.0}
        row: Any = linear_policy(name, **budget)
        options["features"] = Features(dimension=1, batch=batch)
    elif name == "dp-imed":
        row = policy(name, epsilon=1.0, ratio=1.5, first=1)
    else:
        row = (identifier if "risk" in options else policy)(name, epsilon=1.0)
    for key, group in (("assignment", Assignment), ("outcomes", Outcomes)):
        if key in options:
            options[key] = group(**options[key])
    settings = {"deadline": 9.0, "missing": 0.0, **options}
    return Trial(row, ["A", "B"], path=store, clock=clock, **settings)


def features_of(kind: str, unit: int) -> list[list[float]] | None:
    """What a unit brings."""
    return [[0.5], [0.01 * unit]] if kind.startswith("contexts") else None


def check_shared_trials(make: Make, again: Reopen) -> None:
    """Two trials by turns on one store, of every kind of plan: they agree after every step, and no
    block is released twice."""
    from ..live import Trial

    for kind in KINDS:
        now = [1000.0]
        store = make()
        first = trial_of(kind, store, lambda now=now: now[0])  # type: ignore[misc]
        users = [first, Trial.load(again(store), clock=lambda now=now: now[0])]  # type: ignore[misc]
        for unit in range(24):
            now[0] += 1.0
            one, other = users[unit % 2], users[1 - unit % 2]
            features = features_of(kind, unit)
            try:
                arm = one.assign(unit, features)
            except TrialError:  # it has ended
                break
            assert other.assign(unit, features) == arm, "a participant has two arms"
            if unit % 3:
                other.record(unit, 0.5)
            assert one.report() == other.report(), "two users of a store see two trials"
        now[0] += 9.0
        users[0].settle()
        assert not users[1].settle(), "a block was released twice"
        assert users[0].report() == users[1].report()
        for trial in users:
            trial.close()


def check_workers(make: Make, worker: Worker) -> None:
    """Raise AssertionError where workers of a store and those who release are in each other's way.

    Users that release, and users that do not (`releases_here`): two of each by turns, on every kind
    of plan. A store that keeps this keeps trials of a service, where workers assign and record, and
    its own process releases.

    Args:
        make: Makes an empty store.
        worker: Opens the same store for a worker that does not release.
    """
    from ..live import Trial

    for kind in KINDS:
        now, store = [1000.0], make()
        clock = lambda now=now: now[0]  # noqa: E731
        first = trial_of(kind, store, clock)
        curators = [first, Trial.load(worker(store, True), clock=clock)]
        workers = [Trial.load(worker(store, False), clock=clock) for _ in range(2)]
        arms: dict[int, Any] = {}
        for unit in range(24):
            now[0] += 1.0
            curators[unit % 2].settle()  # so that no one has to wait
            one, other = workers[unit % 2], workers[1 - unit % 2]
            features = features_of(kind, unit)
            try:
                arms[unit] = one.assign(unit, features)
            except TrialError:
                break
            assert other.assign(unit, features) == arms[unit], "a participant has two arms"
            assert curators[unit % 2].assign(unit, features) == arms[unit]
            if unit % 3:
                other.record(unit, 0.5)
                one.record(unit, 0.0)  # dropped, and no one is told
        now[0] += 9.0
        for trial in workers:
            assert not trial.settle(), "a worker has released"
        curators[0].settle()
        assert not curators[1].settle(), "a block was released twice"
        assert curators[0].report() == curators[1].report()
        for trial in workers:
            assert trial.report() == curators[0].report(), "a worker sees another trial"
        assert curators[0].report()["releases"] > 0, kind
        for trial in (*workers, *curators):
            trial.close()
