#!/bin/bash
# debs.sh [SUITE...] - builds the Debian packages, and shows them to lintian. In
# a clean chroot of each Debian (bookworm, trixie), it installs, uses, upgrades
# and removes them. In another Debian than this one, what was built here is
# installed, as far as that takes it.
#
# debootstrap makes the chroots in DEBIANS (build/debian) as SUITE.clean, and
# nothing is ever written there: what is done lies in memory and is gone after
# it. Needs root, debootstrap, debhelper, lintian and chrpath.
# SPDX-License-Identifier: MIT
set -eu
: "${DEBIANS:=build/debian}" "${MIRROR:=http://deb.debian.org/debian}" "${B:=build}"

fail() {
	echo "debs: $*" >&2
	exit 1
}

# ---- in the chroot ----

# use VERSION: a program is recorded and shown, by its own count; with the
# module, and its labels.
use() {
	rm -rf /trace
	cat >/program.lua <<-'END'
		local weft = require "weft"
		local function step() end
		weft.mark("begin")
		for _ = 1, 1234 do step() end
	END
	weft record -o /trace --lua-init -- lua5.4 /program.lua ||
		fail "$1: weft record fails"
	weft report --csv /trace >/report.csv 2>/report.err ||
		fail "$1: weft report fails"
	grep -q '^step <.*,1234,' /report.csv || fail "$1: $(cat /report.csv)"
	grep -qx '# nothing was lost' /report.err || fail "$1: $(cat /report.err)"
	[ "$(dpkg-query -W -f '${Version}' weft-record)" = "$1" ] ||
		fail "another version than $1"
}

if [ "${1-}" = --inside ]; then
	root=$2
	mount -t tmpfs tmpfs /mnt
	mkdir /mnt/upper /mnt/work /mnt/root
	mount -t overlay -o "lowerdir=$root,upperdir=/mnt/upper,workdir=/mnt/work" \
		overlay /mnt/root
	cd /mnt/root
	cp -r "$3" debs
	cp "$0" debs.sh
	cp /etc/resolv.conf etc/
	mount -t proc proc proc
	mount --rbind /sys sys
	mount --rbind /dev dev
	mount -t tmpfs -o mode=1777 tmpfs dev/shm
	exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C HOME=/root \
		DEBIAN_FRONTEND=noninteractive chroot . bash /debs.sh --chroot
fi
if [ "${1-}" = --chroot ]; then
	cd /
	dpkg-query -W -f '${Package}\n' | sort >before
	find /etc /usr /var/lib/dpkg/info /lib ! -type d | sort >files-before
	apt-get -qq update
	apt-get -qq -y --no-install-recommends install ./debs/*.deb lua5.4 \
		lttng-tools >install.log 2>&1 || fail "$(tail install.log)"
	use "$(cat debs/version)"
	apt-get -qq -y install ./debs/next/*.deb >upgrade.log 2>&1 ||
		fail "$(tail upgrade.log)"
	use "$(cat debs/version)+next"
	# One half goes, and the other still works.
	apt-get -qq -y purge weft-analyze >purge.log 2>&1 ||
		fail "$(tail purge.log)"
	weft report /trace 2>said && fail "there is an analyzer still"
	grep -qi 'not installed' said || fail "$(cat said)"
	apt-get -qq -y purge lua-weft weft-record weft-common >purge.log 2>&1 ||
		fail "$(tail purge.log)"
	left=$(find / -xdev \( -name '*weft*' ! -path '/debs*' \
		! -path '/proc/*' ! -path '/var/log/*' ! -path '/trace/*' \
		! -path '/var/cache/*' ! -path '/tmp/*' \) -print)
	[ -z "$left" ] || fail "purge leaves: $left"
	exit 0
fi

# ---- outside ----

cd "$(dirname "$0")/.."
[ "$(id -u)" = 0 ] || fail "only root can make a chroot"
[ $# -gt 0 ] || set -- bookworm trixie
for tool in debootstrap dh lintian chrpath; do
	command -v $tool >/dev/null || fail "$tool is missing: apt-get install \
debootstrap debhelper lintian chrpath"
done
[ -n "${KEEP_DEBS:-}" ] || make -s deb B="$B" >"$B/deb.log" 2>&1 ||
	fail "make deb: $(tail "$B/deb.log")"
# The project has no address for mail; who publishes packages gives DEBEMAIL.
lintian --allow-root --fail-on error,warning \
	--suppress-tags bogus-mail-host,bogus-mail-host-in-debian-changelog \
	"$B"/deb/*.changes || fail "lintian complains"

debs=$B/deb/packages
rm -rf "$debs"
mkdir -p "$debs/next"
for deb in "$B"/deb/*.deb; do
	case $deb in
	*-dbgsym_*) continue ;;
	esac
	cp "$deb" "$debs/"
	# The next version is the same but for its number.
	rm -rf "$B/deb/again"
	dpkg-deb -R "$deb" "$B/deb/again"
	version=$(dpkg-deb -f "$deb" Version)
	sed -i -e "s/^Version: .*/&+next/" -e "s/(= $version)/(= $version+next)/" \
		"$B/deb/again/DEBIAN/control"
	dpkg-deb -b "$B/deb/again" "$debs/next/" >/dev/null
done
echo "$version" >"$debs/version"

mkdir -p "$DEBIANS"
for suite; do
	root=$(cd "$DEBIANS" && pwd)/$suite.clean
	if [ ! -e "$root" ]; then
		rm -rf "$root.new"
		debootstrap --variant=minbase "$suite" "$root.new" "$MIRROR" \
			>"$root.log" 2>&1 || fail "$(tail "$root.log")"
		mv "$root.new" "$root"
	fi
	unshare --mount --propagation private --pid --fork --kill-child \
		bash "$PWD/tests/debs.sh" --inside "$root" "$(realpath "$debs")" ||
		fail "$suite: see above"
	echo "debs: $suite: installed, used, upgraded, removed"
done
