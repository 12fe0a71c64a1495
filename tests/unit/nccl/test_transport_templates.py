# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of the role transport, rendered as Ansible renders them, and read back as systemd and NCCL read them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as limits
from hypothesis import strategies as st
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ansible_collections.switchless.spark.plugins.module_utils._nccl.settings import settings
from ansible_collections.switchless.spark.plugins.module_utils._nccl.sources import PARSERS
from ansible_collections.switchless.spark.plugins.module_utils._nccl.xml import parse
from tests.unit.fabric.fabric_world import Data
from tests.unit.fabric.test_fabric_forwarding import Fabric, fabrics
from tests.unit.nccl.nccl_world import CONTROL, functions, inventory, of_cables
from tests.unit.nccl.transport_world import ORDER, PLAN, SETTINGS, VIEWS

ROLE = Path(__file__).resolve().parents[3] / "roles/transport"
JINJA = Environment(  # noqa: S701 - no HTML
    loader=FileSystemLoader(ROLE / "templates"),
    undefined=StrictUndefined,
    trim_blocks=True,
    keep_trailing_newline=True,
)
HARMLESS = re.compile(r"[A-Za-z0-9_.,:=/-]+")
"""Values that systemd, a shell and a container's --env-file take for the same."""


def rendered(name: str, view: Data, told: dict[str, Any]) -> str:
    return JINJA.get_template(f"{name}.j2").render(fabric_node=view, __transport=told)


def read_by_systemd(text: str) -> Iterator[tuple[str, str]]:
    """systemd.exec(5), EnvironmentFile=: comments at the start of a line, quotes and backslashes in values.

    Only what is meant to be there: all else that systemd would take is refused.
    """
    for line in text.split("\n"):
        if not line:
            continue
        # A backslash at the end of a line, also of a comment, would join it with the next.
        assert not line.endswith("\\"), line
        if line[0] in "#;":
            continue
        name, equals, value = line.partition("=")
        assert equals, line
        assert re.fullmatch(r"[A-Z][A-Z0-9_]*", name), line
        assert value == value.strip(), line
        assert not set("\"'\\") & set(value), line
        yield name, value


def test_the_head_of_the_article() -> None:
    text = rendered("nccl.env", VIEWS["329f"], SETTINGS["329f"])
    assert text.startswith(
        """\
# Written by the role switchless.spark.transport: the next run overwrites what is changed here.
# How NCCL, gloo and vLLM of 329f (rank 0) reach the other ranks. For systemd: EnvironmentFile=

# Ring sends to the next rank only; every other algorithm needs a cable between ranks that share none.
NCCL_ALGO=Ring

"""
    )
    assert text.endswith(
        """\

# Only what is said while NCCL starts, so that serving logs stay short.
NCCL_DEBUG_SUBSYS=INIT,ENV,NET,GRAPH

# NCCL_IB_GID_INDEX must not be set, here or elsewhere. The index differs between nodes and changes while they run, \
and an empty value means index 0, a link-local address: NCCL finds it by itself.
"""
    )
    assert "\n\n\n" not in text


def worlds() -> Iterator[tuple[str, Data, dict[str, Any]]]:
    for name in ("ring4", "triangle", "pair"):
        plan, views = inventory(name)
        for net in ("rdma", "socket"):
            for host, view in views.items():
                yield f"{name} {net} {host}", view, settings(view, plan, functions(), CONTROL, net=net)
    view = VIEWS["329f"]
    yield "no log", view, settings(view, PLAN, functions(), CONTROL, debug="")
    yield "switch", view, settings(view, {**PLAN, "layout": "switch"}, functions(), CONTROL)


WORLDS = {name: (view, told) for name, view, told in worlds()}


@pytest.mark.parametrize("world", WORLDS)
def test_the_environment_is_read_back(world: str) -> None:
    view, told = WORLDS[world]
    text = rendered("nccl.env", view, told)
    found = list(read_by_systemd(text))
    assert found == list(told["environment"].items())
    for name, value in found:
        assert HARMLESS.fullmatch(value), name
        assert f"\n# {told['reasons'][name]['why']}\n{name}={value}\n" in text
    # And as transport_info will read it on the node.
    assert [entry[1:] for entry in PARSERS["environment"](text)] == found


@pytest.mark.parametrize("world", WORLDS)
def test_what_must_not_be_set_is_in_comments_only(world: str) -> None:
    view, told = WORLDS[world]
    text = rendered("nccl.env", view, told)
    assert told["absent"]
    for name in told["absent"]:
        lines = [line for line in text.splitlines() if re.search(rf"\b{name}\b", line)]
        assert f"# {name} must not be set, here or elsewhere. {told['reasons'][name]['why']}" in lines
        assert all(line.startswith("# ") for line in lines)


@pytest.mark.parametrize("host", ORDER)
def test_the_graph(host: str) -> None:
    told = SETTINGS[host]
    text = rendered("nccl-graph.xml", VIEWS[host], told)
    assert text == f"{told['graph']}\n"
    assert text.count("\n") == 1
    (graph,) = parse(text)
    assert len(graph.channels) == 8
    assert told["environment"]["NCCL_GRAPH_FILE"] in (ROLE / "tasks/write.yml").read_text(encoding="utf-8")


@limits(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(fabrics(most=12), st.integers(1, 32))
def test_any_fabric(fabric: Fabric, channels: int) -> None:
    views = fabric.views()
    for host, told in of_cables(fabric.cables, fabric.hosts, fabric.head, channels=channels).items():
        found = dict(read_by_systemd(rendered("nccl.env", views[host], told)))
        assert found == told["environment"]
        assert all(HARMLESS.fullmatch(value) for value in found.values())
        assert parse(rendered("nccl-graph.xml", views[host], told)) == parse(told["graph"])
