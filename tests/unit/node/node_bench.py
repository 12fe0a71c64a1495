# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module fabric_network on a node that does what it is told."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.testing import patch_module_args

from ansible_collections.switchless.spark.plugins.module_utils._node import change
from ansible_collections.switchless.spark.plugins.modules import fabric_network
from tests.unit.node.node_world import LAN, PORTS, FakeNode, here

KEY = f"net.ipv4.conf.{PORTS[0]}.rp_filter"


@dataclass
class Bench:
    """A node, the files that the role would write on it, and the module."""

    node: FakeNode
    capsys: pytest.CaptureFixture[str]

    @property
    def args(self) -> dict[str, Any]:
        """What the role gives."""
        own = self.node.netplan / "90-switchless-fabric.yaml"
        return {
            "ports": [
                {"netdev": PORTS[0], "mac": "4c:bb:47:00:00:01", "address": "198.18.0.1/24", "mtu": 9000},
                {"netdev": PORTS[1], "mac": "4c:bb:47:00:00:02", "address": None, "mtu": 9000},
            ],
            "routes": [{"to": "198.18.2.0/24", "via": "198.18.0.2", "netdev": PORTS[0]}],
            "subnets": ["198.18.0.0/24", "198.18.2.0/24"],
            "sysctl": {KEY: 2},
            "files": [
                {
                    "path": str(self.node.root / "lib" / "fabric-rollback"),
                    "content": "#!",
                    "mode": "0755",
                    "support": True,
                },
                {"path": str(self.node.relay), "content": "#!/bin/sh\n", "mode": "0755"},
                {"path": str(own), "content": f"network: {{ethernets: {{{PORTS[0]}: {{}}}}}}\n", "mode": "0600"},
            ],
            "relay_command": str(self.node.relay),
            "management_address": "192.0.2.11",
        }

    def write_files(self) -> None:
        """As after a change."""
        for file in self.args["files"]:
            change.write(change.File(file["path"], file["content"], int(file["mode"], 8)))

    def run(self, check: bool = False, **args: Any) -> dict[str, Any]:
        with patch_module_args({**self.args, **args, "_ansible_check_mode": check}), pytest.raises(SystemExit):
            fabric_network.main()
        result: dict[str, Any] = json.loads(self.capsys.readouterr().out)
        return result

    def everything(self) -> dict[str, tuple[str, int, int]]:
        """Every file and folder of the node, to see that nothing was written."""
        return {
            str(path): (path.read_text() if path.is_file() else "", path.stat().st_mode, path.stat().st_mtime_ns)
            for path in sorted(self.node.root.rglob("*"))
        }


def made(root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Bench:
    """Lay a node out below a folder, and let the module work on it."""
    node = FakeNode(root)
    sysctl = root / "proc" / "net" / "ipv4" / "conf" / PORTS[0]
    sysctl.mkdir(parents=True)
    (sysctl / "rp_filter").write_text("2\n")
    node.netplan.mkdir()
    for name, driver in ((PORTS[0], "mlx5_core"), (LAN, "r8127")):
        (root / "sys" / name / "device").mkdir(parents=True)
        (root / "drivers" / driver).mkdir(parents=True)
        (root / "sys" / name / "device" / "driver").symlink_to(root / "drivers" / driver)
    here(monkeypatch, node.state, root / "backup")
    monkeypatch.setattr(fabric_network, "ModuleRunner", lambda _module: node)
    monkeypatch.setattr(fabric_network, "NETPLAN", (str(node.netplan), str(root / "run")))
    monkeypatch.setattr(fabric_network, "PROC_SYS", root / "proc")
    monkeypatch.setattr(fabric_network, "SYS_NET", root / "sys")
    monkeypatch.setattr(fabric_network, "SETTLE_SECONDS", 0)
    return Bench(node, capsys)
