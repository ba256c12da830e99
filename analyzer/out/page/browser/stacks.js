/* stacks.js - the nodes as boxes of a flame graph: all nodes of one path are
 * one box. The boxes below a box are made when they are asked for, so that a
 * large tree opens at once.
 * SPDX-License-Identifier: MIT */

/* What boxes may be as wide as: the sum of a figure over the nodes of a box and
 * below it. */
const MEASURES = [
	{ name: 'self', title: data.diff ? 'time after' : meta.net ?
		'time (net)' : 'time', isTime: true },
	{ name: 'raw', title: 'time as recorded', isTime: true },
	{ name: 'cpu', title: 'time on the CPU', isTime: true },
	{ name: 'blocked', title: 'time blocked', isTime: true },
	{ name: 'ready', title: 'run-wait: time without a core', isTime: true },
	{ name: 'suspended', title: 'time suspended', isTime: true },
	{ name: 'before', title: 'time before', isTime: true },
	{ name: 'allocated', title: 'memory: bytes allocated', isBytes: true },
	{ name: 'in_use', title: 'memory: bytes in use at the end',
	  isBytes: true },
	{ name: 'calls', title: 'calls', isTime: false },
	{ name: 'calls_before', title: 'calls before', isTime: false },
].filter(m => {
	if (m.name === 'blocked' && nodes.own.off)
		nodes.own.blocked = nodes.own.off.map((off, id) =>
			Math.max(0, off - nodes.own.ready[id]));
	if (m.name === 'cpu' && nodes.own.off && meta.switches)
		nodes.own.cpu = nodes.own.self.map((self, id) =>
			Math.max(0, self - nodes.own.off[id] -
				 nodes.own.unknown[id]));
	if (!meta.times && m.isTime || !meta.switches &&
	    (m.name === 'blocked' || m.name === 'ready'))
		return false;
	return nodes.own[m.name] && nodes.own[m.name].some(x => x > 0);
});

/* The first is what the page begins with: as in weft report, time on the CPU,
 * where that is known. */
if (!data.diff && meta.switches)
	MEASURES.sort((a, b) => (b.name === 'cpu') - (a.name === 'cpu'));

/* The root, a group, or all calls of a function on one path. */
class Box {
	constructor(parent, func, flags) {
		this.parent = parent;
		this.depth = parent ? parent.depth + 1 : 0;
		this.func = func;
		this.flags = flags;
		this.title = null;    /* in place of the function's name */
		this.at = [];         /* nodes: bottom-up, the caller reached */
		this.from = null;     /* bottom-up: where each path began */
		this.total = 0;       /* in the view's measure */
		this.below = null;    /* boxes, as Stacks.sort has them */
	}
	get name() {
		return this.title !== null ? this.title :
			functions.name(this.func);
	}
	/* The sum of another figure, as total is one. */
	sum(name, cut) {
		const values = this.from ? nodes.own[name] : sum(name, cut);

		return values ? Box.add(values, this.from || this.at) : 0;
	}
	/* The sum of a figure of these nodes themselves. */
	own(name) {
		return nodes.own[name] ?
			Box.add(nodes.own[name], this.from || this.at) : 0;
	}
	static add(values, ids) {
		let total = 0;

		for (const id of ids)
			total += values[id];
		return total;
	}
	contains(box) {
		while (box && box !== this)
			box = box.parent;
		return box === this;
	}
}

/* The boxes of one choice of direction, group and measure. */
class Stacks {
	constructor(direction, group, measure) {
		this.isUp = direction === 'up';
		this.group = group;
		this.cut = group === 'body';
		this.measure = measure;
		/* Is a part of the width known to be waiting? */
		this.hasWaiting = meta.switches && !data.diff &&
			nodes.own.off &&
			['self', 'raw'].includes(measure.name);
		this.values = this.isUp ? nodes.own[measure.name] :
			sum(measure.name, this.cut);
		this.root = new Box(null, 0, 0);
		this.root.title = group === 'thread' ? 'each thread' :
			group === 'body' ? 'each coroutine body' : 'all threads';
		this.fillRoot();
		this.root.total = Box.add(nodes.own[measure.name],
					  Stacks.all());
	}
	/* The numbers of all nodes. */
	static all() {
		return Stacks.ids = Stacks.ids ||
			Int32Array.from({ length: nodes.count - 1 },
					(_, i) => i + 1);
	}
	/* The groups, or what is below the only one. */
	fillRoot() {
		const root = this.root;

		if (this.group === 'all') {
			this.fillGroup(root, id => id > 0);
			return;
		}
		const keys = this.group === 'thread' ? this.threads() :
			this.bodies();
		const boxes = new Map();

		/* Group 0 is what is in none: the threads themselves. */
		for (let id = 1; id < nodes.count; id++) {
			let box = boxes.get(keys[id]);

			if (!box) {
				box = this.groupBox(keys[id]);
				boxes.set(keys[id], box);
			}
			box.members.push(id);
		}
		root.below = [...boxes.values()];
		for (const box of root.below) {
			box.total = Box.add(nodes.own[this.measure.name],
					    box.members);
			if (this.isUp) {
				box.at = box.from = box.members;
				box.isGroup = true;
			} else {
				box.at = box.members.filter(id =>
					nodes.parent[id] === 0 ||
					this.cut && nodes.flags[id] & BODY);
			}
			box.members = null;
		}
		this.sort(root);
	}
	groupBox(key) {
		const isBody = this.group === 'body' && key > 0;
		const box = new Box(this.root, isBody ? key : 0,
				    isBody ? BODY : 0);

		box.members = [];
		if (this.group === 'thread')
			box.title = data.threads[key];
		else if (!isBody)
			box.title = '[threads, outside of coroutines]';
		return box;
	}
	fillGroup(box) {
		if (this.isUp) {
			box.at = box.from = Stacks.all();
			box.isGroup = true;
			return;
		}
		box.at = Stacks.all().filter(id => nodes.parent[id] === 0);
	}
	/* By node: the thread. */
	threads() {
		const to = nodes.thread.map(t => threadOf[t]);

		for (let id = 1; id < nodes.count; id++)
			if (nodes.parent[id] !== 0)
				to[id] = to[nodes.parent[id]];
		return to;
	}
	/* By node: the function with which its coroutine begins; 0: none. */
	bodies() {
		const to = new Int32Array(nodes.count);

		for (let id = 1; id < nodes.count; id++)
			to[id] = nodes.flags[id] & BODY ? nodes.func[id] :
				to[nodes.parent[id]];
		return to;
	}
	below(box) {
		if (!box.below) {
			const boxes = new Map();

			if (this.isUp)
				this.addCallers(box, boxes);
			else
				this.addCallees(box, boxes);
			box.below = [...boxes.values()];
			this.sort(box);
		}
		return box.below;
	}
	/* Those that ran the longest come first, as in the tables; where that
	 * is not known, the widest. */
	sort(box) {
		box.below = box.below.filter(b => b.total > 0);
		for (const b of box.below)
			b.rank = this.hasWaiting ? b.sum('cpu', this.cut) :
				b.total;
		box.below.sort((x, y) => y.rank - x.rank ||
			       y.total - x.total || x.func - y.func);
	}
	static put(boxes, parent, id, flags) {
		const key = nodes.func[id] * 4 + flags;
		let box = boxes.get(key);

		if (!box) {
			box = new Box(parent, nodes.func[id], flags);
			boxes.set(key, box);
		}
		return box;
	}
	addCallees(box, boxes) {
		for (const at of box.at)
			for (let id = nodes.child[at]; id; id = nodes.sibling[id]) {
				if (this.cut && nodes.flags[id] & BODY)
					continue;
				const to = Stacks.put(boxes, box, id,
						      nodes.flags[id] & 3);

				to.at.push(id);
				to.total += this.values[id];
			}
	}
	/* A group has every node as a beginning; others go one caller up, as
	 * far as there is one. */
	addCallers(box, boxes) {
		for (let i = 0; i < box.at.length; i++) {
			const from = box.from[i];
			let id = box.at[i];

			if (!box.isGroup) {
				if (this.cut && nodes.flags[id] & BODY)
					continue;
				id = nodes.parent[id];
			}
			if (nodes.parent[id] === 0 || this.values[from] === 0)
				continue;
			const to = Stacks.put(boxes, box, id,
					      nodes.flags[id] & 3);

			to.from = to.from || [];
			to.at.push(id);
			to.from.push(from);
			to.total += this.values[from];
		}
	}
	/* How much of the measure lies in stacks with one of the functions
	 * (by number: 1). */
	share(isMatch) {
		const own = nodes.own[this.measure.name];
		const isIn = new Uint8Array(nodes.count);
		let total = 0;

		for (let id = 1; id < nodes.count; id++) {
			const goesOn = !(this.cut && nodes.flags[id] & BODY);

			isIn[id] = isMatch[nodes.func[id]] ||
				(goesOn && isIn[nodes.parent[id]]);
			if (isIn[id])
				total += own[id];
		}
		return total;
	}
}

/* By function: 1 where its name, or else its module or file, matches a text, or
 * /an expression/. null: the text is empty; undefined: the expression is
 * none. */
function matches(text) {
	const found = new Uint8Array(functions.count + 1);
	let isMatch;

	if (text === '')
		return null;
	if (text.length > 2 && text[0] === '/' && text.endsWith('/')) {
		try {
			const expression = new RegExp(text.slice(1, -1));

			isMatch = name => expression.test(name);
		} catch {
			return undefined;
		}
	} else {
		const part = text.toLowerCase();

		isMatch = name => name.toLowerCase().includes(part);
	}
	for (let id = 1; id <= functions.count; id++)
		found[id] = isMatch(functions.name(id).slice(0, 4000)) ? 1 : 0;
	return found;
}
