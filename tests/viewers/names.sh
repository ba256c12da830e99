#!/bin/bash
# The page shows of a long C++ name what the function is called and what its
# template is made of; any other name stays as it is.
# SPDX-License-Identifier: MIT
. tests/viewers/viewers.inc
need node nodejs
{
	cat analyzer/out/page/browser/format.js
	cat <<'JS'
const string = 'std::__cxx11::basic_string<char, std::char_traits<char>, ' +
	'std::allocator<char> >';
for (const [name, short] of [
	['main', 'main'],
	['a::b::c(int) const', 'b::c'],
	['int& a::b<c>() const', 'b<c>'],
	['a::b<c>::d(e)', '\u2026<c>::d'],
	['company::(anonymous namespace)::foo(int)', 'foo'],
	[`bool company::less<${string}>(${string} const&)`, 'less<string>'],
	[`std::map<${string}, std::vector<int>, std::less<${string} >, ` +
	 `std::allocator<std::pair<${string} const, std::vector<int> > > >::` +
	 'insert(int)', '\u2026<string, vector<int>>::insert'],
	['main chunk <x::y.lua:3>', 'main chunk <x::y.lua:3>'],
	['unbalanced::x<y', 'unbalanced::x<y'],
	['std::function<void (int)>::operator()(int) const',
	 'std::function<void (int)>::operator()(int) const'],
	['</script>::<img src=x>', '</script>::<img src=x>'],
	['::', '::'],
])
	if (format.short(name) !== short)
		console.log(`${name}: ${format.short(name)}, not ${short}`);
for (const c of '<(>):, ')
	format.short(`a::${c.repeat(4000)}`);
JS
} >"$T/names.js"
timeout 60 node "$T/names.js" >"$T/o" 2>"$T/e" || fail "$(cat "$T/e")"
[ ! -s "$T/o" ] || fail "$(cat "$T/o")"
