"""The literature is complete, well formed and cheap to import."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from discreet import __version__
from discreet.policies import CATALOGUE
from discreet.references import REFERENCES, Reference

ASKED = (
    "mishra2015", "hu2022", "agrawal2012", "shariff2018", "azize2026", "chan2011",
    "lattimore2020", "li2011", "hammer1996", "discreet",
)  # fmt: skip


def parse(entry: str) -> tuple[str, str, dict[str, str]]:
    """A reader of one BibTeX entry that checks braces, independent of the writer."""
    head = re.match(r"@(\w+)\{([^,\s]+),\n", entry)
    assert head is not None
    assert entry.endswith("\n}")
    fields: dict[str, str] = {}
    for line in entry[head.end() : -2].splitlines():
        found = re.fullmatch(r"  (\w+) *= \{(.*)\},", line)
        assert found is not None, line
        depth = 0
        for letter in found[2]:
            depth += (letter == "{") - (letter == "}")
            assert depth >= 0, line
        assert depth == 0, line
        assert found[1] not in fields
        fields[found[1]] = found[2]
    return head[1], head[2], fields


def test_every_row_of_the_catalogue_has_its_reference() -> None:
    missing = {row.reference for row in CATALOGUE.values()} - set(REFERENCES)
    assert not missing


@pytest.mark.parametrize("key", ASKED)
def test_works_beyond_the_catalogue(key: str) -> None:
    assert REFERENCES[key].key == key


@pytest.mark.parametrize("reference", REFERENCES.values(), ids=lambda r: r.key)
def test_bibtex_is_well_formed(reference: Reference) -> None:
    kind, key, fields = parse(reference.bibtex())
    assert kind in {"article", "inproceedings", "book", "misc", "software", "phdthesis"}
    assert key == reference.key
    assert reference.bibtex().isascii()
    assert fields["year"] == str(reference.year)
    assert 1900 <= reference.year <= 2026
    assert len(fields["author"].split(" and ")) == len(reference.authors)
    if kind == "article":
        assert "journal" in fields
    if kind == "phdthesis":
        assert "school" in fields
    if kind == "inproceedings":
        assert "booktitle" in fields
    if "doi" in fields:
        assert re.fullmatch(r"10\.\d{4,}/\S+", fields["doi"])
    if "eprint" in fields:
        assert re.fullmatch(r"\d{4}\.\d{5}", fields["eprint"])
        assert fields["archiveprefix"] == "arXiv"
    if "pages" in fields:
        assert re.fullmatch(r"[\d.]+--[\d.]+", fields["pages"])


def test_keys_are_family_name_and_year() -> None:
    for key, reference in REFERENCES.items():
        if key == "discreet":
            continue
        family = re.split("[,-]", reference.authors[0])[0].lower()
        assert key.removesuffix("thesis") == f"{family}{reference.year}"


@pytest.mark.parametrize(
    ("key", "short"),
    [
        ("azize2022", "Azize & Basu (2022)"),
        ("thompson1933", "Thompson (1933)"),
        ("auer2002", "Auer et al. (2002)"),
        ("azize2025", "Azize et al. (2025)"),
        ("wang2024", "Wang & Zhu (2024)"),
    ],
)
def test_short(key: str, short: str) -> None:
    assert REFERENCES[key].short() == short


def test_accents_become_commands() -> None:
    assert r"Capp{\'e}, Olivier" in REFERENCES["garivier2011"].bibtex()
    assert r"Szepesv{\'a}ri" in REFERENCES["lattimore2020"].bibtex()
    assert r"Nicol{\`o}" in REFERENCES["auer2002"].bibtex()


def test_the_package_cites_its_version() -> None:
    _, _, fields = parse(REFERENCES["discreet"].bibtex())
    assert fields["version"] == __version__
    assert fields["author"] == "{The discreet developers}"


def test_references_are_frozen() -> None:
    reference = REFERENCES["auer2002"]
    with pytest.raises(AttributeError):
        reference.year = 2003  # type: ignore[misc]
    with pytest.raises(TypeError):
        reference.fields["pages"] = "1"  # type: ignore[index]


def test_nothing_heavy_is_imported() -> None:
    code = "import sys, discreet.references; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
