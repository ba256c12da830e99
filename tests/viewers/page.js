// page.js - runs beside a page of weft html, as a person would: by mouse and
// keys. Writes what it reads to an element of its own, a line "KEY: TEXT" each.
// SPDX-License-Identifier: MIT
{
const lines = [];
const get = id => document.getElementById(id);
const tell = (key, text) => lines.push(`${key}: ${text}`);
const texts = list => [...list].map(e => e.textContent);
const rowsIn = id => get(id).querySelectorAll('.row:not(.head)');
const press = (on, key) => on.dispatchEvent(new KeyboardEvent('keydown',
	{ key, bubbles: true, cancelable: true }));
const type = (id, text) => {
	get(id).value = text;
	get(id).dispatchEvent(new Event('input'));
};
const clickTab = name => [...get('tabs').children].find(e =>
	e.textContent === name).click();
const columnOf = title => texts(get('function-rows').querySelector('.head')
	.children).findIndex(t => t.startsWith(title));
const clickBox = (x, y) => get('boxes').dispatchEvent(new MouseEvent('click',
	{ clientX: get('boxes').getBoundingClientRect().left + x,
	  clientY: get('boxes').getBoundingClientRect().top + y,
	  bubbles: true }));
// Go through all rows of the table by scrolling.
const readRows = read => {
	const body = get('function-rows').querySelector('.body');
	const all = Number(get('shown').textContent.match(/^\d+/)[0]);

	for (let i = 0; i < all; i++) {
		body.scrollTop = i * 22;
		body.dispatchEvent(new Event('scroll'));
		read([...rowsIn('function-rows')].find(e =>
			e.style.top === `${(i + 1) * 22}px`));
	}
};

// Of two sides: how many changes, and the time in functions on both.
const readChanges = () => {
	clickTab('Changes');
	tell('changes', get('changes-shown').textContent.match(/^\d+/)[0]);
	clickTab('Flame graph');
	const times = ['time before', 'time after'].map(measure => {
		get('measure').value = measure;
		get('measure').dispatchEvent(new Event('change'));
		type('search', '/./');
		return get('found').textContent.split(', ')[1];
	});

	type('search', '');
	tell('sides', times.join(', '));
};

const readTable = () => {
	clickTab('Functions');
	const at = ['self', 'total', 'calls', 'function'].map(columnOf);
	const names = [];

	readRows(row => {
		const cells = [...row.children];

		tell('row', at.map(i => i < 0 ? '-' :
			cells[i].title || cells[i].textContent).join(' '));
		names.push([cells[at[3]].title,
			    at[1] < 0 ? '-' : cells[at[1]].textContent]);
	});
	get('function-rows').querySelector('.head').children[at[2]].click();
	readRows(row => tell('calls', row.children[at[2]].textContent
		.replaceAll(',', '')));
	return names;
};

// Without a mouse: help, tabs, the filter, each row, other columns; and nothing
// that can be used is out of the reach of the Tab key.
const useKeys = () => {
	const on = () => document.activeElement;
	const is = (what, so) => so || tell('bad', `keys: ${what}`);
	const all = tabs.all.length;

	press(document.body, '?');
	is('? shows the keys', get('help').open);
	press(get('help'), 'Escape');
	is('Escape closes them', !get('help').open);
	for (let i = 0; i < all; i++) {
		press(document.body, String(i + 1));
		is(`${i + 1} shows a tab`, tabs.all[i].classList
			.contains('shown') && tabs.all[i].contains(on()));
		is(`${i + 1} is seen to have the keys`,
		   getComputedStyle(on()).outlineStyle !== 'none');
	}
	for (const e of document.querySelectorAll(
		'button, select, input, canvas, .body'))
		is(`Tab reaches ${e.id || e.className}`, e.tabIndex >= 0);
	press(document.body, String(1 + tabs.all.indexOf(get('functions'))));
	const rows = tables.functions.rows.length, reached = new Set();

	for (let i = 0; i < rows; i++) {
		press(on(), 'ArrowDown');
		reached.add(details.func);
	}
	is('each row is reached', reached.size ===
	   new Set(data.table.func).size);
	press(on(), 'Home');
	is('Home is the first', tables.functions.chosen === 0);
	const sorted = tables.functions.sorted;

	press(on(), 'ArrowRight');
	is('right sorts', tables.functions.sorted === sorted + 1);
	press(on(), 'ArrowLeft');
	is('left sorts', tables.functions.sorted === sorted);
	press(on(), '/');
	is('/ is the filter', on() === get('filter'));
	press(on(), 'Escape');
	is('Escape leaves it', on() !== get('filter'));
	get('functions').querySelector('.body').focus();
	press(on(), 'Enter');
	is('Enter shows it in the flame graph', tabs.shown === 'flame');
	press(document.body, 'Escape');
	clickTab('Functions');
};

// A name that is a part of another one finds both: those are left out.
const searchAll = names => {
	const is = (what, so) => so || tell('bad', `flame: ${what}`);

	clickTab('Flame graph');
	is('it begins with time on the CPU', !meta.switches || data.diff ||
	   flame.stacks.measure.name === 'cpu');
	get('measure').selectedIndex =
		MEASURES.findIndex(m => m.name === 'self');
	get('measure').dispatchEvent(new Event('change'));
	for (const [name, total] of names) {
		const part = name.toLowerCase().slice(0, 200);

		if (names.filter(([n]) => n.toLowerCase().includes(part))
		    .length > 1)
			continue;
		type('search', part);
		const found = get('found').textContent.split(', ');

		tell('found', found[1] === '0' ? '-' : found[1]);
		tell('total', total);
	}
	type('search', '');
};

/* What ran the longest stands first, however wide others are. */
const checkOrder = () => {
	const todo = [flame.stacks.root];

	while (todo.length > 0) {
		const boxes = flame.stacks.below(todo.pop());
		const ran = boxes.map(b => b.sum('cpu', false));

		todo.push(...boxes);
		if (ran.some((time, i) => time > ran[i - 1]))
			tell('bad', `order: ${boxes.map(b => b.name)}: ${ran}`);
	}
};

const zoom = () => {
	const first = data.nodes === null ? get('boxes') : null;

	if (flame.stacks.hasWaiting)
		checkOrder();
	first.focus();
	press(first, 'ArrowDown');
	tell('widest', get('chosen').textContent);
	press(first, 'ArrowUp');
	clickBox(5, 19 + 5);
	tell('zoomed', get('path').textContent);
	press(document.body, 'Escape');
	tell('left', get('path').textContent);
	for (const direction of ['up', 'down'])
		for (const group of ['all', 'thread', 'body']) {
			get('direction').value = direction;
			get('group').value = group;
			get('group').dispatchEvent(new Event('change'));
			press(first, 'ArrowDown');
			press(first, 'ArrowDown');
			press(first, 'Enter');
			if (!get('path').textContent)
				tell('bad', `no zoom: ${direction} ${group}`);
			press(document.body, 'Escape');
			press(document.body, 'Escape');
		}
};

// A thread's lane has what its coroutines did while it ran them: as much of their
// own lanes as they ran there, in stacks without gaps.
const checkStacks = () => {
	const s = timeline.spans, all = timeline.all;
	const isCall = k => s.kind[k] === CALL;
	const length = list => list.reduce((sum, k) => sum + s.to[k] -
		s.from[k], 0);
	const own = all.filter(l => l.isCoroutine).flatMap(l => l.rows.flat()
		.filter(k => isCall(k) && k >= s.first[l.i] &&
			k < s.first[l.i + 1]));
	const there = all.filter(l => !l.isCoroutine).flatMap(l => l.rows.flat()
		.filter(k => isCall(k) && (k < s.first[l.i] ||
			k >= s.first[l.i + 1])));

	tell('stitched', own.length === 0 ? 'none' :
		Math.round(100 * length(there) / length(own)));
	for (const lane of all)
		lane.rows.forEach((row, depth) => row.forEach((k, i) => {
			const above = depth > 0 && lane.rows[depth - 1];

			if (i > 0 && s.from[k] < s.to[row[i - 1]])
				tell('bad', 'spans overlap');
			if (above && !above.some(a => s.from[a] <= s.from[k] &&
				s.to[a] >= s.to[k]) && row.length < 1000)
				tell('bad', `gap above row ${depth}`);
		}));
};

// The path of the slowest request has no gaps, and is as long as that; whoever held
// what was waited for is another one, and did so meanwhile.
const checkBlame = () => {
	const steps = data.timeline.path ? data.timeline.path.steps : [];
	const is = (what, so) => so || tell('bad', `blame: ${what}`);
	const calls = data.calls.requests.length > 0 ? data.calls.requests :
		data.calls.calls;

	steps.forEach(([from, length, kind], i) => {
		is('a gap', i === 0 || from === steps[i - 1][0] + steps[i - 1][1]);
		is('a kind', STEPS[kind]);
	});
	if (steps.length > 0)
		is('its length', steps.reduce((sum, s) => sum + s[1], 0) ===
		   Math.max(...calls.map(c => c[3] + c[5])));
	for (const [lane, from, length, holder, at] of timeline.holds)
		is('a holder', timeline.of.has(lane - 1) && lane !== holder &&
		   at >= from && at <= from + length);
	timeline.whole();
	tell('held', timeline.held);
	tell('steps', steps.length);
	if (steps.length === 0)
		return;
	const hit = timeline.hit(NAMES + (timeline.width - NAMES) *
		(steps[0][0] + steps[0][1] / 2) / timeline.data.length, AXIS + 5);

	is('a click', hit && hit.step &&
	   timeline.tell(hit)[0].startsWith(STEPS[hit.step[2]]));
};

// Memory in use is a lane over all the time: its highest point, as it is told there.
const readMemory = () => {
	const { memory, most } = timeline.memory;
	const at = (memory.indexOf(most) + 0.5) / memory.length;

	timeline.whole();
	const hit = timeline.hit(NAMES + (timeline.width - NAMES) * at,
		timeline.memory.y + 2 * LANE_ROW - 2);

	tell('most in use', `${timeline.headOf(hit)}: ${timeline.tell(hit)[0]}`);
	for (const bytes of new Set(memory))
		tell('memory', `${bytes} ${memory.filter(m => m === bytes).length}`);
};

// A range that is dragged leaves what happened in it, which is as long as the threads
// were recorded there; two halves are the whole; Escape leads back.
const checkRange = () => {
	const add = list => list.reduce((sum, n) => sum + n, 0);
	const same = (a, b) => Math.abs(a - b) <= 1e-9 * Math.max(a, b);
	const is = (what, so) => so || tell('bad', `range: ${what}`);
	const canvas = get('spans'), box = canvas.getBoundingClientRect();
	const mouse = (type, part) => canvas.dispatchEvent(new MouseEvent(type, {
		clientX: box.left + NAMES + (timeline.width - NAMES) * part,
		clientY: box.top + 60, bubbles: true }));
	const self = add(nodes.own.self), calls = add(nodes.own.calls);
	const rows = tables.functions.rows.length, end = timeline.data.length;
	const ran = () => add(timeline.all.filter(l => !l.isCoroutine &&
		!l.isHandler).flatMap(l => l.rows[0].filter(k =>
		timeline.spans.kind[k] === RUN).map(k => range.length(
		timeline.spans.from[k], timeline.spans.to[k]))));

	timeline.whole();
	mouse('mousedown', 0.25);
	mouse('mousemove', 0.5);
	mouse('mousemove', 0.75);
	mouse('mouseup', 0.75);
	get('coroutine-kind').value = 'coroutines';
	get('coroutine-kind').dispatchEvent(new Event('change'));
	const both = () => [tables.coroutines, tables.locks].map(t => t ?
		t.rows.length : 0);
	const few = both();

	is('half of it', Math.abs((range.to - range.from) / end - 0.5) < 0.02);
	is('it is said', !get('part').hidden && get('part').offsetHeight > 0);
	is('all of it', same(add(nodes.own.self), ran()));
	is('what is drawn', same(flame.stacks.root.total,
				 add(nodes.own[flame.stacks.measure.name])));
	const half = tables.slow ? tables.slow.rows.length : 0;
	const figures = (from, to) => {
		range.choose(from, to);
		return range.figures;
	};
	const [one, two, all] = [figures(0, end / 2), figures(end / 2, end),
				 figures(0, end)];

	for (const [func, f] of all)
		for (const name of ['self', 'total', 'blocked'])
			is(`${name} of ${functions.name(func)}`,
			   Math.abs(f[name] - (one.get(func) || f0)[name] -
				(two.get(func) || f0)[name]) <=
			   1e-6 * end);
	const of = name => data.coroutines.values[
		data.coroutines.columns.findIndex(c => c.name === name)] || [];
	const locks = data.locks || [];
	const values = (from, to) => {
		range.choose(from, to);
		return [...locks.flatMap(lock => [range.waitsFor(lock).waiting,
						  range.waitsFor(lock).waits]),
			...of('id').map(id => range.activeOf(id) || 0)];
	};
	const [first, second, whole] = [values(0, end / 2),
					values(end / 2, end), values(0, end)];

	whole.forEach((sum, i) => is(`value ${i} of two parts`,
		Math.abs(first[i] + second[i] - sum) <= 1e-6 * end));
	locks.forEach((lock, i) => is(`all waits for ${lock[1]}`,
		Math.abs(whole[2 * i] - lock[2]) <= 1e-6 * end &&
		whole[2 * i + 1] === lock[4]));
	tell('active', Math.round(100 * add(whole.slice(2 * locks.length)) /
				  add(of('active'))));
	range.clear();
	tell('figures', get('coroutines-shown').textContent.includes(
		'figures are those of all the time'));
	range.choose(0, end);
	tell('in range', Math.round(100 * add(nodes.own.calls) / calls));
	is('fewer calls', !tables.slow || half <= tables.slow.rows.length);
	press(get('spans'), 'Home');
	press(document.body, 'Escape');
	is('the way back', !range.isOn && get('part').hidden &&
	   add(nodes.own.self) === self && tables.functions.rows.length === rows);
	press(get('spans'), 'f');
	is('by a key', range.isOn);
	get('all-time').click();
	is('by a button', !range.isOn);
	is('coroutines and locks', both().every((n, i) => n >= few[i]));
	range.choose(0, 1);
	tell('at first', both()[0]);
	range.clear();
};
const f0 = { self: 0, total: 0, blocked: 0 };

// The map's bars, one cell after another by keys, and the slowest call; then
// its moment in the time line.
const readMoments = () => {
	clickTab('Latency');
	press(get('heat'), 'ArrowRight');
	let sum = 0;

	for (let row = 0; row < heat.rows; row++)
		press(get('heat'), 'ArrowDown');
	for (let row = heat.low; row <= heat.high; row++) {
		for (let i = 0; i < 240; i++)
			press(get('heat'), 'ArrowLeft');
		for (let i = 0; i < 240; i++) {
			sum += Number(get('heat-cell').textContent
				.match(/^[\d,]+/)[0].replaceAll(',', ''));
			press(get('heat'), 'ArrowRight');
		}
		press(get('heat'), 'ArrowUp');
	}
	tell('in cells', sum);
	press(document.body, 'Escape');
	const cells = rowsIn('slow-rows')[0].children;

	tell('slowest', `${cells[1].textContent} ${cells[0].title}`);
	press(get('slow-rows').querySelector('.body'), 'ArrowDown');
	press(get('slow-rows').querySelector('.body'), 'Enter');
	tell('moment', get('range').textContent);
	const call = tables.slow.rows[0];

	if (timeline.marked.from !== call[2] ||
	    timeline.marked.to !== call[2] + call[3] + call[5])
		tell('bad', 'the moment of a call is not marked');
	press(get('spans'), 'Home');
	press(get('spans'), '+');
	tell('half', get('range').textContent.match(/\((.*)\)/)[1]);
	checkStacks();
	checkBlame();
	if (timeline.memory)
		readMemory();
	if (!data.diff)
		checkRange();
	get('lane-kind').value = 'coroutines';
	get('lane-kind').dispatchEvent(new Event('change'));
	tell('lanes', timeline.lanes.length);
};

// Of each lock its figures, and who waited longest for it and because of whom.
const readLocks = () => {
	clickTab('Locks');
	const cells = row => [...row.children];

	for (const row of rowsIn('lock-rows')) {
		const c = cells(row);

		row.click();
		const of = [...rowsIn('lock-stacks')].map(r => cells(r)[0]
			.textContent);

		tell('lock', [c[1].textContent, c[0].title, c[4].textContent,
			c[6].textContent, of.filter(r => r === 'waits').length]
			.join(' '));
	}
	timeline.marked = null;
	press(get('lock-rows').querySelector('.body'), 'Enter');
	tell('wait', get('range').textContent !== '' &&
		timeline.marked !== null);
};

try {
	tell('chosen', get('chosen').textContent);
	// Only those that can be seen are drawn.
	tell('callers', rowsIn('callers').length > 0 ?
		details.callers.rows.length : 'none drawn');
	tell('spread', texts(document.querySelectorAll('.spread span'))
		.join(' ').replace(/\d+% up to /g, ''));
	if (data.diff)
		readChanges();
	useKeys();
	const names = readTable();

	searchAll(names);
	zoom();
	clickTab('Coroutines');
	get('coroutine-kind').value = 'coroutines';
	get('coroutine-kind').dispatchEvent(new Event('change'));
	tell('coroutines', get('coroutines-shown').textContent
		.match(/^[\d,]+/)[0].replaceAll(',', ''));
	if (data.locks)
		readLocks();
	if (data.timeline)
		readMoments();
	dispatchEvent(new Event('beforeprint'));
	tell('printed', rowsIn('function-rows').length);
	tell('on paper', texts([...document.querySelectorAll('section')]
		.filter(e => e.offsetHeight > 0).map(e =>
			({ textContent: e.dataset.title }))).join(', '));
	tell('canvases', [...document.querySelectorAll('canvas')]
		.filter(e => e.clientWidth > 100).length);
	dispatchEvent(new Event('afterprint'));
	tell('elements', `${document.images.length} images, ` +
		`${document.scripts.length} scripts`);
	lines.push('end');
} catch (e) {
	lines.push(`failed: ${e.stack}`);
}
const told = document.createElement('pre');

told.id = 'told';
told.textContent = lines.join('\n');
document.body.append(told);
}
