/* ingest.c - the paths, parameters and bodies of Pyroscope's /ingest and of
 * Parca's /profiles/writeraw. A label has here what both allow: whatever else
 * is in a recorded one becomes an underscore.
 * SPDX-License-Identifier: MIT */
#include "analyzer/push/ingest.h"

#include "analyzer/base/err.h"
#include "analyzer/base/mem.h"
#include "analyzer/base/text.h"
#include "analyzer/out/out_json.h"

#include <inttypes.h>
#include <string.h>

static const char *const paths[] = {
	[INGEST_PYROSCOPE] = "/ingest",
	[INGEST_PARCA] = "/profiles/writeraw",
};

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"

/* ---- labels ------------------------------------------------------------- */

enum { MOST_LABELS = 64, TEXT = 256 };

/* Those of the whole session. */
struct labels {
	char service[TEXT];
	struct { char key[TEXT], value[TEXT]; } at[MOST_LABELS];
	size_t count;
};

/* Copy, with an underscore for each byte that is not in good. */
static void put_clean(char to[TEXT], const char *from, const char *good)
{
	size_t n = 0;

	for (; from[n] && n < TEXT - 1; n++)
		to[n] = strchr(good, from[n]) ? from[n] : '_';
	to[n] = '\0';
}

/* Whether all processes have it. */
static bool is_shared(const struct session *s, const struct label *l)
{
	bool all = true;

	for (uint32_t i = 0; i < s->process_count && all; i++) {
		size_t n;
		const struct label **const list = label_list(s, i, &n);

		all = false;
		for (size_t k = 0; k < n && !all; k++)
			all = strcmp(list[k]->key, l->key) == 0 &&
			      strcmp(list[k]->value, l->value) == 0;
		mem_free(list);
	}
	return all;
}

/* Servers refuse all for a name that is their own, or is there twice. */
static bool is_refused(const struct labels *l, const char *key)
{
	bool is_there = false;

	for (size_t i = 0; i < l->count && !is_there; i++)
		is_there = strcmp(l->at[i].key, key) == 0;
	if (is_there || strncmp(key, "__", 2) == 0)
		fprintf(stderr, "# note: a label is not sent: its name would "
			"be %s, which %s\n", key, is_there ?
			"another one has" : "servers keep for themselves");
	return is_there || strncmp(key, "__", 2) == 0;
}

static void add(struct labels *to, const struct label *l)
{
	char key[TEXT];

	if (strcmp(l->key, "service") == 0) {
		put_clean(to->service, l->value, LETTERS DIGITS "-_.");
		return;
	}
	put_clean(key, l->key, LETTERS DIGITS "_");
	if (strchr(DIGITS, key[0])) /* or empty */
		key[0] = '_';
	if (to->count == MOST_LABELS || is_refused(to, key))
		return;
	memcpy(to->at[to->count].key, key, TEXT);
	put_clean(to->at[to->count++].value, l->value, LETTERS DIGITS
		  "-_.:/+@ ");
}

static void find_labels(struct labels *to, const struct session *s)
{
	size_t n = 0;
	const struct label **const list = s->process_count == 0 ? NULL :
					  label_list(s, 0, &n);

	memset(to, 0, sizeof(*to));
	if (s->process_count > 0)
		put_clean(to->service, text_base_name(s->processes[0].path),
			  LETTERS DIGITS "-_.");
	for (size_t i = 0; i < n; i++)
		if (is_shared(s, list[i]))
			add(to, list[i]);
	mem_free(list);
	if (!to->service[0])
		snprintf(to->service, sizeof(to->service), "unnamed");
}

/* ---- Pyroscope ---------------------------------------------------------- */

static void put_percent(FILE *to, const char *text)
{
	for (; *text; text++)
		if (strchr(LETTERS DIGITS "-._~", *text))
			putc(*text, to);
		else
			fprintf(to, "%%%02X", (unsigned char)*text);
}

/* Of the last thread, ns. Sessions that were merged may have run at once. */
static uint64_t end_of(const struct session *s)
{
	uint64_t end = 0;

	for (size_t i = 0; i < s->thread_count; i++) {
		const uint64_t last = session_real(s, s->threads[i].last);

		end = last > end ? last : end;
	}
	return end;
}

/* name=SERVICE{key=value,...}, and the time, at least a second long. */
static void put_query(FILE *to, const struct labels *l, const struct session *s)
{
	const uint64_t second = 1000000000;
	const uint64_t from = session_real(s, session_first_tick(s)) / second;
	const uint64_t end = end_of(s) / second;

	fputs("?name=", to);
	put_percent(to, l->service);
	put_percent(to, "{");
	for (size_t i = 0; i < l->count; i++) {
		put_percent(to, i > 0 ? "," : "");
		put_percent(to, l->at[i].key);
		put_percent(to, "=");
		put_percent(to, l->at[i].value);
	}
	put_percent(to, "}");
	fprintf(to, "&from=%" PRIu64 "&until=%" PRIu64 "&format=pprof"
		"&spyName=weft", from, end > from ? end : from + 1);
}

/* The kinds of values that a profile of weft has. */
static void put_types(FILE *to)
{
	static const char *const types[][2] = {
		{ "calls", "calls" }, { "self", "self_nanoseconds" },
		{ "suspended", "suspended_nanoseconds" },
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		fprintf(to, "%s\"%s\":{\"units\":\"samples\",\"aggregation\":"
			"\"sum\",\"display-name\":\"%s\",\"sampled\":false}",
			i > 0 ? "," : "{", types[i][0], types[i][1]);
	fputs("}\n", to);
}

static int post_pyroscope(const struct ingest *in, struct http_request *r,
			  const struct http_file *types)
{
	const struct http_part parts[] = {
		{ "profile", "application/octet-stream", "profile.pprof",
		  in->profile },
		{ "sample_type_config", "application/json",
		  "sample_type_config.json", types },
	};
	FILE *const to = http_file_open(types);

	if (!to)
		return -1;
	put_types(to);
	if (fclose(to) != 0)
		return err_add("there is not enough memory");
	r->parts = parts;
	r->part_count = sizeof(parts) / sizeof(parts[0]);
	return http_post(r);
}

/* ---- Parca -------------------------------------------------------------- */

static void put_base64(FILE *to, FILE *from)
{
	static const char of[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
		"abcdefghijklmnopqrstuvwxyz" DIGITS "+/";
	unsigned char b[3] = { 0 };
	size_t n;

	while ((n = fread(b, 1, sizeof(b), from)) > 0) {
		const uint32_t all = (uint32_t)b[0] << 16 |
				     (uint32_t)b[1] << 8 | b[2];

		putc(of[all >> 18], to);
		putc(of[all >> 12 & 63], to);
		putc(n > 1 ? of[all >> 6 & 63] : '=', to);
		putc(n > 2 ? of[all & 63] : '=', to);
		memset(b, 0, sizeof(b));
	}
}

static void put_label(FILE *to, const char *key, const char *value)
{
	fputs("{\"name\":", to);
	out_json_text(to, key);
	fputs(",\"value\":", to);
	out_json_text(to, value);
	putc('}', to);
}

static void put_series(FILE *to, FILE *profile, const struct labels *l)
{
	fputs("{\"series\":[{\"labels\":{\"labels\":[", to);
	put_label(to, "__name__", "weft");
	putc(',', to);
	put_label(to, "service", l->service);
	for (size_t i = 0; i < l->count; i++) {
		putc(',', to);
		put_label(to, l->at[i].key, l->at[i].value);
	}
	fputs("]},\"samples\":[{\"rawProfile\":\"", to);
	put_base64(to, profile);
	fputs("\"}]}],\"normalized\":true}\n", to);
}

static int post_parca(const struct ingest *in, struct http_request *r,
		      const struct http_file *body, const struct labels *l)
{
	const struct http_part part = { NULL, "application/json", NULL, body };
	FILE *const profile = fopen(in->profile->path, "re");
	FILE *const to = profile ? http_file_open(body) : NULL;
	int failed = !to;

	if (to)
		put_series(to, profile, l);
	if (profile)
		failed |= ferror(profile) | fclose(profile);
	if (to)
		failed |= fclose(to);
	if (failed)
		return err_add("there is not enough memory");
	r->parts = &part;
	r->part_count = 1;
	return http_post(r);
}

/* ---- both --------------------------------------------------------------- */

/* The server's address, with its path unless that is there already. The caller
 * frees it. */
static char *whole_url(const struct ingest *in, const struct labels *l,
		       const struct session *s)
{
	const char *const path = paths[in->server];
	size_t n = strlen(in->url);
	struct mem_stream url;

	while (n > 0 && in->url[n - 1] == '/')
		n--;
	const bool has_path = n >= strlen(path) &&
		strncmp(in->url + n - strlen(path), path, strlen(path)) == 0;

	mem_stream_begin(&url);
	fprintf(url.to, "%.*s%s", (int)n, in->url, has_path ? "" : path);
	if (in->server == INGEST_PYROSCOPE)
		put_query(url.to, l, s);
	return mem_stream_end(&url);
}

int ingest_post(const struct ingest *in, const struct session *s)
{
	struct labels *const l = mem_alloc(sizeof(*l));
	struct http_request r = { .headers = in->headers,
				  .timeout = in->timeout };
	struct http_file made;
	char *url;
	int status;

	find_labels(l, s);
	r.url = url = whole_url(in, l, s);
	status = http_file_init(&made);
	if (status == 0) {
		status = in->server == INGEST_PARCA ?
			 post_parca(in, &r, &made, l) :
			 post_pyroscope(in, &r, &made);
		http_file_fini(&made);
	}
	mem_free(url);
	mem_free(l);
	return status;
}
