# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guests of make rdma: what QEMU is told, and how its control channel is read. No guest runs here."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lab.common import LabError
from lab.rdma.guest import Plug, argv
from lab.rdma.image import Image
from lab.rdma.qmp import Qmp


def test_a_guest_reaches_its_cables_and_is_reached_on_the_loopback_address_only() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        words = argv(Image(Path("image")), "rdma1", 1, 2201, [Plug("cableA", ours), Plug("cableB", theirs)], 9)
    netdevs = [words[at + 1] for at, word in enumerate(words) if word == "-netdev"]
    assert netdevs[0] == "user,id=management,restrict=on,hostfwd=tcp:127.0.0.1:2201-10.0.2.15:22"
    assert [netdev.split(",")[:2] for netdev in netdevs[1:]] == [["stream", "id=cableA"], ["stream", "id=cableB"]]
    assert words[:4] == ["setpriv", "--pdeathsig", "KILL", "qemu-system-x86_64"]
    assert not any("kvm" in word for word in words)
    assert next(word for word in words if word.startswith("if=none")).endswith("snapshot=on")


@contextmanager
def answering(*messages: object) -> Iterator[Qmp]:
    """QEMU, as it would have spoken."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(b"".join(json.dumps(message).encode() + b"\n" for message in messages))
        theirs.shutdown(socket.SHUT_WR)
        qmp = Qmp(ours)
        yield qmp
        qmp.close()


def test_events_between_a_command_and_its_answer_are_passed_over() -> None:
    with answering({"QMP": {}}, {"return": {}}, {"event": "RTC_CHANGE"}, {"return": {"status": "running"}}) as qmp:
        assert qmp.command("query-status") == {"status": "running"}


def test_a_refusal_is_said() -> None:
    refusal = {"error": {"class": "DeviceNotFound", "desc": "Device 'x' not found"}}
    with (
        answering({"QMP": {}}, {"return": {}}, refusal) as qmp,
        pytest.raises(LabError, match="QEMU refuses: Device 'x' not found"),
    ):
        qmp.command("set_link", name="x", up=False)


def test_a_qemu_that_is_gone_is_said() -> None:
    with answering({"QMP": {}}) as qmp, pytest.raises(LabError, match="QEMU is gone"):
        qmp.command("quit")
