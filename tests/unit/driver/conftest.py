# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""nvidia_driver_info as Ansible runs it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.testing import patch_module_args

from ansible_collections.switchless.spark.plugins.modules import nvidia_driver_info
from tests.unit.driver.driver_world import Spark

Ask = Callable[..., Any]


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ask:
    """Run the module on a node."""

    def run(node: Spark, **arguments: Any) -> Any:
        node = replace(node, asked=[])
        node.build(tmp_path)
        monkeypatch.setattr(nvidia_driver_info, "ModuleRunner", lambda _module: node)
        with patch_module_args({"root": str(tmp_path)} | arguments), pytest.raises(SystemExit) as end:
            nvidia_driver_info.main()
        result = json.loads(capsys.readouterr().out)
        if end.value.code:
            return result["msg"]
        assert result["changed"] is False
        return result["driver"]

    return run
