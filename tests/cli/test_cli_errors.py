"""Whatever is wrong is said in one line, before anything is simulated or written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from discreet.cli._output import one_line

MEANS = ("--means", ".7,.5")


@pytest.mark.parametrize("flags", [(), ("--json",)])
@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ("adap-klcb --means .7,.5 --epsilon 1", "did you mean adap-klucb"),
        ("ucb1", "add for example --means"),
        ("ucb1 --means .7,abc", "means must be numbers between commas, got '.7,abc'"),
        ("ucb1 --means .7,nan", "got nan"),
        ("ucb1 --means .7,1.5", "got 1.5"),
        ("ucb1 --means .7", "at least two arms"),
        ("adap-ucb --means .7,.5", "give epsilon"),
        ("adap-ucb --means .7,.5 --epsilon 0", "epsilon must be a number above 0"),
        ("adap-ucb --means .7,.5 --epsilon -1", "epsilon must be a number above 0"),
        ("adap-ucb --means .7,.5 --epsilon nan", "epsilon must be a number above 0"),
        ("dp-ftpl-new --means .7,.5 --epsilon 1 --delta 1", "delta must be a number in [0, 1)"),
        ("dp-ftpl-new --means .7,.5 --epsilon 1 --delta -.1", "delta must be a number in [0, 1)"),
        ("adac-ucb --means .7,.5 --rho 1 --mu 1", "one kind of budget"),
        ("adac-ucb --means .7,.5 --epsilon 1", "or take one of adap-ucb"),
        ("ucb1 --means .7,.5 --epsilon 1", "not private"),
        ("ucb1 --means .7,.5 --alpha 1", "alpha must be an option of ucb1"),
        ("adap-ucb --means .7,.5 --epsilon 1 --option alfa=1", "did you mean alpha"),
        ("adap-ucb --means .7,.5 --epsilon 1 --option alpha=x", "alpha must be a number, got 'x'"),
        ("adap-ucb --means .7,.5 --epsilon 1 --option alpha", "be NAME=VALUE"),
        ("adap-ucb --means .7,.5 --epsilon 1 --alpha 1 --option alpha=2", "drop --alpha"),
        ("adap-ucb --means .7,.5 --epsilon 1 --alpha nan", "alpha must be a finite number above 0"),
        ("ucb1 --means .7,.5 --horizon 1", "at least the number of arms (2)"),
        ("ucb1 --means .7,.5 --horizon 1.5", "horizon must be a whole number"),
        ("ucb1 --means .7,.5 --horizon nan", "horizon must be a whole number"),
        ("ucb1 --means .7,.5 --runs 0", "runs must be a whole number"),
        ("ucb1 --means .7,.5 --seed -1", "seed must be a whole number"),
        ("ucb1 --means .7,.5 --threads 0", "threads must be a whole number"),
        ("ucb1 --means .7,.5 --points 1", "points must be a whole number"),
        ("ucb1 --means .7,.5 --environment gausian", "did you mean gaussian"),
        ("ucb1 --means .7,.5 --environment-option sd=1", "drop it"),
        ("ucb1 --means .7,.5 --replay", "replay must come with --data"),
        ("ucb1 --means .7,.5 --outcome cd4", "outcome must come with --data"),
        ("ucb1 --data actg175 --means .7,.5", "means must be left out with --data"),
        ("ucb1 --data actg175 --clip", "clip must be left out with --data"),
        ("ucb1 --data actg176", "known: actg175"),
        ("ucb1 --data actg175 --outcome death", "cd4 or event-free"),
        ("ucb1 --data actg175 --replay --horizon 1e5", "at most 2139"),
    ],
)
def test_refused(
    refuse: Callable[..., str], arguments: str, part: str, flags: tuple[str, ...]
) -> None:
    assert part in refuse("simulate", *arguments.split(), *flags)


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ("ucb1 adap-klcb --means .7,.5 --epsilon 1", "did you mean adap-klucb"),
        ("ucb1 kl-ucb --means .7,.5 --epsilon 1", "not private"),
        ("ucb1 adac-ucb --means .7,.5 --epsilon 1", "or take one of adap-ucb"),
        ("ucb1 adap-ucb --means .7,.5", "adap-ucb is private"),
        ("ucb1 adap-ucb --means .7,.5 --epsilon 1 --power 2", "an option of ucb1 or adap-ucb"),
        ("ucb1 ucb1 --means .7,.5", "be named once"),
    ],
)
def test_refused_together(refuse: Callable[..., str], arguments: str, part: str) -> None:
    assert part in refuse("compare", *arguments.split())


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ("simulate adac-oful --rho .5 --instance-seed -1", "seed must be a whole number from 0"),
        ("audit adap-ucb --epsilon 1 --seed -1", "seed must be a whole number from 0"),
        ("membership play --columns .5:3 --n 9 --target draw --seed -1", "seed must be a whole"),
        ("membership leakage --columns .5:3 --n 9 --target draw --seed -1", "seed must be a whole"),
        ("membership leakage --columns .5:1e30 --n 9", "columns must be a whole number from 1 to"),
        ("plan --arrivals 5 --means .5,.4 --days nan", "days must be a finite number above 0"),
        ("plan --arrivals 5 --means .5,.4 --days inf", "days must be a finite number above 0"),
        ("plan --arrivals nan --means .5,.4 --days 9", "arrivals must be a finite number above 0"),
        ("audit json:loads --epsilon 1 --arms 0", "arms must be left out for a mechanism of your"),
    ],
)
def test_numbers_that_no_command_can_use(
    refuse: Callable[..., str], arguments: str, part: str
) -> None:
    assert part in refuse(*arguments.split())


@pytest.mark.parametrize(
    "arguments",
    [
        "simulate UCB1 --means .7,.5 --horizon 10 --runs 1",
        "identify Race --means .9,.1 --epsilon 2 --runs 1",
        "sweep UCB1 --means .7,.5 --horizon 10 --runs 1",
        "show AdaP-KLUCB",
        "cite AdaP-KLUCB",
    ],
)
def test_names_may_be_written_as_in_the_papers(call: Callable[..., Any], arguments: str) -> None:
    result = call(*arguments.split())
    assert result.exit_code == 0, result.stderr


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("--output", "x.csv"), "end in .parquet"),
        (("--plot", "x.gif"), "end in .png or .svg or .pdf"),
        (("--output", "nowhere/x.parquet"), "folder that exists"),
        (("--plot", "nowhere/x.png"), "folder that exists"),
        (("--output", "folder.parquet"), "name a file"),
        (("--output", "fixed.parquet"), "be writable"),
    ],
)
def test_places_are_checked_before_the_work(
    refuse: Callable[..., str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    arguments: tuple[str, ...],
    part: str,
) -> None:
    import os

    from discreet import simulator

    def never(*arguments: Any, **options: Any) -> Any:
        raise AssertionError("it was simulated")

    monkeypatch.setattr(simulator, "compare", never)
    # permissions do not bind a superuser, who may be running the tests
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != "fixed.parquet")
    (tmp_path / "folder.parquet").mkdir()
    (tmp_path / "fixed.parquet").touch()
    assert part in refuse("simulate", "ucb1", *MEANS, *arguments)
    with pytest.raises(AssertionError, match="it was simulated"):
        refuse("simulate", "ucb1", *MEANS, "--output", "good.parquet", "--plot", "good.pdf")


def test_a_failed_save_is_told_after_the_results(
    call: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from discreet.simulator import Comparison

    def full(*arguments: Any) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(Comparison, "save", full)
    result = call("simulate", "ucb1", *MEANS, "--horizon", "100", "--output", "x.parquet", "--json")
    assert result.exit_code == 2
    assert result.stdout.startswith("{")
    assert result.stderr.endswith("error: the results could not be saved: no space left\n")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "arguments",
    [
        ("bogus",),
        ("simulate",),
        ("simulate", "ucb1", "--runs"),
        ("simulate", "ucb1", "--seed", "x"),
    ],
)
def test_usage(call: Callable[..., Any], arguments: tuple[str, ...]) -> None:
    result = call(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert "--help" in result.stderr


def test_whatever_a_message_says_it_is_one_line() -> None:
    """A value may bring line breaks, or codes that steer a terminal."""
    assert one_line("path must exist, got a\nb;\r\n  use\x1b[2J another\u2028one") == (
        "path must exist, got a b; use [2J another one"
    )
