# libweft.so: lives in the recorded program; libc alone.
# CFLAGS=-DWEFT_CHECKED makes the checked build (in a build folder of its own, as
# in "make B=build/checked CFLAGS=-DWEFT_CHECKED host unit-bin"): thread_valid and
# its like are looked at after each hook.
# Files in lua_abi/ see Lua's headers: they are compiled once for each version of
# Lua, and linked into one object that shows a single symbol, lua_abi_54 and so on.
HOST_ABI_SRC := $(wildcard tracer/host/lua_abi/*.c)
HOST_SRC := $(filter-out $(HOST_ABI_SRC),$(wildcard tracer/host/*/*.c))
# 21 is LuaJIT 2.1. 5.5, which few systems have, is left out where it is not.
HAS_LUA55 := $(shell $(PKG_CONFIG) --exists lua5.5 && echo yes)
LUA_ABIS := $(if $(HAS_LUA55),55) 54 53 52 51 21
LUA_PKG_55 := lua5.5
LUA_PKG_54 := lua5.4
LUA_PKG_53 := lua5.3
LUA_PKG_52 := lua5.2
LUA_PKG_51 := lua5.1
LUA_PKG_21 := luajit
$(foreach a,$(LUA_ABIS),\
	$(eval LUA_CFLAGS_$(a) := $$(shell $(PKG_CONFIG) --cflags $(LUA_PKG_$(a))))\
	$(eval LUA_LIBS_$(a) = $$(shell $(PKG_CONFIG) --libs $(LUA_PKG_$(a)))))
host_abi_obj = $(HOST_ABI_SRC:%.c=$(B)/obj/%-$(1).o)
HOST_OBJ := $(HOST_SRC:%.c=$(B)/obj/%.o) \
	$(LUA_ABIS:%=$(B)/obj/tracer/host/lua_abi_%.o)
OBJCOPY ?= objcopy
# The hot path is measured in tenths of nanoseconds: no frame pointer is kept,
# no symbol but weft's public ones leaves the library.
HOST_CFLAGS = $(CFLAGS_ALL) -fPIC -fvisibility=hidden -fno-plt \
	-fno-stack-protector -fno-builtin-malloc

host: $(B)/lib/libweft.so

$(B)/lib/libweft.so: $(HOST_OBJ)
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(SANFLAGS) -shared -Wl,-soname,libweft.so -Wl,-z,now \
		-Wl,-z,nodelete -Wl,-z,initfirst -Wl,--no-undefined -o $@ $^

$(B)/obj/tracer/host/%.o: tracer/host/%.c
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(HOST_CFLAGS) -c -o $@ $<

define host_abi_rule
$(B)/obj/tracer/host/lua_abi/%-$(1).o: tracer/host/lua_abi/%.c
	$$(call say,CC,"$$< ($(LUA_PKG_$(1)))")
	@mkdir -p $$(@D)
	$$(Q)$$(CC) $$(HOST_CFLAGS) $$(LUA_CFLAGS_$(1)) -DWEFT_LUA_ABI=$(1) \
		-c -o $$@ $$<

$(B)/obj/tracer/host/lua_abi_$(1).o: $(call host_abi_obj,$(1))
	$$(call say,LD,$$@)
	$$(Q)$$(CC) -r -nostdlib -o $$@ $$^
	$$(Q)$(OBJCOPY) --redefine-sym lua_abi=lua_abi_$(1) \
		--keep-global-symbol=lua_abi_$(1) $$@
endef
$(foreach a,$(LUA_ABIS),$(eval $(call host_abi_rule,$(a))))

-include $(HOST_SRC:%.c=$(B)/obj/%.d) \
	$(foreach a,$(LUA_ABIS),$(patsubst %.o,%.d,$(call host_abi_obj,$(a))))
