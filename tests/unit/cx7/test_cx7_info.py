# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is read of a node, in every shape that a node has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ansible_collections.switchless.spark.plugins.module_utils._cx7 import gids, ib, lldp, networkmanager, pci, sysfs
from ansible_collections.switchless.spark.plugins.module_utils._cx7.node import Sources, look
from ansible_collections.switchless.spark.plugins.module_utils._cx7.sysfs import Tree
from ansible_collections.switchless.spark.plugins.module_utils._node.runner import Result
from tests.unit.cx7 import spark_logs as log
from tests.unit.cx7.spark_tree import BOOT_ID, MISSING, UNREADABLE, Script, Shown

LLDP = """{"lldp": [{"interface": [
  {"name": "enp1s0f0np0", "via": "LLDP", "rid": "2", "age": "0 day, 01:02:03",
   "chassis": [{"id": [{"type": "mac", "value": "02:00:00:00:00:99"}], "name": [{"value": "old"}]}],
   "port": [{"id": [{"type": "mac", "value": "02:00:00:00:00:98"}], "ttl": [{"value": "120"}]}]},
  {"name": "enp1s0f0np0", "via": "LLDP", "rid": "1", "age": "0 day, 00:00:05",
   "chassis": [{"id": [{"type": "mac", "value": "02:00:00:00:00:02"}], "name": [{"value": "spark2"}],
                "descr": [{"value": "Ubuntu"}]}],
   "port": [{"id": [{"type": "mac", "value": "02:00:00:00:00:01"}], "descr": [{"value": "enp1s0f1np1"}],
             "ttl": [{"value": "120"}]}]}]}]}"""


def read(shown: Shown, root: Path, script: Script | None = None, **more: Any) -> Any:
    shown.build(root)
    more.setdefault("kernel_log", log.HEALTHY)
    sources = Sources(
        sys=Tree(str(root / "sys")),
        proc=Tree(str(root / "proc")),
        host=Tree(str(root)),
        runner=script or Script(),
        **more,
    )
    return look(sources).as_dict()


def by_port(seen: Any) -> dict[str, Any]:
    return {f"{function['cage']} {function['root']}": function for function in seen["functions"]}


def test_a_healthy_node(tmp_path: Path) -> None:
    seen = read(Shown(), tmp_path)
    ports = by_port(seen)
    assert list(ports) == ["p0 A", "p0 B", "p1 A", "p1 B"]
    assert [f["netdev"] for f in ports.values()] == ["enp1s0f0np0", "enP2p1s0f0np0", "enp1s0f1np1", "enP2p1s0f1np1"]
    assert [f["rdma"] for f in ports.values()] == ["rocep1s0f0", "roceP2p1s0f0", "rocep1s0f1", "roceP2p1s0f1"]
    assert [f["carrier"] for f in ports.values()] == [True, True, False, False]
    up = ports["p0 A"]
    assert (up["pci"], up["speed_mbps"], up["mtu"], up["admin_up"]) == ("0000:01:00.0", 200000, 9000, True)
    assert (up["ib_state"], up["ib_phys_state"], up["ib_rate_gbps"]) == ("ACTIVE", "LinkUp", 200.0)
    assert (up["pcie_speed_gts"], up["pcie_width"], up["firmware"]) == (32.0, 4, "28.45.4028")
    assert up["raw"]["ib_rate"] == "200 Gb/sec (2X NDR)"
    assert ports["p1 A"]["speed_mbps"] is None
    assert ports["p1 A"]["raw"]["speed"] == "-1"
    assert seen["boot_id"] == BOOT_ID
    assert seen["uptime_seconds"] == 86400.0
    assert seen["hotplug"] == {
        "armed": True,
        "marker": "/etc/nvidia/cx7-hotplug-enabled",
        "driver": True,
        "enabled": True,
        "powered": True,
        "raw": {"hotplug_enabled": "1", "debug_state": "1"},
    }
    assert [(port["root"], port["pcie_speed_gts"]) for port in seen["root_ports"]] == [("A", 32.0), ("B", 32.0)]
    assert seen["warnings"] == ()


def test_b7_twins_of_a_cage_share_the_function_number(tmp_path: Path) -> None:
    grouped: dict[str, list[str]] = {}
    for function in read(Shown(), tmp_path)["functions"]:
        grouped.setdefault(function["phys_port_name"], []).append(function["pci"])
        assert function["phys_port_name"] == function["cage"]
    assert grouped == {"p0": ["0000:01:00.0", "0002:01:00.0"], "p1": ["0000:01:00.1", "0002:01:00.1"]}


def test_b15_names_say_nothing(tmp_path: Path) -> None:
    names = {"p0 A": "net-aerial03", "p0 B": "net-aerial02", "p1 A": "net-aerial01", "p1 B": "net-aerial00"}
    assert {port: f["netdev"] for port, f in by_port(read(Shown(netdevs=names), tmp_path)).items()} == names


def test_no_nic(tmp_path: Path) -> None:
    script = Script()
    seen = read(Shown(absent="all"), tmp_path, script)
    assert seen["functions"] == ()
    assert seen["hotplug"]["powered"] is False
    assert [port["pcie_speed_gts"] for port in seen["root_ports"]] == [2.5, 2.5]
    assert script.asked == []


def test_nothing_at_all(tmp_path: Path) -> None:
    sources = Sources(
        sys=Tree(str(tmp_path / "a")), proc=Tree(str(tmp_path / "b")), host=Tree(str(tmp_path)), runner=Script()
    )
    seen = look(sources)
    assert (seen.functions, seen.boot_id, seen.uptime_seconds, seen.log_source) == ((), None, None, "none")
    assert "journalctl: not installed" in seen.warnings[0]


def test_unreadable_files_are_nulls(tmp_path: Path) -> None:
    files = dict.fromkeys(("carrier", "speed", "current_link_width", "state", "rate", "fw_ver", "flags"), UNREADABLE)
    gone = dict.fromkeys(("address", "mtu", "phys_port_name", "link_layer", "operstate"), MISSING)
    port = by_port(read(Shown(files={"p0 A": files | gone}), tmp_path))["p0 A"]
    for key in ("carrier", "speed_mbps", "pcie_width", "ib_state", "ib_rate_gbps", "firmware", "admin_up"):
        assert port[key] is None
    for key in ("mac", "mtu", "phys_port_name", "link_layer", "operstate"):
        assert port[key] is None
    assert port["raw"]["carrier"] is None
    assert port["rdma"] == "rocep1s0f0"


def test_cage_that_the_driver_names_otherwise(tmp_path: Path) -> None:
    seen = read(Shown(files={"p0 A": {"phys_port_name": "p1"}}), tmp_path)
    assert by_port(seen)["p0 A"]["phys_port_name"] == "p1"
    assert seen["warnings"] == ("0000:01:00.0 says phys_port_name p1, its PCI function number says p0: p0 is used",)


@pytest.mark.parametrize(("address", "why"), [("0004:01:00.0", "not where"), ("0000:02:00.0", "second p0 on root A")])
def test_a_cx7_elsewhere_is_left_out(tmp_path: Path, address: str, why: str) -> None:
    Shown().build(tmp_path)
    device = tmp_path / "sys/bus/pci/devices" / address
    device.mkdir()
    (device / "vendor").write_text("0x15b3\n", encoding="utf-8")
    (device / "device").write_text("0x1021\n", encoding="utf-8")
    other = tmp_path / "sys/bus/pci/devices/0004:00:00.0"
    other.mkdir()
    (other / "vendor").write_text("0x15b3\n", encoding="utf-8")
    (other / "device").write_text("0x1023\n", encoding="utf-8")
    tree = Tree(str(tmp_path / "sys"))
    seen = look(Sources(sys=tree, proc=Tree("/nowhere"), host=Tree(str(tmp_path)), runner=Script(), kernel_log=""))
    assert [function.pci for function in seen.functions][::2] == ["0000:01:00.0", "0000:01:00.1"]
    assert why in seen.warnings[0]


def test_without_a_pci_bus_netdevs_lead_to_the_functions(tmp_path: Path) -> None:
    Shown().build(tmp_path)
    sys = tmp_path / "sys"
    for link in (sys / "bus/pci/devices").iterdir():
        link.unlink()
    tree = Tree(str(sys))
    assert pci.find(tree) == ["0000:01:00.0", "0000:01:00.1", "0002:01:00.0", "0002:01:00.1"]
    seen = look(Sources(sys=tree, proc=Tree("/nowhere"), host=Tree(str(tmp_path)), runner=Script(), kernel_log=""))
    assert [function.netdev for function in seen.functions][:2] == ["enp1s0f0np0", "enP2p1s0f0np0"]
    assert [function.rdma for function in seen.functions][:2] == ["rocep1s0f0", "roceP2p1s0f0"]


def test_device_that_is_a_copy_and_no_link(tmp_path: Path) -> None:
    device = tmp_path / "class/net/eth9/device"
    device.mkdir(parents=True)
    (device / "uevent").write_text("DRIVER=mlx5_core\nPCI_SLOT_NAME=0002:01:00.1\n", encoding="utf-8")
    assert pci.device_behind(Tree(str(tmp_path)), "net", "eth9") == "0002:01:00.1"
    assert pci.device_behind(Tree(str(tmp_path)), "net", "eth8") is None


def test_rdma_device_by_the_netdev_of_its_gids(tmp_path: Path) -> None:
    """As in a container, where the RDMA devices are called otherwise and have no device link."""
    Shown().build(tmp_path)
    infiniband = tmp_path / "sys/class/infiniband"
    for link in list(infiniband.iterdir()):
        real = link.resolve()
        link.unlink()
        (real / "device").unlink()
        real.rename(infiniband / f"mlx5_{len(list(infiniband.glob('mlx5_*')))}")
        real.parent.rmdir()
    tree = Tree(str(tmp_path / "sys"))
    seen = look(Sources(sys=tree, proc=Tree("/nowhere"), host=Tree(str(tmp_path)), runner=Script(), kernel_log=""))
    for function in seen.functions:
        assert function.rdma is not None
        assert (
            tree.read("class", "infiniband", function.rdma, "ports", "1", "gid_attrs", "ndevs", "0") == function.netdev
        )


# GIDs


def test_gids_in_use(tmp_path: Path) -> None:
    found = by_port(read(Shown(), tmp_path))["p0 A"]["gids"]
    assert [(gid["index"], gid["type"], gid["ipv4"]) for gid in found] == [
        (0, "RoCE v1", None),
        (1, "RoCE v2", None),
        (2, "RoCE v1", "192.168.100.10"),
        (3, "RoCE v2", "192.168.100.10"),
    ]
    assert {gid["netdev"] for gid in found} == {"enp1s0f0np0"}


def test_c10_index_drifts(tmp_path: Path) -> None:
    mapped = "0000:0000:0000:0000:0000:ffff:c0a8:640a"
    table = {4: (mapped, "RoCE v2", "enp1s0f0np0"), 10: (mapped, UNREADABLE, MISSING), 9: (mapped, "IB/RoCE v1", "")}
    found = by_port(read(Shown(gids={"p0 A": table}), tmp_path))["p0 A"]["gids"]
    assert [(gid["index"], gid["type"], gid["netdev"]) for gid in found] == [
        (4, "RoCE v2", "enp1s0f0np0"),
        (9, "RoCE v1", None),
        (10, None, None),
    ]


@pytest.mark.parametrize(
    ("gid", "ipv4"),
    [
        ("0000:0000:0000:0000:0000:ffff:c0a8:640a", "192.168.100.10"),
        ("fe80:0000:0000:0000:0000:00ff:fe00:0001", None),
        ("0000:0000:0000:0000:0000:0000:0000:0000", None),
        ("nonsense", None),
    ],
)
def test_ipv4_of(gid: str, ipv4: str | None) -> None:
    assert gids.ipv4_of(gid) == ipv4


# Texts of single files


@pytest.mark.parametrize(
    ("text", "name", "rate"),
    [
        ("4: ACTIVE", "ACTIVE", None),
        ("1: DOWN", "DOWN", None),
        ("3: Disabled", "Disabled", None),
        ("4: PortConfigurationTraining", "PortConfigurationTraining", None),
        ("200 Gb/sec (4X HDR)", None, 200.0),
        ("40 Gb/sec (4X QDR)", None, 40.0),
        ("2.5 Gb/sec (1X SDR)", None, 2.5),
        ("", None, None),
        (None, None, None),
    ],
)
def test_ib_texts(text: str | None, name: str | None, rate: float | None) -> None:
    assert (ib.name_of(text), ib.rate_gbps(text)) == (name, rate)


@pytest.mark.parametrize(
    ("speed", "width", "expected"),
    [
        ("32.0 GT/s PCIe", "4", (32.0, 4)),
        ("2.5 GT/s PCIe", "0", (2.5, None)),
        ("Unknown", "255", (None, None)),
        (None, None, (None, None)),
    ],
)
def test_pcie_texts(speed: str | None, width: str | None, expected: tuple[float | None, int | None]) -> None:
    assert (pci.link_speed_gts(speed), pci.link_width(width)) == expected


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("0000:01:00.0", ("A", "p0")),
        ("0002:01:00.1", ("B", "p1")),
        ("0004:01:00.0", (None, "p0")),
        ("0000:01:00.2", ("A", None)),
        ("01:00.0", (None, None)),
    ],
)
def test_place(address: str, expected: tuple[str | None, str | None]) -> None:
    assert pci.place(address) == expected


def test_numbers_and_flags() -> None:
    assert [sysfs.integer(text) for text in ("0x1003", "-1", "", None, "4294967295")] == [
        4099,
        -1,
        None,
        None,
        4294967295,
    ]
    assert [sysfs.flag(text) for text in ("1", "0", "", None)] == [True, False, None, None]


# NetworkManager and LLDP


def test_networkmanager(tmp_path: Path) -> None:
    getting = "connecting (getting IP configuration)"
    text = f"enP7s7:connected\nenp1s0f0np0:{getting}\nenp1s0f1np1:unmanaged\nod\\:d:disconnected\n"
    script = Script({"nmcli": Result(0, text)})
    seen = read(Shown(), tmp_path, script)
    states = {port: function["networkmanager"] for port, function in by_port(seen).items()}
    assert states == {"p0 A": getting, "p0 B": None, "p1 A": "unmanaged", "p1 B": None}
    assert seen["networkmanager_running"] is True
    assert script.asked[0] == ("nmcli", "-t", "-f", "DEVICE,STATE", "device")
    assert networkmanager.parse(text)["od:d"] == "disconnected"


def test_networkmanager_not_running(tmp_path: Path) -> None:
    script = Script({"nmcli": Result(8, "", "Error: NetworkManager is not running.\n")})
    seen = read(Shown(), tmp_path, script)
    assert seen["networkmanager_running"] is False
    assert by_port(seen)["p0 A"]["networkmanager"] is None


def test_lldp_the_younger_neighbour_counts(tmp_path: Path) -> None:
    script = Script({"lldpcli": Result(0, LLDP)})
    seen = read(Shown(), tmp_path, script)
    ports = by_port(seen)
    assert ports["p0 A"]["lldp"] == {
        "chassis_name": "spark2",
        "chassis_id": "02:00:00:00:00:02",
        "port_id": "02:00:00:00:00:01",
        "port_description": "enp1s0f1np1",
        "ttl_seconds": 120,
    }
    assert ports["p0 B"]["lldp"] is None
    assert seen["lldp_running"] is True
    netdevs = "enp1s0f0np0,enP2p1s0f0np0,enp1s0f1np1,enP2p1s0f1np1"
    assert script.asked[-1] == ("lldpcli", "-f", "json0", "show", "neighbors", "ports", netdevs)


@pytest.mark.parametrize(
    "text", ['{"lldp": []}', '{"lldp": [{}]}', '{"lldp": [{"interface": [{"name": "a"}]}]}', "{}", "[]"]
)
def test_lldp_shapes(text: str) -> None:
    assert all(neighbour.chassis_name is None for neighbour in lldp.parse(text).values())


@pytest.mark.parametrize(
    ("result", "warned"),
    [
        (Result(1, "", "unable to connect to socket /run/lldpd.socket"), False),
        (Result(0, "Segmentation fault"), True),
    ],
)
def test_no_lldp(tmp_path: Path, result: Result, *, warned: bool) -> None:
    seen = read(Shown(), tmp_path, Script({"lldpcli": result}))
    assert seen["lldp_running"] is False
    assert bool(seen["warnings"]) == warned


def test_lldp_is_not_asked(tmp_path: Path) -> None:
    script = Script()
    assert read(Shown(), tmp_path, script, ask_lldp=False)["lldp_running"] is False
    assert [argv[0] for argv in script.asked] == ["nmcli"]


# The slot power register

MPEIN = """\
Sending access register...

Field Name                 | Data
=====================================
depth                      | 0x00000000
pci_power                  | 0x0000001b
pwr_status                 | 0x00000002
"""


def test_register_is_not_read_unasked(tmp_path: Path) -> None:
    script = Script()
    read(Shown(), tmp_path, script)
    assert not [argv for argv in script.asked if argv[0] in ("mstreg", "mlxreg")]


def test_register(tmp_path: Path) -> None:
    script = Script({"mlxreg": Result(0, MPEIN)})
    seen = read(Shown(), tmp_path, script, ask_register=True)
    assert [(r["pci"], r["status"], r["watts"]) for r in seen["slot_power_register"]] == [
        (pci_, "insufficient", 27) for pci_ in ("0000:01:00.0", "0002:01:00.0", "0000:01:00.1", "0002:01:00.1")
    ]
    indexes = "depth=0x0,pcie_index=0x0,node=0x0"
    wanted = ("mlxreg", "-d", "0000:01:00.0", "--get", "--reg_name", "MPEIN", "--indexes", indexes)
    assert wanted in script.asked


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (log.HEALTHY + log.PLUGGED_LATER, "this boot had a hot-plug"),
        (log.A7, "a hot-plug cannot be excluded"),
    ],
)
def test_b9_register_is_refused_after_a_hotplug(tmp_path: Path, text: str, why: str) -> None:
    script = Script({"mstreg": Result(0, MPEIN)})
    seen = read(Shown(), tmp_path, script, ask_register=True, kernel_log=text)
    assert seen["slot_power_register"] == ()
    assert why in seen["warnings"][0]
    assert not [argv for argv in script.asked if argv[0] == "mstreg"]


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        ({}, "none of mstreg, mlxreg is installed"),
        (
            {"mstreg": Result(1, "", "-E- Failed to open device")},
            "mstreg cannot read MPEIN of 0000:01:00.0: -E- Failed",
        ),
    ],
)
def test_register_cannot_be_read(tmp_path: Path, answers: dict[str, Result], why: str) -> None:
    seen = read(Shown(), tmp_path, Script(answers), ask_register=True)
    assert seen["slot_power_register"] == ()
    assert why in seen["warnings"][0]
