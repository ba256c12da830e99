# weft.so for require "weft": one for each version of Lua, where that version
# looks for it below PREFIX. LuaJIT takes 5.1's. Lua's functions are the program's.
LUA_MODULES := 5.1 5.2 5.3 5.4
LUA_MODULE_TEXT := $(B)/gen/weft_module.inc
LUA_MODULE_SO := $(LUA_MODULES:%=$(B)/lib/lua/%/weft.so)

.PHONY: modules
modules: $(LUA_MODULE_SO)
all: modules

# The text as a list of characters: no tool but od and sed is needed.
$(LUA_MODULE_TEXT): tracer/lua/weft_module.lua
	@mkdir -p $(@D)
	od -An -v -tx1 $< | sed 's/ \(..\)/0x\1,/g' >$@

define lua_module_rule
$(B)/lib/lua/$(1)/weft.so: tracer/lua/weft_module.c tracer/lua/weft_dump.c \
		$(LUA_MODULE_TEXT) $(B)/lib/libweft.so
	@mkdir -p $$(@D)
	$$(CC) -std=c11 -D_GNU_SOURCE -I. $$(OPT) $$(WARN) \
		$$(SANFLAGS) $$$$(pkg-config --cflags lua$(1)) $$(CFLAGS) \
		-DWEFT_MODULE_TEXT='"$(LUA_MODULE_TEXT)"' \
		-fPIC -fvisibility=hidden -shared -Wl,-z,nodelete \
		-Wl,-rpath,'$$$$ORIGIN/../..' -MMD -MP -MF $$@.d -o $$@ \
		tracer/lua/weft_module.c tracer/lua/weft_dump.c -L$(B)/lib -lweft
endef
$(foreach v,$(LUA_MODULES),$(eval $(call lua_module_rule,$(v))))

-include $(LUA_MODULE_SO:=.d)
