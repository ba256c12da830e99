/* timeline.js - what ran when: a lane for each thread and coroutine. A canvas
 * shows the lanes that are in sight, in the time that is chosen.
 * SPDX-License-Identifier: MIT */

/* Kinds of spans: enum span_kind. */
const CALL = 0, GUEST = 1, LOST = 2, RUN = 3, OFF = 4, SAMPLED = 7;
/* Pixels: of a row of calls, of the names at the left, of the axis on top; and
 * rows that a lane has until it is opened by a click on its name. */
const LANE_ROW = 15, NAMES = 200, AXIS = 22, CLOSED = { thread: 7, coroutine: 3 };

/* Steps of a path: enum path_kind. */
const STEPS = ['runs', 'run-wait', 'waits for', 'blocked', 'other wait',
	       'suspended', 'not recorded'];
const RUNS = 0, WAITS = 2, SUSPENDED = 5;

/* The spans of the data as arrays; times since the begin of the time line. */
function readSpans(from) {
	const count = from.from.length;
	const spans = { first: from.first, from: new Float64Array(count),
			to: new Float64Array(count) };

	for (let lane = 0; lane + 1 < from.first.length; lane++) {
		let at = 0;

		for (let i = from.first[lane]; i < from.first[lane + 1]; i++) {
			at += from.from[i];
			spans.from[i] = at;
			spans.to[i] = at + from.length[i];
		}
	}
	for (const name of ['kind', 'calls', 'folded', 'func', 'depth', 'to',
			    'back', 'ready'])
		spans[name === 'to' ? 'lane' : name] = from[name];
	return spans;
}

const timeline = {
	canvas: document.getElementById('spans'),
	data: data.timeline,
	lanes: [],             /* that are shown: { i, y, rows, isOpen } */
	from: 0, to: 1,        /* the time that is shown */
	top: 0, height: 0,
	drawn: [],             /* what the mouse may be on */
	chosen: null,          /* a span and its lane */
	marked: null,          /* { from, to }: what was asked for elsewhere, */
	part: null,            /* and the range that is chosen */
	onChoose() {},
	onMove() {},
	onOnly() {},

	start() {
		this.spans = readSpans(this.data.spans);
		this.waits = readSpans(this.data.waits);
		/* Runs that are shown in more lanes than their own. */
		this.room = this.spans.from.length * 2;
		this.all = this.data.lanes.map((lane, i) => this.lane(lane, i))
			.filter(l => l.rows.length > 0);
		this.all.sort((x, y) => x.isCoroutine - y.isCoroutine ||
			x.begin - y.begin || x.i - y.i);
		this.of = new Map(this.all.map(l => [l.i, l]));
		this.path = this.pathLane(this.data.path);
		this.memory = this.memoryLane(this.data.memory);
		this.above = [this.path, this.memory].filter(lane => lane);
		this.holds = this.data.holds || [];
		this.filter(() => true);
		this.whole();
	},
	lane(lane, i) {
		const rows = [];

		this.addSpans(rows, i, 0, 0, Infinity, 0);
		return { i, rows, isOpen: false, isCoroutine: lane.coroutine,
			 isHandler: lane.handler, thread: lane.thread,
			 runs: lane.runs, begin: lane.begin, end: lane.end,
			 body: lane.body,
			 name: lane.coroutine ? (lane.body ?
				functions.name(lane.body) : '[coroutine]') +
				` #${lane.name}` : lane.name,
			 /* What tells it from others of the same body. */
			 tail: lane.coroutine ? ` #${lane.name}` : '' };
	},
	/* The spans of lane i from one moment to another, its first row being
	 * row `at`. What coroutines did while they were resumed there follows
	 * below, so that a lane has whole stacks; within: in so many others. Of
	 * those, only calls are added. */
	addSpans(rows, i, at, from, to, within) {
		const s = this.spans, last = s.first[i + 1];

		for (let k = this.firstSpan(i, from);
		     k < last && s.from[k] < to; k++) {
			const row = at + s.depth[k];

			if (within > 0 && (s.kind[k] === RUN || s.to[k] > to))
				continue;
			(rows[row] = rows[row] || []).push(k);
			if (s.kind[k] === GUEST && s.lane[k] && !s.folded[k] &&
			    within < 100 && this.room-- > 0)
				this.addSpans(rows, s.lane[k] - 1, row,
					      s.from[k], s.to[k], within + 1);
		}
	},
	/* The first span of a lane that begins at a moment or later. */
	firstSpan(lane, at) {
		let low = this.spans.first[lane];
		let high = this.spans.first[lane + 1];

		while (low < high) {
			const middle = (low + high) >> 1;

			if (this.spans.from[middle] >= at)
				high = middle;
			else
				low = middle + 1;
		}
		return low;
	},
	/* What the slowest request did stands above all lanes. */
	pathLane(path) {
		return path && { i: -1, rows: [], shown: 1, steps: path.steps,
			tail: '', name: 'path of the slowest ' +
			functions.name(path.func) + (path.coroutine ?
			` #${path.coroutine}` : '') };
	},
	/* So does the memory in use: the most in each part of the time. */
	memoryLane(memory) {
		return memory && { i: -1, rows: [], shown: 2, tail: '',
			memory, most: Math.max(1, ...memory),
			name: `memory in use${this.data.mean > 0 ?
				', by samples' : ''}` };
	},
	filter(isShown) {
		this.lanes = this.all.filter(isShown);
		this.top = 0;
		this.place();
	},
	/* Give each lane its place from the top. */
	place() {
		let y = AXIS;

		for (const lane of this.all)
			lane.y = -1;
		for (const lane of this.above) {
			lane.y = y;
			y += lane.shown * LANE_ROW + 8;
		}
		for (const lane of this.lanes) {
			const most = lane.isOpen ? Infinity :
				CLOSED[lane.isCoroutine ? 'coroutine' : 'thread'];

			lane.shown = Math.max(1, Math.min(lane.rows.length,
							  most));
			lane.y = y;
			y += lane.shown * LANE_ROW + 5;
		}
		this.height = y;
	},
	whole() { this.show(0, this.data.length); },
	show(from, to) {
		const length = Math.min(this.data.length,
					Math.max(to - from, 20));

		this.from = Math.max(0, Math.min(from,
						 this.data.length - length));
		this.to = this.from + length;
		this.onMove();
		this.draw();
	},
	/* at: the moment that stays where it is. */
	zoom(factor, at = (this.from + this.to) / 2) {
		this.show(at - (at - this.from) * factor,
			  at + (this.to - at) * factor);
	},
	pan(part) {
		const by = (this.to - this.from) * part;
		const from = Math.max(0, Math.min(this.from + by,
			this.data.length - (this.to - this.from)));

		this.show(from, from + this.to - this.from);
	},
	scroll(by) {
		const most = Math.max(0, this.height - this.canvas.clientHeight);

		this.top = Math.min(most, Math.max(0, this.top + by));
		this.draw();
	},
	x(at) {
		return NAMES + (at - this.from) / (this.to - this.from) *
			(this.width - NAMES);
	},
	when(x) {
		return this.from + (x - NAMES) / (this.width - NAMES) *
			(this.to - this.from);
	},

	/* ---- drawing ---- */

	draw() {
		if (!this.data || this.canvas.clientWidth === 0)
			return;
		const { draw, width, height } = fitCanvas(this.canvas);

		this.paper = draw;
		this.width = width;
		this.colour = colours();
		this.drawn = [];
		this.arrows = [];
		draw.font = TEXT;
		draw.textBaseline = 'middle';
		for (const lane of this.lanes) {
			const y = lane.y - this.top;

			if (y + lane.shown * LANE_ROW >= AXIS && y < height)
				this.drawLane(lane, y);
		}
		this.drawArrows();
		this.drawHolds();
		if (this.path)
			this.drawPath(this.path, this.path.y - this.top);
		if (this.memory)
			this.drawMemory(this.memory, this.memory.y - this.top);
		this.drawMarked(height);
		this.drawNames(height);
		this.drawAxis(height);
	},
	drawLane(lane, y) {
		const p = this.paper;

		/* A coroutine is suspended between its runs. */
		if (lane.isCoroutine) {
			const left = Math.max(NAMES, this.x(lane.begin));
			const right = Math.min(this.width, this.x(lane.end));

			p.fillStyle = this.colour.line;
			if (right > left)
				p.fillRect(left, y + 6, right - left, 3);
		}
		this.texts = [];
		for (let depth = 0; depth < lane.shown; depth++)
			this.drawRow(lane, depth, y + depth * LANE_ROW);
		this.drawWaits(lane, y);
		for (const [text, x, at, colour] of this.texts) {
			p.fillStyle = colour;
			p.fillText(text, x, at);
		}
	},
	/* What a thread shows while it is off the CPU is lighter. */
	drawWaits(lane, y) {
		const { first, from, to } = this.waits;
		const p = this.paper, row = LANE_ROW - 1;
		let i = this.firstWait(lane, this.from);

		for (; meta.switches && i < first[lane.i + 1] &&
		     from[i] < this.to; i++) {
			const x = Math.max(NAMES, this.x(from[i]));
			const w = Math.min(this.width, this.x(to[i])) - x;

			if (w < 0.05)
				continue;
			p.globalAlpha = 0.6;
			p.fillStyle = this.colour.back;
			p.fillRect(x, y, w, lane.shown * LANE_ROW);
			p.globalAlpha = 1;
			if (w > 50)
				this.texts.push([fitText(p,
					this.waits.ready[i] ? 'run-wait' :
						'blocked', w - 6),
					x + 3, y + row / 2, this.colour.dim]);
		}
	},
	/* The first wait of a lane that ends after a moment. */
	firstWait(lane, at) {
		let low = this.waits.first[lane.i];
		let high = this.waits.first[lane.i + 1];

		while (low < high) {
			const middle = (low + high) >> 1;

			if (this.waits.to[middle] > at)
				high = middle;
			else
				low = middle + 1;
		}
		return low;
	},
	/* How much of a span its thread was blocked, and had no core. */
	waited(lane, span) {
		const { first, from, to, ready } = this.waits;
		const begin = this.spans.from[span], end = this.spans.to[span];
		const all = [0, 0];
		let i = this.firstWait(lane, begin);

		for (; meta.switches && i < first[lane.i + 1] &&
		     from[i] < end; i++)
			all[ready[i]] += Math.min(end, to[i]) -
				Math.max(begin, from[i]);
		return all;
	},
	/* The first span of a row that ends after a moment. */
	firstAfter(row, at) {
		let low = 0, high = row.length;

		while (low < high) {
			const middle = (low + high) >> 1;

			if (this.spans.to[row[middle]] > at)
				high = middle;
			else
				low = middle + 1;
		}
		return low;
	},
	/* Spans that fall on a pixel that has one are passed over. */
	drawRow(lane, depth, y) {
		const row = lane.rows[depth] || [];
		let done = -1;

		for (let k = this.firstAfter(row, this.from); k < row.length;
		     k++) {
			const i = row[k];

			if (this.spans.from[i] >= this.to)
				break;
			const left = Math.max(NAMES,
					      this.x(this.spans.from[i]));
			const right = Math.min(this.width,
					       this.x(this.spans.to[i]));

			if (Math.floor(right) <= done && right - left < 1)
				continue;
			this.drawSpan(lane, i, left, Math.max(1, right - left),
				      y);
			done = Math.floor(right);
		}
	},
	fill(i) {
		const { kind, func } = this.spans;

		if (kind[i] === RUN)
			return this.colour.none;
		if (kind[i] === LOST)
			return this.colour.more;
		if (kind[i] === OFF)
			return this.colour.line;
		if (kind[i] === GUEST)
			return this.colour.accent;
		return flame.fill.call(this, { func: func[i] });
	},
	drawSpan(lane, i, x, w, y) {
		const s = this.spans, p = this.paper;

		p.globalAlpha = s.kind[i] === GUEST ? 0.25 :
			s.kind[i] === SAMPLED ? 0.6 : 1;
		if (flame.matched && !flame.matched[s.func[i]])
			p.globalAlpha *= 0.3;
		p.fillStyle = this.fill(i);
		p.fillRect(x, y, w > 3 ? w - 1 : w, LANE_ROW - 1);
		if (s.kind[i] === CALL) {
			p.globalAlpha *= 1.6 * flame.shade({ func: s.func[i] });
			p.fillStyle = this.colour.front;
			p.fillRect(x, y, w > 3 ? w - 1 : w, LANE_ROW - 1);
		}
		p.globalAlpha = 1;
		this.drawn.push({ lane, i, x, y, w });
		/* A thread's first row has "waiting" where it did. */
		if (w > 24 && !(meta.switches && s.kind[i] === RUN &&
				!lane.isCoroutine))
			this.texts.push([fitText(p, this.title(i), w - 6),
				x + 3, y + LANE_ROW / 2, s.kind[i] === GUEST ?
				this.colour.front : this.colour['text-on-box']]);
		if (this.chosen === i) {
			p.strokeStyle = this.colour.front;
			p.lineWidth = 2;
			p.strokeRect(x + 1, y + 1, Math.max(1, w - 2),
				     LANE_ROW - 3);
		}
		if (s.kind[i] === RUN && s.lane[i])
			this.arrows.push({ lane, i, y });
	},
	title(i) {
		const s = this.spans;
		const name = s.kind[i] === RUN ? 'running' :
			s.kind[i] === LOST ? 'records are missing here' :
			s.kind[i] === OFF ? 'the thread was not recorded here' :
			s.kind[i] === GUEST ?
			`resumed ${functions.name(s.func[i])}` :
			functions.name(s.func[i]) +
			(s.kind[i] === SAMPLED ? ' [sampled]' : '');

		return s.folded[i] && s.calls[i] > 1 ?
			`${name} \u00d7${format.count(s.calls[i])}` : name;
	},
	/* Who resumed it, and to whom it went back. More of them would hide
	 * what they join. */
	drawArrows() {
		if (this.arrows.length > 150)
			return;
		for (const { i, y } of this.arrows) {
			const s = this.spans;

			if (s.folded[i])
				continue;
			this.drawArrow(s.lane[i], s.from[i], y, true);
			if (s.back[i])
				this.drawArrow(s.lane[i], s.to[i], y, false);
		}
	},
	drawArrow(number, at, y, isResume) {
		const other = this.of.get(number - 1), x = this.x(at);
		const p = this.paper;

		if (!other || other.y < 0 || x < NAMES || x > this.width)
			return;
		const from = other.y - this.top + 7, to = y + 7;

		p.strokeStyle = p.fillStyle = isResume ? this.colour.accent :
			this.colour.dim;
		this.drawVertical(x, isResume ? from : to, isResume ? to : from);
	},
	drawVertical(x, begin, end) {
		const p = this.paper, way = end > begin ? -1 : 1;

		p.lineWidth = 1;
		p.beginPath();
		p.moveTo(x, begin);
		p.lineTo(x, end);
		p.stroke();
		p.beginPath();
		p.moveTo(x, end);
		p.lineTo(x - 3, end + way * 6);
		p.lineTo(x + 3, end + way * 6);
		p.fill();
	},
	/* Who waited, and who held what it waited for, until that let it go. */
	drawHolds() {
		const p = this.paper;

		this.held = 0;
		for (const [lane, from, length, holder, at] of this.holds) {
			const to = this.of.get(lane - 1);
			const by = this.of.get(holder - 1), x = this.x(at);

			if (!to || !by || to.y < 0 || by.y < 0 || x < NAMES ||
			    x > this.width || this.x(from + length) -
			    this.x(from) < 5 || this.held >= 150)
				continue;
			this.held++;
			p.strokeStyle = p.fillStyle = this.colour.more;
			p.setLineDash([4, 3]);
			this.drawVertical(x, to.y - this.top + 7,
					  by.y - this.top + 7);
			p.setLineDash([]);
		}
	},
	drawPath(lane, y) {
		const p = this.paper;

		for (const step of lane.steps) {
			const [from, length, kind, func] = step;
			const x = Math.max(NAMES, this.x(from));
			const right = Math.min(this.width,
					       this.x(from + length));

			if (right <= x || y < AXIS - LANE_ROW)
				continue;
			const w = Math.max(1, right - x);

			p.globalAlpha = kind === SUSPENDED ? 0.25 : 1;
			p.fillStyle = kind === RUNS ?
				flame.fill.call(this, { func }) :
				kind === WAITS ? this.colour.more :
				kind === SUSPENDED ? this.colour.accent :
				this.colour.none;
			p.fillRect(x, y, w > 3 ? w - 1 : w, LANE_ROW - 1);
			p.globalAlpha = 1;
			this.drawn.push({ lane, step, x, y, w });
			if (w > 24) {
				p.fillStyle = this.colour['text-on-box'];
				p.fillText(fitText(p, this.stepTitle(step),
						   w - 6), x + 3,
					   y + LANE_ROW / 2);
			}
		}
	},
	drawMemory(lane, y) {
		const p = this.paper, part = this.data.length / lane.memory.length;
		const high = lane.shown * LANE_ROW;

		p.fillStyle = this.colour.native;
		lane.memory.forEach((bytes, i) => {
			const x = Math.max(NAMES, this.x(i * part));
			const w = Math.min(this.width, this.x((i + 1) * part)) - x;
			const h = high * bytes / lane.most;

			if (w <= 0)
				return;
			p.fillRect(x, y + high - h, w + 0.5, h);
			this.drawn.push({ lane, bytes, from: i * part,
				to: (i + 1) * part, x, y, w, h: high });
		});
	},
	stepTitle([, , kind, func]) {
		const name = func ? functions.name(func) : '';

		return kind === RUNS && name !== '' ? name :
			`${STEPS[kind]} ${name}`;
	},
	/* By whom a step is explained: who ran or held the lock meanwhile, or
	 * resumed it. */
	tellStep([from, length, kind, , by]) {
		const lines = [`${STEPS[kind]}: ${format.time(length)}, from ` +
			`${format.moment(from)} on`];
		const other = this.of.get(by - 1);

		if (other)
			lines.push(`because of ${other.name}`);
		return lines;
	},
	drawMarked(height) {
		this.drawTimes(this.part, this.colour.accent, height);
		this.drawTimes(this.marked, this.colour.mark, height);
	},
	drawTimes(times, colour, height) {
		if (!times)
			return;
		const { from, to } = times, p = this.paper;

		p.fillStyle = colour;
		for (const at of [from, to])
			p.fillRect(this.x(at) - 1, AXIS, 2, height);
		p.globalAlpha = 0.08;
		p.fillRect(this.x(from), AXIS, this.x(to) - this.x(from),
			   height);
		p.globalAlpha = 1;
	},
	nameOf(lane) {
		const p = this.paper, { tail } = lane;
		const rest = lane.name.slice(0, lane.name.length - tail.length);

		return fitText(p, rest, NAMES - 26 -
			       p.measureText(tail).width) + tail;
	},
	drawNames(height) {
		const p = this.paper;

		p.fillStyle = this.colour.back;
		p.fillRect(0, 0, NAMES - 2, height);
		for (const lane of [...this.above, ...this.lanes]) {
			const y = lane.y - this.top;

			if (y < AXIS - LANE_ROW || y > height)
				continue;
			p.fillStyle = lane.isCoroutine ? this.colour.dim :
				this.colour.front;
			p.fillText((lane.rows.length <= lane.shown &&
				!lane.isOpen ? '' : lane.isOpen ? '\u25be ' :
				'\u25b8 ') + this.nameOf(lane), 4,
				y + LANE_ROW / 2);
			p.fillStyle = this.colour.line;
			p.fillRect(0, y - 3, this.width, 1);
		}
	},
	/* Round distances, so that about 8 fit. */
	drawAxis(height) {
		const p = this.paper;
		const length = format.ns(this.to - this.from);
		const rough = 10 ** Math.floor(Math.log10(length / 8));
		const step = [1, 2, 5, 10].map(n => n * rough)
			.find(n => length / n <= 9);
		const tick = step * meta.tick_hz / 1e9;

		const { offset } = this.data;

		p.fillStyle = this.colour.back;
		p.fillRect(0, 0, this.width, AXIS - 3);
		p.fillStyle = this.colour.dim;
		for (let k = Math.ceil((this.from + offset) / tick);
		     k * tick < this.to + offset; k++) {
			const x = this.x(k * tick - offset);
			const text = format.time(k * tick);

			if (x + 3 + p.measureText(text).width < this.width)
				p.fillText(text, x + 3, 9);
			p.globalAlpha = 0.35;
			p.fillRect(x, 0, 1, height);
			p.globalAlpha = 1;
		}
	},

	/* ---- mouse and keys ---- */

	hit(x, y) {
		for (let k = this.drawn.length; k-- > 0; ) {
			const d = this.drawn[k];

			if (x >= d.x && x < d.x + d.w + 1 && y >= d.y &&
			    y < d.y + (d.h || LANE_ROW) && y > AXIS)
				return d;
		}
		return null;
	},
	/* On a name: open or close the lane. On a span: choose it. */
	click(x, y) {
		const lane = this.lanes.find(l => y + this.top >= l.y &&
			y + this.top < l.y + l.shown * LANE_ROW + 5);

		if (x < NAMES && lane) {
			lane.isOpen = !lane.isOpen;
			this.place();
			this.draw();
			return;
		}
		const d = this.hit(x, y);

		if (!d || d.lane === this.memory)
			return;
		if (d.step) {
			if (d.step[3])
				this.onChoose(d.step[3]);
			return;
		}
		this.chosen = d.i;
		if (this.spans.func[d.i])
			this.onChoose(this.spans.func[d.i]);
		this.draw();
	},
	/* Make the chosen span as wide as the canvas. */
	zoomToChosen() {
		if (this.chosen === null)
			return;
		const from = this.spans.from[this.chosen];
		const to = this.spans.to[this.chosen];

		this.show(from - (to - from) * 0.05, to + (to - from) * 0.05);
	},
	key(name) {
		switch (name) {
		case '+': case '=': case 'w': this.zoom(0.5); break;
		case '-': case 's': this.zoom(2); break;
		case 'ArrowLeft': case 'a': this.pan(-0.25); break;
		case 'ArrowRight': case 'd': this.pan(0.25); break;
		case 'ArrowUp': this.scroll(-3 * LANE_ROW); break;
		case 'ArrowDown': this.scroll(3 * LANE_ROW); break;
		case 'PageUp': this.scroll(-300); break;
		case 'PageDown': this.scroll(300); break;
		case 'Home': this.whole(); break;
		case 'Enter': this.zoomToChosen(); break;
		case 'f': this.onOnly(); break;
		default: return false;
		}
		return true;
	},

	/* ---- what is told ---- */

	/* Its longest wait for something that another thread held. */
	tellHold(lines, lane, i) {
		const { from, to } = this.spans;
		const hold = this.holds.find(h => h[0] === lane.i + 1 &&
			h[1] >= from[i] && h[1] + h[2] <= to[i] &&
			this.of.has(h[3] - 1));

		if (hold)
			lines.push(`waited ${format.time(hold[2])} for ` +
				`${hold[5]}, because of ` +
				this.of.get(hold[3] - 1).name);
	},

	headOf({ i, step, bytes, lane }) {
		return step ? this.stepTitle(step) : lane !== this.memory ?
			this.title(i) : `${format.bytes(bytes)} in use`;
	},
	tell({ lane, i, step, from, to }) {
		if (step)
			return this.tellStep(step);
		if (lane === this.memory)
			return [`the most from ${format.moment(from)} to ` +
				format.moment(to)];
		const s = this.spans, length = s.to[i] - s.from[i];
		const lines = [`took ${format.time(length)}, from ` +
			`${format.moment(s.from[i])} to ` +
			`${format.moment(s.to[i])}, in ${lane.name}`];

		const [blocked, ready] = this.waited(lane, i);

		if (blocked > 0)
			lines.push('its thread slept (blocked) for ' +
				   format.time(blocked));
		if (ready > 0)
			lines.push('its thread had no core (run-wait) for ' +
				   format.time(ready));
		this.tellHold(lines, lane, i);
		if (s.kind[i] === SAMPLED)
			lines.push('as the ticks of sampled Lua saw it: it ' +
				'may have returned and begun again between');
		if (s.folded[i])
			lines.push('stands for several spans that are too ' +
				'short to be shown, as long as they are ' +
				'together; this is the longest one\'s name');
		if (s.calls[i] > 0)
			lines.push(`${format.many(s.calls[i], 'call')} began ` +
				   'here that have no box of their own, ' +
				   'itself included');
		const other = this.of.get(s.lane[i] - 1);

		if (other)
			lines.push((s.kind[i] === GUEST ? 'coroutine ' :
				    s.back[i] ? 'resumed by and went back to ' :
				    'resumed by ') + other.name);
		return lines;
	},
};
