# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import http.client
import io
from pathlib import Path

import pytest

from lab.aptproxy import Cache, immutable, upstream
from lab.aptsources import Mirror, Source, find_mirror, hosts, node_sources, parse_deb822, parse_list, read_sources
from lab.common import LabError

LIST = """\
# deb http://old.example/debian bullseye main
deb [arch=amd64 signed-by=/usr/share/keyrings/x.gpg] https://mirror.example/debian/ bookworm main contrib
deb-src http://mirror.example/debian bookworm main
deb http://mirror.example/security bookworm-security main # comment
deb https://vendor.example:8443/apt cloud main
"""
DEB822 = """\
Types: deb deb-src
URIs: http://mirror.example/debian
# http://commented.example
Suites: trixie
 trixie-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Enabled: no
Types: deb
URIs: http://off.example/debian
Suites: trixie
Components: main
"""


def test_one_line_format() -> None:
    assert parse_list(LIST) == [
        Source("https://mirror.example/debian/", "bookworm", ("main", "contrib")),
        Source("http://mirror.example/security", "bookworm-security", ("main",)),
        Source("https://vendor.example:8443/apt", "cloud", ("main",)),
    ]


def test_deb822_format() -> None:
    assert parse_deb822(DEB822) == [
        Source("http://mirror.example/debian", "trixie", ("main",)),
        Source("http://mirror.example/debian", "trixie-updates", ("main",)),
    ]


def test_reads_a_folder(tmp_path: Path) -> None:
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / "sources.list").write_text("deb http://one.example/debian trixie main\n")
    (tmp_path / "sources.list.d" / "two.sources").write_text(DEB822)
    (tmp_path / "sources.list.d" / "three.list.save").write_text("deb http://three.example/debian trixie main\n")
    assert read_sources(tmp_path)[0].uri == "http://one.example/debian"
    assert len(read_sources(tmp_path)) == 3


def test_mirror_and_hosts() -> None:
    sources = parse_list(LIST)
    assert find_mirror(sources) == Mirror("https://mirror.example/debian", "http://mirror.example/security")
    assert hosts(sources) == {"mirror.example": "https", "vendor.example:8443": "https"}


def test_nodes_speak_http_to_the_proxy() -> None:
    text = node_sources(Mirror("https://mirror.example/debian", None))
    assert text.splitlines() == [
        "deb http://mirror.example/debian trixie main",
        "deb http://mirror.example/debian trixie-updates main",
    ]


def test_no_debian_archive() -> None:
    with pytest.raises(LabError, match="name no Debian archive"):
        find_mirror(parse_list("deb https://vendor.example/apt cloud main\ndeb cdrom:/x trixie main"))


@pytest.mark.parametrize(
    ("asked", "fetched"),
    [
        ("http://mirror.example/debian/dists/trixie/InRelease", "https://mirror.example/debian/dists/trixie/InRelease"),
        ("http://plain.example:8080/a?b=c", "http://plain.example:8080/a?b=c"),
        ("http://plain.example/a", None),
        ("http://elsewhere.example/", None),
        ("https://mirror.example/debian", None),
        ("http://mirror.example@elsewhere.example/", None),
        ("/etc/passwd", None),
        ("file:///etc/passwd", None),
    ],
)
def test_only_hosts_of_the_machine(asked: str, fetched: str | None) -> None:
    assert upstream(asked, {"mirror.example": "https", "plain.example:8080": "http"}) == fetched


def test_what_is_kept() -> None:
    assert immutable("/debian/pool/main/l/lldpd/lldpd.deb")
    assert immutable("/debian/dists/trixie/main/binary-amd64/by-hash/SHA256/00")
    assert not immutable("/debian/dists/trixie/InRelease")


def test_a_short_file_is_never_kept(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    with pytest.raises(http.client.IncompleteRead):
        cache.store("http://x/pool/a.deb", io.BytesIO(b"half"), "8")
    assert list(tmp_path.iterdir()) == []
    assert cache.store("http://x/pool/a.deb", io.BytesIO(b"complete"), "8").read_bytes() == b"complete"
    assert cache.path("http://x/pool/a.deb").exists()
