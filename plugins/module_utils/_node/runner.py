# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How modules run commands: argument lists under the C locale, never a shell string.

B(Private) to the collection: it can change at any time.

Pure code takes a C(Runner) and never knows where it runs; modules pass C(ModuleRunner(module)), unit tests a script
of
expected calls.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

COMMAND_NOT_FOUND = 127  # what a shell returns when there is no such program
C_LOCALE: Mapping[str, str] = {"LC_ALL": "C", "LANG": "C", "LANGUAGE": "C"}


@dataclass(frozen=True, slots=True)
class Result:
    """What one command gave back."""

    rc: int
    stdout: str = ""
    stderr: str = ""

    @property
    def missing(self) -> bool:
        """The program is not installed."""
        return self.rc == COMMAND_NOT_FOUND


class Runner(Protocol):
    """Runs one command and returns its result. A program that is not installed is a result (rc 127), not an error."""

    def run(self, argv: Sequence[str], *, data: str | None = None) -> Result: ...


class CommandError(Exception):
    """A command that had to work did not. The message quotes the command and all that it said."""

    def __init__(self, argv: Sequence[str], result: Result) -> None:
        self.argv = list(argv)
        self.result = result
        said = "\n".join(text for text in (result.stdout.strip(), result.stderr.strip()) if text) or "it said nothing"
        super().__init__(f"Command {shlex.join(argv)} returned {result.rc}: {said}")


def run_checked(runner: Runner, argv: Sequence[str], *, data: str | None = None) -> Result:
    """Run a command that has to succeed; C(CommandError) otherwise."""
    result = runner.run(argv, data=data)
    if result.rc != 0:
        raise CommandError(argv, result)
    return result


class AnsibleModuleLike(Protocol):
    """The two methods of AnsibleModule that are needed here."""

    def get_bin_path(self, arg: str, required: bool = False) -> str | None: ...

    def run_command(
        self,
        args: list[str],
        *,
        data: str | None = None,
        environ_update: dict[str, str] | None = None,
        handle_exceptions: bool = True,
    ) -> tuple[int, str, str]: ...


class ModuleRunner:
    """C(Runner) on top of an AnsibleModule. Looks in the sbin folders too, which a plain user's PATH lacks."""

    def __init__(self, module: AnsibleModuleLike) -> None:
        self._module = module
        self._paths: dict[str, str | None] = {}

    def run(self, argv: Sequence[str], *, data: str | None = None) -> Result:
        name = argv[0]
        if name not in self._paths:
            self._paths[name] = self._module.get_bin_path(name)
        path = self._paths[name]
        if path is None:
            return Result(COMMAND_NOT_FOUND, "", f"{name}: not installed")
        try:
            rc, stdout, stderr = self._module.run_command(
                [path, *argv[1:]], data=data, environ_update=dict(C_LOCALE), handle_exceptions=False
            )
        except OSError as error:
            return Result(COMMAND_NOT_FOUND, "", f"{path}: {error}")
        return Result(rc, stdout, stderr)
