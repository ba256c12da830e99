/* details.js - the chosen function: its figures, who calls it and what it
 * calls.
 * SPDX-License-Identifier: MIT */

const details = {
	func: 0,
	rowOf: new Map(data.table.func.map((func, row) => [func, row])),
	into: null,            /* by function: its arcs; made when needed */
	outOf: null,
	onChoose() {},

	start() {
		const arcs = data.arcs;
		const columns = (other, total, help) => [
			{ title: 'function', unit: 'text',
			  width: 'minmax(160px, 1fr)',
			  value: i => other(i) ? functions.name(other(i)) :
				'[thread]' },
			{ title: 'how', unit: 'text', width: '76px',
			  help: 'a call, or the resume of a coroutine',
			  value: i => arcs.resumes[i] ? 'resume' : 'call' },
			{ title: 'calls', unit: 'count', width: '88px',
			  value: i => arcs.calls[i] },
			{ title: 'total', unit: 'time', width: '88px',
			  isFirst: meta.times, help, value: i => total[i] },
			{ title: 'self', unit: 'time', width: '88px',
			  help: 'self time of the callee when called so',
			  value: i => arcs.self[i] },
		].filter(c => meta.times || c.unit !== 'time');

		this.callers = new Table(document.getElementById('callers'),
			columns(i => arcs.from[i], arcs.total, 'total of the ' +
				'chosen function when called so'),
			() => {}, i => this.onChoose(arcs.from[i]));
		this.callees = new Table(document.getElementById('callees'),
			columns(i => arcs.to[i], arcs.total_of, 'time that ' +
				'the chosen function spends there'),
			() => {}, i => this.onChoose(arcs.to[i]));
		this.into = details.index(arcs.to);
		this.outOf = details.index(arcs.from);
		this.show(data.table.func[0] || 0);
	},
	index(column) {
		const to = new Map();

		column.forEach((func, i) => {
			if (!to.has(func))
				to.set(func, []);
			to.get(func).push(i);
		});
		return to;
	},
	show(func) {
		const place = document.getElementById('figures');
		const language = functions.language(func);

		this.func = func;
		document.getElementById('chosen').textContent = func ?
			format.brief(functions.name(func), 4000) :
			'no function is chosen';
		place.replaceChildren();
		for (const [title, text] of this.figures(func)) {
			const e = element('span');

			e.append(element('span', '', `${title} `),
				 document.createTextNode(text));
			place.append(e);
		}
		if (func)
			place.append(element('span', '', [language,
				functions.place(func) ||
				functions.module(func)].filter(x => x)
				.map(x => format.brief(x)).join(', ')));
		document.getElementById('spread').replaceChildren(
			this.spread(func));
		this.callers.show(this.into.get(func) || []);
		this.callees.show(func ? this.outOf.get(func) || [] : []);
	},
	/* How its calls spread over a logarithmic axis, from the shortest to
	 * the longest: half of them took up to p50, and so on. */
	spread(func) {
		const t = data.table, row = this.rowOf.get(func);
		const bar = element('div', `spread ${functions.language(func)}`);
		const at = name => {
			const i = t.columns.findIndex(c => c.name === name);

			return i < 0 || row === undefined ? null :
				t.values[i][row];
		};
		let from = at('min');

		for (const [name, share] of [['p50', 50], ['p95', 45],
					     ['p99', 4], ['max', 1]]) {
			const to = at(name);

			if (!(from > 0 && to > 0))
				return '';
			const part = element('span', '',
				`${share}% up to ${format.time(to)}`);

			part.title = `${share}% of the calls took ` +
				`${format.time(from)} to ${format.time(to)}`;
			part.style.flexGrow = Math.max(0, Math.log2(to / from));
			bar.append(part);
			from = to;
		}
		return bar;
	},
	/* All that the table of functions knows, as titles and texts. */
	figures(func) {
		const row = this.rowOf.get(func);
		const t = data.table;

		if (row === undefined)
			return [];
		return t.columns.map((c, i) => [
			c.title === '\u00b1' ?
			`\u00b1 ${c.name.replace('-error', '')}` :
			/share/.test(c.name) ? c.name : c.title,
			format.value(t.values[i][row], c.unit)])
			.filter(([, text]) => text !== '-');
	},
};
