# The commands of this project. Everything is installed into .venv; a stamp file there remembers
# what was installed, so a second run starts at once.

# The first Python on this machine that is new enough.
PYTHON ?= $(shell for name in python3.11 python3 python; do \
	$$name -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$name && break; done)

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
PACKAGE := pyproject.toml setup.py $(wildcard \
	retrograd/backend/kernels/*.[ch] retrograd/backend/kernels/*/*.[ch] retrograd/core/*.[ch] \
	retrograd/replay/machine/*.[ch] retrograd/backend/cuda/launching/*.[ch])

# One thread for each process: two test processes on two cores, and figures that can be compared.
export OMP_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1
export MKL_NUM_THREADS := 1

PYTEST := $(BIN)/python -m pytest -q -n 2 --dist worksteal

.PHONY: help demo test quick check format oracle bench docs clean asan ubsan builds pythons frameworks packages page page-test page-pictures drawings chromium docs-test

help:
	@echo "make demo     install, run examples/second_backward.py: a mistake, its report, a loop that works"
	@echo "make test     all tests that need no PyTorch"
	@echo "make quick    the same without the slow ones"
	@echo "make check    ruff format --check, ruff check, mypy --strict"
	@echo "make format   let ruff format the tree and fix what it can"
	@echo "make asan     the compiled parts with the address sanitizer, and the tests that use them most"
	@echo "make ubsan    the same with the sanitizer of undefined behaviour"
	@echo "make builds   the tests of the compiled parts with each build of their loops that can run here"
	@echo "make pythons  the quick tests on every Python from 3.11 on that is found"
	@echo "make frameworks  the doctor on Lightning, Ignite, skorch, transformers ..., in an environment of their own"
	@echo "make packages  packages written for PyTorch train small models on both libraries, as a table"
	@echo "make oracle   install PyTorch 2.13 and run the tests that compare with it"
	@echo "make bench    speed beside PyTorch 2.13 (ARGS='--quick --only mlp_adam')"
	@echo "make docs     the documentation as a site, in site/: open site/index.html"
	@echo "make docs-test  the site's search, in Chromium"
	@echo "make page     build the page that shows a graph (needs Node) into retrograd/graph/asset"
	@echo "make page-test  the page in real headless Chromium, installed where it is missing"
	@echo "make clean    remove .venv, builds and caches"

demo: $(VENV)/installed
	$(BIN)/python examples/second_backward.py

# What needs NVIDIA's compiler is run by `make oracle`, which installs it: not twice where it is there.
test: $(VENV)/installed-test
	$(PYTEST) -m "not torch and not nvrtc" --durations 10

quick: $(VENV)/installed-test
	$(PYTEST) -m "not torch and not slow"

check: $(VENV)/installed-test $(VENV)/installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy --strict retrograd benchmarks

format: $(VENV)/installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The sanitizers' builds are in a copy of the tree, so that the ordinary ones stay. Python's own small
# objects come from malloc, where an error is seen; what the interpreter itself leaks is not ours. GCC lays
# registers of 64 bytes on a stack that is checked after use without aligning them: that check is off.
SANITIZED_TESTS := tests/core tests/kernels tests/optim tests/autograd tests/ops tests/replay
define sanitized
	$(PIP) 'setuptools>=77' # the one of a new environment may not know pyproject.toml as it is
	rm -rf build/$@ && mkdir -p build/$@ && cp -r retrograd tests benchmarks setup.py pyproject.toml README.md LICENSE NOTICE build/$@
	find build/$@ -name '*.so' -delete
	cd build/$@ && CFLAGS="-O1 -g -fno-omit-frame-pointer $(1)" LDFLAGS="$(1)" $(abspath $(BIN))/python setup.py -q build_ext --inplace
	ls build/$@/retrograd/core/_core*.so build/$@/retrograd/backend/kernels/_tiny*.so build/$@/retrograd/backend/kernels/_rows*.so
	cd build/$@ && PYTHONPATH=. PYTHONMALLOC=malloc $(2) $(abspath $(BIN))/python -m pytest -q -p no:cacheprovider \
		-m "not torch and not slow" $(or $(TESTS),$(SANITIZED_TESTS))
endef

asan: $(VENV)/installed-test
	$(call sanitized,-fsanitize=address,ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=0 LD_PRELOAD=$$(cc -print-file-name=libasan.so))

ubsan: $(VENV)/installed-test
	$(call sanitized,-fsanitize=undefined -fno-sanitize-recover=undefined,UBSAN_OPTIONS=print_stacktrace=1)

# `--build` is for the loops that have several builds; the tests that compare builds choose their own.
builds: $(VENV)/installed-test
	for build in $$($(BIN)/python -c "from retrograd.core import _core; print(*_core.builds())"); do \
		echo "$$build:"; $(PYTEST) -m "not torch and not slow" --build $$build $(or $(TESTS),tests/core tests/kernels) || exit 1; \
	done

pythons:
	tests/on_every_python.sh $(TESTS)

oracle: $(VENV)/installed-test $(VENV)/installed-oracle
	$(PYTEST) -m "torch or nvrtc"

# The frameworks have an environment of their own. The constraint holds them to the one PyTorch: without
# it pip may fetch another, of gigabytes. One that cannot be had is named, and its tests are skipped.
FRAMEWORKS := build/frameworks
frameworks: $(FRAMEWORKS)/installed
	$(FRAMEWORKS)/bin/python -m pytest -q -rs tests/frameworks $(ARGS)

$(FRAMEWORKS)/installed: $(PACKAGE)
	$(PYTHON) -m venv $(FRAMEWORKS)
	echo 'torch==2.13.0' > $(FRAMEWORKS)/constraints.txt
	$(FRAMEWORKS)/bin/python -m pip install --quiet --disable-pip-version-check -c $(FRAMEWORKS)/constraints.txt \
		--editable '.[test]' torch==2.13.0
	for package in lightning pytorch-ignite skorch stable-baselines3 transformers accelerate ipython; do \
		$(FRAMEWORKS)/bin/python -m pip install --quiet --disable-pip-version-check -c $(FRAMEWORKS)/constraints.txt \
			$$package || echo "retrograd: $$package could not be installed: its tests are skipped"; \
	done
	@touch $@

# Packages that import torch, in an environment of their own, as the frameworks have. timm is used without
# torchvision's datasets, and torchaudio without its compiled part, so both come without what they depend on.
PACKAGES := build/packages
packages: $(PACKAGES)/installed
	$(PACKAGES)/bin/python -m tests.packages $(ARGS)

$(PACKAGES)/installed: $(PACKAGE)
	$(PYTHON) -m venv $(PACKAGES)
	echo 'torch==2.13.0' > $(PACKAGES)/constraints.txt
	$(PACKAGES)/bin/python -m pip install --quiet --disable-pip-version-check -c $(PACKAGES)/constraints.txt \
		--editable '.[test]' torch==2.13.0
	for package in vit-pytorch torchdyn kornia denoising-diffusion-pytorch opacus torchopt transformers peft diffusers \
			sentence-transformers lightning pytorch-lightning fastai '--no-deps torchvision' '--no-deps torchaudio' '--no-deps timm'; do \
		$(PACKAGES)/bin/python -m pip install --quiet --disable-pip-version-check -c $(PACKAGES)/constraints.txt \
			$$package || echo "retrograd: $$package could not be installed: its program is left out"; \
	done
	rm -f $(PACKAGES)/lib/python3*/site-packages/torchaudio/lib/*.so
	@touch $@

bench: $(VENV)/installed $(VENV)/installed-oracle
	$(BIN)/python -m benchmarks $(ARGS)

docs: $(VENV)/installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# The page is TypeScript in page/, built into one file that ships in the package: users need no Node.
page: page/node_modules/installed
	cd page && npm run --silent check && node build.mjs

# Chromium is Debian's: installed where it is missing and this may be done. The pages that the tests
# open are written by Python, as a user's are. What the tests see is kept in build/page/shots.
CHROMIUM ?= /usr/bin/chromium
chromium:
	@test -x $(CHROMIUM) || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null && \
		apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >/dev/null; } || true
	@test -x $(CHROMIUM) || { echo "the page is tested in Chromium: none at $(CHROMIUM), and it could not be installed." \
		"Install it, or set CHROMIUM=/path/to/chromium"; exit 1; }

page-test: page/node_modules/installed $(VENV)/installed chromium
	rm -rf build/page && mkdir -p build/page/shots
	cd page && npm run --silent check && node build.mjs ../build/page/asset/page.html
	@diff -rq build/page/asset retrograd/graph/asset || { echo "page/ and the asset differ: run make page"; exit 1; }
	$(BIN)/python -m tests.graph.recordings build/page/pages
	cd page && CHROMIUM=$(CHROMIUM) PAGES=$(abspath build/page/pages) SHOTS=$(abspath build/page/shots) npm test --silent

# The site, opened from the disk as a reader may: its search finds names.
docs-test: docs page/node_modules/installed chromium
	cd page && CHROMIUM=$(CHROMIUM) SITE=$(abspath site) node --test test/site.test.mjs

# The pictures of the page in the documentation.
page-pictures: page/node_modules/installed $(VENV)/installed chromium
	$(BIN)/python -m tests.graph.recordings build/page/pages
	cd page && CHROMIUM=$(CHROMIUM) PAGES=$(abspath build/page/pages) node test/pictures.mjs $(abspath docs/graph)

# The drawings of the documentation: programs of docs/drawings, recorded, and drawn by the page itself.
drawings: page/node_modules/installed $(VENV)/installed chromium
	rm -rf build/drawings docs/drawings/*.svg && mkdir -p build/drawings
	$(BIN)/python docs/drawings/programs.py build/drawings
	cd page && CHROMIUM=$(CHROMIUM) PAGES=$(abspath build/drawings) node test/drawings.mjs $(abspath docs/drawings)

page/node_modules/installed: page/package.json page/package-lock.json
	@command -v npm >/dev/null || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null && \
		apt-get update -qq && apt-get install -y -qq --no-install-recommends nodejs npm >/dev/null; } || true
	@command -v npm >/dev/null || { echo "the page is built with Node 20 or newer and npm: none was found"; exit 1; }
	cd page && npm ci --silent
	@touch $@

clean:
	rm -rf $(VENV) build page/node_modules site *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find retrograd -name '*.so' -delete

$(VENV)/created:
	@test -n "$(PYTHON)" || { echo "retrograd needs Python 3.11 or newer: none was found"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

SAY_COMPILED = @ls retrograd/backend/kernels/_tiny*.so retrograd/core/_core*.so >/dev/null 2>&1 || echo \
	"retrograd: the compiled kernels or the compiled core were not built here (no C compiler?)." \
	"Everything works without them, more slowly."

$(VENV)/installed: $(VENV)/created $(PACKAGE)
	$(PIP) --editable .
	$(SAY_COMPILED)
	@touch $@

# The package with one of its extras: test, dev, docs.
$(VENV)/installed-%: $(VENV)/created $(PACKAGE)
	$(PIP) --editable '.[$*]'
	$(SAY_COMPILED)
	@touch $@

# With it comes NVIDIA's compiler, which compiles the CUDA sources where there is no device.
$(VENV)/installed-oracle: $(VENV)/created
	$(PIP) torch==2.13.0
	$(PIP) --no-deps nvidia-cuda-nvrtc==13.5.37 || echo "nvidia-cuda-nvrtc cannot be had: tests skip the CUDA sources"
	@touch $@
