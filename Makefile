# The one door for people and CI. `make help` lists what there is.

PREFIX  ?= /usr/local
DESTDIR ?=
# mount(8) looks for its helpers here and nowhere else.
SBINDIR ?= /sbin
# Where systemd looks for the units of programs below PREFIX.
UNITDIR ?= $(PREFIX)/lib/systemd/system
SYSCONFDIR ?= /etc
SWIFT   := scripts/swift
# Programs to install carry the Swift run time inside: no Debian package has it.
STATIC  := .build/static
# Nothing of the programs can be rewritten once they run.
HARDEN  := -Xlinker -z -Xlinker relro -Xlinker -z -Xlinker now -Xcc -fstack-protector-strong
# One list for installing, uninstalling and the package.
PLACE   := PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" SBINDIR="$(SBINDIR)" UNITDIR="$(UNITDIR)" SYSCONFDIR="$(SYSCONFDIR)" scripts/place

.PHONY: help setup build try test check bench man install uninstall deb test-deb clean

help: ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1@\2/p' $(MAKEFILE_LIST) | awk -F@ '{ printf "%-16s %s\n", $$1, $$2 }'

setup: ## Install missing Debian packages and check the Swift toolchain
	@scripts/setup

build: ## Build varve and varved into .build/release
	@scripts/setup build
	$(SWIFT) build -c release --product varve
	$(SWIFT) build -c release --product varved

try: build ## Mount a small demo volume and show what to type next
	@scripts/try

test: ## Build and run every test
	@scripts/setup
	$(SWIFT) build -c release --build-tests
	@scripts/test

check: ## Check the house rules: format, layers, shell, manual pages
	@scripts/setup
	@scripts/check

# Say what else to pass on: make bench BENCH="--quick", or --document docs for the published table.
BENCH   ?=

bench: build ## Measure the engines, and volumes beside their peers
	@scripts/setup bench
	$(SWIFT) build -c release --product EngineBenchmark
	$(SWIFT) build -c release --product NameBenchmark
	$(SWIFT) build -c release --product VolumeLoad
	$(SWIFT) build -c release --product VolumeBenchmark
	.build/release/EngineBenchmark
	.build/release/NameBenchmark
	.build/release/VolumeBenchmark $(BENCH)
	.build/release/VolumeBenchmark --encryption $(BENCH)
	Benchmarks/views.sh
	Benchmarks/layers.py
	Benchmarks/compression.py

man: ## Render the manual pages as text into .build/man
	@mkdir -p .build/man
	@for page in man/*.[1-9]; do mandoc -T utf8 "$$page" >".build/man/$${page##*/}.txt"; done
	@ls .build/man/*.txt

# `sudo make install` builds as the owner of the tree, so that nothing of root's stays behind in it.
OWNER   = $(shell [ "$$(id -u)" != 0 ] || stat -c %U .)
AS_OWNER = $(if $(filter-out root UNKNOWN,$(OWNER)),runuser -u $(OWNER) --)

$(STATIC)/release/varve $(STATIC)/release/varved: FORCE
	@scripts/setup build
	$(AS_OWNER) $(SWIFT) build -c release --static-swift-stdlib $(HARDEN) --scratch-path $(STATIC) --product $(@F)

.PHONY: FORCE
FORCE:

install: $(STATIC)/release/varve $(STATIC)/release/varved ## Install below PREFIX (DESTDIR honoured)
	@BUILT=$(STATIC)/release $(PLACE) add

uninstall: ## Remove what `make install` put there
	@$(PLACE) remove

deb: $(STATIC)/release/varve $(STATIC)/release/varved ## Build a Debian package into .build
	@BUILT=$(STATIC)/release scripts/deb

test-deb: deb ## Try the package in a bare Debian 12 (root; fetches about 60 MB)
	@scripts/test-deb

clean: ## Remove everything that was built
	rm -rf .build
