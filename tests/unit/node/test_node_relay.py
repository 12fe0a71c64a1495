# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The relay's program at work, with nft, iptables and sysctl that are stubs."""

from __future__ import annotations

import shutil
import stat
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.unit.node.node_role import LEFT, rendered

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
