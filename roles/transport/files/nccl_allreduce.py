# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One rank of an all-reduce that checks every element and counts the bytes of every port.

Runs under the interpreter that serves, so that the NCCL it loads is the one that will serve; PyTorch is all it needs.
Start it on all ranks at the same time, with RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT and NCCL's settings in the
environment. Prints one line of JSON on stdout, whatever happens; exits 0 only when the test ran to its end.

Bus bandwidth is what NVIDIA's nccl-tests call so: 2 (n - 1) / n times the size of the buffer, by the time.
"""

from __future__ import annotations

import argparse
import ctypes
import datetime as dt
import fcntl
import json
import os
import socket
import struct
import sys
import threading
import time
from pathlib import Path
from typing import Any

MIB = 2**20
SIOCGIFFLAGS, IFF_RUNNING = 0x8913, 0x40
PATTERN = 4093
"""A prime, so that no chunk of a buffer looks like another. Sums stay exact in float32 up to 90 ranks."""


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="one rank of a checked all-reduce")
    parser.add_argument("--sizes", nargs="+", type=int, default=[1, 4, 16, 64, 256], metavar="MIB")
    parser.add_argument("--iterations", type=int, default=5)
    parser.add_argument("--timeout", type=float, default=120, metavar="SECONDS")
    parser.add_argument(
        "--ports", type=json.loads, default=[], metavar="JSON", help='[{"name": …, "netdev": …, "rdma": … or null}, …]'
    )
    return parser.parse_args()


def port_bytes(port: dict[str, Any]) -> dict[str, int | None]:
    """Bytes received and sent. RoCE does not show in a netdev's counters; an RDMA port counts words of four bytes."""
    try:
        if port.get("rdma"):
            folder = Path("/sys/class/infiniband", port["rdma"], "ports/1/counters")
            return {
                "received": 4 * int((folder / "port_rcv_data").read_text()),
                "sent": 4 * int((folder / "port_xmit_data").read_text()),
            }
        for line in Path("/proc/net/dev").read_text().splitlines():
            netdev, colon, counts = line.partition(":")
            if colon and netdev.strip() == port["netdev"]:
                numbers = counts.split()
                return {"received": int(numbers[0]), "sent": int(numbers[8])}
    except (OSError, ValueError):
        pass
    return {"received": None, "sent": None}


def has_link(netdev: str) -> bool:
    """Whether the kernel says that the interface is up and has a carrier. One that is not there has none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        try:
            answer = fcntl.ioctl(handle, SIOCGIFFLAGS, struct.pack("16sH14x", netdev.encode(), 0))
        except OSError:
            return False
    return bool(struct.unpack("16sH14x", answer)[1] & IFF_RUNNING)


def forwarded() -> int:
    """IP datagrams that this node has passed on for others."""
    names, values = (line.split() for line in Path("/proc/net/snmp").read_text().splitlines() if line.startswith("Ip:"))
    return int(dict(zip(names, values, strict=True))["ForwDatagrams"])


def loaded_library() -> str | None:
    """The file of the NCCL that this process has mapped."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        if "libnccl.so" in line:
            return line.split(maxsplit=5)[5]
    return None


def version_of(library: str | None) -> str | None:
    """What the library itself says. PyTorch tells the version that it was built with, not the one that is loaded."""
    number = ctypes.c_int()
    if library is None or ctypes.CDLL(library).ncclGetVersion(ctypes.byref(number)) != 0:
        return None
    return f"{number.value // 10000}.{number.value // 100 % 100}.{number.value % 100}"


def difference(before: dict[str, int | None], after: dict[str, int | None]) -> dict[str, int | None]:
    return {
        way: None if (start := before[way]) is None or (end := after[way]) is None else end - start for way in before
    }


def run(options: argparse.Namespace, told: dict[str, Any]) -> None:
    """Fill ``told``, so that what was found before an error is not lost."""
    import torch  # noqa: PLC0415 - where it is missing, main() says so
    import torch.distributed as dist  # noqa: PLC0415

    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    told |= {"rank": rank, "size": size, "torch": torch.__version__, "phase": "rendezvous"}
    device = torch.device("cuda", 0)
    told["device"] = torch.cuda.get_device_name(device)
    dist.init_process_group("nccl", device_id=device, timeout=dt.timedelta(seconds=options.timeout))
    told["library"] = loaded_library()
    told["nccl"] = version_of(told["library"])
    told["phase"] = "first all-reduce"
    dist.all_reduce(torch.ones(1, device=device))
    torch.cuda.synchronize()
    dist.barrier()
    told["phase"] = "counted all-reduces"
    bytes_before, forwarded_before = {port["name"]: port_bytes(port) for port in options.ports}, forwarded()
    for mib in options.sizes:
        pattern = (torch.arange(mib * MIB // 4, device=device) % PATTERN).to(torch.float32)
        expected = pattern * (size * (size + 1) // 2)
        buffer = torch.empty_like(pattern)
        wrong, seconds = 0, []
        for _iteration in range(options.iterations):
            torch.mul(pattern, rank + 1, out=buffer)
            torch.cuda.synchronize()
            began = time.perf_counter()
            dist.all_reduce(buffer)
            torch.cuda.synchronize()
            seconds.append(time.perf_counter() - began)
            wrong += int((buffer != expected).sum().item())
        best = sorted(seconds)[len(seconds) // 2]
        told["sizes"].append(
            {
                "mib": mib,
                "elements": pattern.numel() * options.iterations,
                "wrong": wrong,
                "seconds": best,
                "busbw_gbps": mib * MIB * 8 * 2 * (size - 1) / size / best / 1e9,
            }
        )
    dist.barrier()
    told["ports"] = {port["name"]: difference(bytes_before[port["name"]], port_bytes(port)) for port in options.ports}
    told["forwarded"] = forwarded() - forwarded_before
    told["phase"] = "end"
    dist.destroy_process_group()


def main() -> int:
    options = arguments()
    told: dict[str, Any] = {"rank": None, "sizes": [], "phase": "start", "error": None}

    def say() -> None:
        told["without_link"] = [port["name"] for port in options.ports if not has_link(port["netdev"])]
        sys.stdout.write(json.dumps(told) + "\n")
        sys.stdout.flush()

    def give_up() -> None:
        told["error"] = f"no end within {options.timeout:g} s: it hangs in phase {told['phase']!r}"
        say()
        os._exit(3)

    # A collective that hangs holds the main thread for ever, and PyTorch's own watchdog kills without a word.
    watchdog = threading.Timer(options.timeout, give_up)
    watchdog.daemon = True
    watchdog.start()
    try:
        run(options, told)
    except Exception as error:  # noqa: BLE001 - whatever it was, the controller has to hear it
        told["error"] = f"{type(error).__name__}: {error}".strip()
    # Both must not speak: if it is too late to cancel, the watchdog ends the process.
    watchdog.cancel()
    watchdog.join()
    say()
    # Without destroy_process_group, threads of NCCL would keep a failed rank alive.
    os._exit(0 if told["error"] is None else 1)


if __name__ == "__main__":
    sys.exit(main())
