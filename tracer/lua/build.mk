# weft.so for require "weft": one for each version of Lua, where that version
# looks for it below PREFIX. LuaJIT takes 5.1's. Lua's functions are the program's.
LUA_MODULES := 5.1 5.2 5.3 5.4 $(if $(HAS_LUA55),5.5)
LUA_MODULE_TEXT := $(B)/gen/weft_module.inc
LUA_MODULE_SO := $(LUA_MODULES:%=$(B)/lib/lua/%/weft.so)

.PHONY: modules
modules: $(LUA_MODULE_SO)
all: modules

# The text as a list of characters: no tool but od and sed is needed.
$(LUA_MODULE_TEXT): tracer/lua/weft_module.lua
	$(call say,GEN,$@)
	@mkdir -p $(@D)
	$(Q)od -An -v -tx1 $< | sed 's/ \(..\)/0x\1,/g' >$@

define lua_module_rule
$(B)/lib/lua/$(1)/weft.so: tracer/lua/weft_module.c $(LUA_MODULE_TEXT) \
		$(B)/lib/libweft.so
	$$(call say,LD,$$@)
	@mkdir -p $$(@D)
	$$(Q)$$(CC) -std=c11 -D_GNU_SOURCE -I. $$(OPT) $$(WARN) \
		$$(SANFLAGS) $$$$($(PKG_CONFIG) --cflags lua$(1)) $$(CFLAGS) \
		-DWEFT_MODULE_TEXT='"$(LUA_MODULE_TEXT)"' \
		-fPIC -fvisibility=hidden -shared -Wl,-z,nodelete \
		-Wl,-rpath,'$$$$ORIGIN/../..' -MMD -MP -MF $$(@:.so=.d) -o $$@ \
		tracer/lua/weft_module.c -L$(B)/lib -lweft
endef
$(foreach v,$(LUA_MODULES),$(eval $(call lua_module_rule,$(v))))

-include $(LUA_MODULE_SO:.so=.d)

# libweft-lua-static.a and its flags: for a Lua that is linked statically.
LUA_STATIC_A := $(B)/lib/libweft-lua-static.a
LUA_WRAPPED = $(shell sed -n '/^\#define WEFT_LUA_WRAPPED/,/^$$/p' \
	tracer/host/lua_vm/linked.h | grep -o 'X([A-Za-z_]*)' | tr -d 'X()')
LUA_WRAP_FLAGS = $(LUA_WRAPPED:%=-Wl$(comma)--wrap=%)
modules: $(LUA_STATIC_A)

# What links it may not be built with our sanitizers, nor as our compiler likes.
$(LUA_STATIC_A): tracer/lua/weft_linked.c
	$(call say,AR,$@)
	@mkdir -p $(@D) $(B)/obj/tracer/lua
	$(Q)$(CC) -std=c11 -D_GNU_SOURCE -I. $(OPT) $(WARN) $(CFLAGS) -fPIC \
		-fvisibility=hidden -MMD -MP -MF $@.d -MT $@ -c \
		-o $(B)/obj/tracer/lua/weft_linked.o $<
	$(Q)$(AR) rcsD $@ $(B)/obj/tracer/lua/weft_linked.o

-include $(LUA_STATIC_A:=.d)
