# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module fabric_network as Ansible runs it: the real main() on a node that does what it is told."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.switchless.spark.plugins.module_utils._node import change
from ansible_collections.switchless.spark.plugins.module_utils._node.ip import Route
from ansible_collections.switchless.spark.plugins.module_utils._node.runner import Result
from tests.unit.node.node_bench import KEY, Bench
from tests.unit.node.node_world import LAN, PORTS, UNIT, FakeNode

FOREIGN = f"network:\n  version: 2\n  ethernets:\n    {LAN}: {{dhcp4: true}}\n    {PORTS[0]}: {{dhcp4: true}}\n"


FRESH = [
    f"{PORTS[0]} has MTU 1500, not 9000",
    f"{PORTS[0]} has 10.9.9.9/24, not 198.18.0.1/24",
    f"{PORTS[0]} is held by NetworkManager",
    f"{PORTS[1]} is down",
    f"{PORTS[1]} has MTU 1500, not 9000",
    f"{PORTS[1]} is held by NetworkManager",
    f"route to 198.18.2.0/24 via 198.18.0.2 ({PORTS[0]}) is missing",
    f"route to 10.8.0.0/16 via 10.9.9.1 ({PORTS[0]}) is not of the plan",
    "the relay is not installed",
]
STOP = [
    "systemctl stop switchless-fabric-deadline.timer",
    "systemctl reset-failed switchless-fabric-deadline.timer switchless-fabric-deadline.service",
]
TIMER = "--unit=switchless-fabric-deadline --on-active=45s --timer-property=AccuracySec=250ms"
APPLY = [
    "systemctl daemon-reload",
    f"systemctl enable --quiet {change.ROLLBACK_UNIT}",
    *STOP,
    f"systemd-run --quiet {TIMER} systemctl start {change.ROLLBACK_UNIT}",
    "systemctl daemon-reload",
    "nmcli general reload conf",
    f"nmcli device set {PORTS[0]} managed no",
    f"nmcli device set {PORTS[1]} managed no",
    "netplan generate",
    "systemctl start systemd-networkd.service",
    "networkctl reload",
    f"networkctl reconfigure {PORTS[0]}",
    f"networkctl reconfigure {PORTS[1]}",
    f"systemctl enable --quiet {UNIT}",
    f"systemctl start {UNIT}",
]


def test_nothing_to_do(bench: Bench) -> None:
    bench.node.settled()
    bench.write_files()
    result = bench.run()
    assert (result["changed"], result["changes"], result["armed"], result["pending"]) == (False, [], False, False)
    assert (result["backups"], result["last_rollback"]) == ([], None)
    assert bench.node.changing == []
    assert change.pending() is None


def test_a_fresh_node_in_check_mode_is_judged_and_not_touched(bench: Bench) -> None:
    before = bench.everything()
    result = bench.run(check=True)
    assert bench.everything() == before
    assert bench.node.changing == []
    assert (result["changed"], result["armed"], result["pending"]) == (True, False, True)
    assert result["changes"] == [f"{file['path']} differs" for file in bench.args["files"]] + FRESH
    assert result["diff"][-1] == {
        "before": "",
        "after": f"network: {{ethernets: {{{PORTS[0]}: {{}}}}}}\n",
        "before_header": f"{bench.node.netplan}/90-switchless-fabric.yaml",
        "after_header": f"{bench.node.netplan}/90-switchless-fabric.yaml",
    }


def test_a_route_that_networkd_leaves_is_taken_away_and_known_to_the_roll_back(bench: Bench) -> None:
    stale = Route("10.8.0.0/16", "10.9.9.1", PORTS[0])
    bench.node.kept = (stale,)
    result = bench.run()
    assert (result["changed"], result["armed"]) == (True, True)
    assert f"ip -4 route delete 10.8.0.0/16 via 10.9.9.1 dev {PORTS[0]}" in bench.node.changing
    assert stale not in bench.node.routes
    pending = change.pending()
    assert pending is not None
    assert pending["routes"] == [["10.8.0.0/16", "via", "10.9.9.1", "dev", PORTS[0]]]
    bench.run(state="confirmed")
    assert bench.run()["changed"] is False


def test_a_route_that_stays_whatever_is_done_is_a_failure(bench: Bench) -> None:
    bench.node.kept = (Route("10.8.0.0/16", "10.9.9.1", PORTS[0]),)
    bench.node.answers["ip -4 route delete"] = Result(2, "", "RTNETLINK answers: Operation not permitted")
    result = bench.run()
    assert result["failed"]
    assert f"route to 10.8.0.0/16 via 10.9.9.1 ({PORTS[0]}) is not of the plan" in result["msg"]


def test_a_fresh_node_is_changed_confirmed_and_then_left_alone(bench: Bench) -> None:
    result = bench.run()
    assert (result["changed"], result["armed"], result["pending"]) == (True, True, True)
    assert bench.node.changing == APPLY
    assert not any(change.File(f["path"], f["content"], int(f["mode"], 8)).differs() for f in bench.args["files"])
    manifest = change.pending()
    assert manifest is not None
    assert [Path(entry["path"]).name for entry in manifest["files"]] == ["fabric-relay", "90-switchless-fabric.yaml"]
    assert [(port["netdev"], port["networkmanager"]) for port in manifest["ports"]] == [(p, True) for p in PORTS]
    assert manifest["routes"] == [["10.8.0.0/16", "via", "10.9.9.1", "dev", PORTS[0]]]

    bench.node.asked.clear()
    kept = bench.run(state="confirmed")
    assert (kept["changed"], kept["armed"], kept["pending"]) == (True, False, False)
    assert (bench.node.changing, change.pending()) == (STOP, None)

    bench.node.asked.clear()
    again = bench.run()
    assert (again["changed"], bench.node.changing) == (False, [])


def test_the_node_can_go_down_as_soon_as_it_is_changed(bench: Bench) -> None:
    """Before the first file changes, the manifest is written, the roll-back starts at boot, and the timer runs."""
    own = bench.node.netplan / "90-switchless-fabric.yaml"
    seen = []
    answer = bench.node.run

    def watch(argv: Any, *, data: str | None = None) -> Result:
        if argv[0] == "systemd-run":
            seen.append((change.pending() is not None, change.ROLLBACK_UNIT in bench.node.enabled, own.exists()))
        return answer(argv, data=data)

    bench.node.run = watch  # type: ignore[method-assign]
    bench.run()
    assert seen == [(True, True, False)]


def test_the_lock_is_held_from_the_first_look_on(bench: Bench) -> None:
    free = []
    answer = bench.node.run

    def watch(argv: Any, *, data: str | None = None) -> Result:
        with (bench.node.state / "lock").open("w") as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                pass
            else:
                free.append(argv)
        return answer(argv, data=data)

    bench.node.run = watch  # type: ignore[method-assign]
    assert bench.run()["changed"]
    assert free == []


def netplan(text: str, name: str = "40-cx7.yaml") -> Callable[[Bench], dict[str, Any]]:
    def write(bench: Bench) -> dict[str, Any]:
        (bench.node.netplan / name).write_text(text)
        return {}

    return write


def one(body: str) -> str:
    return f"network:\n  ethernets:\n    {body}\n"


def over_a_port(_bench: Bench) -> dict[str, Any]:
    return {"management_address": "10.9.9.9"}


def vpn(bench: Bench) -> dict[str, Any]:
    bench.node.routes.append(Route("198.18.0.0/15", None, "wg0"))
    return {}


TAKE_OVER = "remove it, or set fabric_take_over to true to have it cut out (a copy is kept)"
BY_HAND = "move the fabric's ports out of it by hand"
REFUSED: dict[str, tuple[Callable[[Bench], dict[str, Any]], bool, list[str]]] = {
    "foreign file": (
        netplan(FOREIGN),
        False,
        [f"/40-cx7.yaml:5 defines {PORTS[0]} (as {PORTS[0]}): {TAKE_OVER}"],
    ),
    "glob over the management port": (
        netplan(one("all: {match: {name: 'en*'}, dhcp4: true}")),
        True,
        [f"/40-cx7.yaml:3 defines {PORTS[0]}, {PORTS[1]} (as all), and it also defines {LAN}: {BY_HAND}"],
    ),
    "drivers, that of the management port too": (
        netplan(one("all: {match: {driver: [mlx5_core, r8127]}, dhcp4: true}")),
        True,
        [f"/40-cx7.yaml:3 defines {PORTS[0]}, {PORTS[1]} (as all), and it also defines {LAN}: {BY_HAND}"],
    ),
    "managed over a port of the fabric": (over_a_port, True, ["this node is managed at 10.9.9.9"]),
    "a VPN": (vpn, True, ["the route to 198.18.0.0/15 over wg0 overlaps the fabric's 198.18.0.0/24, 198.18.2.0/24"]),
}


@pytest.mark.parametrize("check", [True, False], ids=["check mode", "for real"])
@pytest.mark.parametrize(("prepare", "take_over", "says"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused(
    prepare: Callable[[Bench], dict[str, Any]], take_over: bool, says: list[str], check: bool, bench: Bench
) -> None:
    args = prepare(bench)
    before = {path: state for path, state in bench.everything().items() if path != str(bench.node.root)}
    result = bench.run(check=check, take_over=take_over, **args)
    assert result["failed"]
    head, *lines = result["msg"].splitlines()
    assert head == "Nothing was changed."
    assert len(lines) == len(says)
    assert all(line.startswith("- ") and text in line for line, text in zip(lines, says, strict=True))
    assert bench.node.changing == []
    after = bench.everything()
    assert {path: after[path] for path in before} == before
    assert not {Path(path).name for path in after.keys() - before.keys()} - {"state", "lock"}


def test_a_netplan_file_that_is_not_yaml(bench: Bench) -> None:
    (bench.node.netplan / "50-broken.yaml").write_text("network: [\n")
    result = bench.run(check=True)
    assert result["msg"].startswith(f"{bench.node.netplan}/50-broken.yaml is not valid YAML: ")


def test_a_netplan_file_that_is_not_text(bench: Bench) -> None:
    (bench.node.netplan / "50-broken.yaml").write_bytes(b"# R\xe4um\nnetwork: {}\n")
    result = bench.run(check=True)
    assert result["msg"].startswith(f"{bench.node.netplan}/50-broken.yaml is not UTF-8: ")


def test_taking_over(bench: Bench) -> None:
    netplan(FOREIGN)(bench)
    netplan(f"network:\n  ethernets:\n    {PORTS[1]}: {{}}\n", "41-more.yaml")(bench)
    result = bench.run(take_over=True)
    shared, gone = bench.node.netplan / "40-cx7.yaml", bench.node.netplan / "41-more.yaml"
    assert shared.read_text() == f"network:\n  version: 2\n  ethernets:\n    {LAN}: {{dhcp4: true}}\n"
    assert not gone.exists()
    assert result["changes"][3:5] == [f"{shared} differs", f"{gone} goes"]
    assert [Path(copy).read_text() for copy in result["backups"]] == [
        FOREIGN,
        f"network:\n  ethernets:\n    {PORTS[1]}: {{}}\n",
    ]
    manifest = change.pending()
    assert manifest is not None
    assert [entry["path"] for entry in manifest["files"]][2:] == [str(shared), str(gone)]
    assert Path(manifest["files"][2]["backup"]).read_text() == FOREIGN
    bench.run(state="confirmed")
    assert not bench.run(take_over=True)["changed"]


def test_an_unconfirmed_change_of_an_earlier_run_is_taken_up(bench: Bench) -> None:
    bench.run()
    first = change.pending()
    bench.node.asked.clear()
    result = bench.run()
    assert (result["changed"], result["armed"], result["pending"]) == (False, True, True)
    assert change.pending() == first, "the state to go back to is that before the first run"
    assert bench.node.changing[3:5] == APPLY[3:5]


def test_a_node_that_does_not_become_as_stated(bench: Bench) -> None:
    bench.node.lose(PORTS[0])
    result = bench.run()
    assert result["msg"] == (
        "The change was made, but the node is not as stated; it will be rolled back:\n"
        f"- {PORTS[0]} has no address, not 198.18.0.1/24"
    )
    assert change.pending() is not None


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        ("netplan generate", Result(1, "", "90-x.yaml:3:5: unknown key 'foo'")),
        (f"networkctl reconfigure {PORTS[1]}", Result(1, "", "Interface is not managed")),
        ("systemd-run", Result(1, "", "Failed to start transient timer unit")),
        ("ip -j address", Result(255, "", "Cannot open netlink socket")),
    ],
)
def test_a_command_that_fails_is_quoted(command: str, answer: Result, bench: Bench) -> None:
    bench.node.answers = {command: answer}
    result = bench.run()
    assert result["msg"].startswith(f"Command {command}")
    assert result["msg"].endswith(f"returned {answer.rc}: {answer.stderr}")
    own = bench.node.netplan / "90-switchless-fabric.yaml"
    assert own.exists() is command.startswith(("netplan", "networkctl")), "no address changes without a deadline"


def test_confirming_what_was_rolled_back(bench: Bench) -> None:
    bench.node.state.mkdir()
    report = {"time": "2026-01-02T03:04:05Z", "reason": "the change was not confirmed in time", "failed": []}
    (bench.node.state / "last-rollback.json").write_text(json.dumps(report))
    result = bench.run(state="confirmed")
    assert result["msg"] == (
        "There is no change left to keep: it was rolled back at 2026-01-02T03:04:05Z because the change was not "
        "confirmed in time. Run the play again; raise fabric_rollback_seconds if the nodes are slow."
    )


def test_confirming_where_nothing_ever_was(bench: Bench) -> None:
    assert "at an unknown time because of an unknown reason" in bench.run(state="confirmed")["msg"]


@pytest.mark.parametrize("waiting", [True, False], ids=["a change waits", "no change waits"])
@pytest.mark.parametrize("state", ["confirmed", "restored"])
def test_confirming_and_restoring_in_check_mode(state: str, waiting: bool, bench: Bench) -> None:
    if waiting:
        bench.run()
    before = bench.everything()
    bench.node.asked.clear()
    assert bench.run(check=True, state=state)["changed"] is waiting
    assert (bench.node.asked, bench.everything()) == ([], before)


def test_restoring(bench: Bench) -> None:
    bench.run()
    bench.node.asked.clear()
    result = bench.run(state="restored")
    assert (result["changed"], result["armed"], result["pending"]) == (True, False, False)
    reason = "the play asked for it: a node or a path failed the proof"
    assert bench.node.asked == [*STOP, f"{' '.join(change.ROLLBACK_TOOL)} {reason}"]


def test_restoring_where_nothing_waits(bench: Bench) -> None:
    result = bench.run(state="restored")
    assert (result["changed"], bench.node.asked) == (False, [])


def test_a_roll_back_that_fails_says_what(bench: Bench) -> None:
    bench.run()
    bench.node.answers = {" ".join(change.ROLLBACK_TOOL): Result(1, "rolled back: x\nfailed: netplan generate: no", "")}
    assert bench.run(state="restored")["msg"].endswith("failed: netplan generate: no")


@pytest.mark.parametrize(
    ("change_node", "expected"),
    [
        (lambda node: setattr(node, "loaded", False), ["the relay rules were not loaded since boot"]),
        (lambda node: node.enabled.clear(), [f"{UNIT} is not enabled"]),
        (lambda node: node.managed.add(PORTS[1]), [f"{PORTS[1]} is held by NetworkManager"]),
        (
            lambda node: node.links.update({PORTS[1]: replace(node.links[PORTS[1]], mtu=1500)}),
            [f"{PORTS[1]} has MTU 1500, not 9000"],
        ),
        (
            lambda node: (node.root / "proc/net/ipv4/conf" / PORTS[0] / "rp_filter").write_text("1\n"),
            [f"{KEY} is 1, not 2"],
        ),
        (
            lambda node: node.answers.update(
                {"nmcli -t": Result(0, f"{PORTS[0]}:unmanaged\n{PORTS[1]}:unavailable\n")}
            ),
            [f"{PORTS[1]} is held by NetworkManager"],
        ),
        (lambda node: node.answers.update({"nmcli": Result(127, "", "nmcli: not installed")}), []),
        (lambda node: node.answers.update({"nmcli": Result(8, "", "Error: NetworkManager is not running.")}), []),
    ],
    ids=[
        "relay",
        "unit",
        "NetworkManager",
        "MTU",
        "sysctl",
        "held without a carrier",
        "no NetworkManager",
        "NetworkManager does not run",
    ],
)
def test_what_drifted(change_node: Callable[[FakeNode], object], expected: list[str], bench: Bench) -> None:
    bench.node.settled()
    bench.write_files()
    change_node(bench.node)
    assert bench.run(check=True)["changes"] == expected
