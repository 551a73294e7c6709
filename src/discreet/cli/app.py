"""The application: its commands, its errors, its exit codes.

0 done, 2 a wrong argument (nothing was simulated or written), 130 interrupted by Ctrl-C.
"""

from __future__ import annotations

import io
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from ..errors import DiscreetError
from ..version import __version__
from . import (
    audit,
    bounds,
    cite,
    compare,
    explain,
    gradients,
    identify,
    membership,
    plan,
    policies,
    reproduce,
    show,
    simulate,
)


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
    """All commands; what the library refuses becomes one line and exit code 2."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        try:
            return super().invoke(ctx)
        except DiscreetError as error:
            typer.echo(f"error: {' '.join(str(error).split())}", err=True)
            raise typer.Exit(2) from None


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"discreet {__version__}")
        raise typer.Exit


app = typer.Typer(
    cls=Commands,
    add_completion=False,
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


for _command in (
    policies, show, simulate, compare, cite, reproduce, identify, bounds, plan, audit, explain,
):  # fmt: skip
    _epilog = f"Example: {_command.EXAMPLE}"
    app.command(_command.NAME, cls=Command, epilog=_epilog)(_command.command)

_games = typer.Typer(
    cls=Commands, no_args_is_help=True, rich_markup_mode=None, help=f"{membership.SUMMARY}"
)
for _name, _play in membership.COMMANDS.items():
    _epilog = f"Example: {membership.EXAMPLES[_name]}"
    _games.command(_name, cls=Command, epilog=_epilog)(_play)
app.add_typer(_games, name=membership.NAME)
_games.add_typer(gradients.group(Commands, Command), name=gradients.NAME)


def main() -> None:
    """The console script."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal without ε shows ? instead of failing
            stream.reconfigure(errors="replace")
    app(prog_name="discreet")
