# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""Which libnccl a Python environment loads: asked in it, because a node has several under one version string."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ansible_collections.switchless.spark.plugins.module_utils._link.reading import bounded, ended, quoted
from ansible_collections.switchless.spark.plugins.module_utils._node.answer import answer
from ansible_collections.switchless.spark.plugins.module_utils._node.runner import Runner

from . import version

SECONDS = 120
"""The first import of PyTorch after a boot reads gigabytes."""

# Any Python from 3.8 runs this. torch.cuda.nccl.version() is what PyTorch was built with, not what is loaded; the
# library itself is asked. It is loaded by the import of PyTorch; where it is not, the loader is asked for it.
ASK = r"""
import ctypes, hashlib, json
said = {}
try:
    import torch
    said["torch"] = str(torch.__version__)
    said["built_for"] = ".".join(map(str, torch.cuda.nccl.version()[:3]))
except Exception as error:
    said["error"] = type(error).__name__ + ": " + str(error)
def mapped():
    with open("/proc/self/maps") as maps:
        for line in maps:
            path = line.rstrip("\n").partition("/")
            if path[1] and path[2].rpartition("/")[2].startswith("libnccl.so"):
                return "/" + path[2]
try:
    if mapped() is None:
        ctypes.CDLL("libnccl.so.2")
    said["library"] = mapped()
    code = ctypes.c_int()
    ctypes.CDLL(said["library"]).ncclGetVersion(ctypes.byref(code))
    said["code"] = code.value
    digest = hashlib.sha256()
    with open(said["library"], "rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    said["sha256"] = digest.hexdigest()
except Exception as error:
    said.setdefault("error", type(error).__name__ + ": " + str(error))
print("\n" + json.dumps(said))
"""


@dataclass(frozen=True, slots=True)
class Library:
    """C(version) is what the loaded library says, C(built_for) what PyTorch was built with."""

    python: str
    version: str | None = None
    library: str | None = None
    sha256: str | None = None
    torch: str | None = None
    built_for: str | None = None
    detail: str = ""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"too_old": version.too_old(self.version)}


def parse(python: str, rc: int, stdout: str, stderr: str) -> Library | None:
    """The answer of ``ASK``; nothing when there is no such interpreter."""
    if rc == 127:
        return None
    said = answer(stdout)
    if said is None:
        words = quoted([*stdout.splitlines(), *stderr.splitlines()])
        return Library(python, detail=f"no answer, {ended(rc)}: {words or 'silence'}")

    def text(key: str) -> str | None:
        return said[key] if isinstance(said.get(key), str) else None

    return Library(
        python=python,
        version=version.from_code(said.get("code")),
        library=text("library"),
        sha256=text("sha256"),
        torch=text("torch"),
        built_for=text("built_for"),
        detail=text("error") or "",
    )


def ask(runner: Runner, python: str) -> Library | None:
    """Run it. An interpreter that is not there, and one without PyTorch or NCCL, are answers."""
    result = runner.run(bounded(SECONDS, [python, "-c", ASK]))
    return parse(python, result.rc, result.stdout, result.stderr)
