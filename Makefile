# SPDX-License-Identifier: GPL-3.0-or-later
# A menu: `make help` prints it. Every word works alone on a fresh clone and does only what is missing.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

NAME ?= main
SET ?= default
LAB ?= kwok
S ?= default
REAL_NODE ?= yes
OPTIONS ?=
export KUBEGANG_LAB := $(LAB)
export KUBEGANG_LAB_NAME := $(NAME)
export KUBEGANG_LAB_SET := $(SET)

BUILD := $(CURDIR)/build
# Version and path of the interpreter for everything, and of the oldest supported one where it is another.
MAIN := $(shell tests/support/find-python 3.13 3.12 3.11)
OLDEST := $(if $(filter 3.11,$(firstword $(MAIN))),,$(shell tests/support/find-python 3.11))
VENV := $(BUILD)/venv/$(firstword $(MAIN))
OLDEST_VENV := $(BUILD)/venv/oldest
PYTHON := $(VENV)/bin/python

COLLECTIONS := $(BUILD)/collections/ansible_collections
ARTEFACT := $(COLLECTIONS)/kubegang/core
KUBERNETES_CORE := $(COLLECTIONS)/kubernetes/core
# The PyPI distribution that carries kubernetes.core 6.6.0, and containers.podman 1.21.0 for the tests
ANSIBLE_WHEEL := ansible==14.5.0

export PATH := $(VENV)/bin:$(PATH)
export ANSIBLE_COLLECTIONS_PATH := $(BUILD)/collections
export ANSIBLE_HOME := $(BUILD)/ansible
export PIP_DISABLE_PIP_VERSION_CHECK := 1
PYTEST := $(PYTHON) -m pytest
# Those of the lab's own tests that start labs.
LAB_TESTS := tests/lab/test_cluster.py tests/lab/test_lifecycle.py
# Integration tests that start labs of their own, and so can run beside the others.
OWN_LAB_TESTS := $(patsubst %,tests/integration/test_%.py,device_plugin_role lws_release volcano_release)

help: ## print this menu
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' Makefile
	@echo 'Variables: NAME=<lab>  SET=default|older  LAB=none (with KUBECONFIG: an existing cluster)  S=<Molecule scenario>'
	@echo '           REAL_NODE=no (make lab NAME=b: simulated nodes only)'
	@echo '           OPTIONS=<more for ansible-playbook, when the demo runs site.yml>'

##### what people want

demo: setup artefact ## start the lab, provision it, prove gangs of both kinds, print a table (build/demo/report.json)
	@$(PYTHON) -m demo $(OPTIONS)

test: setup artefact ## every level below in order, on one lab, which is stopped afterwards
	@$(PYTHON) -m tests.levels

lab: setup ## start a real cluster on this machine (or use the one that runs)
	@$(PYTHON) -m tests.lab up --name $(NAME) --set $(SET) $(if $(filter no,$(REAL_NODE)),--no-real-node)

lab-down: setup ## stop it and leave nothing behind
	@$(PYTHON) -m tests.lab down --name $(NAME)

##### the test levels

lint: setup artefact yamllint ansible-lint ruff mypy changelog-lint sanity ## every gate on the text: style, types, changelog, ansible-test sanity

unit: setup artefact $(if $(OLDEST),$(OLDEST_VENV)/.ready) ## pure code, with the newest and the oldest supported ansible-core
	$(PYTEST) tests/unit tests/lab $(LAB_TESTS:%=--ignore=%) $(call junit,unit)
	$(call on_oldest,unit)

lab-test: setup ## the lab itself: pods do as told, labs side by side, nothing left behind
	$(PYTEST) $(LAB_TESTS) $(call junit,lab-test)

contract: setup artefact $(if $(OLDEST),$(OLDEST_VENV)/.ready) ## the connection layer against a real API server (lab), newest and oldest client
	$(PYTEST) tests/contract $(call junit,contract)
	$(call on_oldest,contract)

integration: setup artefact ## modules, roles and README against the lab, judged by kubectl
	$(PYTEST) tests/integration $(OWN_LAB_TESTS:%=--ignore=%) $(call junit,integration)

own-labs: setup artefact ## integration tests on labs of their own: upgrades, and a kubelet that meets a device plugin
	$(PYTEST) $(OWN_LAB_TESTS) $(call junit,own-labs)

bench: setup artefact ## a 1,000-pod gang: gang_assert against kubernetes.core.k8s_info (lab)
	$(PYTEST) tests/bench -s $(call junit,bench)

# Scenario default starts a lab of its own, and those of hosts need none.
HOST_SCENARIO := $(filter gpu_host rpm_host runtime_host dkms,$(S))
OWN_LAB := $(filter default,$(S))$(HOST_SCENARIO)$(filter none,$(LAB))
SCENARIO_ENV := $(if $(HOST_SCENARIO),tests.gpu_host env,$(if $(OWN_LAB),,tests.lab env --name $(NAME)))
molecule: setup artefact $(if $(OWN_LAB),,lab) ## one Molecule scenario, S=<scenario>
	@$(if $(SCENARIO_ENV),set -a; eval "$$($(PYTHON) -m $(SCENARIO_ENV))"; set +a;) \
	molecule test --scenario-name $(S)

test-dkms: ## a word of its own (7 min or more): DKMS builds Debian's real driver on a host with a kernel of Debian's
	@$(MAKE) molecule S=dkms

##### what the words above stand on

setup: $(VENV)/.ready $(KUBERNETES_CORE)/.ready ## the virtual environment and other collections, under build/

artefact: $(ARTEFACT)/MANIFEST.json ## build the collection and install it under build/collections

yamllint: setup
	yamllint --strict .

ansible-lint: setup artefact
	ansible-lint --offline --strict --nocolor

ruff: setup
	ruff check
	ruff format --check

mypy: setup artefact
	mypy

changelog-lint: setup
	antsibull-changelog lint

sanity: setup artefact ## ansible-test sanity on the artefact, without ignores
	@tests/sanity/run $(ARTEFACT)

clean: ## forget everything under build/ (not the lab's cache)
	rm -rf $(BUILD)

.PHONY: help demo test lab lab-down lint unit lab-test contract integration own-labs bench molecule test-dkms setup artefact \
	yamllint ansible-lint ruff mypy changelog-lint sanity clean

ifdef OLDEST
on_oldest = $(OLDEST_VENV)/bin/python -m pytest tests/$(1) $(call junit,$(1)-oldest)
else
on_oldest = @echo '$(1): there is no second Python, 3.11, so only one ansible-core was tested'
endif

junit = --junit-xml=$(BUILD)/test/$(1).xml

define make_venv
	@test -n '$(1)' || { echo 'No Python 3.13, 3.12 or 3.11 that can make a virtual environment (Debian: apt-get install python3-venv)' >&2; exit 1; }
	@echo 'set-up: $< into $(@D)'
	@rm -rf $(@D) && $(1) -m venv $(@D) && $(@D)/bin/python -m pip install -q -r $<
	@touch $@
endef

$(VENV)/.ready: requirements-dev.txt
	$(call make_venv,$(lastword $(MAIN)))

$(OLDEST_VENV)/.ready: requirements-oldest.txt
	$(call make_venv,$(lastword $(OLDEST)))

# The wheel holds a hundred collections: only these are unpacked, so what Python the others want does not matter.
$(KUBERNETES_CORE)/.ready: $(VENV)/.ready
	@echo 'set-up: kubernetes.core and containers.podman from $(ANSIBLE_WHEEL)'
	@rm -rf $(BUILD)/wheel && mkdir -p $(COLLECTIONS)
	@$(PYTHON) -m pip download -q --no-deps --ignore-requires-python -d $(BUILD)/wheel '$(ANSIBLE_WHEEL)'
	@for each in kubernetes/core containers/podman; do \
	$(PYTHON) -m tests.support.unpack $(BUILD)/wheel/ansible-*.whl ansible_collections/$$each $(BUILD)/collections; done
	@rm -rf $(BUILD)/wheel && touch $@

# Folders are listed as well as files, so that a deleted file is noticed too.
SOURCES := $(shell find galaxy.yml README.md LICENSE CHANGELOG.md requirements.txt meta changelogs docs plugins roles playbooks 2>/dev/null)

# Installed beside its place and moved into it, by one make at a time, so that whoever runs tests at this moment sees a
# whole collection.
$(ARTEFACT)/MANIFEST.json: $(VENV)/.ready $(SOURCES)
	@mkdir -p $(COLLECTIONS)/kubegang
	@exec 9>$(BUILD)/artefact.lock; flock 9; \
	ansible-galaxy collection build --force --output-path $(BUILD)/artefact >/dev/null; \
	ANSIBLE_COLLECTIONS_PATH=$(BUILD)/staged ansible-galaxy collection install --offline --no-deps --force \
		-p $(BUILD)/staged $(BUILD)/artefact/kubegang-core-*.tar.gz >/dev/null; \
	rm -rf $(ARTEFACT); mv $(BUILD)/staged/ansible_collections/kubegang/core $(ARTEFACT); touch $@
