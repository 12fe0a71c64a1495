# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Both modules as Ansible runs them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from ansible.module_utils.testing import patch_module_args

from ansible_collections.switchless.spark.plugins.modules import apt_simulate_info, cuda_info
from tests.unit.cuda.cuda_world import Spark

Ask = Callable[..., Any]


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ask:
    """Run a module with a runner."""

    def run(module: ModuleType, runner: Any, **arguments: Any) -> Any:
        monkeypatch.setattr(module, "ModuleRunner", lambda _module: runner)
        with patch_module_args(arguments), pytest.raises(SystemExit) as end:
            module.main()
        result = json.loads(capsys.readouterr().out)
        if end.value.code:
            return result["msg"]
        assert result["changed"] is False
        return result

    return run


@pytest.fixture
def ask(play: Ask, tmp_path: Path) -> Ask:
    """Run cuda_info on a node."""

    def run(node: Spark, **arguments: Any) -> Any:
        node.build(tmp_path)
        result = play(cuda_info, node, root=str(tmp_path), **arguments)
        return result if isinstance(result, str) else result["cuda"]

    return run


@pytest.fixture
def simulate(play: Ask, tmp_path: Path) -> Ask:
    """Run apt_simulate_info on an answer of apt-get."""

    def run(runner: Any, **arguments: Any) -> Any:
        for folder in ("usr", "var/cache/apt/archives"):
            (tmp_path / folder).mkdir(parents=True)
        result = play(apt_simulate_info, runner, root=str(tmp_path), **arguments)
        return result if isinstance(result, str) else result["simulation"]

    return run
