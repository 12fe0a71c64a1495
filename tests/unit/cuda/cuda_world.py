# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Spark with two toolkits side by side, to be spoilt piece by piece."""

from __future__ import annotations

P12 = """nvcc: NVIDIA (R) Cuda compiler driver
Copyright (c) 2005-2026 NVIDIA Corporation
Built on Tue_Jun_09_02:43:40_PM_PDT_2026
Cuda compilation tools, release 13.3, V13.3.73
Build cuda_13.3.r13.3/compiler.38244171_0
"""
P14A = """cuda - auto mode
  link best version is /usr/local/cuda-12.1
  link currently points to /usr/local/cuda-12.1
  link cuda is /usr/local/cuda
/usr/local/cuda-12.1 - priority 121
"""
P14B = """    cuda - manual mode
        link best version is /usr/local/cuda-11.7
        link currently points to /usr/local/cuda-12.6
        link cuda is /usr/local/cuda
    /usr/local/cuda-11.7 - priority 11
    /usr/local/cuda-12.6 - priority 9
"""
P14C = """cuda - auto mode
  link best version is /usr/local/cuda-12.6
  link currently points to /usr/local/cuda-12.6
  link cuda is /usr/local/cuda
/usr/local/cuda-12.6 - priority 126
/usr/local/cuda-13.0 - priority 130
"""
PC01 = """cuda - manual mode
  link best version is /usr/local/cuda-13.3
  link currently points to /usr/local/cuda-13.0
  link cuda is /usr/local/cuda
/usr/local/cuda-13.0 - priority 130
/usr/local/cuda-13.3 - priority 133
"""
FLIPPED = PC01.replace("manual", "auto").replace("points to /usr/local/cuda-13.0", "points to /usr/local/cuda-13.3")
CUDA_130, CUDA_133 = ("13.0", "13.0.88"), ("13.3", "13.3.73")
P10 = """ERROR: This container was built for NVIDIA Driver Release 590.48 or later, but
       version 580.159.03 was detected and compatibility mode is UNAVAILABLE.
"""
