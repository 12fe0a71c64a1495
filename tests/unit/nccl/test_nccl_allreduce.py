# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The program of one rank, run as it is, with a PyTorch of a few lines: one rank, lists in the place of tensors."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

PROGRAM = Path(__file__).resolve().parents[3] / "roles/transport/files/nccl_allreduce.py"
LO = [{"name": "lo", "netdev": "lo", "rdma": None}, {"name": "gone", "netdev": "gone0", "rdma": None}]
RDMA = [{"name": "p0/A", "netdev": "lo", "rdma": "no_such_device"}]

TORCH = '''
"""What the program uses of PyTorch, for float32 and one rank."""
from types import SimpleNamespace

__version__ = "0.0+fake"
float32 = "float32"


class Tensor(list):
    def __mod__(self, number):
        return Tensor(value % number for value in self)

    def __mul__(self, number):
        return Tensor(value * number for value in self)

    def __ne__(self, other):
        return Tensor(one != two for one, two in zip(self, other, strict=True))

    def to(self, kind):
        assert kind == float32
        return Tensor(map(float, self))

    def sum(self):
        return SimpleNamespace(item=lambda: sum(list(self)))

    def numel(self):
        return len(self)


def device(kind, index):
    return f"{kind}:{index}"


def arange(end, device):
    return Tensor(range(end))


def ones(count, device):
    return Tensor([1.0] * count)


def empty_like(tensor):
    return Tensor([-1.0] * len(tensor))


def mul(tensor, number, out):
    out[:] = tensor * number


cuda = SimpleNamespace(get_device_name=lambda device: "no GPU", synchronize=lambda: None)
'''
DISTRIBUTED = '''
"""Steps are recorded on stderr; FAKE_HANG and FAKE_FAIL name one that hangs or fails, FAKE_WRONG spoils an element."""
import os
import socket
import sys
import time


def step(name):
    print(name, file=sys.stderr)
    if os.environ.get("FAKE_HANG") == name:
        time.sleep(60)
    if os.environ.get("FAKE_FAIL") == name:
        raise RuntimeError("NCCL error in: connect.cc:1")


def init_process_group(backend, device_id, timeout):
    assert (backend, device_id, timeout.total_seconds()) == ("nccl", "cuda:0", float(os.environ["FAKE_TIMEOUT"]))
    step("init")


def all_reduce(buffer):
    step("all_reduce")
    if "FAKE_WRONG" in os.environ and len(buffer) > 1:
        buffer[5] += 1
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(bytes(1000), ("127.0.0.1", 9))


def barrier():
    step("barrier")


def destroy_process_group():
    step("destroy")
'''


@pytest.fixture
def torch(tmp_path: Path) -> Path:
    """A folder with the package."""
    package = tmp_path / "fake" / "torch"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(TORCH)
    (package / "distributed.py").write_text(DISTRIBUTED)
    return package.parent


def run(
    path: Path | None, *arguments: str, timeout: float = 60, **environment: str
) -> tuple[int, dict[str, Any], list[str]]:
    """Exit status, the line, and the steps that were taken. There must be one line on stdout, and nothing else."""
    ran = subprocess.run(
        [sys.executable, "-S", str(PROGRAM), "--timeout", f"{timeout:g}", *arguments],
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(path or ""),
            "RANK": "0",
            "WORLD_SIZE": "1",
            "FAKE_TIMEOUT": str(timeout),
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert ran.stdout.count("\n") == 1, ran.stderr
    assert ran.stdout.endswith("\n")
    return ran.returncode, json.loads(ran.stdout), ran.stderr.splitlines()


def test_a_rank(torch: Path) -> None:
    rc, told, steps = run(torch, "--sizes", "1", "2", "--iterations", "2", "--ports", json.dumps(LO))
    assert rc == 0
    assert steps == ["init", "all_reduce", "barrier", *["all_reduce"] * 4, "barrier", "destroy"]
    sizes = told.pop("sizes")
    assert [(row["mib"], row["elements"], row["wrong"]) for row in sizes] == [(1, 524288, 0), (2, 1048576, 0)]
    assert all(row["seconds"] > 0 for row in sizes)
    # One rank sends nothing: 2 (n - 1) / n is 0.
    assert [row["busbw_gbps"] for row in sizes] == [0.0, 0.0]
    ports = told.pop("ports")
    # Four datagrams of 1,000 bytes while it was counted, and the one before that is not.
    assert ports["lo"]["sent"] >= 4 * 1000
    assert ports["lo"]["received"] >= 4 * 1000
    assert ports["gone"] == {"sent": None, "received": None}
    assert told.pop("forwarded") >= 0
    assert told == {
        "rank": 0,
        "size": 1,
        "phase": "end",
        "error": None,
        "torch": "0.0+fake",
        "device": "no GPU",
        "library": None,
        "nccl": None,
        "without_link": ["gone"],
    }


def test_an_element_that_is_wrong(torch: Path) -> None:
    rc, told, _steps = run(torch, "--sizes", "1", "--iterations", "3", FAKE_WRONG="1")
    assert rc == 0
    assert [(row["elements"], row["wrong"]) for row in told["sizes"]] == [(786432, 3)]


def test_without_pytorch() -> None:
    rc, told, _steps = run(None)
    assert rc == 1
    assert told == {
        "rank": None,
        "sizes": [],
        "phase": "start",
        "error": "ModuleNotFoundError: No module named 'torch'",
        "without_link": [],
    }


@pytest.mark.parametrize(
    ("step", "phase"), [("init", "rendezvous"), ("all_reduce", "first all-reduce"), ("destroy", "end")]
)
def test_what_fails(torch: Path, step: str, phase: str) -> None:
    rc, told, _steps = run(torch, "--sizes", "1", "--iterations", "1", FAKE_FAIL=step)
    assert (rc, told["phase"]) == (1, phase)
    assert told["error"] == "RuntimeError: NCCL error in: connect.cc:1"


def test_a_rank_that_hangs_says_where(torch: Path) -> None:
    rc, told, steps = run(torch, "--sizes", "1", timeout=3, FAKE_HANG="all_reduce")
    assert rc == 3
    assert steps == ["init", "all_reduce"]
    assert told["error"] == "no end within 3 s: it hangs in phase 'first all-reduce'"
    assert (told["rank"], told["sizes"]) == (0, [])


@pytest.fixture(scope="module")
def program() -> ModuleType:
    spec = importlib.util.spec_from_file_location("nccl_allreduce", PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_bytes_of_a_netdev(program: ModuleType) -> None:
    """Held against another file of the kernel's, which only grows."""
    folder = Path("/sys/class/net/lo/statistics")
    before = int((folder / "tx_bytes").read_text())
    counted = program.port_bytes(LO[0])
    assert before <= counted["sent"] <= int((folder / "tx_bytes").read_text())
    assert counted["received"] is not None


@pytest.mark.parametrize("port", [*RDMA, LO[1], {"name": "x", "netdev": "Inter-"}])
def test_bytes_that_cannot_be_counted(program: ModuleType, port: dict[str, Any]) -> None:
    assert program.port_bytes(port) == {"received": None, "sent": None}


def test_an_rdma_port_counts_words_of_four_bytes(
    program: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "rocep1s0f0/ports/1/counters"
    folder.mkdir(parents=True)
    (folder / "port_rcv_data").write_text("25\n")
    (folder / "port_xmit_data").write_text("1000000\n")

    def moved(first: str, *parts: str) -> Path:
        return tmp_path.joinpath(*parts) if first == "/sys/class/infiniband" else Path(first, *parts)

    monkeypatch.setattr(program, "Path", moved)
    found = program.port_bytes({"name": "p0/A", "netdev": "enp1s0f0np0", "rdma": "rocep1s0f0"})
    assert found == {"received": 100, "sent": 4_000_000}


def test_a_difference_of_what_is_not_known_is_not_known(program: ModuleType) -> None:
    assert program.difference({"sent": 3, "received": None}, {"sent": 10, "received": 4}) == {
        "sent": 7,
        "received": None,
    }
    assert program.difference({"sent": 3}, {"sent": None}) == {"sent": None}


def test_no_library_has_no_version(program: ModuleType) -> None:
    assert program.loaded_library() is None
    assert program.version_of(None) is None


def test_datagrams_passed_on(program: ModuleType) -> None:
    assert program.forwarded() >= 0
