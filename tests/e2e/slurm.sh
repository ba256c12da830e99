#!/bin/bash
# The jobs that the page on many machines shows run on Slurm: a profile for each
# of 200 traces, then their sum. One of three nodes is killed with its tasks,
# which run again elsewhere. The sum is that of a machine without Slurm, to the
# byte, and has all calls.
# time: 900
# deep
# alone
# SPDX-License-Identifier: MIT
. tests/lib.sh
PATH=$PATH:/usr/sbin
for tool in slurmctld slurmd sbatch munged perl; do
	command -v $tool >/dev/null || { echo "there is no $tool"; exit 77; }
done
unset "${!SLURM@}" "${!SBATCH@}"
export SLURM_CONF=$T/slurm.conf

# of NAME=VALUE: the processes of this test that have it in their environment.
of() {
	local p
	for p in /proc/[0-9]*; do
		grep -zqx -e "$1" "$p/environ" 2>/dev/null &&
			grep -zqxF -e "SLURM_CONF=$SLURM_CONF" "$p/environ" \
				2>/dev/null && echo "${p#/proc/}"
	done
}

# The daemon goes before the steps, and these before their tasks: none tells of
# another's end.
kill_node() {
	local p tasks
	kill -KILL "$1"
	tasks=$(of SLURMD_NODENAME="$2")
	for p in $tasks; do
		p=$(awk '{ print $4 }' "/proc/$p/stat" 2>/dev/null)
		case $(cat "/proc/${p:-none}/comm" 2>/dev/null) in
		slurmstepd) kill -KILL "$p" ;;
		esac
	done
	# shellcheck disable=SC2086
	kill -KILL $tasks 2>/dev/null
}

# ---- a cluster of one machine, with its own ports and folders ----
host=$(hostname -s)
set -- $(perl -MIO::Socket::INET -e '
	my @s = map { IO::Socket::INET->new(Listen => 1) or die } 1 .. 4;
	print join(" ", map { $_->sockport } @s);')
mkdir "$T/state" "$T/n1" "$T/n2" "$T/n3" || fail "no folder"
chmod 755 "$T"
head -c 1024 /dev/urandom >"$T/key" && chmod 600 "$T/key"
munged --force --key-file="$T/key" --socket="$T/munge" --pid-file="$T/munge.pid" \
	--log-file="$T/munge.log" --seed-file="$T/munge.seed" >"$T/err" 2>&1 ||
	{ echo "munged does not start: $(tail -n 1 "$T/err")"; exit 77; }
daemons= node=
trap 'kill -KILL $daemons $node; kill "$(cat "$T/munge.pid")"' EXIT
: >"$T/cgroup.conf"
cat >"$SLURM_CONF" <<EOF
ClusterName=weft
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$1
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
AuthType=auth/munge
AuthInfo=socket=$T/munge,cred_expire=20
StateSaveLocation=$T/state
SlurmdSpoolDir=$T/%n
SlurmctldPidFile=$T/slurmctld.pid
SlurmdPidFile=$T/%n/pid
SlurmctldLogFile=$T/slurmctld.log
SlurmdLogFile=$T/%n/log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdTimeout=5
InactiveLimit=0
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,sched_interval=1
NodeName=n1 NodeHostname=$host NodeAddr=127.0.0.1 Port=$2 CPUs=2
NodeName=n2 NodeHostname=$host NodeAddr=127.0.0.1 Port=$3 CPUs=2
NodeName=n3 NodeHostname=$host NodeAddr=127.0.0.1 Port=$4 CPUs=2
PartitionName=all Nodes=n[1-3] Default=YES MaxTime=INFINITE State=UP
EOF
slurmctld -D -f "$SLURM_CONF" >"$T/slurmctld.out" 2>&1 &
daemons=$!
for n in n1 n2 n3; do
	slurmd -D -N $n -f "$SLURM_CONF" \
		>"$T/$n.out" 2>&1 &
	[ $n = n2 ] && node=$! || daemons="$daemons $!"
done
idle() {
	[ "$(sinfo -h -t idle -o %D 2>/dev/null)" = 3 ]
}
await idle || fail "no cluster: $(tail -n 3 "$T"/slurmctld.out "$T"/n?.out)"

# ---- 200 traces, and what they are without Slurm ----
mkdir "$T/work" "$T/bin" && cd "$T/work" && mkdir traces profiles here ||
	fail "no folder"
for i in $(seq 200); do
	"$P/p_write_trace" "traces/$(printf %03d "$i")" chunks=1 records="$((90 + i))" \
		>>"$T/calls" || fail "no trace"
done
for trace in traces/*; do
	"$WEFT" export -o "here/${trace##*/}.pb" "$trace" >"$T/out" 2>&1 ||
		fail "$(cat "$T/out")"
done
"$WEFT" merge -o here.pb here/*.pb >"$T/out" 2>&1 || fail "$(cat "$T/out")"

# ---- the same as jobs ----
# On the node that will be killed, the first task goes on until then.
cat >"$T/bin/weft" <<EOF
#!/bin/sh
if [ "\${SLURMD_NODENAME-}" = n2 ] && mkdir "$T/held" 2>/dev/null; then
	exec sleep 1000
fi
exec "$WEFT" "\$@"
EOF
chmod +x "$T/bin/weft"
export PATH=$T/bin:$PATH
sed -n '/^    \$ cat map.sh$/,/^    \$ sbatch/p' "$OLDPWD/docs/fleets.md" |
	sed '1d; $d; s/^    //' >map.sh
grep -q 'SBATCH --array=0-199' map.sh || fail "no job on the page"
reduce=$(sed -n 's/^    \$ sbatch --wait map.sh && //p' "$OLDPWD/docs/fleets.md")
[ "$reduce" ] || fail "no second job on the page"
sbatch --wait map.sh >"$T/out" 2>"$T/err" &
map=$!
begun() {
	[ -e "$T/held" ] && [ "$(find profiles -name '*.pb' | wc -l)" -ge 20 ]
}
await begun || fail "the tasks do not run: $(squeue | head -n 5)"
kill_node $node n2
node=
wait $map || fail "the first job fails: $(cat "$T/err"; scontrol -a show job |
	grep -o 'JobState=F.*')"
again=$(scontrol -a show job | grep -c 'Restarts=[1-9]')
echo "note: $again tasks ran again"
[ "$again" -ge 1 ] || fail "no task was put back"
sh -c "$reduce" >"$T/out" 2>"$T/err" || fail "the second job fails"
cmp sum.pb here.pb || fail "the sum is another than without Slurm"
"$WEFT" report --csv sum.pb >"$T/report.csv" 2>"$T/report.err" || fail "no report"
awk -F, 'NR == FNR { split($0, w, " "); told[w[1]] += w[2]; next }
	$1 ~ /^made-up\+0x/ { n[substr($1, 11, 1) - 1] = $6 }
	END { for (f in told) bad += told[f] != n[f] + 0; exit bad > 0 }' \
	"$T/calls" "$T/report.csv" || fail "the traces have other calls"
exit 0
