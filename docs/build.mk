# The demo, installation, and the pages made from the programs themselves.
#   make demo             records a real program and shows what weft makes of it
#   make install          both halves, into $(DESTDIR)$(PREFIX)
#   make install-record   what a machine needs to record
#   make install-analyze  what a machine needs to read recordings
#   make docs             the man page and the completion, in build/share
.PHONY: demo demo-run demo-program docs install install-record \
	install-analyze install-common uninstall

DEMO_SRC := $(wildcard tests/prog/demo/*.c)
DEMO_OBJ := $(DEMO_SRC:%.c=$(B)/obj/%.o)
DEMO_LUA := $(or $(LUA_PC),lua5.4)

# The program to be recorded: the one flag is all that its build needs.
$(B)/obj/tests/prog/demo/%.o: tests/prog/demo/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) $$(pkg-config --cflags $(DEMO_LUA)) \
		-finstrument-functions -c -o $@ $<

$(B)/demo/search: $(DEMO_OBJ)
	@mkdir -p $(@D)
	$(CC) $(SANFLAGS) -o $@ $^ $$(pkg-config --libs $(DEMO_LUA)) \
		-lm -lpthread

-include $(DEMO_OBJ:.o=.d)

demo-program: $(B)/demo/search

demo:
	@tests/deps.sh build
	+@$(MAKE) --no-print-directory -s all demo-program
	@B=$(B) WEFT=$(B)/bin/weft tests/prog/demo/run.sh

demo-run: all demo-program
	@B=$(B) WEFT=$(B)/bin/weft tests/prog/demo/run.sh
