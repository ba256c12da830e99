# Tests, benches and what builds them.
#   make test          every test, after installing what is missing
#   make test-deep     the same at full length: all seeds on all builds
#   make test-viewers  what weft exports, in the tools it is for
#   make unit          the unit tests and replay texts alone
#   make soak          two minutes of a day in production (SOAK=1800: more)
#   make check-layers  who may include and call whom
#   make bench         the table of costs
#   make truth         how near to the truth the times are
#   make yardstick     how near to samples of real programs, unrecorded
# A unit test links the archive of the part whose headers it includes, or of
# those named in a line "links: analyzer host recorder lua" in its head.
TEST_DIR := $(B)/tests
UNIT_SRC := $(filter-out tests/unit/run_unit.c,$(wildcard tests/unit/test_*.c))
UNIT_BIN := $(UNIT_SRC:tests/unit/%.c=$(TEST_DIR)/%)
# One archive a part, of its objects but for a main().
TEST_LIB := $(B)/lib-test
ANALYZER_TEST_LIBS ?= $(shell $(PKG_CONFIG) --libs babeltrace2 libdw \
	zlib liblz4 libzstd sqlite3) -liberty -lm
RECORDER_TEST_LIBS ?= -ldl -lpthread
HOST_TEST_LIBS ?= -ldl -lpthread

.PHONY: test test-quick test-deep test-viewers test-bin unit unit-bin san check-layers bench truth \
	yardstick soak programs reference

# What tests say in their heads, and what they include: links_NAME, flags_NAME,
# matrix_NAME, includes_NAME. One process reads all: under emulation, one for each
# test took minutes.
$(foreach word,$(shell awk -F '["/]' ' \
	FNR == 1 { name = FILENAME; gsub(".*/|[.].*", "", name) } \
	FNR <= 12 && /matrix/ { print "matrix_" name "=yes" } \
	FNR <= 12 && match($$0, "(links|flags): ") { \
		$$0 = substr($$0, RSTART); sub(": *", "_" name "="); \
		sub("[ */]*$$", ""); gsub(" ", "~"); print } \
	/^.include "analyzer/ { print "includes_" name "+=" $$2 } \
	/^.include "tracer.(host|recorder)/ { print "includes_" name "+=" $$3 }' \
	tests/unit/test_*.c tests/prog/p_*),$(eval $(subst ~, ,$(word))))
# Which parts a test links: said in its head, or told by its includes.
links_of = $(or $(links_$(1)),$(sort $(includes_$(1))))
archives_of = $(patsubst %,$(TEST_LIB)/%.a,\
	$(filter analyzer host recorder,$(1)))
# All of the host: it stands in for functions that no test names.
libs_of = $(if $(filter host,$(1)),-Wl$(comma)--whole-archive \
	$(TEST_LIB)/host.a -Wl$(comma)--no-whole-archive) \
	$(filter-out %/host.a,$(call archives_of,$(1))) \
	$(if $(filter analyzer,$(1)),$(ANALYZER_TEST_LIBS)) \
	$(if $(filter host,$(1)),$(HOST_TEST_LIBS)) \
	$(if $(filter recorder,$(1)),$(RECORDER_TEST_LIBS)) \
	$(if $(filter lua,$(1)),$(LUA_TEST_LIBS))
LUA_TEST_LIBS ?= $(shell $(PKG_CONFIG) --libs lua5.4)

$(TEST_LIB)/analyzer.a: $(ANALYZER_TEST_OBJ)
$(TEST_LIB)/host.a: $(HOST_OBJ)
$(TEST_LIB)/recorder.a: $(RECORDER_TEST_OBJ)
$(TEST_LIB)/%.a:
	$(call say,AR,$@)
	@mkdir -p $(@D)
	@rm -f $@
	$(Q)$(AR) rcsDT $@ $^

$(patsubst tests/%.c,$(TEST_DIR)/obj/%.o,$(filter tests/unit/test_lua_%,\
	$(UNIT_SRC))): CFLAGS_ALL += $(LUA_CFLAGS_54)

# The same for each other version of Lua: test_lua_heal_53 and so on.
LUA_TESTS := $(filter $(notdir $(UNIT_SRC:.c=)),\
	test_lua_heal test_lua_coroutine test_lua_written test_lua_asked \
	test_lua_jump test_lua_code)
define lua_test_rule
UNIT_BIN += $(TEST_DIR)/$(1)_$(2)
$(TEST_DIR)/obj/unit/$(1)_$(2).o: tests/unit/$(1).c
	$$(call say,CC,"$$< ($$(LUA_PKG_$(2)))")
	@mkdir -p $$(@D)
	$$(Q)$$(CC) $$(CFLAGS_ALL) $$(LUA_CFLAGS_$(2)) \
		-Wno-missing-prototypes -c -o $$@ $$<
$(TEST_DIR)/$(1)_$(2): $(TEST_DIR)/obj/unit/$(1)_$(2).o \
		$(TEST_DIR)/$(1)_$(2).table.c \
		$(TEST_DIR)/obj/unit/run_unit.o $(call archives_of,$(3))
	$$(call say,LD,$$@)
	$$(Q)$$(CC) $$(CFLAGS_ALL) -o $$@ $$(filter %.o %.c,$$^) \
		$$(call libs_of,$(3)) $$(LUA_LIBS_$(2))
endef
$(foreach t,$(LUA_TESTS),$(foreach a,$(filter-out 54,$(LUA_ABIS)),\
	$(eval $(call lua_test_rule,$(t),$(a),$(filter-out lua,\
	$(call links_of,$(t)))))))

$(TEST_DIR)/obj/%.o: tests/%.c
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) -Wno-missing-prototypes -c -o $@ $<

$(TEST_DIR)/%.table.c: $(TEST_DIR)/obj/unit/%.o tests/gen.sh
	$(Q)tests/gen.sh $< > $@

define unit_rule
$(TEST_DIR)/$(1): $(TEST_DIR)/obj/unit/$(1).o $(TEST_DIR)/$(1).table.c \
		$(TEST_DIR)/obj/unit/run_unit.o $(call archives_of,$(2))
	$$(call say,LD,$$@)
	$$(Q)$$(CC) $$(CFLAGS_ALL) -o $$@ $$(filter %.o %.c,$$^) \
		$$(call libs_of,$(2))
endef
$(foreach t,$(basename $(notdir $(UNIT_SRC))),\
	$(eval $(call unit_rule,$(t),$(call links_of,$(t)))))

# Replay texts are read by a program that is linked to the analyzer.
REPLAY_SRC := $(wildcard tests/replay/*.c)
ifneq ($(REPLAY_SRC),)
UNIT_BIN += $(TEST_DIR)/run_replay
$(TEST_DIR)/run_replay: $(REPLAY_SRC:tests/%.c=$(TEST_DIR)/obj/%.o) \
		$(TEST_LIB)/analyzer.a
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS_ALL) -o $@ $^ $(ANALYZER_TEST_LIBS)
endif

-include $(wildcard $(TEST_DIR)/obj/*/*.d)

unit-bin: $(UNIT_BIN)

unit: unit-bin
	$(Q)B=$(B) tests/run.sh unit/ replay/

# Unit tests and replay texts once more under sanitizers, with every invariant
# checked; the analyzer, too, for damaged input. Tests of threads under the
# thread sanitizer.
san:
	+$(Q)$(MAKE) --no-print-directory SAN=address,undefined \
		B=$(B)/san-address-undefined CFLAGS=-DWEFT_CHECKED \
		unit-bin analyzer
	+$(Q)$(MAKE) --no-print-directory SAN=thread B=$(B)/san-thread \
		UNIT_SRC="$(TSAN_SRC)" REPLAY_SRC= unit-bin
# Not test_lua_jump: that sanitizer holds signals back, and its own sigaltstack
# comes before ours.
TSAN_SRC = $(filter-out %/test_lua_jump.c,\
	$(shell grep -lE 'pthread_create|lanes_new' tests/unit/test_*.c))

# The checked build: the oracle runs some seeds with it.
.PHONY: checked
checked:
	+$(Q)$(MAKE) --no-print-directory B=$(B)/checked CFLAGS=-DWEFT_CHECKED \
		host recorder analyzer

# Both compilers must be content; only one of them makes the programs.
ALL_C = $(wildcard tracepoints/*.c tracer/*/*.c tracer/*/*/*.c analyzer/*.c \
	analyzer/*/*.c analyzer/*/*/*.c \
	tests/unit/*.c tests/replay/*.c tests/reference/*.c)
.PHONY: clang-check
clang-check: $(ALL_C:%.c=$(B)/clang/%.ok)
CLANG_FLAGS = $(filter-out $(DEPENDS),$(CFLAGS_ALL)) $(LUA_CFLAGS_54) \
	-DWEFT_LUA_ABI=54 -DLUA_COMPAT_5_3 \
	-DWEFT_MODULE_TEXT='"$(LUA_MODULE_TEXT)"' \
	-Wno-unknown-warning-option
$(B)/clang/tests/%.ok: tests/%.c
	$(call say,CLANG,$<)
	@mkdir -p $(@D)
	$(Q)clang $(CLANG_FLAGS) -Wno-missing-prototypes -fsyntax-only $<
	@touch $@
$(B)/clang/%.ok: %.c | $(LUA_MODULE_TEXT)
	$(call say,CLANG,$<)
	@mkdir -p $(@D)
	$(Q)clang $(CLANG_FLAGS) -fsyntax-only $<
	@touch $@

# The random program of tests/oracle, by both compilers at every level, and with
# every version of Lua.
ORACLE := $(TEST_DIR)/oracle
# $(call oracle_rule,COMPILER,LEVEL,NAME,LUA'S ABI)
define oracle_rule
ORACLE_BIN += $(ORACLE)/$(3)
$(ORACLE)/$(3): $$(wildcard tests/oracle/*.[ch] tests/oracle/*.cc) \
		tests/oracle/build
	$$(call say,LD,$$@)
	$$(Q)tests/oracle/build $(1) $(2) $$@ "$$(LUA_CFLAGS_$(4))" \
		"$$(LUA_LIBS_$(4))"
endef
$(foreach c,gcc clang,$(foreach o,O0 O1 O2 O3,\
	$(eval $(call oracle_rule,$(c),$(o),woven-$(c)-$(o),54))))
$(if $(HAS_LUA55),$(eval $(call oracle_rule,gcc,O2,woven-lua5.5,55)))
$(eval $(call oracle_rule,gcc,O2,woven-lua5.3,53))
$(eval $(call oracle_rule,gcc,O2,woven-lua5.2,52))
$(eval $(call oracle_rule,gcc,O2,woven-lua5.1,51))
$(eval $(call oracle_rule,gcc,O2,woven-luajit,21))
# The host library with healing rules that can be switched off.
.PHONY: oracle
oracle: $(ORACLE_BIN)
	+$(Q)$(MAKE) --no-print-directory B=$(B)/breaks \
		CFLAGS=-DWEFT_TEST_BREAKS host $(B)/breaks/tests/test_lua_heal \
		$(B)/breaks/tests/test_lua_written \
		$(B)/breaks/tests/test_host_jump

# What makes up the sessions of tests/reference.
reference: $(TEST_DIR)/reference/made
$(TEST_DIR)/reference/made: $(patsubst tests/%.c,$(TEST_DIR)/obj/%.o,\
		$(wildcard tests/reference/*.c))
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) -o $@ $^

# Sample programs of the end-to-end tests: tests/prog/p_NAME.c or .cc says in a
# line "flags: ..." of its head how it is compiled; a line "matrix" there makes
# one program for each compiler and level, p_NAME-gcc-O2 and so on. One that
# is "built by tests/..." is left to that script.
PROG := $(TEST_DIR)/prog
PROG_SRC := $(shell grep -L 'built by tests/' tests/prog/p_*.c tests/prog/p_*.cc)
cc_of = $(if $(filter %.cc,$(1)),$(if $(filter gcc,$(2)),g++,clang++),$(2))
prog_name = $(basename $(notdir $(1)))
define prog_rule
PROG_BIN += $(PROG)/$(strip $(1))
$(PROG)/$(strip $(1)): $(strip $(2))
	$$(call say,LD,$$@)
	@mkdir -p $(PROG)
	$$(Q)$(3) -I. -D_GNU_SOURCE -g $(4) -MMD -MP -MF $$@.d -o $$@ \
		$(strip $(2)) $(5)
endef
$(foreach s,$(PROG_SRC),$(if $(matrix_$(call prog_name,$(s))),\
	$(foreach c,gcc clang,$(foreach o,O0 O1 O2 O3,$(eval $(call prog_rule,\
	$(call prog_name,$(s))-$(c)-$(o),$(s),$(call cc_of,$(s),$(c)),-$(o),\
	$(flags_$(call prog_name,$(s))))))),\
	$(eval $(call prog_rule,$(call prog_name,$(s)),$(s),\
	$(call cc_of,$(s),gcc),-O1,$(flags_$(call prog_name,$(s)))))))
programs: $(PROG_BIN)
-include $(wildcard $(PROG)/*.d)

check-layers: all
	$(Q)B=$(B) tests/layers.sh --list

# As many jobs as there are processors, unless make was told how many.
jobs = $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc))
test:
	@tests/deps.sh build test
	+$(Q)$(MAKE) --no-print-directory $(jobs) test-bin
	$(Q)B=$(B) tests/run.sh

# Before a commit that does not touch recording: less than two minutes.
test-quick:
	@tests/deps.sh build test
	+$(Q)$(MAKE) --no-print-directory $(jobs) all unit-bin reference \
		$(TEST_DIR)/prog/p_write_trace
	$(Q)B=$(B) QUICK=1 tests/run.sh

test-deep:
	@tests/deps.sh build test deep
	+$(Q)$(MAKE) --no-print-directory $(jobs) test-bin
	$(Q)B=$(B) DEEP=1 tests/run.sh

# Without one of the tools its test is skipped, and says so.
test-viewers:
	@tests/deps.sh build
	@tests/deps.sh viewers || :
	+$(Q)$(MAKE) --no-print-directory $(jobs) all \
		$(TEST_DIR)/prog/p_write_trace $(TEST_DIR)/reference/made
	$(Q)B=$(B) tests/run.sh viewers/ cli/export/sqlite

soak:
	@tests/deps.sh build
	+$(Q)$(MAKE) --no-print-directory $(jobs) all $(TEST_DIR)/prog/p_soak
	@rm -rf $(B)/soak && mkdir -p $(B)/soak
	$(Q)B=$(abspath $(B)) WEFT=$(abspath $(B))/bin/weft \
		T=$(abspath $(B))/soak tests/soak.sh

test-bin: all unit-bin san checked clang-check oracle programs reference

bench:
	@tests/deps.sh build test bench
	+$(MAKE) --no-print-directory all
	B=$(B) tests/bench/run.sh

truth:
	@tests/deps.sh build test
	+$(MAKE) --no-print-directory all
	B=$(B) tests/bench/truth.sh

yardstick:
	@tests/deps.sh build test yardstick
	+$(MAKE) --no-print-directory all
	B=$(B) tests/bench/yardstick.sh $(PROGRAMS)
