# The demo, installation, and the pages made from the programs themselves.
#   make demo             records a real program and shows what weft makes of it
#   make install          both halves, into $(DESTDIR)$(PREFIX)
#   make install-record   what a machine needs to record
#   make install-analyze  what a machine needs to read recordings
#   make docs             the man page and the completion, in build/share
#   make deb              Debian packages, in build/deb. DEB_FLAGS='-aarm64 -d':
#                         of that architecture, whose libraries must be there;
#                         its programs must run (qemu-user), for the man page
.PHONY: demo demo-run demo-program tutorial docs install install-record \
	install-analyze uninstall deb

DEMO_SRC := $(wildcard tests/prog/demo/*.c)
DEMO_OBJ := $(DEMO_SRC:%.c=$(B)/obj/%.o)
DEMO_LUA := $(or $(LUA_PC),lua5.4)

# The program to be recorded: the one flag is all that its build needs.
$(B)/obj/tests/prog/demo/%.o: tests/prog/demo/%.c
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) $$(pkg-config --cflags $(DEMO_LUA)) \
		-finstrument-functions -c -o $@ $<

$(B)/demo/search: $(DEMO_OBJ)
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(SANFLAGS) -o $@ $^ $$(pkg-config --libs $(DEMO_LUA)) \
		-lm -lpthread

-include $(DEMO_OBJ:.o=.d)

demo-program: $(B)/demo/search

# What docs/tutorial.md looks into.
tutorial: $(B)/tutorial/server
$(B)/tutorial/server: tests/prog/tutorial/server.c
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -O1 -g $$(pkg-config --cflags $(DEMO_LUA)) \
		-finstrument-functions -o $@ $< \
		$$(pkg-config --libs $(DEMO_LUA)) -lpthread

# Tests run side by side; what several of them need is built before.
test-bin: demo-program tutorial docs

demo:
	@tests/deps.sh build
	+@$(MAKE) --no-print-directory -s all demo-program
	@B=$(B) WEFT=$(B)/bin/weft tests/prog/demo/run.sh

demo-run: all demo-program
	@B=$(B) WEFT=$(B)/bin/weft tests/prog/demo/run.sh

# Installation. A half is whole without the other: both bring the command
# `weft`, which says so when the half it is asked for is not there.
VERSION ?= 0.1.0
INSTALL ?= install
to = $(DESTDIR)$(PREFIX)

install: install-record install-analyze

install-record: host recorder modules
	$(INSTALL) -d $(to)/bin $(to)/libexec/weft $(to)/lib/weft \
		$(to)/lib/pkgconfig $(to)/lib/systemd/system $(to)/include
	$(INSTALL) $(B)/bin/weft $(to)/bin/
	$(INSTALL) $(B)/libexec/weft/weft-record $(to)/libexec/weft/
	$(INSTALL) $(B)/lib/libweft.so $(to)/lib/
	$(INSTALL) $(B)/lib/weft/weft-provider.so $(to)/lib/weft/
	$(INSTALL) -m 644 tracer/host/weft.h $(to)/include/
	for v in $(LUA_MODULES); do $(INSTALL) -d $(to)/lib/lua/$$v && \
		$(INSTALL) $(B)/lib/lua/$$v/weft.so $(to)/lib/lua/$$v/ || \
		exit 1; done
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(VERSION)|' \
		tracer/host/api/weft.pc.in >$(to)/lib/pkgconfig/weft.pc
	$(INSTALL) -m 644 $(LUA_STATIC_A) $(to)/lib/
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(VERSION)|' \
		-e 's|@WRAP@|$(LUA_WRAP_FLAGS)|' \
		tracer/lua/weft-lua-static.pc.in \
		>$(to)/lib/pkgconfig/weft-lua-static.pc
	sed -e 's|@PREFIX@|$(PREFIX)|' tracer/recorder/weft@.service \
		>$(to)/lib/systemd/system/weft@.service
	$(if $(DESTDIR),,[ "$$(id -u)" != 0 ] || ldconfig || :)

# By the shells' own rules; bash, zsh, fish.
COMPLETIONS := share/bash-completion/completions/weft \
	share/zsh/site-functions/_weft \
	share/fish/vendor_completions.d/weft.fish

install-analyze: $(B)/bin/weft analyzer plugin docs
	$(INSTALL) -d $(to)/bin $(to)/libexec/weft \
		$(to)/lib/babeltrace2/plugins
	$(INSTALL) $(B)/bin/weft $(to)/bin/
	$(INSTALL) $(B)/libexec/weft/weft-analyze $(to)/libexec/weft/
	$(INSTALL) $(B)/lib/babeltrace2/plugins/babeltrace-plugin-weft.so \
		$(to)/lib/babeltrace2/plugins/
	$(INSTALL) -d $(to)/share/man/man1 \
		$(foreach f,$(COMPLETIONS),$(to)/$(dir $f))
	$(INSTALL) -m 644 $(B)/share/man/man1/weft.1 $(to)/share/man/man1/
	$(foreach f,$(COMPLETIONS),$(INSTALL) -m 644 $(B)/$f $(to)/$f && ) :

uninstall:
	rm -f $(addprefix $(to)/,bin/weft libexec/weft/weft-record \
		libexec/weft/weft-analyze lib/libweft.so \
		lib/weft/weft-provider.so include/weft.h \
		lib/pkgconfig/weft.pc share/man/man1/weft.1 \
		lib/libweft-lua-static.a lib/pkgconfig/weft-lua-static.pc \
		lib/systemd/system/weft@.service \
		$(COMPLETIONS) \
		lib/babeltrace2/plugins/babeltrace-plugin-weft.so \
		$(LUA_MODULES:%=lib/lua/%/weft.so))
	-rmdir $(to)/libexec/weft $(to)/lib/weft 2>/dev/null

# Both are printed by the program from its tables of commands and options.
# What `weft record` has to say joins in where that half is built, too.
DOCS_FROM := $(B)/bin/weft $(B)/libexec/weft/weft-analyze \
	$(if $(filter install-analyze,$(MAKECMDGOALS)),,\
		$(B)/libexec/weft/weft-record)
docs: $(B)/share/man/man1/weft.1 $(COMPLETIONS:%=$(B)/%)

$(B)/share/man/man1/weft.1: $(DOCS_FROM)
	$(call say,GEN,$@)
	@mkdir -p $(@D)
	$(Q)$(B)/bin/weft help --man >$@.new
	$(Q)mv $@.new $@

$(COMPLETIONS:%=$(B)/%): $(DOCS_FROM)
	$(call say,GEN,$@)
	@mkdir -p $(@D)
	$(Q)$(B)/bin/weft help --completion --shell=$(if $(findstring /fish/,\
		$@),fish,$(if $(findstring /zsh/,$@),zsh,bash)) >$@.new
	$(Q)mv $@.new $@

# Debian packages, from docs/debian, of the source as it is here. What they
# build with is what tests/deps.sh lists.
DEB := $(B)/deb
DEBEMAIL ?= weft@localhost.localdomain
DEB_SOURCE := $(DEB)/weft-$(VERSION)
comma_list = $(shell tests/deps.sh -l build | sed 's/ /, /g')

deb:
	@$(if $(filter -a% -t% -d --host-%,$(DEB_FLAGS)),,tests/deps.sh build deb)
	@rm -rf $(DEB)
	@mkdir -p $(DEB_SOURCE)
	@cp -a Makefile LICENSE tracepoints tracer analyzer tests docs $(DEB_SOURCE)
	@cp -a docs/debian $(DEB_SOURCE)/
	@sed -e 's/@BUILD@/$(comma_list)/' -e 's/@EMAIL@/$(DEBEMAIL)/' \
		docs/debian/control \
		>$(DEB_SOURCE)/debian/control
	@(cat docs/debian/copyright; sed -n '5,$$s/^$$/./;5,$$s/^/ /p' LICENSE) \
		>$(DEB_SOURCE)/debian/copyright
	@printf '%s\n\n  * %s\n\n -- %s  %s\n' \
		'weft ($(VERSION)) unstable; urgency=medium' \
		'This version.' 'the weft authors <$(DEBEMAIL)>' \
		"$$(date -R)" >$(DEB_SOURCE)/debian/changelog
	cd $(DEB_SOURCE) && env -u MAKEFLAGS -u B VERSION=$(VERSION) \
		dpkg-buildpackage -b -us -uc $(DEB_FLAGS)
