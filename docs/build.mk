# The demo, installation, and the pages made from the programs themselves.
#   make demo             records a real program and shows what weft makes of it
#   make install          both halves, into $(DESTDIR)$(PREFIX)
#   make install-record   what a machine needs to record
#   make install-analyze  what a machine needs to read recordings
#   make docs             the man page and the completion, in build/share
.PHONY: demo demo-run demo-program docs install install-record \
	install-analyze uninstall

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

# Tests run side by side; what several of them need is built before.
test-bin: demo-program docs

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
		$(to)/lib/pkgconfig $(to)/include
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

install-analyze: $(B)/bin/weft analyzer plugin docs
	$(INSTALL) -d $(to)/bin $(to)/libexec/weft \
		$(to)/lib/babeltrace2/plugins
	$(INSTALL) $(B)/bin/weft $(to)/bin/
	$(INSTALL) $(B)/libexec/weft/weft-analyze $(to)/libexec/weft/
	$(INSTALL) $(B)/lib/babeltrace2/plugins/babeltrace-plugin-weft.so \
		$(to)/lib/babeltrace2/plugins/
	$(INSTALL) -d $(to)/share/man/man1 \
		$(to)/share/bash-completion/completions
	$(INSTALL) -m 644 $(B)/share/man/man1/weft.1 $(to)/share/man/man1/
	$(INSTALL) -m 644 $(B)/share/bash-completion/completions/weft \
		$(to)/share/bash-completion/completions/

uninstall:
	rm -f $(addprefix $(to)/,bin/weft libexec/weft/weft-record \
		libexec/weft/weft-analyze lib/libweft.so \
		lib/weft/weft-provider.so include/weft.h \
		lib/pkgconfig/weft.pc share/man/man1/weft.1 \
		lib/libweft-lua-static.a lib/pkgconfig/weft-lua-static.pc \
		share/bash-completion/completions/weft \
		lib/babeltrace2/plugins/babeltrace-plugin-weft.so \
		$(LUA_MODULES:%=lib/lua/%/weft.so))
	-rmdir $(to)/libexec/weft $(to)/lib/weft 2>/dev/null

# Both are printed by the program from its tables of commands and options.
# What `weft record` has to say joins in where that half is built, too.
DOCS_FROM := $(B)/bin/weft $(B)/libexec/weft/weft-analyze \
	$(if $(filter install-analyze,$(MAKECMDGOALS)),,\
		$(B)/libexec/weft/weft-record)
docs: $(B)/share/man/man1/weft.1 $(B)/share/bash-completion/completions/weft

$(B)/share/man/man1/weft.1: $(DOCS_FROM)
	$(call say,GEN,$@)
	@mkdir -p $(@D)
	$(Q)$(B)/bin/weft help --man >$@.new
	$(Q)mv $@.new $@

$(B)/share/bash-completion/completions/weft: $(DOCS_FROM)
	$(call say,GEN,$@)
	@mkdir -p $(@D)
	$(Q)$(B)/bin/weft help --completion >$@.new
	$(Q)mv $@.new $@
