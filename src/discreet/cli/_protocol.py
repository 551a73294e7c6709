"""`discreet protocol`: the papers that a board asks for, from a plan or from a trial."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ..errors import InvalidArgument
from ._options import Json, argument, flag
from ._output import or_refused, print_json, print_text
from ._trial import _opened
from ._ward import settings_of

if TYPE_CHECKING:
    from ..report import Page, Study

NAME = "protocol"
EXAMPLE = "discreet protocol --settings plan.toml --output papers.html"


def command(
    file: Annotated[
        Path | None, argument("A trial that was started; else give --settings.", "[FILE]")
    ] = None,
    settings: Annotated[
        Path | None,
        flag("Settings of a planned trial, as discreet trial new takes them.", "FILE.toml|json"),
    ] = None,
    study: Annotated[
        Path | None,
        flag("What only the investigators know: title, question, ...", "FILE.toml|json"),
    ] = None,
    output: Annotated[
        Path | None,
        flag("Write it there: HTML, or Markdown if it ends with .md.", "FILE", readable=False),
    ] = None,
    json: Json = False,
) -> None:
    """Write the papers of a trial: protocol section, statistical analysis plan, information for
    participants, data-protection annex, checklist of CONSORT for adaptive designs, and flow of
    participants.

    What the software knows is filled in. What only the investigators know comes from --study, or
    stands there as [to be completed]. Without --output the papers are printed as Markdown.
    """
    if (file is None) == (settings is None):
        raise InvalidArgument(
            "FILE", "be a trial, or --settings those of a plan: one of them",
            None if file is None else str(file), f"use for example {EXAMPLE}",
        )  # fmt: skip
    known = _study_of(study)
    if file is not None:
        with _opened(file) as trial:
            page = _papers(trial, known)
    else:
        from .._plans import planned

        asked = settings_of(settings)
        asked.pop("ledger", None)
        with planned(asked).start(None) as trial:
            page = _papers(trial, known)
    if output is not None:
        with or_refused("the papers could not be written"):
            page.write(output)
    if json:
        print_json({"title": page.title, "markdown": page.markdown()})
    else:
        print_text(str(output) if output is not None else page.markdown().rstrip("\n"))


def _papers(trial: Any, study: Study) -> Page:
    from ..report import papers

    return papers(trial, study)


def _study_of(path: Path | None) -> Study:
    """The fields of `discreet.report.Study` in a file."""
    from ..report import Study

    given: dict[str, Any] = {} if path is None else settings_of(path)
    fields = list(Study.__dataclass_fields__)
    unknown = sorted(set(given) - set(fields))
    if unknown:
        raise InvalidArgument("study", f"have no fields but {fields}", unknown, "leave them out")
    return Study(**given)
