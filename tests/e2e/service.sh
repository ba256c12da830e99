#!/bin/bash
# The unit weft@NAME: systemd takes it, and finds little that it may do.
# SPDX-License-Identifier: MIT
. tests/lib.sh
command -v systemd-analyze >/dev/null || {
	echo "there is no systemd-analyze"
	exit 77
}
mkdir -p "$T/bin"
printf '#!/bin/sh\n' >"$T/bin/weft"
chmod +x "$T/bin/weft"
sed "s|@PREFIX@|$T|" tracer/recorder/weft@.service >"$T/weft@.service"
systemd-analyze verify --man=no "$T/weft@redis.service" 2>"$T/err" ||
	fail "systemd-analyze verify"
grep 'weft@' "$T/err" && fail "systemd does not take it as it is"
# 0 is none, 100 everything; what it reaches by CAP_SYS_PTRACE counts most.
systemd-analyze security --no-pager --offline=yes --threshold=25 \
	"$T/weft@redis.service" >"$T/out" 2>&1 || {
	status=$?
	grep -q 'unrecognized option' "$T/out" && {
		echo "systemd-analyze cannot judge a file"
		exit 77
	}
	tail -n 1 "$T/out"
	exit $status
}
# It records what weft record is told there: its options are taken.
options=$(sed -n 's/^ExecStart=.* -p ${PROGRAM} \(.*\) \$OPTIONS$/\1/p' \
	"$T/weft@.service")
[ -n "$options" ] || fail "no options"
# shellcheck disable=SC2086
"$WEFT" record -o "$T/trace" $options -- true 2>"$T/err" ||
	grep -q 'not recorded\|no hooks\|no calls' "$T/err" ||
	fail "weft record does not take $options"
exit 0
