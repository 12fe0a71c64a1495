# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""Causes that lie in what is installed: compilers, kernels, libraries, the driver, images. Data, which grows."""

from __future__ import annotations

from .causes import Cause, Choice, cause

SAME_BUILD = "The same image digest or the same wheels on every node"

BUILD: tuple[Cause, ...] = (
    cause(
        "ptxas_arch",
        r"ptxas fatal\s*: Value '(?P<arch>sm_\w+)' is not defined",
        "the ptxas that Triton brings does not know {arch}",
        "TRITON_PTXAS_PATH=/usr/local/cuda/bin/ptxas, of a CUDA that knows GB10 (13.0 or newer)",
        "`$TRITON_PTXAS_PATH --help | grep sm_121`",
    ),
    cause(
        "no_kernel_image",
        r"no kernel image is available for execution on the device",
        "this PyTorch or vLLM was not built for the GPU",
        "A cu130 aarch64 wheel or image: one for CUDA 12.8 has no code for GB10",
        "torch.version.cuda and torch.cuda.get_arch_list() in the environment that serves",
    ),
    cause(
        "cuda_home",
        r"\] :/\S*nvcc\b",
        "CUDA_HOME begins with a colon, as from `export CUDA_HOME=$CUDA_HOME:/usr/local/cuda`: it is one folder, no "
        "path",
        "CUDA_HOME=/usr/local/cuda in the unit's environment",
        "CUDA_HOME in the environment of the process",
    ),
    cause(
        "no_nvcc",
        r"Could not find nvcc|No such file or directory: '(?:\S*/)?nvcc'|nvcc: (?:command )?not found",
        "a kernel has to be built when it is first used, and there is no nvcc where the process looks",
        "CUDA_HOME in the unit's environment, or an image with the compiler; VLLM_USE_FLASHINFER_SAMPLER=0 avoids one "
        "such kernel. nvcc in a person's PATH is no help",
        "CUDA_HOME in the environment of the process; `ls $CUDA_HOME/bin/nvcc` where it runs",
    ),
    cause(
        "no_compiler",
        r"InvalidCxxCompiler|No working C\+\+ compiler|Failed to find C compiler",
        "PyTorch wants to compile, and there is no C++ compiler where the process runs",
        "Install g++ on the node, or set TORCHDYNAMO_DISABLE=1",
        "`g++ --version` as the unit's user",
    ),
    cause(
        "package_missing",
        r"^ModuleNotFoundError: No module named '(?P<name>[\w.]+)'",
        "the environment that serves lacks the package {name}: its installation was cut short, or the list of wheels "
        "lacks it",
        "Remove the environment and install it again (--tags vllm); then complete requirements.lock, if it is still "
        "missing",
        "`python -c 'import {name}'` with the environment's own Python",
    ),
    cause(
        "cpu_kernels",
        r"'_C' object has no attribute 'init_cpu_memory_env'|libnuma\.so\S*: cannot open shared object",
        "vLLM's CPU kernels did not load: a library that they need is not installed",
        "Install libnuma1 and libgomp1",
        "`ldd` of vLLM's _C library where the process runs",
    ),
    cause(
        "deep_gemm_jit",
        r"jit/compiler\.hpp:\d+\): runtime != nullptr",
        "DeepGEMM built a kernel and got nothing; why is open",
        "Another build of the image; without DeepGEMM (VLLM_USE_DEEP_GEMM=0) if the model allows it",
        "the compiler's output and the free space of the cache where the process runs",
    ),
    cause(
        "sparse_mla_decode",
        r"Check failed: num_tokens > 64 \((?P<tokens>\d+) vs\. 64\)",
        "FlashInfer has no kernel for a decode of {tokens} tokens in this sparse attention: as many as the drafter "
        "proposes",
        "A newer pair of FlashInfer and vLLM, or no speculative decoding",
        "versions of vllm and flashinfer-python in the environment that serves",
    ),
    cause(
        "sparse_mla_shape",
        r"decode-dsv4 launch failed",
        "FlashInfer's decode kernel does not take this shape on GB10",
        "A newer FlashInfer; this shows where the fault in the choice of the kernel was mended",
        "version of flashinfer-python in the environment that serves",
    ),
    cause(
        "kv_reshape",
        r"setStorage: sizes \[|are out of bounds for storage of size"
        r"|kv must have shape \(num_blocks, page_block_size",
        "vLLM cuts the KV cache into blocks of a size that this model's compressed cache does not have",
        "A vLLM with the fix of pull request 43988, or VLLM_USE_V2_MODEL_RUNNER=0",
        "`vllm --version` on every node",
    ),
    cause(
        "all_reduce",
        r"Cuda error \S*custom_all_reduce\.cuh:\d+ '(?P<said>[^']*)'",
        "vLLM's own all-reduce failed ({said}), as seen with expandable segments",
        "--disable-custom-all-reduce, or PYTORCH_CUDA_ALLOC_CONF without expandable_segments",
        "PYTORCH_CUDA_ALLOC_CONF in the environment of the process",
    ),
    cause(
        "device_assert",
        r"device-side assert triggered|Assertion `\S+ < \S+` failed|indexSelectSmallIndex",
        "a kernel was given an index out of range: wrong numbers, not a broken GPU. A vLLM without the KV-block fixes "
        "does that after hours of mixed load",
        "A vLLM with the three KV-block fixes, max_num_seqs 2 until then",
        "vllm_build_info, where the collection has it; the first such line, since later ones are of other calls",
    ),
    cause(
        "nvml_memory",
        r"NVMLError_NotSupported: Not Supported",
        "NVML does not tell a GB10's memory, which is normal there; the program did not expect that",
        "A build that asks torch.cuda.mem_get_info instead; VLLM_ENABLE_STARTUP_PLAN unset",
        "`nvidia-smi` shows [N/A] for memory on every healthy Spark",
    ),
    cause(
        "driver_too_old",
        r"was built for NVIDIA Driver Release (?P<wanted>\S+) or later",
        "the image wants driver {wanted} or newer; DGX OS has 580",
        "Another image or build option, not another driver",
        "nvidia_driver_info of this node",
    ),
    cause(
        "no_gpu",
        r"The NVIDIA Driver was not detected|Failed to infer device type|could not select device driver",
        "the container was started without the GPU",
        "Start it with --gpus all and the NVIDIA container toolkit",
        "`nvidia-smi` inside the container",
    ),
    cause(
        "cuda_init",
        r"CUDA unknown error",
        "CUDA did not start on this node",
        "",
        "NVRM lines in `journalctl -k` of this node since the launch before",
        choices=(
            Choice(
                "gpu_memory",
                "the driver has no memory left, as after a launch that failed (NVRM in the kernel's log)",
                "End what the launch before has left; restart the node if NVRM repeats itself",
                lambda facts: bool(facts.get("nvrm_lines")),
            ),
            Choice(
                "driver",
                "the driver and its modules do not fit, or /dev/nvidia-uvm is not there",
                "nvidia_driver_info says what does not fit",
            ),
        ),
    ),
    cause(
        "version_differs",
        r"RuntimeError: Version mismatch: The cluster was started with",
        "this node has other versions than the head",
        SAME_BUILD,
        "image ID or content hash on each node",
    ),
    cause(
        "bad_flag",
        r"error: unrecognized arguments: (?P<arguments>.+)",
        "this node's vLLM does not know {arguments}: it is another version than the recipe is for",
        SAME_BUILD,
        "`vllm --version` on every node",
    ),
    cause(
        "model_too_new",
        r"checkpoint you are trying to load has model type `?(?P<type>[\w-]+)`?"
        r"|Model architectures \[(?P<name>[^\]]*)\] (?:are not supported|failed to be inspected)",
        "the model is newer than what is installed here",
        "The vLLM that the recipe names; transformers alone does not decide, vLLM has models of its own",
        "`vllm --version` and the version of transformers",
    ),
)
