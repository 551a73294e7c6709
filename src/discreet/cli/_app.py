"""The application: its commands, its errors, its exit codes.

0 done; 2 refused or failed, with one line `error: ...` on standard error; 130 interrupted by
Ctrl-C; 141 nobody reads standard output any more (as in `discreet policies | head -1`).
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Sequence
from functools import partial
from types import ModuleType
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from .._version import __version__
from ..errors import DiscreetError
from . import (
    _audit as audit,
)
from . import (
    _bounds as bounds,
)
from . import (
    _choose as choose,
)
from . import (
    _cite as cite,
)
from . import (
    _compare as compare,
)
from . import (
    _cost as cost,
)
from . import (
    _explain as explain,
)
from . import (
    _gradients as gradients,
)
from . import (
    _identify as identify,
)
from . import (
    _membership as membership,
)
from . import (
    _operating as operating,
)
from . import (
    _plan as plan,
)
from . import (
    _policies as policies,
)
from . import (
    _protocol as protocol,
)
from . import (
    _reproduce as reproduce,
)
from . import (
    _serve as serve,
)
from . import (
    _show as show,
)
from . import (
    _simulate as simulate,
)
from . import (
    _size as size,
)
from . import (
    _sweep as sweep,
)
from . import (
    _trial as trial,
)
from . import (
    _verify as verify,
)
from ._output import one_line, suit_encoding

REFUSED, INTERRUPTED, UNREAD = 2, 130, 141


class _QuickHelp:
    """Gives --help a default, without which typer loads pydantic, a tenth of a second, for it."""

    def get_help_option(self, ctx: Any) -> Any:
        """The option, off unless given."""
        option = super().get_help_option(ctx)  # type: ignore[misc]  # of the mixed-in base
        if option is not None and option.default is None:
            option.default = False
        return option


class Command(_QuickHelp, TyperCommand):
    """One command."""


class Commands(_QuickHelp, TyperGroup):
    """All commands; whatever is refused becomes one line and exit code 2."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run the command that was asked for, and end the process with its code."""
        run = partial(
            super().main, args, prog_name, complete_var, standalone_mode=False,
            windows_expand_args=windows_expand_args, **extra,
        )  # fmt: skip
        if not standalone_mode:
            return run()
        if sys.stdout is None:  # closed, as in `discreet policies >&-`
            _end("standard output must be open, got a closed one; redirect it to /dev/null instead")
        try:
            code = run()
            sys.stdout.flush()
        except SystemExit as end:
            # typer's own answer to a closed pipe while it prints a help page
            code = UNREAD if end.code == 1 else end.code
        except KeyboardInterrupt:
            code = INTERRUPTED
        except BrokenPipeError:
            code = UNREAD
        except DiscreetError as error:
            _end(str(error))
        except OSError as error:
            _end(f"the output could not be written: {error}")
        except MemoryError:
            _end("there is not enough memory for this; ask for fewer runs, points, arms or rounds")
        except Exception as error:
            if not hasattr(error, "format_message"):  # a bug of ours: its traceback is of use
                raise
            _usage(error)
        if code == UNREAD:
            _forget_stdout()
        sys.exit(code if isinstance(code, int) else 0)


def _usage(error: Any) -> NoReturn:
    """What typer itself refuses, in our words; without any argument, the help page."""
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
        sys.exit(REFUSED)
    said = error.format_message().rstrip(".")
    where = error.ctx.command_path if getattr(error, "ctx", None) is not None else "discreet"
    _end(f"{said[:1].lower()}{said[1:]}; see {where} --help")


def _end(message: str) -> NoReturn:
    """One line on standard error, and code 2."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError):
            sys.stderr.write(f"error: {one_line(message)}\n")
            sys.stderr.flush()
    _forget_stdout()
    sys.exit(REFUSED)


def _forget_stdout() -> None:
    """What is still in the buffer must not fail again, with a traceback, when Python ends."""
    try:
        sys.stdout.flush()
    except (AttributeError, ValueError):
        return
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        with contextlib.suppress(OSError, ValueError):
            os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"discreet {__version__}")
        raise typer.Exit


app = typer.Typer(
    cls=Commands,
    add_completion=True,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    # plain help: rich would add a tenth of a second to every --help
    rich_markup_mode=None,
)


@app.callback()
def discreet(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Adaptive experiments that keep their participants' secrets."""


COMMANDS: tuple[ModuleType, ...] = (
    policies, show, simulate, compare, cite, reproduce, identify, bounds, choose, cost, plan, size,
    operating, protocol, audit, verify, explain, sweep,
)  # fmt: skip

for _command in COMMANDS:
    _epilog = f"Example: {_command.EXAMPLE}"
    app.command(_command.NAME, cls=Command, epilog=_epilog)(_command.command)


def _group(module: ModuleType) -> typer.Typer:
    """The commands of a module that has several, under its name."""
    made = typer.Typer(
        cls=Commands, no_args_is_help=True, rich_markup_mode=None, help=module.SUMMARY
    )
    for name, command in module.COMMANDS.items():
        made.command(name, cls=Command, epilog=f"Example: {module.EXAMPLES[name]}")(command)
    return made


_games = _group(membership)
_games.add_typer(_group(gradients), name=gradients.NAME)
app.add_typer(_games, name=membership.NAME)
app.add_typer(_group(trial), name=trial.NAME)
_served = typer.Typer(cls=Commands, rich_markup_mode=None)
_served.callback(invoke_without_command=True, epilog=f"Example: {serve.EXAMPLE}")(serve.command)
_served.add_typer(_group(serve), name=serve.KEYS)
app.add_typer(_served, name=serve.NAME)


def main() -> None:
    """The console script."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            suit_encoding(stream)
    app(prog_name="discreet")
