# weft-record and the dispatcher `weft`. LTTng-UST itself is linked to the
# provider only, which weft-record opens when the daemon is there.
RECORDER_SRC := $(filter-out tracer/recorder/weft_main.c,\
	$(wildcard tracer/recorder/*.c tracer/recorder/*/*.c))
CONTROL_OBJ := $(B)/obj/tracepoints/control.o
RECORDER_OBJ := $(RECORDER_SRC:%.c=$(B)/obj/%.o) $(CONTROL_OBJ)
# What a unit test of the recorder links.
RECORDER_TEST_OBJ := $(filter-out %/record_main.o,$(RECORDER_OBJ))
RECORDER_LIBS := -llttng-ctl -lelf -lpopt -llz4 -lzstd -liberty -ldl -lpthread -lm
RECORDER_TEST_LIBS := $(RECORDER_LIBS)

recorder: $(B)/bin/weft $(B)/libexec/weft/weft-record \
	$(B)/lib/weft/weft-provider.so

$(B)/bin/weft: $(B)/obj/tracer/recorder/weft_main.o
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(SANFLAGS) $(LDFLAGS) -o $@ $^

$(B)/libexec/weft/weft-record: $(RECORDER_OBJ)
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(SANFLAGS) $(LDFLAGS) -o $@ $^ $(RECORDER_LIBS)

# LTTng's macros expand to code that -Wconversion and friends do not like.
$(B)/lib/weft/weft-provider.so: $(B)/obj/tracepoints/weft_tp.o
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(SANFLAGS) $(LDFLAGS) -shared -Wl,-soname,weft-provider.so \
		-o $@ $^ -llttng-ust -ldl

$(B)/obj/tracepoints/weft_tp.o: tracepoints/weft_tp.c
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE -I. $(OPT) -fPIC -fvisibility=hidden \
		-Wall -Wextra $(WERROR) $(SANFLAGS) -MMD -MP $(CFLAGS) \
		-c -o $@ $<

$(CONTROL_OBJ): tracepoints/control.c
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) -fPIC -c -o $@ $<

$(B)/obj/tracer/recorder/%.o: tracer/recorder/%.c
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) -c -o $@ $<

-include $(RECORDER_OBJ:.o=.d) $(B)/obj/tracer/recorder/weft_main.d \
	$(B)/obj/tracepoints/weft_tp.d
