# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The reboot of a group: who takes part, how the workers meet, what the action does, in which order, and when not."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible.errors import AnsibleConnectionFailure

from ansible_collections.switchless.spark.plugins.action import fabric_reboot
from ansible_collections.switchless.spark.plugins.module_utils._boot import group
from ansible_collections.switchless.spark.plugins.module_utils._boot.group import Play
from ansible_collections.switchless.spark.plugins.module_utils._boot.meeting import Meeting, Word

NODES = ("329f", "355d", "c049")
WHOLE = Play(host="355d", fabric=NODES, targeted=NODES, batch=NODES, active=NODES, forks=32)


# --- who takes part ---


@pytest.mark.parametrize(
    ("play", "words"),
    [
        pytest.param(WHOLE, [], id="all of them"),
        pytest.param(replace(WHOLE, forks=3, throttle=3), [], id="just enough"),
        pytest.param(replace(WHOLE, targeted=("355d",)), ["leaves out 329f, c049", "without --limit"], id="limited"),
        pytest.param(replace(WHOLE, batch=("355d",)), ["serial leaves 329f, c049 for later"], id="serial"),
        pytest.param(replace(WHOLE, active=("355d", "c049")), ["329f failed or cannot be reached"], id="one failed"),
        pytest.param(replace(WHOLE, forks=2), ["forks is 2", "set it to 3 or more"], id="too few forks"),
        pytest.param(replace(WHOLE, throttle=1), ["throttle 1"], id="throttled"),
        pytest.param(replace(WHOLE, run_once=True), ["run_once"], id="once"),
        pytest.param(replace(WHOLE, host="nas"), ["nas is not one of the nodes"], id="a stranger"),
        pytest.param(replace(WHOLE, forks=1, targeted=()), ["leaves out", "forks is 1"], id="two at a time"),
    ],
)
def test_refusals(play: Play, words: list[str]) -> None:
    problems = group.problems(play)
    assert bool(problems) is bool(words)
    assert all(word in "\n".join(problems) for word in words)


# --- what the NIC lacks ---


def function(cage: str, root: str, **shown: Any) -> dict[str, Any]:
    return {"cage": cage, "root": root, "netdev": f"en{cage}{root}", "admin_up": True, "carrier": True} | shown


FOUR = [function(cage, root) for cage in ("p0", "p1") for root in ("A", "B")]
PLANNED = [{"cage": "p0", "root": "A"}, {"cage": "p0", "root": "B"}]


@pytest.mark.parametrize(
    ("before", "now", "lacks"),
    [
        pytest.param(FOUR, FOUR, [], id="all is back"),
        pytest.param(FOUR, FOUR[:3], ["cage p1, root B: not on the bus"], id="one is gone"),
        pytest.param([], FOUR[:2], [], id="it was off the bus, and what is planned is back"),
        pytest.param(
            [], [], ["cage p0, root A: not on the bus", "cage p0, root B: not on the bus"], id="it stays off the bus"
        ),
        pytest.param(
            FOUR,
            [function("p0", "A", carrier=False), *FOUR[1:]],
            ["cage p0, root A (enp0A): no link"],
            id="no link where a cable is planned",
        ),
        pytest.param(FOUR, [*FOUR[:3], function("p1", "B", carrier=False)], [], id="no link where none is planned"),
        pytest.param(
            FOUR, [function("p0", "A", carrier=None, admin_up=False), *FOUR[1:]], [], id="not set up, so nothing to see"
        ),
    ],
)
def test_what_the_nic_lacks(before: list[Any], now: list[Any], lacks: list[str]) -> None:
    assert group.missing(before, PLANNED, now) == lacks


# --- the meeting ---


@dataclass
class Clock:
    """Time that passes only in sleep."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def at(folder: Path, host: str, clock: Clock) -> Meeting:
    return Meeting(folder, NODES, host, clock=clock, sleep=clock.sleep)


def test_all_come(tmp_path: Path) -> None:
    clock = Clock()
    for host in NODES:
        at(tmp_path, host, clock).tell("ready")
    assert at(tmp_path, "329f", clock).wait("ready", 60) == []
    assert clock.now == 0


def test_one_cannot(tmp_path: Path) -> None:
    clock = Clock()
    for host in NODES:
        at(tmp_path, host, clock).tell("ready", "disk full" if host == "355d" else "")
    assert at(tmp_path, "329f", clock).wait("ready", 60) == [Word("355d", "disk full")]


def test_one_never_comes(tmp_path: Path) -> None:
    clock = Clock()
    at(tmp_path, "329f", clock).tell("ready")
    at(tmp_path, "355d", clock).tell("back")
    words = at(tmp_path, "329f", clock).wait("ready", 60)
    assert [word.host for word in words] == ["355d", "c049"]
    assert words[0].problem == "did not get there within 60 s"
    assert 60 <= clock.now < 61


def test_threads_meet(tmp_path: Path) -> None:
    found: dict[str, list[Word]] = {}

    def come(host: str) -> None:
        meeting = Meeting(tmp_path / "new", NODES, host)
        meeting.tell("ready")
        found[host] = meeting.wait("ready", 30)

    threads = [threading.Thread(target=come, args=(host,)) for host in NODES]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {host: [] for host in NODES}


# --- the action ---


@dataclass
class Node:
    """A node as the action sees it: answers to modules and commands, and all that was asked, in order."""

    neutral: bool | None = True
    already: bool = False
    serving: str = "vllm@rank1.service loaded active running vLLM\n"
    boots: list[str] = field(default_factory=lambda: ["boot-1", "boot-2"])
    kernel_after: str = "6.17.0-1032-nvidia"
    drivers: tuple[str, str, str] = ("580.173.02", "580.173.02", "580.173.02")  # loaded, on disk, loaded afterwards
    functions_after: list[dict[str, Any]] = field(default_factory=lambda: FOUR)
    reboot: dict[str, Any] = field(default_factory=lambda: {"rebooted": True, "changed": True})
    fails: str = ""  # a word of the command that fails
    log: list[str] = field(default_factory=list)
    pins: dict[str, Any] = field(default_factory=dict)

    @property
    def is_up_again(self) -> bool:
        return "reboot" in self.log

    def module(self, module_name: str, module_args: dict[str, Any], **_: Any) -> dict[str, Any]:
        name = module_name.rpartition(".")[2]
        self.log.append(name)
        if name == self.fails:
            return {"failed": True, "msg": "cannot"}
        if name == "boot_info":
            running = self.kernel_after if self.is_up_again else "6.17.0-1032-nvidia"
            reasons = [{"neutral": self.neutral, "text": "GRUB starts 7.0.0-1019-nvidia"}]
            boot = {"neutral": self.neutral, "reasons": reasons, "boot_id": self.boots[self.is_up_again]}
            loaded, on_disk, after = self.drivers
            boot |= {"running_kernel": running, "next_kernel": "6.17.0-1032-nvidia"}
            boot |= {"driver_loaded": after if self.is_up_again else loaded, "driver_next": {"version": on_disk}}
            self.pins = {key: text for key, text in module_args.items() if text is not None}
            return {"boot": boot}
        if name == "reboot_memory":
            assert module_args["state"] == "remembered"
            previous = {"codes": ["hotplug"], "time": "2026-11-30T14:02:11Z"}
            return {"memory": {"already_rebooted": self.already, "previous": previous if self.already else None}}
        return {"cx7": {"functions": self.functions_after}}

    def command(self, line: str, **_: Any) -> dict[str, Any]:
        words = line.split()[3:]
        self.log.append(" ".join(words[:1] if words[0] == "list-units" else words))
        if words[0] == self.fails:
            return {"rc": 1, "stdout": "", "stderr": "Job failed"}
        return {"rc": 0, "stdout": self.serving if words[0] == "list-units" else "", "stderr": ""}


@pytest.fixture
def rebooting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Run the action on 355d; the other nodes have said what they say."""
    monkeypatch.setattr(fabric_reboot.constants, "DEFAULT_LOCAL_TMP", str(tmp_path))
    monkeypatch.setattr(fabric_reboot, "POLL_SECONDS", 0.01)
    controller = tmp_path / "boot_id"
    controller.write_text("boot-of-the-controller\n", encoding="utf-8")
    monkeypatch.setattr(fabric_reboot, "BOOT_ID", str(controller))

    def run(
        node: Node, others: str = "", *, check: bool = False, transport: str = "ssh", active: Any = NODES, **more: Any
    ) -> Any:
        options = {"hosts": list(NODES), "ports": PLANNED, "functions": FOUR, "codes": ["hotplug"], "link_timeout": 0}

        def reboot(**_: Any) -> Any:
            def go(**_: Any) -> dict[str, Any]:
                node.log.append("reboot")
                return node.reboot

            return SimpleNamespace(run=go)

        task = SimpleNamespace(
            action="fabric_reboot", args=options | more, check_mode=check, throttle=0, run_once=False, _uuid="u",
            async_val=0, diff=False, copy=lambda: SimpleNamespace(args={}),
        )  # fmt: skip
        connection = SimpleNamespace(transport=transport, _shell=SimpleNamespace(tmpdir=None))
        loader = SimpleNamespace(action_loader=SimpleNamespace(get=lambda _name, **_: reboot()))
        action = fabric_reboot.ActionModule(task, connection, SimpleNamespace(), None, None, loader)
        monkeypatch.setattr(action, "_shared_loader_obj", loader)
        monkeypatch.setattr(action, "_execute_module", node.module)
        monkeypatch.setattr(action, "_low_level_execute_command", node.command)
        monkeypatch.setattr(fabric_reboot.ActionBase, "run", lambda *_: {})
        for host in ("329f", "c049"):
            for stage in ("ready", "back", "whole"):
                Meeting(tmp_path / "fabric_reboot-u", NODES, host).tell(stage, others if stage == "ready" else "")
        play = dict.fromkeys(("ansible_play_hosts_all", "ansible_play_batch"), NODES)
        return action.run(
            task_vars=play | {"ansible_play_hosts": active, "ansible_forks": 5, "inventory_hostname": "355d"}
        )

    return run


LOOKED = ["boot_info", "list-units"]
PREPARED = [*LOOKED, "reboot_memory", "stop vllm@rank1.service"]
STARTED = "start --no-block vllm@rank1.service"


def test_all_goes_well(rebooting: Any) -> None:
    node = Node()
    result = rebooting(node)
    assert not result.get("failed"), result
    assert node.log == [*PREPARED, "reboot", "boot_info", "cx7_info", STARTED]
    assert (result["rebooted"], result["changed"], result["nic_back"]) == (True, True, True)
    assert (result["boot_id_before"], result["boot_id_after"]) == ("boot-1", "boot-2")
    assert result["stopped_units"] == result["started_units"] == ["vllm@rank1.service"]


@pytest.mark.parametrize(
    ("node", "others", "log", "words"),
    [
        pytest.param(
            Node(neutral=False),
            "",
            ["boot_info"],
            "No node was rebooted: 355d: a reboot is not neutral: GRUB starts 7.0.0-1019-nvidia",
            id="not neutral",
        ),
        pytest.param(
            Node(neutral=None), "", ["boot_info"], "355d: a reboot cannot be shown to be neutral", id="unknown"
        ),
        pytest.param(
            Node(already=True),
            "",
            [*LOOKED, "reboot_memory"],
            "355d: it was rebooted for hotplug with this cabling at 2026-11-30T14:02:11Z",
            id="once was enough",
        ),
        pytest.param(Node(fails="reboot_memory"), "", [*LOOKED, "reboot_memory"], "cannot", id="memory not written"),
        pytest.param(Node(fails="stop"), "", [*PREPARED, STARTED], "returned 1: Job failed", id="unit not stopped"),
        pytest.param(Node(), "disk full", [*PREPARED, STARTED], "329f: disk full; c049: disk full", id="the others"),
        pytest.param(
            Node(boots=["boot-of-the-controller", "x"]), "", ["boot_info"], "machine that Ansible runs on", id="itself"
        ),
    ],
)
def test_no_node_is_rebooted(rebooting: Any, node: Node, others: str, log: list[str], words: str) -> None:
    result = rebooting(node, others)
    assert (result["failed"], result["rebooted"], result["changed"]) == (True, False, False)
    assert node.log == log
    assert words in result["msg"]
    assert result["msg"].startswith("No node was rebooted: ")


def test_force(rebooting: Any) -> None:
    assert rebooting(Node(neutral=False, already=True), force=True)["rebooted"]


def test_pins_are_passed_on_and_the_new_driver_is_seen(rebooting: Any) -> None:
    node = Node(drivers=("580.173.02", "580.178.04", "580.178.04"))
    pins = {"pinned_driver": "580.178.04", "pinned_kernel": "6.17.0-1032-nvidia"}
    assert rebooting(node, **pins)["rebooted"]
    assert node.pins == pins


def test_local_connection(rebooting: Any) -> None:
    assert "it is the controller" in rebooting(Node(), transport="local")["msg"]


def test_failed_host_is_refused_before_anything_is_looked_at(rebooting: Any) -> None:
    node = Node()
    assert rebooting(node, active=("355d",))["failed"]
    assert node.log == []


@pytest.mark.parametrize(
    ("node", "words"),
    [
        pytest.param(Node(boots=["boot-1", "boot-1"]), "its boot id is still boot-1", id="did not reboot"),
        pytest.param(
            Node(kernel_after="7.0.0-1019-nvidia"),
            "it runs 7.0.0-1019-nvidia, and the boot loader had said 6.17.0-1032-nvidia",
            id="another kernel",
        ),
        pytest.param(
            Node(drivers=("580.173.02", "580.178.04", "580.173.02")),
            "the NVIDIA driver 580.173.02 is loaded, and 580.178.04 was to be",
            id="another driver",
        ),
        pytest.param(
            Node(reboot={"failed": True, "msg": "Timed out waiting for last boot time check (timeout=900)"}),
            "Timed out waiting for last boot time check (timeout=900); before the reboot its boot id was boot-1",
            id="did not come back",
        ),
    ],
)
def test_reboot_that_goes_wrong(rebooting: Any, node: Node, words: str) -> None:
    result = rebooting(node)
    assert result["failed"]
    assert result["msg"].startswith("355d did not reboot as it should: ")
    assert words in result["msg"]
    assert STARTED not in node.log


@pytest.mark.parametrize("required", [True, False])
def test_nic_that_does_not_come_back(rebooting: Any, *, required: bool) -> None:
    node = Node(functions_after=FOUR[1:])
    result = rebooting(node, require_nic=required)
    assert result["failed"] is required
    assert (result["rebooted"], result["nic_back"]) == (True, False)
    assert result["missing"] == ["cage p0, root A: not on the bus"]
    assert "355d: cage p0, root A: not on the bus" in result["msg"]
    assert "vllm@rank1.service of 355d was not started again" in result["msg"]
    assert STARTED not in node.log


def test_node_that_is_lost_while_the_nic_is_read(rebooting: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    node = Node()
    answer = node.module

    def lost(module_name: str, **more: Any) -> dict[str, Any]:
        if module_name.endswith("cx7_info"):
            raise AnsibleConnectionFailure("No route to host")
        return answer(module_name, **more)

    monkeypatch.setattr(node, "module", lost)
    assert rebooting(node)["missing"] == ["No route to host"]


def test_check_mode_says_what_would_be_done(rebooting: Any) -> None:
    node = Node()
    result = rebooting(node, check=True)
    assert node.log == LOOKED
    assert (result["changed"], result["rebooted"]) == (True, False)
    assert result["msg"] == (
        "Would reboot 355d into 6.17.0-1032-nvidia after stopping vllm@rank1.service, "
        "at the same time as all of 329f, 355d, c049."
    )


def test_check_mode_says_why_not(rebooting: Any) -> None:
    result = rebooting(Node(neutral=False), check=True)
    assert (result["failed"], result["changed"]) == (True, False)
    assert result["msg"].startswith("The fabric would not be rebooted: 355d: a reboot is not neutral")
