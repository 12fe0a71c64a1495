# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""Why each variable has the value that it has, or must not be there at all."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reason:
    """One sentence, and where it can be checked."""

    why: str
    source: str


_CONNECT = "NVIDIA/nccl v2.30.7, src/transport/net_ib/connect.cc"
_ARTICLE = "the article's ring (calvarado2004/sparks)"
_KINDLING = "kindlingai/glm-5.3-flash-gx10, image/fabric_ring.py"

REASONS: dict[str, Reason] = {
    "NCCL_ALGO": Reason(
        "Ring sends to the next rank only; every other algorithm needs a cable between ranks that share none.",
        "NVIDIA/nccl v2.30.7, src/init.cc; MiaAI-Lab/DeepSeek-v4.1-Flash-DGX-Sparks PR 3",
    ),
    "NCCL_GRAPH_FILE": Reason(
        "Each channel listens on the port that faces the previous rank and is meant for the one that faces the next, "
        "on one PCIe root each, which NCCL's own search does not find for mixed cages.",
        "NVIDIA/nccl v2.30.7, src/graph/search.cc; kindlingai/glm-5.3-flash-gx10, image/fabric_ring.py",
    ),
    "NCCL_NET": Reason(
        "IB fails when RDMA does not work instead of falling back to TCP without a word; Socket is for machines "
        "without RDMA.",
        "METIQ, docs/nccl-contract.md; tests/nccl",
    ),
    "NCCL_IB_HCA": Reason(
        "The leading = makes the names exact, and only ports with a cable are named; NCCL numbers those that have a "
        "link by PCI address, in whatever order they stand here.",
        "NVIDIA/nccl v2.30.7, src/transport/net_ib/init.cc; kindlingai/glm-5.3-flash-gx10, image/fabric_ring.py",
    ),
    "NCCL_IB_SUBNET_AWARE_ROUTING": Reason(
        "With one GPU a node NCCL sends on the device it receives on; 1 makes the sender change to the device on the "
        "receiver's subnet, from 2.30.7 on.",
        f"{_CONNECT}, commit 5c1c4288; {_ARTICLE}",
    ),
    "NCCL_IB_SUBNET_PREFIX_LEN": Reason(
        "The length of the plan's subnets, by which NCCL tells whether two addresses share a cable.", _CONNECT
    ),
    "NCCL_IB_MERGE_NICS": Reason(
        "0 keeps the ports of a NIC apart: they lead to different nodes or through different PCIe roots, and the "
        "graph numbers them one by one.",
        "eugr/spark-vllm-docker, docs/NETWORKING.md",
    ),
    "NCCL_CROSS_NIC": Reason(
        "1 lets a channel receive on one port and send on another; with 0 NCCL skips such a graph without a word. "
        "On a switch 0 keeps each channel on one PCIe root, whose subnet is all it can reach.",
        "NVIDIA/nccl v2.30.7, src/graph/search.cc",
    ),
    "NCCL_IB_ADDR_FAMILY": Reason(
        "The cables have IPv4 subnets, and subnets are compared by IPv4 addresses.", f"{_CONNECT}; christopherowen"
    ),
    "NCCL_IB_ROCE_VERSION_NUM": Reason(
        "RoCE v2 is the version with IP addresses in its packets; NCCL finds the right GID from it.",
        "kindlingai/glm-5.3-flash-gx10, image/fabric_ring.py",
    ),
    "NCCL_CUMEM_ENABLE": Reason(
        "Connections on demand need cuMem; without them NCCL connects the tree at start, over cables that are not "
        "there, and some versions of vLLM set 0 unless it is set.",
        "NVIDIA/nccl v2.30.7, src/init.cc; vllm-project/vllm PR 24141",
    ),
    "NCCL_RUNTIME_CONNECT": Reason(
        "1 connects an algorithm when it is first used, so the tree, which has no cables, is never connected.",
        "NVIDIA/nccl v2.30.7, src/init.cc",
    ),
    "NCCL_MIN_NCHANNELS": Reason(
        "NCCL takes the fewer of the tree's and the ring's channels; this brings back all of the graph's.",
        "NVIDIA/nccl v2.30.7, src/graph/connect.cc",
    ),
    "NCCL_MAX_NCHANNELS": Reason(
        "As many channels as the graph has; more than 8 were slower.",
        "kindlingai/glm-5.3-flash-gx10, 8 against 32 channels",
    ),
    "NCCL_IB_DISABLE": Reason("The machine has no RDMA device.", "tests/nccl"),
    "NCCL_SOCKET_FAMILY": Reason("The control plane and the cables are IPv4.", "METIQ, docs/nccl-contract.md"),
    "NCCL_SOCKET_IFNAME": Reason(
        "The leading = makes the names exact. With RDMA it is the control plane, where NCCL's ranks find each other; "
        "without, NCCL's data goes through these devices, so they are the ports with a cable.",
        "epappas/gx10-cluster, docs/runbooks; tests/nccl",
    ),
    "GLOO_SOCKET_IFNAME": Reason(
        "Gloo ignores NCCL's setting and takes docker0 or a VPN, then hangs without a word; its names take no =.",
        "epappas/gx10-cluster, docs/runbooks",
    ),
    "TP_SOCKET_IFNAME": Reason(
        "The same for TensorPipe, which PyTorch's RPC uses.", "eugr/spark-vllm-docker, launch-cluster.sh"
    ),
    "VLLM_HOST_IP": Reason(
        "vLLM guesses its address from the default route otherwise, which another network may have.",
        "eugr/spark-vllm-docker, launch-cluster.sh",
    ),
    "VLLM_BATCH_INVARIANT": Reason(
        "1 makes vLLM set NCCL to the tree with one channel, which has no cable to go through.",
        "METIQ, docs/nccl-contract.md",
    ),
    "VLLM_ARX_RING": Reason(
        "Small all-reduces go over arx, on queue pairs between neighbours; its forwarding is made for four ranks in a "
        "ring. Images without arx ignore it.",
        f"{_KINDLING}; {_ARTICLE}",
    ),
    "ARX_RING_PREV_HCAS": Reason(
        "The two devices that face the previous rank, PCIe root A first; arx needs both roots.", _KINDLING
    ),
    "ARX_RING_NEXT_HCAS": Reason(
        "The two devices that face the next rank, PCIe root A first; arx needs both roots.", _KINDLING
    ),
    "NCCL_DEBUG": Reason(
        "The log says which NCCL was loaded, which devices it numbers how and which one each channel uses, without "
        "which nothing of this can be checked.",
        _KINDLING,
    ),
    "NCCL_DEBUG_SUBSYS": Reason("Only what is said while NCCL starts, so that serving logs stay short.", "tests/nccl"),
}

ABSENT: dict[str, Reason] = {
    "NCCL_IB_GID_INDEX": Reason(
        "The index differs between nodes and changes while they run, and an empty value means index 0, a link-local "
        "address: NCCL finds it by itself.",
        "tonyd2wild Vision-Exp 38; FujitsuPolycom/sparkring issue 186",
    ),
    "VLLM_ARX_RING": Reason("arx forwards in a ring of four ranks with RDMA only.", _KINDLING),
    "ARX_RING_PREV_HCAS": Reason("Nothing but arx reads it, and arx is off.", _KINDLING),
    "ARX_RING_NEXT_HCAS": Reason("Nothing but arx reads it, and arx is off.", _KINDLING),
    "NCCL_GRAPH_FILE": Reason(
        "A switch joins all nodes: a graph made for cables would bind channels to ports that lead nowhere in "
        "particular.",
        "NVIDIA/nccl v2.30.7, src/graph/search.cc",
    ),
    "NCCL_ALGO": Reason("A switch joins all nodes, so NCCL may choose by size.", "NVIDIA/nccl v2.30.7, src/init.cc"),
    "NCCL_IB_SUBNET_AWARE_ROUTING": Reason(
        "On a switch a channel's device is on the same subnet on every node already.", _CONNECT
    ),
}
