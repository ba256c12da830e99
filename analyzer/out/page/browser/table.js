/* table.js - rows that can be sorted, filtered and gone through by keys. Only
 * those in sight exist as elements.
 * SPDX-License-Identifier: MIT */

/* Pixels of a row; rows on paper; letters of a long text that stay at its end. */
const HEIGHT = 22, PRINTED = 150, TAIL = 24;
let isPrinting = false;

/* columns: { title, help, unit, width, value(row), text(row), barOf, tail }. text
 * is what is shown, where the unit does not say it; tail: as TAIL, of this
 * column. */
class Table {
	constructor(place, columns, onChoose = () => {}, onEnter = () => {}) {
		this.place = place;
		this.columns = columns;
		this.onChoose = onChoose;
		this.onEnter = onEnter;
		this.all = this.rows = [];
		this.chosen = -1;
		this.sorted = columns.findIndex(c => c.isFirst);
		this.rises = false;
		this.head = element('div', 'row head');
		this.body = element('div', 'body');
		this.body.tabIndex = 0;
		this.body.setAttribute('role', 'grid');
		this.space = element('div', 'space');
		place.replaceChildren(this.body);
		this.layout = columns.map(c => c.width).join(' ');
		this.makeHead();
		this.body.addEventListener('scroll', () => this.draw());
		this.body.addEventListener('keydown', e => this.key(e));
		new ResizeObserver(() => this.draw()).observe(this.body);
	}
	makeHead() {
		this.head.style.gridTemplateColumns = this.layout;
		this.titles = this.columns.map((column, i) => {
			const e = element('div', Table.isText(column) ? '' :
					  'number', column.title);

			e.title = column.help || '';
			e.addEventListener('click', () => this.sortBy(i));
			this.head.append(e);
			return e;
		});
	}
	static isText(column) { return column.unit === 'text'; }
	show(rows) {
		this.all = rows;
		this.chosen = -1;
		this.body.scrollTop = 0;
		this.filter(this.isShown);
	}
	/* isShown: of a row; undefined: all are. */
	filter(isShown) {
		const chosen = this.rows[this.chosen];

		this.isShown = isShown;
		this.rows = isShown ? this.all.filter(isShown) :
			this.all.slice();
		this.sort();
		this.chosen = chosen === undefined ? -1 :
			this.rows.indexOf(chosen);
		this.draw();
	}
	/* Figures fall at first, texts rise; once more turns it round. */
	sortBy(i) {
		const chosen = this.rows[this.chosen];

		this.rises = this.sorted === i ? !this.rises :
			Table.isText(this.columns[i]);
		this.sorted = i;
		this.sort();
		this.chosen = this.rows.indexOf(chosen);
		this.body.scrollTop = 0;
		this.draw();
	}
	sort() {
		const column = this.columns[this.sorted];

		this.titles.forEach((e, i) => {
			e.textContent = this.columns[i].title +
				(i !== this.sorted ? '' :
				 this.rises ? ' \u25b4' : ' \u25be');
		});
		if (!column)
			return;
		const sign = this.rises ? 1 : -1;
		const keyed = this.rows.map((row, i) =>
			({ row, i, key: column.value(row) }));

		keyed.sort((x, y) => (x.key === y.key ? x.i - y.i :
			x.key === null ? 1 : y.key === null ? -1 :
			x.key < y.key ? -sign : sign));
		this.rows = keyed.map(k => k.row);
	}
	/* Choose a row by what it is. */
	find(row) {
		this.chosen = this.rows.indexOf(row);
		if (this.chosen >= 0)
			this.reveal();
		this.draw();
	}
	choose(i) {
		if (this.rows.length === 0)
			return;
		this.chosen = Math.min(this.rows.length - 1, Math.max(0, i));
		this.reveal();
		this.draw();
		this.onChoose(this.rows[this.chosen]);
	}
	reveal() {
		const y = this.chosen * HEIGHT;
		const room = this.body.clientHeight - HEIGHT;

		if (y < this.body.scrollTop)
			this.body.scrollTop = y;
		else if (y + HEIGHT > this.body.scrollTop + room)
			this.body.scrollTop = y + HEIGHT - room;
	}
	key(e) {
		const page = Math.max(1, Math.floor(this.body.clientHeight /
						    HEIGHT) - 1);
		const by = { ArrowDown: 1, ArrowUp: -1, PageDown: page,
			     PageUp: -page, Home: -1e9, End: 1e9 }[e.key];

		const way = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
		const last = this.columns.length - 1;

		if (by !== undefined)
			this.choose(this.chosen + by);
		else if (way)
			this.sortBy(Math.min(last, Math.max(0,
				this.sorted + way)));
		else if (e.key === 'Enter' && this.chosen >= 0)
			this.onEnter(this.rows[this.chosen]);
		else
			return;
		e.preventDefault();
	}
	/* Usually those in sight, and a few more. On paper there is no
	 * scrolling: as many rows as a few pages hold. */
	draw() {
		const most = isPrinting ? PRINTED :
			Math.ceil(this.body.clientHeight / HEIGHT) + 2;
		const first = isPrinting ? 0 :
			Math.floor(this.body.scrollTop / HEIGHT);
		const made = [this.head, this.space];

		this.space.style.height = `${this.rows.length * HEIGHT}px`;
		for (let i = first; i < this.rows.length && i < first + most; i++)
			made.push(this.makeRow(i));
		if (this.rows.length === 0)
			made.push(element('div', 'empty', this.all.length > 0 ?
				'nothing matches' : 'none'));
		if (isPrinting && this.rows.length > most)
			made.push(element('div', 'empty', 'and ' +
				format.many(this.rows.length - most, 'more row')));
		this.body.replaceChildren(...made);
	}
	makeRow(i) {
		const row = this.rows[i];
		const e = element('div', 'row' + (i === this.chosen ?
						  ' chosen' : ''));

		e.style.top = `${(i + 1) * HEIGHT}px`;
		e.style.gridTemplateColumns = this.layout;
		for (const column of this.columns)
			e.append(Table.makeCell(column, row));
		e.addEventListener('click', () => this.choose(i));
		e.addEventListener('dblclick', () => this.onEnter(row));
		return e;
	}
	/* Where there is no room for a long name, its middle goes: the ends
	 * tell templates of one name apart, their parameters do not. */
	static keepTail(cell, name, tail) {
		/* A stack is several names. */
		const names = name.split(' \u2039 ');
		const text = names.map(format.short).join(' \u2039 ')
			.replace(/(?<=\S)\([^()]*\)( const)?$/, '()');
		const p = names.length === 1 && format.parts(name);
		const kept = !p || !p.args ? tail : p.isOwn ? 14 :
			Math.min(p.base.length + 2, 2 * TAIL);

		if (text.length <= kept) {
			cell.textContent = text;
			return;
		}
		cell.classList.add('long');
		cell.replaceChildren(
			element('span', '', text.slice(0, -kept).slice(0, 300)),
			element('span', '', text.slice(-kept)));
	}
	static makeCell(column, row) {
		const text = column.text ? column.text(row) :
			format.value(column.value(row), column.unit);
		const cell = element('div', Table.isText(column) ? '' :
				     'number', format.brief(text));

		const tail = column.tail || TAIL;

		if (cell.textContent.length > 2 * tail && Table.isText(column))
			Table.keepTail(cell, text, tail);
		if (Table.isText(column))
			cell.title = format.brief(column.full ?
				column.full(row) : text, 2000);
		if (column.barOf) {
			cell.classList.add('bar');
			if (column.isLua(row))
				cell.classList.add('is-lua');
			cell.style.setProperty('--share', column.barOf(row));
		}
		return cell;
	}
}

/* Columns and rows of a table of the data. A row is its index there. only: the
 * names of the columns that are wanted, in this order; others stay away. width: of a figure. */
function columnsOf(table, only, width) {
	return only.map(name => {
		const i = table.columns.findIndex(c => c.name === name);

		if (i < 0)
			return null;
		const { title, help, unit } = table.columns[i];
		const values = table.values[i];

		return { title: title.replace(/^suspended-/, 'susp. '), help,
			 unit, width: unit === 'text' ?
			'minmax(70px, 0.6fr)' : width,
			 value: row => values[row] };
	}).filter(c => c && !isEmpty(c, table));
}

/* Does a column say nothing? */
function isEmpty(column, table) {
	for (let row = 0; row < table.func.length; row++) {
		const value = column.value(row);

		if (value !== null && value !== 0 && value !== '')
			return false;
	}
	return true;
}

function rowsOf(table) { return table.func.map((_, i) => i); }

/* The columns of a function's name and place; func: of a row. */
function placeColumns(func) {
	return [
		{ title: 'function', unit: 'text',
		  width: 'minmax(200px, 3fr)',
		  value: row => functions.name(func(row)) },
		{ title: 'lang', unit: 'text', width: '64px',
		  help: 'native or lua',
		  value: row => functions.language(func(row)) },
		{ title: 'file:line', unit: 'text',
		  width: 'minmax(132px, 1.3fr)',
		  help: 'where it is in the source', tail: 6,
		  value: row => functions.shortPlace(func(row)),
		  full: row => `${functions.place(func(row))}\n` +
			functions.module(func(row)) },
	];
}
