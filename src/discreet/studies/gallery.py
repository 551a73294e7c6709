"""The gallery: a page of all reproduced figures with their verdicts, written from a results folder.

    python -m discreet.studies.gallery FOLDER [--docs docs]

reads what `discreet reproduce` left in FOLDER and writes docs/gallery.md and docs/gallery/*.png,
the pictures reduced to a palette, which keeps each below 120 kB.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ..errors import DamagedFile, DiscreetError, InvalidArgument
from ..simulator.results import written_whole
from .base import Verdict
from .files import PNG, load_findings, place_of
from .measures import Measure
from .registry import STUDIES, study

MOST_BYTES = 120_000
COLOURS = (128, 64, 32, 16)
HEAD = """\
# The published figures, run again

Every figure below was simulated by this package and judged statement by statement. A statement is
given in our words with the place where it is printed; numbers are means over runs ± standard error.

- **reproduced**: it holds in our runs: an order by two standard errors, a number within the
  tolerance that is stated with it.
- **differs**: the direction is as published, but not the size, or not in every setting.
- **not reproduced**: our runs contradict it, or cannot tell.

This page is written from the results by `python -m discreet.studies.gallery FOLDER`; the results
by `discreet reproduce all --scale full`.
"""


def write_gallery(folder: str | Path, docs: str | Path = "docs") -> Path:
    """Write gallery.md and its pictures; nothing is written if the results are not whole."""
    docs = Path(docs)
    found = list(findings_in(folder))
    if not found:
        raise InvalidArgument(
            "folder", "hold reproduced figures", str(folder),
            "run discreet reproduce all --output FOLDER first",
        )  # fmt: skip
    page = gallery_page([entry for _, entry in found])
    pictures = {_picture_name(entry): small_png(place / PNG) for place, entry in found}
    (docs / "gallery").mkdir(parents=True, exist_ok=True)
    for name, data in pictures.items():
        with written_whole(docs / "gallery" / name) as temporary:
            temporary.write_bytes(data)
    target = docs / "gallery.md"
    with written_whole(target) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return target


def findings_in(folder: str | Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The figures that a folder holds, in the order of the registry."""
    for key in STUDIES:
        for figure in study(key).figures:
            place = place_of(folder, figure)
            if place.is_dir():
                yield place, load_findings(place)


def gallery_page(entries: Sequence[dict[str, Any]]) -> str:
    """The page, from what the JSON files say."""
    try:
        pieces = [HEAD, _overview(entries)]
        for key in dict.fromkeys(entry["study"] for entry in entries):
            pieces.append(f"## {study(key).title}\n")
            pieces += [_section(entry) for entry in entries if entry["study"] == key]
    except (KeyError, TypeError, ValueError) as error:
        raise DamagedFile(
            f"findings must be whole, got one that lacks or misstates {error}; run it again"
        ) from None
    return "\n".join(pieces)


def small_png(path: Path) -> bytes:
    """The picture in as many colours as fit into the size that a gallery bears."""
    import io

    from PIL import Image

    try:
        with Image.open(path) as image:
            whole = image.convert("RGB")
    except OSError as error:
        raise DamagedFile(f"{path} must be a picture, got {error}; run it again") from None
    data = b""
    for colours in COLOURS:
        packed = io.BytesIO()
        whole.quantize(colours).save(packed, "PNG", optimize=True)
        data = packed.getvalue()
        if len(data) < MOST_BYTES:
            break
    return data


def _overview(entries: Sequence[dict[str, Any]]) -> str:
    lines = ["| figure | " + " | ".join(Verdict) + " |", "|---|" + "---:|" * len(Verdict)]
    for entry in entries:
        counts = Counter(finding["verdict"] for finding in entry["findings"])
        cells = " | ".join(str(counts[verdict]) if counts[verdict] else "" for verdict in Verdict)
        lines.append(f"| [{entry['study']} {entry['figure']}](#{_anchor(entry)}) | {cells} |")
    return "\n".join(lines) + "\n"


def _section(entry: dict[str, Any]) -> str:
    size, published = entry["size"], entry["published_size"]
    smaller = ""
    if size != published:
        smaller = f" (published: {published['horizon']:,} rounds, {published['runs']} runs)"
    lines = [
        f"### {_heading(entry)}\n",
        f"![{entry['title']}](gallery/{_picture_name(entry)})\n",
        f"{entry['title']}. {entry['reference']['short']}. Run with {size['horizon']:,} rounds, "
        f"{size['runs']} runs{smaller}, seed {entry['seed']}. {entry['note']}".strip()
        + "\n",
        "| published | found | measured |",
        "|---|---|---|",
    ]
    lines += [_row(finding) for finding in entry["findings"]]
    return "\n".join(lines) + "\n"


def _row(finding: dict[str, Any]) -> str:
    measured = "<br>".join(
        f"{entry['name']}: {_number(entry['value'], entry['standard_error'])}"
        for entry in finding["measured"]
    )
    verdict = Verdict(finding["verdict"])
    cells = (
        f"{finding['claim']} ({finding['where']})", f"**{verdict.value}**. {finding['why']}",
        measured,
    )  # fmt: skip
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _number(value: float | None, error: float | None) -> str:
    return "unknown" if value is None else str(Measure(value, error))


def _heading(entry: dict[str, Any]) -> str:
    return f"{entry['study']} figure {entry['figure']}"


def _anchor(entry: dict[str, Any]) -> str:
    return re.sub(r"[^a-z0-9 -]", "", _heading(entry).lower()).replace(" ", "-")


def _picture_name(entry: dict[str, Any]) -> str:
    return f"{entry['study']}-figure{entry['figure']}.png"


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m discreet.studies.gallery", description="Write the gallery of figures."
    )
    parser.add_argument("folder", metavar="FOLDER", help="what discreet reproduce wrote")
    parser.add_argument("--docs", default="docs", help="where the page goes (default: docs)")
    asked = parser.parse_args(arguments)
    try:
        written = write_gallery(asked.folder, asked.docs)
    except (DiscreetError, OSError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    sys.stdout.write(f"written to {written}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
