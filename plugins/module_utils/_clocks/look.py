# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""Reads a node: our unit, everything else that sets clocks, what nvidia-smi says, the clock at work."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from ansible_collections.switchless.spark.plugins.module_utils._cx7.sysfs import Tree
from ansible_collections.switchless.spark.plugins.module_utils._link.reading import bounded, quoted
from ansible_collections.switchless.spark.plugins.module_utils._link.ready import gpu_processes
from ansible_collections.switchless.spark.plugins.module_utils._node.runner import Result, Runner

from . import setters, smi, unit
from .judge import Load, Seen

SMI_SECONDS = 20.0
MAX_BYTES = 65536

UNITS = ("/etc/systemd/system", "/run/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system")
"""In the order in which systemd takes a unit of the same name."""
BOOT = ("/etc/rc.local", "/etc/rc.d/rc.local")
CRON = ("/etc/crontab", "/etc/anacrontab")
CRON_FOLDERS = (
    "/etc/cron.d",
    "/etc/cron.hourly",
    "/etc/cron.daily",
    "/etc/cron.weekly",
    "/etc/cron.monthly",
    "/var/spool/cron/crontabs",
    "/var/spool/cron",
)


class Bounded:
    """A runner whose commands end: nvidia-smi hangs when the driver does."""

    def __init__(self, runner: Runner, seconds: float = SMI_SECONDS) -> None:
        self._runner = runner
        self._seconds = seconds

    def run(self, argv: Sequence[str], *, data: str | None = None) -> Result:
        return self._runner.run(bounded(self._seconds, list(argv)), data=data)


class Files:
    """Text files below a root. Those that are there and cannot be read are kept."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self.unread: dict[str, None] = {}

    def read(self, path: str) -> str | None:
        """The text, blank lines at its top included; None for what is no file."""
        place = self._tree.path(path.lstrip("/"))
        try:
            if not place.is_file():
                return None
            with place.open("rb") as file:
                return file.read(MAX_BYTES).decode("utf-8", "replace")
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError:
            self.unread[path] = None
            return None

    def names(self, path: str) -> list[str]:
        try:
            return sorted(entry.name for entry in self._tree.path(path.lstrip("/")).iterdir())
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError:
            self.unread[path] = None
            return []

    def runnable(self, path: str) -> bool:
        try:
            return self._tree.path(path.lstrip("/")).stat().st_mode & 0o111 != 0
        except OSError:
            return True


def look(tree: Tree, runner: Runner, load: Load) -> Seen:
    """All of it. The load comes from C(watch), so that what nvidia-smi says here is said right after it."""
    files = Files(tree)
    state = unit.state(runner.run(unit.SHOW).stdout)
    log = journal(runner, state.invocation)
    details = Bounded(runner).run(smi.DETAILS)
    gpu = smi.gpu(details.stdout)
    return Seen(
        configured=unit.configured(ours(files), files.read),
        state=state,
        lock=smi.lock(log),
        said=quoted(log.splitlines()),
        gpu=gpu,
        gpu_detail="" if gpu else _said(details),
        others=tuple(others(files, runner)),
        unread=tuple(files.unread),
        load=load,
    )


def journal(runner: Runner, invocation: str) -> str:
    """What our unit said when it last ran in this boot."""
    if not invocation:
        return ""
    return runner.run(["journalctl", "-b", f"_SYSTEMD_INVOCATION_ID={invocation}", "-o", "cat", "--no-pager"]).stdout


def ours(files: Files) -> Iterator[tuple[str, str]]:
    """Our unit file and its drop-ins. A drop-in of an earlier folder takes the place of one with its name."""
    for folder in UNITS:
        if (text := files.read(f"{folder}/{unit.UNIT}")) is not None:
            yield f"{folder}/{unit.UNIT}", text
            break
    parts: dict[str, str] = {}
    for folder in UNITS:
        for name in files.names(f"{folder}/{unit.UNIT}.d"):
            if name.endswith(".conf"):
                parts.setdefault(name, f"{folder}/{unit.UNIT}.d/{name}")
    for name in sorted(parts):
        if (text := files.read(parts[name])) is not None:
            yield parts[name], text


def others(files: Files, runner: Runner) -> list[setters.Setter]:
    """Everything but our unit that sets clocks, by file and line."""
    found: list[setters.Setter] = []
    states: dict[str, bool | None] = {}
    for path, kind, name in _places(files):
        text = files.read(path)
        if text is None:
            continue
        lines = setters.found(path, text, kind, name)
        for script in dict.fromkeys(setters.scripts(text, kind)):
            said = files.read(script) if script not in (path, unit.PROGRAM) else None
            if said is not None and setters.is_script(script, said):
                lines += setters.found(script, said, kind, name)
        for line in lines:
            if line.unit and line.unit not in states:
                states[line.unit] = _live(runner, line.unit)
            live = states[line.unit] if line.unit else kind != setters.BOOT or files.runnable(path)
            found.append(replace(line, live=live))
    return found


def _places(files: Files) -> Iterator[tuple[str, str, str | None]]:
    """Path, kind and unit of every file that may set clocks."""
    seen = {unit.UNIT}
    for folder in UNITS:
        for name in files.names(folder):
            if name.endswith(".service") and name not in seen:
                seen.add(name)
                yield f"{folder}/{name}", setters.UNIT_FILE, name
            elif name.endswith(".service.d") and name.removesuffix(".d") != unit.UNIT:
                for part in files.names(f"{folder}/{name}"):
                    if part.endswith(".conf"):
                        yield f"{folder}/{name}/{part}", setters.UNIT_FILE, name.removesuffix(".d")
    yield from ((path, setters.BOOT, None) for path in BOOT)
    yield from ((path, setters.CRON, None) for path in CRON)
    for folder in CRON_FOLDERS:
        yield from ((f"{folder}/{name}", setters.CRON, None) for name in files.names(folder))


def _live(runner: Runner, name: str) -> bool | None:
    shown = runner.run(["systemctl", "show", name, f"--property={','.join(setters.STATE)}"])
    return setters.live(unit.properties(shown.stdout)) if shown.rc == 0 else None


def watch(runner: Runner, seconds: int, clock: Callable[[], float], pause: Callable[[float], None]) -> Load:
    """A sample a second, as long as a program computes on the GPU. Starts none."""
    smis = Bounded(runner)
    samples: list[smi.Sample] = []
    start = clock()
    for second in range(seconds):
        pause(max(0.0, start + second - clock()))
        if not gpu_processes(smis):
            return Load(seconds, tuple(samples), "no program computed on the GPU")
        samples.append(smi.sample(smis.run(smi.SAMPLE).stdout))
    return Load(seconds, tuple(samples))


def _said(result: Result) -> str:
    """What nvidia-smi said instead of showing a GPU."""
    if result.missing:
        return "nvidia-smi is not installed"
    said = quoted((result.stdout + "\n" + result.stderr).splitlines()) or "nothing"
    return f"nvidia-smi -q showed no GPU, it exited {result.rc} and said: {said}"
