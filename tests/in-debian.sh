#!/bin/sh
# in-debian.sh SUITE [--arch ARCH] [COMMAND...] - runs `make demo` and `make test`
# in another Debian: bookworm, trixie or sid. With a COMMAND, it runs that
# instead, and what was built there before is kept. With --arch arm64, it is the
# Debian of another architecture, and qemu-user-static runs its programs.
#
# The Debian is a chroot, DEBIANS/SUITE or DEBIANS/SUITE-ARCH (DEBIANS is
# build/debian). debootstrap makes it the first time, from the mirror in MIRROR.
# The last commit is copied to /weft in it. Needs root, debootstrap and git.
# SPDX-License-Identifier: MIT
set -eu
: "${DEBIANS:=build/debian}" "${MIRROR:=http://deb.debian.org/debian}"

# What is mounted is seen in a mount namespace alone, and processes that are
# left over are in a PID namespace: both are gone when this ends, however it
# ends. So nothing has to be unmounted, and the folder can be removed.
if [ "${1-}" = --inside ]; then
	root=$2
	shift 2
	# Tests make mount namespaces, too: that needs a root that is mounted.
	mount --bind "$root" "$root"
	mount -t proc proc "$root/proc"
	mount --rbind /sys "$root/sys"
	mount -t tmpfs -o mode=755 tmpfs "$root/run"
	mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
	mount -t devpts -o newinstance,ptmxmode=666 devpts "$root/dev/pts"
	mkdir -m 1777 "$root/run/lock"
	exec chroot "$root" "$@"
fi

cd "$(dirname "$0")/.."
suite=${1:?"in-debian: which Debian? bookworm, trixie or sid"}
shift
arch=$(dpkg --print-architecture)
name=$suite
if [ "${1-}" = --arch ]; then
	arch=${2:?"in-debian: --arch needs an architecture"}
	name=$suite-$arch
	shift 2
fi
[ "$(id -u)" = 0 ] || {
	echo "in-debian: only root can make a chroot" >&2
	exit 1
}
mkdir -p "$DEBIANS"
root=$(cd "$DEBIANS" && pwd)/$name
# A run that was cut off leaves no half of one under its name.
if [ ! -e "$root" ]; then
	rm -rf "$root.new"
	debootstrap --arch="$arch" --variant=minbase --include=make "$suite" \
		"$root.new" "$MIRROR" >"$root.log" 2>&1 || {
		tail "$root.log" >&2
		exit 1
	}
	mv "$root.new" "$root"
fi
cp /etc/resolv.conf "$root/etc/"
[ -e "$root/weft/.git" ] || git init -q "$root/weft"
git -C "$root/weft" fetch -q "$PWD" HEAD
git -C "$root/weft" reset -q --hard FETCH_HEAD
git -C "$root/weft" clean -qfd

inside() {
	# shellcheck disable=SC2016
	unshare --mount --propagation private --pid --fork --kill-child \
		sh "$PWD/tests/in-debian.sh" --inside "$root" \
		env -i HOME=/root TERM=dumb LC_ALL=C ${JOBS:+JOBS="$JOBS"} \
		${emulated:+EMULATED="$emulated"} \
		PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
		sh -c 'cd /weft && exec "$@"' in-debian "$@"
}

# What that emulation lacks is in a library that every program there loads;
# tests that need more are left out by name (tests/emulated.txt).
emulated=
[ "$arch" = "$(dpkg --print-architecture)" ] || emulated=$arch
if [ -n "$emulated" ] && [ ! -e "$root/etc/ld.so.preload" ]; then
	inside sh -c 'tests/deps.sh build && gcc -O2 -shared -fPIC -D_GNU_SOURCE \
		-o /usr/lib/emulated.so tests/emulated.c &&
		echo /usr/lib/emulated.so >/etc/ld.so.preload'
fi
if [ $# -gt 0 ]; then
	inside "$@"
	exit
fi
git -C "$root/weft" clean -qfdx
status=0
for what in demo test; do
	inside make $what || status=1
done
exit $status
