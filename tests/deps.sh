#!/bin/sh
# deps.sh GROUP... - sees to it that the Debian packages of these groups are
# installed: build, test, deep, viewers, bench, yardstick, deb. This is the one list
# of them.
# Installs what is missing where it may (root, or sudo without a password);
# where it may not, it prints the one line to type and fails.
# "deps.sh -l GROUP..." only lists.
# SPDX-License-Identifier: MIT
set -eu

# Those of these packages that this Debian has.
known() {
	for p in "$@"; do
		! apt-cache show "$p" >/dev/null 2>&1 || echo "$p"
	done
}
list() {
	case $1 in
	build) echo gcc libc6-dev make pkg-config binutils \
		liblttng-ust-dev liblttng-ctl-dev lttng-tools \
		babeltrace2 libbabeltrace2-dev libdw-dev libelf-dev \
		zlib1g-dev libsqlite3-dev \
		libiberty-dev libxxhash-dev liblz4-dev libzstd-dev libpopt-dev \
		gnuplot-nox \
		liblua5.1-0-dev liblua5.2-dev liblua5.3-dev liblua5.4-dev \
		libluajit-5.1-dev \
		$(known liblua5.5-dev) ;;
	test) echo g++ clang libclang-rt-dev libomp-dev lua5.1 lua5.2 lua5.3 lua5.4 luajit \
		$(known lua5.5) procps time util-linux man-db musl-tools strace \
		libcap2-bin parallel debuginfod jq sqlite3 curl perl \
		universal-ctags haproxy redis-tools neovim lua-busted \
		heaptrack zstd valgrind libjemalloc2 libtcmalloc-minimal4 ;;
	deep) echo munge slurm-client slurmctld slurmd ;;
	viewers) echo golang-go valgrind chromium protobuf-compiler \
		$(command -v npm >/dev/null || echo nodejs npm) ;;
	bench) echo uftrace tcl valgrind ;;
	yardstick) echo linux-perf tcl ;;
	deb) echo dpkg-dev debhelper chrpath ;;
	*) echo "deps: no group \"$1\", but build, test, deep, viewers," \
		"bench, yardstick, deb" >&2
	   exit 1 ;;
	esac
}

only_list=0
if [ "${1-}" = -l ]; then
	only_list=1
	shift
fi
want=
for group in "$@"; do
	want="$want $(list "$group")"
done
if [ $only_list = 1 ]; then
	echo $want
	exit 0
fi
if ! command -v dpkg-query >/dev/null; then
	echo "deps: not a Debian: please see that these are there:$want" >&2
	exit 0
fi

# One process tells of all: one for each takes minutes under emulation.
here=$(dpkg-query -W -f ' ${db:Status-Status}:${Package} ' $want 2>/dev/null ||
	:)
missing=
for package in $want; do
	case $here in
	*" installed:$package "*) ;;
	*) missing="$missing $package" ;;
	esac
done
[ -n "$missing" ] || exit 0

sudo=
if [ "$(id -u)" != 0 ]; then
	sudo=sudo
	if ! sudo -n true 2>/dev/null; then
		echo "deps: missing packages; type:" >&2
		echo "  sudo apt-get install -y$missing" >&2
		case $missing in
		*haproxy*)
			echo "  sudo systemctl disable --now haproxy" >&2 ;;
		esac
		exit 1
	fi
fi
echo "deps: installing$missing" >&2

install() {
	# The noise goes to stderr: stdout is for the demo and the tests.
	$sudo env DEBIAN_FRONTEND=noninteractive apt-get \
		-o Acquire::Retries=3 -o DPkg::Lock::Timeout=120 \
		-qq -y --no-install-recommends install "$@" >&2
}
install_updated() {
	install "$@" && return
	$sudo apt-get -o Acquire::Retries=3 -qq update >&2
	install "$@"
	updated=1
}

# Its service is neither to be started nor turned on for good: nobody asked for
# it. policy-rc.d is Debian's way to say so.
policy=/usr/sbin/policy-rc.d
install_quietly() {
	if [ ! -e $policy ]; then
		trap '$sudo rm -f $policy' EXIT
		trap 'exit 130' HUP INT TERM
		printf '#!/bin/sh\nexit 101\n' | $sudo tee $policy >/dev/null
		$sudo chmod 755 $policy
	fi
	install_updated "$1"
	if [ -d /run/systemd/system ]; then
		$sudo systemctl -q disable --now "$1" >&2 || :
	else
		$sudo update-rc.d "$1" disable >&2 || :
	fi
}
updated=
must=
may=
serving=
for package in $missing; do
	case $package in
	# What only adds a row to the bench's table, and viewers, whose tests are
	# skipped without them.
	uftrace | golang-go | chromium | nodejs | npm | protobuf-compiler)
		may="$may $package" ;;
	haproxy | munge | slurm*) serving="$serving $package" ;;
	*) must="$must $package" ;;
	esac
done
[ -z "$must" ] || install_updated $must
for package in $serving; do
	install_quietly "$package"
done
for package in $may; do
	install "$package" ||
		echo "deps: $package cannot be installed here: left out" >&2
done
# Packages may be known now that were not: an image may come without any list.
[ -z "$updated" ] || "$0" "$@"
