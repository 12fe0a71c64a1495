# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the driver says of itself: the loaded module, nvidia-smi, the kernel log.

B(Private) to the collection: it can change at any time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from ansible_collections.switchless.spark.plugins.module_utils._node.runner import Result

SECONDS = 20  # a driver whose firmware does not answer lets nvidia-smi wait for ever
SMI = ("timeout", "--kill-after=2", str(SECONDS), "nvidia-smi")
TIMED_OUT = (124, 137)

SHOWN, MISMATCH, NO_DEVICE, NO_DRIVER, SILENT, OTHER = "gpu", "mismatch", "no_device", "no_driver", "no_answer", "other"
WRONG_FLAVOUR, FIRMWARE, TWO_SOURCES, OUT_OF_MEMORY = "wrong_flavour", "firmware", "two_sources", "out_of_memory"

_VERSION = r"\d{3}\.\d+(?:\.\d+)?"
_NVRM = re.compile(
    r"NVRM version: NVIDIA UNIX (?P<open>Open )?(?:\S+ )?Kernel Module.*?\s(?P<version>" + _VERSION + r")\s"
)
_USER = re.compile(r"NVIDIA-SMI (" + _VERSION + r")")
_KERNEL = re.compile(r"(?:Driver Version|KMD Version): *(" + _VERSION + r")")  # the second one since branch 610
_CUDA = re.compile(r"(?:CUDA Version|CUDA UMD Version): *(\d+\.\d+)")  # the driver's ceiling, not the toolkit
_LIBRARY = re.compile(r"NVML library version: (" + _VERSION + r")")
_FAILURES = (
    (MISMATCH, "Driver/library version mismatch"),
    (NO_DEVICE, "No devices were found"),
    (NO_DRIVER, "couldn't communicate with the NVIDIA driver"),
    (NO_DRIVER, "driver not loaded"),
    (NO_DRIVER, "Driver Not Loaded"),
)
# The lines that name a cause, those first that are most certain.
_SIGNS = (
    (TWO_SOURCES, re.compile(r"nvidia-modeset: Version mismatch")),
    (WRONG_FLAVOUR, re.compile(r"Xid .*: 169,|RmInitAdapter failed! \(0x62:0x1a:2631\)")),
    (
        FIRMWARE,
        re.compile(r"ksec2PrepareBootCommands_GB20B|Cannot initialize GSP firmware|RmInitAdapter failed! \(0x62:0x65"),
    ),
    (OUT_OF_MEMORY, re.compile(r"NVRM: .*NV_ERR_NO_MEMORY")),
)
_OURS = re.compile(r"NVRM|nvidia-modeset|^nvidia(?:-modeset)?\.ko \(")


@dataclass(frozen=True, slots=True)
class Smi:
    """What nvidia-smi answers. C(library) is the version that it gives with a mismatch, at times without its end."""

    answer: str
    user: str | None = None
    kernel: str | None = None
    cuda: str | None = None
    library: str | None = None
    text: str = ""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def parse_module(text: str | None) -> tuple[str | None, bool | None]:
    """Version and whether it is the open one, from C(/proc/driver/nvidia/version)."""
    match = _NVRM.search(f"{text or ''} ")
    return (None, None) if match is None else (match["version"], match["open"] is not None)


def _first(pattern: re.Pattern[str], text: str) -> str | None:
    match = pattern.search(text)
    return match[1] if match else None


def parse_smi(result: Result) -> Smi | None:
    """Nothing when there is no nvidia-smi."""
    text = f"{result.stdout}\n{result.stderr}".strip()
    if result.missing:
        return None
    if result.rc in TIMED_OUT:
        return Smi(SILENT, text=f"nvidia-smi did not answer in {SECONDS} s")
    for answer, words in _FAILURES:
        if words in text:
            line = next(line for line in text.splitlines() if words in line)
            return Smi(answer, library=_first(_LIBRARY, text), text=line.strip())
    user, kernel = _first(_USER, text), _first(_KERNEL, text)
    if result.rc == 0 and kernel is not None:
        return Smi(SHOWN, user, kernel, _first(_CUDA, text))
    return Smi(OTHER, user, kernel, text=(text.splitlines() or [f"nvidia-smi returned {result.rc}"])[0].strip())


def driver_lines(log: str) -> tuple[str, ...]:
    """The driver's lines of the kernel log, each once."""
    return tuple(dict.fromkeys(line.strip() for line in log.splitlines() if _OURS.search(line)))


def signs(lines: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Cause to the lines that name it."""
    kept = list(lines)
    found = {code: tuple(line for line in kept if pattern.search(line)) for code, pattern in _SIGNS}
    return {code: matching for code, matching in found.items() if matching}


def parse_dkms(text: str) -> tuple[str, ...]:
    """What DKMS says of its modules nvidia. Nothing on a stock Spark, which is right."""
    return tuple(line.strip() for line in text.splitlines() if re.match(r"nvidia[/,]", line))
