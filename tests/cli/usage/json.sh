#!/bin/bash
# --json has the rows of --csv, as one array of objects.
# SPDX-License-Identifier: MIT
. tests/cli/same.inc
make_trace t coroutines=2 chunks=6 threads=2
cd "$T" || exit 1
command -v python3 >/dev/null || {
	echo "no python3"
	exit 77
}
while read -r command; do
	# shellcheck disable=SC2086
	"$W" $command --csv t >csv 2>err || fail "$command: $(cat err)"
	# shellcheck disable=SC2086
	"$W" $command --json t >json 2>err || fail "$command: $(cat err)"
	python3 - <<-'PY' || fail "$command: $(head -3 json)"
	import csv, json
	rows = list(csv.reader(open("csv")))
	objects = json.load(open("json"))
	assert len(objects) == len(rows) - 1 > 0, len(objects)
	for row, of in zip(rows[1:], objects):
	    assert list(of) == rows[0], of
	    have = ["" if v is None else str(v) for v in of.values()]
	    for h, want in zip(have, row):
	        assert h == want or float(h) == float(want), (h, want)
	PY
done <<'EOF'
report
report --tables thread
report --by thread
tree
tree --bottom-up
callers --all
coroutines
coroutines --by body
path --call body --sums
stacks --at 1us
trim --min-share 0 --below 1000000000
merge
EOF
"$W" diff --json --all t t >json 2>err || fail "$(cat err)"
[ "$(cat json)" = "[]" ] || fail "diff: $(cat json)"
"$W" report --json --sort x t >json 2>err && fail "any key is taken"
[ ! -s json ] || fail "wrong usage prints $(cat json)"
