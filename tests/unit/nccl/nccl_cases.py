# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Logs of failed runs, as people posted them, with addresses replaced; and lines of runs that were well."""

from __future__ import annotations

from tests.unit.nccl.nccl_case import QP, WARN, Case

CASES = (
    Case(
        "S01 one rank never came",
        {
            0: "(Worker pid=213) ERROR 08-03 13:35:33 [x.py:912]     store, rank, world_size = "
            "next(rendezvous_iterator)\n"
            "torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 1/2 clients joined."
        },
        "join",
        0,
        "DistStoreError",
        ("601 s", "1/2", "did not come"),
    ),
    Case(
        "S02 the bridge's address",
        {
            1: "[E616 02:08:15.931416442 socket.cpp:1023] [c10d] The client socket has timed out after 600000ms while "
            "trying to connect to (172.17.0.9, 50437).\n"
        },
        "docker_address",
        1,
        "172.17.0.9",
        ("VLLM_HOST_IP",),
    ),
    Case(
        "S04 a warning before the error",
        {
            9: "[rank9]:[W ProcessGroupGloo.cpp:721] Warning: Unable to resolve hostname to a (local) "
            "address. Using the "
            "loopback address as fallback. Manually set the network interface to bind to with GLOO_SOCKET_IFNAME.\n"
            "ERROR 08-02 08:50:03 worker_base.py:382] Error executing method init_device. This might cause deadlock in "
            "distributed execution.\n"
        },
        "gloo_ifname",
        9,
        "Unable to resolve",
        ("GLOO_SOCKET_IFNAME", "/etc/hosts"),
    ),
    Case("C15 no such interface", {1: "RuntimeError: Unable to find address for: eth0"}, "gloo_ifname", 1, "eth0"),
    Case(
        "S06 another rank has the wrong interface",
        {
            0: "[trainer0|0]:ncclInternalError: Internal check failed.\n[trainer0|0]:Last error:\n"
            "ncclSocketInit: connecting to address  with family 59936 is neither AF_INET(2) nor AF_INET6(10)",
            3: "[trainer3]:spark-d:1958:1958 [3] NCCL INFO NCCL_SOCKET_IFNAME set by environment to eth2\n"
            "[trainer3]:spark-d:1958:1958 [3] NCCL INFO NCCL_SOCKET_IFNAME set to eth2\n",
        },
        "ifname",
        0,
        "family 59936",
        ("need not be the one", "spark-d has eth2"),
    ),
    Case(
        "S08 a hang without a line",
        {0: "CustomAllreduce is disabled because this process group spans across nodes.\n"},
        None,
    ),
    Case(
        "S09 a port is taken on the other node",
        {
            11: "(Worker_TP11 pid=113) ERROR 08-10 23:02:36 [multiproc_executor.py:898] zmq.error.ZMQError: Address "
            "already in use (addr='tcp://192.168.100.58:40043')",
            2: '[rank2]:[W810 23:02:44.7 ProcessGroupNCCL.cpp:1826] Failed to check the "should dump" '
            "flag on TCPStore, "
            "with error: Broken pipe",
            4: "[rank4]:[W810 23:02:44.9 TCPStore.cpp:106] [c10d] sendBytes failed on SocketImpl: Broken pipe",
        },
        "port_in_use",
        11,
    ),
    Case(
        "S10 a port is taken",
        {
            0: "torch.distributed.DistNetworkError: port: 32847, code: -98, name: EADDRINUSE, message: "
            "address already in use"
        },
        "port_in_use",
        0,
    ),
    Case(
        "S14 one address twice",
        {0: "RuntimeError: Every node should have a unique IP address. Got 2"},
        "same_address",
        0,
    ),
    Case(
        "S16 the port that leads to the third node",
        {
            0: f"{WARN} {QP} 110 Connection timed out, on dev rocep1s0f0:1, curr state INIT, next state RTR, local GID "
            "index 3, local GID ::ffff:192.168.102.1, remote GID ::ffff:192.168.104.1\n"
            "RuntimeError: NCCL error: unhandled system error\n"
        },
        "no_cable",
        0,
        "ibv_modify_qp",
        ("192.168.102.1", "192.168.104.1", "SUBNET_AWARE", "2.30.7"),
    ),
    Case(
        "S16 masked",
        {
            0: f"[2026-03-13 22:26:02] spark-a:XXXXXX [5] ibvwrap.c:262 NCCL WARN {QP} 110 Connection "
            "timed out, on dev "
            "mlx_x:1, curr state INIT, next state RTR, local GID index 3, local GID ::ffff:xxx.xx.xx.xx, remote GID "
            "::ffff:xxx.xx.xxx.xx"
        },
        "no_cable",
        0,
    ),
    Case(
        "S17 the cable is elsewhere than its addresses",
        {
            0: f"{QP} 110 Connection timed out, on dev rocep1s0f1:1,\nlocal GID ::ffff:192.168.100.1 "
            "(01-f1), remote GID "
            "::ffff:192.168.100.3 (03-f1)\n"
        },
        "cable",
        0,
        "",
        ("leads elsewhere", "rocep1s0f1"),
    ),
    Case(
        "S18 in the container only",
        {0: "PyNcclCommunicator.__init__ … ncclAllReduce … ibv_modify_qp failed with 110 (Connection timed out)"},
        "no_cable",
        0,
        "",
        ("2.30.7", "no version"),
    ),
    Case(
        "S20 the peer has no address on that twin",
        {
            0: f"{QP} 22 Invalid argument,\non dev roceP2p1s0f0:1,\nlocal GID ::ffff:192.168.100.94,\n"
            "remote GID fe80::xxxx:xxxx:xxxx:xxxx\n"
        },
        "no_gid",
        0,
        "",
        ("the peer used a GID that is link-local", "twins"),
    ),
    Case(
        "S21 one index for both nodes",
        {0: "ibv_modify_qp failed with 22 Invalid argument, remote GID ::"},
        "no_gid",
        0,
        "",
        ("the peer used a GID that is empty", "NCCL_IB_GID_INDEX"),
    ),
    Case(
        "S22 this node has no address on that twin",
        {0: "ibv_modify_qp failed with 61, dev roceP2p1s0f0, local GID index 3, local GID ::"},
        "no_gid",
        0,
        "",
        ("this node used", "roceP2p1s0f0"),
    ),
    Case(
        "S24 both tables moved",
        {
            0: f"NCCL WARN {QP} 61 No data available, on dev rocep1s0f0:1,\n        curr state INIT, "
            "next state RTR, local "
            "GID index 3, local GID ::, remote GID ::\nRuntimeError: NCCL error: unhandled system error\n",
            1: "",
        },
        "no_gid",
        0,
        "NCCL WARN",
        ("both ends moved",),
    ),
    Case(
        "S25 no path to the tree's edge",
        {
            11: "    Channel 03/0 : 11[0] -> 3[0] [send]    via NET/IB/0\n"
            f"    misc/ibvwrap.cc:309 NCCL WARN {QP} 101\n      Network is unreachable, on dev "
            "usb4_rdma0:1, curr state "
            "INIT, next state RTR,\n      local GID index 2, local GID  fd5a:8000:1:0:1::2, remote "
            "GID fd5a:8000:1:0:3::4\n"
            "    transport/net_ib/connect.cc:429 -> 2    (ncclSystemError)\n    ... -> enqueue.cc:3053 -> 2\n"
        },
        "no_cable",
        11,
        "ibv_modify_qp",
        ("fd5a:8000:1:0:1::2",),
    ),
    Case(
        "S25 older words, and three more WARNs",
        {
            0: "spark-a:225140:225355 [0] misc/ibvwrap.cc:187 NCCL WARN Call to ibv_modify_qp failed "
            "with error Network is "
            "unreachable\n"
            "spark-a:225140:225355 [0] NCCL INFO transport/net_ib.cc:579 -> 2\n"
            "spark-a:225140:225355 [0] proxy.cc:1519 NCCL WARN [Proxy Service 1] Failed to execute "
            "operation Connect from "
            "rank 1, retcode 2\n"
            "spark-a:225140:225289 [0] misc/socket.cc:49 NCCL WARN socketProgress: Connection closed by remote peer "
            "spark-a<41109>\n"
            "spark-a:225140:225289 [0] proxy.cc:1143 NCCL WARN Socket recv failed while polling for "
            "opId=0x7fa0242685e0\n"
        },
        "no_cable",
        0,
        "Network is unreachable",
    ),
    Case(
        "S26 no devices in the container",
        {0: "NCCL WARN Failed to initialize any NET plugin\nNCCL error: invalid usage\n"},
        "no_net_plugin",
        0,
        "NET plugin",
        ("/dev/infiniband",),
    ),
    Case("S27 a device cannot be opened", {1: f"{WARN} Call to ibv_open_device failed"}, "open_device", 1),
    Case(
        "S28, S29 memory cannot be registered: two causes",
        {
            0: "spark-a:555:771 [0] misc/ibvwrap.cc:217 (wrap_ibv_reg_mr_iova2) NCCL WARN Call to "
            "ibv_reg_mr_iova2 failed "
            "with error Cannot allocate memory\n→ ncclSystemError: System call (e.g. socket, malloc) failed\n"
            "→ torch.distributed.DistBackendError: NCCL error in NCCLUtils.cpp:93\n"
        },
        "register_memory",
        0,
        "ibv_reg_mr_iova2",
        ("kho=off", "LimitMEMLOCK", "CmaTotal", "Max locked memory"),
    ),
    Case(
        "S30 queues",
        {
            7: "spark-b:4016:4653 [7] misc/ibvwrap.cc:190 NCCL WARN Call to ibv_create_cq failed with "
            "error Cannot allocate "
            "memory\nspark-b:4011:4650 [2] proxy.cc:1567 NCCL WARN [Proxy Service 10] Failed to "
            "execute operation Connect "
            "from rank 10, retcode 3\n"
        },
        "locked_memory",
        7,
        "ibv_create_cq",
    ),
    Case(
        "S32 no answer, old words",
        {
            1: "-worker-1:946:988 [0] transport/net_ib.cc:839 NCCL WARN NET/IB : Got completion with "
            "error 12, opcode 1, "
            "len 0, vendor err 129"
        },
        "unanswered",
        1,
        "error 12",
        ("MTU",),
    ),
    Case(
        "no answer, NCCL 2.28",
        {
            1: f"{WARN} NET/IB : Got completion from peer 192.168.100.2<5023> with status=12 opcode=0 "
            "len=0 vendor err 129 "
            "(Send) localGid ::ffff:192.168.100.1 remoteGids::ffff:192.168.100.2 hca rocep1s0f1"
        },
        "unanswered",
        1,
        "",
        ("::ffff:192.168.100.1", "rocep1s0f1"),
    ),
    Case(
        "no answer, NCCL 2.30",
        {
            1: f"{WARN} NET/IB: Got completion from peer 192.168.100.2<5023> with status=IBV_WC_RETRY_EXC_ERR(12) "
            "opcode=IBV_WC_SEND(0) vendor_err=129  localGid ::ffff:192.168.100.1 "
            "remoteGids::ffff:192.168.100.2 hca rocep1"
        },
        "unanswered",
        1,
    ),
    Case(
        "the peer ended",
        {1: f"{WARN} NET/IB: Got completion from peer 192.0.2.1<5> with status=IBV_WC_WR_FLUSH_ERR(5) opcode=x(0)"},
        "completion_other",
        1,
        "",
        ("status 5",),
    ),
    Case(
        "S33 TCP instead of RDMA",
        {
            0: "spark-a:1:2 [0] NCCL INFO NCCL_IB_HCA set by environment to =rocep1s0f0\n"
            "spark-a:1:2 [0] NCCL INFO NET/IB : No device found.\nspark-a:1:2 [0] NCCL INFO Using network Socket\n"
        },
        "socket_fallback",
        0,
        "",
        ("RDMA devices",),
    ),
    Case(
        "S34 the rank that waited",
        {
            1: "[Rank 1] Watchdog caught collective operation timeout:\nWorkNCCL(SeqNum=12590, OpType=_ALLGATHER_BASE, "
            "Timeout(ms)=600000) ran for 600060 milliseconds before timing out.\n",
            0: "",
        },
        "watchdog",
        1,
        "Watchdog",
        ("waited", "sha256"),
    ),
    Case(
        "S36 a leftover in the image",
        {
            0: "spark-a:1:2 [0] NCCL INFO NCCL_IB_USE_INLINE set by environment to 1.\n"
            "spark-a:1:2 [0] NCCL INFO NCCL_IB_PREPOST_RECEIVE_WORK_REQUESTS set by environment to 1.\n"
        },
        "leftovers",
        0,
        "",
        ("/etc/nccl.conf", "freezes"),
    ),
    Case(
        "S60 the driver got no memory, then silence",
        {
            0: "NVRM: nvCheckOkFailedNoLog: Check failed: Out of memory [NV_ERR_NO_MEMORY]\nNVRM: "
            "(0x00000051) returned",
            1: "[rank1]: sendBytes failed on SocketImpl(fd=102): Broken pipe",
        },
        "gpu_memory",
        0,
        "NV_ERR_NO_MEMORY",
    ),
    Case("S60 a run of them", {0: "NVRM: Check failed: Out of memory [NV_ERR_NO_MEMORY]\n" * 3}, "gpu_memory", 0),
    Case("N13 one of them", {0: "NVRM: Check failed: Out of memory [NV_ERR_NO_MEMORY]\n"}, None),
    Case(
        "S78 the ranks that noticed",
        {
            0: "RuntimeError: [.../gloo/transport/tcp/pair.cc:547] Connection closed by peer [127.0.1.1]:22963",
            1: f"{WARN} Call to ibv_reg_mr failed with error Cannot allocate memory",
        },
        "register_memory",
        1,
    ),
    Case(
        "C6 a triangle",
        {
            0: f"ibvwrap.c:262 NCCL WARN {QP} 110 Connection timed out, on dev rocep1s0f0:1, curr state "
            "INIT, next state "
            "RTR, local GID index 3, local GID ::ffff:192.168.100.1, remote GID ::ffff:192.168.105.2"
        },
        "no_cable",
        0,
    ),
    Case(
        "C7 the tree at the start",
        {
            0: "NCCL INFO Trees [0] 2/-1/-1->0->-1\nNCCL INFO Connected all rings, use ring PXN 0 GDR 0\n"
            "RuntimeError: NCCL error: unhandled system error\n    at ncclTransportTreeConnect -> ncclCommInitRank\n"
        },
        "tree_connect",
        0,
        "ncclTransportTreeConnect",
        ("NCCL_CUMEM_ENABLE=1", "NCCL_RUNTIME_CONNECT=1"),
    ),
    Case(
        "C7 as NCCL says it",
        {
            0: "a:1:2 [0] NCCL INFO NCCL_CUMEM_ENABLE set by environment to 0.\n"
            "a:1:2 [0] NCCL INFO Connected all rings, use ring PXN 0 GDR 0\n"
            f"{WARN} {QP} 110 Connection timed out, on dev rocep1s0f0:1, local GID ::ffff:192.168.100.1, remote GID "
            "::ffff:192.168.104.2\n"
        },
        "tree_connect",
        0,
        "",
        ("NCCL_CUMEM_ENABLE=0",),
    ),
    Case(
        "batch invariance",
        {0: f"{WARN} Rank 0 has no transport for recv peer 2 on channel 0/0\nNCCL error: internal error\n"},
        "tree",
        0,
        "no transport",
        ("rank 2", "VLLM_BATCH_INVARIANT"),
    ),
    Case(
        "no graph",
        {0: f"{WARN} Could not open XML graph file /etc/switchless/nccl-graph.xml : No such file or directory"},
        "graph_file",
        0,
        "",
        ("/etc/switchless/nccl-graph.xml", "No such file"),
    ),
    Case(
        "a device that is not there", {0: f"{WARN} Could not find NET with id 3"}, "graph_device", 0, "", ("device 3",)
    ),
    Case(
        "a port without a link",
        {
            0: "a:1:2 [0] NCCL INFO NCCL_IB_HCA set by environment to =rocep1s0f0,rocep1s0f1\n"
            "a:1:2 [0] NCCL INFO NET/IB : Using [0]rocep1s0f0:1/RoCE [RO]; OOB enP7s7:192.0.2.70<0>\n"
            f"{WARN} Could not find NET with id 1\n"
        },
        "port_missing",
        0,
        "Using [0]",
        ("rocep1s0f1",),
    ),
    Case("a graph of another version", {0: f"{WARN} XML Graph has wrong version 2, 1 needed"}, "graph_syntax", 0),
    Case("a graph without an attribute", {0: f"{WARN} Attribute crossnic of node graph not found"}, "graph_syntax", 0),
    Case(
        "a graph that is passed over",
        {
            0: "NCCL INFO NCCL_GRAPH_FILE set by environment to /g.xml\nNCCL INFO NCCL_CROSS_NIC set by "
            "environment to 0.\n"
            "NCCL INFO Search 0 : 0 channels loaded from XML graph\n"
        },
        "graph_ignored",
        0,
        "",
        ("NCCL_CROSS_NIC=0",),
    ),
    Case(
        "too old",
        {
            0: "NCCL version 2.28.9+cuda13.0\nNCCL INFO Using network IB\n"
            "NCCL INFO NCCL_IB_SUBNET_AWARE_ROUTING set by environment to 1.\n"
        },
        "too_old",
        0,
        "",
        ("2.28.9", "2.30.7"),
    ),
    Case("no interface", {2: f"{WARN} Bootstrap : no socket interface found"}, "ifname", 2),
    Case(
        "a firewall",
        {
            1: f"{WARN} ncclOsSocketPollConnect: connect to 192.0.2.70<41233> returned Connection timed "
            "out, exceeded error "
            "retry count after 35 attempts\n"
        },
        "control_unreachable",
        1,
        "",
        ("ufw", "192.0.2.70"),
    ),
    Case(
        "nobody there",
        {1: f"{WARN} socketStartConnect: Connect to 192.0.2.70<41233> failed : Connection refused"},
        "control_refused",
        1,
        "",
        ("Nobody listens",),
    ),
    Case("no route", {1: f"{WARN} x: connect to 192.0.2.7<4> failed : No route to host"}, "control_unreachable", 1),
    Case(
        "still trying",
        {
            1: "".join(
                f"a:1:2 [0] NCCL INFO x: connect to 192.0.2.70<4> returned No route to host, retrying "
                f"({n}/34) after sleep "
                "for 100 msec\n"
                for n in range(1, 7)
            )
        },
        "control_unreachable",
        1,
        "(1/34)",
    ),
    Case(
        "different NCCLs",
        {0: f"{WARN} Mismatched NCCL version detected : rank 1 version 22809 rank 0"},
        "version_mismatch",
        0,
    ),
    Case(
        "one host twice",
        {0: f"{WARN} Duplicate GPU detected : rank 0 and rank 1 both on CUDA device f01000"},
        "duplicate_gpu",
        0,
    ),
    Case("nobody knows", {0: f"{WARN} The moon is full"}, "unknown", 0, "The moon is full"),
    Case("only a wrapper", {0: "RuntimeError: NCCL error: unhandled system error"}, "wrapper", 0),
    Case(
        "the first to fail",
        {
            0: f"Nov 30 18:00:09 a x[1]: {WARN} The sun is down",
            1: f"Nov 30 18:00:03 b x[1]: {WARN} Call to ibv_open_device failed",
        },
        "open_device",
        1,
    ),
)
