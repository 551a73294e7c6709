"""Loaders: what they read, and what they refuse."""

from __future__ import annotations

import gzip
import json
import pickle
import struct
import tarfile
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from discreet.errors import DamagedFile, InvalidArgument
from discreet.membership.gradients import (
    Images,
    cifar10,
    fashion_mnist,
    fashion_mnist_sample,
)
from discreet.membership.gradients.data._fashion_mnist import SAMPLE
from discreet.membership.gradients.data._idx import UNSIGNED_BYTES, read_idx


def idx_bytes(array: NDArray[np.uint8]) -> bytes:
    """An array as the contents of an IDX file."""
    head = struct.pack(f">2xBB{array.ndim}I", UNSIGNED_BYTES, array.ndim, *array.shape)
    return head + array.tobytes()


def test_images_are_shown_in_one_line() -> None:
    images = fashion_mnist_sample()
    assert repr(images) == "Images(fashion-mnist sample: 2,500 of 28 × 28, 10 classes)"
    coloured = Images(np.zeros((3, 32, 32, 3), np.uint8), np.zeros(3, int), ("a", "b"), "mine")
    assert repr(coloured) == "Images(mine: 3 of 32 × 32 × 3, 2 classes)"


def test_the_shipped_sample() -> None:
    images = fashion_mnist_sample()
    assert images.pixels.shape == (2500, 28, 28)
    assert np.bincount(images.labels).tolist() == [250] * 10
    assert images.classes == 10
    assert sum(file.stat().st_size for file in SAMPLE.iterdir()) < 1_500_000
    assert "MIT" in (SAMPLE / "README.md").read_text(encoding="utf-8")
    assert not images.pixels.flags.writeable


def test_features_are_averages_in_the_unit_interval() -> None:
    images = fashion_mnist_sample()[:20]
    plain, pooled = images.features(), images.features(4)
    assert plain.shape == (20, 784)
    assert pooled.shape == (20, 49)
    assert plain.min() >= 0.0
    assert plain.max() == 1.0
    first = plain[3].reshape(28, 28)[4:8, 8:12].mean()
    assert pooled[3].reshape(7, 7)[1, 2] == pytest.approx(first, abs=1e-6)
    with pytest.raises(InvalidArgument, match="pool must be a whole number that divides 28, got 5"):
        images.features(5)


def test_idx_files_go_there_and_back(tmp_path: Path) -> None:
    array = np.random.default_rng(1).integers(0, 256, (5, 3, 2)).astype(np.uint8)
    (tmp_path / "plain").write_bytes(idx_bytes(array))
    (tmp_path / "packed.gz").write_bytes(gzip.compress(idx_bytes(array)))
    for name in ("plain", "packed.gz"):
        assert np.array_equal(read_idx(tmp_path / name), array)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "IDX file of unsigned bytes"),
        (b"\0\0\x0d\x01\0\0\0\x01\0", "IDX file of unsigned bytes"),
        (b"\0\0\x08\x03\0\0", "must hold 3 lengths"),
        (b"\0\0\x08\x01\0\0\0\x05\0\0", "must hold 5 bytes, got 2"),
    ],
)
def test_damaged_idx_files_are_refused(tmp_path: Path, data: bytes, message: str) -> None:
    (tmp_path / "x").write_bytes(data)
    with pytest.raises(DamagedFile, match=message):
        read_idx(tmp_path / "x")


def test_a_broken_archive_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.gz").write_bytes(b"not packed")
    with pytest.raises(DamagedFile, match="must be readable"):
        read_idx(tmp_path / "x.gz")


def write_fashion(folder: Path, count: int = 10_000, labels: int | None = None) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    pixels = np.zeros((count, 28, 28), np.uint8)
    marks = np.zeros(count if labels is None else labels, np.uint8)
    (folder / "t10k-images-idx3-ubyte").write_bytes(idx_bytes(pixels))
    (folder / "t10k-labels-idx1-ubyte").write_bytes(idx_bytes(marks))


def test_fashion_mnist_is_found_and_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_fashion(tmp_path / "fashion-mnist")
    monkeypatch.setenv("DISCREET_DATA", str(tmp_path))
    assert len(fashion_mnist(part="test", check=False)) == 10_000
    assert len(fashion_mnist(tmp_path / "fashion-mnist", part="test", check=False)) == 10_000
    with pytest.raises(DamagedFile, match=r"SHA-256 digest 9f1ec356a747.*Debian package"):
        fashion_mnist(part="test")
    write_fashion(tmp_path / "fashion-mnist", 7)
    with pytest.raises(DamagedFile, match="must hold 10000 images"):
        fashion_mnist(part="test", check=False)
    write_fashion(tmp_path / "fashion-mnist", 10_000, 9_999)
    with pytest.raises(DamagedFile, match="one label from 0 to 9 for each image"):
        fashion_mnist(part="test", check=False)
    with pytest.raises(DamagedFile, match="must hold train-images-idx3-ubyte"):
        fashion_mnist(part="train")
    with pytest.raises(InvalidArgument, match="part must be train or test"):
        fashion_mnist(part="both")


def test_missing_data_say_where_they_can_be_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DISCREET_DATA", raising=False)
    with pytest.raises(InvalidArgument, match=r"DISCREET_DATA.*cifar-10-python.tar.gz"):
        cifar10()
    with pytest.raises(InvalidArgument, match="Debian package dataset-fashion-mnist"):
        fashion_mnist(tmp_path / "nowhere")


@pytest.fixture(scope="module")
def batch() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    return rng.integers(0, 256, (10_000, 32, 32, 3)).astype(np.uint8), rng.integers(0, 10, 10_000)


def test_the_three_forms_of_cifar10_agree(
    tmp_path: Path, batch: tuple[np.ndarray, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    pixels, labels = batch
    flat = pixels.transpose(0, 3, 1, 2).reshape(len(pixels), -1)
    forms = [tmp_path / name for name in ("py", "bin", "png")]
    for folder in forms:
        folder.mkdir()
    inner = forms[0] / "cifar-10-batches-py"
    inner.mkdir()
    held = {b"data": flat, b"labels": labels.tolist()}
    (inner / "test_batch").write_bytes(pickle.dumps(held, protocol=2))
    rows = np.concatenate([labels[:, None].astype(np.uint8), flat], axis=1)
    (forms[1] / "test_batch.bin").write_bytes(rows.tobytes())
    Image.fromarray(pixels.reshape(10_000, 1024, 3)).save(
        forms[2] / "test_batch.png", compress_level=0
    )
    (forms[2] / "test_lables.json").write_text(json.dumps(labels.tolist()))
    archive = tmp_path / "data" / "cifar-10" / "cifar-10-python.tar.gz"
    archive.parent.mkdir(parents=True)
    with tarfile.open(archive, "w:gz", compresslevel=0) as tar:
        tar.add(inner, "cifar-10-batches-py")
    monkeypatch.setenv("DISCREET_DATA", str(tmp_path / "data"))
    for place in (*forms, archive, None):  # folders, the archive itself, and where it is looked for
        found = cifar10(place, part="test", check=False)
        assert np.array_equal(found.pixels, pixels)
        assert np.array_equal(found.labels, labels)
    with pytest.raises(DamagedFile, match="SHA-256 digest"):
        cifar10(forms[1], part="test")
    for place in (forms[1], archive):
        with pytest.raises(DamagedFile, match=r"must hold data_batch_1, .bin or .png"):
            cifar10(place, part="train")
    rows[7, 0] = 10
    (forms[1] / "test_batch.bin").write_bytes(rows.tobytes())
    with pytest.raises(DamagedFile, match="must hold labels from 0 to 9"):
        cifar10(forms[1], part="test", check=False)


class Trap:
    """A pickle that would run a command."""

    def __reduce__(self) -> tuple[object, tuple[str, ...]]:
        return print, ("this must not run",)


def test_a_pickle_that_runs_code_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "test_batch").write_bytes(pickle.dumps({b"data": Trap()}))
    with pytest.raises(DamagedFile, match="no part of an array"):
        cifar10(tmp_path, part="test", check=False)
    assert capsys.readouterr().out == ""


def test_a_short_binary_batch_is_refused(tmp_path: Path) -> None:
    (tmp_path / "test_batch.bin").write_bytes(b"\0" * 100)
    with pytest.raises(DamagedFile, match="must hold 3073 bytes per image"):
        cifar10(tmp_path, part="test", check=False)


def test_a_data_folder_without_the_set_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another set's files are not taken for it, nor is the shipped sample by a study at full size:
    that is for machines where nobody named a folder."""
    from discreet.errors import NoData
    from discreet.studies import figure
    from discreet.studies._base import Lab, Size

    full = Lab(Size(29_952, 2))
    write_fashion(tmp_path / "fashion-mnist", 3)
    (tmp_path / "notes.txt").write_text("nothing")
    monkeypatch.setenv("DISCREET_DATA", str(tmp_path))
    with pytest.raises(InvalidArgument, match=r"DISCREET_DATA \(.*\) does not hold cifar-10"):
        cifar10()
    for folder in (tmp_path, tmp_path / "misspelt"):
        monkeypatch.setenv("DISCREET_DATA", str(folder))
        with pytest.raises(InvalidArgument, match=r"does not hold cifar-10.*unset DISCREET_DATA"):
            figure("thesis2024", "7.2").experiment(full, net=True)
    monkeypatch.delenv("DISCREET_DATA")
    with pytest.raises(NoData):
        cifar10()
    name, _, _ = figure("thesis2024", "7.2").experiment(full, net=True)
    assert name == "shipped sample of Fashion-MNIST, net"


def test_damaged_archives_and_pickles_are_refused(tmp_path: Path) -> None:
    whole = pickle.dumps({b"data": np.zeros((2, 3072), np.uint8), b"labels": [0, 1]}, protocol=2)
    rng = np.random.default_rng(5)
    for at in range(60):  # cut short, or with one byte changed
        broken = bytearray(whole[: rng.integers(1, 160)] if at % 2 else whole)
        broken[rng.integers(0, min(len(broken), 160))] ^= int(rng.integers(1, 256))
        (tmp_path / "test_batch").write_bytes(broken)
        with pytest.raises(DamagedFile):
            cifar10(tmp_path, part="test", check=False)
    for data in (b"", b"not an archive", b"\x1f\x8b\x08\0 broken"):
        (tmp_path / "x.tar.gz").write_bytes(data)
        with pytest.raises(DamagedFile, match="must be a folder or a tar archive"):
            cifar10(tmp_path / "x.tar.gz", part="test")
    with tarfile.open(tmp_path / "two.tar", "w") as tar:
        for folder in ("a", "b"):
            tar.add(tmp_path / "test_batch", f"{folder}/test_batch")
    with pytest.raises(DamagedFile, match="test_batch twice"):
        cifar10(tmp_path / "two.tar", part="test")


def test_the_licences_of_shipped_data_are_named() -> None:
    """In the metadata of the package, beside the data, and in the README."""
    import tomllib

    root = Path(__file__).parents[3]
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["license"] == "Apache-2.0 AND MIT AND CC-BY-4.0"
    page = (root / "README.md").read_text(encoding="utf-8")
    for folder, licence in (
        ("arms/data", "CC BY 4.0"),
        ("membership/gradients/data/fashion_mnist_sample", "MIT"),
    ):
        notice = f"src/discreet/{folder}/README.md"
        assert notice in project["license-files"]
        assert f"Licence: {'Creative Commons' if 'CC' in licence else licence}" in (
            root / notice
        ).read_text(encoding="utf-8")
        assert licence in page
        assert f"discreet/{folder}/README.md" in page
