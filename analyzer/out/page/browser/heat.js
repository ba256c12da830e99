/* heat.js - single calls by when they began and how long they took: the darker
 * a cell, the more calls. The slowest of all are listed with their stacks.
 * SPDX-License-Identifier: MIT */

const heat = {
	canvas: document.getElementById('heat'),
	data: data.calls,
	chosen: null,          /* { column, row } */
	onChoose() {},

	start() {
		const { cells, columns, least } = this.data;

		this.rows = least.length;
		this.byRow = new Float64Array(this.rows);
		for (let i = 0; i < cells.length; i++)
			this.byRow[i % this.rows] += cells[i];
		this.most = cells.reduce((m, n) => Math.max(m, n), 1);
		this.low = this.byRow.findIndex(n => n > 0);
		this.high = this.byRow.findLastIndex(n => n > 0);
		this.isEmpty = columns === 0 || this.low < 0;
	},
	at(column, row) { return this.data.cells[column * this.rows + row]; },
	/* The time and the duration that a cell begins with. */
	when(column) {
		return this.data.length * column / this.data.columns;
	},
	draw() {
		if (!this.data || this.canvas.clientWidth === 0)
			return;
		const { draw, width, height } = fitCanvas(this.canvas);

		this.paper = draw;
		this.colour = colours();
		draw.font = TEXT;
		draw.textBaseline = 'middle';
		/* Left: durations; right: how many calls each row has. */
		this.box = { x: 84, y: 6, w: width - 84 - 150, h: height - 30 };
		if (this.isEmpty) {
			draw.fillStyle = this.colour.dim;
			draw.fillText('no call came to an end', 20, 20);
			return;
		}
		this.cellHeight = this.box.h / (this.high - this.low + 1);
		this.drawCells();
		this.drawRows();
		this.drawTimes();
	},
	y(row) { return this.box.y + (this.high - row) * this.cellHeight; },
	drawCells() {
		const { columns } = this.data, p = this.paper;
		const wide = this.box.w / columns;

		for (let column = 0; column < columns; column++)
			for (let row = this.low; row <= this.high; row++) {
				const n = this.at(column, row);

				if (n === 0)
					continue;
				p.globalAlpha = 0.12 + 0.88 * Math.log1p(n) /
					Math.log1p(this.most);
				p.fillStyle = this.colour.accent;
				p.fillRect(this.box.x + column * wide,
					   this.y(row), Math.max(wide - 0.5, 0.7),
					   this.cellHeight - 1);
			}
		p.globalAlpha = 1;
		if (!this.chosen)
			return;
		p.strokeStyle = this.colour.mark;
		p.lineWidth = 2;
		p.strokeRect(this.box.x + this.chosen.column * wide - 1,
			     this.y(this.chosen.row) - 1, wide + 2,
			     this.cellHeight + 1);
	},
	drawRows() {
		const p = this.paper;
		const most = this.byRow.reduce((m, n) => Math.max(m, n), 1);
		const every = Math.ceil(16 / this.cellHeight);

		for (let row = this.low; row <= this.high; row++) {
			const y = this.y(row), right = this.box.x + this.box.w;

			p.fillStyle = this.colour.native;
			p.fillRect(right + 8, y, 134 * Math.log1p(
				this.byRow[row]) / Math.log1p(most),
				this.cellHeight - 1);
			p.fillStyle = this.colour.dim;
			if ((row - this.low) % every !== 0)
				continue;
			p.textAlign = 'right';
			p.fillText(row === 0 ? '0' :
				format.time(this.data.least[row]), this.box.x -
				6, y + this.cellHeight - 2);
			p.textAlign = 'left';
			p.fillStyle = this.colour.front;
			p.fillText(format.count(this.byRow[row]), right + 12,
				   y + this.cellHeight / 2);
		}
	},
	drawTimes() {
		const p = this.paper, y = this.box.y + this.box.h + 12;

		p.fillStyle = this.colour.dim;
		for (let i = 0; i <= 6; i++) {
			p.textAlign = i === 6 ? 'right' : 'left';
			p.fillText(format.moment(this.data.length * i / 6),
				this.box.x + this.box.w * i / 6, y);
		}
		p.textAlign = 'left';
		p.fillText('calls (log)', this.box.x + this.box.w + 12, y);
	},
	hit(x, y) {
		if (this.isEmpty || !this.box || x < this.box.x ||
		    x >= this.box.x + this.box.w || y < this.box.y)
			return null;
		const row = this.high - Math.floor((y - this.box.y) /
						   this.cellHeight);

		return row < this.low ? null : { row,
			column: Math.floor((x - this.box.x) / this.box.w *
					   this.data.columns) };
	},
	choose(cell) {
		this.chosen = cell;
		this.onChoose(cell);
		this.draw();
	},
	key(name) {
		const by = { ArrowLeft: [-1, 0], ArrowRight: [1, 0],
			     ArrowUp: [0, 1], ArrowDown: [0, -1] }[name];

		if (!by || this.isEmpty)
			return false;
		const at = this.chosen || { column: 0, row: this.high };

		this.choose({
			column: Math.min(this.data.columns - 1,
					 Math.max(0, at.column + by[0])),
			row: Math.min(this.high,
				      Math.max(this.low, at.row + by[1])) });
		return true;
	},
	/* A sentence about a cell. */
	tell(cell) {
		const { least } = this.data, n = this.at(cell.column, cell.row);

		return `${format.many(n, 'call')} that began from ` +
			`${format.moment(this.when(cell.column))} to ` +
			`${format.moment(this.when(cell.column + 1))} and took ` +
			(cell.row === 0 ? '0' : format.time(least[cell.row])) +
			(cell.row + 1 < this.rows ? ' to ' +
			 format.time(least[cell.row + 1]) : ' or more');
	},
	/* Is a listed call (an array) in the cell? */
	holds(cell, call) {
		const { columns, length, least } = this.data;
		const column = Math.min(columns - 1,
			Math.floor(call[2] / length * columns));

		return column === cell.column && call[3] >= least[cell.row] &&
			!(call[3] >= least[cell.row + 1]);
	},
};
