# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernel logs as people posted them, and the log of a healthy boot around which the cases are written."""

from __future__ import annotations

BOOT = "[    0.000000] Booting Linux on physical CPU 0x0000000000 [0x410fd871]\n"

# A5: a healthy boot. The GPU's line has nothing to do with the NIC; the 27 W line is noise.
GPU = (
    "[    0.103426] pci 000f:01:00.0: 0.000 Gb/s available PCIe bandwidth, limited by Unknown x0 link at 000f:00:00.0 "
    "(capable of 32.000 Gb/s with 2.5 GT/s PCIe x16 link)\n"
)
FUNCTIONS = ("0000:01:00.0", "0000:01:00.1", "0002:01:00.0", "0002:01:00.1")
LOW_POWER = "mlx5_pcie_event:326:(pid 12): Detected insufficient power on the PCIe slot (27W)."
PROBES = "".join(
    f"[    1.15010{n}] mlx5_core {pci}: 126.028 Gb/s available PCIe bandwidth (32.0 GT/s PCIe x4 link)\n"
    for n, pci in enumerate(FUNCTIONS)
)
TWENTY_SEVEN_WATTS = "".join(f"[    1.53319{n}] mlx5_core {pci}: {LOW_POWER}\n" for n, pci in enumerate(FUNCTIONS))
ARMED = (
    "[    5.309621] cx7-pcie-hotplug MTKP0001:00: PCIe hotplug driver initialized successfully\n"
    "[    5.406738] cx7-pcie-hotplug MTKP0001:00: Hotplug enabled\n"
)


def modules(what: str, *cages: int) -> str:
    """What the driver says of the cages right after its probe."""
    return "".join(
        f"[    1.58428{n}] mlx5_core {domain}:01:00.{cage}: Port module event: module {cage}, Cable {what}\n"
        for cage in cages
        for n, domain in enumerate(("0000", "0002"))
    )


def boot(*seated: int, power: bool = True) -> str:
    """A whole log of a boot with cables in these cages."""
    empty = tuple(cage for cage in (0, 1) if cage not in seated)
    return (
        BOOT
        + GPU
        + PROBES
        + (TWENTY_SEVEN_WATTS if power else "")
        + modules("plugged", *seated)
        + modules("unplugged", *empty)
        + ARMED
    )


HEALTHY = boot(0)
NOTHING = BOOT + "[    0.000001] Linux version 6.17.0-1032-nvidia\n"

# No cable in any cage: the hot-plug driver takes the NIC off the bus. Normal.
POWERED_DOWN = boot() + (
    "[   20.788286] cx7-pcie-hotplug MTKP0001:00: Cable removal\n"
    "[   20.790001] pcieport 0000:00:00.0: PCIe Bus Error: severity=Correctable, type=Physical Layer, (Receiver ID)\n"
    "[   20.790002] pcieport 0000:00:00.0:    [ 0] RxErr                  (First)\n"
    + "".join(f"[   22.16348{n}] mlx5_core {pci}: E-Switch: cleanup\n" for n, pci in enumerate(FUNCTIONS))
)

# B6, A2: a cable is plugged in an hour later.
PLUGGED_LATER = (
    "[ 3600.100000] cx7-pcie-hotplug MTKP0001:00: Cable plugin\n"
    "[ 3604.900000] mlx5_core 0000:01:00.0: firmware version: 28.45.4028\n"
    "[ 3604.950000] mlx5_core 0002:01:00.0: firmware version: 28.45.4028\n"
    "[ 3605.200000] mlx5_core 0000:01:00.0: Port module event: module 0, Cable plugged\n"
    "[ 3605.210000] mlx5_core 0002:01:00.0: Port module event: module 0, Cable plugged\n"
    "[ 3606.000000] mlx5_core 0000:01:00.0 enp1s0f0np0: Link up\n"
)
NOT_ADVERTISED = "".join(
    f"[ 3605.30000{n}] mlx5_core {pci}: mlx5_pcie_event:322:(pid 3202): "
    "PCIe slot power capability was not advertised.\n"
    for n, pci in enumerate(FUNCTIONS)
)

# Literal excerpts.
A2 = """\
cx7-pcie-hotplug MTKP0001:00: Cable plugin
mlx5_core 0000:01:00.0: Port module event: module 0, Cable plugged
mlx5_core 0000:01:00.0 enp1s0f0np0: Link up
"""
A3 = """\
mlx5_pcie_event: PCIe slot power capability was not advertised.
mlx5_pcie_event: Detected insufficient power on the PCIe slot (27W).
"""
A7 = "mlx5_core 0002:01:00.0: mlx5_pcie_event:326:(pid 3202): Detected insufficient power on the PCIe slot (27W).\n"
B1 = """\
[  1.204959] mlx5_core 0000:01:00.0: 126.028 Gb/s available PCIe bandwidth (32.0 GT/s PCIe x4 link)
[  1.584786] mlx5_core 0000:01:00.0: Port module event: module 0, Cable unplugged
[  1.585658] mlx5_core 0000:01:00.0: mlx5_pcie_event:326:(pid 12): Detected insufficient power on the PCIe slot (27W).
[  6.788286] mlx5_core 0000:01:00.0: E-Switch: Unload vfs: mode(LEGACY), nvfs(0), necvfs(0), active vports(0)
[ 10.163483] mlx5_core 0000:01:00.0: E-Switch: cleanup
"""
B2 = """\
pci 0000:00:00.0: broken device, retraining non-functional downstream link at 2.5GT/s
pci 0000:00:00.0: retraining failed
pci 0002:00:00.0: broken device, retraining non-functional downstream link at 2.5GT/s
pci 0002:00:00.0: retraining failed
"""
B3 = "cx7-pcie-hotplug MTKP0001:00: Cable removal\n"
B3B = """\
11:33:11 pci 0000:01:00.0: [15b3:1021] type 00 class 0x020000 PCIe Endpoint
11:33:11 mlx5_core 0000:01:00.0: firmware version: 28.45.4028
11:33:11 mlx5_core 0000:01:00.0 enp1s0f0np0: renamed from eth0
11:33:12 cx7-pcie-hotplug MTKP0001:00: PCIe hotplug driver initialized
11:33:12 cx7-pcie-hotplug MTKP0001:00: Hotplug enabled
11:33:27 cx7-pcie-hotplug MTKP0001:00: Cable removal
11:33:27 pcieport 0000:00:00.0: PCIe Bus Error: severity=Correctable
11:33:27 pcieport 0000:00:00.0:    [ 0] RxErr (First)
"""
# B5: the other node rebooted; the hot-plug driver took this node's NIC away and brought it back.
B5 = boot(0, 1) + (
    "[ 9000.100000] mlx5_core 0000:01:00.0 enp1s0f0np0: Link down\n"
    "[ 9005.200000] cx7-pcie-hotplug MTKP0001:00: Cable removal\n"
    "[ 9030.300000] cx7-pcie-hotplug MTKP0001:00: Cable plugin\n"
)
# The cables are pulled out: the driver sees the modules go, then hot-plug takes the NIC off the bus.
PULLED_P0 = (
    "[ 9004.900000] mlx5_core 0000:01:00.0: Port module event: module 0, Cable unplugged\n"
    "[ 9004.910000] mlx5_core 0002:01:00.0: Port module event: module 0, Cable unplugged\n"
)
PULLED = PULLED_P0 + PULLED_P0.replace(":01:00.0", ":01:00.1").replace("module 0", "module 1")
REMOVED = "[ 9006.200000] cx7-pcie-hotplug MTKP0001:00: Cable removal\n"
BACK_WITH_P1 = (
    "[ 9600.100000] cx7-pcie-hotplug MTKP0001:00: Cable plugin\n"
    "[ 9604.900000] mlx5_core 0000:01:00.0: firmware version: 28.45.4028\n"
    "[ 9605.200000] mlx5_core 0000:01:00.0: Port module event: module 0, Cable unplugged\n"
    "[ 9605.210000] mlx5_core 0000:01:00.1: Port module event: module 1, Cable plugged\n"
)
B10 = """\
[ 9490.100000] pcieport 0000:00:00.0: AER: Uncorrectable (Fatal) error message received from 0000:01:00.0
[ 9491.100000] pcieport 0002:00:00.0: PCIe Bus Error: severity=Correctable, type=Physical Layer, (Receiver ID)
[ 9491.200000] mlx5_core 0000:01:00.0: mlx5_pci_slot_reset was called
"""
