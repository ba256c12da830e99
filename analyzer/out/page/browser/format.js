/* format.js - numbers as weft's reports have them.
 * SPDX-License-Identifier: MIT */

const format = {
	ns(ticks) { return ticks * 1e9 / meta.tick_hz; },
	count(n) {
		return String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, ',');
	},
	many(n, noun) { return `${format.count(n)} ${noun}${n === 1 ? '' : 's'}`; },
	/* Four digits and a unit. */
	time(ticks) {
		let value = Math.abs(format.ns(ticks)), unit = 0;

		if (!(value > 0))
			return '0';
		for (; unit < 3 && value >= 999.95; unit++)
			value /= 1000;
		return (ticks < 0 ? '-' : '') +
			value.toFixed(unit === 0 || value >= 99.995 ? 1 :
				      value >= 9.9995 ? 2 : 3) +
			' ' + ['ns', 'us', 'ms', 's'][unit];
	},
	bytes(n) {
		let unit = 0;

		for (; unit < 4 && n >= 999.95; unit++)
			n /= 1000;
		return n.toFixed(unit === 0 ? 0 : 1) + ' ' +
			['bytes', 'kB', 'MB', 'GB', 'TB'][unit];
	},
	/* A mean of counts: as whole numbers are written, if it is large. */
	real(value) {
		return Math.abs(value) < 1000 ? String(+value.toPrecision(4)) :
			format.count(value);
	},
	/* A moment: data count from where the time line begins, people from the
	 * begin of the recording. */
	moment(ticks) { return format.time(ticks + data.timeline.offset); },
	share(part, whole) {
		return whole > 0 ? `${(100 * part / whole).toFixed(1)}%` : '-';
	},
	/* A value of a table's column. */
	value(value, unit) {
		if (value === null || value === undefined)
			return '-';
		switch (unit) {
		case 'time': return value === 0 ? '-' : format.time(value);
		case 'count': return format.count(value);
		case 'bytes': return value === 0 ? '-' : format.bytes(value);
		case 'share': return `${(100 * value).toFixed(1)}%`;
		case 'real': return format.real(value);
		default: return String(value);
		}
	},
	/* A C++ name taken apart: "ret a::b<c>::d(e)" is d of the template b<c>.
	 * null: it is no such name. Containers' usual parameters stay away. */
	parts(name) {
		if (!format.known.has(name))
			format.known.set(name, format.takeApart(name));
		return format.known.get(name);
	},
	known: new Map(),
	takeApart(name) {
		const kept = [];
		let plain = name, before;

		if (name.length > 5000 || !name.includes('::') ||
		    name.includes('operator'))
			return null;
		/* Brackets become numbers, from the innermost on. */
		do {
			before = plain;
			plain = plain.replace(/<[^<>()]*>|\([^<>()]*\)/g, text =>
				`\u0001${kept.push(text) - 1}\u0002`);
		} while (plain !== before);
		if (/[<>()]/.test(plain))
			return null;
		const open = text => text.replace(/\u0001(\d+)\u0002/g,
			(_, i) => open(kept[i]));
		const args = text => {
			const found = text.match(/\u0001(\d+)\u0002/);

			return found && kept[found[1]][0] === '<' ?
				format.plainArgs(open(kept[found[1]])) : '';
		};
		const scopes = plain.replace(/\u0001(\d+)\u0002[^:\u0001]*$/,
			(all, i) => kept[i][0] === '(' ? '' : all)
			.split(' ').pop().split('::');
		const last = scopes.pop();
		const scope = scopes.pop() || '';
		const own = args(last), outer = args(scope);
		const base = open(last.replace(/\u0001.*$/, ''));

		return { base: own || outer || !scope || scope[0] === '\u0001' ?
				base : `${open(scope)}::${base}`,
			 args: own || outer, isOwn: own !== '' };
	},
	plainArgs(text) {
		const usual = /, (allocator|char_traits|less|hash|equal_to|default_delete)<[^<>]*> ?(?=[,>])/g;
		let before;

		text = text.replace(/(\w|\(anonymous namespace\))+::/g, '');
		/* What has no brackets in it gets others. */
		do {
			before = text;
			text = text.replace(usual, '')
				.replace(/basic_string<char>/g, 'string');
			if (text === before)
				text = text.replace(/<([^<>]*)> ?(?=[,>])/g,
						    '\u0003$1\u0004');
		} while (text !== before);
		return text.replace(/\u0003/g, '<').replace(/\u0004/g, '>');
	},
	/* As much of it as says what it is. Other names stay. */
	short(name) {
		const p = format.parts(name);

		return !p || !p.base ? name : p.isOwn ? p.base + p.args :
			p.args ? `\u2026${p.args}::${p.base}` : p.base;
	},
	/* No box and no cell needs more of a name than this. */
	brief(text, most = 300) {
		return text.length > most ? text.slice(0, most) + '...' : text;
	},
};

/* An element with a class and a text, which is never read as HTML. */
function element(tag, className, text) {
	const e = document.createElement(tag);

	if (className)
		e.className = className;
	if (text !== undefined)
		e.textContent = text;
	return e;
}
