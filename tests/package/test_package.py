# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The collection as a user gets it: built, installed offline, and asked from the installed copy alone."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
FQCN = "switchless.spark"
SHIPPED = {
    "CHANGELOG.rst", "CONTRIBUTING.md", "FILES.json", "LICENSE", "MANIFEST.json", "README.md",
    "changelogs", "docs", "inventories", "meta", "playbooks", "plugins", "roles", "site.yml",
}  # fmt: skip
ROLES = sorted(path.name for path in (ROOT / "roles").iterdir() if (path / "tasks").is_dir())  # others have data only
MODULES = sorted(path.stem for path in (ROOT / "plugins" / "modules").glob("[!_]*.py"))
FILTERS = sorted(path.stem for path in (ROOT / "plugins" / "filter").glob("*.yml"))


class Installed:
    """The collection, installed where nothing of the checkout is in reach."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.config = base / "ansible.cfg"
        self.config.touch()
        self.path = base / "collections" / "ansible_collections" / "switchless" / "spark"

    def run(self, *argv: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        environ = {name: value for name, value in os.environ.items() if not name.startswith("ANSIBLE_")}
        environ |= {
            "ANSIBLE_COLLECTIONS_PATH": str(self.base / "collections"),
            "ANSIBLE_CONFIG": str(self.config),
            "ANSIBLE_HOME": str(self.base / "home"),
            "ANSIBLE_NOCOLOR": "1",
            "LC_ALL": "C.UTF-8",
        }
        command = [str(Path(sys.executable).parent / argv[0]), *map(str, argv[1:])]
        done = subprocess.run(command, cwd=cwd or self.base, env=environ, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
        return done

    def doc(self, kind: str, *argv: str) -> Any:
        done = self.run("ansible-doc", "--type", kind, "--json", *argv)
        # ansible-core 2.21 warns of a collection of its own
        complaints = [line for line in done.stderr.splitlines() if "_protomatter" not in line and line.startswith("[")]
        assert complaints == []
        return json.loads(done.stdout)


@pytest.fixture(scope="session")
def artifact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tarball, built from a copy of what git tracks or would track."""
    base = tmp_path_factory.mktemp("build")
    git = ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in set(subprocess.run(git, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")):
        source, target = ROOT / name, base / "source" / name
        if name and os.path.lexists(source):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target, follow_symlinks=False)
    for name in (".venv", ".lab", ".cache", ".report", "__pycache__"):  # what a used checkout has
        (base / "source" / name).mkdir()
        (base / "source" / name / "left-over").touch()
    (base / "source" / "switchless-spark-0.0.1.tar.gz").touch()
    Installed(base).run("ansible-galaxy", "collection", "build", "--output-path", base / "out", cwd=base / "source")
    (tarball,) = (base / "out").iterdir()
    return tarball


@pytest.fixture(scope="session")
def installed(artifact: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    collection = Installed(tmp_path_factory.mktemp("install"))
    target = collection.base / "collections"
    collection.run("ansible-galaxy", "collection", "install", "--offline", "--no-deps", "-p", target, artifact)
    return collection


@pytest.fixture(scope="session")
def role_docs(installed: Installed) -> Any:
    return installed.doc("role", *(f"{FQCN}.{role}" for role in ROLES))


def test_it_ships_what_a_user_needs_and_nothing_else(artifact: Path) -> None:
    with tarfile.open(artifact) as tarball:
        names = [name for name in tarball.getnames() if name not in {"", "."}]
    assert {name.split("/")[0] for name in names} - SHIPPED == set()
    assert SHIPPED - {name.split("/")[0] for name in names} == set()
    assert [name for name in names if "__pycache__" in name or name.endswith((".pyc", ".tar.gz", "left-over"))] == []


def test_it_says_what_it_is(installed: Installed) -> None:
    manifest = json.loads((installed.path / "MANIFEST.json").read_text())["collection_info"]
    assert (manifest["namespace"], manifest["name"]) == ("switchless", "spark")
    assert manifest["license"] == ["GPL-3.0-or-later"]
    assert set(manifest["dependencies"]) == {"ansible.posix", "ansible.utils", "community.general"}
    runtime = yaml.safe_load((installed.path / "meta" / "runtime.yml").read_text())
    assert runtime["requires_ansible"] == ">=2.20.0"


@pytest.mark.parametrize(("kind", "names"), [("module", MODULES), ("filter", FILTERS)])
def test_every_plugin_is_documented(installed: Installed, kind: str, names: list[str]) -> None:
    expected = {f"{FQCN}.{name}" for name in names}
    listed = installed.doc(kind, "--list", FQCN)
    assert set(listed) == expected
    assert [name for name, short in listed.items() if "UNDOCUMENTED" in short] == []
    docs = installed.doc(kind, *sorted(expected))
    assert {name for name, entry in docs.items() if entry["doc"] and entry["examples"] and entry["return"]} == expected


@pytest.mark.parametrize("role", ROLES)
def test_every_role_is_documented(installed: Installed, role_docs: Any, role: str) -> None:
    assert (installed.path / "roles" / role / "README.md").is_file()
    assert (installed.path / "roles" / role / "meta" / "argument_specs.yml").is_file()
    assert role_docs[f"{FQCN}.{role}"]["entry_points"]["main"]["short_description"]


def test_every_playbook_can_be_called_by_its_name(installed: Installed) -> None:
    playbooks = sorted(path.stem for path in (installed.path / "playbooks").glob("*.yml"))
    assert "site" in playbooks
    names = [f"{FQCN}.{name}" for name in playbooks]
    installed.run("ansible-playbook", "--inventory", "sparks,", "--syntax-check", *names)
