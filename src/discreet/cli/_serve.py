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
Base = Annotated[
    str,
    flag(
        "A PostgreSQL database for trials and keys, postgresql://host/name.", "URL", "--database",
        envvar="DISCREET_DATABASE", show_envvar=True,
    ),
]  # fmt: skip
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
    database: Base = "",
    role: Annotated[
        str, flag("Of several on one database: all, web (assigns), curator (releases).", "ROLE")
    ] = "all",
    witness: Annotated[
        str,
        flag(
            "Another PostgreSQL database, where releases are noted first.",
            "URL",
            envvar="DISCREET_WITNESS",
            show_envvar=True,
        ),
    ] = "",
) -> None:
    """Private experiments over HTTP, until SIGTERM or Ctrl-C.

    Without any configuration: SQLite in a folder that is made, the first administrator's key
    printed once, a page at /, the API under /v1, described at /v1/openapi.json.
    """
    if context.invoked_subcommand is not None:
        return
    _check_installed()
    from ..serve._run import serve

    serve(
        data,
        host,
        port,
        behind_tls=behind_tls,
        demo=demo,
        drain=drain,
        database=database,
        role=role,
        witness=witness,
    )


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
    database: Base = "",
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
    register, secrets = _register(data, database)
    register.add_tenant(tenant)
    token, row = new_key(
        secrets, tenant, role, experiment=experiment, site=site, label=label, expires=end
    )
    register.add_key(row, "command line")
    register.close()
    _print({"key": token, "id": row.id, "role": role, "experiment": experiment}, json)


def listed(data: Data = Path("discreet-data"), database: Base = "", json: Json = False) -> None:
    """All keys, without their secrets."""
    _check_installed()
    import time

    register, _ = _register(data, database)
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
    database: Base = "",
    json: Json = False,
) -> None:
    """A key opens nothing any more, within a second."""
    _check_installed()
    register, _ = _register(data, database)
    row = register.key(key)
    if row is None:
        register.close()
        raise InvalidArgument("ID", "be the id of a key", key, "see discreet serve keys list")
    register.revoke(row, "command line")
    register.close()
    _print({"revoked": row.id}, json)


def rotate(
    key: Annotated[str, argument("The key's id, as in the list.", "ID")],
    overlap: Annotated[
        str, flag("How long the old one is valid beside the new one.", "TIME")
    ] = "1 day",
    data: Data = Path("discreet-data"),
    database: Base = "",
    json: Json = False,
) -> None:
    """Another key in place of one. Both are valid for a while."""
    _check_installed()
    import time

    from .._durations import seconds
    from ..serve._keys import is_valid, successor

    lasts = seconds("overlap", overlap)
    register, secrets = _register(data, database)
    row = register.key(key)
    if row is None or not is_valid(row, time.time()):
        register.close()
        raise InvalidArgument(
            "ID", "be the id of a key that is valid", key, "see discreet serve keys list"
        )
    token, made = successor(register, secrets, row, lasts, "command line")
    register.close()
    _print({"key": token, "id": made.id, "role": made.role, "replaces": row.id}, json)


def secret(
    tenant: Annotated[str, flag("Whose participants.", "NAME")] = "default",
    forget: Annotated[
        int | None, flag("Delete the secret of this number instead.", "COUNT")
    ] = None,
    data: Data = Path("discreet-data"),
    database: Base = "",
    json: Json = False,
) -> None:
    """Make a new secret for pseudonyms of experiments that are planned from now on.

    Experiments that there are keep theirs. An old one can be deleted once its experiments are
    finished: then no one can tell any more whom their pseudonyms stand for.
    """
    _check_installed()
    register, _ = _register(data, database)
    register.add_tenant(tenant)
    try:
        if forget is None:
            _print({"tenant": tenant, "made": register.new_secret(tenant, "command line")}, json)
        else:
            register.forget_secret(tenant, forget, "command line")
            _print({"tenant": tenant, "deleted": forget}, json)
    finally:
        register.close()


EXAMPLES = {
    "new": 'discreet serve keys new --role site --expires "90 days"',
    "list": "discreet serve keys list",
    "revoke": "discreet serve keys revoke 0123456789abcdef",
    "rotate": 'discreet serve keys rotate 0123456789abcdef --overlap "2 days"',
    "secret": "discreet serve keys secret",
}
COMMANDS: dict[str, Callable[..., None]] = {
    "new": new,
    "list": listed,
    "revoke": revoke,
    "rotate": rotate,
    "secret": secret,
}


def _check_installed() -> None:
    require("serve", "starlette", "uvicorn", "msgspec", "prometheus_client")


def _register(data: Path, database: str) -> tuple[Register, Secrets]:
    """The register of a folder, which is made if it is not there; or of a database."""
    from ..serve._register import Register
    from ..serve._secrets import Secrets

    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    secrets = Secrets(data)
    return Register(data, secrets, database), secrets


def _print(data: dict[str, Any], json: bool) -> None:
    if json:
        print_json(data)
    else:
        print_text("\n".join(f"{name}: {value}" for name, value in data.items() if value))
