# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lab that can serve: what is kept with it, and what its nodes get."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lab.common import LabError, locked, read_json, say, write_atomic
from lab.rootfs import building
from lab.serving import model, python, wheels
from lab.site import STORE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lab.site import Site

MODELS = Path("srv/models")


@dataclass(frozen=True)
class Serving:
    """Paths on this machine; or why there are none."""

    python: str = ""
    wheels: str = ""
    model: str = ""
    why: str = ""


def load(site: Site) -> Serving | None:
    """What is kept with the lab; None if nobody asked it to serve."""
    data = read_json(site.serving_file)
    return Serving(**data) if isinstance(data, dict) else None


def status(site: Site) -> dict[str, Any]:
    """For `status --json`."""
    kept = load(site)
    if kept is None:
        return {"serving": None, "why": "the lab was started without --serving"}
    if kept.why:
        return {"serving": None, "why": kept.why}
    return {"serving": {"wheels": kept.wheels, "model": kept.model, "python": str(python.PROGRAM)}, "why": ""}


def arrange(site: Site, layers: Sequence[str], running: Sequence[str], *, asked: bool) -> Serving | None:
    """Find or make what the lab serves with, and keep that with the lab. A lab that once served goes on doing so."""
    kept = load(site)
    if kept is None and not asked:
        return None
    if running and (kept is None or kept.why):
        if kept is None:
            raise LabError(f"lab {site.name} is up without what serving needs: take it down first")
        say(f"lab {site.name} cannot serve: {kept.why}")
        return kept
    try:
        made = make(kept, layers)
    except wheels.UnavailableError as error:
        if running:
            raise
        made = Serving(why=str(error))
        say(f"lab {site.name} cannot serve: {error}")
    write_atomic(site.serving_file, json.dumps(asdict(made), indent=1) + "\n")
    prune()
    return made


def make(kept: Serving | None, layers: Sequence[str]) -> Serving:
    """Interpreter, wheels and model, each found or made."""
    if kept and kept.python and python.Interpreter(Path(kept.python)).program.exists():
        interpreter = python.Interpreter(Path(kept.python))
    else:
        interpreter = python.find(layers)
    return Serving(str(interpreter.prefix), str(wheels.collect(interpreter.program)), str(checkpoint()))


def checkpoint() -> Path:
    """The folder of the lab's model, made now if it is not there."""
    with locked(STORE / "serving.lock", message="another lab is making the model: waiting for it"):
        target = wheels.CACHE / f"model-{model.digest()}"
        if not target.is_dir():
            wheels.CACHE.mkdir(parents=True, exist_ok=True)
            with building(target) as new:
                new.mkdir()
                model.write(new)
        return target


def equip(site: Site, node: str, serving: Serving | None) -> None:
    """Give a node's disk what serving needs, once, while the node is off. The head alone has the model."""
    done = site.node(node) / "serving"
    if serving is None or serving.why or done.exists():
        return
    upper = site.node(node) / "upper"
    python.place(python.Interpreter(Path(serving.python)), upper)
    if node == site.wiring.nodes[0]:
        target = upper / MODELS / model.NAME
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        for path in sorted(Path(serving.model).iterdir()):
            shutil.copyfile(path, target / path.name)
    done.touch()


def options(site: Site) -> list[str]:
    """systemd-nspawn's, by which a node sees the machine's Python."""
    kept = load(site)
    if kept is None or kept.why:
        return []
    source = kept.python.replace("\\", "\\\\").replace(":", "\\:")
    return [f"--bind-ro={source}:{python.IN_NODE}"]


def prune() -> None:
    """Remove wheels and models of older locks that no lab of this checkout serves with."""
    present = {wheels.folder(), wheels.CACHE / f"model-{model.digest()}"}
    for path in STORE.glob("*/serving.json"):
        data = read_json(path)
        if isinstance(data, dict):
            present |= {Path(data.get("wheels", "")), Path(data.get("model", ""))}
    for kind in ("wheels-????????", "model-????????"):
        for path in wheels.CACHE.glob(kind):
            if path not in present:
                shutil.rmtree(path, ignore_errors=True)
