#!/bin/bash
# The lines of docs/fleets.md that post a profile, against a server that keeps
# what it is sent: path, form and JSON are those that Pyroscope and Parca
# document, and the profile has the calls that the program made. A server that
# does not take it is told by the exit status.
# SPDX-License-Identifier: MIT
. tests/lib.sh
unset http_proxy HTTP_PROXY all_proxy ALL_PROXY WEFT_LABELS
here=$PWD/tests/cli/fleets
command -v curl >/dev/null || { echo "curl is not installed"; exit 77; }
# Indented lines of the section; each line "weft export" or "printf" begins one.
awk '/^## / { on = /Send profiles/ } on && sub(/^    /, "")' docs/fleets.md \
	>"$T/lines" || fail "no page"
sed -n '/^printf/,$!p' "$T/lines" >"$T/pyroscope.sh"
sed -n '/^printf/,$p' "$T/lines" >"$T/parca.sh"
mkdir "$T/got"
perl "$here/server.pl" "$T/got" &
server=$!
trap 'kill $server' EXIT
await [ -s "$T/got/port" ] || fail "the server does not start"

# post NAME ANSWER: do as the page says, at our server.
post() {
	sed "s,http://[a-z]*:[0-9]*/,http://127.0.0.1:$(cat "$T/got/port")/$2/," \
		"$T/$1.sh" >"$T/post.sh"
	(cd "$T" && PATH=${WEFT%/*}:$PATH bash -eo pipefail post.sh) \
		>"$T/out" 2>"$T/err"
}

record -o "$T/web.weft" --label service=shop --label 'zone=eu west,2' -- \
	"$P/p_pieces" 20000 || fail "status"
"$WEFT" report --csv "$T/web.weft" -n 0 >"$T/report.csv" || fail "no report"

# same_sums FILE: a profile, gzipped, has the calls and the self time that weft
# report has, and the labels of the recording.
same_sums() {
	gzip -dc "$1" >"$T/pprof" || fail "it is not gzipped"
	perl "$here/sums.pl" "$T/pprof" >"$T/sums" || fail "it is no profile"
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
post pyroscope 200 || fail "it is not taken: $(cat "$T/err")"
tr -d '\r' <"$T/got/1.head" >"$T/head"
line=$(head -n 1 "$T/head")
case $line in
"POST /200/ingest?name=web%7Bzone%3Deu%7D&format=pprof&from="*"&until="*" HTTP/1.1") ;;
*) fail "other parameters: $line" ;;
esac
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
[ "$(jq -r 'to_entries[] | "\(.key) \(.value.units) \(.value.aggregation)"' \
	"$T/part.sample_type_config" | xargs)" = \
	"calls samples sum self samples sum suspended samples sum" ] ||
	fail "other types: $(cat "$T/part.sample_type_config")"

# Parca: JSON.
post parca 200 || fail "it is not taken: $(cat "$T/err")"
tr -d '\r' <"$T/got/2.head" >"$T/head"
grep -qx 'POST /200/profiles/writeraw HTTP/1.1' "$T/head" || fail "another path"
grep -qx 'Content-Type: application/json' "$T/head" || fail "another type"
[ "$(jq -r '.series[0].labels.labels[] | "\(.name)=\(.value)"' "$T/got/2.body" |
	xargs)" = "__name__=weft service=web" ] || fail "other labels"
[ "$(jq '.normalized' "$T/got/2.body")" = true ] || fail "not normalized"
jq -r '.series[0].samples[0].rawProfile' "$T/got/2.body" | base64 -d \
	>"$T/raw" || fail "no base64"
same_sums "$T/raw"

# What a server may do instead: it is asked once.
n=2
for to in pyroscope parca; do
	for answer in 401 500 503 closed cut; do
		post $to $answer && fail "$to, $answer: nobody is told"
		[ "$(find "$T/got" -name '*.head' | wc -l)" = $((++n)) ] ||
			fail "$to, $answer: not asked once"
	done
done
exit 0
