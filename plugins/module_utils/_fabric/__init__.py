# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""The plan of a fabric, switchless or on one switch: what cables a user names, and all that follows from them.

Pure: no Ansible, no file, no process. `plan.build_plan` turns inventory values into a `model.Plan`,
`host.host_view` says what one node needs of it, `bind.bind` joins that with what the node's NIC shows,
`drawing.draw` shows it to a person. Every refusal is an `errors.FabricError` that holds all problems found.
"""

from __future__ import annotations
