# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The numbers of the judgement, with their units. They come from public reports and NVIDIA's documents."""

from __future__ import annotations

UPTIME_SECONDS = 30.0  # a NIC without cables leaves the bus 5 to 22 s after boot: earlier nothing can be said
LINK_GBPS = 200.0  # what both twins of a cabled cage show, although each carries about 100
LINK_COLLAPSED_GBPS = 100.0  # below is no cable or switch that anyone sells for this, but a link that came up wrong
PCIE_SPEED_GTS = 32.0  # Gen5
PCIE_WIDTH = 4  # lanes of each root port; a firmware of one maker trains the second at 2

# One function by RDMA or by TCP with several streams. Healthy ones give 92 to 112.
BANDWIDTH_OK_GBPS = 90.0
BANDWIDTH_DEGRADED_GBPS = 50.0
# The cap after a hot-plug gives 12.7 to 13.5. A single TCP stream gives 12 to 16 on a healthy link: the CPU.
THROTTLED_GBPS = (8.0, 25.0)
THROTTLED_TOGETHER_GBPS = (11.0, 15.0)  # both roots of a cage at the same time share the cap: 6.67 + 6.67

# A healthy link has 0 downs since boot, each reboot of the other node makes one to three.
FLAP_DOWNS = 10
FLAP_DOWNS_PER_DAY = 2.0
SECONDS_PER_DAY = 86400.0

# The driver reports a seated cable 0.4 s after its probe; later than this it was plugged while the node ran.
PLUGGED_AFTER_PROBE_SECONDS = 5.0
# The hot-plug driver takes the NIC off the bus 5 to 22 s after boot when it sees no cable.
REMOVAL_AT_BOOT_SECONDS = 60.0
