/* page.js - puts the parts together: tabs, tools, keys, light and dark.
 * SPDX-License-Identifier: MIT */

const $ = id => document.getElementById(id);

/* ---- the head ------------------------------------------------------------ */

function showHead() {
	const lines = meta.head.slice();
	const facts = lines.filter(l => !/^(lost|note|shown|nothing was lost)/
				   .test(l));

	document.title = `${format.brief(meta.title, 60)} - weft`;
	$('title').textContent = format.brief(meta.title);
	$('title').title = format.brief(meta.command, 2000);
	$('facts').textContent = facts.join(' \u00b7 ');
	for (const line of lines.filter(l => !facts.includes(l)))
		$('losses').append(element('div', /^lost/.test(line) ? 'lost' :
			/^nothing/.test(line) ? 'good' : 'note', line));
	if (meta.folded > 0)
		$('losses').append(element('div', 'note', 'note: ' +
			format.many(meta.folded, 'small stack') + ' are folded ' +
			'into "(other)" in the flame graph; all tables have ' +
			'their figures'));
	if (meta.lacks.length > 0)
		$('losses').append(element('div', 'note', 'note: to be no ' +
			`larger than 20 MB, this page lacks ${meta.lacks
			.join(', ')}; weft's other commands have them`));
}

/* What a head says of the sessions from before a change. */
function showBefore() {
	const isSaid = line => /^(lost|note|shown)/.test(line);
	const rest = meta.before.filter(line => !isSaid(line));

	for (const line of [...meta.before.filter(isSaid), rest.join(' \u00b7 ')])
		if (line !== '')
			$('losses').append(element('div', /^lost/.test(line) ?
				'lost' : 'note', `before: ${line}`));
	if (data.diff)
		$('losses').append(element('div', 'note', 'tables of functions ' +
			'and coroutines are of the sessions after'));
}

function setTheme(name) {
	document.documentElement.dataset.theme = name;
	redraw();
}

function turnTheme() {
	setTheme(document.documentElement.dataset.theme === 'dark' ? 'light' :
		 'dark');
}

/* ---- tabs ---------------------------------------------------------------- */

const tabs = {
	all: [],
	shown: null,
	start() {
		this.all = [...document.querySelectorAll('section')];
		this.all.forEach((section, i) => {
			const e = element('button', '', section.dataset.title);

			e.title = `key ${i + 1}`;
			e.setAttribute('role', 'tab');
			e.addEventListener('click', () => this.show(section.id));
			$('tabs').append(e);
		});
	},
	show(id) {
		this.shown = id;
		this.all.forEach((section, i) => {
			const isShown = section.id === id;

			section.classList.toggle('shown', isShown);
			$('tabs').children[i].setAttribute('aria-selected',
							   isShown);
		});
		/* Drawings of moments need the room. */
		$('details').classList.toggle('low', id === 'timeline' ||
					      id === 'latency');
		redraw();
		(id === 'flame' ? flame.canvas :
		 $(id).querySelector('.body, canvas'))?.focus();
	},
};

/* ---- the flame graph ----------------------------------------------------- */

function showStacks() {
	flame.show(new Stacks($('direction').value, $('group').value,
		MEASURES[$('measure').selectedIndex] ||
		{ name: 'calls', title: 'calls' }));
	search();
}

function search() {
	const found = matches($('search').value);

	flame.matched = found || null;
	$('search').style.borderColor = found === undefined ? 'red' : '';
	$('found').textContent = !found ? '' : tellFound(found);
	flame.draw();
}

function tellFound(found) {
	const s = flame.stacks, part = s.share(found);
	const count = found.reduce((n, is) => n + is, 0);

	return `${format.many(count, 'function')}, ${flame.figure(part)}, ` +
		`${format.share(part, s.root.total)}`;
}

function showPath() {
	const names = [];

	for (let box = flame.zoomed; box.parent; box = box.parent)
		names.unshift(format.brief(box.name, 40));
	$('path').textContent = names.join(' \u203a ');
	$('back').disabled = names.length === 0;
}

/* Show a title and lines beside the mouse, in a canvas's frame. */
function showTip(tip, title, lines, x, y) {
	const graph = tip.parentElement;

	tip.hidden = title === null;
	if (title === null)
		return;
	tip.replaceChildren(element('b', '', format.brief(title, 1000)),
		document.createTextNode(lines.join('\n')));
	tip.style.left = `${Math.max(0, Math.min(x + 14, graph.clientWidth -
		tip.offsetWidth - 4))}px`;
	tip.style.top = `${y + 22 + tip.offsetHeight > graph.clientHeight ?
		Math.max(0, y - tip.offsetHeight - 8) : y + 18}px`;
}

function showLegend() {
	const kinds = data.diff ? [['--more', `more ${meta.times ? 'time' :
		'calls'} than before (full: all of it)`], ['--less', 'less'], ['--none', 'the same']] :
		[['--native', 'native'], ['--lua', 'Lua'],
		       ['--note', 'zone'], ['--none', 'other'],
		       ['--accent', 'left edge: body of a coroutine']];

	for (const [colour, text] of kinds) {
		const e = element('span'), i = element('i');

		i.style.background = `var(${colour})`;
		e.append(i, text);
		$('legend').append(e);
	}
	if (!data.diff)
		$('legend').append(element('span', '', meta.switches ?
		'fainter part of a box: off the CPU' :
		'the kernel\'s context switches are not known: waiting is ' +
		'not told from running'));
}

function startFlame() {
	const canvas = flame.canvas;

	for (const m of MEASURES)
		$('measure').append(element('option', '', m.title));
	for (const id of ['direction', 'group', 'measure'])
		$(id).addEventListener('change', showStacks);
	$('search').addEventListener('input', search);
	$('search').addEventListener('keydown', e => {
		if (e.key === 'Enter')
			canvas.focus();
	});
	$('back').addEventListener('click', () => flame.out());
	flame.onZoom = showPath;
	flame.onChoose = box => {
		if (box.func)
			choose(box.func, 'flame');
	};
	canvas.addEventListener('click', e => flame.click(e.offsetX, e.offsetY));
	canvas.addEventListener('mousemove', e => {
		const box = flame.hit(e.offsetX, e.offsetY);

		canvas.style.cursor = box ? 'pointer' : '';
		showTip($('tip'), box && box.name, box && flame.tell(box),
			e.offsetX, e.offsetY);
	});
	canvas.addEventListener('wheel', e => {
		flame.scroll(e.deltaY);
		e.preventDefault();
	}, { passive: false });
	startCanvas(flame, $('tip'));
	showLegend();
}

/* What all drawings have in common. */
function startCanvas(drawing, tip) {
	const { canvas } = drawing;

	canvas.addEventListener('mouseleave', () => showTip(tip, null));
	canvas.addEventListener('keydown', e => {
		if (!e.ctrlKey && !e.altKey && drawing.key(e.key)) {
			e.preventDefault();
			e.stopPropagation();
		}
	});
	new ResizeObserver(() => drawing.draw()).observe(canvas);
}

/* ---- the time line ------------------------------------------------------- */

function tellGrain() {
	const t = data.timeline, notes = ['times as recorded; click: choose, ' +
		'Enter: zoom to it, wheel: scroll, Ctrl and wheel: zoom, ' +
		'Shift and drag: move, drag: only that time, a click on a name with \u25b8: all its rows'];

	notes.push(meta.switches ?
		'fainter: the thread was blocked, or had no core (run-wait)' :
		'the kernel\'s context switches are not known: waiting is ' +
		'not told from running');
	if (t.holds && t.holds.length > 0)
		notes.push('dashed arrows: from who waited to who had what it ' +
			   'waited for, when that let it go');
	if (t.grain > 0)
		notes.push(`what is shorter than ${format.time(t.grain)} is ` +
			   'folded into boxes that tell how many they are');
	if (t.rest.coroutines > 0)
		notes.push(`${format.many(t.rest.coroutines, 'coroutine')} ` +
			   'that ran for shorter have no lane: ' +
			   format.many(t.rest.calls, 'call'));
	$('grain').textContent = notes.join('; ');
}

function filterLanes() {
	const kind = $('lane-kind').value;
	const part = $('lane-filter').value.toLowerCase();

	timeline.filter(l => (kind === 'all' ||
		l.isCoroutine === (kind === 'coroutines')) &&
		l.name.toLowerCase().includes(part));
	timeline.draw();
}

/* ---- a part of the time -------------------------------------------------- */

/* What a range leaves, and how to leave that. */
function showRange() {
	timeline.part = range.isOn ? range : null;
	$('part').hidden = !range.isOn;
	$('part-text').textContent = !range.isOn ? '' :
		`from ${format.moment(range.from)} to ` +
		`${format.moment(range.to)}: stacks, functions and single ` +
		'calls, coroutines and waits of that time, as the time line ' +
		'has them';
	makeFunctions();
	startCoroutines.show();
	if (data.locks)
		startLocks.show();
	if (data.calls)
		startLatency.list(heat.chosen);
	showStacks();
	redraw();
}

/* Two sides have one time line, that of what came after. */
function startRange() {
	range.onChange = showRange;
	$('all-time').addEventListener('click', () => range.clear());
	if (data.diff) {
		$('only').remove();
		return;
	}
	timeline.onOnly = () => range.choose(timeline.from, timeline.to);
	$('only').addEventListener('click', timeline.onOnly);
}

/* Dragging chooses a time, or moves with Shift; the wheel scrolls, or zooms with
 * Ctrl. */
function startTimelineMouse() {
	const { canvas } = timeline;
	let held = null, moved = false;

	canvas.addEventListener('mousedown', e => {
		held = { x: e.offsetX, at: timeline.when(e.offsetX),
			 moves: e.shiftKey || data.diff ||
				e.offsetX < NAMES };
		moved = false;
	});
	addEventListener('mouseup', () => {
		if (held && moved && !held.moves)
			range.choose(timeline.part.from, timeline.part.to);
		held = null;
	});
	canvas.addEventListener('click', e => {
		if (!moved)
			timeline.click(e.offsetX, e.offsetY);
	});
	canvas.addEventListener('dblclick', () => timeline.zoomToChosen());
	canvas.addEventListener('mousemove', e => {
		if (held && (moved || Math.abs(e.offsetX - held.x) > 3)) {
			const at = timeline.when(Math.max(NAMES, e.offsetX));

			moved = true;
			if (held.moves) {
				timeline.pan((held.x - e.offsetX) /
					     (timeline.width - NAMES));
				held.x = e.offsetX;
			} else {
				timeline.part = { from: Math.min(held.at, at),
						  to: Math.max(held.at, at) };
				timeline.draw();
			}
		}
		const d = timeline.hit(e.offsetX, e.offsetY);

		showTip($('span-tip'), !d || moved ? null : timeline.headOf(d),
			d && timeline.tell(d), e.offsetX, e.offsetY);
	});
	canvas.addEventListener('wheel', e => {
		if (e.ctrlKey)
			timeline.zoom(e.deltaY > 0 ? 1.25 : 0.8,
				      timeline.when(e.offsetX));
		else if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY))
			timeline.pan((e.deltaX || e.deltaY) / 1000);
		else
			timeline.scroll(e.deltaY);
		e.preventDefault();
	}, { passive: false });
}

function startTimeline() {
	timeline.onMove = () => {
		$('range').textContent = `${format.moment(timeline.from)} to ` +
			`${format.moment(timeline.to)} (` +
			`${format.time(timeline.to - timeline.from)})`;
	};
	timeline.onChoose = func => choose(func, 'timeline');
	timeline.start();
	startCanvas(timeline, $('span-tip'));
	startTimelineMouse();
	startRange();
	$('lane-kind').addEventListener('change', filterLanes);
	$('lane-filter').addEventListener('input', filterLanes);
	$('zoom-in').addEventListener('click', () => timeline.zoom(0.5));
	$('zoom-out').addEventListener('click', () => timeline.zoom(2));
	$('whole').addEventListener('click', () => timeline.whole());
	tellGrain();
}

/* ---- latency ------------------------------------------------------------- */

function startLatency() {
	const c = data.calls, name = func => functions.name(func);
	const time = (title, at, help) => ({ title, help, unit: 'time',
		width: '90px', value: call => call[at] });
	const table = tables.slow = new Table($('slow-rows'), [
		{ title: 'function', unit: 'text', width: 'minmax(240px, 1fr)',
		  value: call => name(call[0]) },
		{ ...time('total', 3), isFirst: true }, time('self', 4),
		time('suspended', 5),
		{ ...time('began', 2, 'since the first record'),
		  text: call => format.moment(call[2]) },
		{ title: 'ended', unit: 'text', width: '112px',
		  value: call => call[7] },
		{ title: 'stack, innermost first', unit: 'text',
		  width: 'minmax(300px, 3fr)',
		  value: call => call[8].map(f => f ? name(f) : '[...]')
			.join(' \u2039 '),
		  full: call => call[8].map(f => f ? name(f) : '[...]')
			.join('\n') }],
		call => choose(call[0], 'latency'), showMoment);
	const kind = $('slow-kind');
	const list = cell => {
		const n = cell ? heat.at(cell.column, cell.row) : 0;

		table.filter(cell || range.isOn ? call =>
			(!cell || heat.holds(cell, call)) &&
			range.has(call[2], call[2] + call[3] + call[5]) :
			undefined);
		$('heat-cell').textContent = cell ? heat.tell(cell) : '';
		$('slow-title').textContent = cell ?
			`${format.many(table.rows.length, 'call')} of these ` +
			`${format.count(n)} ${table.rows.length === 1 ? 'is' :
			'are'} among the slowest of all (Escape: all of them)` :
			`the ${format.many(table.rows.length, 'slowest call')
			.replace('1 slowest', 'slowest')} of ` +
			`${format.count(c.ended)}` + (c.pattern ? '' :
			', without those that last for most of the run') +
			' (Enter: its moment in the time line)';
	};
	const show = () => {
		table.show(c[kind.value]);
		list(heat.chosen);
	};

	if (c.requests.length === 0)
		kind.options[0].remove();
	kind.addEventListener('change', show);
	startLatency.list = list;

	heat.start();
	heat.onChoose = list;
	show();
	$('heat-what').textContent = (c.pattern ? `calls of ${c.pattern}` :
		'calls of all functions (weft html --only PATTERN: of ' +
		'some)') + ', as recorded: when they began, and their total';
	startCanvas(heat, $('heat-tip'));
	heat.canvas.addEventListener('mousemove', e => {
		const cell = heat.hit(e.offsetX, e.offsetY);

		showTip($('heat-tip'), cell && heat.tell(cell), [], e.offsetX,
			e.offsetY);
	});
	heat.canvas.addEventListener('click', e =>
		heat.choose(heat.hit(e.offsetX, e.offsetY)));
}

/* Go to where a single call is in the time line. */
function showMoment(call) { showTime(call[2], call[3] + call[5]); }

/* It is marked there until another one is. */
function showTime(from, length) {
	timeline.marked = { from, to: from + length };
	tabs.show('timeline');
	timeline.show(from - length * 0.5, from + length * 1.5);
}

/* ---- tables -------------------------------------------------------------- */

const tables = {};

/* The first column's bar is its part of the largest value. */
function withBar(columns, func) {
	const bar = columns.find(c => c.unit === 'time') || columns[0];

	if (bar) {
		bar.isFirst = true;
		bar.isLua = row => functions.language(func(row)) === 'lua';
	}
	return bar;
}

function fillBar(bar, rows) {
	const most = rows.reduce((m, row) => Math.max(m, bar.value(row)), 0);

	bar.barOf = row => most > 0 ? bar.value(row) / most : 0;
}

/* Rows of a filter's text, by the texts of its columns, and of the range. */
function filterTable(table, text, isInRange = () => true) {
	const part = text.toLowerCase();
	const texts = table.columns.filter(Table.isText);
	const isFound = row => part === '' || texts.some(c =>
		String((c.full || c.value)(row)).toLowerCase().includes(part));

	table.filter(part === '' && !range.isOn ? undefined : row =>
		isFound(row) && (!range.isOn || isInRange(row)));
	return `${format.count(table.rows.length)} of ` +
		`${format.many(table.all.length, 'row')}`;
}

/* Of all the time, or of the range that is chosen. */
function makeFunctions() {
	const t = data.table, func = row => t.func[row];
	const figures = range.isOn ? range.columns(func) :
		columnsOf(t, meta.switches ?
		['cpu', 'cpu-share', 'run-wait', 'blocked', 'self', 'total',
		 'suspended', 'calls', 'mean', 'p99', 'max'] :
		['self', 'self-error', 'share', 'total', 'suspended', 'calls',
		 'mean', 'p50', 'p99', 'max'], '84px');
	const bar = withBar(figures, func);
	const rows = rowsOf(t).filter(row => !range.isOn ||
		range.figures.has(func(row)));

	if (bar)
		fillBar(bar, rows);
	const [name, ...place] = placeColumns(func);

	tables.functions = new Table($('function-rows'),
		[name, ...figures, ...place],
		row => choose(func(row), 'functions'),
		row => findInFlame(func(row)));
	tables.functions.show(rows);
	filterFunctions();
}

function filterFunctions() {
	$('shown').textContent = filterTable(tables.functions,
					     $('filter').value);
}

function startFunctions() {
	$('filter').addEventListener('input', filterFunctions);
	makeFunctions();
}

/* What weft diff says. */
function startChanges() {
	const d = data.diff, func = row => d.func[row];
	const figure = (values, row) => d.of_calls[row] ?
		`${format.real(values[row])} calls` :
		format.time(values[row] * meta.tick_hz / 1e9);
	const signed = text => x => (x > 0 ? '+' : '') + text(x);
	const column = (title, values, text, help) => ({ title, help,
		unit: 'real', width: '100px', value: row => values[row],
		text: row => text(values[row], row) });
	const [name, , place] = placeColumns(func);
	const table = tables.changes = new Table($('change-rows'), [
		{ ...column('adds', d.added, signed(format.time),
			    'time that the change adds to a session') },
		column('share', d.share, signed(x => `${(100 * x).toFixed(1)}%`),
		       `as a share of the ${d.of} time before; of waits, of that ` +
		       'and all waits; of sleep, of the sleep'),
		{ title: 'because', unit: 'text', width: '170px',
		  value: row => d.because[row] },
		column('was', d.was, (_, row) => figure(d.was, row),
		       'calls a session, or time a call'),
		column('is', d.is, (_, row) => figure(d.is, row)),
		column('chance', d.chance, x => x < 0 ? '-' :
		       `${(100 * x).toFixed(1)}%`,
		       'probability that nothing changed'),
		name, place],
		row => choose(func(row), 'changes'),
		row => findInFlame(func(row)));
	const filter = () => {
		$('changes-shown').textContent =
			filterTable(table, $('change-filter').value);
	};

	table.show(d.func.map((_, i) => i));
	$('change-filter').addEventListener('input', filter);
	filter();
	$('change-sum').textContent = `a session's ${d.of} time: ` +
		`${format.time(d.before)} before, ${format.time(d.after)} after`;
}

/* Where coroutines are suspended, the longest time first. */
function sleepsTable() {
	const name = (title, at, width) => ({ title, unit: 'text', width,
		value: row => functions.name(row[at]) });
	const figure = (title, unit, value, help) => ({ title, unit, value, help,
		width: '96px' });

	return new Table($('coroutine-rows'), [
		name('suspended in', 0, 'minmax(160px, 2fr)'),
		{ ...figure('longest', 'time', row => row[4]), isFirst: true },
		{ ...figure('until', 'time', row => row[6],
			    'when that was over'),
		  text: row => format.moment(row[6]) },
		figure('of', 'count', row => row[5], 'the coroutine'),
		figure('times', 'count', row => row[2]),
		figure('mean', 'time', row => row[3] / row[2]),
		name('body', 1, 'minmax(160px, 2fr)')],
		row => choose(row[0], 'coroutines'),
		row => showTime(row[6] - row[4], row[4]));
}

/* What is known of a range; of what has no lane, nothing is. */
function coroutineColumns(kind, t, func, ids) {
	const at = (title, unit, value, help) => ({ title, unit, value, help,
		width: '104px', isFirst: unit === 'time',
		text: row => (Number.isNaN(value(row)) ? '-' :
			      unit === 'time' ? format.time(value(row)) :
			      format.count(value(row))) });
	const all = range.bodies();
	const body = row => all.get(func(row)) || { count: 0, active: 0 };

	return kind === 'bodies' ?
		[at('ran', 'count', row => body(row).count,
		    'coroutines with a lane that ran in this time'),
		 at('active', 'time', row => body(row).active, 'theirs')] :
		[at('active', 'time', row => range.activeOf(
			t.values[ids][row]), 'in this time'),
		 ...columnsOf(t, ['id', 'creator', 'kind', 'pid', 'vm'],
			      '104px')];
}

function coroutinesTable(kind) {
	const t = data[kind], func = row => t.func[row];
	const figures = range.isOn ? coroutineColumns(kind, t, func,
			t.columns.findIndex(c => c.name === 'id')) :
		columnsOf(t, kind === 'bodies' ?
		['count', 'active-sum', 'active-mean', 'active-p99',
		 'suspended-sum', 'suspended-p99', 'suspended-max',
		 'resumes-sum', 'resumes-max'] :
		['active', 'suspended', 'resumes', 'state', 'id',
		 'creator', 'kind', 'pid', 'threads', 'vm'], '104px');
	const bar = withBar(figures, func), rows = rowsOf(t);

	if (bar)
		fillBar(bar, rows);
	const [name, , place] = placeColumns(func);
	const body = { ...name, title: 'body', value: row =>
		func(row) ? functions.name(func(row)) : '[never ran]' };

	return new Table($('coroutine-rows'), [body, ...figures, place],
		row => func(row) && choose(func(row), 'coroutines'),
		row => func(row) && findInFlame(func(row)));
}

function startCoroutines() {
	const kind = $('coroutine-kind');
	const show = () => {
		const isSleeps = kind.value === 'sleeps';

		tables.coroutines = isSleeps ? sleepsTable() :
			coroutinesTable(kind.value);
		tables.coroutines.show(isSleeps ? data.sleeps :
				       rowsOf(data[kind.value]));
		filter();
	};
	const ids = data.coroutines.columns.findIndex(c => c.name === 'id');
	const isInRange = row => (kind.value === 'bodies' ?
		timeline.data.rest.coroutines > 0 ||
		(range.bodies().get(data.bodies.func[row]) || {}).count > 0 :
		kind.value === 'sleeps' ? range.has(row[6] - row[4], row[6]) :
		range.hasCoroutine(data.coroutines.values[ids][row]));
	const filter = () => {
		const more = kind.value !== 'coroutines' ? 0 :
			meta.coroutines - data.coroutines.func.length;

		$('coroutines-shown').textContent =
			filterTable(tables.coroutines,
				    $('coroutine-filter').value, isInRange) +
			(more > 0 ? `; ${format.count(more)} more, active for ` +
			 'shorter, are in the table by body only' : '') +
			/* The page of a part has coroutines of the whole. */
			((range.isOn ? kind.value === 'sleeps' :
			  data.timeline && !data.sleeps) ?
			 '; figures are those of all the time' :
			 !range.isOn ? '' :
			 timeline.data.rest.coroutines > 0 ? '; without ' +
			 format.many(timeline.data.rest.coroutines,
				     'coroutine') + ' that have no lane' : '');
	};

	startCoroutines.show = show;
	if (!data.sleeps)
		kind.lastElementChild.remove();
	kind.addEventListener('change', show);
	$('coroutine-filter').addEventListener('input', filter);
	show();
}

/* ---- locks --------------------------------------------------------------- */

/* A lock: kind, name, waiting, held, waits, longest, most at a time, when the
 * longest wait began, stacks, single waits. A stack: role, waiting, held,
 * longest, count, functions. */
function lockFigures(at) {
	const time = (title, i, help) => ({ title, help, unit: 'time',
		width: '96px', value: row => row[at + i] });

	return [{ ...time('waiting', 0, 'of all that waited, together'),
		  isFirst: true },
		time('held', 1, 'while at least one waited for a holder')];
}

function lockColumns() {
	const count = (title, width, value, help) => ({ title, width, value,
		help, unit: 'count' });

	return [...lockFigures(2),
		count('waits', '84px', lock => lock[4]),
		{ title: 'longest', unit: 'time', width: '96px',
		  value: lock => lock[5] },
		count('most', '72px', lock => lock[6],
		      'how many waited at a time')];
}

/* The same of a range. Where single waits are not known, it is said that the
 * figures are not its. */
function lockRangeColumns() {
	const at = (name, whole, unit, show) => ({ title: name, unit,
		width: '130px', isFirst: name === 'waiting',
		value: lock => (range.waitsFor(lock) || { [name]: lock[whole] })
			[name],
		text: lock => (range.waitsFor(lock) ?
			show(range.waitsFor(lock)[name]) :
			`${show(lock[whole])} in all`) });

	return [at('waiting', 2, 'time', format.time),
		at('waits', 4, 'count', format.count),
		at('longest', 5, 'time', format.time)];
}

function lockStacksTable() {
	const name = func => functions.name(func);

	return new Table($('lock-stacks'), [
		{ title: 'role', unit: 'text', width: '72px',
		  help: 'waits; holds: its call let others go on; nobody: ' +
			'after that, until they went on',
		  value: row => row[0] },
		...lockFigures(1),
		{ title: 'longest', unit: 'time', width: '96px',
		  value: row => row[3] },
		{ title: 'times', unit: 'count', width: '72px',
		  value: row => row[4] },
		{ title: 'stack, innermost first', unit: 'text',
		  width: 'minmax(300px, 3fr)',
		  value: row => row[5].map(name).join(' \u2039 ') ||
			'[not recorded]',
		  full: row => row[5].map(name).join('\n') }],
		row => row[5].length > 0 && choose(row[5][0], 'locks'));
}

function startLocks() {
	const stacks = tables.lockStacks = lockStacksTable();
	const tell = lock => {
		stacks.show(lock[8]);
		$('lock-title').textContent = 'who waited for ' +
			`${lock[0]} ${lock[1]}, and whose calls they waited ` +
			`for${range.isOn ? ', in all the time' : ''} (Enter: ` +
			'its longest wait in the time line)';
	};
	const isInRange = lock => {
		const part = range.waitsFor(lock);

		return !part || part.waits > 0 || part.waiting > 0;
	};
	const filter = () => {
		$('locks-shown').textContent = filterTable(tables.locks,
			$('lock-filter').value, isInRange);
	};

	startLocks.show = () => {
		tables.locks = new Table($('lock-rows'), [
			{ title: 'lock', unit: 'text',
			  width: 'minmax(200px, 3fr)', value: lock => lock[1] },
			{ title: 'kind', unit: 'text', width: '96px',
			  value: lock => lock[0] },
			...(range.isOn ? lockRangeColumns() : lockColumns())],
			tell, lock => showTime(lock[7], lock[5]));
		tables.locks.show(data.locks);
		filter();
		tell(data.locks[0]);
	};
	$('lock-filter').addEventListener('input', filter);
	startLocks.show();
}

/* ---- the chosen function ------------------------------------------------- */

function choose(func, where) {
	details.show(func);
	if (where !== 'functions')
		tables.functions.find(details.rowOf.get(func));
}

/* Search for this function in the flame graph. A name between slashes is not
 * meant as an expression. */
function findInFlame(func) {
	$('search').value = functions.name(func).slice(0, 200)
		.replace(/\/+$/, '');
	tabs.show('flame');
	search();
}

function redraw() {
	flame.draw();
	timeline.draw();
	heat.draw();
	for (const table of Object.values(tables))
		table.draw();
}

/* ---- keys ---------------------------------------------------------------- */

const KEYS = [
	['1 2 3 ...', 'the tabs'],
	['/', 'search, or filter'],
	['arrows', 'through the boxes, or the rows of a table; left and ' +
		'right sort a table by another column'],
	['Enter', 'zoom into the box; show the row\'s function in the flame ' +
		'graph'],
	['Escape', 'leave the search, then zoom out, step by step; close ' +
		'these keys'],
	['?', 'these keys'],
	['t', 'light or dark'],
	['+ -', 'zoom the time line (also w and s); arrows move it (also a ' +
		'and d), Home shows all of it; f: only the time that is ' +
		'shown, in the other tabs, too; Escape: all of it'],
	['Tab', 'to the next part of the page'],
	['mouse', 'a click zooms, the wheel scrolls, a double click on a ' +
		'row finds its function in the flame graph, a click on a ' +
		'title sorts'],
];

function isTyping(e) { return /^(INPUT|SELECT)$/.test(e.target.tagName); }

function escape() {
	const input = document.activeElement;

	if (input.tagName === 'INPUT') {
		input.value = '';
		input.dispatchEvent(new Event('input'));
		input.blur();
	} else if (tabs.shown === 'flame' && $('search').value !== '') {
		$('search').value = '';
		search();
	} else if (tabs.shown === 'flame') {
		flame.out();
	} else if (tabs.shown === 'timeline' && range.isOn) {
		range.clear();
	} else if (tabs.shown === 'timeline') {
		timeline.whole();
	} else if (tabs.shown === 'latency') {
		heat.choose(null);
	}
}

function pressed(e) {
	if (e.ctrlKey || e.altKey || e.metaKey)
		return;
	const tab = tabs.all[e.key - 1];

	if ($('help').open) {
		if (e.key !== 'Escape')
			return;
		$('help').close();
	} else if (e.key === 'Escape') {
		escape();
	} else if (isTyping(e)) {
		return;
	} else if (e.key === '/') {
		$(tabs.shown).querySelector('input')?.focus();
	} else if (e.key === '?') {
		$('help').showModal();
	} else if (e.key === 't') {
		turnTheme();
	} else if (tab) {
		tabs.show(tab.id);
	} else {
		return;
	}
	e.preventDefault();
}

function startKeys() {
	for (const [key, what] of KEYS)
		$('key-list').append(element('dt', '', key),
				     element('dd', '', what));
	document.addEventListener('keydown', pressed);
	$('theme').addEventListener('click', turnTheme);
	$('keys').addEventListener('click', () => $('help').showModal());
}

/* ---- paper --------------------------------------------------------------- */

/* All parts below each other, and light, whatever is on the screen. */
function startPrinting() {
	const set = (is, theme) => {
		isPrinting = is;
		document.body.classList.toggle('printing', is);
		setTheme(theme);
		details.callers.draw();
		details.callees.draw();
	};
	let theme = null;

	addEventListener('beforeprint', () => {
		theme = document.documentElement.dataset.theme;
		set(true, 'light');
	});
	addEventListener('afterprint', () => set(false, theme));
}

/* ---- all of it ----------------------------------------------------------- */

showHead();
showBefore();
for (const [id, has] of [['timeline', data.timeline], ['latency', data.calls],
			 ['locks', data.locks], ['changes', data.diff]])
	if (!has)
		$(id).remove();
tabs.start();
startKeys();
startFlame();
startFunctions();
startCoroutines();
details.onChoose = func => func && choose(func, 'details');
details.start();
document.documentElement.dataset.theme =
	matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
showStacks();
if (data.diff)
	startChanges();
if (data.timeline)
	startTimeline();
if (data.calls)
	startLatency();
if (data.locks)
	startLocks();
tabs.show('flame');
startPrinting();
