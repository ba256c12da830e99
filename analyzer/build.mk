# weft-analyze: every command but `record`; and the babeltrace2 plugin. The two
# share their objects, so all of them are position-independent.
ANALYZER_SRC := $(wildcard analyzer/*.c analyzer/*/*.c analyzer/*/*/*.c)
PLUGIN_SRC := $(wildcard analyzer/explode/plugin_*.c)
ANALYZER_OBJ := $(patsubst %.c,$(B)/obj/%.o,\
	$(filter-out $(PLUGIN_SRC),$(ANALYZER_SRC)))
ANALYZER_OBJ += $(CONTROL_OBJ)
# What unit tests link with.
ANALYZER_TEST_OBJ := $(filter-out $(B)/obj/analyzer/main.o,$(ANALYZER_OBJ))
# The readers, the core and the base, without commands, symbols and output.
PLUGIN_OBJ := $(PLUGIN_SRC:%.c=$(B)/obj/%.o) \
	$(filter $(foreach d,base chunk model replay in explode,$(B)/obj/analyzer/$(d)/%),\
		$(ANALYZER_OBJ))
ANALYZER_CFLAGS = $(CFLAGS_ALL) -fPIC -fvisibility=hidden
ANALYZER_LIBS := -lbabeltrace2 -ldw -lelf -lm -lz -llz4 -lzstd \
	-lsqlite3 -liberty
# Its babeltrace2 descriptors must be visible; nothing else needs to be.
PLUGIN_CFLAGS = $(CFLAGS_ALL) -fPIC
WEFT_ANALYZE := $(B)/libexec/weft/weft-analyze
WEFT_PLUGIN := $(B)/lib/babeltrace2/plugins/babeltrace-plugin-weft.so

analyzer: $(WEFT_ANALYZE)
plugin: $(WEFT_PLUGIN)

$(WEFT_ANALYZE): $(ANALYZER_OBJ)
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(SANFLAGS) -o $@ $^ $(ANALYZER_LIBS)

$(WEFT_PLUGIN): $(PLUGIN_OBJ)
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(SANFLAGS) -shared -Wl,--no-undefined -o $@ $^ -lbabeltrace2 \
		-llz4 -lzstd -lm

$(B)/obj/analyzer/explode/plugin_%.o: analyzer/explode/plugin_%.c
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(PLUGIN_CFLAGS) -c -o $@ $<

$(B)/obj/analyzer/%.o: analyzer/%.c
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ANALYZER_CFLAGS) -c -o $@ $<

# The assembler takes the page's own files into this object.
$(B)/obj/analyzer/out/page/page.o: \
	$(wildcard analyzer/out/page/browser/*)

# Feeds damaged chunks to decoder and replay, and damaged Lua sources to the
# recorder's reader: make fuzz FUZZ_SECONDS=300
FUZZ_SECONDS ?= 60
FUZZ_CC := clang -std=c11 -D_GNU_SOURCE -I. -O1 -g -fno-sanitize-recover=all \
	-fsanitize=fuzzer,address,undefined
.PHONY: fuzz
fuzz: $(B)/tests/fuzz_chunk $(B)/tests/fuzz_outline
	@mkdir -p $(B)/tests/corpus
	cd $(B)/tests && ./fuzz_chunk -max_total_time=$(FUZZ_SECONDS) \
		-max_len=16384 -timeout=10 corpus $(CURDIR)/tests/fuzz \
		$(wildcard $(CURDIR)/tests/golden/*/*)
	@mkdir -p $(B)/tests/corpus-lua
	cp tests/fuzz/*.lua $(B)/tests/corpus-lua
	cd $(B)/tests && ./fuzz_outline -max_total_time=$(FUZZ_SECONDS) \
		-max_len=4096 -timeout=10 corpus-lua

$(B)/tests/fuzz_chunk: tests/fuzz/fuzz_chunk.c \
		$(wildcard $(foreach d,base chunk model replay tables,analyzer/$(d)/*.c))
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(FUZZ_CC) -o $@ $^ -llz4 -lzstd

$(B)/tests/fuzz_outline: tests/fuzz/fuzz_outline.c \
		$(wildcard tracer/recorder/names/lua_[ot]*.c)
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(FUZZ_CC) -o $@ $^

-include $(ANALYZER_OBJ:.o=.d) $(PLUGIN_SRC:%.c=$(B)/obj/%.d)
