# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of role fabric, written out by hand here, and whether netplan and nft take them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.unit.node.node_role import (
    AT_A_SWITCH,
    LEFT,
    MANAGER,
    NETDEVS,
    NETPLAN,
    NFT,
    ODD_NETDEVS,
    SBIN,
    SYSCTL,
    content,
    rendered,
)


def port(netdev: str, what: str, *more: str) -> str:
    """The part of a port in the netplan file."""
    return f"""\
    {netdev}:  # {what}
      renderer: networkd
      optional: true
      ignore-carrier: true  # addresses, and with them GIDs, stay where they are while a neighbour reboots
      dhcp4: false
      dhcp6: false
      accept-ra: false
      link-local: ["ipv6"]
      mtu: 9000
""" + "".join(f"      {line}\n" for line in more)


HEAD = "network:\n  version: 2\n  ethernets:\n"
RING_NETPLAN = (
    HEAD
    + port(
        "enp1s0f0np0",
        "cage p0, PCIe root A, cable 4 to 3d38:p1",
        "addresses: [192.168.101.2/24]",
        "routes:",
        "  - {to: 192.168.106.0/24, via: 192.168.101.1}",
    )
    + port(
        "enP2p1s0f0np0",
        "cage p0, PCIe root B, cable 4 to 3d38:p1",
        "addresses: [192.168.103.2/24]",
        "routes:",
        "  - {to: 192.168.107.0/24, via: 192.168.103.1}",
    )
    + port(
        "enp1s0f1np1",
        "cage p1, PCIe root A, cable 1 to 355d:p1",
        "addresses: [192.168.100.1/24]",
        "routes:",
        "  - {to: 192.168.104.0/24, via: 192.168.100.2}",
    )
    + port(
        "enP2p1s0f1np1",
        "cage p1, PCIe root B, cable 1 to 355d:p1",
        "addresses: [192.168.102.1/24]",
        "routes:",
        "  - {to: 192.168.105.0/24, via: 192.168.102.2}",
    )
)
PAIR_NETPLAN = (
    HEAD
    + port("enp1s0f1np1", "cage p1, PCIe root A, cable 1 to right_2:p0", "addresses: [198.18.0.1/24]")
    + port("enP2p1s0f1np1", "cage p1, PCIe root B, cable 1 to right_2:p0", "addresses: [198.18.1.1/24]")
    + port("enp1s0f0np0", "cage p0, PCIe root A, no cable")
    + port("enP2p1s0f0np0", "cage p0, PCIe root B, no cable")
)
OPENING = "table inet switchless_fabric\ndelete table inet switchless_fabric\n\n"
REFUSE = """\

  chain refuse {
    udp dport 4791 counter name roce_refused drop
    counter name other_refused drop
  }
}
"""
RING_SUBNETS = ", ".join(f"192.168.{number}.0/24" for number in range(100, 108))
RING_NFT = (
    OPENING
    + """\
table inet switchless_fabric {
  counter roce_refused { }
  counter other_refused { }

  set ports {
    type ifname
    elements = { "enp1s0f0np0", "enP2p1s0f0np0", "enp1s0f1np1", "enP2p1s0f1np1" }
  }

  set subnets {
    type ipv4_addr
    flags interval
    auto-merge
    elements = { """
    + RING_SUBNETS
    + """ }
  }

  set relays {
    type ifname . ifname
    elements = { "enp1s0f0np0" . "enp1s0f1np1", "enP2p1s0f0np0" . "enP2p1s0f1np1", """
    + """"enp1s0f1np1" . "enp1s0f0np0", "enP2p1s0f1np1" . "enP2p1s0f0np0" }
  }

  chain forward {
    type filter hook forward priority filter - 10; policy accept;
    iifname . oifname @relays ip saddr @subnets ip daddr @subnets meta l4proto { tcp, icmp } accept
    iifname @ports jump refuse
    oifname @ports jump refuse
  }
"""
    + REFUSE
)
PAIR_NFT = (
    OPENING
    + """\
table inet switchless_fabric {
  counter roce_refused { }
  counter other_refused { }

  set ports {
    type ifname
    elements = { "enp1s0f1np1", "enP2p1s0f1np1", "enp1s0f0np0", "enP2p1s0f0np0" }
  }

  chain forward {
    type filter hook forward priority filter - 10; policy accept;
    iifname @ports jump refuse
    oifname @ports jump refuse
  }
"""
    + REFUSE
)
RING_SYSCTL = """\
net.ipv4.conf.enp1s0f0np0.rp_filter = 2
net.ipv4.conf.enP2p1s0f0np0.rp_filter = 2
net.ipv4.conf.enp1s0f1np1.rp_filter = 2
net.ipv4.conf.enP2p1s0f1np1.rp_filter = 2
net.ipv4.conf.enp1s0f0np0.forwarding = 1
net.ipv4.conf.enP2p1s0f0np0.forwarding = 1
net.ipv4.conf.enp1s0f1np1.forwarding = 1
net.ipv4.conf.enP2p1s0f1np1.forwarding = 1
"""
PAIR_SYSCTL = """\
net.ipv4.conf.enp1s0f1np1.rp_filter = 2
net.ipv4.conf.enP2p1s0f1np1.rp_filter = 2
net.ipv4.conf.enp1s0f0np0.rp_filter = 2
net.ipv4.conf.enP2p1s0f0np0.rp_filter = 2
"""
SWITCHED_SYSCTL = (
    PAIR_SYSCTL
    + PAIR_SYSCTL.replace("rp_filter = 2", "arp_ignore = 1")
    + PAIR_SYSCTL.replace("rp_filter = 2", "arp_announce = 2")
)
ODD_SYSCTL = """\
net.ipv4.conf.ip.rp_filter = 2
net.ipv4.conf.tcp.rp_filter = 2
net.ipv4.conf.fabric/0.rp_filter = 2
net.ipv4.conf.0-cx7_left-link.rp_filter = 2
"""


TEXTS: dict[str, tuple[str, dict[str, Any], str]] = {
    "netplan, ring": (NETPLAN, {}, RING_NETPLAN),
    "netplan, pair with one cable": (NETPLAN, LEFT, PAIR_NETPLAN),
    "netplan, no link-local addresses": (
        NETPLAN,
        {"link_local": ()},
        RING_NETPLAN.replace('link-local: ["ipv6"]', "link-local: []"),
    ),
    "netplan, switch": (NETPLAN, AT_A_SWITCH, PAIR_NETPLAN.replace("right_2:p0", "switch")),
    "rules, ring": (NFT, {}, RING_NFT),
    "rules, pair: nothing is relayed": (NFT, LEFT, PAIR_NFT),
    "sysctl, ring": (SYSCTL, {}, RING_SYSCTL),
    "sysctl, pair: nothing is forwarded": (SYSCTL, LEFT, PAIR_SYSCTL),
    "rules, switch: nothing is relayed": (NFT, AT_A_SWITCH, PAIR_NFT),
    "sysctl, switch: one answer for each address": (SYSCTL, AT_A_SWITCH, SWITCHED_SYSCTL),
    "sysctl, odd names": (SYSCTL, LEFT | {"odd": True}, ODD_SYSCTL),
    "NetworkManager": (
        MANAGER,
        {},
        "[keyfile]\nunmanaged-devices+=" + ";".join(f"interface-name:{name}" for name in NETDEVS.values()) + "\n",
    ),
}


@pytest.mark.parametrize(("name", "what", "expected"), TEXTS.values(), ids=TEXTS)
def test_what_is_written(name: str, what: dict[str, Any], expected: str) -> None:
    assert content(name, **what) == expected


def test_the_modes() -> None:
    modes = {name: mode for name, (_text, mode) in rendered().items()}
    assert modes == {
        "switchless/fabric-rollback": "0755",
        "system/switchless-fabric-rollback.service": None,
        "switchless/fabric-relay": "0755",
        "system/switchless-fabric.service": None,
        NFT: None,
        SYSCTL: None,
        MANAGER: None,
        NETPLAN: "0600",
    }


@pytest.mark.parametrize("what", [{}, LEFT, LEFT | {"odd": True}], ids=["ring", "pair", "odd names"])
def test_netplan_reads_what_is_meant(what: dict[str, Any]) -> None:
    network = yaml.safe_load(rendered(**what)[NETPLAN][0])["network"]
    names = ODD_NETDEVS if what.get("odd") else NETDEVS
    assert network["version"] == 2
    assert network["ethernets"].keys() == set(names.values())
    for body in network["ethernets"].values():
        assert (body["dhcp4"], body["dhcp6"], body["accept-ra"], body["mtu"]) == (False, False, False, 9000)
        assert "gateway4" not in body
        assert not [route for route in body.get("routes", []) if route["to"] in ("default", "0.0.0.0/0")]


@pytest.mark.parametrize("what", [{}, LEFT], ids=["ring", "pair"])
@pytest.mark.skipif(not shutil.which("netplan", path=SBIN), reason="netplan is not installed here")
def test_netplan_itself_takes_it(what: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "etc" / NETPLAN
    file.parent.mkdir(parents=True)
    file.write_text(rendered(**what)[NETPLAN][0])
    file.chmod(0o600)
    subprocess.run(["netplan", "generate", "--root-dir", str(tmp_path)], check=True, env={"PATH": SBIN})


def unshared() -> list[str]:
    """A command's beginning that gives it a network namespace of its own, gone with it."""
    return ["unshare", "--net"] if os.getuid() == 0 else ["unshare", "--map-root-user", "--net"]


def can_load() -> bool:
    """Whether rules can be tried here without touching anyone's."""
    if not shutil.which("nft", path=SBIN):
        return False
    tried = subprocess.run(
        [*unshared(), "nft", "list", "ruleset"], capture_output=True, check=False, env={"PATH": SBIN}
    )
    return tried.returncode == 0


@pytest.mark.parametrize("what", [{}, LEFT, LEFT | {"odd": True}], ids=["ring", "pair", "odd names"])
def test_nft_takes_the_rules_and_takes_them_again(what: dict[str, Any], tmp_path: Path) -> None:
    if not can_load():
        pytest.skip("nft cannot be tried in a network namespace here")
    rules = tmp_path / "rules.nft"
    rules.write_text(rendered(**what)[NFT][0])
    lines = f"nft -c -f {rules}; nft -f {rules}; nft -s list ruleset; echo again; nft -f {rules}; nft -s list ruleset"
    done = subprocess.run(
        [*unshared(), "sh", "-ec", lines], capture_output=True, text=True, check=False, env={"PATH": SBIN}
    )
    assert (done.returncode, done.stderr) == (0, "")
    first, second = done.stdout.split("again\n")
    assert first == second
    assert first.count("table inet") == 1
    assert first.count("jump refuse") == 2
