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
		case 'share': return `${(100 * value).toFixed(1)}%`;
		case 'real': return format.real(value);
		default: return String(value);
		}
	},
	/* A C++ name without its namespaces, parameters and what its templates
	 * are made of: "a::b<c>::d(e)" is "b::d". Other names stay. */
	short(name) {
		let plain = name, before;

		if (name.length > 1000 || !name.includes('::'))
			return name;
		do {
			before = plain;
			plain = plain.replace(/<[^<>]*>|\([^()]*\)/g, '');
		} while (plain !== before);
		return plain.trim().split(' ').pop().split('::').slice(-2)
			.join('::') || name;
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
