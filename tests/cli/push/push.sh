#!/bin/bash
# weft push against a server that keeps what it is sent: paths, parameters,
# forms and labels are those that Pyroscope and Parca document, the profile has
# the calls that the program made; and what a server may do instead of taking
# it.
# SPDX-License-Identifier: MIT
. tests/lib.sh
unset http_proxy HTTP_PROXY all_proxy ALL_PROXY WEFT_LABELS
here=tests/cli/push
command -v curl >/dev/null || { echo "curl is not installed"; exit 77; }
mkdir "$T/got"
perl $here/server.pl "$T/got" &
server=$!
trap 'kill $server' EXIT
await [ -s "$T/got/port" ] || fail "the server does not start"
url=http://127.0.0.1:$(cat "$T/got/port")
requests=0 path=$PATH

# refused STATUS WORDS REQUESTS ARGUMENT...: what weft says, and how often it
# asks.
refused() {
	local want=$1 words=$2 asked=$3
	shift 3
	PATH=$path "$WEFT" push "$@" >"$T/out" 2>"$T/err"
	[ $? = "$want" ] || fail "$*: another status"
	grep -qF -- "$words" "$T/err" || fail "$*: it is not said: $words"
	requests=$((requests + asked))
	[ "$(find "$T/got" -name '*.head' | wc -l)" = $requests ] ||
		fail "$*: not asked $asked times"
}

record --label service=shop --label 'zone=eu west,2' --label 1st=x \
	--label 1_x=y --label z.one=a --label z_one=b -- \
	"$P/p_pieces" 20000 || fail "status"
report

# same_sums FILE: a profile, gzipped, has the calls and the self time that weft
# report has, and the labels of the recording.
same_sums() {
	gzip -dc "$1" >"$T/pprof" || fail "it is not gzipped"
	perl $here/sums.pl "$T/pprof" >"$T/sums" || fail "it is no profile"
	grep -qx "calls $(awk -F, 'NR > 1 { n += $6 } END { print n }' \
		"$T/report.csv")" "$T/sums" || fail "other calls: $(cat "$T/sums")"
	grep -qx 'label zone eu west,2' "$T/sums" || fail "no labels"
	# Each is rounded to a ns where it stands.
	awk -F, 'NR == FNR { n += $7; next } { sub(/ /, ","); $0 = $0 }
		$1 == "self" { good = n > 0 && $2 - n < 100 && n - $2 < 100 }
		END { exit !good }' "$T/report.csv" "$T/sums" ||
		fail "other times: $(cat "$T/sums")"
}

# Pyroscope: a form, and the rest in the address.
# weft may be started without a standard stream.
WEFT_PUSH_TOKEN=s3cret "$WEFT" push "$url/200/" "$T/trace" >"$T/out" 2>"$T/err" \
	<&- || fail "weft push fails"
requests=1
for name in __x,\ which\ servers z_one,\ which\ another; do
	grep -q "# note: a label is not sent: its name would be $name" "$T/err" ||
		fail "it is not said of $name"
done
grep -q 'plain text' "$T/err" && fail "nothing goes over a network"
grep -q "^sent .* to $url/200/$" "$T/out" || fail "it does not say so"
tr -d '\r' <"$T/got/1.head" >"$T/head"
line=$(head -n 1 "$T/head")
case $line in
"POST /200/ingest?name=shop%7B_st%3Dx%2Cz_one%3Da%2Czone%3Deu%20west_2%7D&from="*"&until="*"&format=pprof&spyName=weft HTTP/1.1") ;;
*) fail "other parameters: $line" ;;
esac
from=${line#*from=} until=${line#*until=}
from=${from%%&*} until=${until%%&*}
now=$(date +%s)
[ "$from" -lt "$until" ] && [ "$from" -le "$now" ] && [ "$from" -gt $((now - 900)) ] ||
	fail "from $from until $until, now $now"
grep -qx 'Authorization: Bearer s3cret' "$T/head" || fail "no token"
boundary=$(sed -n 's/^Content-Type: multipart\/form-data; boundary=//p' "$T/head")
[ "$boundary" ] || fail "it is no form"
perl -e '
	my ($file, $boundary, $to) = @ARGV;
	open(my $in, "<:raw", $file) or die; local $/; my $body = <$in>;
	$body =~ s/\r\n--\Q$boundary\E--\r\n\z// or die "no end";
	for my $part (split /(?:^|\r\n)--\Q$boundary\E\r\n/, $body) {
		next if $part eq "";
		my ($head, $data) = split /\r\n\r\n/, $part, 2;
		my ($name) = $head =~ /form-data; name="([a-z_]+)"; filename="/;
		open(my $out, ">:raw", "$to/part.$name") or die; print $out $data;
	}' "$T/got/1.body" "$boundary" "$T" || fail "a damaged form"
same_sums "$T/part.profile"
[ "$(jq -r 'to_entries[] | "\(.key) \(.value.units) \(.value.aggregation) \(.value["display-name"]) \(.value.sampled)"' \
	"$T/part.sample_type_config" | xargs)" = "calls samples sum calls false self samples sum self_nanoseconds false suspended samples sum suspended_nanoseconds false" ] ||
	fail "other types: $(cat "$T/part.sample_type_config")"

# Parca: JSON. A profile serves as well as a trace.
"$WEFT" export -o "$T/run.pb" "$T/trace" || fail "weft export fails"
printf 'X-Tenant: a\nAuthorization: Basic eA==\n' >"$T/headers"
"$WEFT" push --server parca --headers "$T/headers" \
	"$url/200/profiles/writeraw" "$T/run.pb" >"$T/out" 2>"$T/err" ||
	fail "weft push fails"
requests=2
tr -d '\r' <"$T/got/2.head" >"$T/head"
grep -qx 'POST /200/profiles/writeraw HTTP/1.1' "$T/head" || fail "another path"
for line in 'Content-Type: application/json' 'X-Tenant: a' \
	'Authorization: Basic eA=='; do
	grep -qx "$line" "$T/head" || fail "not sent: $line"
done
[ "$(jq -r '.series[0].labels.labels[] | "\(.name)=\(.value)"' "$T/got/2.body" |
	xargs)" = "__name__=weft service=shop _st=x z_one=a zone=eu west_2" ] ||
	fail "other labels"
[ "$(jq '.normalized' "$T/got/2.body")" = true ] || fail "not normalized"
jq -r '.series[0].samples[0].rawProfile' "$T/got/2.body" | base64 -d \
	>"$T/raw" || fail "no base64"
same_sums "$T/raw"

# What a server may do instead.
refused 2 'the server answers with status 401: no \x1b[31mtoken' 1 "$url/401" "$T/run.pb"
grep -q 'second line' "$T/err" && fail "more than a line"
refused 2 'the server answers with status 500: broken' 1 "$url/500" "$T/run.pb"
refused 2 'the server answers with status 302' 1 "$url/302" "$T/run.pb"
refused 2 'nobody knows whether the server has taken it' 1 "$url/closed" "$T/run.pb"
refused 2 'nobody knows whether the server has taken it' 1 "$url/cut" "$T/run.pb"
refused 2 'the server answers with status 503: later' 1 "$url/503" "$T/run.pb"
refused 2 'nobody knows whether the server has taken it' 1 --timeout 1 \
	"$url/silent" "$T/run.pb"
refused 0 '' 3 "$url/busy" "$T/run.pb"
refused 2 'Could not resolve host' 0 http://no-such-host.invalid "$T/run.pb"
path=$T refused 2 'curl is not installed' 0 "$url/200" "$T/run.pb"

# What is not asked for at all.
for wrong in ftp://host 'http://me:pass@host' 'http://host/?a=b' http:// \
	'http://host/"' host; do
	refused 1 "URL \"$wrong\": it " 0 "$wrong" "$T/run.pb"
done
refused 1 'no URL is given' 0
WEFT_PUSH_TOKEN=x refused 2 'WEFT_PUSH_TOKEN is sent as plain text' 0 \
	http://no-such-host.invalid "$T/run.pb"
WEFT_PUSH_TOKEN=$'a\nX: b' refused 1 'WEFT_PUSH_TOKEN has a space' 0 "$url/200" "$T/run.pb"
refused 1 'cannot read' 0 --headers "$T/none" "$url/200" "$T/run.pb"
exit 0
