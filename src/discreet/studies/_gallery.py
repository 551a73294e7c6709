"""The gallery: a page of all reproduced figures with their verdicts, written from a results folder.

    python -m discreet.studies._gallery FOLDER [--docs docs] [--second FOLDER]

reads what `discreet reproduce` left in FOLDER and writes docs/gallery.md and docs/gallery/*.png,
the pictures reduced to a palette, which keeps each below 120 kB.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from ..errors import DamagedFile, DiscreetError, InvalidArgument
from ..simulator._files import written_whole
from ._base import Mark, Verdict
from ._files import PNG, Findings, Judged, Measured, SecondSeed, load_findings, place_of
from ._measures import Measure
from ._registry import STUDIES, study

MOST_BYTES = 120_000
COLOURS = (128, 64, 32, 16)
HEAD = """\
# The published figures, run again

Every figure below was simulated by this package and judged statement by statement. A statement is
given in our words with the place where it is printed; numbers are means over runs ± standard error.

- **reproduced**: it holds in our runs: an order by two standard errors, a number within the
  tolerance that is stated with it.
- **differs**: the direction is as published, but not the size, or not in every setting, though in
  at least half of them.
- **not reproduced**: our runs contradict it, a reversed order among them, or it holds in fewer than
  half of the settings. An order that is not clear counts as not holding, but where a finding calls
  it undecided.
- **cannot tell**: it is undecided, or the horizon decides and not the policy: a run of this size
  might not have shown it if it held.

Marks beside a verdict, after a plus in the overview:

- *fitted*: a horizon or a round that the source does not print was chosen to meet its numbers, so
  the agreement is no test.
- *tolerance after a look*: the tolerance or the interval was set when first runs had been seen.

Where the source prints no number, tolerances are ours and stated with the verdict. "Cannot be told
from zero" comes with the smallest effect that would have been seen. Where each numbered result of
the sources lives: [sources.md](sources.md).

This page is written from the results by `python -m discreet.studies._gallery FOLDER`; the results
by `discreet reproduce all --scale full`. Where a figure was judged again with a second seed, its
section says which statements came out otherwise.
"""
WIDEST = 5
"""Columns of numbers that a table bears."""


def write_gallery(
    folder: str | Path, docs: str | Path = "docs", second: str | Path | None = None
) -> Path:
    """Write gallery.md and its pictures; nothing is written if the results are not whole.

    `second`: results of the same figures with another seed, whose verdicts are compared.
    """
    found = list(findings_in(folder, second))
    if not found:
        raise InvalidArgument(
            "folder", "hold reproduced figures", str(folder),
            "run discreet reproduce all --output FOLDER first",
        )  # fmt: skip
    return _written(gallery_page([entry for _, entry in found]), found, Path(docs))


def update_gallery(
    folder: str | Path, docs: str | Path = "docs", second: str | Path | None = None
) -> Path:
    """Write anew what the gallery says of the figures in a folder; the others stay as they are."""
    found = list(findings_in(folder, second))
    page = (Path(docs) / "gallery.md").read_text(encoding="utf-8")
    return _written(updated_page(page, [entry for _, entry in found]), found, Path(docs))


def _written(page: str, found: Sequence[tuple[Path, Findings]], docs: Path) -> Path:
    """The page and the pictures of figures, once all of them could be read."""
    pictures = {_picture_name(entry): small_png(place / PNG) for place, entry in found}
    (docs / "gallery").mkdir(parents=True, exist_ok=True)
    for name, data in pictures.items():
        with written_whole(docs / "gallery" / name) as temporary:
            temporary.write_bytes(data)
    target = docs / "gallery.md"
    with written_whole(target) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return target


def updated_page(page: str, entries: Sequence[Findings]) -> str:
    """The page with the lines and sections of some figures written anew."""
    for entry in entries:
        fresh = gallery_page([entry])
        line = re.escape(f"| [{entry['study']} {entry['figure']}](#") + r".*\n"
        section = re.escape(f"### {_heading(entry)}\n") + r".*?(?=\n##|\Z)"
        for pattern, flags in ((line, 0), (section, re.DOTALL)):
            new, old = re.search(pattern, fresh, flags), re.search(pattern, page, flags)
            assert new is not None
            if old is None:
                raise InvalidArgument(
                    "folder", "hold figures that the gallery shows", _heading(entry),
                    "write the whole gallery, without --update",
                )  # fmt: skip
            page = page[: old.start()] + new.group() + page[old.end() :]
    return page


def findings_in(
    folder: str | Path, second: str | Path | None = None
) -> Iterator[tuple[Path, Findings]]:
    """The figures that a folder holds, in the order of the registry, with the verdicts of a second
    seed where another folder has them."""
    for key in STUDIES:
        for figure in study(key).figures:
            place = place_of(folder, figure)
            if place.is_dir():
                entry = load_findings(place)
                again = None if second is None else place_of(second, figure)
                if again is not None and again.is_dir():
                    entry["second"] = _second(entry, load_findings(again))
                yield place, entry


def _second(entry: Findings, again: Findings) -> SecondSeed:
    claims, others = ([f["claim"] for f in found["findings"]] for found in (entry, again))
    horizons = [found["size"]["horizon"] for found in (entry, again)]
    if entry["seed"] == again["seed"] or claims != others or len(set(horizons)) > 1:
        raise InvalidArgument(
            "second", "hold the same figures to the same T with another seed", _heading(again),
            "run it again with another --seed and another --output",
        )  # fmt: skip
    verdicts = [f["verdict"] for f in again["findings"]]
    return {"seed": again["seed"], "runs": again["size"]["runs"], "verdicts": verdicts}


def gallery_page(entries: Sequence[Findings]) -> str:
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


def _overview(entries: Sequence[Findings]) -> str:
    lines = ["| figure | " + " | ".join(Verdict) + " |", "|---|" + "---:|" * len(Verdict)]
    for entry in entries:
        cells = " | ".join(_count(entry["findings"], verdict) for verdict in Verdict)
        lines.append(f"| [{entry['study']} {entry['figure']}](#{_anchor(entry)}) | {cells} |")
    return "\n".join(lines) + "\n"


def _count(findings: Sequence[Judged], verdict: Verdict) -> str:
    """ "3", or "1 + 2" where two are marked; empty for none."""
    found = [bool(_marks(finding)) for finding in findings if finding["verdict"] == verdict]
    plain, marked = found.count(False), found.count(True)
    return f"{plain} + {marked}" if marked else str(plain or "")


def _marks(finding: Judged) -> list[Mark]:
    return [Mark(mark) for mark in finding.get("marks", ())]


def _section(entry: Findings) -> str:
    size, published = entry["size"], entry["published_size"]
    smaller = ""
    if size != published:
        smaller = f" (published: {published['horizon']:,} rounds, {published['runs']} runs)"
    if entry["scale"] == "quick":
        smaller = f" at quick scale{smaller}"
    lines = [
        f"### {_heading(entry)}\n",
        f"![{entry['title']}](gallery/{_picture_name(entry)})\n",
        f"{entry['title']}. {entry['reference']['short']}. Run with {size['horizon']:,} rounds, "
        f"{size['runs']} runs{smaller}, seed {entry['seed']}. {entry['note']}".strip()
        + _otherwise(entry)
        + "\n",
    ]
    lines += [_judged(place, finding) for place, finding in enumerate(entry["findings"], 1)]
    return "\n".join(lines)


def _otherwise(entry: Findings) -> str:
    """Which statements a second seed judges otherwise; empty where there was none."""
    if "second" not in entry:
        return ""
    second = entry["second"]
    pairs = zip(entry["findings"], second["verdicts"], strict=True)
    changed = [
        f"statement {place} is *{Verdict(verdict).value}*"
        for place, (finding, verdict) in enumerate(pairs, 1)
        if finding["verdict"] != verdict
    ]
    fewer = f" and {second['runs']} runs" if second["runs"] != entry["size"]["runs"] else ""
    what = ", ".join(changed) or "every verdict is the same"
    return f" With seed {second['seed']}{fewer}, {what}."


def _judged(place: int, finding: Judged) -> str:
    """A statement, its verdict with its marks, why, and the numbers in tables of their own."""
    verdict = f"**{Verdict(finding['verdict']).value}**"
    verdict += "".join(f", *{mark.value}*" for mark in _marks(finding))
    head = f"{place}. {finding['claim']} ({finding['where']})\n\n   {verdict}. {finding['why']}\n"
    tables = [_indented(table) for table in measured_tables(finding["measured"])]
    return "\n".join([head, *tables])


def measured_tables(measured: Sequence[Measured]) -> list[str]:
    """Numbers that are named "setting: quantity" in a table of settings by quantities; the others
    one a line."""
    cells: dict[tuple[str, str], str] = {}
    single: list[list[str]] = []
    for entry in measured:
        setting, quantity = _split(entry["name"])
        number = _number(entry["value"], entry["standard_error"])
        if setting:
            cells[setting, quantity] = number
        else:
            single.append([quantity, number])
    settings = list(dict.fromkeys(setting for setting, _ in cells))
    quantities = list(dict.fromkeys(quantity for _, quantity in cells))
    tables = []
    if cells and len(settings) > 1 and len(quantities) <= WIDEST:
        rows = [[s, *(cells.get((s, q), "") for q in quantities)] for s in settings]
        tables.append(_table(["setting", *quantities], rows))
    else:
        single = [[f"{s}: {q}", number] for (s, q), number in cells.items()] + single
    if single:
        tables.append(_table(["quantity", "measured"], single))
    return tables


def _split(name: str) -> tuple[str, str]:
    """ "ε = 1: regret" and "(a) regret" have a setting, "regret" has none."""
    lettered = re.fullmatch(r"(\([a-z]\)) (.+)", name)
    if lettered:
        return lettered[1], lettered[2]
    setting, _, quantity = name.rpartition(": ")
    return setting, quantity


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines
    )


def _indented(table: str) -> str:
    return "\n".join("   " + line for line in table.splitlines()) + "\n"


def _number(value: float | None, error: float | None) -> str:
    return "unknown" if value is None else str(Measure(value, error))


def _heading(entry: Findings) -> str:
    return f"{entry['study']} figure {entry['figure']}"


def _anchor(entry: Findings) -> str:
    return re.sub(r"[^a-z0-9 -]", "", _heading(entry).lower()).replace(" ", "-")


def _picture_name(entry: Findings) -> str:
    return f"{entry['study']}-figure{entry['figure']}.png"


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m discreet.studies._gallery", description="Write the gallery of figures."
    )
    parser.add_argument("folder", metavar="FOLDER", help="what discreet reproduce wrote")
    parser.add_argument("--docs", default="docs", help="where the page goes (default: docs)")
    parser.add_argument(
        "--update", action="store_true", help="leave figures that FOLDER lacks as they are"
    )
    parser.add_argument(
        "--second", metavar="FOLDER", help="results with another seed, whose verdicts are compared"
    )
    asked = parser.parse_args(arguments)
    try:
        write = update_gallery if asked.update else write_gallery
        written = write(asked.folder, asked.docs, asked.second)
    except (DiscreetError, OSError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    sys.stdout.write(f"written to {written}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
