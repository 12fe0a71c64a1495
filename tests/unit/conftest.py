# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The collection is imported by Ansible's own loader from the start, as it is when a playbook runs."""

from __future__ import annotations

from ansible.plugins.loader import init_plugin_loader

from tests.unit.rendering import CHECKOUT

init_plugin_loader([str(CHECKOUT / ".collections")])
