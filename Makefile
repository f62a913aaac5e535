# The one door for people and CI. `make help` lists what there is.

PREFIX  ?= /usr/local
DESTDIR ?=
# mount(8) looks for its helpers here and nowhere else.
SBINDIR ?= /sbin
# Where systemd looks for the units of programs below PREFIX.
UNITDIR ?= $(PREFIX)/lib/systemd/system
SWIFT   := scripts/swift
# Programs to install carry the Swift run time inside: no Debian package has it.
STATIC  := .build/static

.PHONY: help setup build try test check bench man install uninstall deb clean

help: ## Show this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1@\2/p' $(MAKEFILE_LIST) | awk -F@ '{ printf "%-16s %s\n", $$1, $$2 }'

setup: ## Install missing Debian packages and check the Swift toolchain
	@scripts/setup

build: ## Build varve and varved into .build/release
	@scripts/setup
	$(SWIFT) build -c release --product varve
	$(SWIFT) build -c release --product varved

try: build ## Mount a small demo volume and show what to type next
	@scripts/try

test: ## Build and run every test
	@scripts/setup
	$(SWIFT) build -c release --build-tests
	$(SWIFT) test -c release --skip-build --no-parallel --disable-xctest

check: ## Check the house rules: format, layers, shell, manual pages
	@scripts/setup
	@scripts/check

# Say what else to pass on: make bench BENCH="--quick", or --document docs for the published table.
BENCH   ?=

bench: build ## Measure the decision engines, and volumes beside their peers
	@scripts/setup bench
	$(SWIFT) build -c release --product EngineBenchmark
	$(SWIFT) build -c release --product VolumeLoad
	$(SWIFT) build -c release --product VolumeBenchmark
	.build/release/EngineBenchmark
	.build/release/VolumeBenchmark $(BENCH)

man: ## Render the manual pages as text into .build/man
	@mkdir -p .build/man
	@for page in man/*.[1-9]; do mandoc -T utf8 "$$page" >".build/man/$${page##*/}.txt"; done
	@ls .build/man/*.txt

$(STATIC)/release/varve $(STATIC)/release/varved: FORCE
	@scripts/setup
	$(SWIFT) build -c release --static-swift-stdlib --scratch-path $(STATIC) --product $(@F)

.PHONY: FORCE
FORCE:

install: $(STATIC)/release/varve $(STATIC)/release/varved ## Install below PREFIX (DESTDIR honoured)
	install -d "$(DESTDIR)$(PREFIX)/bin" "$(DESTDIR)$(PREFIX)/sbin" "$(DESTDIR)$(SBINDIR)"
	install -m 755 $(STATIC)/release/varve "$(DESTDIR)$(PREFIX)/bin/varve"
	install -m 755 $(STATIC)/release/varved "$(DESTDIR)$(PREFIX)/sbin/varved"
	install -m 755 mount-helpers/mount.varve "$(DESTDIR)$(SBINDIR)/mount.varve"
	ln -sf mount.varve "$(DESTDIR)$(SBINDIR)/mount.fuse.varve"
	install -d "$(DESTDIR)$(UNITDIR)" "$(DESTDIR)$(PREFIX)/share/doc/varve/examples"
	sed 's|@BINDIR@|$(PREFIX)/bin|' systemd/varve@.service.in >"$(DESTDIR)$(UNITDIR)/varve@.service"
	chmod 644 "$(DESTDIR)$(UNITDIR)/varve@.service"
	install -m 644 systemd/varve.conf "$(DESTDIR)$(PREFIX)/share/doc/varve/examples/varve.conf"
	for page in man/*.[1-9]; do \
	  section=$${page##*.}; \
	  install -d "$(DESTDIR)$(PREFIX)/share/man/man$$section"; \
	  install -m 644 "$$page" "$(DESTDIR)$(PREFIX)/share/man/man$$section/"; \
	done

uninstall: ## Remove what `make install` put there
	rm -f "$(DESTDIR)$(PREFIX)/bin/varve" "$(DESTDIR)$(PREFIX)/sbin/varved"
	rm -f "$(DESTDIR)$(UNITDIR)/varve@.service" "$(DESTDIR)$(PREFIX)/share/doc/varve/examples/varve.conf"
	rm -f "$(DESTDIR)$(SBINDIR)/mount.varve" "$(DESTDIR)$(SBINDIR)/mount.fuse.varve"
	for page in man/*.[1-9]; do \
	  rm -f "$(DESTDIR)$(PREFIX)/share/man/man$${page##*.}/$${page##*/}"; \
	done

deb: ## Build a Debian package into .build
	@scripts/deb

clean: ## Remove everything that was built
	rm -rf .build
