# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of role fabric as Ansible renders them."""

from __future__ import annotations

import os
from functools import cache
from typing import Any

from ansible_collections.switchless.spark.plugins.module_utils._fabric.devices import devices
from tests.unit.fabric.fabric_world import Data, views_of
from tests.unit.rendering import CHECKOUT, load, render

SBIN = f"{os.environ['PATH']}:/usr/sbin:/sbin"
NETDEVS = {
    ("p0", "A"): "enp1s0f0np0",
    ("p0", "B"): "enP2p1s0f0np0",
    ("p1", "A"): "enp1s0f1np1",
    ("p1", "B"): "enP2p1s0f1np1",
}
ODD_NETDEVS = {("p0", "A"): "fabric.0", ("p0", "B"): "0-cx7_left-link", ("p1", "A"): "ip", ("p1", "B"): "tcp"}
RING = [
    {"ends": ["329f:p1", "355d:p1"], "subnets": ["192.168.100.0/24", "192.168.102.0/24"]},
    {"ends": ["355d:p0", "c049:p0"], "subnets": ["192.168.104.0/24", "192.168.105.0/24"]},
    {"ends": ["c049:p1", "3d38:p0"], "subnets": ["192.168.106.0/24", "192.168.107.0/24"]},
    {"ends": ["3d38:p1", "329f:p0"], "subnets": ["192.168.101.0/24", "192.168.103.0/24"]},
]
PAIR = [{"ends": ["left-1.lan:p1", "right_2:p0"]}]
SWITCHED = [{"ends": ["left-1.lan:p1", "switch"]}, {"ends": ["right_2:p1", "switch"]}]
CABLES = {"ring": RING, "pair": PAIR, "switch": SWITCHED}
NETPLAN, NFT = "netplan/90-switchless-fabric.yaml", "switchless/fabric-relay.nft"
SYSCTL, MANAGER = "sysctl.d/90-switchless-fabric.conf", "conf.d/90-switchless-fabric.conf"
LEFT = {"host": "left-1.lan", "cables": "pair"}
AT_A_SWITCH = {"host": "left-1.lan", "cables": "switch"}


def functions(names: dict[tuple[str, str], str]) -> list[Data]:
    """What cx7_info shows."""
    return [
        {"cage": cage, "root": root, "netdev": netdev, "mac": f"4c:bb:47:00:00:0{number}", "rdma": None, "pci": "…"}
        for number, ((cage, root), netdev) in enumerate(names.items(), 1)
    ]


@cache
def rendered(
    host: str = "329f", cables: str = "ring", odd: bool = False, link_local: tuple[str, ...] = ("ipv6",)
) -> dict[str, tuple[str, str | None]]:
    """Folder and name of each file to its content and mode, from the role's own list of files."""
    hosts = ["329f", "355d", "c049", "3d38"] if cables == "ring" else ["left-1.lan", "right_2"]
    node = views_of(CABLES[cables], hosts)[host]
    variables: dict[str, Any] = load(CHECKOUT / "roles" / "fabric" / "vars" / "main.yml")
    more = {
        "__fabric_devices": devices(node, functions(ODD_NETDEVS if odd else NETDEVS), 9000),
        "fabric_node": node,
        "fabric_link_local": list(link_local),
        "fabric_mtu": 9000,
    }
    files = render(variables["__fabric_files"], variables | more, "fabric")
    return {"/".join(file["path"].split("/")[-2:]): (str(file["content"]), file.get("mode")) for file in files}


def content(name: str, **more: Any) -> str:
    """A file without the comments that open it."""
    lines = rendered(**more)[name][0].splitlines()
    while lines[0].startswith("#"):
        del lines[0]
    return "\n".join(lines) + "\n"
