"""Bugs in what a live trial makes of a release, planted for a test.

Each is named by what it does; the policy, its kernels and its noise are intact.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from discreet.live import Trial
from discreet.live import _report as report
from discreet.live._pairs import PairRun
from discreet.live._stream_run import StreamRun

Plant = Callable[[pytest.MonkeyPatch], None]


def _remember_sums(patch: pytest.MonkeyPatch) -> None:
    """The run keeps exact sums: of the last block of every arm, and of all."""
    real = StreamRun.publish

    def publish(self: Any, actions: Any, outcomes: Any) -> None:
        real(self, actions, outcomes)
        self.__dict__.setdefault("raw", {})[self.arm] = float(outcomes[0]) / self.release.resolution
        every = self.__dict__.setdefault("every", {}).setdefault(self.arm, [0, 0.0])
        every[0], every[1] = every[0] + len(actions), every[1] + self.raw[self.arm]

    patch.setattr(StreamRun, "publish", publish)


def exact_record(patch: pytest.MonkeyPatch) -> None:
    """The record behind the intervals holds exact sums."""
    _remember_sums(patch)
    real = StreamRun.publish

    def publish(self: Any, actions: Any, outcomes: Any) -> None:
        real(self, actions, outcomes)
        if self.history is not None and self.history[self.arm]:
            self.history[self.arm][-1][1] = self.raw[self.arm]

    patch.setattr(StreamRun, "publish", publish)


def exact_intervals(patch: pytest.MonkeyPatch) -> None:
    """Intervals lie around exact means."""
    _remember_sums(patch)
    real = report.arm_entries

    def arm_entries(shown: Any, run: Any, played: Any) -> Any:
        entries = real(shown, run, played)
        for arm, row in enumerate(entries["arms"] or ()):
            if arm in getattr(run, "every", {}):
                size, total = run.every[arm]
                mean = total / size
                row["interval"] = [mean - 0.3, mean + 0.3]
        return entries

    patch.setattr(report, "arm_entries", arm_entries)


def exact_course(patch: pytest.MonkeyPatch) -> None:
    """The course of the trial holds exact sums."""
    _remember_sums(patch)
    real = StreamRun.course_after

    def course_after(self: Any, course: Any, due: Any) -> Any:
        after = real(self, course, due)
        if after:
            after[-1][3] = self.raw[self.arm]
        return after

    patch.setattr(StreamRun, "course_after", course_after)


def exact_answers(patch: pytest.MonkeyPatch) -> None:
    """How many answered is released beside the noisy sum with noise of a millionth."""
    real: Any = PairRun.publish

    def publish(self: Any, actions: Any, outcomes: Any) -> None:
        whole = self.design
        self.design = whole._replace(pair=whole.pair._replace(answers=1.0))
        real(self, actions, outcomes)
        self.design = whole

    patch.setattr(PairRun, "publish", publish)


def answers_so_far(patch: pytest.MonkeyPatch) -> None:
    """The report says how many outcomes wait for their release."""
    real: Any = Trial.report

    def shown(self: Any) -> Any:
        waiting = sum(len(block.outcomes) for block in self._store.blocks.values())
        return {**real(self), "recorded": waiting}

    patch.setattr(Trial, "report", shown)


def waits_for_answers(patch: pytest.MonkeyPatch) -> None:
    """A block without an answer is not released."""
    real: Any = StreamRun.next_due

    def next_due(self: Any, blocks: Any, terms: Any, now: float) -> Any:
        found = real(self, blocks, terms, now)
        return found if found is None or blocks[found.key].outcomes else None

    patch.setattr(StreamRun, "next_due", next_due)


def quiet_third_arm(patch: pytest.MonkeyPatch) -> None:
    """What the third arm releases in a trial has a tenth of its noise."""
    real = StreamRun.publish

    def publish(self: Any, actions: Any, outcomes: Any) -> None:
        whole = self.design
        if self.arm == 2:
            quiet = whole.release._replace(scale=0.1 * whole.release.scale)
            self.design = whole._replace(release=quiet)
        real(self, actions, outcomes)
        self.design = whole

    patch.setattr(StreamRun, "publish", publish)


AUDITED: dict[str, tuple[Plant, str, str, bool]] = {
    "exact record": (exact_record, "adap-klucb", "everybody", False),
    "exact intervals": (exact_intervals, "adap-klucb", "everybody", False),
    "exact course": (exact_course, "adap-klucb", "everybody", False),
    "exact number of answers": (exact_answers, "dp-imed", "estimated", True),
    "answers so far": (answers_so_far, "dp-imed", "board", True),
    "waits for answers": (waits_for_answers, "adap-klucb", "value", True),
}
"""What `audit --live` catches: the bug, a policy, a life, and whether somebody who does not answer
shows it, or somebody who answers otherwise."""
