# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads this machine's own apt sources: which Debian mirror it has, and which hosts its apt may ask."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from lab.common import LabError, run

SUITE = "trixie"
DEBIAN_SUITES = {"bookworm", "trixie", "forky", "sid", "stable", "testing", "unstable", "oldstable"}
OPTION = re.compile(r"^\s*(\[[^\]]*\])?\s*(\S.*)$")


@dataclass(frozen=True)
class Source:
    """One line of one-line format, or one combination of a deb822 stanza."""

    uri: str
    suite: str
    components: tuple[str, ...]


@dataclass(frozen=True)
class Mirror:
    """A Debian archive, and its security archive if the machine has one."""

    archive: str
    security: str | None


def parse_list(text: str) -> list[Source]:
    """One-line format: `deb [options] URI SUITE COMPONENT...`."""
    found = []
    for line in text.splitlines():
        kind, _, rest = line.split("#", 1)[0].strip().partition(" ")
        matched = OPTION.match(rest)
        if kind != "deb" or not matched:
            continue
        fields = matched[2].split()
        if len(fields) >= 2:
            found.append(Source(fields[0], fields[1], tuple(fields[2:])))
    return found


def parse_deb822(text: str) -> list[Source]:
    """Stanzas of `Types`, `URIs`, `Suites`, `Components`; disabled ones are left out."""
    found = []
    for stanza in re.split(r"\n[ \t]*\n", text):
        fields = _fields(stanza)
        if "deb" not in fields.get("types", "").split() or fields.get("enabled", "yes").lower() in ("no", "false", "0"):
            continue
        components = tuple(fields.get("components", "").split())
        found += [
            Source(uri, suite, components)
            for uri in fields.get("uris", "").split()
            for suite in fields.get("suites", "").split()
        ]
    return found


def _fields(stanza: str) -> dict[str, str]:
    fields: dict[str, str] = {}
    key = ""
    for line in stanza.splitlines():
        if line.startswith("#"):
            continue
        if line[:1] in (" ", "\t"):
            fields[key] = f"{fields.get(key, '')} {line.strip()}"
        elif ":" in line:
            key, _, value = line.partition(":")
            key = key.strip().lower()
            fields[key] = value.strip()
    return fields


def read_sources(root: Path = Path("/etc/apt")) -> list[Source]:
    found = []
    for path in [root / "sources.list", *sorted((root / "sources.list.d").glob("*"))]:
        if path.is_file():
            parse = {".list": parse_list, ".sources": parse_deb822}.get(path.suffix)
            found += parse(path.read_text(errors="replace")) if parse else []
    return found


def find_mirror(sources: list[Source]) -> Mirror:
    """The first source that is a Debian archive, by suite and component, whatever its host is called."""
    archive = security = None
    for source in sources:
        if urlsplit(source.uri).scheme not in ("http", "https") or "main" not in source.components:
            continue
        base = source.suite.partition("/")[0]
        if base in DEBIAN_SUITES:
            archive = archive or source.uri.rstrip("/")
        elif base.removesuffix("-security") in DEBIAN_SUITES:
            security = security or source.uri.rstrip("/")
    if archive is None:
        raise LabError(
            "this machine's apt sources name no Debian archive over http or https (a `deb` source of main for "
            f"{', '.join(sorted(DEBIAN_SUITES))}); the lab's nodes are Debian {SUITE} and come from there"
        )
    return Mirror(archive, security)


def plain(uri: str) -> str:
    """As nodes write it: over http to the lab's proxy, which asks the mirror the way the machine does."""
    return re.sub(r"^https:", "http:", uri)


def node_sources(mirror: Mirror) -> str:
    """sources.list of a node."""
    lines = [f"deb {plain(mirror.archive)} {SUITE} main", f"deb {plain(mirror.archive)} {SUITE}-updates main"]
    if mirror.security:
        lines.append(f"deb {plain(mirror.security)} {SUITE}-security main")
    return "\n".join(lines) + "\n"


def hosts(sources: list[Source]) -> dict[str, str]:
    """Host (with port, if any) of each http source, and the scheme that the machine uses for it."""
    found: dict[str, str] = {}
    for source in sources:
        parts = urlsplit(source.uri)
        if parts.scheme in ("http", "https"):
            found.setdefault(parts.netloc.rpartition("@")[2], parts.scheme)
    return found


def machine_options() -> dict[str, str]:
    """Options of this machine's apt that decide whether its mirror's files are accepted: snapshots have old dates."""
    wanted = ("Acquire::Check-Valid-Until", "Acquire::Check-Date")
    found = {}
    for line in run(["apt-config", "dump"], check=False).stdout.splitlines():
        key, _, value = line.rstrip(";").partition(" ")
        if key in wanted and value.strip('"'):
            found[key] = value.strip('"')
    return found
