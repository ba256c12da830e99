/* range.js - the time that was chosen in the time line: the stacks and the
 * functions of only that, as the time line's spans tell them. So times are as
 * recorded, and what was folded there is its longest function's.
 * SPDX-License-Identifier: MIT */

const range = {
	from: 0, to: 0,
	isOn: false,
	whole: null,           /* the nodes of all the time, meanwhile */
	figures: null,         /* by function */
	lanes: null,           /* by the end of their names */
	onChange() {},

	choose(from, to) {
		this.from = Math.max(0, from);
		this.to = Math.min(timeline.data.length, to);
		this.isOn = this.to > this.from;
		if (!this.isOn)
			return;
		this.whole = this.whole || { ...nodes };
		this.use(this.makeNodes());
		this.figures = this.makeFigures();
		this.onChange();
	},
	clear() {
		if (!this.isOn)
			return;
		this.isOn = false;
		this.figures = null;
		this.use(this.whole);
		this.onChange();
	},
	/* Does any of a call lie in it? */
	has(from, to) {
		return !this.isOn || (from < this.to && to >= this.from);
	},
	/* Did a coroutine of that number run in it? One without a lane may
	 * have. */
	hasCoroutine(id) {
		if (!this.lanes) {
			this.lanes = new Map();
			for (const l of timeline.all.filter(x => x.isCoroutine))
				this.lanes.set(l.tail, [l,
					...(this.lanes.get(l.tail) || [])]);
		}
		const lanes = this.lanes.get(` #${id}`) || [];
		const runs = lane => {
			const row = lane.rows[0] || [];
			const k = row[timeline.firstAfter(row, this.from)];

			return k !== undefined && timeline.spans.from[k] < this.to;
		};

		return lanes.length === 0 || lanes.some(runs);
	},
	/* How long it was active in it; NaN: that is not known. */
	activeOf(id) {
		this.hasCoroutine(id);
		const lanes = this.lanes.get(` #${id}`) || [];

		return lanes.length === 1 ? this.activeIn(lanes[0]) : NaN;
	},
	activeIn(lane) {
		const row = lane.rows[0] || [], s = timeline.spans;
		let sum = 0;

		for (let k = timeline.firstAfter(row, this.from);
		     k < row.length && s.from[row[k]] < this.to; k++)
			if (s.kind[row[k]] === RUN)
				sum += this.length(s.from[row[k]],
						   s.to[row[k]]);
		return sum;
	},
	/* By function, of the coroutines that have lanes: how many ran in it,
	 * and for how long. */
	bodies() {
		const all = new Map();

		for (const lane of timeline.all.filter(l => l.isCoroutine)) {
			const active = this.activeIn(lane);
			const b = all.get(lane.body) || { count: 0, active: 0 };

			b.count += active > 0;
			b.active += active;
			all.set(lane.body, b);
		}
		return all;
	},
	/* What of its waits lies in it; null: single ones are not known. */
	waitsFor(lock) {
		const w = lock[9], sum = { waits: 0, waiting: 0, longest: 0 };

		if (w.length === 0)
			return null;
		for (let k = 0; k < w.length; k += 2) {
			const part = this.length(w[k], w[k] + w[k + 1]);

			sum.waits += w[k] >= this.from && w[k] < this.to;
			sum.waiting += part;
			sum.longest = Math.max(sum.longest, part);
		}
		return sum;
	},
	use(made) {
		Object.assign(nodes, made);
		for (const key of Object.keys(sums))
			delete sums[key];
		Stacks.ids = null;
	},

	/* ---- stacks ---- */

	makeNodes() {
		const n = { parent: [0], func: [0], flags: [0], thread: [-1],
			    own: {} };

		for (const name of Object.keys(this.whole.own))
			n.own[name] = [0];
		n.of = new Map();
		for (const lane of timeline.all)
			if (!lane.isCoroutine && !lane.isHandler)
				this.addLane(n, lane);
		return this.finish(n);
	},
	/* The node of a function below another one, or a thread's root. */
	node(n, parent, func, flags) {
		const key = `${parent} ${func} ${flags}`;
		let id = n.of.get(key);

		if (id === undefined) {
			id = n.parent.length;
			n.of.set(key, id);
			n.parent.push(parent);
			n.func.push(parent === 0 ? 0 : func);
			n.flags.push(flags);
			n.thread.push(parent === 0 ? func : -1);
			for (const name in n.own)
				n.own[name].push(0);
		}
		return id;
	},
	/* Its spans in the range, each before those that it contains. */
	spansOf(lane) {
		const s = timeline.spans, found = [];

		lane.rows.forEach((row, depth) => {
			for (let at = timeline.firstAfter(row, this.from);
			     at < row.length && s.from[row[at]] < this.to; at++)
				found.push({ k: row[at], depth });
		});
		return found.sort((x, y) => s.from[x.k] - s.from[y.k] ||
				  x.depth - y.depth);
	},
	length(from, to) {
		return Math.max(0, Math.min(to, this.to) -
				Math.max(from, this.from));
	},
	addLane(n, lane) {
		const s = timeline.spans, root = this.node(n, 0, lane.thread, 0);
		const open = [{ to: Infinity, depth: -1, node: root, flags: 0 }];
		const found = this.spansOf(lane), waits = this.waitsOf(lane);

		found.forEach(({ k, depth }, i) => {
			this.addWaits(n, open, waits, s.from[k]);
			this.close(open, s.from[k], depth);
			const next = found[i + 1];
			const isBare = s.kind[k] === GUEST && !(next &&
				next.depth > depth && s.from[next.k] < s.to[k]);

			if (s.kind[k] === LOST || s.kind[k] === OFF)
				return;
			open.push(this.open(n, open[open.length - 1], k, depth,
					    isBare));
		});
		this.addWaits(n, open, waits, Infinity);
	},
	close(open, at, depth) {
		while (open.length > 1 && (open[open.length - 1].to <= at ||
			open[open.length - 1].depth >= depth))
			open.pop();
	},
	/* What a coroutine did that has no lane is its body's. */
	open(n, above, k, depth, isBare) {
		const s = timeline.spans, own = n.own;
		const isCall = s.kind[k] === CALL || s.kind[k] === SAMPLED ||
			isBare;
		const node = isCall ? this.node(n, above.node, s.func[k],
			isBare ? BODY : above.flags) : above.node;
		const time = this.length(s.from[k], s.to[k]);

		if (node !== above.node || depth === 0)
			own.self[node] += time;
		if (node !== above.node && above.depth >= 0)
			own.self[above.node] -= time;
		if (isCall && s.from[k] >= this.from)
			own.calls[node] += s.calls[k];
		return { to: s.to[k], depth, node,
			 flags: s.kind[k] === GUEST ? BODY : 0 };
	},

	/* ---- time off the CPU ---- */

	waitsOf(lane) {
		const { first } = timeline.waits;

		return { at: timeline.firstWait(lane, this.from),
			 end: first[lane.i + 1], done: this.from };
	},
	/* What of them lies before a moment is that of what is open then. */
	addWaits(n, open, waits, before) {
		const { from, to } = timeline.waits;

		if (!meta.switches || !n.own.off)
			return;
		for (; waits.at < waits.end; waits.at++) {
			const begin = Math.max(from[waits.at], waits.done);
			const end = Math.min(to[waits.at], this.to);

			this.addWait(n, open, waits.at, begin,
				     Math.min(end, before));
			if (end > before || from[waits.at] >= this.to)
				break;
		}
		waits.done = Math.max(waits.done, before);
	},
	addWait(n, open, i, from, to) {
		for (let at = from; at < to; ) {
			this.close(open, at, Infinity);
			const top = open[open.length - 1];
			const until = Math.min(top.to, to);

			n.own.off[top.node] += until - at;
			if (timeline.waits.ready[i] && n.own.ready)
				n.own.ready[top.node] += until - at;
			at = until;
		}
	},
	finish(n) {
		const count = n.parent.length, own = n.own;
		const made = { count, own, parent: Int32Array.from(n.parent),
			func: Int32Array.from(n.func),
			flags: Uint8Array.from(n.flags),
			thread: Int32Array.from(n.thread),
			child: new Int32Array(count),
			sibling: new Int32Array(count) };

		for (let id = count - 1; id > 0; id--) {
			made.sibling[id] = made.child[made.parent[id]];
			made.child[made.parent[id]] = id;
		}
		for (let id = 0; id < count; id++) {
			const self = own.self[id] = Math.max(0, own.self[id]);
			const off = own.off ? Math.min(self, own.off[id]) : 0;

			if (own.raw)
				own.raw[id] = self;
			if (own.off)
				own.off[id] = off;
			if (own.blocked)
				own.blocked[id] = Math.max(0, off -
							   own.ready[id]);
			if (own.cpu)
				own.cpu[id] = self - off;
		}
		for (const name in own)
			own[name] = Float64Array.from(own[name]);
		return made;
	},

	/* ---- functions ---- */

	makeFigures() {
		const all = new Map();
		const total = sum('self', false);
		const isIn = id => {
			for (let up = nodes.parent[id]; up; up = nodes.parent[up])
				if (nodes.func[up] === nodes.func[id])
					return true;
			return false;
		};

		for (let id = 1; id < nodes.count; id++) {
			const func = nodes.func[id], own = nodes.own;

			if (!func)
				continue;
			const f = all.get(func) || { cpu: 0, self: 0, total: 0,
				calls: 0, blocked: 0, 'run-wait': 0 };

			all.set(func, f);
			f.self += own.self[id];
			f.calls += own.calls[id];
			f.cpu += own.cpu ? own.cpu[id] : 0;
			f.blocked += own.blocked ? own.blocked[id] : 0;
			f['run-wait'] += own.ready ? own.ready[id] : 0;
			f.total += isIn(id) ? 0 : total[id];
		}
		return all;
	},
	/* The columns of the table of functions; func: of a row. */
	columns(func) {
		const at = (name, unit) => ({ title: name.replace('-', ' '),
			unit, width: '84px', value: row =>
			(this.figures.get(func(row)) || {})[name] || 0 });
		const times = meta.switches ?
			['cpu', 'run-wait', 'blocked', 'self', 'total'] :
			['self', 'total'];

		return [...times.map(name => at(name, 'time')),
			at('calls', 'count')];
	},
};
