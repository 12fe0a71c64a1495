# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""transport_info as Ansible runs it, on a copy of a node's files."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.testing import patch_module_args
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.switchless.spark.plugins.module_utils._nccl import library, memory, sources, version
from ansible_collections.switchless.spark.plugins.modules import transport_info

FILES = {
    "etc/nccl.conf": (
        "# by the image\n\nNCCL_IB_USE_INLINE=1\nNCCL_IB_PREPOST_RECEIVE_WORK_REQUESTS=1\nNCCL_ALGO = Tree\n"
    ),
    "etc/environment": (
        'PATH="/usr/bin"\n\nNCCL_SOCKET_IFNAME="enP7s7"\nexport GLOO_SOCKET_IFNAME=enP7s7\n#NCCL_DEBUG=INFO\n'
        "NCCL_CONF_FILE=/opt/nccl.conf\n"
    ),
    "etc/environment.d/50-ucx.conf": "UCX_NET_DEVICES='rocep1s0f0:1'\nHOME=/x\n",
    "etc/environment.d/README": "NCCL_DEBUG=INFO\n",
    "etc/profile.d/nccl.sh": (
        "# export NCCL_NET=Socket\n"
        "export NCCL_DEBUG=INFO NCCL_CUMEM_ENABLE=0 # why not\n"
        "[ -e /x ] && NCCL_NET=Socket; export NCCL_NET\n"
        "if true; then export NCCL_IB_GID_INDEX=; fi\n"
        "echo NCCL_ALGO=Tree\n"
        'NCCL_IB_HCA="$(ls /sys/class/infiniband)" run NCCL_PROTO=LL\n'
        "it's NCCL_ALGO=Tree\n"
    ),
    "etc/profile.d/old.csh": "setenv NCCL_DEBUG=INFO\n",
    "etc/systemd/system.conf": "[Manager]\n#DefaultEnvironment=NCCL_DEBUG=INFO\nDefaultLimitMEMLOCK=8M\n",
    "etc/systemd/system.conf.d/10-a.conf": (
        '[Manager]\nDefaultEnvironment=NCCL_DEBUG=WARN\nDefaultEnvironment=\nDefaultEnvironment="NCCL_ALGO=Ring" \\\n'
        "  VLLM_HOST_IP=10.0.0.1 LANG=C\n"
    ),
    "etc/switchless/nccl.env": "# by the role\nNCCL_ALGO=Ring\nARX_RING_PREV_HCAS=rocep1s0f0,roceP2p1s0f0\n",
    "root/.nccl.conf": "NCCL_CONF_FILE=/too/late\nNCCL_SOCKET_IFNAME=eth0",
    "opt/nccl.conf": "NCCL_MAX_NCHANNELS=2\n",
    "too/late": "NCCL_MAX_NCHANNELS=4\n",
    "proc/meminfo": (
        "MemTotal:       125513944 kB\nMemFree:        92274688 kB\nMemAvailable:   120000000 kB\n"
        "HugePages_Total:       0\nActive(anon):       4096 kB\n"
        "CmaTotal:         131072 kB\nCmaFree:          100000 kB\n"
    ),
    "proc/sys/kernel/osrelease": "6.17.0-1032-nvidia\n",
    "proc/cmdline": "BOOT_IMAGE=/vmlinuz quiet kho=off\n",
    "proc/self/limits": (
        "Limit                     Soft Limit           Hard Limit           Units     \n"
        "Max locked memory         8388608              unlimited            bytes     \n"
    ),
    "dev/infiniband/uverbs0": "",
    "dev/infiniband/rdma_cm": "",
}
EXPECTED = [
    ("/etc/nccl.conf", 3, "NCCL_IB_USE_INLINE", "1", "nccl_conf"),
    ("/etc/nccl.conf", 4, "NCCL_IB_PREPOST_RECEIVE_WORK_REQUESTS", "1", "nccl_conf"),
    ("/etc/nccl.conf", 5, "NCCL_ALGO ", " Tree", "nccl_conf"),
    ("/etc/environment", 3, "NCCL_SOCKET_IFNAME", "enP7s7", "environment"),
    ("/etc/environment", 4, "GLOO_SOCKET_IFNAME", "enP7s7", "environment"),
    ("/etc/environment", 6, "NCCL_CONF_FILE", "/opt/nccl.conf", "environment"),
    ("/etc/environment.d/50-ucx.conf", 1, "UCX_NET_DEVICES", "rocep1s0f0:1", "environment"),
    ("/etc/profile.d/nccl.sh", 2, "NCCL_DEBUG", "INFO", "shell"),
    ("/etc/profile.d/nccl.sh", 2, "NCCL_CUMEM_ENABLE", "0", "shell"),
    ("/etc/profile.d/nccl.sh", 3, "NCCL_NET", "Socket", "shell"),
    ("/etc/profile.d/nccl.sh", 4, "NCCL_IB_GID_INDEX", "", "shell"),
    ("/etc/profile.d/nccl.sh", 6, "NCCL_IB_HCA", "$(ls /sys/class/infiniband)", "shell"),
    ("/etc/systemd/system.conf.d/10-a.conf", 4, "NCCL_ALGO", "Ring", "systemd"),
    ("/etc/systemd/system.conf.d/10-a.conf", 4, "VLLM_HOST_IP", "10.0.0.1", "systemd"),
    ("/etc/switchless/nccl.env", 2, "NCCL_ALGO", "Ring", "environment"),
    ("/etc/switchless/nccl.env", 3, "ARX_RING_PREV_HCAS", "rocep1s0f0,roceP2p1s0f0", "environment"),
    ("/root/.nccl.conf", 1, "NCCL_CONF_FILE", "/too/late", "nccl_conf"),
    ("/root/.nccl.conf", 2, "NCCL_SOCKET_IFNAME", "eth0", "nccl_conf"),
    ("/opt/nccl.conf", 1, "NCCL_MAX_NCHANNELS", "2", "nccl_conf"),
]
LINKS = json.dumps(
    [
        {"ifname": "lo", "mtu": 65536, "flags": ["UP"], "addr_info": []},
        {
            "ifname": "enP7s7",
            "mtu": 1500,
            "flags": ["UP"],
            "addr_info": [{"family": "inet", "local": "192.0.2.70", "prefixlen": 24, "scope": "global"}],
        },
    ]
)
LOADED = {
    "torch": "2.9.0+cu130",
    "built_for": "2.28.9",
    "library": "/opt/vllm/lib/libnccl.so.2",
    "code": 23007,
    "sha256": "ab" * 32,
}


def build(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


class Node:
    """Answers the module's commands."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, answers: dict[str, tuple[int, str, str]]) -> None:
        self.answers = answers
        self.asked: list[list[str]] = []
        monkeypatch.setattr(AnsibleModule, "get_bin_path", lambda _self, arg: f"/bin/{arg}")
        monkeypatch.setattr(AnsibleModule, "run_command", self.run)

    def run(self, args: list[str], **_more: Any) -> tuple[int, str, str]:
        self.asked.append(args)
        return self.answers.get(args[0].removeprefix("/bin/"), (127, "", ""))


def info(capsys: pytest.CaptureFixture[str], root: Path, **args: Any) -> Any:
    with patch_module_args({"root": str(root), "host": "spark1", **args}), pytest.raises(SystemExit):
        transport_info.main()
    said = json.loads(capsys.readouterr().out)
    assert said["changed"] is False
    return said["transport"]


@pytest.mark.parametrize("check", [False, True])
def test_a_node(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, check: bool
) -> None:
    build(tmp_path, FILES)
    node = Node(
        monkeypatch,
        {
            "ip": (0, LINKS, ""),
            "systemctl": (0, "DefaultLimitMEMLOCKSoft=8388608\n", ""),
            "timeout": (0, f"a warning\n\n{json.dumps(LOADED)}\n", "another"),
        },
    )
    wanted = {"NCCL_ALGO": "Ring", "NCCL_CUMEM_ENABLE": 1, "NCCL_SOCKET_IFNAME": "enP7s7", "VLLM_HOST_IP": "10.0.0.1"}
    seen = info(
        capsys,
        tmp_path,
        address="192.0.2.70",
        python="/opt/vllm/bin/python",
        environment=wanted,
        _ansible_check_mode=check,
    )
    assert [tuple(s[key] for key in ("file", "line", "name", "value", "kind")) for s in seen["sources"]] == EXPECTED
    assert {s["file"] for s in seen["sources"] if s["ours"]} == {"/etc/switchless/nccl.env"}
    assert [(c["file"], c["line"], c["name"]) for c in seen["contradictions"]] == [
        ("/etc/nccl.conf", 3, "NCCL_IB_USE_INLINE"),
        ("/etc/nccl.conf", 4, "NCCL_IB_PREPOST_RECEIVE_WORK_REQUESTS"),
        ("/etc/profile.d/nccl.sh", 2, "NCCL_CUMEM_ENABLE"),
        ("/etc/profile.d/nccl.sh", 3, "NCCL_NET"),
        ("/etc/profile.d/nccl.sh", 4, "NCCL_IB_GID_INDEX"),
        ("/root/.nccl.conf", 2, "NCCL_SOCKET_IFNAME"),
    ]
    assert seen["control"] == {"address": "192.0.2.70", "netdev": "enP7s7", "mtu": 1500}
    assert seen["memory"] == {
        "cma_total_kb": 131072,
        "cma_free_kb": 100000,
        "available_kb": 120000000,
        "free_kb": 92274688,
        "kernel": "6.17.0-1032-nvidia",
        "kho_off": True,
        "locked_soft": 8388608,
        "locked_hard": -1,
        "locked_services": 8388608,
    }
    assert seen["refusal"] is None
    assert seen["infiniband"] == {"present": True, "verbs": ["uverbs0"]}
    assert seen["nccl"] == {
        "python": "/opt/vllm/bin/python",
        "version": "2.30.7",
        "too_old": False,
        "library": "/opt/vllm/lib/libnccl.so.2",
        "sha256": "ab" * 32,
        "torch": "2.9.0+cu130",
        "built_for": "2.28.9",
        "detail": "",
    }
    assert node.asked[0] == ["/bin/systemctl", "show", "--property=DefaultLimitMEMLOCKSoft"]
    assert node.asked[1][:5] == ["/bin/timeout", "--kill-after=2", "120.0", "/opt/vllm/bin/python", "-c"]
    assert node.asked[2] == ["/bin/ip", "-j", "address", "show"]


def test_a_node_with_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    Node(monkeypatch, {})
    seen = info(capsys, tmp_path, address="192.0.2.70", python="/nowhere/python")
    assert seen["sources"] == []
    assert seen["contradictions"] == []
    assert seen["control"] == {"address": "192.0.2.70", "netdev": None, "mtu": None}
    assert set(seen["memory"].values()) == {None, False}
    assert (seen["refusal"], seen["nccl"]) == (None, None)
    assert seen["infiniband"] == {"present": False, "verbs": []}
    seen = info(capsys, tmp_path)
    assert (seen["control"], seen["nccl"]) == (None, None)


@pytest.mark.parametrize(
    ("rc", "stdout", "stderr", "expected"),
    [
        (0, json.dumps({"error": "ModuleNotFoundError: No module named 'torch'"}), "", None),
        (1, "", "SyntaxError: invalid syntax", "no answer, it ended with 1: SyntaxError: invalid syntax"),
        (124, "", "", "no answer, it was stopped at its time limit: silence"),
        (0, "{broken\n", "", "no answer, it ended with 0: {broken"),
        (0, "[1]\n", "", "no answer, it ended with 0: [1]"),
    ],
)
def test_an_interpreter_without_nccl(rc: int, stdout: str, stderr: str, expected: str | None) -> None:
    found = library.parse("python", rc, stdout, stderr)
    assert found is not None
    assert found.version is None
    assert found.as_dict()["too_old"] is False
    assert found.detail == (expected or "ModuleNotFoundError: No module named 'torch'")


def test_the_question_is_a_program() -> None:
    """Asked of the interpreter that runs the tests, which has no PyTorch: an answer all the same."""
    ran = subprocess.run([sys.executable, "-c", library.ASK], capture_output=True, text=True, check=True)
    found = library.parse(sys.executable, 0, ran.stdout, ran.stderr)
    assert found is not None
    assert found.version is not None or found.detail.startswith(("ModuleNotFoundError", "OSError"))


KHO = "7.0.0-1019-nvidia"


@pytest.mark.parametrize(
    ("total", "free", "kernel", "kho_off", "refuses"),
    [
        (0, 940604, KHO, False, True),
        (0, 0, KHO, False, True),
        (0, None, KHO, False, True),
        (0, 0, KHO, True, False),
        (0, 940604, KHO, True, True),
        (0, 940604, None, False, True),
        (0, 0, "6.12.48-amd64", False, False),
        (0, 0, "7.0.5-generic", False, False),
        (131072, 131072, KHO, False, False),
        (131072, 100, "6.17.0-1032-nvidia", False, False),
        (None, 940604, KHO, False, False),
        (0, 0, None, False, False),
    ],
)
def test_who_cannot_register_memory(
    total: int | None, free: int | None, kernel: str | None, kho_off: bool, refuses: bool
) -> None:
    shown = memory.Memory(cma_total_kb=total, cma_free_kb=free, kernel=kernel, kho_off=kho_off)
    found = memory.refusal("spark3", shown)
    assert (found is not None) is refuses
    if found is not None:
        text = found.as_dict()["text"]
        assert text.startswith(f"spark3 cannot register memory: CmaTotal {total} kB")
        assert "kho=off" in text
        assert "expected CmaTotal 131072 kB" in text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("unlimited", -1),
        ("infinity", -1),
        ("18446744073709551615", -1),
        ("65536", 65536),
        ("8M", None),
        ("", None),
        (None, None),
    ],
)
def test_limits(text: str | None, expected: int | None) -> None:
    assert memory.limit(text) == expected


@pytest.mark.parametrize(
    ("text", "parsed", "old"),
    [
        ("2.28.9+cuda13.0", (2, 28, 9), True),
        ("2.30.4", (2, 30, 4), True),
        ("2.30.7", (2, 30, 7), False),
        ("v2.30.7-1", (2, 30, 7), False),
        ("2.31.2+cuda13.3", (2, 31, 2), False),
        ("3.0", (3, 0, 0), False),
        ("unknown", None, False),
        (None, None, False),
    ],
)
def test_versions(text: str | None, parsed: tuple[int, int, int] | None, old: bool) -> None:
    assert version.parse(text) == parsed
    assert version.too_old(text) is old


@pytest.mark.parametrize(
    ("code", "text"), [(23007, "2.30.7"), (22809, "2.28.9"), (30100, "3.1.0"), (2804, None), ("x", None), (True, None)]
)
def test_version_codes(code: object, text: str | None) -> None:
    assert version.from_code(code) == text


@given(st.sampled_from(sorted(sources.PARSERS)), st.text(alphabet="NCL_A=\"'\\#;&|$ \n\t", max_size=60))
def test_any_text_can_be_read(kind: str, text: str) -> None:
    for line, _name, _value in sources.PARSERS[kind](text):
        assert 1 <= line <= text.count("\n") + 1


def test_documented_as_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Every key that comes back is documented, at every depth."""
    build(tmp_path, FILES | {"proc/meminfo": "CmaTotal: 0 kB\nCmaFree: 5 kB\n"})
    Node(monkeypatch, {"timeout": (0, json.dumps(LOADED), "")})
    seen = info(capsys, tmp_path, address="192.0.2.70", python="python3")
    documented = yaml.safe_load(transport_info.RETURN)["transport"]["contains"]
    assert sorted(documented) == sorted(seen)
    for key, value in seen.items():
        inner = value[0] if isinstance(value, list) and value else value
        if isinstance(inner, dict):
            assert sorted(documented[key]["contains"]) == sorted(inner), key
