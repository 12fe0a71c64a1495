# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of role fabric as Ansible renders them, written out by hand here, and the relay's program at work."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.loader import init_plugin_loader
from ansible.template import Templar

from ansible_collections.switchless.spark.plugins.module_utils._fabric.devices import devices
from tests.unit.fabric.fabric_world import Data, views_of

ROLE = Path(__file__).resolve().parents[3] / "roles" / "fabric"
SBIN = f"{os.environ['PATH']}:/usr/sbin:/sbin"
NETDEVS = {
    ("p0", "A"): "enp1s0f0np0",
    ("p0", "B"): "enP2p1s0f0np0",
    ("p1", "A"): "enp1s0f1np1",
    ("p1", "B"): "enP2p1s0f1np1",
}
ODD_NETDEVS = {("p0", "A"): "fabric.0", ("p0", "B"): "0-cx7_left-link", ("p1", "A"): "ip", ("p1", "B"): "tcp"}
RING = [
    {"ends": ["329f:p1", "355d:p1"], "subnets": ["192.168.100.0/24", "192.168.102.0/24"]},
    {"ends": ["355d:p0", "c049:p0"], "subnets": ["192.168.104.0/24", "192.168.105.0/24"]},
    {"ends": ["c049:p1", "3d38:p0"], "subnets": ["192.168.106.0/24", "192.168.107.0/24"]},
    {"ends": ["3d38:p1", "329f:p0"], "subnets": ["192.168.101.0/24", "192.168.103.0/24"]},
]
PAIR = [{"ends": ["left-1.lan:p1", "right_2:p0"]}]


def functions(names: dict[tuple[str, str], str]) -> list[Data]:
    """What cx7_info shows."""
    return [
        {"cage": cage, "root": root, "netdev": netdev, "mac": f"4c:bb:47:00:00:0{number}", "rdma": None, "pci": "…"}
        for number, ((cage, root), netdev) in enumerate(names.items(), 1)
    ]


@cache
def plugins() -> None:
    """Let Ansible find its plugins; once a process."""
    init_plugin_loader([str(ROLE.parents[1] / ".collections")])


@cache
def rendered(
    host: str = "329f", cables: str = "ring", odd: bool = False, link_local: tuple[str, ...] = ("ipv6",)
) -> dict[str, tuple[str, str | None]]:
    """Folder and name of each file to its content and mode, from the role's own list of files."""
    plugins()
    hosts = ["329f", "355d", "c049", "3d38"] if cables == "ring" else ["left-1.lan", "right_2"]
    node = views_of(RING if cables == "ring" else PAIR, hosts)[host]
    loader = DataLoader()
    variables: dict[str, Any] = loader.load_from_file(str(ROLE / "vars" / "main.yml"), trusted_as_template=True)
    more = {
        "__fabric_devices": devices(node, functions(ODD_NETDEVS if odd else NETDEVS), 9000),
        "fabric_node": node,
        "fabric_link_local": list(link_local),
        "fabric_mtu": 9000,
        "ansible_search_path": [str(ROLE)],
    }
    files = Templar(loader=loader, variables=variables | more).template(variables["__fabric_files"])
    return {"/".join(file["path"].split("/")[-2:]): (str(file["content"]), file.get("mode")) for file in files}


def content(name: str, **more: Any) -> str:
    """A file without the comments that open it."""
    lines = rendered(**more)[name][0].splitlines()
    while lines[0].startswith("#"):
        del lines[0]
    return "\n".join(lines) + "\n"


def port(netdev: str, what: str, *more: str) -> str:
    """The part of a port in the netplan file."""
    return f"""\
    {netdev}:  # {what}
      renderer: networkd
      optional: true
      ignore-carrier: true  # addresses, and with them GIDs, stay where they are while a neighbour reboots
      dhcp4: false
      dhcp6: false
      accept-ra: false
      link-local: ["ipv6"]
      mtu: 9000
""" + "".join(f"      {line}\n" for line in more)


HEAD = "network:\n  version: 2\n  ethernets:\n"
RING_NETPLAN = (
    HEAD
    + port(
        "enp1s0f0np0",
        "cage p0, PCIe root A, cable 4 to 3d38:p1",
        "addresses: [192.168.101.2/24]",
        "routes:",
        "  - {to: 192.168.106.0/24, via: 192.168.101.1}",
    )
    + port(
        "enP2p1s0f0np0",
        "cage p0, PCIe root B, cable 4 to 3d38:p1",
        "addresses: [192.168.103.2/24]",
        "routes:",
        "  - {to: 192.168.107.0/24, via: 192.168.103.1}",
    )
    + port(
        "enp1s0f1np1",
        "cage p1, PCIe root A, cable 1 to 355d:p1",
        "addresses: [192.168.100.1/24]",
        "routes:",
        "  - {to: 192.168.104.0/24, via: 192.168.100.2}",
    )
    + port(
        "enP2p1s0f1np1",
        "cage p1, PCIe root B, cable 1 to 355d:p1",
        "addresses: [192.168.102.1/24]",
        "routes:",
        "  - {to: 192.168.105.0/24, via: 192.168.102.2}",
    )
)
PAIR_NETPLAN = (
    HEAD
    + port("enp1s0f1np1", "cage p1, PCIe root A, cable 1 to right_2:p0", "addresses: [198.18.0.1/24]")
    + port("enP2p1s0f1np1", "cage p1, PCIe root B, cable 1 to right_2:p0", "addresses: [198.18.1.1/24]")
    + port("enp1s0f0np0", "cage p0, PCIe root A, no cable")
    + port("enP2p1s0f0np0", "cage p0, PCIe root B, no cable")
)
OPENING = "table inet switchless_fabric\ndelete table inet switchless_fabric\n\n"
REFUSE = """\

  chain refuse {
    udp dport 4791 counter name roce_refused drop
    counter name other_refused drop
  }
}
"""
RING_SUBNETS = ", ".join(f"192.168.{number}.0/24" for number in range(100, 108))
RING_NFT = (
    OPENING
    + """\
table inet switchless_fabric {
  counter roce_refused { }
  counter other_refused { }

  set ports {
    type ifname
    elements = { "enp1s0f0np0", "enP2p1s0f0np0", "enp1s0f1np1", "enP2p1s0f1np1" }
  }

  set subnets {
    type ipv4_addr
    flags interval
    auto-merge
    elements = { """
    + RING_SUBNETS
    + """ }
  }

  set relays {
    type ifname . ifname
    elements = { "enp1s0f0np0" . "enp1s0f1np1", "enP2p1s0f0np0" . "enP2p1s0f1np1", """
    + """"enp1s0f1np1" . "enp1s0f0np0", "enP2p1s0f1np1" . "enP2p1s0f0np0" }
  }

  chain forward {
    type filter hook forward priority filter - 10; policy accept;
    iifname . oifname @relays ip saddr @subnets ip daddr @subnets meta l4proto { tcp, icmp } accept
    iifname @ports jump refuse
    oifname @ports jump refuse
  }
"""
    + REFUSE
)
PAIR_NFT = (
    OPENING
    + """\
table inet switchless_fabric {
  counter roce_refused { }
  counter other_refused { }

  set ports {
    type ifname
    elements = { "enp1s0f1np1", "enP2p1s0f1np1", "enp1s0f0np0", "enP2p1s0f0np0" }
  }

  chain forward {
    type filter hook forward priority filter - 10; policy accept;
    iifname @ports jump refuse
    oifname @ports jump refuse
  }
"""
    + REFUSE
)
RING_SYSCTL = """\
net.ipv4.conf.enp1s0f0np0.rp_filter = 2
net.ipv4.conf.enP2p1s0f0np0.rp_filter = 2
net.ipv4.conf.enp1s0f1np1.rp_filter = 2
net.ipv4.conf.enP2p1s0f1np1.rp_filter = 2
net.ipv4.conf.enp1s0f0np0.forwarding = 1
net.ipv4.conf.enP2p1s0f0np0.forwarding = 1
net.ipv4.conf.enp1s0f1np1.forwarding = 1
net.ipv4.conf.enP2p1s0f1np1.forwarding = 1
"""
PAIR_SYSCTL = """\
net.ipv4.conf.enp1s0f1np1.rp_filter = 2
net.ipv4.conf.enP2p1s0f1np1.rp_filter = 2
net.ipv4.conf.enp1s0f0np0.rp_filter = 2
net.ipv4.conf.enP2p1s0f0np0.rp_filter = 2
"""
ODD_SYSCTL = """\
net.ipv4.conf.ip.rp_filter = 2
net.ipv4.conf.tcp.rp_filter = 2
net.ipv4.conf.fabric/0.rp_filter = 2
net.ipv4.conf.0-cx7_left-link.rp_filter = 2
"""
NETPLAN, NFT = "netplan/90-switchless-fabric.yaml", "switchless/fabric-relay.nft"
SYSCTL, MANAGER = "sysctl.d/90-switchless-fabric.conf", "conf.d/90-switchless-fabric.conf"
LEFT = {"host": "left-1.lan", "cables": "pair"}


TEXTS: dict[str, tuple[str, dict[str, Any], str]] = {
    "netplan, ring": (NETPLAN, {}, RING_NETPLAN),
    "netplan, pair with one cable": (NETPLAN, LEFT, PAIR_NETPLAN),
    "netplan, no link-local addresses": (
        NETPLAN,
        {"link_local": ()},
        RING_NETPLAN.replace('link-local: ["ipv6"]', "link-local: []"),
    ),
    "rules, ring": (NFT, {}, RING_NFT),
    "rules, pair: nothing is relayed": (NFT, LEFT, PAIR_NFT),
    "sysctl, ring": (SYSCTL, {}, RING_SYSCTL),
    "sysctl, pair: nothing is forwarded": (SYSCTL, LEFT, PAIR_SYSCTL),
    "sysctl, odd names": (SYSCTL, LEFT | {"odd": True}, ODD_SYSCTL),
    "NetworkManager": (
        MANAGER,
        {},
        "[keyfile]\nunmanaged-devices+=" + ";".join(f"interface-name:{name}" for name in NETDEVS.values()) + "\n",
    ),
}


@pytest.mark.parametrize(("name", "what", "expected"), TEXTS.values(), ids=TEXTS)
def test_what_is_written(name: str, what: dict[str, Any], expected: str) -> None:
    assert content(name, **what) == expected


def test_the_modes() -> None:
    modes = {name: mode for name, (_text, mode) in rendered().items()}
    assert modes == {
        "switchless/fabric-rollback": "0755",
        "system/switchless-fabric-rollback.service": None,
        "switchless/fabric-relay": "0755",
        "system/switchless-fabric.service": None,
        NFT: None,
        SYSCTL: None,
        MANAGER: None,
        NETPLAN: "0600",
    }


@pytest.mark.parametrize("what", [{}, LEFT, LEFT | {"odd": True}], ids=["ring", "pair", "odd names"])
def test_netplan_reads_what_is_meant(what: dict[str, Any]) -> None:
    network = yaml.safe_load(rendered(**what)[NETPLAN][0])["network"]
    names = ODD_NETDEVS if what.get("odd") else NETDEVS
    assert network["version"] == 2
    assert network["ethernets"].keys() == set(names.values())
    for body in network["ethernets"].values():
        assert (body["dhcp4"], body["dhcp6"], body["accept-ra"], body["mtu"]) == (False, False, False, 9000)
        assert "gateway4" not in body
        assert not [route for route in body.get("routes", []) if route["to"] in ("default", "0.0.0.0/0")]


@pytest.mark.parametrize("what", [{}, LEFT], ids=["ring", "pair"])
@pytest.mark.skipif(not shutil.which("netplan", path=SBIN), reason="netplan is not installed here")
def test_netplan_itself_takes_it(what: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "etc" / NETPLAN
    file.parent.mkdir(parents=True)
    file.write_text(rendered(**what)[NETPLAN][0])
    file.chmod(0o600)
    subprocess.run(["netplan", "generate", "--root-dir", str(tmp_path)], check=True, env={"PATH": SBIN})


def unshared() -> list[str]:
    """A command's beginning that gives it a network namespace of its own, gone with it."""
    return ["unshare", "--net"] if os.getuid() == 0 else ["unshare", "--map-root-user", "--net"]


def can_load() -> bool:
    """Whether rules can be tried here without touching anyone's."""
    if not shutil.which("nft", path=SBIN):
        return False
    tried = subprocess.run(
        [*unshared(), "nft", "list", "ruleset"], capture_output=True, check=False, env={"PATH": SBIN}
    )
    return tried.returncode == 0


@pytest.mark.parametrize("what", [{}, LEFT, LEFT | {"odd": True}], ids=["ring", "pair", "odd names"])
def test_nft_takes_the_rules_and_takes_them_again(what: dict[str, Any], tmp_path: Path) -> None:
    if not can_load():
        pytest.skip("nft cannot be tried in a network namespace here")
    rules = tmp_path / "rules.nft"
    rules.write_text(rendered(**what)[NFT][0])
    lines = f"nft -c -f {rules}; nft -f {rules}; nft -s list ruleset; echo again; nft -f {rules}; nft -s list ruleset"
    done = subprocess.run(
        [*unshared(), "sh", "-ec", lines], capture_output=True, text=True, check=False, env={"PATH": SBIN}
    )
    assert (done.returncode, done.stderr) == (0, "")
    first, second = done.stdout.split("again\n")
    assert first == second
    assert first.count("table inet") == 1
    assert first.count("jump refuse") == 2


IPTABLES = """\
#!/bin/sh
# Rules of DOCKER-USER as iptables -S prints them, one a line, in $RULES; no file: no Docker.
[ "$1" = -w ] && shift
[ -f "$RULES" ] || exit 1
verb=$1; shift
[ "$verb" = -n ] && exit 0
[ "$1" = DOCKER-USER ] || exit 2
if [ "$verb" = -S ]; then echo "-N DOCKER-USER"; cat "$RULES"; exit 0; fi
rule=$(echo "-A $*" | sed 's/--comment \\([^ ]*\\)/--comment "\\1"/')
case $verb in
  -I) { echo "$rule"; cat "$RULES"; } >"$RULES.new" ;;
  -C) grep -qxF -e "$rule" "$RULES"; exit ;;
  -D) grep -vxF -e "$rule" "$RULES" >"$RULES.new" ;;
  *) exit 2 ;;
esac
mv "$RULES.new" "$RULES"
"""
NFT_STUB = """\
#!/bin/sh
case "$*" in
  "-f "*) cp "$2" "$TABLE" ;;
  "-s list table inet switchless_fabric") cat "$TABLE" ;;
  "delete table inet switchless_fabric") [ -f "$TABLE" ] && rm "$TABLE" ;;
  *) exit 2 ;;
esac
"""
SYSCTL_STUB = '#!/bin/sh\necho "$*" >>"$SYSCTL"\n'
THEIRS = ['-A DOCKER-USER -s 10.0.0.0/8 -m comment --comment "someone else" -j DROP', "-A DOCKER-USER -j RETURN"]
OURS = [
    f'-A DOCKER-USER -i {one} -o {two} -p {protocol} -m comment --comment "switchless.spark" -j ACCEPT'
    for one, two in (
        ("enp1s0f0np0", "enp1s0f1np1"),
        ("enP2p1s0f0np0", "enP2p1s0f1np1"),
        ("enp1s0f1np1", "enp1s0f0np0"),
        ("enP2p1s0f1np1", "enP2p1s0f0np0"),
    )
    for protocol in ("tcp", "icmp")
]


@dataclass
class Relay:
    """The relay's program, its paths led into a folder, with nft, iptables and sysctl that are stubs."""

    root: Path
    program: Path

    @property
    def docker(self) -> Path:
        return self.root / "docker-user"

    def rules(self) -> list[str]:
        return self.docker.read_text().splitlines()

    def run(self, *args: str) -> tuple[int, str]:
        env = {
            "RULES": str(self.docker),
            "TABLE": str(self.root / "table"),
            "SYSCTL": str(self.root / "sysctl"),
        }
        done = subprocess.run(
            [str(self.program), *args], capture_output=True, text=True, check=False, env=env, stdin=subprocess.DEVNULL
        )
        assert done.stderr == ""
        return done.returncode, done.stdout.strip()


def relay_of(root: Path, docker: bool, **what: Any) -> Relay:
    stubs = root / "bin"
    stubs.mkdir()
    for name, text in {"iptables": IPTABLES, "nft": NFT_STUB, "sysctl": SYSCTL_STUB}.items():
        (stubs / name).write_text(text)
        (stubs / name).chmod(0o755)
    text = rendered(**what)["switchless/fabric-relay"][0]
    for old, new in {
        "PATH=/usr/sbin:": f"PATH={stubs}:/usr/sbin:",
        "=/etc/switchless/": f"={root}/",
        "=/etc/sysctl.d/": f"={root}/",
        "/run/switchless": f"{root}/run",
    }.items():
        assert old in text
        text = text.replace(old, new)
    program = root / "fabric-relay"
    program.write_text(text)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    (root / "fabric-relay.nft").write_text("rules of today\n")
    (root / "90-switchless-fabric.conf").write_text("")
    relay = Relay(root, program)
    if docker:
        relay.docker.write_text("".join(f"{rule}\n" for rule in THEIRS))
    return relay


def test_the_relay_is_loaded_checked_and_removed(tmp_path: Path) -> None:
    relay = relay_of(tmp_path, docker=True)
    assert relay.run("check") == (1, "the relay rules were not loaded since boot")
    assert relay.run("apply") == (0, "")
    assert relay.run("check") == (0, "")
    assert sorted(relay.rules()) == sorted(OURS + THEIRS)
    assert relay.rules()[-2:] == THEIRS, "an accept after RETURN accepts nothing"
    assert (tmp_path / "sysctl").read_text() == f"-q -p {tmp_path}/90-switchless-fabric.conf\n"
    assert relay.run("apply") == (0, "")
    assert sorted(relay.rules()) == sorted(OURS + THEIRS), "a second time adds nothing"
    assert relay.run("remove") == (0, "")
    assert relay.rules() == THEIRS
    assert relay.run("check") == (1, "the relay rules were not loaded since boot")
    assert relay.run("remove") == (0, "")


LACKS = "chain DOCKER-USER lacks the relay rules"
GONE = "nft table inet switchless_fabric is gone or was changed"


@pytest.mark.parametrize(
    "drop",
    [range(len(OURS)), [0], [len(OURS) - 1]],
    ids=["Docker made its chain anew", "the first rule is gone", "the last rule is gone"],
)
def test_rules_that_docker_lost(drop: range | list[int], tmp_path: Path) -> None:
    relay = relay_of(tmp_path, docker=True)
    relay.run("apply")
    left = [rule for rule in relay.rules() if rule not in {OURS[number] for number in drop}]
    relay.docker.write_text("".join(f"{rule}\n" for rule in left))
    assert relay.run("check") == (1, LACKS)
    relay.run("apply")
    assert relay.run("check") == (0, "")


@pytest.mark.parametrize("text", [None, "rules that somebody changed\n"], ids=["flushed", "changed"])
def test_a_table_that_is_not_as_it_was_loaded(text: str | None, tmp_path: Path) -> None:
    relay = relay_of(tmp_path, docker=False)
    relay.run("apply")
    (tmp_path / "table").unlink()
    if text:
        (tmp_path / "table").write_text(text)
    assert relay.run("check") == (1, GONE)


def test_docker_comes_later(tmp_path: Path) -> None:
    relay = relay_of(tmp_path, docker=False)
    assert relay.run("apply") == (0, "")
    assert relay.run("check") == (0, "")
    relay.docker.write_text("-A DOCKER-USER -j RETURN\n")
    assert relay.run("check") == (1, LACKS)
    relay.run("apply")
    assert relay.run("check") == (0, "")


def test_a_node_that_relays_nothing(tmp_path: Path) -> None:
    relay = relay_of(tmp_path, docker=True, **LEFT)
    assert relay.run("apply") == (0, "")
    assert relay.rules() == THEIRS
    assert relay.run("check") == (0, "")


def test_rules_of_an_older_plan_go(tmp_path: Path) -> None:
    relay = relay_of(tmp_path, docker=True, **LEFT)
    relay.docker.write_text("".join(f"{rule}\n" for rule in OURS + THEIRS))
    relay.run("apply")
    assert relay.rules() == THEIRS


def test_without_its_rules_it_takes_everything_away(tmp_path: Path) -> None:
    relay = relay_of(tmp_path, docker=True)
    relay.run("apply")
    (tmp_path / "fabric-relay.nft").unlink()
    assert relay.run("apply") == (0, "")
    assert relay.rules() == THEIRS
    assert not (tmp_path / "table").exists()


def test_a_rule_that_docker_refuses_is_a_failure(tmp_path: Path) -> None:
    """systemd then tries again."""
    relay = relay_of(tmp_path, docker=True)
    stub = tmp_path / "bin" / "iptables"
    stub.write_text(IPTABLES.replace("  -I) {", "  -I) exit 4 ;;\n  -X) {"))
    assert relay.run("apply")[0] != 0


@pytest.mark.parametrize("args", [(), ("reload",)])
def test_usage(args: tuple[str, ...], tmp_path: Path) -> None:
    rc, said = relay_of(tmp_path, docker=False).run(*args)
    assert rc == 2
    assert said.startswith("fabric-relay apply|check|remove : ")
    assert [line.split()[0] for line in said.splitlines()[1:]] == ["apply", "check", "remove"]


@pytest.mark.parametrize("what", [{}, LEFT, LEFT | {"odd": True}], ids=["ring", "pair", "odd names"])
@pytest.mark.parametrize(
    "tool",
    [
        ["sh", "-n"],
        pytest.param(
            ["shellcheck"],
            marks=pytest.mark.skipif(not shutil.which("shellcheck"), reason="shellcheck is not installed here"),
        ),
    ],
    ids=["sh", "shellcheck"],
)
def test_the_relay_is_sound_shell(tool: list[str], what: dict[str, Any], tmp_path: Path) -> None:
    script = tmp_path / "fabric-relay"
    script.write_text(rendered(**what)["switchless/fabric-relay"][0])
    done = subprocess.run([*tool, str(script)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
