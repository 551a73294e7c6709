"""`discreet serve`: private experiments over HTTP, and the keys for them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .._durations import in_words
from .._extras import require
from ..errors import InvalidArgument
from ._options import Json, argument, flag, switch
from ._output import print_json, print_text

if TYPE_CHECKING:
    from ..serve._register import Register
    from ..serve._secrets import Secrets

NAME = "serve"
KEYS = "keys"
SUMMARY = "Make, list and revoke the keys of a service."
EXAMPLE = "discreet serve --port 8080"
Data = Annotated[Path, flag("The folder with all data.", "DIR", "--data")]


def command(
    context: typer.Context,
    data: Data = Path("discreet-data"),
    host: Annotated[str, flag("Where to listen.", "ADDRESS")] = "127.0.0.1",
    port: Annotated[int, flag("Which port; 0: any free one.", "COUNT")] = 8000,
    behind_tls: Annotated[
        bool, switch("--behind-tls", "A proxy that speaks TLS is in front: any address will do.")
    ] = False,
    demo: Annotated[
        bool, switch("--demo", "Add an experiment with simulated participants, and play it.")
    ] = False,
    drain: Annotated[
        float, flag("Seconds between being told to stop and stopping.", "SECONDS")
    ] = 0.0,
) -> None:
    """Private experiments over HTTP, until SIGTERM or Ctrl-C.

    Without any configuration: SQLite in a folder that is made, the first administrator's key
    printed once, a page at /, the API under /v1, described at /v1/openapi.json.
    """
    if context.invoked_subcommand is not None:
        return
    _check_installed()
    from ..serve._run import serve

    serve(data, host, port, behind_tls=behind_tls, demo=demo, drain=drain)


def new(
    role: Annotated[str, flag("admin, site, nurse, statistician, monitor or device.", "ROLE")],
    experiment: Annotated[
        str | None, flag("For this experiment alone; default: all of the tenant.", "ID")
    ] = None,
    site: Annotated[
        str | None, flag("A site whose participants have names of their own.", "NAME")
    ] = None,
    tenant: Annotated[str, flag("Whose key it is; a new tenant is added.", "NAME")] = "default",
    expires: Annotated[
        str | None, flag('How long it opens anything, "90 days". Default: no end.', "TIME")
    ] = None,
    label: Annotated[str, flag("Words for the list.", "TEXT")] = "",
    data: Data = Path("discreet-data"),
    json: Json = False,
) -> None:
    """Make a key. It is shown this once; a service that runs knows it within a second."""
    _check_installed()
    import time

    from .._checks import one_of
    from .._durations import seconds
    from ..serve._keys import NAME as NAMES
    from ..serve._keys import ROLES, new_key

    one_of("role", role, *ROLES)
    for what, given in (("experiment", experiment), ("site", site), ("tenant", tenant)):
        if given is not None and not NAMES.fullmatch(given):
            raise InvalidArgument(what, "be 1 to 64 of a-z, 0-9 and -", given, "use another name")
    end = None if expires is None else time.time() + seconds("expires", expires)
    register, secrets = _register(data)
    register.add_tenant(tenant)
    token, row = new_key(
        secrets, tenant, role, experiment=experiment, site=site, label=label, expires=end
    )
    register.add_key(row, "command line")
    register.close()
    _print({"key": token, "id": row.id, "role": role, "experiment": experiment}, json)


def listed(data: Data = Path("discreet-data"), json: Json = False) -> None:
    """All keys, without their secrets."""
    _check_installed()
    import time

    register, _ = _register(data)
    rows, now = register.keys(), time.time()
    register.close()
    if json:
        names = ("id", "tenant", "role", "experiment", "site", "label", "created", "expires",
                 "revoked")  # fmt: skip
        print_json([{name: getattr(row, name) for name in names} for row in rows])
        return
    for row in rows:
        end = "" if row.expires is None else f", {in_words(round(abs(row.expires - now)))}"
        end += "" if row.expires is None else (" left" if row.expires > now else " over")
        state = "revoked" if row.revoked is not None else f"valid{end}"
        where = row.experiment or "all experiments"
        print_text(f"{row.id}  {row.tenant}  {row.role}  {where}  {state}  {row.label}".rstrip())


def revoke(
    key: Annotated[str, argument("The key's id, as in the list.", "ID")],
    data: Data = Path("discreet-data"),
    json: Json = False,
) -> None:
    """A key opens nothing any more, within a second."""
    _check_installed()
    register, _ = _register(data)
    row = register.key(key)
    if row is None:
        register.close()
        raise InvalidArgument("ID", "be the id of a key", key, "see discreet serve keys list")
    register.revoke(row, "command line")
    register.close()
    _print({"revoked": row.id}, json)


EXAMPLES = {
    "new": 'discreet serve keys new --role site --expires "90 days"',
    "list": "discreet serve keys list",
    "revoke": "discreet serve keys revoke 0123456789abcdef",
}
COMMANDS: dict[str, Callable[..., None]] = {"new": new, "list": listed, "revoke": revoke}


def _check_installed() -> None:
    require("serve", "starlette", "uvicorn", "msgspec", "prometheus_client")


def _register(data: Path) -> tuple[Register, Secrets]:
    """The register of a folder, which is made if it is not there."""
    from ..serve._register import Register
    from ..serve._secrets import Secrets

    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    secrets = Secrets(data)
    return Register(data, secrets), secrets


def _print(data: dict[str, Any], json: bool) -> None:
    if json:
        print_json(data)
    else:
        print_text("\n".join(f"{name}: {value}" for name, value in data.items() if value))
