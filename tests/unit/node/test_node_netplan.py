# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Other people's netplan files: which definitions concern a port, where they are, what is left when they are cut."""

from __future__ import annotations

from textwrap import dedent
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.switchless.spark.plugins.module_utils._node.netplan import (
    Definition,
    NetplanSyntaxError,
    Port,
    definitions,
    without,
)

PATH = "/etc/netplan/40-cx7.yaml"
A = Port("enp1s0f0np0", "4C:BB:47:00:00:01", "mlx5_core")
B = Port("enP2p1s0f0np0", "4c:bb:47:00:00:02", "mlx5_core")
MANAGEMENT = Port("enP7s7", "", "r8127")
OTHERS = [MANAGEMENT, Port("lo", "")]


def find(text: str) -> tuple[Definition, ...]:
    return definitions(PATH, text, [A, B], OTHERS)


def one(body: str, section: str = "ethernets", more: str = "") -> str:
    """A file with one definition, whose identifier and content are `body`."""
    return f"network:\n  version: 2\n{more}  {section}:\n" + "".join(
        f"    {line}\n" for line in dedent(body).splitlines()
    )


# What a definition is, the ports it concerns, and what stands against cutting it out.
CONCERNS = {
    "id is the netdev": (one("enp1s0f0np0: {dhcp4: true}"), [A], ""),
    "id is the netdev, empty": (one("enp1s0f0np0:"), [A], ""),
    "id is the netdev, quoted": (one('"enp1s0f0np0":\n  dhcp4: true'), [A], ""),
    "id is another netdev": (one("enP7s7: {dhcp4: true}"), [], ""),
    "id begins like the netdev": (one("enp1s0f0np0v1: {dhcp4: true}"), [], ""),
    "id is the netdev, but it matches another": (one("enp1s0f0np0: {match: {name: enP7s7}}"), [], ""),
    "name": (one("cx7: {match: {name: enp1s0f0np0}}"), [A], ""),
    "glob over one port": (one("cx7: {match: {name: 'enp1s0f?np0'}}"), [A], ""),
    "glob over both": (one("cx7: {match: {name: 'en*np0'}}"), [A, B], ""),
    "glob over the management port too": (one("all: {match: {name: 'en*'}}"), [A, B], "it also defines enP7s7"),
    "glob over everything": (one("all: {match: {name: '*'}}"), [A, B], "it also defines enP7s7, lo"),
    "nothing to match is everything": (one("all: {match: {}, dhcp4: true}"), [A, B], "it also defines enP7s7, lo"),
    "NetworkManager's general profile": (one("NM-1: {renderer: NetworkManager, match: {}}"), [], ""),
    "general profile, renderer of the file": (one("all: {match: {}}", more="  renderer: NetworkManager\n"), [], ""),
    "networkd in a file of NetworkManager": (
        one("all: {renderer: networkd, match: {}}", more="  renderer: NetworkManager\n"),
        [A, B],
        "it also defines enP7s7, lo",
    ),
    "MAC address in other case": (one('cx7: {match: {macaddress: "4c:bb:47:00:00:01"}}'), [A], ""),
    "MAC address of another": (one('cx7: {match: {macaddress: "4c:bb:47:00:00:99"}}'), [], ""),
    "MAC address and name, one is wrong": (one(f"cx7: {{match: {{macaddress: '{A.mac}', name: enP7s7}}}}"), [], ""),
    "driver": (one("cx7: {match: {driver: mlx5_core}}"), [A, B], ""),
    "driver glob": (one("cx7: {match: {driver: 'mlx5*'}}"), [A, B], ""),
    "other driver": (one("cx7: {match: {driver: r8127}}"), [], ""),
    "list of drivers": (one("cx7: {match: {driver: [e1000, mlx5_core]}}"), [A, B], ""),
    "list of drivers with that of the management port": (
        one("cx7: {match: {driver: [r8127, mlx5_core]}}"),
        [A, B],
        "it also defines enP7s7",
    ),
    "renamed to the netdev": (one("cx7: {match: {name: eth5}, set-name: enp1s0f0np0}"), [A], ""),
    "renamed from the netdev": (one("cx7: {match: {name: enp1s0f0np0}, set-name: fabric0}"), [A], ""),
    "renamed by MAC address": (one(f"cx7: {{match: {{macaddress: '{B.mac}'}}, set-name: cx7b}}"), [B], ""),
    "profile of NetworkManager": (
        one('NM-6a1e: {renderer: NetworkManager, match: {name: "enp1s0f0np0"}, networkmanager: {uuid: 6a1e}}'),
        [A],
        "",
    ),
    "nm-devices": (one("NM-6a1e: {match: {name: enp1s0f0np0}}", "nm-devices"), [A], ""),
    "nm-devices, general": (one("NM-6a1e: {match: {}}", "nm-devices"), [], ""),
    "identifier that is a number": (one("7: {match: {name: enp1s0f0np0}}"), [A], ""),
    "bond": (
        one("bond0: {interfaces: [enp1s0f0np0, enP2p1s0f0np0]}", "bonds"),
        [A, B],
        "the port is part of one of the bonds",
    ),
    "bond of others": (one("bond0: {interfaces: [enP7s7]}", "bonds"), [], ""),
    "bond of nothing yet": (one("bond0: {interfaces: }", "bonds"), [], ""),
    "bridge": (one("br0:\n  interfaces:\n  - enp1s0f0np0", "bridges"), [A], "the port is part of one of the bridges"),
    "VLAN": (one("v7: {id: 7, link: enp1s0f0np0}", "vlans"), [A], "the port is part of one of the vlans"),
    "VLAN on a longer name": (one("v7: {id: 7, link: enp1s0f0np0v1}", "vlans"), [], ""),
    "VRF": (one("red: {table: 7, interfaces: [enP2p1s0f0np0]}", "vrfs"), [B], "the port is part of one of the vrfs"),
    "virtual function": (one("vf0: {link: enp1s0f0np0}"), [A], "the port is part of one of the ethernets"),
    "Wi-Fi": (one("wlP9s9: {access-points: {home: {password: secret}}}", "wifis"), [], ""),
    "definition that is text": (one("enp1s0f0np0: dhcp"), [A], ""),
    "nothing of a network": ("network:\n", [], ""),
    "network without definitions": ("network: {version: 2, renderer: NetworkManager}\n", [], ""),
    "empty section": (one("", "ethernets"), [], ""),
    "empty file": ("", [], ""),
    "only a comment": ("# written by cloud-init\n", [], ""),
    "not a mapping": ("- network\n", [], ""),
    "flow style": (
        "network: {version: 2, ethernets: {enp1s0f0np0: {dhcp4: true}}}\n",
        [A],
        "it is written in flow style on one line",
    ),
    "JSON": (
        '{"network": {"ethernets": {"enp1s0f0np0": {"dhcp4": true}}}}\n',
        [A],
        "it is written in flow style on one line",
    ),
    "the anchor of another definition": (
        one("enp1s0f0np0: &cx7\n  mtu: 9000\nenP7s7: *cx7"),
        [A],
        "cutting it out would change another definition",
    ),
}


@pytest.mark.parametrize(("text", "ports", "shared"), CONCERNS.values(), ids=CONCERNS)
def test_which_ports_a_definition_concerns(text: str, ports: list[Port], shared: str) -> None:
    found = find(text)
    assert [definition.netdevs for definition in found] == ([tuple(port.netdev for port in ports)] if ports else [])
    assert [definition.shared for definition in found] == ([shared] if ports else [])


def test_a_port_is_known_in_a_bond_by_the_identifier_of_its_definition() -> None:
    text = """\
network:
  bonds:
    bond0: {interfaces: [left, right]}
  ethernets:
    left: {match: {name: enp1s0f0np0}}
    right: {match: {macaddress: "4c:bb:47:00:00:02"}}
"""
    assert [(d.line, d.identifier, d.netdevs, d.shared) for d in find(text)] == [
        (3, "bond0", (A.netdev, B.netdev), "the port is part of one of the bonds"),
        (5, "left", (A.netdev,), ""),
        (6, "right", (B.netdev,), ""),
    ]


def test_a_definition_that_is_there_twice_is_left_to_its_author() -> None:
    text = one("enp1s0f0np0: {mtu: 9000}\nenp1s0f0np0: {mtu: 1500}")
    assert [(d.line, d.shared) for d in find(text)] == [
        (4, "cutting it out would change another definition"),
        (5, "cutting it out would change another definition"),
    ]


def test_a_definition_says_where_it_is() -> None:
    text = one("enP7s7: {}\ncx7:\n  match: {driver: mlx5_core}")
    assert [str(definition) for definition in find(text)] == [
        "/etc/netplan/40-cx7.yaml:5 defines enp1s0f0np0, enP2p1s0f0np0 (as cx7)"
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("network:\n  ethernets: [\n", "line 3"),
        ("network:\n\tethernets:\n", "line 2"),
        ("network: *nowhere\n", "undefined alias"),
        ("network: {}\n---\nnetwork: {}\n", "expected a single document"),
        ("network: !python/name:os.system\n", "could not determine a constructor"),
        ("network: \x00\n", "special characters are not allowed"),
    ],
)
def test_a_file_that_is_not_yaml(text: str, says: str) -> None:
    with pytest.raises(NetplanSyntaxError) as error:
        find(text)
    assert str(error.value).startswith(f"{PATH} is not valid YAML: ")
    assert says in str(error.value)


HAND_WRITTEN = """\
# The lab's network. Ask Kim before you change it.
network:
  version: 2

  ethernets:
    # management
    enP7s7:
      dhcp4: true  # from the router

    # the two cables
    enp1s0f0np0:
      addresses:
      - 192.168.100.1/24
      # jumbo
      mtu: 9000

    enP2p1s0f0np0: {mtu: 9000}
    # the end
  wifis:
    wlP9s9:
      access-points:
        "home: #1": {password: "a # b"}
"""
HAND_WRITTEN_WITHOUT = """\
# The lab's network. Ask Kim before you change it.
network:
  version: 2

  ethernets:
    # management
    enP7s7:
      dhcp4: true  # from the router

    # the two cables

    # the end
  wifis:
    wlP9s9:
      access-points:
        "home: #1": {password: "a # b"}
"""
# A file, and what is left of it; None: nothing worth a file.
CUT: dict[str, tuple[str, str | None]] = {
    "comments and blank lines stay": (HAND_WRITTEN, HAND_WRITTEN_WITHOUT),
    "the only definition": (one("enp1s0f0np0:\n  dhcp4: true"), None),
    "the only two": (one("enp1s0f0np0:\n  dhcp4: true\nenP2p1s0f0np0: {}"), None),
    "the only definition, in a section of its own": (
        one("NM-1:\n  match: {name: enp1s0f0np0}", "nm-devices"),
        None,
    ),
    "no line feed at the end": (one("enP7s7: {}\nenp1s0f0np0:\n  mtu: 9000")[:-1], one("enP7s7: {}")),
    "no line feed at the end, the other one last": (
        one("enp1s0f0np0:\n  mtu: 9000\nenP7s7: {}")[:-1],
        one("enP7s7: {}")[:-1],
    ),
    "no line feed at the end, the only one": (one("enp1s0f0np0: {mtu: 9000}")[:-1], None),
    "line feeds of another system": (
        one("enp1s0f0np0:\n  mtu: 9000\nenP7s7: {}").replace("\n", "\r\n"),
        one("enP7s7: {}").replace("\n", "\r\n"),
    ),
    "the renderer of all files stays": (
        one("enp1s0f0np0: {mtu: 9000}", more="  renderer: NetworkManager\n"),
        "network:\n  version: 2\n  renderer: NetworkManager\n",
    ),
    "a section that becomes empty goes": (
        one("enp1s0f0np0: {mtu: 9000}") + "  wifis:\n    wlP9s9: {}\n",
        "network:\n  version: 2\n  wifis:\n    wlP9s9: {}\n",
    ),
    "a section that becomes empty, quoted": (
        one("enp1s0f0np0: {mtu: 9000}", '"ethernets"') + "  wifis:\n    wlP9s9: {}\n",
        "network:\n  version: 2\n  wifis:\n    wlP9s9: {}\n",
    ),
    "a device called like a section": (
        "network:\n  wifis:\n    ethernets:\n      dhcp4: true\n  ethernets:\n    enp1s0f0np0: {}\n",
        "network:\n  wifis:\n    ethernets:\n      dhcp4: true\n",
    ),
    "flow style over two lines": (
        one("enp1s0f0np0: {mtu: 9000,\n  dhcp4: true}\nenP7s7: {}"),
        one("enP7s7: {}"),
    ),
    "an end of document": (one("enP7s7: {}\nenp1s0f0np0:\n  mtu: 9000") + "...\n", one("enP7s7: {}") + "...\n"),
    "a text over several lines": (
        one("enp1s0f0np0:\n  networkmanager:\n    name: |\n      a\n\n      b\nenP7s7: {}"),
        one("enP7s7: {}"),
    ),
    "defined twice, in two sections": (
        one("enP7s7: {}\nenp1s0f0np0: {}") + "  nm-devices:\n    NM-1:\n      match: {name: enp1s0f0np0}\n",
        one("enP7s7: {}"),
    ),
    "merged from an anchor that stays": (
        one("enP7s7: &base\n  mtu: 9000\nenp1s0f0np0:\n  <<: *base\n  dhcp4: true"),
        one("enP7s7: &base\n  mtu: 9000"),
    ),
}


@pytest.mark.parametrize(("text", "left"), CUT.values(), ids=CUT)
def test_what_is_left_of_a_file(text: str, left: str | None) -> None:
    found = find(text)
    assert {definition.shared for definition in found} == {""}
    assert without(text, found) == left
    assert left is None or find(left) == ()


@pytest.mark.parametrize(
    "identifier", ["en", "all", "enp1s0f0np0", "enP7s7", "NM-75e4d4a9-7f0e-4b5d-8d2c-0e5ad2a8a6f1"]
)
@pytest.mark.parametrize("glob", ["*", "en*", "enP*", "en[Pp]*", "e?*"])
def test_a_glob_that_also_matches_the_management_port_is_never_cut(identifier: str, glob: str) -> None:
    (definition,) = find(one(f"{identifier}: {{match: {{name: '{glob}'}}, dhcp4: true}}"))
    assert definition.shared.startswith("it also defines enP7s7")


NAMES = st.sampled_from(
    ["enp1s0f0np0", "enP2p1s0f0np0", "enP7s7", "eth0", "wan", "cx7", "NM-1", "br-lan.7", "0e1", "on"]
)
MATCHES = st.sampled_from(
    [
        {"name": "enp1s0f0np0"},
        {"name": "en*np0"},
        {"name": "en*"},
        {"macaddress": A.mac},
        {"driver": "mlx5_core"},
        {"driver": ["r8127", "mlx*"]},
        {},
    ]
)
BODIES = st.fixed_dictionaries(
    {},
    optional={
        "dhcp4": st.booleans(),
        "match": MATCHES,
        "set-name": NAMES,
        "addresses": st.lists(st.sampled_from(["192.0.2.1/24", "2001:db8::1/64"]), max_size=2),
        "nameservers": st.fixed_dictionaries({"search": st.lists(st.text(max_size=6), max_size=2)}),
        "networkmanager": st.dictionaries(st.sampled_from(["uuid", "name", "# x"]), st.text(max_size=8), max_size=2),
    },
)
SECTION = st.dictionaries(NAMES, st.one_of(st.none(), BODIES), max_size=4)
NETWORKS = st.fixed_dictionaries(
    {"version": st.just(2)},
    optional={
        "renderer": st.sampled_from(["networkd", "NetworkManager"]),
        "ethernets": SECTION,
        "nm-devices": SECTION,
        "wifis": SECTION,
        "bonds": st.dictionaries(
            st.just("bond0"), st.fixed_dictionaries({"interfaces": st.lists(NAMES, max_size=2)}), max_size=1
        ),
    },
)


def parsed(text: str | None) -> dict[tuple[str, str], Any]:
    """Every definition of a file by section and identifier."""
    network = (yaml.safe_load(text or "") or {}).get("network") or {}
    return {
        (section, key): body
        for section, value in network.items()
        for key, body in (value.items() if isinstance(value, dict) else [("", value)])
        if section != "version"
    }


@settings(max_examples=25, deadline=None)
@given(NETWORKS, st.booleans(), st.integers(2, 6), st.data())
def test_cutting_changes_no_other_definition(network: Any, sort: bool, indent: int, data: st.DataObject) -> None:
    text = yaml.safe_dump(
        {"network": network}, sort_keys=sort, indent=indent, default_flow_style=False, allow_unicode=True
    )
    lines = text.splitlines(keepends=True)
    for place in data.draw(st.lists(st.integers(0, len(lines)), max_size=3)):
        lines.insert(place, data.draw(st.sampled_from(["\n", "# note\n", "        # note: {\n"])))
    noted = "".join(lines)
    try:
        if yaml.safe_load(noted) == yaml.safe_load(text):  # a note inside of a text is no note
            text = noted
    except yaml.YAMLError:
        pass
    if data.draw(st.booleans()):
        text = text.rstrip("\n")
    before, found = parsed(text), find(text)
    cut = [definition for definition in found if not definition.shared]
    left = without(text, cut)
    gone = {definition.identifier for definition in cut}
    assert parsed(left) == {
        (section, key): body
        for (section, key), body in before.items()
        if section not in ("ethernets", "nm-devices") or str(key) not in gone or (section, key) in parsed(left)
    }
    refused = {definition.identifier for definition in found if definition.shared}
    assert {definition.identifier for definition in (find(left) if left else ())} <= refused
