# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the machine must have, said before anything is made; and a file with the figures of every arm."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

OUT = Path(os.environ.get("OUT", ".cache/results"))
"""Where nccl.json and NCCL's logs go."""


@pytest.fixture(scope="session", autouse=True)
def machine() -> None:
    """One NVIDIA GPU, root, iproute2, PyTorch: without one of them nothing here says anything."""
    lacking = []
    if os.geteuid() != 0:
        lacking.append("root, to make network namespaces")
    if shutil.which("ip") is None:
        lacking.append("iproute2: tests/nccl/bring-ip brings it to a machine without a network")
    if importlib.util.find_spec("torch") is None:
        lacking.append("PyTorch with NCCL in the interpreter that runs pytest")
    if shutil.which("nvidia-smi") is None:
        lacking.append("an NVIDIA GPU with its driver")
    if lacking:
        pytest.exit("this machine lacks " + "; ".join(lacking), returncode=2)


@pytest.fixture(scope="session")
def figures(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """Arm to figures; written at the end, with the versions, and with the logs of all arms beside."""
    found: dict[str, Any] = {}
    yield found
    OUT.mkdir(parents=True, exist_ok=True)
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    gpu = subprocess.run(query, check=True, capture_output=True, text=True).stdout.strip()
    (OUT / "nccl.json").write_text(json.dumps({"gpu": gpu, "kernel": os.uname().release, "arms": found}, indent=1))
    shutil.make_archive(str(OUT / "nccl-logs"), "gztar", tmp_path_factory.getbasetemp())


@pytest.fixture
def record(figures: dict[str, Any]) -> Callable[[str, dict[str, Any]], None]:
    """Keep an arm's figures."""

    def keep(arm: str, values: dict[str, Any]) -> None:
        figures[arm] = values
        print(f"\n{arm}: {json.dumps(values['verdict'], indent=1)}")

    return keep
