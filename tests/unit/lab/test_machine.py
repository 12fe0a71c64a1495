# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is read of the machine and of the kernel: texts in, values out."""

from __future__ import annotations

import os
import signal
import struct
import subprocess
from pathlib import Path

import pytest

from lab import netns
from lab.cgroup import parse_cgroup2_mount
from lab.procs import Process, parse_stat


def test_stat_with_a_name_that_looks_like_fields() -> None:
    tail = "S 17 4242 4242 0 -1 4194560 100 0 0 0 1 2 0 0 20 0 1 0 98765 1000 200"
    stat = parse_stat(f"4242 (a) R 1 (b c)) {tail}")
    assert (stat.pid, stat.state, stat.parent, stat.start) == (4242, "S", 17, 98765)


def test_a_process_is_its_pid_and_its_start(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        process = Process.of(child.pid)
        assert process is not None
        process.save(tmp_path / "pid")
        assert Process.load(tmp_path / "pid") == process
        assert not Process(child.pid, process.start + 1).signal(signal.SIGKILL), "another process of that number"
        assert process.alive()
        assert process.signal(signal.SIGKILL)
        child.wait()
    assert Process.load(tmp_path / "pid") is None
    assert not process.signal(signal.SIGKILL)


def test_a_pid_file_of_nonsense_is_no_process(tmp_path: Path) -> None:
    (tmp_path / "pid").write_text("[")
    assert Process.load(tmp_path / "pid") is None
    assert Process.of(os.getpid()) is not None


V1 = """\
24 29 0:5 / /sys/fs/cgroup rw shared:9 - tmpfs tmpfs ro,mode=755
35 24 0:27 / /sys/fs/cgroup/memory rw shared:11 - cgroup cgroup rw,memory
36 24 0:28 / /sys/fs/cgroup/unified rw shared:10 - cgroup2 cgroup2 rw
"""


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (V1, "/sys/fs/cgroup/unified"),
        ("30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n", "/sys/fs/cgroup"),
        ("24 29 0:5 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n", None),
    ],
)
def test_where_cgroup2_is(text: str, path: str | None) -> None:
    assert parse_cgroup2_mount(text) == (Path(path) if path else None)


def attribute(kind: int, data: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(data), kind) + data + bytes(-len(data) % 4)


def test_a_link_in_netlink() -> None:
    name = attribute(13, b"\0") + attribute(netns.IFLA_IFNAME, b"n0p1B\0")
    payload = struct.pack("=BBHiII", 0, 0, 1, 7, 0x1003, 0) + name
    assert netns.parse_link(payload) == netns.Link(7, "n0p1B", up=True)
    message = struct.pack("=IHHII", 16 + len(payload), netns.RTM_NEWLINK, 0, 1, 0) + payload
    done = struct.pack("=IHHII", 20, netns.NLMSG_DONE, 0, 1, 0) + bytes(4)
    padded = message + bytes(-len(message) % 4)
    assert [kind for kind, body in netns.messages(padded + done)] == [netns.RTM_NEWLINK, netns.NLMSG_DONE]
    assert list(netns.messages(b"\4\0\0\0" + bytes(12))) == []
