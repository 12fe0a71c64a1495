# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The working fabric: laid once, left alone by a second run, and back after whatever happens to a node."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import pytest

from tests.e2e.cluster import CHECKOUT, Cluster, Played

NM_GIVES_UP_SECONDS = 65  # NetworkManager flushes a port that it holds when its DHCP ends, after about 45 s

# All that the fabric is made of, as a node shows it: files, what starts at boot, settings, ports, routes, the relay.
FABRIC_FILES = (
    "/etc/netplan/90-switchless-fabric.yaml /etc/sysctl.d/90-switchless-fabric.conf /etc/switchless/fabric-relay.nft "
    "/etc/NetworkManager/conf.d/90-switchless-fabric.conf /etc/systemd/system/switchless-fabric.service"
)
SHAPE = f"""sha256sum {FABRIC_FILES} 2>&1
systemctl is-enabled switchless-fabric.service
sysctl $(grep -oE '^net[^ ]+' /etc/sysctl.d/90-switchless-fabric.conf)
for port in enp1s0f0np0 enp1s0f1np1 enP2p1s0f0np0 enP2p1s0f1np1; do
  echo $port $(cat /sys/class/net/$port/mtu)
  ip -o -4 address show dev $port scope global | grep -o 'inet [0-9./]*'
done
ip -4 route show | grep -oE '^198[.0-9/]+ (via [.0-9]+ )?dev [^ ]+' | sort
/usr/local/lib/switchless/fabric-relay check 2>&1 && echo relay
true"""


def fabric_addresses(ring: Cluster) -> dict[str, dict[str, list[str]]]:
    """Give the addresses of the ConnectX-7 ports of every node."""
    return {n: {d: a for d, a in ring.addresses(n).items() if "P2p1" in d or "p1s0" in d} for n in ring.names}


def unchanged(ring: Cluster, *words: str) -> None:
    """Require that a run succeeds and changes nothing."""
    played = ring.fabric(*words)
    assert played.rc == 0, played.text
    assert not any(played.changed.values()), played.text


def comes_to(ring: Cluster, laid: dict[str, str]) -> None:
    """Require that every node soon looks as it did when the fabric was laid, by itself."""
    deadline = time.monotonic() + 30
    while (seen := ring.nodes(SHAPE)) != laid:
        assert time.monotonic() < deadline, f"{seen}\nexpected:\n{laid}"
        time.sleep(1)


@pytest.fixture(scope="module")
def laid(ring: Cluster) -> dict[str, str]:
    """Give what the nodes look like before anything happens to them."""
    shapes = ring.nodes(SHAPE)
    assert all(shape.splitlines()[-1] == "relay" and shape.count("inet ") == 4 for shape in shapes.values()), shapes
    return shapes


def test_site_lays_the_fabric_and_proves_it(ring: Cluster) -> None:
    played = ring.play()
    assert played.rc == 0, played.text
    report = json.loads((CHECKOUT / ".report" / "fabric.json").read_text())
    assert report["verdict"] == "proved"
    kinds = [probe["kind"] for probes in report["probes"].values() for probe in probes]
    assert (kinds.count("ping"), kinds.count("tcp")) == (16, 16)
    assert "Fabric proved: 16 of 16 paths to neighbours, 16 of 16 through a relay" in played.text
    assert all(len(devices) == 4 for devices in fabric_addresses(ring).values())


def test_second_run_changes_nothing(ring: Cluster) -> None:
    played = ring.play()
    assert played.rc == 0, played.text
    assert not any(played.changed.values()), played.text


def test_post_checks_find_the_ring_as_it_should_be(ring: Cluster) -> None:
    assert "passed" in ring.asked_from_outside("fabric", "transport")


def test_limit_to_one_node(ring: Cluster) -> None:
    unchanged(ring, "--limit", "spark2")
    report = json.loads((CHECKOUT / ".report" / "fabric.json").read_text())
    assert report["verdict"] == "incomplete"
    assert report["not_probed"] == ["spark1", "spark3", "spark4"]


@pytest.mark.parametrize(
    "harms",
    [
        pytest.param(
            {
                "spark1": "nft flush ruleset",
                "spark2": "ip address flush dev enp1s0f1np1 scope global",
                "spark3": "ip route flush proto static",
                "spark4": "ip link set enp1s0f0np0 mtu 1500",
            },
            id="rules, addresses, routes flushed, MTU back to 1500",
        ),
        pytest.param(
            {
                "spark1": "sysctl -qw net.ipv4.conf.enp1s0f1np1.forwarding=0",
                "spark2": "systemctl disable switchless-fabric.service",
                "spark3": "echo '# by hand' >> /etc/netplan/90-switchless-fabric.yaml",
                "spark4": "rm -r /etc/NetworkManager/conf.d/90-switchless-fabric.conf",
            },
            id="forwarding off, unit disabled, file edited, file gone",
        ),
    ],
)
def test_what_was_broken_by_hand_is_found_and_mended(
    ring: Cluster, laid: dict[str, str], harms: dict[str, str]
) -> None:
    """One kind of harm a node; a harm on one node alone is below, with Docker."""
    for node, harm in harms.items():
        ring.node(node, harm)
        assert ring.node(node, SHAPE) != laid[node], f"{harm} did nothing"
    played = ring.fabric()
    assert played.rc == 0, played.text
    assert all(played.changed[node] > 0 for node in harms), played.text
    assert ring.nodes(SHAPE) == laid


def test_same_addresses_routes_and_relay_after_a_reboot(ring: Cluster, laid: dict[str, str]) -> None:
    before = fabric_addresses(ring)
    boots = {node: ring.node(node, "cat /proc/sys/kernel/random/boot_id") for node in ring.names}
    for node in ring.names:
        ring.node(node, "systemctl --no-block reboot")
    deadline = time.monotonic() + 90
    for node in ring.names:
        while ring.node(
            node, "cat /proc/sys/kernel/random/boot_id; systemctl is-system-running --wait", check=False
        ).startswith((boots[node].strip(), "\n")) or not ring.node(
            node, "systemctl is-active ssh", check=False
        ).startswith("active"):
            assert time.monotonic() < deadline, f"{node} did not come back"
            time.sleep(1)
    assert fabric_addresses(ring) == before
    comes_to(ring, laid)


def test_nothing_is_lost_when_networkmanager_restarts(ring: Cluster, laid: dict[str, str]) -> None:
    for node in ring.names:
        ring.node(node, "systemctl restart NetworkManager")
    time.sleep(NM_GIVES_UP_SECONDS)
    assert ring.nodes(SHAPE) == laid


def test_nftables_restart_does_not_lose_the_relay(ring: Cluster, laid: dict[str, str]) -> None:
    ring.node("spark2", "systemctl restart nftables; sleep 1; /usr/local/lib/switchless/fabric-relay check")
    assert ring.node("spark2", SHAPE) == laid["spark2"]


# What dockerd does to the rules when it starts: a FORWARD policy of DROP, and a DOCKER-USER chain made anew.
DOCKERD = "iptables -w -N DOCKER-USER || iptables -w -F DOCKER-USER; iptables -w -A DOCKER-USER -j RETURN; "
DOCKERD += "iptables -w -C FORWARD -j DOCKER-USER || iptables -w -I FORWARD -j DOCKER-USER; iptables -w -P FORWARD DROP"
DOCKER_UNIT = f"[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/sh -c '{DOCKERD}'\n"
COUNTERS = "nft -j list counters table inet switchless_fabric"


def refused(ring: Cluster, node: str) -> dict[str, int]:
    """Give the packets that the relay of a node refused, by counter."""
    entries = json.loads(ring.node(node, COUNTERS))["nftables"]
    return {entry["counter"]["name"]: entry["counter"]["packets"] for entry in entries if "counter" in entry}


def test_relay_survives_docker_check_mode_has_nothing_to_do_and_one_node_is_mended_alone(ring: Cluster) -> None:
    """Check mode comes after reboot and restarts too: the node's shape was right after each, its proofs are now."""
    ring.node("spark2", f"cat > /etc/systemd/system/docker.service <<'E'\n{DOCKER_UNIT}E\nsystemctl daemon-reload")
    try:
        for verb in ("start", "restart"):
            ring.node(
                "spark2", f"systemctl {verb} docker.service; sleep 2; /usr/local/lib/switchless/fabric-relay check"
            )
            assert "-P FORWARD DROP" in ring.node("spark2", "iptables -S FORWARD")
        unchanged(ring, "--check")
        ring.node("spark2", "iptables -F DOCKER-USER; iptables -A DOCKER-USER -j RETURN")
        played = ring.fabric()
        assert played.rc == 0, played.text
        assert played.changed["spark2"] > 0
        assert not any(count for node, count in played.changed.items() if node != "spark2"), played.text
    finally:
        ring.node("spark2", "systemctl stop docker; rm /etc/systemd/system/docker.service; systemctl daemon-reload")
        ring.node("spark2", "iptables -P FORWARD ACCEPT; iptables -F; iptables -X")


def test_relay_passes_nothing_but_tcp_and_icmp_between_fabric_subnets(ring: Cluster) -> None:
    far = next(a for a in ring.addresses("spark3")["enp1s0f0np0"])
    routed = json.loads(ring.node("spark1", f"ip -j route get {far}"))[0]["gateway"]
    middle = next(n for n in ring.names if routed in [a for held in ring.addresses(n).values() for a in held])
    before = refused(ring, middle)
    send = "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('{}', {}))"
    for port in (4791, 9999):
        ring.node("spark1", f'python3 -c "{send.format(far, port)}"')
    time.sleep(1)
    after = refused(ring, middle)
    assert {name: after[name] - before[name] for name in after} == {"roce_refused": 1, "other_refused": 1}
    # and nothing from the management network is let in, although the middle node would forward it
    mgmt = json.loads(ring.node(middle, "ip -j -4 address show dev enP7s7"))[0]["addr_info"][0]["local"]
    ring.node("spark1", f"ip route add {far}/32 via {mgmt} dev enP7s7 && sysctl -qw net.ipv4.conf.all.rp_filter=0")
    ring.node(middle, "sysctl -qw net.ipv4.conf.enP7s7.forwarding=1")
    try:
        assert ring.node("spark1", f"ping -c 1 -W 1 {far} >/dev/null && echo leaked || true") == ""
    finally:
        ring.node("spark1", f"ip route delete {far}/32")
        ring.node(middle, "sysctl -qw net.ipv4.conf.enP7s7.forwarding=0")


MINE = "/etc/netplan/60-mine.yaml"


@pytest.fixture(scope="module")
def stopped(ring: Cluster) -> Iterator[Played]:
    """Give one run that two nodes refuse, each for a reason of its own. The file stays on spark1."""
    text = "network:\n  version: 2\n  ethernets:\n    # keep me\n    enp1s0f0np0:\n      dhcp4: true\n"
    text += "    other0:\n      dhcp4: true\n"
    overlap = "ip link add e2e0 type bridge && ip address add 198.18.2.77/20 dev e2e0 && ip link set e2e0 up"
    ring.node("spark1", f"printf '{text}' > {MINE}; chmod 600 {MINE}")
    ring.node("spark2", overlap)
    try:
        try:
            played = ring.fabric()
        finally:
            ring.node("spark2", "ip link delete e2e0")
        yield played
    finally:
        ring.node("spark1", f"rm -f {MINE}")


def test_network_of_the_node_that_overlaps_the_fabric(stopped: Played) -> None:
    assert stopped.rc != 0
    assert stopped.failed["spark2"] == 1, stopped.text
    assert stopped.said("Nothing was changed.", "198.18.0.0/20 of e2e0", "fabric_subnet_pool")
    assert not any(stopped.changed.values()), stopped.text


def test_foreign_netplan_file_is_named_and_taken_over_only_when_told_to(ring: Cluster, stopped: Played) -> None:
    assert stopped.rc != 0
    assert stopped.failed["spark1"] == 1, stopped.text
    assert stopped.said("Nothing was changed.", f"{MINE}:5 defines enp1s0f0np0", "fabric_take_over")
    try:
        taken = ring.fabric("-e", "fabric_take_over=true")
        assert taken.rc == 0, taken.text
        # spark2 had Docker, and a network in the way: nothing of them is left to mend
        assert not any(count for node, count in taken.changed.items() if node != "spark1"), taken.text
        left = ring.node("spark1", f"cat {MINE}")
        assert "enp1s0f0np0" not in left
        assert "other0" in left
        copy = ring.node("spark1", f"cat /var/lib/switchless/backup/*{MINE}")
        assert "enp1s0f0np0" in copy
        unchanged(ring)
    finally:
        ring.node("spark1", f"rm -f {MINE}")


def test_cable_out_and_far_node_off_are_named_in_a_working_fabric(ring: Cluster, laid: dict[str, str]) -> None:
    """A cable without light is judged by itself, so one run shows both."""
    here = [node for node in ring.names if node != "spark3"]
    ring.lab("unplug", "4")
    ring.lab("poweroff", "spark3")
    try:
        played = ring.fabric("--limit", ",".join(here))
        seen = {node: ring.node(node, SHAPE) for node in here}
    finally:
        ring.lab("plug", "4")
        ring.lab("poweron", "spark3")
    assert played.rc != 0
    assert played.said("cable 4 (spark4:p1 - spark1:p0) has no link on root A", "No address was changed.")
    assert played.said("cable 2 (spark2:p0 - spark3:p0) has no link", "is spark3 on?")
    assert "cable 1" not in played.text, "it has a link"
    assert seen == {node: laid[node] for node in here}, "all stays while a cable is out"
    comes_to(ring, laid)


def test_changed_plan_is_applied_and_can_be_changed_back(ring: Cluster, laid: dict[str, str]) -> None:
    played = ring.fabric("-e", "fabric_subnet_pool=198.19.0.0/16")
    assert played.rc == 0, played.text
    held = [a for devices in fabric_addresses(ring).values() for addresses in devices.values() for a in addresses]
    assert len(held) == 16
    assert all(address.startswith("198.19.") for address in held)
    back = ring.fabric()
    assert back.rc == 0, back.text
    assert ring.nodes(SHAPE) == laid
