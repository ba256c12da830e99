// opens.js - runs after all scripts of a page of weft html: when was that?
// SPDX-License-Identifier: MIT
{
const told = document.createElement('pre');

told.id = 'told';
told.textContent = `nodes: ${nodes.count}\nms: ${Math.round(performance.now())} ` +
	'ms\nend';
document.body.append(told);
}
