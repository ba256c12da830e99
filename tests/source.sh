#!/bin/sh
# source.sh FOLDER PACKAGE... - Debian's sources of these packages, as they were
# before Debian's changes: FOLDER/PACKAGE_VERSION.orig.tar.*. Leaves the
# machine's own list of sources alone. Exit status 1 if there are none to be
# had; then the last line of the output says why.
# SPDX-License-Identifier: MIT
set -eu
to=$1
shift
mkdir -p "$to/.apt/lists/partial" "$to/.apt/cache/archives/partial"
. /etc/os-release
echo "deb-src http://deb.debian.org/debian ${VERSION_CODENAME:-bookworm} main" \
	>"$to/.apt/sources"
apt() {
	apt-get -o Dir::Etc::SourceList="$to/.apt/sources" \
		-o Dir::Etc::SourceParts=/dev/null \
		-o Dir::State::Lists="$to/.apt/lists" \
		-o Dir::Cache="$to/.apt/cache" -o APT::Sandbox::User=root -qq \
		"$@"
}
if apt update && (cd "$to" && apt source --download-only "$@"); then
	exit 0
fi
echo "apt-get source $* does not work here"
exit 1
