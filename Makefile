# `make help` lists the targets. Every one of them works on a fresh machine, by way of `setup`.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.NOTPARALLEL:

# Everything stays under the checkout, and nothing of the caller's Python or Ansible settings gets in.
export PATH := $(CURDIR)/.venv/bin:/usr/sbin:/sbin:$(PATH)
export LC_ALL := C.UTF-8
export ANSIBLE_CONFIG := $(CURDIR)/ansible.cfg
export ANSIBLE_HOME := $(CURDIR)/.cache/ansible
export ANSIBLE_SSH_CONTROL_PATH_DIR := $(CURDIR)/.cache/cp
export XDG_CACHE_HOME := $(CURDIR)/.cache/xdg
export HYPOTHESIS_STORAGE_DIRECTORY := $(CURDIR)/.cache/hypothesis
unexport PYTHONPATH PYTHONHOME PYTHONDONTWRITEBYTECODE ANSIBLE_COLLECTIONS_PATH ANSIBLE_ROLES_PATH ANSIBLE_INVENTORY

PYTEST := pytest --durations=12 -o cache_dir=.cache/pytest -o junit_family=xunit2 --junitxml=.cache/results
COLLECTION := .collections/ansible_collections/switchless/spark
# SPARK_LAB names another lab than `spark`, here and in inventories/lab: two checkouts may run theirs side by side.
LAB := .venv/bin/python lab/spark-lab $(if $(SPARK_LAB),--name $(SPARK_LAB))

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: ## install what is missing: Debian packages, .venv/ from requirements/dev.lock
	@tools/setup

.PHONY: demo
demo: ## four fresh virtual Sparks, site.yml over them, the result on the screen (KEEP=1 leaves them up)
	@tools/demo

.PHONY: test
test: ## everything below from lint to faults, two of them at a time
	@tools/stages setup lint+unit molecule,faults+e2e

.PHONY: lint
lint: setup ## yamllint, ruff, mypy --strict, ansible-lint (production), ansible-test sanity
	yamllint --strict .
	ruff check .
	ruff format --check .
	mypy $(wildcard $(addprefix $(COLLECTION)/plugins/,module_utils filter modules action)) tools/sanity
	mypy lab lab/spark-lab
	MYPYPATH=roles/vllm/files mypy roles/vllm/files/vllm_rank tests/unit/vllm_rank
	MYPYPATH=roles/guards/files mypy roles/guards/files/battery tests/unit/battery
	mypy $(wildcard tests/unit/roles tests/package tests/e2e tests/rdma tests/nccl tests/faulty_vllm)
	ansible-lint
	python tools/sanity

.PHONY: unit
unit: setup ## the pure code, the shape of the roles, the built package
	$(PYTEST)/unit.xml tests/unit tests/package

.PHONY: molecule
molecule: setup ## the molecule scenarios, on the lab
	molecule test --all

.PHONY: e2e
e2e: setup ## site.yml and the faults that a fabric must survive, on the lab
	$(PYTEST)/e2e.xml tests/e2e/test_1_fresh.py tests/e2e/test_2_fabric.py tests/e2e/test_3_transport.py tests/e2e/test_7_clocks.py \
		tests/e2e/test_8_node.py

.PHONY: faults
faults: setup ## the NIC's faults and the reboot of the group, on the lab
	E2E_RING=faults E2E_PAIR=faultspair $(PYTEST)/faults.xml tests/e2e/test_4_cx7.py tests/e2e/test_6_faults.py

.PHONY: serve
serve: setup ## a model served by the real vLLM on CPU, and whatever ends one of its ranks, on the lab; not part of test, half an hour
	$(PYTEST)/serve.xml tests/e2e/test_9_checkpoint.py tests/e2e/test_9_serve.py

.PHONY: guards
guards: setup ## what the battery finds where the engine is spoiled, on the lab; not part of test, an hour
	$(PYTEST)/guards.xml tests/e2e/test_10_guards.py

.PHONY: links
links: setup ## the link test on slow, broken and pulled cables, on the lab; not part of test, five minutes
	$(PYTEST)/links.xml tests/e2e/test_5_link.py

.PHONY: rdma
rdma: ## real ib_write_bw on soft-RoCE between two emulated guests; not part of test, about six minutes
	@tools/setup lab/rdma/packages
	python -m lab.rdma build
	$(PYTEST)/rdma.xml --capture=no tests/rdma

.PHONY: nccl
nccl: ## real NCCL over an emulated ring: on a machine with one NVIDIA GPU, root, PyTorch; not part of test, two minutes
	$(or $(NCCL_PYTHON),python3) -m pytest -c tests/nccl/pytest.ini --rootdir=. --capture=no -v tests/nccl

.PHONY: verify
verify: setup ## ask a running cluster, from outside: make verify INVENTORY=inventories/mine
	pytest tests/testinfra --inventory $(or $(INVENTORY),inventories/lab)

.PHONY: bench
bench: setup ## measures: printed, not asserted
	@for bench in tests/bench/*.py; do printf '\n━━━ %s ━━━\n' "$$bench"; python "$$bench" || exit; done

.PHONY: lab-up
lab-up: setup ## start the virtual Sparks (SERVING=1: with what they need to serve a model)
	$(LAB) up $(if $(SERVING),--serving)

.PHONY: lab-down
lab-down: ## stop them; nothing is left but files under .lab/
	@if [[ -d .lab ]]; then $(LAB) down; fi

.PHONY: lab-destroy
lab-destroy: ## the same, and remove their disks, so that the next ones are fresh
	@if [[ -d .lab ]]; then $(LAB) destroy; fi

.PHONY: lock
lock: setup ## resolve requirements/dev.in again
	@tools/lock
