# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CUDA: toolkits side by side, the metapackages that bring a driver along, the container toolkit."""

from __future__ import annotations

from pathlib import Path

from lab.repos.package import Files, Package

HERE = Path(__file__).parent.parent / "nvidia"
# name, package version, nvcc's version, cudart's version
TOOLKITS = (("13.0", "13.0.2-1", "13.0.88", "13.0.96-1"), ("13.3", "13.3.0-1", "13.3.33", "13.3.29-1"))
COMPAT = "610.43.02-1ubuntu1"
CONTAINER = ("1.18.0-1", "1.18.1-1")  # at the factory, on offer
FACTORY_CONTAINER = CONTAINER[0]


def toolkit(name: str, version: str, nvcc: str, cudart: str) -> list[Package]:
    """The alternative belongs to a package that every other one needs, so that any of them can move the link."""
    dashed, folder = name.replace(".", "-"), f"usr/local/cuda-{name}"
    config = f"cuda-toolkit-{dashed}-config-common"
    priority, major = name.replace(".", ""), name.partition(".")[0]
    links = (("cuda", "cuda"), (f"cuda-{major}", f"cuda-{major}"))
    install = "".join(
        f"update-alternatives --install /usr/local/{link} {called} /{folder} {priority}\n" for link, called in links
    )
    remove = "".join(f"update-alternatives --remove {called} /{folder}\n" for _, called in links)
    text = (HERE / "nvcc").read_text().replace("@RELEASE@", name).replace("@VERSION@", nvcc)
    return [
        Package(
            config,
            cudart,
            text="Common config package for CUDA Toolkit",
            files={f"{folder}/targets/sbsa-linux/.keep": ("", 0o644)},
            scripts={"postinst": install, "prerm": f'[ "$1" = upgrade ] || {{\n{remove}}}\n'},
        ),
        Package(
            f"cuda-cudart-{dashed}",
            cudart,
            config,
            "CUDA Runtime native libraries",
            files={f"{folder}/targets/sbsa-linux/lib/libcudart.so.{name}": ("stand-in\n", 0o644)},
        ),
        Package(
            f"cuda-nvcc-{dashed}",
            f"{nvcc}-1",
            f"{config}, cuda-cudart-{dashed}",
            "CUDA nvcc",
            files={f"{folder}/bin/nvcc": (text, 0o755)},
        ),
        Package(
            f"cuda-toolkit-{dashed}",
            version,
            f"cuda-nvcc-{dashed} (>= {nvcc}), cuda-cudart-{dashed} (>= {cudart.partition('-')[0]})",
            "CUDA Toolkit meta-package",
        ),
    ]


def metapackages() -> list[Package]:
    """What must not be installed on a Spark, and the libraries for those who need a newer user space."""
    version = TOOLKITS[-1][1]
    compat: Files = {
        f"usr/local/cuda-13.3/compat/{name}": ("stand-in\n", 0o644) for name in ("libcuda.so.1", "libcuda.so.610.43.02")
    }
    return [
        Package("cuda-runtime-13-3", version, "cuda-cudart-13-3, cuda-drivers (>= 610.43.02)"),
        Package("cuda-13-3", version, f"cuda-runtime-13-3 (>= {version}), cuda-toolkit-13-3 (>= {version})"),
        Package("cuda", version, f"cuda-13-3 (>= {version})"),
        Package("cuda-compat-13-3", COMPAT, text="CUDA Compatibility Platform", files=compat),
    ]


def container_toolkit(version: str) -> list[Package]:
    """The tools that put the driver into containers."""
    text = (HERE / "nvidia-ctk").read_text().replace("@VERSION@", version.partition("-")[0])
    base = "nvidia-container-toolkit-base"
    return [
        Package("nvidia-container-toolkit", version, f"{base} (= {version})", "NVIDIA Container toolkit"),
        Package(base, version, text="NVIDIA Container Toolkit Base", files={"usr/bin/nvidia-ctk": (text, 0o755)}),
    ]


def packages() -> list[Package]:
    toolkits = [package for entry in TOOLKITS for package in toolkit(*entry)]
    return toolkits + metapackages() + [package for version in CONTAINER for package in container_toolkit(version)]
