# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Headers, indexes, manifests and the hub's notes: what is sound, and what is said of the rest."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.switchless.spark.plugins.module_utils._checkpoint import hub
from ansible_collections.switchless.spark.plugins.module_utils._checkpoint.cache import Cache, dump_cache, parse_cache
from ansible_collections.switchless.spark.plugins.module_utils._checkpoint.index import (
    BadIndexError,
    disagreements,
    parse_index,
)
from ansible_collections.switchless.spark.plugins.module_utils._checkpoint.known import meant, recognise
from ansible_collections.switchless.spark.plugins.module_utils._checkpoint.manifest import (
    Entry,
    ManifestError,
    make,
    parse_manifest,
    sound_name,
)
from ansible_collections.switchless.spark.plugins.module_utils._checkpoint.safetensors import (
    Header,
    HeaderError,
    header_bytes,
    parse_header,
)
from tests.unit.checkpoint.checkpoint_world import COMMIT, TENSORS, framed, index, safetensors

SHA = "ab" * 32


def parse(raw: bytes) -> Header:
    length = header_bytes(raw[:8], len(raw))
    return parse_header(raw[8 : 8 + length], len(raw))


def tensor(dtype: str, shape: list[Any], *offsets: Any) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": list(offsets)}


def test_a_sound_header() -> None:
    raw = safetensors({"a": ("BF16", [2, 3]), "b": ("U8", [5]), "empty": ("F32", [0])})
    assert parse(raw) == Header(frozenset(("a", "b", "empty")), 17)


def test_padding_and_types_of_half_a_byte_are_sound() -> None:
    header = json.dumps({"a": tensor("F4", [3, 2], 0, 3), "b": tensor("F8_E8M0", [1], 3, 4)}).encode() + b"   "
    assert parse(framed(header, bytes(4))).data_bytes == 4


def test_a_type_that_is_newer_than_the_table_is_no_fault() -> None:
    assert parse(framed({"a": tensor("F3_NEW", [8], 0, 3)}, bytes(3))).data_bytes == 3


@pytest.mark.parametrize(
    ("raw", "short", "words"),
    [
        (b"\1\0", True, "2 bytes, too few"),
        (bytes(8), False, "would have 0 bytes"),
        (b"\xff" * 8 + b"{}", False, "expected 2 to 100000000"),
        ((500).to_bytes(8, "little") + b"{}", True, "its header alone 508"),
        (framed(b"{]", b""), False, "no JSON"),
        (framed(b"[]", b""), False, "no JSON object"),
        (framed({"a": tensor("U8", [4], 0, 4)}, bytes(3)), True, "its header says"),
        (framed({"a": tensor("U8", [4], 0, 4)}, bytes(5)), False, "its header says"),
        (framed({"a": tensor("U8", [4], 1, 5)}, bytes(5)), False, "begins at byte 1 of the data, expected 0"),
        (framed({"a": tensor("U8", [4], 0, 4), "b": tensor("U8", [4], 3, 7)}, bytes(7)), False, "expected 4"),
        (framed({"a": tensor("U8", [4], 0, 4), "b": tensor("U8", [4], 5, 9)}, bytes(9)), False, "expected 4"),
        (framed({"a": tensor("BF16", [4], 0, 4)}, bytes(4)), False, "tensor a has 4 bytes, BF16 [4] has 8"),
        (framed({"a": tensor("U8", [-1, -4], 0, 4)}, bytes(4)), False, "no sound dtype"),
        (framed({"a": tensor("U8", [4], 4, 0)}, bytes(4)), False, "no sound dtype"),
        (framed({"a": tensor("U8", [4], "0", 4)}, bytes(4)), False, "no sound dtype"),
        (framed({"a": [1]}, b""), False, "no sound dtype"),
    ],
)
def test_what_is_wrong_with_a_header(raw: bytes, short: bool, words: str) -> None:
    with pytest.raises(HeaderError) as caught:
        parse(raw)
    assert words in str(caught.value)
    assert caught.value.short is short


@given(st.binary(max_size=80))
def test_any_bytes_are_a_header_or_an_error(raw: bytes) -> None:
    try:
        assert parse(framed(raw, b"")).data_bytes == 0
    except HeaderError as error:
        assert str(error)  # noqa: PT017 (both ways are legal)


def test_an_index_counts_draft_tensors() -> None:
    found = parse_index(index(TENSORS).encode())
    assert found.as_dict() == {"tensors": 6, "mtp_tensors": 2, "shards": 3, "total_size": 392}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no JSON"),
        ("[]", "no weight_map"),
        ('{"weight_map": {}}', "no weight_map"),
        ('{"weight_map": {"a": "../b"}}', "no file of the folder"),
        ('{"weight_map": {"a": "/etc/shadow"}}', "no file of the folder"),
        ('{"weight_map": {"a": 3}}', "no file of the folder"),
    ],
)
def test_an_index_that_cannot_be_used(text: str, words: str) -> None:
    with pytest.raises(BadIndexError) as caught:
        parse_index(text.encode())
    assert words in str(caught.value)


def test_index_and_headers_disagree_both_ways() -> None:
    found = parse_index(b'{"weight_map": {"a": "x.safetensors", "b": "x.safetensors"}}')
    headers = {"x.safetensors": Header(frozenset("bc"), 0), "y.safetensors": Header(frozenset("z"), 0)}
    assert list(disagreements(found, headers)) == [
        "x.safetensors lacks 1 tensors, the first a",
        "x.safetensors has, beside the index, 1 tensors, the first c",
    ]


@pytest.mark.parametrize(
    ("name", "sound"),
    [
        ("a.txt", True),
        ("b/c.txt", True),
        ("", False),
        ("/a", False),
        ("a//b", False),
        ("../a", False),
        ("a/..", False),
        (".cache/a", False),
        ("a\nb", False),
        ("a\\b", False),
        (None, False),
    ],
)
def test_names_stay_in_the_folder(name: object, sound: bool) -> None:
    assert sound_name(name) is sound


def test_a_manifest_survives_the_way_through_ansible() -> None:
    manifest = make([Entry("b", 2, SHA), Entry("a", 0, SHA)], COMMIT)
    assert parse_manifest(manifest.as_dict()) == manifest
    assert [entry.name for entry in manifest.files] == ["a", "b"]
    assert manifest.digest == make(manifest.files, None).digest  # the bytes count, not who says what revision they are
    assert manifest.digest != make([Entry("b", 3, SHA), Entry("a", 0, SHA)], COMMIT).digest


@pytest.mark.parametrize(
    "files",
    [
        [],
        [{"name": "a", "size": 1}],
        [{"name": "../a", "size": 1, "sha256": SHA}],
        [{"name": "a", "size": -1, "sha256": SHA}],
        [{"name": "a", "size": 1, "sha256": SHA.upper()}],
        [{"name": "a", "size": 1, "sha256": SHA}] * 2,
        ["a"],
    ],
)
def test_a_manifest_that_is_none(files: list[Any]) -> None:
    with pytest.raises(ManifestError):
        parse_manifest({"files": files})


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        (f"{COMMIT}\n{SHA}\n1726498370.8\n", hub.Tag(COMMIT, sha256=SHA)),
        (f'{COMMIT}\n"{COMMIT}"\n', hub.Tag(COMMIT, git_sha1=COMMIT)),
        (f"main\n{SHA[:30]}\n", hub.Tag()),
        ("", hub.Tag()),
    ],
)
def test_the_notes_of_a_download(text: str, tag: hub.Tag) -> None:
    assert hub.parse_metadata(text) == tag


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (f"/h/hub/models--deepseek-ai--X-1/snapshots/{COMMIT}", ("deepseek-ai/X-1", COMMIT)),
        ("/h/hub/models--deepseek-ai--X-1/snapshots/main", ("deepseek-ai/X-1", None)),
        ("/h/hub/models--deepseek-ai--X-1", ("deepseek-ai/X-1", None)),
        ("/srv/models/X-1", (None, None)),
    ],
)
def test_folders_of_the_hubs_cache(path: str, found: tuple[str | None, str | None]) -> None:
    assert hub.from_path(path) == found


def test_the_revision_is_what_all_hints_agree_on() -> None:
    tags = {"a": hub.Tag(COMMIT), "b": hub.Tag()}
    assert hub.revision(tags, None, {}) == (COMMIT, [COMMIT])
    assert hub.revision({}, None, {"_commit_hash": COMMIT}) == (COMMIT, [COMMIT])
    assert hub.revision(tags, "9" * 40, {}) == (None, [COMMIT, "9" * 40])
    assert hub.revision({}, None, {"_commit_hash": 7}) == (None, [])


@pytest.mark.parametrize(
    ("repository", "revision", "readme", "name"),
    [
        (None, COMMIT, "We present a preview version", "DeepSeek-V4-Flash-0731"),
        (None, "9e165c30" + "0" * 32, "", "DeepSeek-V4-Flash-0731"),
        (None, None, "# Intro\nWe present a preview version of", "DeepSeek-V4-Flash"),
        ("deepseek-ai/DeepSeek-V4-Flash-DSpark", None, "", "DeepSeek-V4-Flash-DSpark"),
        ("deepseek-ai/DeepSeek-V4-Flash", "0" * 40, "", "DeepSeek-V4-Flash"),
        ("zai/GLM-5.3-Flash", "0" * 40, "", None),
    ],
)
def test_what_a_checkpoint_is_known_by(
    repository: str | None, revision: str | None, readme: str, name: str | None
) -> None:
    found = recognise(repository, revision, readme)
    assert (found[0].name if found else None) == name


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        (("deepseek-ai/DeepSeek-V4-Flash", None, None, None), "DeepSeek-V4-Flash"),
        ((None, "7872f01b", None, None), "DeepSeek-V4-Flash-0731"),
        ((None, None, 72317, 4705), "DeepSeek-V4-Flash-0731"),
        ((None, None, 72317, None), None),
        ((None, None, None, None), None),
    ],
)
def test_which_one_is_meant(asked: tuple[Any, Any, Any, Any], name: str | None) -> None:
    found = meant(*asked)
    assert (found.name if found else None) == name


def test_a_cache_survives_its_file_and_anything_else_is_empty() -> None:
    cache = Cache({("/a", 1, 2, 3): SHA})
    assert parse_cache(dump_cache(cache).encode()) == cache
    for text in (b"", b"[]", b'{"schema": 2, "files": {}}', b'{"schema": 1, "files": {"/a": {"size": "x"}}}'):
        assert parse_cache(text) == Cache({})
