/* flame.js - draws the boxes on a canvas, and follows mouse and keys. What a
 * box is, stacks.js knows.
 * SPDX-License-Identifier: MIT */

const ROW = 19, TEXT = '12px system-ui, "DejaVu Sans", sans-serif';

/* The colours of the page's style, as the canvas needs them. */
function colours() {
	const style = getComputedStyle(document.documentElement);
	const to = {};

	for (const name of ['back', 'front', 'dim', 'line', 'accent', 'mark',
			    'native', 'lua', 'note', 'none', 'text-on-box',
			    'raised', 'more', 'less'])
		to[name] = style.getPropertyValue(`--${name}`).trim();
	return to;
}

/* Make the canvas as fine as the screen; returns what draws on it, in CSS
 * pixels. */
function fitCanvas(canvas) {
	const ratio = window.devicePixelRatio || 1;
	const { clientWidth: width, clientHeight: height } = canvas;
	const draw = canvas.getContext('2d');

	canvas.width = Math.max(1, Math.round(width * ratio));
	canvas.height = Math.max(1, Math.round(height * ratio));
	draw.setTransform(ratio, 0, 0, ratio, 0, 0);
	return { draw, width, height };
}

/* As much of a text as fits into so many pixels. Widths of characters are
 * learned, because measuring each text is slow. */
const widths = new Map();
function widthOf(draw, character) {
	let width = widths.get(character);

	if (width === undefined) {
		width = draw.measureText(character).width;
		widths.set(character, width);
	}
	return width;
}
function fitText(draw, text, room) {
	const dots = widthOf(draw, '\u2026');
	let used = 0, whole = 0; /* so many characters fit before the dots */

	for (let i = 0; i < text.length && i < 400; i++) {
		used += widthOf(draw, text[i]);
		if (used > room)
			return whole < 2 ? '' : text.slice(0, whole) + '\u2026';
		if (used + dots <= room)
			whole = i + 1;
	}
	return text.length > 400 ? text.slice(0, 400) : text;
}

const flame = {
	canvas: document.getElementById('boxes'),
	stacks: null,
	zoomed: null,          /* the box that is as wide as the canvas */
	chosen: null,
	matched: null,         /* by function: 1 if the search found it */
	drawn: [],             /* by row: boxes as they were drawn, from left */
	top: 0,                /* pixels that are scrolled away */
	height: 0,
	onChoose() {},
	onZoom() {},

	show(stacks) {
		this.stacks = stacks;
		this.zoomed = this.chosen = stacks.root;
		this.top = 0;
		this.onZoom();
		this.draw();
	},
	zoom(box) {
		this.zoomed = this.chosen = box;
		this.top = 0;
		this.onZoom();
		this.onChoose(box);
		this.draw();
	},
	out() {
		if (this.zoomed.parent)
			this.zoom(this.zoomed.parent);
	},
	choose(box) {
		this.chosen = box;
		this.onChoose(box);
		this.reveal(box);
		this.draw();
	},
	/* Scroll to where the box's row is seen. */
	reveal(box) {
		const y = box.depth * ROW, height = this.canvas.clientHeight;

		if (y < this.top)
			this.top = y;
		else if (y + ROW > this.top + height)
			this.top = y + ROW - height;
	},
	scroll(by) {
		const most = Math.max(0, this.height - this.canvas.clientHeight);

		this.top = Math.min(most, Math.max(0, this.top + by));
		this.draw();
	},

	/* ---- drawing ---- */

	draw() {
		if (!this.stacks || this.canvas.clientWidth === 0)
			return;
		const fitted = fitCanvas(this.canvas);

		this.paper = fitted.draw;
		this.colour = colours();
		this.drawn = [];
		this.height = 0;
		this.paper.font = TEXT;
		this.paper.textBaseline = 'middle';
		this.drawAbove(fitted.width);
		this.drawBelow(this.zoomed, 0, fitted.width);
		this.drawChosen();
	},
	/* What is above the zoomed box is as wide as that. */
	drawAbove(width) {
		const path = [];

		for (let box = this.zoomed.parent; box; box = box.parent)
			path.unshift(box);
		for (const box of path)
			this.drawBox(box, 0, width, true);
	},
	/* Without recursion: stacks may be very deep. */
	drawBelow(first, left, width) {
		const todo = [[first, left, width]];

		while (todo.length > 0) {
			const [box, x, w] = todo.pop();

			this.drawBox(box, x, w, false);
			/* Rows far below are not made until they are seen. */
			if (w < 1 || box.depth * ROW > this.top +
			    4 * this.canvas.clientHeight)
				continue;
			this.placeBelow(box, x, w, todo);
		}
	},
	placeBelow(box, x, w, todo) {
		const below = this.stacks.below(box);
		const scale = box.total > 0 ? w / box.total : 0;
		const isSmall = b => b.total * scale < 1;
		const small = below.filter(isSmall);

		for (const b of below) {
			if (small.length > 1 && isSmall(b))
				continue;
			todo.push([b, x, b.total * scale]);
			x += b.total * scale;
		}
		if (small.length > 1)
			this.drawRest(box, small, x, scale);
	},
	/* One box in place of all that are too small: nothing is left out. */
	drawRest(parent, boxes, x, scale) {
		const rest = new Box(parent, 0, OMITTED);

		rest.title = '(other)';
		rest.rest = boxes.length;
		for (const box of boxes)
			rest.total += box.total;
		this.drawBox(rest, x, rest.total * scale, false);
	},
	fill(box) {
		if (box.func === 0 || data.diff)
			return this.colour.none;
		switch (functions.language(box.func)) {
		case 'native': return this.colour.native;
		case 'lua': return this.colour.lua;
		case 'zone': return this.colour.note;
		default: return this.colour.none;
		}
	},
	/* Neighbours of one language get shades of their own, always the same
	 * ones. */
	shade(box) {
		let hash = box.func * 2654435761 >>> 0;

		hash = (hash ^ hash >>> 15) >>> 0;
		return (hash % 5) * 0.045;
	},
	drawBox(box, x, w, isAbove) {
		const y = box.depth * ROW - this.top, p = this.paper;
		const row = this.drawn[box.depth] = this.drawn[box.depth] || [];

		row.push({ box, x, w });
		this.height = Math.max(this.height, (box.depth + 1) * ROW);
		if (y + ROW < 0 || y > this.canvas.clientHeight || w < 0.3)
			return;
		const gap = w > 3 ? 1 : 0;
		const isDim = isAbove || this.matched && !this.isMatched(box);

		p.globalAlpha = isDim ? 0.35 : 1;
		p.fillStyle = this.fill(box);
		p.fillRect(x, y, w - gap, ROW - 1);
		if (data.diff && !box.rest)
			this.drawChange(box, x, y, w - gap);
		else if (box.func && this.shade(box) > 0) {
			p.fillStyle = this.colour.front;
			p.globalAlpha = this.shade(box) * (isDim ? 0.4 : 1);
			p.fillRect(x, y, w - gap, ROW - 1);
		}
		p.globalAlpha = isDim ? 0.45 : 1;
		this.drawWaiting(box, x, y, w - gap);
		if (box.flags & BODY && w > 6) {
			p.fillStyle = this.colour.accent;
			p.fillRect(x, y, 3, ROW - 1);
		}
		if (this.matched && this.isMatched(box)) {
			p.fillStyle = this.colour.mark;
			p.fillRect(x, y + ROW - 4, w - gap, 3);
		}
		p.globalAlpha = isDim ? 0.75 : 1;
		this.drawName(box, x, y, w - gap);
		p.globalAlpha = 1;
	},
	/* What is compared: time, or calls where only these were counted. */
	now: meta.times ? 'self' : 'calls',
	then: meta.times ? 'before' : 'calls_before',
	/* How much more of it a box has than before. */
	change(box) {
		if (box.more === undefined)
			box.more = box.sum(this.now, this.stacks.cut) -
				box.sum(this.then, this.stacks.cut);
		return box.more;
	},
	/* More is red, less is blue: the fuller, the larger the part. */
	drawChange(box, x, y, w) {
		const more = this.change(box);
		const whole = Math.max(box.sum(this.now, this.stacks.cut),
				       box.sum(this.then, this.stacks.cut));

		if (whole <= 0 || more === 0)
			return;
		this.paper.fillStyle = more > 0 ? this.colour.more :
			this.colour.less;
		this.paper.globalAlpha *= Math.min(1, 0.08 +
						   Math.abs(more) / whole);
		this.paper.fillRect(x, y, w, ROW - 1);
	},
	/* The part in which threads did not run is lighter, on the right. */
	drawWaiting(box, x, y, w) {
		const part = this.waiting(box) * w;

		if (part < 1)
			return;
		this.paper.fillStyle = this.colour.back;
		this.paper.globalAlpha *= 0.6;
		this.paper.fillRect(x + w - part, y, part, ROW - 1);
		this.paper.globalAlpha /= 0.6;
	},
	/* As a part of the box's width. */
	waiting(box) {
		if (!this.stacks.hasWaiting || box.rest || box.total <= 0)
			return 0;
		if (box.off === undefined)
			box.off = box.sum('off', this.stacks.cut);
		return Math.min(1, box.off / box.total);
	},
	drawName(box, x, y, w) {
		const indent = box.flags & BODY ? 7 : 4;

		if (w < 18 + indent)
			return;
		this.paper.fillStyle = box.func || box.rest ?
			this.colour['text-on-box'] : this.colour.front;
		/* The part of a box that is off the canvas has no text. */
		const room = w - indent - 2;
		let text = fitText(this.paper, this.label(box), room);

		if (text.endsWith('\u2026') && box.func)
			text = this.fitName(box.name, room);
		this.paper.fillText(text, x + indent, y + ROW / 2);
	},
	/* What a long C++ function is called says most, and then what its
	 * template is made of. */
	fitName(name, room) {
		const p = format.parts(name), draw = this.paper;

		if (!p || !p.base)
			return fitText(draw, name, room);
		const all = fitText(draw, format.short(name), room);

		if (p.isOwn || !p.args || !all.endsWith('\u2026'))
			return all;
		const base = `::${p.base}`;
		const left = room - draw.measureText(base).width;

		return left < 30 ? fitText(draw, p.base, room) :
			fitText(draw, `\u2026${p.args}`, left) + base;
	},
	label(box) {
		const omitted = box.flags & OMITTED && box.func &&
			this.stacksIn(box);

		return omitted > 1 ? `${box.name}: ${format.count(omitted)}` +
			' stacks' : format.brief(box.name, 400);
	},
	stacksIn(box) { return box.own('stacks'); },
	isMatched(box) {
		if (!box.rest)
			return this.matched[box.func] === 1;
		return false;
	},
	drawChosen() {
		const at = (this.drawn[this.chosen.depth] || []).find(d =>
			d.box === this.chosen);

		if (!at || this.chosen === this.stacks.root)
			return;
		this.paper.strokeStyle = this.colour.front;
		this.paper.lineWidth = 2;
		this.paper.strokeRect(at.x + 1, at.box.depth * ROW - this.top + 1,
				      Math.max(1, at.w - 3), ROW - 3);
	},

	/* ---- the mouse ---- */

	/* The box at a place on the canvas. */
	hit(x, y) {
		const row = this.drawn[Math.floor((y + this.top) / ROW)] || [];

		for (const at of row)
			if (x >= at.x && x < at.x + Math.max(at.w, 1))
				return at.box;
		return null;
	},
	click(x, y) {
		const box = this.hit(x, y);

		if (!box)
			return;
		this.zoom(box.rest ? box.parent : box);
	},

	/* ---- keys ---- */

	/* Boxes beside the chosen one, in the row that its parent has. */
	beside(by) {
		const parent = this.chosen.parent;
		const below = parent ? this.stacks.below(parent) : [];
		const at = below[below.indexOf(this.chosen) + by];

		if (at)
			this.choose(at);
	},
	key(name) {
		const below = this.stacks.below(this.chosen);

		switch (name) {
		case 'ArrowDown': if (below[0]) this.choose(below[0]); break;
		case 'ArrowUp':
			if (this.chosen.parent)
				this.choose(this.chosen.parent);
			break;
		case 'ArrowLeft': this.beside(-1); break;
		case 'ArrowRight': this.beside(1); break;
		case 'Enter': this.zoom(this.chosen); break;
		case 'Backspace': this.out(); break;
		case 'PageDown': this.scroll(this.canvas.clientHeight / 2);
			break;
		case 'PageUp': this.scroll(-this.canvas.clientHeight / 2);
			break;
		default: return false;
		}
		return true;
	},

	/* ---- what is told of a box ---- */

	/* Its figures, a line each. */
	tell(box) {
		const s = this.stacks, whole = s.root.total;
		const lines = [`${s.measure.title}: ` + this.figure(box.total) +
			`, ${format.share(box.total, whole)} of all` +
			(this.zoomed !== s.root ? ', ' +
			 format.share(box.total, this.zoomed.total) +
			 ' of the widest' : '')];

		if (box.rest) {
			lines.push(`${format.many(box.rest, 'box')}`.replace(
				/box$/, 'boxes') + ' too small to be drawn: ' +
				'zoom in to see them');
			return lines;
		}
		if (data.diff)
			lines.push(this.tellChange(box));
		if (meta.times && s.measure.name !== 'self')
			lines.push(`time: ${format.time(box.sum('self', s.cut))}`);
		if (meta.times)
			lines.push(`in its own code (self): ` +
				   format.time(box.own('self')));
		lines.push(format.many(box.own('calls'), 'call') +
			   (box.parent && box.parent.func ? ' under ' +
			    format.brief(box.parent.name, 60) : ''));
		if (meta.switches && nodes.own.off) {
			lines.push('threads slept in it (blocked): ' +
				   format.time(box.sum('blocked', s.cut)));
			lines.push('threads had no core (run-wait): ' +
				   format.time(box.sum('ready', s.cut)));
		}
		if (nodes.own.suspended.some(x => x > 0))
			lines.push('its coroutine slept (suspended): ' +
				   format.time(box.sum('suspended', s.cut)));
		if (nodes.own.raw)
			lines.push('as recorded: ' +
				   format.time(box.sum('raw', s.cut)));
		if (box.flags & BODY)
			lines.push('body of a coroutine');
		if (box.flags & OMITTED && box.func && this.stacksIn(box) > 1)
			lines.push(`${format.count(this.stacksIn(box))} small ` +
				   'stacks, folded when this page was written');
		if (functions.place(box.func))
			lines.push(format.brief(functions.place(box.func)));
		else if (functions.module(box.func))
			lines.push(format.brief(functions.module(box.func)));
		return lines;
	},
	tellChange(box) {
		const before = box.sum(this.then, this.stacks.cut);
		const more = this.change(box);
		const tell = meta.times ? format.time : format.count;

		return `${meta.times ? 'time' : 'calls'} before: ` +
			`${tell(before)}, after: ${tell(before + more)}: ` +
			(more === 0 ? 'the same' : more > 0 ?
			 `${tell(more)} more` : `${tell(-more)} less`) +
			(before > 0 ? ` (${more > 0 ? '+' : ''}` +
			 `${(100 * more / before).toFixed(1)}%)` : ', new');
	},
	figure(value) {
		const { isTime, isBytes } = this.stacks.measure;

		return isTime ? format.time(value) :
			isBytes ? format.bytes(value) : format.count(value);
	},
};
