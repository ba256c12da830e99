/* export_speedscope_time.c - a profile for each track, event by event.
 * SPDX-License-Identifier: MIT */
#include "analyzer/out/export/export.h"

#include "analyzer/base/mem.h"
#include "analyzer/model/group.h"
#include "analyzer/out/export/export_spans.h"
#include "analyzer/out/out_json.h"
#include "analyzer/out/out_number.h"

#include <inttypes.h>
#include <string.h>

struct writer {
	FILE *to;
	struct export_spans t;
	const char *between;     /* events */
};

/* The names of all spans, to which events refer. */
static void put_frames(struct writer *w)
{
	struct func_table *const funcs = w->t.session->funcs;

	fputs(",\"shared\":{\"frames\":[", w->to);
	for (uint32_t i = 0; i < w->t.names; i++) {
		const func_id id = export_spans_func(&w->t, i);
		const struct func *const f = id ? func_get(funcs, id) : NULL;

		fprintf(w->to, "%s\n{\"name\":%s", i > 0 ? "," : "",
			export_spans_json(&w->t, i));
		if (f && f->file[0] != '\0') {
			fputs(",\"file\":", w->to);
			out_json_text(w->to, f->file);
		}
		if (f && f->file_line > 0)
			fprintf(w->to, ",\"line\":%u", f->file_line);
		fputc('}', w->to);
	}
	fputs("]}", w->to);
}

static void put_event(void *ctx, const struct span *s, bool is_end)
{
	struct writer *const w = ctx;
	char line[128], *at = stpcpy(line, w->between);

	at = stpcpy(at, "\n{\"type\":\"");
	*at++ = is_end ? 'C' : 'O';
	at = stpcpy(at, "\",\"frame\":");
	at = out_number_digits(at, export_spans_name(&w->t, s), 1);
	at = stpcpy(at, ",\"at\":");
	at = out_number_digits(at, export_spans_ns(&w->t, is_end ? s->end :
						   s->begin), 1);
	*at++ = '}';
	fwrite_unlocked(line, 1, (size_t)(at - line), w->to);
	w->between = ",";
}

/* The end of the last span that no other contains. */
static ticks end_of(const struct track *k)
{
	ticks end = 0;

	for (size_t i = 0; i < k->count; i++)
		end = k->spans[i].end > end ? k->spans[i].end : end;
	return end;
}

static void put_profile(struct writer *w, size_t track)
{
	const struct track *const k = &w->t.found->tracks[track];
	char name[GROUP_NAME];

	fputs("\n{\"type\":\"evented\",\"name\":", w->to);
	out_json_text(w->to, export_spans_track(&w->t, track, name));
	fprintf(w->to, ",\"unit\":\"nanoseconds\",\"startValue\":%" PRIu64
		",\"endValue\":%" PRIu64 ",\"events\":[",
		export_spans_ns(&w->t, k->spans[0].begin),
		export_spans_ns(&w->t, end_of(k)));
	w->between = "";
	export_spans_walk(k, put_event, w);
	fputs("]}", w->to);
}

int export_speedscope_time_write(FILE *to, const struct export_from *from)
{
	struct writer w = { .to = to };
	bool is_first = true;
	char *title;

	export_spans_init(&w.t, from);
	title = export_spans_title(&w.t);
	fputs("{\"$schema\":"
	      "\"https://www.speedscope.app/file-format-schema.json\",\n"
	      "\"exporter\":\"weft\",\"name\":", to);
	out_json_text(to, title);
	put_frames(&w);
	fputs(",\n\"profiles\":[", to);
	for (size_t i = 0; i < from->chronicle->count; i++) {
		if (from->chronicle->tracks[i].count == 0)
			continue;
		fputs(is_first ? "" : ",", to);
		is_first = false;
		put_profile(&w, i);
	}
	fputs("]}\n", to);
	mem_free(title);
	export_spans_fini(&w.t);
	return 0;
}
