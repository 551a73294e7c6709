"""What a reproduced figure leaves behind: one folder, whole or not at all.

    FOLDER/azize2022/figure2/figure.png  figure.svg  data.parquet  findings.json

`data.parquet` is tidy: study, figure, setting, the setting's parameters, policy, run, t, regret;
how every curve was run is in its metadata under the key "discreet".
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NotRequired, TypedDict

from ..errors import DamagedFile, DiscreetError, InvalidArgument
from ..simulator._files import METADATA
from ._measures import Number

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.figure import Figure as Picture

    from ._base import Figure, Panel, Reproduction

FINDINGS, DATA, PNG, SVG = "findings.json", "data.parquet", "figure.png", "figure.svg"
DPI = 110
TIDY = ("policy", "run", "t", "regret")
"""Columns of a panel's data, unless its comparison names others as `tidy`."""


def check_folder(folder: str | Path) -> Path:
    """Refuse a folder that could not be written to, before any work is done; creates nothing."""
    folder = Path(folder)
    standing = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    try:
        with tempfile.TemporaryDirectory(dir=standing):
            return folder
    except OSError as error:
        raise InvalidArgument(
            "output", "be a folder that can be written to", str(folder),
            f"choose another place ({error.strerror or error})",
        ) from None  # fmt: skip


def place_of(folder: str | Path, figure: Figure) -> Path:
    """Where a figure is kept."""
    return Path(folder) / figure.study / f"figure{figure.number}"


def save(done: Reproduction, folder: str | Path) -> Path:
    """Write picture, data and findings; an older run of the same figure is replaced."""
    import pyarrow.parquet as pq

    place = place_of(folder, done.figure)
    picture = done.picture()
    _lay_out(picture)
    try:
        with _folder_written_whole(place) as fresh:
            picture.savefig(fresh / PNG, dpi=DPI, metadata={"Software": None})
            _save_svg(picture, fresh / SVG)
            pq.write_table(tidy_table(done), fresh / DATA, compression="zstd")
            text = json.dumps(done.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)
            (fresh / FINDINGS).write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise DiscreetError(f"{done.figure.name} could not be saved: {error}") from None
    return place


class Measured(Number):
    """A number in the findings of a figure."""

    name: str


class Judged(TypedDict):
    """A statement in the findings, as `Finding.to_dict` writes it."""

    claim: str
    where: str
    verdict: str
    measured: list[Measured]
    why: str
    marks: NotRequired[list[str]]


class SecondSeed(TypedDict):
    """What another seed built from the same statements, in their order."""

    seed: int
    runs: int
    verdicts: list[str]


class Findings(TypedDict):
    """The findings of a figure, as `Reproduction.to_dict` writes them."""

    format: int
    version: str
    study: str
    figure: str
    title: str
    reference: dict[str, str]
    note: str
    scale: str
    size: dict[str, int]
    published_size: dict[str, int]
    seed: int
    seconds: float
    findings: list[Judged]
    second: NotRequired[SecondSeed]


def load_findings(place: Path) -> Findings:
    """The findings of a figure's folder."""
    try:
        found: Findings = json.loads((place / FINDINGS).read_text(encoding="utf-8"))
        if found["format"] != 1:
            raise DamagedFile(f"{place} must hold format 1, got {found['format']}; run it again")
    except (OSError, ValueError, KeyError, TypeError) as error:
        if isinstance(error, DamagedFile):
            raise
        raise DamagedFile(
            f"{place} must hold a reproduced figure, got {error}; run it again"
        ) from None
    assert isinstance(found, dict)
    return found


def tidy_table(done: Reproduction) -> pa.Table:
    """All runs of all settings, one row a recorded round."""
    import pyarrow as pa

    figure = done.figure
    tables = [_panel_table(panel) for panel in done.panels]
    table = pa.concat_tables(tables, promote_options="default")
    for place, (name, value) in enumerate((("study", figure.study), ("figure", figure.number))):
        column = pa.array([value] * table.num_rows).dictionary_encode()
        table = table.add_column(place, name, column)
    settings = {**done.to_dict(), "panels": [_settings(panel) for panel in done.panels]}
    del settings["seconds"]
    return table.replace_schema_metadata({METADATA: json.dumps(settings).encode()})


def _panel_table(panel: Panel) -> pa.Table:
    import pyarrow as pa

    table = panel.comparison.table().select(list(getattr(panel.comparison, "tidy", TIDY)))
    named: dict[str, pa.Array] = {"setting": pa.array([panel.setting] * table.num_rows)}
    named["setting"] = named["setting"].dictionary_encode()
    for name, value in panel.values.items():
        named[name] = pa.array([float(value)] * table.num_rows)
    for place, (name, column) in enumerate(named.items()):
        table = table.add_column(place, name, column)
    return table.replace_schema_metadata(None)


def _settings(panel: Panel) -> dict[str, object]:
    curves = [
        {
            "policy": result.policy,
            "environment": result.environment,
            "horizon": result.horizon,
            "runs": result.runs,
            "seed": result.seed,
        }
        for result in panel.comparison
    ]
    return {"setting": panel.setting, "values": dict(panel.values), "curves": curves}


def _lay_out(picture: Picture) -> None:
    """Place the axes once: a layout engine would do so twice for every file."""
    engine = picture.get_layout_engine()
    if engine is not None:
        engine.execute(picture)
        picture.set_layout_engine(None)


def _save_svg(picture: Picture, path: Path) -> None:
    """Without a date and with fixed names inside, so that a seed fixes the file."""
    import matplotlib

    with matplotlib.rc_context({"svg.hashsalt": "discreet"}):
        picture.savefig(path, metadata={"Date": None, "Creator": None})


@contextmanager
def _folder_written_whole(place: Path) -> Iterator[Path]:
    """A temporary neighbour of a folder that takes its place if nothing fails meanwhile."""
    place.parent.mkdir(parents=True, exist_ok=True)
    token = secrets.token_hex(8)
    fresh = place.with_name(f".{place.name}.{token}")
    old = place.with_name(f".{place.name}.{token}.old")
    fresh.mkdir()
    try:
        yield fresh
        if place.exists():
            os.rename(place, old)
        try:
            os.rename(fresh, place)
        except BaseException:
            if old.exists():
                os.rename(old, place)
            raise
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)
