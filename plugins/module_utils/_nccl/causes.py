# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""What NCCL and those around it write when something is wrong: text, cause, cure, and what decides between causes.

The order matters within one line only: the first that matches names it. C(rank) says how much a line counts:

- PRIMARY: it is what went wrong on this rank;
- SYMPTOM: something else went wrong before, here or on another rank, and this rank noticed;
- WEAK: it can be there without harm, and counts only on a rank that others lost without a word from itself.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

PRIMARY, SYMPTOM, WEAK = "primary", "symptom", "weak"
PEER_GONE = "peer_gone"


@dataclass(frozen=True, slots=True)
class Cause:
    """C(cause) and C(cure) may name groups of the pattern in braces."""

    code: str
    pattern: re.Pattern[str]
    cause: str
    cure: str
    check: str = ""
    weight: str = PRIMARY


def _cause(code: str, pattern: str, cause: str, cure: str, check: str = "", weight: str = PRIMARY) -> Cause:
    return Cause(code, re.compile(pattern), cause, cure, check, weight)


HARMLESS = re.compile(
    r"Spectrum-X \(SPCX\) NCCL plugin is not supported"
    r"|destroy_process_group\(\) was not called"
    r'|Failed to check the "should dump" flag'
    r"|Could not find: libnccl-net"
    r"|exit code: -15\b"
    r"|SSH cmd <-"
    r"|Failed to open file: \"/sys/class/drm"
)
"""Seen in healthy runs, or always behind another error."""

MEMORY_CHECK = (
    "CmaTotal and CmaFree in /proc/meminfo (0 kB with free pages is the kernel's fault) and 'Max locked memory' in "
    "/proc/PID/limits of the process (anything but unlimited is the limit): transport_info shows both"
)

CAUSES: tuple[Cause, ...] = (
    _cause(
        "register_memory",
        r"ibv_reg_(?:dmabuf_)?mr\w* failed with (?:error )?(?:\d+ )?Cannot allocate memory",
        "the kernel refuses to register memory with the NIC: either its contiguous memory area is gone (kernel "
        "7.0.0-1019-nvidia and its like), or the limit on locked memory is too low",
        "CmaTotal 0: boot with kho=off, or boot 6.17.0-1031-nvidia or 6.17.0-1032-nvidia. A limit: "
        "LimitMEMLOCK=infinity in the unit, --ulimit memlock=-1 for a container",
        MEMORY_CHECK,
    ),
    _cause(
        "locked_memory",
        r"ibv_(?:create_cq|create_qp|alloc_pd|create_srq)\w* failed with (?:error )?(?:\d+ )?Cannot allocate memory",
        "the limit on locked memory is too low for the NIC's queues",
        "LimitMEMLOCK=infinity in the unit, --ulimit memlock=-1 for a container",
        MEMORY_CHECK,
    ),
    _cause(
        "open_device",
        r"ibv_(?:open_device|get_device_list) failed|NET/IB : Unable to open device",
        "the process may not open the RDMA device",
        "Give the container /dev/infiniband and memlock -1; on the host, load the module ib_uverbs",
        "ls /dev/infiniband where the process runs",
    ),
    _cause(
        "no_net_plugin",
        r"Failed to initialize any NET plugin",
        "NCCL was told which network to use and cannot: no RDMA device that NCCL_IB_HCA names can be opened, as a rule "
        "because /dev/infiniband is not in the container",
        "Give the container /dev/infiniband and memlock -1; compare NCCL_IB_HCA with `rdma link`",
        "ls /dev/infiniband where the process runs",
    ),
    _cause(
        "tree",
        r"has no transport for (?:recv|send) peer (?P<peer>\d+)",
        "a collective asked for rank {peer}, to which no cable leads: an algorithm other than Ring was chosen, as "
        "VLLM_BATCH_INVARIANT=1 does inside the process, or send/recv between ranks that share no cable",
        "VLLM_BATCH_INVARIANT=0 and NCCL_ALGO=Ring on every rank; no pipeline or expert parallelism across such ranks",
        "the environment of the running process: /proc/PID/environ",
    ),
    _cause(
        "tree_connect",
        r"ncclTransportTreeConnect",
        "NCCL connected the tree at the start, and its edge between ranks that share no cable cannot be connected",
        "NCCL_CUMEM_ENABLE=1, NCCL_RUNTIME_CONNECT=1 and NCCL_ALGO=Ring on every rank, which connects the ring only",
        "'Connected all rings' before it in the log; NCCL_CUMEM_ENABLE in the environment of the process",
    ),
    _cause(
        "graph_file",
        r"Could not open XML graph file (?P<file>\S*) : (?P<error>.*)",
        "NCCL cannot open the channel graph {file}: {error}",
        "Mount the file where the process runs, or run the role transport; unset NCCL_GRAPH_FILE rather than empty it",
        "ls of that path inside the container",
    ),
    _cause(
        "graph_syntax",
        r"XML (?:[Pp]arse|[Ii]mport|[Ee]rror|Graph has wrong version)|XML .*[Ee]xpect"
        r"|Attribute \S+ of node \S+ not found",
        "NCCL cannot read the channel graph",
        "Run the role transport to write it anew: it is one line, without prolog, with one space between attributes",
        "the filter of this collection that validates graphs says at which place",
    ),
    _cause(
        "graph_device",
        r"Could not find NET with id (?P<device>[0-9a-f]+)",
        "the channel graph names device {device} (hexadecimal), which NCCL does not have: a port is without link or "
        "address, or the graph is another node's",
        "Mend the port, then run the role transport",
        "'Using [0]' in the log against the devices of the graph",
    ),
    _cause(
        "ifname",
        r"family \d+ is neither AF_INET|[Nn]o socket interface found|No IP interface found",
        "the interface that NCCL_SOCKET_IFNAME names does not exist, has no IPv4 address or is down on some rank, "
        "which need not be the one that prints this",
        "Set NCCL_SOCKET_IFNAME on each node to the interface that has its address on the control plane",
        "`ip -br -4 address` on each node against NCCL_SOCKET_IFNAME there",
    ),
    _cause(
        "gloo_ifname",
        r"Unable to resolve hostname to a \(local\) address|Unable to find address for: (?P<netdev>\S+)"
        r"|Gloo connectFullMesh failed",
        "gloo does not know this node's address: GLOO_SOCKET_IFNAME is missing on this rank or names an interface that "
        "is not here, and the host name leads to the loopback",
        "Set GLOO_SOCKET_IFNAME on every node, each to its own interface; fix the host name in /etc/hosts",
        "GLOO_SOCKET_IFNAME in the environment of this rank; `getent hosts $(hostname)`",
    ),
    _cause(
        "same_address",
        r"Every node should have a unique IP address",
        "two nodes give the same VLLM_HOST_IP, or one was seen on two networks",
        "VLLM_HOST_IP on each node is its own address on the control plane",
        "VLLM_HOST_IP on each node",
    ),
    _cause(
        "port_in_use",
        r"(?:EADDRINUSE|[Aa]ddress already in use)",
        "the port is taken: an earlier process is still alive, or two services use one range",
        "Stop the old unit on every node, then start all; give each service its own ports",
        "`ss -ltnp` on this node",
    ),
    _cause(
        "version_mismatch",
        r"[Mm]ismatched NCCL version|NCCL version mismatch|Message truncated : received \d+ bytes instead of \d+",
        "the ranks load different NCCLs, or differ in a variable that has to be the same",
        "The same image or environment on every node, and the environment that the role transport writes",
        "'NCCL version' in each rank's log; the checksum that transport_info gives of the library",
    ),
    _cause(
        "duplicate_gpu",
        r"Duplicate GPU detected",
        "NCCL takes two nodes for one: they look the same to it",
        "Different host names on the nodes, and NCCL_HOSTID set to different values or not at all",
        "`hostname` and NCCL_HOSTID on each node",
    ),
    _cause(
        "completion_other",
        r"Got completion (?:from peer \S+ )?with (?:error|status)[ =](?:\w+\()?(?P<status>\d+)",
        "the NIC gave up a transfer with status {status}",
        "Look at the peer's log first: a peer that died ends transfers",
        "the log of the other rank at that time",
    ),
    _cause(
        "join",
        r"Timed out after (?P<seconds>\d+) seconds waiting for clients\. (?P<joined>\d+/\d+) clients joined",
        "not all ranks came within {seconds} s ({joined} did): what stopped the others is in their logs",
        "Read the logs of the ranks that did not come; an empty one never started",
        "the firewall between the nodes: all ports between the control plane's addresses must be open",
        SYMPTOM,
    ),
    _cause(
        "watchdog",
        r"Watchdog caught collective operation timeout|missing ranks: |Last enqueued NCCL work",
        "a collective did not end: the rank that says so waited for another one",
        "Look at the rank that launched fewer operations, or that spins: compare the NCCL libraries by checksum, since "
        "different builds go under one version",
        "GPU power and load on each rank at that time; sha256 of the library by transport_info",
        SYMPTOM,
    ),
    _cause(
        PEER_GONE,
        r"Connection closed by (?:remote )?peer|Connection reset by peer|Broken pipe"
        r"|Socket recv failed while polling|Failed to execute operation \w+ from rank|Error encountered progressing "
        r"operation|socketPollConnect",
        "the other end of a connection went away: this rank noticed, it is not the one that failed",
        "Read the logs of the other ranks at that time",
        "which rank's log ends first",
        SYMPTOM,
    ),
    _cause(
        "wrapper",
        r"NCCL error|ncclSystemError|ncclInternalError|ncclRemoteError|unhandled system error|DistBackendError",
        "NCCL failed, and this line does not say why",
        "Set NCCL_DEBUG=INFO and start again; the cause is in a line of NCCL's own",
        "'NCCL WARN' above it, on this rank and on the others",
        SYMPTOM,
    ),
    _cause(
        "gpu_memory",
        r"NV_ERR_NO_MEMORY",
        "the GPU driver got no memory: on a Spark that is the node's own memory, and a run of these ends in a hang or "
        "in a reset",
        "Lower what serving takes (gpu-memory-utilization, batch); PYTORCH_CUDA_ALLOC_CONF=expandable_segments:False",
        "MemAvailable at that time; `journalctl -k` for more of these lines: one or two at the start can be harmless",
        WEAK,
    ),
)
