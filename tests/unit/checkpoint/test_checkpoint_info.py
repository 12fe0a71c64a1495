# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""checkpoint_info as Ansible runs it, on small checkpoints with one fault each."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.module_utils.testing import patch_module_args

from ansible_collections.switchless.spark.plugins.module_utils._checkpoint import files, look
from ansible_collections.switchless.spark.plugins.module_utils._checkpoint.index import INDEX
from ansible_collections.switchless.spark.plugins.modules import checkpoint_info
from tests.unit.checkpoint.checkpoint_world import (
    COMMIT,
    SHARDS,
    TENSORS,
    build,
    downloaded,
    index,
    manifest_of,
    safetensors,
)

FLASH = {"repository": "deepseek-ai/DeepSeek-V4-Flash-0731"}
Found = dict[str, Any]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return build(tmp_path / "flash")


@pytest.fixture
def info(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Found]:
    """Run the module; its cache is in the test's folder."""

    def run(path: Path, *, check: bool = False, **arguments: Any) -> Found:
        given = {"path": str(path), "cache": str(tmp_path / "state/verified.json"), "_ansible_check_mode": check}
        with patch_module_args(given | arguments), pytest.raises(SystemExit):
            checkpoint_info.main()
        said = json.loads(capsys.readouterr().out)
        if "checkpoint" not in said:
            return said
        assert said["changed"] is False
        found: Found = said["checkpoint"]
        assert set(found) == set(yaml.safe_load(checkpoint_info.RETURN)["checkpoint"]["contains"])
        return found

    return run


def codes(found: Found) -> list[str]:
    return [reason["code"] for reason in found["reasons"]]


def test_a_download_that_the_hub_vouches_for(folder: Path, info: Callable[..., Found]) -> None:
    downloaded(folder)
    wanted = FLASH | {"revision": "7872f01b", "tensors": 6, "mtp_tensors": 2, "shards": 3, "total_bytes": 392}
    found = info(folder, identity=wanted)
    assert (found["verdict"], found["reasons"]) == ("ok", [])
    assert found["recognised"]["name"] == "DeepSeek-V4-Flash-0731"
    assert found["revision"] == COMMIT
    assert found["manifest_origin"] == "measured"
    assert [file["name"] for file in found["files"]][:2] == ["README.md", "config.json"]


def test_without_anybody_who_vouches_it_is_not_verified(folder: Path, info: Callable[..., Found]) -> None:
    found = info(folder)
    assert (found["verdict"], codes(found)) == ("unverified", ["no_reference"])
    assert found["manifest"] == manifest_of(folder).as_dict()


def test_a_manifest_vouches_for_its_files(folder: Path, info: Callable[..., Found]) -> None:
    found = info(folder, manifest=manifest_of(folder).as_dict())
    assert (found["verdict"], found["manifest_origin"]) == ("ok", "given")


def test_the_saved_manifest_does_so_too(folder: Path, info: Callable[..., Found]) -> None:
    saved = manifest_of(folder).as_dict() | {"revision": COMMIT}
    (folder / ".switchless").mkdir()
    (folder / ".switchless/manifest.json").write_text(json.dumps(saved))
    found = info(folder, identity={"revision": "7872f01b"})
    assert (found["verdict"], found["manifest_origin"], found["revision"]) == ("ok", "saved", COMMIT)
    (folder / ".switchless/manifest.json").write_text("{")
    assert codes(info(folder)) == ["saved", "no_reference"]


def flip(folder: Path) -> None:
    path = folder / SHARDS[1]
    raw = bytearray(path.read_bytes())
    raw[-1] ^= 1
    path.write_bytes(raw)


def cut(folder: Path) -> None:
    os.truncate(folder / SHARDS[1], (folder / SHARDS[1]).stat().st_size - 1)


def cut_in_the_header(folder: Path) -> None:
    os.truncate(folder / SHARDS[1], 20)


def remove(folder: Path) -> None:
    (folder / SHARDS[2]).unlink()
    (folder / f"{SHARDS[2]}.incomplete").write_bytes(b"x")


def index_of_a_lookalike(folder: Path) -> None:
    renamed = {name: {f"mtp.{tensor}": kind for tensor, kind in found.items()} for name, found in TENSORS.items()}
    (folder / INDEX).write_text(index(renamed))


def another_order(folder: Path) -> None:
    moved = {SHARDS[0]: TENSORS[SHARDS[1]], SHARDS[1]: TENSORS[SHARDS[0]], SHARDS[2]: TENSORS[SHARDS[2]]}
    (folder / INDEX).write_text(index(moved))


def add(folder: Path) -> None:
    (folder / "consolidated.safetensors").write_bytes(safetensors({"a": ("U8", [3])}))


@pytest.mark.parametrize(
    ("fault", "verdict", "expected", "words"),
    [
        (flip, "corrupt", ["sha256"], "model-00002-of-00003.safetensors has SHA-256"),
        (cut, "incomplete", ["truncated", "size"], "its header says"),
        (cut_in_the_header, "incomplete", ["truncated", "size"], "its header alone"),
        (remove, "incomplete", ["missing"], "half files: model-00003-of-00003.safetensors.incomplete"),
        (index_of_a_lookalike, "wrong", ["mtp_tensors", "index_disagrees", "size"], "the index has 6 mtp.* tensors"),
        (another_order, "corrupt", ["index_disagrees", "sha256"], "lacks 2 tensors, the first embed"),
        (add, "unverified", ["extra"], "consolidated.safetensors"),
    ],
)
def test_one_fault(
    folder: Path,
    info: Callable[..., Found],
    fault: Callable[[Path], None],
    verdict: str,
    expected: list[str],
    words: str,
) -> None:
    good = manifest_of(folder).as_dict()
    fault(folder)
    found = info(folder, manifest=good, identity={"tensors": 6, "mtp_tensors": 2})
    assert (found["verdict"], codes(found)) == (verdict, expected)
    assert words in found["reasons"][0]["text"]
    assert all(reason["remedy"] for reason in found["reasons"])


def test_a_byte_that_the_hub_did_not_send(folder: Path, info: Callable[..., Found]) -> None:
    downloaded(folder)
    flip(folder)
    found = info(folder)
    assert (found["verdict"], codes(found)) == ("corrupt", ["hub"])


def test_an_edited_config_is_said_until_a_manifest_has_it(folder: Path, info: Callable[..., Found]) -> None:
    downloaded(folder)
    (folder / "config.json").write_text("{}")
    assert codes(info(folder)) == ["edited"]
    assert codes(info(folder, manifest=manifest_of(folder).as_dict())) == []


def test_a_small_file_has_gits_digest(folder: Path, info: Callable[..., Found]) -> None:
    """`printf 'a\\nb\\n' | git hash-object --stdin`"""
    downloaded(folder)
    note = folder / ".cache/huggingface/download/encoding/vocab.txt.metadata"
    note.write_text(f"{COMMIT}\n422c2b7ab3b3c668038da977e4e93a5fc623169c\n1.0\n")
    assert info(folder)["verdict"] == "ok"
    note.write_text(f"{COMMIT}\n{COMMIT}\n1.0\n")
    assert codes(info(folder)) == ["edited"]


@pytest.mark.parametrize(
    ("readme", "wanted", "words"),
    [
        ("We present a preview version of it.", FLASH, "this is DeepSeek-V4-Flash (an earlier preview), not"),
        ("We present a preview version of it.", {"tensors": 72317, "mtp_tensors": 4705}, "this is DeepSeek-V4-Flash "),
    ],
)
def test_a_lookalike_is_named(
    folder: Path, info: Callable[..., Found], readme: str, wanted: dict[str, Any], words: str
) -> None:
    (folder / "README.md").write_text(readme)
    found = info(folder, identity=wanted)
    assert (found["verdict"], codes(found)[0]) == ("wrong", "lookalike")
    assert words in found["reasons"][0]["text"]
    assert "DeepSeek-V4-Flash-0731" in found["reasons"][0]["remedy"]


def test_a_folder_of_the_hubs_cache(tmp_path: Path, info: Callable[..., Found]) -> None:
    """Links to blobs, and the folder of a lookalike."""
    plain = build(tmp_path / "plain")
    top = tmp_path / "hub/models--deepseek-ai--DeepSeek-V4-Flash-DSpark"
    snapshot = top / "snapshots" / ("1" * 40)
    (top / "blobs").mkdir(parents=True)
    for entry in manifest_of(plain).files:
        (top / "blobs" / entry.sha256).write_bytes((plain / entry.name).read_bytes())
        (snapshot / entry.name).parent.mkdir(parents=True, exist_ok=True)
        (snapshot / entry.name).symlink_to(top / "blobs" / entry.sha256)
    assert info(snapshot)["verdict"] == "ok"
    found = info(snapshot, identity=FLASH)
    assert (found["verdict"], codes(found)) == ("wrong", ["lookalike"])
    assert "dated 2026-07-04" in found["reasons"][0]["text"]
    assert found["repository"] == "deepseek-ai/DeepSeek-V4-Flash-DSpark"


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({"revision": "7872f01b"}, []),
        ({"revision": "9e165c30"}, ["revision"]),
        ({"tensors": 7}, ["tensors"]),
        ({"shards": 4}, ["shards"]),
        ({"total_bytes": 391}, ["total_bytes"]),
        ({"total_gb": 166.9}, ["total_bytes"]),
        ({"total_gb": 0.0}, []),
        ({"index_sha256": "0" * 64}, ["index_sha256"]),
        ({"config_sha256": "0" * 64}, ["config_sha256"]),
        ({"index_sha256": "0" * 64, "config_sha256": None}, ["index_sha256"]),
    ],
)
def test_identity(folder: Path, info: Callable[..., Found], wanted: dict[str, Any], expected: list[str]) -> None:
    downloaded(folder)
    found = info(folder, identity=wanted)
    assert codes(found) == expected
    assert found["verdict"] == ("wrong" if expected else "ok")


def test_the_digests_of_the_right_files_are_right(folder: Path, info: Callable[..., Found]) -> None:
    downloaded(folder)
    names = {"index_sha256": "model.safetensors.index.json", "config_sha256": "config.json"}
    digests = {key: hashlib.sha256((folder / name).read_bytes()).hexdigest() for key, name in names.items()}
    assert info(folder, identity=digests)["verdict"] == "ok"


def test_a_revision_that_nobody_wrote_down(folder: Path, info: Callable[..., Found]) -> None:
    found = info(folder, identity={"revision": "7872f01b"}, manifest=manifest_of(folder).as_dict())
    assert (found["verdict"], codes(found)) == ("unverified", ["revision_unknown"])


def test_files_of_two_revisions(folder: Path, info: Callable[..., Found]) -> None:
    downloaded(folder)
    note = folder / ".cache/huggingface/download/config.json.metadata"
    note.write_text(note.read_text().replace(COMMIT, "9" * 40))
    assert codes(info(folder)) == ["mixed_revisions"]
    assert info(folder, identity={"revision": "7872f01b"})["verdict"] == "wrong"


def test_nothing_there(tmp_path: Path, info: Callable[..., Found]) -> None:
    found = info(tmp_path / "nowhere")
    assert (found["verdict"], found["files"]) == ("absent", [])
    assert found["free_bytes"] > 0
    (tmp_path / "empty").mkdir()
    assert info(tmp_path / "empty")["verdict"] == "absent"


def test_one_file_needs_no_index(tmp_path: Path, info: Callable[..., Found]) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "one/model.safetensors").write_bytes(safetensors({"a": ("U8", [3]), "mtp.b": ("U8", [3])}))
    found = info(tmp_path / "one", identity={"tensors": 2, "mtp_tensors": 1, "shards": 1, "total_bytes": 6})
    assert codes(found) == ["no_reference"]


def test_an_index_that_is_not_there(folder: Path, info: Callable[..., Found]) -> None:
    (folder / INDEX).unlink()
    assert (info(folder)["verdict"], codes(info(folder))[0]) == ("incomplete", "index")
    (folder / INDEX).write_text("{")
    assert (info(folder)["verdict"], codes(info(folder))[0]) == ("corrupt", "index")


def test_a_manifest_that_is_none(folder: Path, info: Callable[..., Found]) -> None:
    assert "a manifest needs a list" in info(folder, manifest={"files": []})["msg"]


def test_large_files_are_read_once(folder: Path, info: Callable[..., Found], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(look, "SMALL_BYTES", 0)
    read: list[str] = []
    real = files.sha256
    monkeypatch.setattr(look, "sha256", lambda path, keep: read.append(path.name) or real(path, keep=keep))
    good = manifest_of(folder).as_dict()
    read.clear()

    found = info(folder, manifest=good)  # the default reads nothing
    assert (found["verdict"], codes(found), read) == ("unverified", ["not_measured"], [])
    assert info(folder, manifest=good, hash="missing", check=True)["verdict"] == "ok"
    assert codes(info(folder, manifest=good)) == ["not_measured"]  # check mode kept nothing
    assert info(folder, manifest=good, hash="missing")["verdict"] == "ok"
    read.clear()
    assert info(folder, manifest=good)["verdict"] == "ok"
    assert info(folder, manifest=good, hash="missing")["verdict"] == "ok"
    assert read == []

    times = (folder / SHARDS[0]).stat()
    flip(folder)
    os.utime(folder / SHARDS[0], ns=(times.st_atime_ns, times.st_mtime_ns + 1))
    assert info(folder, manifest=good)["reasons"][0]["files"] == SHARDS[:2]
    assert info(folder, manifest=good, hash="missing")["verdict"] == "corrupt"
    assert read == SHARDS[:2]
    read.clear()
    info(folder, manifest=good, hash="all")
    assert len(read) == len(good["files"])
