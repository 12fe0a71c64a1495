# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Proves the lab on a lab of its own: two nodes, two cables, every verb, and that nothing is left afterwards."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lab import machine, netns
from lab.common import command_env, wait_for
from lab.hardware import FUNCTIONS
from lab.procs import Process
from lab.site import CHECKOUT, STORE, Site

if TYPE_CHECKING:
    from collections.abc import Callable

SITE = Site("selftest")
OTHER = Site("selftest2")
WIRING = Path(__file__).parent / "wiring"
ONE, TWO = "spark1", "spark2"
P0, P1 = "enp1s0f0np0", "enp1s0f1np1"
KERNEL, LATER_KERNEL = "6.17.0-1032-nvidia", "7.0.0-1019-nvidia"
DRIVER, LATER_DRIVER = "580.173.02", "580.178.04"
RDMA = "/sys/class/infiniband/rocep1s0f0/ports/1"
LISTEN = """
import socket, sys
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x88cc)); s.bind((sys.argv[1], 0)); s.settimeout(8)
print("listening", flush=True)
try:
    while b"spark-lab-selftest" not in s.recv(2000): pass
    print("heard")
except TimeoutError:
    print("silence")
"""
SEND = """
import socket, sys
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW); s.bind((sys.argv[1], 0))
s.send(bytes.fromhex("0180c200000e0200000000aa88cc") + b"spark-lab-selftest".ljust(60))
"""


def lab(*arguments: str, site: Site = SITE, wiring: str = "pair2.toml", check: bool = True) -> str:
    """Run a verb; its output is what the test looks at."""
    argv = [sys.executable, "-m", "lab", "--name", site.name, "--wiring", str(WIRING / wiring), *arguments]
    env = {**command_env(), "PYTHONPATH": str(CHECKOUT), "PYTHONPYCACHEPREFIX": str(STORE / "pycache")}
    done = subprocess.run(argv, check=False, capture_output=True, text=True, env=env, stdin=subprocess.DEVNULL)
    if check and done.returncode != 0:
        raise AssertionError(f"{' '.join(arguments)}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout.strip() + ("" if check else done.stderr.strip())


def sh(node: str, script: str, *, check: bool = True) -> str:
    return lab("exec", node, "sh", "-c", script, check=check)


def want(fact: object, message: str) -> None:
    if not fact:
        raise AssertionError(message)


def eventually(fact: Callable[[], bool], message: str, seconds: float = 8) -> None:
    want(wait_for(fact, seconds, step=0.1), message)


def carrier(node: str, netdev: str) -> bool:
    return sh(node, f"cat /sys/class/net/{netdev}/carrier || true", check=False).startswith("1")


def pings(address: str, extra: str = "") -> bool:
    return "0% packet loss" in sh(ONE, f"ping -c 1 -W 1 {extra} {address} | tr '\\n' ' '", check=False).replace(
        " 100%", ""
    )


def addresses() -> None:
    """Take the ports from NetworkManager and give both ends of cage p0 an address, as a person would by hand."""
    for number, node in enumerate((ONE, TWO), 1):
        commands = [f"nmcli device set {function.netdev} managed no" for function in FUNCTIONS]
        commands += [f"ip link set {function.netdev} up mtu 9000" for function in FUNCTIONS]
        commands += [f"ip address replace 192.168.50.{number}/24 dev {P0}"]
        sh(node, "; ".join(commands))


def test_up_twice() -> None:
    lab("up")
    before = [machine.leader(SITE, node) for node in (ONE, TWO)]
    start = time.monotonic()
    lab("up")
    seconds = time.monotonic() - start
    want(before == [machine.leader(SITE, node) for node in (ONE, TWO)], "the second up changed the nodes")
    want(seconds < 3, f"the second up took {seconds:.1f} s")
    data: dict[str, Any] = json.loads(lab("status", "--json"))
    want(all(node["ready"] for node in data["nodes"]), f"not ready: {data['nodes']}")


def test_networkmanager_holds_the_ports() -> None:
    table = sh(ONE, "nmcli -t -f DEVICE,STATE device")
    for function in FUNCTIONS:
        want(f"{function.netdev}:connect" in table, f"NetworkManager does not hold {function.netdev}:\n{table}")
    want(sh(ONE, "systemctl is-system-running --wait") == "running", "the node is degraded")
    want("ordering cycle" not in (SITE.logs / f"{ONE}.log").read_text(errors="replace"), "systemd had to drop a unit")


def test_login() -> None:
    ssh = ["ssh", "-F", str(SITE.ssh_config), ONE]
    done = subprocess.run([*ssh, "sudo -n id -u; id -un"], check=False, capture_output=True, text=True)
    want(done.stdout.split() == ["0", "spark"], f"login as spark: {done.stdout}{done.stderr}")
    sh(ONE, "mv /etc/sudoers.d/spark /root/spark.sudoers")
    done = subprocess.run([*ssh, "sudo -n true"], check=False, capture_output=True, text=True)
    sh(ONE, "mv /root/spark.sudoers /etc/sudoers.d/spark")
    want("password is required" in done.stderr, f"sudo without its file: {done.stderr}")


def test_jumbo_frames() -> None:
    addresses()
    eventually(lambda: pings("192.168.50.2", "-M do -s 8972"), "no ping of 8972 bytes over cable 1")


def test_sysfs_follows() -> None:
    read = f"cat /sys/class/net/{P0}/speed {RDMA}/state {RDMA}/rate"
    eventually(lambda: sh(ONE, read) == "200000\n4: ACTIVE\n200 Gb/sec (4X HDR)", f"up: {sh(ONE, read)}")
    mapped = "0000:0000:0000:0000:0000:ffff:c0a8:3201"
    eventually(lambda: sh(ONE, f"cat {RDMA}/gids/3") == mapped, f"GID 3: {sh(ONE, f'cat {RDMA}/gids/3')}")
    want(sh(ONE, f"cat {RDMA}/gid_attrs/types/3") == "RoCE v2", "the GID's type")
    want(
        "Invalid argument" in sh(ONE, f"cat {RDMA}/gid_attrs/types/9", check=False), "an unused index must give EINVAL"
    )
    names = sh(ONE, "cat /sys/class/net/en*p*f*np*/phys_port_name /sys/class/net/en*p*f*np*/phys_switch_id").split()
    want(sorted(names[:4]) == ["p0", "p0", "p1", "p1"], f"{names}")
    want(len(set(names[4:])) == 1, f"one ASIC, one switch id: {names}")
    want(sh(ONE, "basename $(readlink -f /sys/class/net/enP2p1s0f1np1/device)") == "0002:01:00.1", "device link")


def test_unplug_and_plug() -> None:
    lab("unplug", "1")
    eventually(lambda: not carrier(ONE, P0) and not carrier(TWO, P0), "carrier stays although the cable is out")
    want(carrier(ONE, P1), "the other cable lost its carrier")
    read = f"cat /sys/class/net/{P0}/speed {RDMA}/state {RDMA}/rate"
    eventually(lambda: sh(ONE, read) == "-1\n1: DOWN\n40 Gb/sec (4X QDR)", f"down: {sh(ONE, read)}")
    lab("plug", "1")
    eventually(lambda: carrier(ONE, P0) and pings("192.168.50.2"), "no ping after plugging in again")


def test_far_port_down() -> None:
    sh(TWO, f"ip link set {P0} down")
    eventually(lambda: not carrier(ONE, P0), "carrier stays although the far port is down")
    sh(TWO, f"ip link set {P0} up")
    eventually(lambda: carrier(ONE, P0), "no carrier after the far port came up")


def hears(port: str) -> bool:
    """Whether an LLDP frame sent from spark1's cage p0 arrives at a port of spark2."""
    argv = [sys.executable, "-m", "lab", "--name", SITE.name, "exec", TWO, "python3", "-c", LISTEN, port]
    env = {**command_env(), "PYTHONPATH": str(CHECKOUT)}
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env=env) as listener:
        if listener.stdout is None or listener.stdout.readline().strip() != "listening":
            raise AssertionError("the listener did not start")
        lab("exec", ONE, "python3", "-c", SEND, P0)
        return listener.stdout.read().strip() == "heard"


def test_lldp_passes() -> None:
    want(hears(P0), "an LLDP frame did not pass")


def test_swap() -> None:
    lab("swap", "1", "2")
    eventually(lambda: carrier(ONE, P0), "no carrier after the swap")
    want(hears(P1), "after the swap, spark1:p0 does not lead to spark2:p1")
    want("spark1:p0 - spark2:p1" in lab("status"), "status does not say so")
    lab("swap", "1", "2")
    eventually(lambda: pings("192.168.50.2"), "no ping after swapping back")


def rate() -> float:
    sh(TWO, "pkill iperf3; iperf3 -s -D -1", check=False)
    eventually(lambda: ":5201" in sh(TWO, "ss -ltn"), "no iperf3 server")
    result = json.loads(sh(ONE, "iperf3 -J -t 2 -c 192.168.50.2"))
    return float(result["end"]["sum_received"]["bits_per_second"]) / 1e6


def test_limit() -> None:
    lab("limit", "1", "200mbit")
    limited = rate()
    want(120 < limited < 240, f"{limited:.0f} Mb/s through a limit of 200")
    lab("unlimit", "1")
    free = rate()
    want(free > 1000, f"{free:.0f} Mb/s without limit")
    want("not a rate" in lab("limit", "1", "fast", check=False), "a bad rate was taken")


def test_kernel_message() -> None:
    text = "mlx5_core 0000:01:00.0: Port module event: module 0, Cable unplugged (selftest)"
    lab("kmsg", ONE, "4", text)
    want(text in sh(ONE, "journalctl -k -b -p 4 --no-pager"), "journalctl -k does not show it")
    want(text in sh(ONE, "dmesg --level=warn"), "dmesg does not show it")
    power_lines = sh(ONE, "journalctl -k -b --no-pager | grep -c 'insufficient power on the PCIe slot (27W)'")
    want(power_lines == "4", f"{power_lines} lines about 27 W")


def test_apt() -> None:
    sh(ONE, "apt-get -qq update && apt-get -qq install -y lldpd </dev/null")
    want(sh(ONE, "systemctl is-active lldpd") == "active", "lldpd does not run")
    known = sh(ONE, "apt-cache policy")
    for origin in ("o=Ubuntu,a=noble-updates", "l=NVIDIA Spark", "l=NVIDIA CUDA"):
        want(origin in known, f"no repository {origin}:\n{known}")
    moved = sh(ONE, "apt-get -s dist-upgrade")
    for line in (
        f"Inst nvidia-driver-580-open [{DRIVER}-0ubuntu0.24.04.1] ({LATER_DRIVER}-0ubuntu0.24.04.1 Ubuntu:24.04",
        "Inst nvidia-modprobe [580.95.05-1] (610.43.02-1ubuntu1 NVIDIA CUDA",
        f"Inst linux-image-{LATER_KERNEL} (7.0.0-1019.19~24.04.2 Ubuntu:24.04",
    ):
        want(line in moved, f"an upgrade would not {line}:\n{moved}")
    code = sh(ONE, "curl -s -o /dev/null -w '%{http_code}' -x http://10.77.0.1:3142 http://example.org/", check=False)
    want(code == "403", f"the proxy answers {code} for a foreign host")
    want(not pings("192.0.2.1"), "a packet went somewhere")


def started(kernel: str, driver: str) -> None:
    """What a node says of the kernel and the driver that it booted."""
    want(sh(ONE, "uname -r") == kernel, f"uname: {sh(ONE, 'uname -r')}")
    read = f"cat /sys/module/nvidia/version; modinfo -F version -k {kernel} nvidia"
    want(sh(ONE, read).split() == [driver, driver], f"loaded, on the disk: {sh(ONE, read)}")
    want(f"Open Kernel Module for aarch64  {driver}  " in sh(ONE, "cat /proc/driver/nvidia/version"), "/proc")
    want(f"Driver Version: {driver} " in sh(ONE, "nvidia-smi"), "nvidia-smi")


def test_driver_is_the_factorys() -> None:
    started(KERNEL, DRIVER)
    want("NVIDIA GB10" in sh(ONE, "nvidia-smi -L"), "nvidia-smi")
    sh(ONE, "nvidia-ctk cdi generate --output=/root/cdi.yaml")
    want(f"libcuda.so.{DRIVER}" in sh(ONE, "cat /root/cdi.yaml"), "the CDI spec names another driver")


def test_staged_kernel_comes_and_goes() -> None:
    boot = "ls /boot /lib/modules; cat /boot/grub/grub.cfg"
    before = sh(ONE, boot)
    lab("fault", ONE, "staged-kernel")
    want(f"vmlinuz-{LATER_KERNEL}" in sh(ONE, boot), "no second kernel")
    lab("fault", ONE, "clear")
    want(sh(ONE, boot) == before, "the fault left something behind")


def test_installed_is_not_loaded() -> None:
    names = ("nvidia-driver-580-open", "linux-nvidia-hwe-24.04", "linux-modules-nvidia-580-open-nvidia-hwe-24.04")
    sh(ONE, f"DEBIAN_FRONTEND=noninteractive apt-get -qq install -y {' '.join(names)} </dev/null")
    said = sh(ONE, "nvidia-smi && echo fine", check=False)
    want("version mismatch\nNVML library version: 580.178" in said and "fine" not in said, f"nvidia-smi: {said}")
    want(sh(ONE, "uname -r") == KERNEL, "the kernel changed without a boot")


def test_reboot() -> None:
    script = "cat /proc/sys/kernel/random/boot_id"
    before, network = sh(ONE, script), netns.path(SITE.netns(ONE)).stat().st_ino
    sh(ONE, "touch /root/kept; systemctl --no-block reboot")
    eventually(
        lambda: netns.exists(SITE.netns(ONE)) and netns.path(SITE.netns(ONE)).stat().st_ino != network, "no reboot", 60
    )
    lab("poweron", ONE)
    want(sh(ONE, script) != before, "the boot id is the same")
    started(LATER_KERNEL, LATER_DRIVER)
    want("192.168.50.1" not in sh(ONE, f"ip address show {P0}"), "a run-time address survived")
    want(sh(ONE, f"cat /sys/class/net/{P0}/mtu") == "1500", "the MTU survived")
    want(float(sh(ONE, "cut -d' ' -f1 /proc/uptime")) < 120, "uptime goes on")
    want("(selftest)" not in sh(ONE, "journalctl -k -b --no-pager"), "the kernel log of the boot before is this boot's")
    want("(selftest)" in sh(ONE, "journalctl -k -b -1 --no-pager"), "the kernel log of the boot before is gone")
    want(sh(ONE, "ls /root/kept") == "/root/kept", "the disk forgot")
    addresses()
    eventually(lambda: pings("192.168.50.2"), "no ping after the reboot")


def test_poweroff() -> None:
    lab("poweroff", TWO)
    eventually(lambda: not carrier(ONE, P0), "carrier stays although the far node is off")
    want("off" in lab("status"), "status does not say so")
    lab("poweron", TWO)
    eventually(lambda: carrier(ONE, P0), "no carrier after the far node came back", 20)


def test_powercut() -> None:
    lab("powercut", TWO)
    eventually(lambda: not carrier(ONE, P0), "carrier stays although the far node has no power")
    want(not SITE.node_cgroup(TWO).populated(), "something of the node is alive")
    lab("poweron", TWO)
    eventually(lambda: carrier(ONE, P0), "no carrier after the far node came back", 20)


def test_second_lab_beside() -> None:
    lab("up", site=OTHER, wiring="single.toml")
    want(lab("exec", ONE, "hostname", site=OTHER) == ONE, "the second lab does not answer")
    lab("destroy", site=OTHER)
    want(not leftovers(OTHER), f"left: {leftovers(OTHER)}")
    want(sh(ONE, "hostname") == ONE, "the first lab suffered")


def leftovers(site: Site) -> list[str]:
    """Everything of a lab that the kernel still holds."""
    found = netns.names(site.prefix)
    for path in Path("/proc").glob("[0-9]*"):
        try:
            text = (path / "cgroup").read_text()
            inside = f"spark-lab/{site.name}-" in text or f"{site.folder}/" in (path / "cmdline").read_text()
        except OSError:
            continue
        if inside and Process.of(int(path.name)):
            found.append(f"process {path.name}")
    folder = str(site.folder).replace(" ", "\\040")
    found += [f"mount {line}" for line in Path("/proc/self/mountinfo").read_text().splitlines() if folder + "/" in line]
    group = site.cgroup()
    return found + ([f"cgroup {group.path}"] if group.exists() else [])


def kill_everything(site: Site) -> None:
    """SIGKILL to every process of the lab, in any order, as the OOM killer or a broken CI job would."""
    for path in list(site.cgroup().path.rglob("cgroup.procs")):
        for pid in path.read_text().split():
            if pid != "0" and int(pid) != os.getpid() and (process := Process.of(int(pid))):
                process.signal(signal.SIGKILL)


def test_down_leaves_nothing() -> None:
    lab("down")
    want(not leftovers(SITE), f"left: {leftovers(SITE)}")
    lab("down")
    want("down" in lab("status"), "status")


def test_up_after_down_keeps_disks() -> None:
    lab("up")
    want(sh(ONE, "ls /root/kept") == "/root/kept", "the disk forgot")


def test_up_heals_after_sigkill() -> None:
    kill_everything(SITE)
    lab("up")
    want(sh(TWO, "systemctl is-system-running --wait") == "running", "not healed")


def test_down_after_sigkill() -> None:
    kill_everything(SITE)
    lab("down")
    want(not leftovers(SITE), f"left: {leftovers(SITE)}")


def test_destroy() -> None:
    lab("destroy")
    want(not SITE.folder.exists(), "the folder is still there")
    want(not leftovers(SITE), f"left: {leftovers(SITE)}")


def main(keep: bool) -> int:
    lab("destroy")
    lab("destroy", site=OTHER)
    start, failed, passed = time.monotonic(), 0, 0
    for name, test in [entry for entry in globals().items() if entry[0].startswith("test_")]:
        begun = time.monotonic()
        try:
            test()
        except Exception:  # noqa: BLE001 - the next test may still tell something
            failed += 1
            print(f"FAILED {name}\n{traceback.format_exc(limit=-3)}", flush=True)
            if name == "test_up_twice":
                break
        else:
            passed += 1
            print(f"PASSED {name} ({time.monotonic() - begun:.1f} s)", flush=True)
    if not keep:
        lab("destroy")
        lab("destroy", site=OTHER)
    counts = (f"{failed} failed, " if failed else "") + f"{passed} passed"
    print(f"=== {counts} in {time.monotonic() - start:.1f} s ===", flush=True)
    return 1 if failed else 0
