#!/bin/bash
# docs/lua.md: each line of it, typed as it stands there, works, and records what
# the page says; the scripts are those that are printed there.
# time: 720
# SPDX-License-Identifier: MIT
. tests/lib.sh
make --no-print-directory -s B="$B" PREFIX="$T/weft" install-record ||
	fail "it does not install"
cp docs/lua.md "$T/page"
cp tests/prog/lua/linked.c "$T/host.c"
PATH=$(dirname "$WEFT"):$PATH
export PATH PKG_CONFIG_PATH=$T/weft/lib/pkgconfig
cd "$T" || exit 1

# The scripts, which begin by loading weft, in the order of the page.
awk '/^    local weft = require/ { n++; on = 1 }
	/^[^ ]/ { on = 0 }
	on { print substr($0, 5) > ("script" n) }' page
mv script1 shop.lua || fail "no script on the page"
mv script2 watch.lua || fail "no second script on the page"
echo 'vim.api.nvim_buf_set_lines(0, 0, -1, false, { "x" })' >edit.lua
cat >shop_spec.lua <<'LUA'
describe("shop", function()
	it("sells", function() assert.is_nil(dofile("shop.lua")) end)
end)
LUA
cat >attached.c <<'C'
#include <lauxlib.h>
#include <lualib.h>
#include <lua.h>
#include <weft.h>
int main(void)
{
	lua_State *L = luaL_newstate();

	weft_lua_attach(L);
	luaL_openlibs(L);
	int bad = luaL_dostring(L, "local function f() end f() f()");
	weft_lua_detach(L);
	bad |= luaL_dostring(L, "local function f() end f() f()");
	lua_close(L);
	return bad;
}
C
sed -n 's/^    \$ //p' page | sed "s|/usr/local|$T/weft|g" >commands
[ "$(wc -l <commands)" -ge 12 ] || fail "commands: $(cat commands)"
n=0
while read -r command; do
	n=$((n + 1))
	echo "\$ $command"
	bash -c "$command" >out$n 2>err$n </dev/null || {
		cat out$n err$n
		fail "failed: $command"
	}
	grep -E '^weft: record:.*(Lua|own)' err$n && fail "it complains"
done <commands

# made TRACE [OPTION...] NAME: calls of that function.
made() {
	local trace=$1
	shift
	weft report --csv --top 0 "${@:1:$#-1}" "$trace.weft" 2>/dev/null |
		awk -F, -v name="^\"?${!#} <" '$2 == "lua" && $1 ~ name { n += $6 }
			END { print n + 0 }'
}
is() {
	[ "$2" = "$3" ] || fail "$1: $2, not $3"
}
for t in shop jit spec path; do
	is $t "$(made $t price) $(made $t order)" "1210 21"
done
is orders "$(made shop --recording orders price)" 210
is 'order 20' "$(made shop --since-mark 'order 20' price)" 20
is watch "$(made watch price)" 3
is attached "$(made attached f)" 2
is host "$(weft report --csv host.weft 2>/dev/null |
	awk -F, '$5 == 1 && $2 == "lua" { n += $6 } END { print n }')" 803
is nvim "$(weft report --csv nvim.weft 2>/dev/null |
	grep -c '^"main chunk <edit.lua>\|^main chunk <edit.lua>')" 1
weft info shop.weft | grep -q 'version.*1\.2' || fail "no label"
