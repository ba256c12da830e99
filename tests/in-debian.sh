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
	# Scripts name these by their paths.
	for name in ${NATIVE-}; do
		mount --bind "$root/native/usr/bin/$name" "$root/usr/bin/$name"
	done
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
# bootstrap ARCH FOLDER PACKAGES: a run that was cut off leaves no half of a
# Debian under its name.
bootstrap() {
	[ ! -e "$2" ] || return 0
	rm -rf "$2.new"
	debootstrap --arch="$1" --variant=minbase --include="$3" "$suite" \
		"$2.new" "$MIRROR" >"$2.log" 2>&1 || {
		tail "$2.log" >&2
		exit 1
	}
	mv "$2.new" "$2"
}
bootstrap "$arch" "$root" make
cp /etc/resolv.conf "$root/etc/"
[ -e "$root/weft/.git" ] || git init -q "$root/weft"
git -C "$root/weft" fetch -q "$PWD" HEAD
git -C "$root/weft" reset -q --hard FETCH_HEAD
git -C "$root/weft" clean -qfd

path=/native/first:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
inside() {
	# shellcheck disable=SC2016
	NATIVE=$natives unshare --mount --propagation private --pid --fork \
		--kill-child sh "$PWD/tests/in-debian.sh" --inside "$root" \
		env -i HOME=/root TERM=dumb LC_ALL=C ${JOBS:+JOBS="$JOBS"} \
		${emulated:+EMULATED="$emulated"} \
		PATH="$path" \
		sh -c 'cd /weft && exec "$@"' in-debian "$@"
}

emulated=''
natives=''
[ "$arch" = "$(dpkg --print-architecture)" ] || emulated=$arch

# An emulated compiler makes three objects a minute. So a Debian of the same
# suite and of this machine's architecture is in /native there, and its compilers
# and tools come first in PATH: they make programs of the other architecture, by
# that one's libraries, and the kernel runs them without qemu. What tests record
# is emulated: weft, programs, sh, and what is not named here.
native() {
	here=$(uname -m)-linux-gnu there=$(inside uname -m)-linux-gnu
	n=$root/native
	bootstrap "$(dpkg --print-architecture)" "$n" \
		"gcc-$there,g++-$there,clang,make,jq"
	ln -sfn native/lib64 "$root/lib64"
	ln -sfn "../../native/usr/lib/$here" "$root/usr/lib/$here"
	# The other Debian's libraries, in which linkers name each other by path.
	for d in "$n/usr/$there/lib" "$n"/usr/lib/llvm-*/lib/clang; do
		rm -rf "$d"
	done
	ln -s "/usr/lib/$there" "$n/usr/$there/lib"
	for d in "$n"/usr/lib/llvm-*; do
		ln -s "${d#"$n"}/lib/clang" "$d/lib/"
		for name in clang clang++; do
			printf '%s\n' "--target=$there" "-L${d#"$n"}/lib" \
				>"$d/bin/$name.cfg"
		done
	done
	mkdir -p "$n/first"
	for name in ar as gcc g++ ld nm objcopy objdump ranlib readelf strip \
		strings addr2line c++filt; do
		ln -sf "../usr/bin/$there-$name" "$n/first/$name"
	done
	# clang's linker, and two names for one compiler.
	ln -sf ld "$n/first/$there-ld"
	ln -sf gcc "$n/first/cc"
	ln -sf g++ "$n/first/c++"
	for name in clang clang++ make bash sed grep find xargs diff cmp jq \
		tar dpkg-deb sort head tail cut tr uniq wc seq mktemp rm mkdir \
		cp mv ln basename dirname chmod touch ls date tee stat du comm \
		join paste od expr; do
		ln -sf "../usr/bin/$name" "$n/first/"
	done
	ln -sf ../usr/bin/mawk "$n/first/awk"
	# apt, too: that one's packages, and dpkg itself is that one's.
	ln -sf ../usr/bin/apt-get ../usr/bin/apt-cache "$n/first/"
	cat >"$root/etc/apt/apt.conf.d/native" <<-end
		APT::Architecture "$arch";
		APT::Architectures { "$arch"; };
		Dir::Bin::methods "/native/usr/lib/apt/methods";
		DPkg::Path "$path";
	end
}

# What that emulation lacks is in a library that every program there loads;
# tests that need more are left out by name (tests/emulated.txt). It is found by
# its architecture: what is native loads an empty one. sh is native only while
# packages are installed, as tests record it.
if [ -n "$emulated" ] && { [ ! -e "$root/native/first" ] ||
	[ ! -e "$root/etc/ld.so.preload" ]; }; then
	native
	natives="bash dash perl"
	inside tests/deps.sh build test
	ln -sf libdl.so.2 "$n/usr/lib/$here/emulated.so"
	# shellcheck disable=SC2016
	inside sh -c 'gcc -O2 -shared -fPIC -D_GNU_SOURCE \
		-o "$0/emulated.so" tests/emulated.c &&
		echo "/usr/\$LIB/emulated.so" >/etc/ld.so.preload' \
		"/usr/lib/$there"
fi
[ -z "$emulated" ] || natives=bash
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
