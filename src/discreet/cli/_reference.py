"""The reference of the command line, written from the application itself.

`python -m discreet.cli._reference` prints docs/cli.md; a test compares the two.
"""

from __future__ import annotations

import inspect
from types import ModuleType
from typing import Any

import typer

from . import _gradients as gradients
from . import _membership as membership
from . import _serve as serve
from . import _trial as trial
from ._app import COMMANDS, app

HEAD = """\
# The command line

`discreet` is a second face of the library: each command makes the same objects as the Python call
of the same name. This page is written from the program by `python -m discreet.cli._reference`.

    discreet [--version] [--help] COMMAND

- `python -m discreet` is the same program.
- Every command takes `--json`: standard output is then one line of JSON and nothing else.
- Progress goes to standard error, and only if that is a terminal. `compiling NAME ...` appears
  there in any case: the first use of a policy compiles its loop, which is then kept. The `seconds`
  and `rounds/s` of results leave compiling out.
- Exit codes: 0 done; 2 refused or failed, with one line `error: ...` on standard error (a wrong
  argument is refused before anything is compiled, simulated or written); 130 interrupted by
  Ctrl-C, after printing and saving the runs that were finished (`"complete": false`); 141 nobody
  reads standard output any more, as in `discreet policies | head -1`.
- The same seed gives the same results, whatever the number of threads.
- Tables become lists in a terminal of 40 columns, and Greek letters become words where the
  encoding has none (`PYTHONIOENCODING=ascii`).
- Shell completion: `discreet --install-completion` sets it up for the shell that runs it (bash,
  zsh, fish, PowerShell), `discreet --show-completion` prints what would be installed.
"""

NOTES = {
    "policies": """\
The JSON is a list of objects: `name`, `title`, `schedule`, `release`, `rule`, `formulas` (of these
three), `private`, `budgets` (kinds), `arguments` (how to ask for them), `example` (the budget that
the guarantee is shown for), `guarantee`, `bounds` (of the rewards, or null), `reference` (`key`,
`short`), `options` (with their defaults).
""",
    "show": """\
The JSON of a policy is one object of the list that `discreet policies --json` prints; that of a
report has its `intervals` and `differences`.
""",
    "simulate": """\
The JSON is `Result.summary()`: `policy`, `horizon`, `runs`, `regret` (`mean`, `sd`, standard
`error`, `quantiles`, and `curve` with `t`, `mean`, `sd`), `pulls` (mean per arm), `shuffle`,
`problem`, `guarantee` (`budget`, `definition`, `unit`, `conditions`, `sentence`), `seconds`,
`seed`, `complete`. `differences` to the other policies are paired: `to`, `mean`, `error`, `runs`. A
Parquet file is read again by `discreet.load`.

With `--shuffle` every run has a random order of the arms, and pulls are reported under the arms'
own numbers. Some policies try arms in the order in which they are listed, which flatters them if
the best one comes first.

A budget is `--epsilon`; `--epsilon` and `--delta`; `--rho`; `--epsilon` and `--renyi-alpha`; or
`--mu`. A private policy needs one of a kind that it takes, and a policy that is not private
refuses it.
""",
    "compare": """\
The JSON is a list of what `simulate` prints, in the order of the names. Policies that are not
private ignore the budget, unless none is private; an option that none of the policies takes is an
error. Arms are in random order unless `--no-shuffle` says otherwise. The column `regret / ucb1`
holds the regret of a private policy against the same policy without privacy if that was run too,
else against the best policy without privacy; it names which. With `--bounds` every entry has
`bounds`, in the form that `bounds` prints.
""",
    "cite": """\
The JSON is an object: `key`, `kind`, `authors`, `title`, `venue`, `year`, `fields`, `short`,
`bibtex`.
""",
    "reproduce": """\
The JSON is a list with what each figure's `findings.json` holds: `study`, `figure`, `title`,
`reference`, `note`, `scale`, `size` and `published_size` (`horizon`, `runs`, `points`), `seed`,
`seconds`, and `findings`: for every statement its `claim`, `where`, `verdict` (reproduced, differs,
not reproduced or cannot tell), `measured` (`name`, `value`, `standard_error`) and `why`; with the
`folder`. With `--list` it is a list of figures. A verdict does not change the exit code.

`python -m discreet.studies._gallery FOLDER` writes a page of all figures from such a folder.
""",
    "identify": """\
The JSON is `Result.summary()`, as of `simulate`, with `horizon` for the most samples, and
`risk`, `delta_correct` (whether the risk is proved), `stopping_time` (`mean`, `sd`, `error`,
`quantiles`), `error_rate`, `recommendations` (runs that ended with each arm) and `unfinished` (runs
that reached the most samples without an answer; their stopping times count as that). A Parquet file
is read again by `discreet.load`.
""",
    "bounds": """\
The JSON is an object: `means`, `horizon`, `free_epsilon` (from which ε on the private lower bound
equals that without privacy; null if there is none) and `bounds`, a list of `name`, `side`,
`quantity`, `form`, `summary` (the formula), `source`, `domain`, `coefficient` (of log T or log 1/δ,
or null), `value`, `silent` (why there is no value) and `policy`.
""",
    "plan": """\
The JSON is an object: `question`, `serving` (policies you can use), `refused` (the others, and
why), `predictions` (a list of `epsilon`, `row`, `options`, `mean`, `low`, `high`, `usual`, `runs`,
`until`, `bound`), `open` (the same without privacy), `free_epsilon` (`theory`, `practice`),
`strengths`, `recommended`, `why`, `equal_allocation` (its regret), `helps` (whether the
recommended policy is clearly better than that: if not, allocate the arms equally), `complete`.
With `--arrivals` it has instead `means`, `horizon`, `calendar`, `lines` (for every ε, without noise
and without privacy: `worse`, `regret`, `days`, `best_named`, `used`, `widths`, and of the race
`declared`, `race_participants`, `race_days`, `false_winners`, each with its uncertainty),
`deadlines`, `prices`, `designs` (tests beside the race and the adaptive trial: `name`, `what`,
`power`, `error`, `bound`, `participants`, `on_worse`, `exact`), `advice` (which of them to take, by
what is wanted) and `recommendation`.
""",
    "size": """\
The JSON is an object: `participants`, `without_privacy`, `for_privacy`, `closed_form`, `power` and
`design` (sizes, boundaries, certificate; null with `--closed-form`). With `--participants` it has
`participants`, `power`, `power_without_privacy` and `design`.
""",
    "operating": """\
The JSON is an object with `scenarios`, a list of objects: `design`, `treatment`, `control`,
`rejected` (where the rates are equal: the type I error), `right`, `wrong`, `participants` (their
mean number), `on_worse` (of them, on the worse arm) and `exact` (or simulated).
""",
    "protocol": """\
The JSON is an object: `title` and `markdown`, the papers. The page [Papers for a board](papers.md)
says what is in them.
""",
    "audit": """\
The JSON is an object: `policy`, `claimed` (`budget`, `definition`, `unit`, `conditions`,
`sentence`, `epsilon_at_delta`), `epsilon_lower` (proved, at `delta`), `confidence`, `delta`,
`transcripts` (played in all), `inputs` (the worst that were found), `event` (that proves it: its
description, `likelier on`, `p_at_least`, `q_at_most`, `hits`, `of`, and `parameter`, the number
that the claim is stated by with its bound; null if nothing was told apart), `verdict`:
"violation", or "no violation found with N transcripts", which is no proof. With `--fail` a
violation exits 1. `--transcripts` and `--seed` together fix every number; a time limit does not.
""",
    "verify": """\
The JSON is an object: `policy`, `holds` (true, false, or null where that is not known), `holds_for`
(rounds for which the claim is known to hold, or null), `claimed`, `definition`, `computed`,
`unspent` (share of the budget), `exact` (false: an upper bound), `scope` (which public paths),
`arms`, `horizon`, `noise`, `paths`, `numbers`, `worst` (`arm`, `first` round, `rounds`, `noises`,
`path`), `reason`, `breach`, `conditions`; with `--live` also `lives` (`holds`, `claimed`,
`computed`, `worst`, `kinds`, `pairs`, `blocks`). Policies of `discreet identify` are known too.
Exit code 1 means that the claim is exceeded. Without a name it is a list of objects: `name`,
`kind`, `claimed`, `computed`, `unspent` (null if nothing was computed), `exact`, `holds`, `why`.
""",
    "sweep": """\
A sweep in a file has the same names, and a table for every problem (docs/sweeps.md). The JSON is a
list of what `simulate` or `identify` prints, a cell each, with `differences`; `seconds` are null. A
Parquet file is read again by `discreet.load`. Exit code 130 means that Ctrl-C came first: with
`--folder` the same command goes on.
""",
    "cost": """\
The JSON is an object: `means`, `horizon`, `ways` (equal split, bandit and private bandit, each with
`name`, `people`, `outcomes` and, with --value, `money`: a `mean` and its standard `error`),
`privacy` (what privacy costs, run by run), `value`, `unit`, `outcome`, `guarantee`, `runs`, `seed`,
`complete`.
""",
    "choose": """\
The JSON is an object: `policy`, `call`, `why` (a list of sentences) and `guarantee`.
""",
    "explain": """\
The JSON is an object: `budget`, `advantage` (the largest share of members found less innocents
accused), `accuracy`, `power` (the largest share of members found, by the share of innocents
accused) and `words`.
""",
    "membership leakage": """\
The JSON is an object: `score` (the leakage score m*), `advantage`, `power` (by level), `auc`,
`epsilon` (that the game can show at `delta`, null if infinite) and `delta`.
""",
    "membership play": """\
The JSON is an object: `score` (of a fixed target), `attack`, `mechanism`, `law`, `n`, `noise`,
`subsample`, `game`, `rounds`, `advantage`, `accuracy`, `auc`, `power` (by level), `limits` (of
these, at `confidence`), `epsilon_lower` (proved at `delta`), `audit` (as `membership audit`
prints it), `seconds`, `seed`, `complete`.
""",
    "membership audit": """\
The JSON is that of `discreet audit`, with `epsilon_lower` at `delta` and `mu_lower`, the bound on
Gaussian DP, where there is one. `claimed` is null unless a claim was given; with one, exit code 1
means a violation.
""",
    "trial new": """\
The JSON has `file`, `policy`, `settings` (what was planned, in words), `guarantee` and `status`.
""",
    "trial assign": """\
The JSON has `unit` and `arm`; of several units it is a list of such objects.
""",
    "trial record": """\
The JSON has `recorded`, the number of outcomes that were read. Outcomes are never taken from the
command line, which other processes can read.
""",
    "trial report": """\
The JSON is what `Trial.report()` returns: `policy`, `settings`, `guarantee`, `status`, `assigned`,
`releases`, `next_release`, `arms` (with `mean`, `interval` or `bounds`), `blocks`, ...
""",
    "trial verdict": """\
Prints a sentence: "no look yet: go on", "look 1: go on", or the decision with its estimate. The
JSON has the `looks` that were planned, with `sums` and `z` once the test has decided, `interval`
and `p_value`; over strata, the common effect and a `forest`. Refused for trials that do not test.
""",
    "trial correct": """\
For trials that were planned with `"corrections": "deadline"`. The last one counts that comes before
the outcome would be late. The reply is the same for all. See [rights](rights.md).""",
    "trial withdraw": """\
Says what remains of the participant; the answer does not depend on whether an outcome had come. See
[rights](rights.md).""",
    "trial erase": """\
Overwrites the names of all participants of a finished trial.""",
    "trial log": """\
Prints the trail of decisions and releases. `--verify` checks its chain, `--export` writes CSV.""",
    "trial unblind": """\
Tells the arm behind the kit of a participant. That it was opened, by whom and why, is in the
trail.""",
    "trial restock": """\
Adds kits to a trial that hands them out.""",
    "trial add": """\
The JSON has `arms`, a list.
""",
    "trial drop": """\
The JSON has `dropped`, the arm.
""",
    "trial stop": """\
The JSON has `status`, `next_release` and `guarantee`.
""",
    "trial finish": """\
The JSON has `status`, `next_release` and `guarantee`.
""",
    "trial confirm-clock": """\
The JSON has `confirmed`, a sentence that names the jump.
""",
    "trial backup": """\
The JSON has `file`, the backup.
""",
    "trial restore": """\
The JSON has `file` and `status`, which is "fenced".
""",
    "trial move": """\
The JSON has `file`, where the trial is now.
""",
    "trial fence": """\
The JSON has `status`, and `fence`: why the trial is fenced, or nothing.
""",
    "serve": """\
Prints the folder, the first administrator's key if there was none, and the address of its page.
There is no --json: it runs until it is stopped. See [the service](serve.md).
""",
    "serve keys new": """\
The JSON has `key`, which is shown this once, `id`, `role` and `experiment`.
""",
    "serve keys list": """\
The JSON is a list of objects: `id`, `tenant`, `role`, `experiment`, `site`, `label`, `created`,
`expires`, `revoked` (seconds since 1970, or null).
""",
    "serve keys rotate": """\
The JSON has `key`, which is shown this once, `id`, `role` and `replaces`.
""",
    "serve keys secret": """\
The JSON has `tenant`, and `made` or `deleted`, the number.
""",
    "serve keys revoke": """\
The JSON has `revoked`, the id.
""",
    **{f"membership {gradients.NAME} {name}": note for name, note in gradients.NOTES.items()},
}


def reference() -> str:
    """The whole page."""
    group: Any = typer.main.get_command(app)
    commands: dict[str, Any] = group.commands
    pages = [_page(module.NAME, module.EXAMPLE, commands[module.NAME]) for module in COMMANDS]
    games, trials = commands[membership.NAME], commands[trial.NAME]
    pages.append(f"\n## discreet {membership.NAME}\n\n{membership.SUMMARY}\n")
    pages += _pages(membership, membership.NAME, games)
    inner = games.commands[gradients.NAME]
    pages += _pages(gradients, f"{membership.NAME} {gradients.NAME}", inner)
    pages.append(f"\n## discreet {trial.NAME}\n\n{trial.SUMMARY}\n")
    pages += _pages(trial, trial.NAME, trials, "For example")  # they need a file, standard input
    served = commands[serve.NAME]
    pages.append(_page(serve.NAME, serve.EXAMPLE, served, such="For example"))
    keys = f"{serve.NAME} {serve.KEYS}"
    pages += _pages(serve, keys, served.commands[serve.KEYS], "For example")
    return HEAD + "".join(pages)


def _pages(module: ModuleType, prefix: str, group: Any, such: str = "Example") -> list[str]:
    """The commands of a module that has several."""
    return [
        _page(f"{prefix} {name}", example, group.commands[name], "###", such)
        for name, example in module.EXAMPLES.items()
    ]


def _page(name: str, example: str, command: Any, mark: str = "##", such: str = "Example") -> str:
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option"]
    usage = " ".join(["discreet", name, *(p.metavar for p in arguments), "[OPTIONS]"])
    lines = [f"\n{mark} discreet {name}\n", inspect.cleandoc(command.help), ""]
    lines += [f"    {usage}", "", "| | |", "|---|---|"]
    lines += [f"| `{p.metavar}` | {p.help} |" for p in arguments]
    lines += [f"| `{_flag(p)}` | {p.help}{_default(p)} |" for p in options]
    lines += ["", NOTES[name], f"{such}:\n\n    {example}\n"]
    return "\n".join(lines)


def _flag(option: Any) -> str:
    return str(option.opts[0]) if option.is_flag else f"{option.opts[0]} {option.metavar}"


def _default(option: Any) -> str:
    return "" if option.default in (None, False, ()) else f" Default: {option.default}."


if __name__ == "__main__":
    typer.echo(reference(), nl=False)
