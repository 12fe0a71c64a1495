# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What nvidia-smi says on a GB10 and elsewhere, as public reports have it, and a node on which all is well."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible_collections.switchless.spark.plugins.module_utils._clocks.judge import Load, Seen
from ansible_collections.switchless.spark.plugins.module_utils._clocks.smi import Lock, Sample
from ansible_collections.switchless.spark.plugins.module_utils._clocks.unit import Configured, State

ROLE = Path(__file__).resolve().parents[3] / "roles/clock_cap"
BUS = "0000000F:01:00.0"

LOCKED = f'GPU clocks set to "(gpuClkMin 0, gpuClkMax 2200)" for GPU {BUS}\nAll done.\n'
SNAPPED = f'GPU clocks set to "(gpuClkMin 0, gpuClkMax 1976)" for GPU {BUS}\nAll done.\n'
UNSUPPORTED = (
    f"Setting locked GPU clocks is not supported for GPU {BUS}.\nTreating as warning and moving on.\nAll done.\n"
)
DENIED = f"The current user does not have permission to change clocks for GPU {BUS}.\n"
MISMATCH = "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 580.126\n"
NO_DEVICE = "No devices were found\n"
BLOCKED = "GPU access blocked by the operating system\n"
UNKNOWN = "Failed to initialize NVML: Unknown Error\n"
FAILURES = (UNSUPPORTED, DENIED, MISMATCH, NO_DEVICE, BLOCKED, UNKNOWN, "")

DETAILS = f"""
==============NVSMI LOG==============

Timestamp                                              : Mon Nov 30 12:00:00 2026
Driver Version                                         : 580.173.02
CUDA Version                                           : 13.0

Attached GPUs                                          : 1
GPU {BUS}
    Product Name                                       : NVIDIA GB10
    Persistence Mode                                   : Enabled
    Addressing Mode                                    : ATS
    Performance State                                  : P0
    Clocks Event Reasons
        Idle                                           : Not Active
        Applications Clocks Setting                    : Not Active
        SW Power Cap                                   : Active
        HW Slowdown                                    : Not Active
            HW Thermal Slowdown                        : Not Active
            HW Power Brake Slowdown                    : Active
        SW Thermal Slowdown                            : Not Active
    Clocks Event Reasons Counters
        SW Power Capping                               : 10800240649 us
        SW Thermal Slowdown                            : N/A
    FB Memory Usage
        Total                                          : N/A
    Temperature
        GPU Current Temp                               : 63 C
        GPU T.Limit Temp                               : N/A
    GPU Power Readings
        Average Power Draw                             : N/A
        Instantaneous Power Draw                       : 44.12 W
        Current Power Limit                            : N/A
    Clocks
        Graphics                                       : 2190 MHz
        SM                                             : 2185 MHz
        Memory                                         : N/A
    Applications Clocks
        Graphics                                       : 2418 MHz
    Max Clocks
        Graphics                                       : 3003 MHz
        SM                                             : 3003 MHz
    Supported Clocks                                   : N/A
    Processes                                          : None
"""
OLD_DETAILS = f"""
GPU {BUS}
    Product Name                          : [N/A]
    Persistence Mode [Deprecated; use nvidia-persistenced]  : Disabled
    Clocks Throttle Reasons
        Idle                              : Active
    Power Readings
        Power Draw                        : 3.74 W
    Clocks
        SM                                : Not Supported
GPU 00000010:01:00.0
    Product Name                          : Another
    Clocks
        SM                                : 1000 MHz
"""

SHOWN = (
    "LoadState=loaded\nActiveState=active\nSubState=exited\nResult=success\nUnitFileState=enabled\n"
    "ExecMainStatus=0\nInvocationID=4f2a\nNeedDaemonReload=no\n"
)
LOG = LOCKED + "Clock cap: asked for at most 2200 MHz, set to 0 to 2200 MHz.\n"
UNIT_TEXT = (ROLE / "files/switchless-clock-cap.service").read_text()
ENV_TEXT = "# by the role\nCLOCK_CAP_MAX_MHZ=2200\n"
CSV = "clocks.current.sm [MHz], utilization.gpu [%], power.draw [W], temperature.gpu\n2185 MHz, 96 %, 44.12 W, 63\n"


def state(**more: Any) -> State:
    well: dict[str, Any] = {
        "load": "loaded",
        "active": "active",
        "sub": "exited",
        "result": "success",
        "enabled": "enabled",
        "exit_status": 0,
        "invocation": "4f2a",
        "need_reload": False,
    }
    return State(**well | more)


def busy(*clocks: int, **more: Any) -> tuple[Sample, ...]:
    return tuple(
        Sample(clock, **{"utilization_percent": 96, "power_w": 44.1, "temperature_c": 63} | more) for clock in clocks
    )


def load(*samples: Sample) -> Load:
    return Load(len(samples), samples)


def well(**more: Any) -> Seen:
    """A node whose cap a load has shown."""
    shown: dict[str, Any] = {
        "configured": Configured(2200, ("/etc/systemd/system/switchless-clock-cap.service",)),
        "state": state(),
        "lock": Lock(2200, 0, 2200),
        "load": load(*busy(2177, 2185, 2210, 2200)),
    }
    return Seen(**shown | more)
