"""Results as files: Parquet that comes back whole, or an error and nothing changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet
from discreet.errors import DamagedFile, InvalidArgument
from discreet.simulator import _comparison as comparison

ENVIRONMENT = discreet.Bernoulli([0.75, 0.5])


@pytest.fixture(scope="module")
def study() -> discreet.Comparison:
    rows = [discreet.policy("ucb1"), discreet.policy("dp-imed", epsilon=0.5, ratio=1.5)]
    return discreet.compare(rows, ENVIRONMENT, horizon=1000, runs=5, seed=4, points=20)


def test_a_study_comes_back_as_it_was(study: discreet.Comparison, tmp_path: Path) -> None:
    path = study.save(tmp_path / "study.parquet")
    back = discreet.load(path)
    assert len(back) == 2
    for one, other in zip(study, back, strict=True):
        for name in ("regret", "pulls", "t", "run"):
            assert np.array_equal(getattr(one, name), getattr(other, name))
        for name in ("policy", "environment", "means", "horizon", "seed", "complete", "seconds"):
            assert getattr(one, name) == getattr(other, name)
        assert one.summary() == other.summary()
        assert one.guarantee == other.guarantee
    assert discreet.policies.policy_from_recipe(back[1].policy["recipe"]) == discreet.policy(
        "dp-imed", epsilon=0.5, ratio=1.5
    )


def test_the_file_holds_settings_and_version(study: discreet.Comparison, tmp_path: Path) -> None:
    """Readable by any program: tidy columns, and one entry of metadata in JSON."""
    table = pq.read_table(study.save(tmp_path / "study.parquet"))
    assert table.column_names == [
        "policy", "row", "epsilon", "environment", "problem", "arms", "horizon", "ratio",
        "run", "t", "regret", "pulls_0", "pulls_1",
    ]  # fmt: skip
    assert table.num_rows == sum(result.regret.size for result in study)
    settings = json.loads(table.schema.metadata[b"discreet"])
    assert settings["version"] == discreet.__version__
    assert settings["format"] == comparison.FORMAT
    assert [entry["seed"] for entry in settings["results"]] == [4, 4]
    assert settings["results"][1]["policy"]["guarantee"]["budget"]["epsilon"] == 0.5
    names = table.column("policy").to_pylist()
    assert names[0] == "ucb1"
    assert names[-1] == "dp-imed"


def test_one_result_is_a_study_of_one(study: discreet.Comparison, tmp_path: Path) -> None:
    (back,) = discreet.load(study[1].save(tmp_path / "one.parquet"))
    assert np.array_equal(back.regret, study[1].regret)
    assert back.name == "dp-imed"


def test_unfinished_and_empty_studies_come_back_too(tmp_path: Path) -> None:
    whole = discreet.simulate(discreet.policy("ucb1"), ENVIRONMENT, horizon=100, runs=3, seed=1)
    some, none = np.array([True, False, True]), np.array([False] * 3)
    for number, kept in enumerate((some, none)):
        fields: dict[str, Any] = {
            name: getattr(whole, name)[kept] for name in ("run", "regret", "counted")
        }
        part = discreet.Result(**{**vars(whole), **fields, "complete": False})
        (back,) = discreet.load(part.save(tmp_path / f"{number}.parquet"))
        assert not back.complete
        assert np.array_equal(back.run, part.run)
        assert np.array_equal(back.regret, part.regret)
        assert json.loads(json.dumps(back.summary()))["runs"] == kept.sum()


# --- files that cannot be trusted -------------------------------------------------------------


def resettled(path: Path, change: Any) -> None:
    """The same file with other settings."""
    table = pq.read_table(path)
    settings = json.loads(table.schema.metadata[b"discreet"])
    settings = change(settings)
    metadata = {b"discreet": json.dumps(settings).encode()}
    pq.write_table(table.replace_schema_metadata(metadata), path)


def of_the_future(settings: Any) -> Any:
    return settings | {"format": comparison.FORMAT + 1, "version": "99.0"}


def without_format(settings: Any) -> Any:
    return {key: value for key, value in settings.items() if key != "format"}


def entry_changed(**changes: Any) -> Any:
    def change(settings: Any) -> Any:
        settings["results"][0] |= changes
        return settings

    return change


DAMAGE = {
    "later format": (of_the_future, f"format {comparison.FORMAT + 1} of discreet 99.0 .*upgrade"),
    "no format": (without_format, "settings that do not fit"),
    "a list": (lambda settings: [1, 2], "settings that do not fit"),
    "format is a word": (lambda settings: settings | {"format": "new"}, "do not fit"),
    "too few rows": (entry_changed(runs=9), "do not fit"),
    "too many rows": (lambda s: s | {"results": s["results"][:1]}, "do not fit"),
    "no runs": (entry_changed(runs=-5), "do not fit"),
    "runs is a word": (entry_changed(runs="many"), "do not fit"),
    "more arms than columns": (entry_changed(means=[0.1, 0.2, 0.3]), "do not fit"),
    "unknown setting": (entry_changed(colour="blue"), "do not fit"),
}


@pytest.mark.parametrize("label", DAMAGE)
def test_settings_that_do_not_fit_are_refused(
    study: discreet.Comparison, tmp_path: Path, label: str
) -> None:
    change, message = DAMAGE[label]
    path = study.save(tmp_path / "study.parquet")
    resettled(path, change)
    content = path.read_bytes()
    with pytest.raises(DamagedFile, match=message):
        discreet.load(path)
    assert path.read_bytes() == content


def test_files_of_other_programs_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.parquet"
    pq.write_table(pa.table({"x": [1, 2]}), path)
    with pytest.raises(DamagedFile, match="Parquet file of another program"):
        discreet.load(path)
    for content in (b"", b"not parquet at all", b"PAR1" + b"\0" * 50 + b"PAR1"):
        path.write_bytes(content)
        with pytest.raises(DamagedFile, match="damaged or something else"):
            discreet.load(path)
    with pytest.raises(DamagedFile, match="no such file"):
        discreet.load(tmp_path)


def test_a_file_that_was_cut_short_is_refused(study: discreet.Comparison, tmp_path: Path) -> None:
    path = study.save(tmp_path / "study.parquet")
    content = path.read_bytes()
    for share in (0.1, 0.5, 0.9, 0.999):
        path.write_bytes(content[: int(share * len(content))])
        with pytest.raises(DamagedFile):
            discreet.load(path)


def test_a_flipped_bit_is_noticed(study: discreet.Comparison, tmp_path: Path) -> None:
    """Anywhere in the file: refused, or the same result (a byte that nobody reads)."""
    path = study.save(tmp_path / "study.parquet")
    content = path.read_bytes()
    rng = np.random.default_rng(6)
    wrong = []
    for place in sorted(rng.choice(len(content), 250, replace=False).tolist()):
        broken = bytearray(content)
        broken[place] ^= 1 << int(rng.integers(0, 8))
        path.write_bytes(bytes(broken))
        try:
            back = discreet.load(path)
        except DamagedFile:
            continue
        same = len(back) == len(study) and all(
            np.array_equal(one.regret, other.regret)
            and np.array_equal(one.pulls, other.pulls)
            and np.array_equal(one.run, other.run)
            and one.summary() == other.summary()
            for one, other in zip(study, back, strict=True)
        )
        if not same:
            wrong.append(place)
    assert not wrong, f"{len(wrong)} of 250 flipped bits give another result, first at {wrong[:5]}"


# --- whole or nothing -------------------------------------------------------------------------


def test_a_failed_save_changes_nothing(
    study: discreet.Comparison, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = study[0].save(tmp_path / "study.parquet")
    content = path.read_bytes()

    def full_disk(table: Any, where: Any, **options: Any) -> None:
        Path(where).write_bytes(b"half of it")
        raise OSError("no space left on device")

    monkeypatch.setattr(pq, "write_table", full_disk)
    with pytest.raises(OSError, match="no space left"):
        study.save(path)
    assert path.read_bytes() == content
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_is_not_there_is_named(study: discreet.Comparison, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="lie in a folder that exists"):
        study.save(tmp_path / "missing" / "study.parquet")


def test_an_interrupted_save_changes_nothing(
    study: discreet.Comparison, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(table: Any, where: Any, **options: Any) -> None:
        Path(where).write_bytes(b"half of it")
        raise KeyboardInterrupt

    monkeypatch.setattr(pq, "write_table", interrupted)
    with pytest.raises(KeyboardInterrupt):
        study.save(tmp_path / "study.parquet")
    assert list(tmp_path.iterdir()) == []


def test_saving_again_replaces_the_file(study: discreet.Comparison, tmp_path: Path) -> None:
    path = study.save(tmp_path / "study.parquet")
    study[0].save(path)
    assert len(discreet.load(path)) == 1
    assert list(tmp_path.iterdir()) == [path]
