// clicks.js - runs beside a page of weft html and looks for what is wrong with
// the program, as a person would who knows what question to ask: which function
// is hot, which call was slow, what is called too often, what waits, which
// coroutine sleeps, what a change has made slower. Writes to an element of its
// own, for each question, how many clicks it took and what is read then.
// SPDX-License-Identifier: MIT
{
const lines = [];
const get = id => document.getElementById(id);
let clicks = 0;
const click = e => {
	clicks++;
	e.click();
};
const tab = name => click([...get('tabs').children].find(e =>
	e.textContent === name));
const title = (id, name) => click([...get(id).querySelector('.head').children]
	.find(e => e.textContent.startsWith(name)));
// A list opens with a click, and the choice is another one.
const pick = (id, value) => {
	clicks += 2;
	get(id).value = value;
	get(id).dispatchEvent(new Event('change'));
};
const cells = (id, row = 0) => {
	const rows = get(id).querySelectorAll('.row:not(.head)');

	return rows[row] ? [...rows[row].children].map(e =>
		e.title || e.textContent) : [];
};
const column = (id, name) => [...get(id).querySelector('.head').children]
	.findIndex(e => e.textContent.startsWith(name));
const has = (id, name) => column(id, name) >= 0;
const read = (id, name, row) => cells(id, row)[column(id, name)];
const ask = (what, steps) => {
	clicks = 0;
	const said = steps();

	lines.push(`${what}: ${clicks} ${said}`);
};

try {
	ask('hot', () => {
		tab('Functions');
		return read('function-rows', 'function');
	});
	ask('often', () => {
		tab('Functions');
		title('function-rows', 'calls');
		return `${read('function-rows', 'function')} ` +
			read('function-rows', 'calls');
	});
	if (has('function-rows', 'blocked'))
		ask('wait', () => {
			tab('Functions');
			title('function-rows', 'blocked');
			return read('function-rows', 'function');
		});
	if (data.calls)
		ask('slow', () => {
			tab('Latency');
			title('slow-rows', 'self');
			return `${read('slow-rows', 'function')} ` +
				read('slow-rows', 'total');
		});
	if (data.sleeps)
		ask('sleep', () => {
			tab('Coroutines');
			pick('coroutine-kind', 'sleeps');
			return `${read('coroutine-rows', 'suspended in')} ` +
				read('coroutine-rows', 'longest');
		});
	if (data.diff)
		for (const row of [0, 1, 2])
			ask('change', () => {
				tab('Changes');
				return ['function', 'because'].map(name =>
					read('change-rows', name, row)).join(' ');
			});
	lines.push('end');
} catch (e) {
	lines.push(`failed: ${e.stack}`);
}
const told = document.createElement('pre');

told.id = 'told';
told.textContent = lines.join('\n');
document.body.append(told);
}
