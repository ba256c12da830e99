/* data.js - what was recorded, as the program that wrote this page put it
 * here. All times are ticks. Functions, threads and nodes have numbers: node 0
 * stands above the roots of all threads.
 * SPDX-License-Identifier: MIT */

const data = JSON.parse(document.getElementById('data').textContent);
const meta = data.meta;

/* By number; 0 is no function. */
const functions = {
	count: data.functions.count,
	/* Where its texts are, + 1. The page has no texts of some, to be of a
	 * bounded size. */
	textAt: (() => {
		const of = new Int32Array(data.functions.count + 1);
		let id = 0;

		(data.functions.steps || []).forEach((step, i) => {
			id += step;
			of[id] = i + 1;
		});
		return data.functions.steps ? of : of.map((_, i) => i);
	})(),
	text(of, id) {
		return data.functions[of][functions.textAt[id] - 1] || '';
	},
	name(id) {
		return id ? functions.text('name', id) || '(other function)' :
		       '[no function]';
	},
	language(id) { return functions.text('language', id); },
	module(id) { return functions.text('module', id); },
	file(id) { return functions.text('file', id); },
	place(id) {
		const file = functions.file(id);
		const line = functions.text('line', id);

		return file && line ? `${file}:${line}` : file;
	},
	/* file:line with the file's last part only. */
	shortPlace(id) { return functions.place(id).replace(/^.*\//, ''); },
};

/* The flags of a node. */
const BODY = 1, OMITTED = 2;

/* The nodes as arrays by their number, with 0 for node 0. A parent's number is
 * lower than its children's. */
const nodes = (() => {
	const from = data.nodes;
	const count = from.parent.length + 1;
	const column = (values, Type) => {
		const to = new Type(count);

		if (values)
			to.set(values, 1);
		return to;
	};
	const n = { count };

	n.parent = column(from.parent, Int32Array);
	n.func = column(from.func, Int32Array);
	n.flags = column(from.flags, Uint8Array);
	n.thread = new Int32Array(count).fill(-1);
	n.child = new Int32Array(count);
	n.sibling = new Int32Array(count);
	n.own = {};
	for (const name of ['calls', 'self', 'suspended', 'off', 'ready',
			    'unknown', 'raw', 'before', 'calls_before', 'stacks',
			    'allocated', 'in_use'])
		if (from[name])
			n.own[name] = column(from[name], Float64Array);
	for (let id = count - 1; id > 0; id--) {
		const parent = n.parent[id];

		n.sibling[id] = n.child[parent];
		n.child[parent] = id;
		if (parent === 0) {
			n.thread[id] = n.func[id];
			n.func[id] = 0;
		}
	}
	return n;
})();
data.nodes = null;

/* Two sides that are compared. Times before are scaled to as many sessions as
 * there are after. */
if (data.diff) {
	const [before, after] = data.diff.sessions;

	for (const name of ['before', 'calls_before'])
		nodes.own[name] = nodes.own[name].map(n => n * after / before);
}

/* Threads of one name, of both sides, are one. */
const threadOf = (() => {
	const first = new Map();

	return data.threads.map((name, i) => {
		if (!first.has(name))
			first.set(name, i);
		return first.get(name);
	});
})();

/* The sum of a figure over each node and all below it. cut: bodies of
 * coroutines do not count for what resumed them. */
const sums = {};
function sum(name, cut) {
	const key = name + (cut ? '|' : '');

	if (sums[key])
		return sums[key];
	const to = sums[key] = Float64Array.from(nodes.own[name]);

	for (let id = nodes.count - 1; id > 0; id--)
		if (!cut || !(nodes.flags[id] & BODY))
			to[nodes.parent[id]] += to[id];
	return to;
}
