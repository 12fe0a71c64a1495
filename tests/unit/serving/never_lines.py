# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines that must never be reported, as healthy boots on GB10 print them or as they stand behind other errors."""

from __future__ import annotations

NEVER = (
    (
        "(EngineCore_DP0 pid=1088) WARNING 12-17 23:27:50 [ray_utils.py:207] tensor_parallel_size=2 is bigger than a "
        "reserved number of GPUs (1 GPUs) in a node 9b520231…. Tensor parallel workers can be spread "
        "out to 2+ nodes which "
        "can degrade the performance unless you have fast interconnect across nodes, like Infiniband."
    ),
    (
        "(EngineCore_DP0 pid=1088) (RayWorkerWrapper pid=1171) WARNING 12-17 23:27:54 [symm_mem.py:67] "
        "SymmMemCommunicator: "
        "Device capability 12.1 not supported, communicator is not available."
    ),
    (
        "(EngineCore_DP0 pid=1088) (RayWorkerWrapper pid=1171) WARNING 12-17 23:27:54 [custom_all_reduce.py:92] Custom "
        "allreduce is disabled because this process group spans across nodes."
    ),
    (
        "spark-a:2472:2472 [0] init.cc:449 NCCL WARN Spectrum-X (SPCX) NCCL plugin is not supported on "
        "device:<nic:cluster>, skipping .. [repeated 3x across cluster]"
    ),
    (
        "  Found GPU0 NVIDIA GB10 which is of cuda capability 12.1. Minimum and Maximum cuda capability "
        "supported by this "
        "version of PyTorch is (8.0) - (12.0)"
    ),
    (
        "[W:onnxruntime:Default, device_discovery.cc:164 DiscoverDevicesForPlatform] GPU device discovery failed: "
        'device_discovery.cc:89 ReadFileContents Failed to open file: "/sys/class/drm/card0/device/vendor"'
    ),
    (
        "(EngineCore pid=397) INFO 09-02 11:57:54 [shm_broadcast.py:801] No available shared memory broadcast block "
        "found in 60 seconds."
    ),
    (
        "[rank0]:[W205 16:55:27.345399482 ProcessGroupNCCL.cpp:1565] Warning: WARNING: destroy_process_group() was not "
        "called before program exit"
    ),
    (
        '[rank2]:[W810 23:02:44.722288193 ProcessGroupNCCL.cpp:1826] Failed to check the "should dump" flag on '
        "TCPStore, (maybe TCPStore server has shut down too early), with error: Broken pipe"
    ),
    "spark-a:1:1 [0] NCCL INFO NET/Plugin: Could not find: libnccl-net.so. Using internal network plugin.",
    "  SSH cmd <- 192.168.100.2 FAILED rc=255 (5.0s): ssh: connect to host 192.168.100.2 port 22: Connection timed out",
    (
        "(Worker pid=1) WARNING 12-17 23:27:50 [multiproc_executor.py:921] Reducing Torch parallelism from 112 threads "
        "to 1 to avoid unnecessary CPU contention."
    ),
    "ERROR 02-07 11:28:27 multiproc_worker_utils.py:124] Worker VllmWorkerProcess pid 645162 died, exit code: -15",
    "(Worker_TP0 pid=1) WARNING 10-10 10:10:10 [arx.py:1] arx rank 0: STALL seq 12 waited 1.2 s",
)
