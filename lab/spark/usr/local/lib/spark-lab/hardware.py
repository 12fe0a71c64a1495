# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""At boot, before udevd: give this container the /sys of a DGX Spark, and machine-wide sysctls of its own.

Nothing of sysfs can be added to, so a tmpfs is laid over a folder and everything that was there is bound back in.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import board
import kernel
import sysctls
from mounting import MS_BIND, MS_REC, MS_REMOUNT, mount

SYS = board.SYS
GID_TABLE = 16
MODULES = ("ib_core", "ib_uverbs", "mlx5_core", "mlx5_ib", "r8127")
REPLACED = ("pci", "pci_bus", "infiniband", "dmi", "hwmon", "bdi")
COUNTERS = (
    "VL15_dropped", "excessive_buffer_overrun_errors", "link_downed", "link_error_recovery",
    "local_link_integrity_errors", "multicast_rcv_packets", "multicast_xmit_packets", "port_rcv_constraint_errors",
    "port_rcv_data", "port_rcv_errors", "port_rcv_packets", "port_rcv_remote_physical_errors",
    "port_rcv_switch_relay_errors", "port_xmit_constraint_errors", "port_xmit_data", "port_xmit_discards",
    "port_xmit_packets", "port_xmit_wait", "symbol_error", "unicast_rcv_packets", "unicast_xmit_packets",
)  # fmt: skip
HW_COUNTERS = ("out_of_buffer", "out_of_sequence", "packet_seq_err", "local_ack_timeout_err", "np_cnp_sent")
DMI = {
    "sys_vendor": "NVIDIA", "product_name": "NVIDIA_DGX_Spark", "product_family": "DGX Spark", "board_vendor": "NVIDIA",
    "board_name": "P4242", "bios_vendor": "NVIDIA", "bios_version": "5.36_0ACUM027", "chassis_vendor": "NVIDIA",
}  # fmt: skip


def writable_sys() -> None:
    """systemd-nspawn makes sysfs read-only, but `udevadm trigger` writes to it."""
    mount("", SYS / "devices", flags=MS_REMOUNT)
    for folder in (SYS, *(SYS / name for name in ("devices", "class", "bus", "dev"))):
        mount("", folder, flags=MS_REMOUNT | MS_BIND)


def shade(folder: Path, live: tuple[str, ...]) -> None:
    """Lay a tmpfs over a folder. The folders named in `live` are bound back in; of the rest, links that point somewhere
    are copied. A bind for each entry would be simpler, but with hundreds of mounts every service starts slowly.
    """
    below = os.open(folder, os.O_PATH | os.O_DIRECTORY)
    old = Path(f"/proc/self/fd/{below}")
    mount("spark-lab", folder, "tmpfs", data="mode=755,size=8m")
    for name in live:
        (folder / name).mkdir()
        mount(str(old / name), folder / name, flags=MS_BIND | MS_REC)
    if folder.name != "devices":
        for entry in sorted(old.iterdir()):
            if entry.is_dir() and entry.name not in (*live, *REPLACED):
                copy_links(entry, folder / entry.name)
    os.close(below)


def copy_links(source: Path, target: Path) -> None:
    """The links of the machine's devices; these come and go while this runs."""
    target.mkdir()
    with suppress(OSError):
        for entry in sorted(source.iterdir()):
            with suppress(OSError):
                if entry.is_symlink():
                    new = target / entry.name
                    new.symlink_to(entry.readlink())
                    if not new.exists():
                        new.unlink()
                elif entry.is_dir():
                    copy_links(entry, target / entry.name)


def cover(netdev: Path, files: dict[str, str], links: dict[str, Path]) -> None:
    """Add entries to a netdev's folder. An overlay reads the rest through to sysfs, so it stays live; `uevent` is bound
    to the real one because udevadm writes to it.
    """
    layer = Path("/run/spark-lab/netdev") / netdev.name
    (layer / "work").mkdir(parents=True)
    put(layer / "upper", files)
    for name, target in links.items():
        (layer / "upper" / name).symlink_to(os.path.relpath(target, netdev))
    real = os.open(netdev / "uevent", os.O_PATH)
    options = f"lowerdir={netdev},upperdir={layer / 'upper'},workdir={layer / 'work'}"
    mount("spark-lab", netdev, "overlay", data=options)
    mount(f"/proc/self/fd/{real}", netdev / "uevent", flags=MS_BIND)
    os.close(real)


def put(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
        path.chmod(0o444)


def link(path: Path, target: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(os.path.relpath(target, path.parent))


def config_space(vendor: int, device: int, kind: int) -> bytes:
    """The first 64 bytes of PCI configuration space, enough for lspci to name it."""
    space = bytearray(64)
    space[0:4] = vendor.to_bytes(2, "little") + device.to_bytes(2, "little")
    space[4:8] = b"\x06\x04\x10\x00"
    space[9:12] = kind.to_bytes(3, "little")
    return bytes(space)


def pci_function(address: str, vendor: int, device: int, kind: int, driver: str, extra: dict[str, str]) -> Path:
    folder = board.pci_path(address)
    bus = SYS / "bus" / "pci"
    standard = {
        "vendor": f"0x{vendor:04x}", "device": f"0x{device:04x}", "class": f"0x{kind:06x}", "revision": "0x00",
        "subsystem_vendor": f"0x{vendor:04x}", "subsystem_device": "0x0001", "enable": "1", "numa_node": "-1",
        "irq": "0", "resource": "0x0000000000000000 0x0000000000000000 0x0000000000000000",
        "modalias": f"pci:v{vendor:08X}d{device:08X}", "power/control": "on", "power/runtime_status": "active",
        "uevent": f"DRIVER={driver}\nPCI_CLASS={kind:X}\nPCI_ID={vendor:04X}:{device:04X}\nPCI_SLOT_NAME={address}",
    }  # fmt: skip
    put(folder, standard | extra)
    (folder / "config").write_bytes(config_space(vendor, device, kind))
    link(bus / "devices" / address, folder)
    if driver:
        link(bus / "drivers" / driver / address, folder)
        link(folder / "driver", bus / "drivers" / driver)
    link(folder / "subsystem", bus)
    return folder


def root_port(domain: str, spark: dict[str, Any]) -> None:
    address = f"{domain}:00:00.0"
    folder = board.root_path(address)
    behind = [info["pci"] for info in spark["functions"] if info["pci"].startswith(domain)]
    empty = bool(behind) and board.absent(spark).issuperset(behind)
    lane = board.lane(spark, address) | (board.ASLEEP if empty else {})
    put(folder, {"vendor": "0x14c3", "device": "0x0001", "class": "0x060400", **lane})
    (folder / "config").write_bytes(config_space(0x14C3, 0x0001, 0x060400))
    link(SYS / "bus" / "pci" / "devices" / address, folder)


def cx7_function(info: dict[str, Any], spark: dict[str, Any]) -> None:
    """One PCI function of the ConnectX-7 with its netdev and its RDMA device."""
    netdev = SYS / "devices" / "virtual" / "net" / info["netdev"]
    if info["pci"] in board.absent(spark) or not netdev.exists():
        return
    folder = pci_function(info["pci"], 0x15B3, 0x1021, 0x020000, "mlx5_core", board.lane(spark, info["pci"]))
    names = {"phys_port_name": info["cage"], "phys_switch_id": spark["switch_id"], "dev_port": "0"}
    cover(netdev, names | {"speed": "-1", "duplex": "unknown"}, {"device": folder})
    link(folder / "net" / info["netdev"], netdev)
    rdma_device(info, spark, folder)


def rdma_device(info: dict[str, Any], spark: dict[str, Any], function: Path) -> None:
    folder = function / "infiniband" / info["rdma"]
    port = folder / "ports" / "1"
    identity = {
        "node_type": "1: CA", "hca_type": "MT4129", "fw_ver": "28.45.4028", "board_id": "NVD0000000087", "hw_rev": "0",
        "node_desc": f"{spark['node']} {info['rdma']}", "node_guid": info["node_guid"],
        "sys_image_guid": spark["sys_image_guid"],
    }  # fmt: skip
    put(folder, identity)
    put(port, {"state": "1: DOWN", "phys_state": "3: Disabled", "rate": "40 Gb/sec (4X QDR)", "link_layer": "Ethernet"})
    put(port, {"lid": "0x0", "sm_lid": "0x0", "cap_mask": "0x00010000", "pkeys/0": "0xffff"})
    put(port / "counters", dict.fromkeys(COUNTERS, "0"))
    put(port / "hw_counters", dict.fromkeys(HW_COUNTERS, "0"))
    for name in ("gids", "gid_attrs/types", "gid_attrs/ndevs"):
        (port / name).mkdir(parents=True)
    put(port / "gids", {str(index): ":".join(["0000"] * 8) for index in range(GID_TABLE)})
    link(folder / "device", function)
    link(SYS / "class" / "infiniband" / info["rdma"], folder)


def modules(booted: str) -> None:
    """What the kernel loaded. systemd-nspawn shows nothing of the machine's own modules."""
    put(SYS / "module", {f"{name}/initstate": "live" for name in MODULES})
    driver = kernel.driver(booted)
    if driver is not None:
        put(SYS / "module", driver.sys_files)
        mount("spark-lab", Path("/proc/driver"), "tmpfs", data="mode=755,size=64k")
        put(Path("/proc/driver"), driver.proc_files)


def main() -> None:
    spark = board.read()
    booted = kernel.boot()
    writable_sys()
    lab = Path("/run/spark-lab")
    lab.mkdir(exist_ok=True)
    shade(SYS / "devices", ("system", "virtual"))
    shade(SYS / "bus", ())
    shade(SYS / "class", ("net",))
    put(SYS / "class" / "dmi" / "id", DMI | {"product_serial": spark["serial"]})
    armed = "1" if board.MARKER.exists() else "0"
    put(SYS / "devices" / "platform" / "MTKP0001:00" / "pcie_hotplug", {"hotplug_enabled": armed, "debug_state": "1"})
    for domain in ("0000", "0002", "000f"):
        root_port(domain, spark)
    for info in spark["functions"]:
        cx7_function(info, spark)
    gpu = {"current_link_speed": "2.5 GT/s PCIe", "current_link_width": "0"}
    pci_function("000f:01:00.0", 0x10DE, 0x2E12, 0x030200, "nvidia", gpu)
    modules(booted)
    sysctls.own(booted)


if __name__ == "__main__":
    main()
