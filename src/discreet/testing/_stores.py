"""The contract of stores, for those that you write yourself.

>>> from discreet.live.stores import MemoryStore
>>> check_store(MemoryStore)

`make` opens an empty store. `reopen`, for stores that outlive their process, closes nothing: it is
handed a store that was closed and opens what that one has stored.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import DiscreetError, TrialError
from ..live._rules import Member, Place
from ..live.stores import Store

Make = Callable[[], Store]
Reopen = Callable[[Store], Store]

STATE: dict[str, object] = {"arms": ["A", "B"], "protocol": {"t": 0, "ledger": {"sums": [0, 0]}}}


def check_store(make: Make, reopen: Reopen | None = None) -> None:
    """Raise AssertionError where a store does not do what a trial needs."""
    for check in (
        check_members, check_outcomes, check_release, check_several_blocks, check_streams,
        check_begin, check_create, check_trial,
    ):  # fmt: skip
        check(make, reopen)


def fresh(make: Make) -> Store:
    """A store with two members in its block, and a visitor."""
    store = make()
    store.create(dict(STATE), 2, "1")
    store.ready()
    store.assign("x", Member(0, 1, "1", 0), Place("x", 0))
    store.assign(7, Member(1, 1, "1", 1), Place(7, 1, 99.5))
    store.assign("7", Member(1), None)
    return store


def after(store: Store, reopen: Reopen | None) -> Store:
    """The store once more, if it outlives its process."""
    if reopen is None:
        return store
    store.close()
    again = reopen(store)
    again.ready()
    return again


def check_members(make: Make, reopen: Reopen | None = None) -> None:
    """Units keep their type, their arm and their place; strangers are nobody."""
    store = after(fresh(make), reopen)
    assert store.member("x") == Member(0, 1, "1", 0)
    assert store.member(7) == Member(1, 1, "1", 1)
    assert store.member("7") == Member(1, 0)
    assert store.member("stranger") is None
    assert list(store.assigned) == [1, 2]
    block = store.blocks["1"]
    assert [place.unit for place in block.places] == ["x", 7]
    assert block.due == 99.5
    store.assign("7", Member(0, 1, "1", 2), Place("7", 0))
    store = after(store, reopen)
    assert store.member("7") == Member(0, 1, "1", 2)
    assert list(store.assigned) == [2, 2]
    store.close()


def check_outcomes(make: Make, reopen: Reopen | None = None) -> None:
    """Outcomes are there, by slot, as whole numbers."""
    store = fresh(make)
    store.record("1", 1, 1 << 20)
    store.record("1", 0, 0)
    store = after(store, reopen)
    assert dict(store.blocks["1"].outcomes) == {1: 1 << 20, 0: 0}
    store.close()


def check_release(make: Make, reopen: Reopen | None = None) -> None:
    """A release puts a state in place and erases a block, in one step; members stay."""
    store = fresh(make)
    store.record("1", 0, 5)
    state = {**STATE, "protocol": {"t": 2, "ledger": {"sums": [123_456, 0]}}}
    store.release("1", state, "2")
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
    """Blocks wait side by side; a release erases its own outcomes alone."""
    store = fresh(make)
    store.record("1", 0, 5)
    store.release("1", dict(STATE), "a-1")
    store.assign("y", Member(0, 1, "a-1", 0), Place("y", 0))
    store.record("a-1", 0, 11)
    state = {**STATE, "protocol": {"t": 3, "ledger": {"sums": [0, 0]}}}
    store.assign("z", Member(1, 1, "a-1", 1), Place("z", 1))
    store.release(None, state, "b-1")  # another block opens beside the first
    store.assign("w", Member(1, 1, "b-1", 0), Place("w", 1))
    store.record("b-1", 0, 12)
    store = after(store, reopen)
    assert sorted(store.blocks) == ["a-1", "b-1"]
    assert dict(store.blocks["a-1"].outcomes) == {0: 11}
    assert [place.unit for place in store.blocks["a-1"].places] == ["y", "z"]
    assert store.member("z") == Member(1, 1, "a-1", 1)
    store.release("a-1", state, None)
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
        place = Place(f"u{number}", number % 2, at=5.5, number=number, left=(1, 2))
        store.assign(place.unit, Member(place.arm, 1, key, 0), place)
        store.record(key, 0, number)
    store = after(store, reopen)
    assert len(store.blocks) == many
    assert store.blocks["1-3"].places == [Place("u5", 1, at=5.5, number=5, left=(1, 2))]
    assert dict(store.blocks["1-3"].outcomes) == {0: 5}
    store.release("1-3", {**STATE, "arms": ["A", "B", "C"]}, None)
    store.assign("late", Member(2, 1, "2-1", 0), Place("late", 2, at=6.0, number=many, left=()))
    store = after(store, reopen)
    assert "1-3" not in store.blocks
    assert len(store.blocks) == many
    assert list(store.assigned) == [50, 50, 1]
    assert store.member("late") == Member(2, 1, "2-1", 0)
    assert store.member("u7") == Member(1, 1, "1-4", 0)
    store.close()


def check_begin(make: Make, reopen: Reopen | None = None) -> None:
    """What the rule made of a release is added to the state."""
    store = fresh(make)
    store.release("1", {**STATE, "protocol": {"t": 2, "begun": False, "ledger": {}}}, "2")
    store.begin("2", {"begun": True, "arm": 1})
    store = after(store, reopen)
    assert store.state["protocol"] == {"t": 2, "begun": True, "arm": 1, "ledger": {}}
    store.close()


def check_create(make: Make, reopen: Reopen | None = None) -> None:
    """A store that holds a trial takes no other, and loses nothing by being asked."""
    store = fresh(make)
    store.record("1", 0, 5)
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
    from ..live import Trial
    from ..policies import policy
    from ..privacy.budgets import ZCDP, Pure

    store = make()
    late: dict[str, Any] = {"deadline": "10000 days", "missing": 0.0}
    trial = Trial(policy("adap-klucb", epsilon=1.0), ["A", "B"], store=store, **late)
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
        contextual = Trial(row, 2, dimension=2, horizon=20, store=store, **late)
        contextual.assign("x", rows)
        expected = contextual.report()
        if reopen is not None:
            contextual.close()
            store = reopen(store)
        with Trial.load(store) as again:
            assert again.report() == expected
