# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""To find one filter Ansible loads all of a collection, from source, in every process that it forks for a task.

So a filter's file imports what it works with when it is called: otherwise every one pays for all of them.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[3]
NAMES = sorted(path.stem for path in (CHECKOUT / "plugins/filter").glob("*.py"))
LOADED = """
import importlib, sys
sys.path.insert(0, sys.argv[1])
for name in sys.argv[2:]:
    importlib.import_module("ansible_collections.switchless.spark.plugins.filter." + name).FilterModule().filters()
print(*sorted(name for name in sys.modules if ".plugins.module_utils." in name))
"""


def test_no_filter_imports_what_it_works_with_before_it_is_called() -> None:
    assert NAMES
    argv = [sys.executable, "-c", LOADED, str(CHECKOUT / ".collections"), *NAMES]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
