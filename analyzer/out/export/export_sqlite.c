/* export_sqlite.c - writes rows by prepared statements in one transaction. The
 * text of the SQL comes from weft's own tables of columns, never from a trace.
 * SPDX-License-Identifier: MIT */
#include "analyzer/out/export/export.h"

#include "analyzer/base/err.h"
#include "analyzer/base/mem.h"
#include "analyzer/out/export/relations.h"
#include "analyzer/out/out_escape.h"

#include <assert.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* In the file's head: whose it is ("weft"), and which tables it has. The
 * version rises when a column is added, goes or changes its meaning. */
enum { APPLICATION = 0x77656674, VERSION = 3, SQL_SIZE = 4000 };

struct base {
	sqlite3 *db;
	sqlite3_int64 session;   /* the number of the one that is added */
};

/* ---- SQLite ------------------------------------------------------------- */

static int fail(const struct base *b)
{
	return err_add("SQLite says: %s", sqlite3_errmsg(b->db));
}

static int run(const struct base *b, const char *sql)
{
	return sqlite3_exec(b->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 :
	       fail(b);
}

/* The number that a query gives. */
static int ask(const struct base *b, const char *sql, sqlite3_int64 *number)
{
	sqlite3_stmt *s = NULL;
	int status = -1;

	if (sqlite3_prepare_v2(b->db, sql, -1, &s, NULL) == SQLITE_OK &&
	    sqlite3_step(s) == SQLITE_ROW) {
		*number = sqlite3_column_int64(s, 0);
		status = 0;
	}
	if (status != 0)
		fail(b);
	sqlite3_finalize(s);
	return status;
}

/* ---- the file ----------------------------------------------------------- */

/* A stranger's file may have views and triggers that run when rows are
 * added. */
static void distrust(const struct base *b)
{
	sqlite3_db_config(b->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(b->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(b->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	sqlite3_busy_timeout(b->db, 10000);
}

/* Is every page where it belongs? A row of text says what is wrong, "ok" that
 * nothing is. */
static int check_pages(const struct base *b)
{
	sqlite3_stmt *s = NULL;
	const char *said = NULL;
	int status = -1;

	if (sqlite3_prepare_v2(b->db, "PRAGMA quick_check(1)", -1, &s, NULL) ==
	    SQLITE_OK && sqlite3_step(s) == SQLITE_ROW)
		said = (const char *)sqlite3_column_text(s, 0);
	if (!said)
		fail(b);
	else if (strcmp(said, "ok") != 0)
		err_add("it is damaged: %s", said);
	else
		status = 0;
	sqlite3_finalize(s);
	return status;
}

/* May sessions be added to it? Sets *is_new if it has no tables. */
static int check_file(const struct base *b, bool *is_new)
{
	sqlite3_int64 application, version, tables;

	if (ask(b, "PRAGMA application_id", &application) != 0 ||
	    ask(b, "PRAGMA user_version", &version) != 0 ||
	    ask(b, "SELECT count(*) FROM sqlite_master", &tables) != 0)
		return -1;
	*is_new = tables == 0 && application == 0 && version == 0;
	if (*is_new)
		return 0;
	if (application != APPLICATION)
		return err_add("it is a database of another program; give "
			       "another file");
	if (version != VERSION)
		return err_add("its tables are of version %lld, and this weft "
			       "writes version %d; give another file",
			       (long long)version, VERSION);
	return check_pages(b);
}

/* ---- tables ------------------------------------------------------------- */

/* Texts that are put together in a buffer that is large enough for all. */
struct sql { char text[SQL_SIZE]; size_t used; };

static void __attribute__((format(printf, 2, 3)))
say(struct sql *q, const char *format, ...)
{
	va_list values;
	int n;

	va_start(values, format);
	n = vsnprintf(q->text + q->used, SQL_SIZE - q->used, format, values);
	va_end(values);
	assert(n >= 0 && (size_t)n < SQL_SIZE - q->used);
	q->used += (size_t)n;
}

/* The table of sessions gives each its number. */
static bool is_sessions(const struct relation *r)
{
	return strcmp(r->name, "sessions") == 0;
}

/* A table whose rows have numbers is found by these. */
static int make_table(const struct base *b, const struct relation *r)
{
	static const char *const types[] = {
		[OUT_INTEGER] = "INTEGER", [OUT_REAL] = "REAL",
		[OUT_TEXT] = "TEXT" };
	const bool has_id = strcmp(r->columns.column[0].key, "id") == 0;
	struct sql q = { .used = 0 };

	say(&q, "CREATE TABLE %s (%s", r->name, is_sessions(r) ?
	    "id INTEGER PRIMARY KEY" :
	    "session INTEGER NOT NULL REFERENCES sessions(id)");
	for (size_t i = 0; i < r->columns.count; i++)
		say(&q, ", \"%s\" %s", r->columns.column[i].key,
		    types[out_value_kind(r->columns.column[i].metric)]);
	say(&q, has_id ? ", PRIMARY KEY (session, id)) WITHOUT ROWID" : ")");
	return run(b, q.text);
}

static int make_tables(const struct base *b, const struct relations *all)
{
	struct sql q = { .used = 0 };

	for (size_t i = 0; i < all->count; i++)
		if (make_table(b, &all->list[i]) != 0)
			return -1;
	say(&q, "CREATE VIEW stacks AS WITH RECURSIVE "
	    "path(session, id, stack) AS ("
	    "SELECT n.session, n.id, coalesce(t.name, '[all threads]') "
	    "FROM nodes n LEFT JOIN threads t "
	    "ON t.session = n.session AND t.id = n.thread "
	    "WHERE n.parent IS NULL UNION ALL "
	    "SELECT n.session, n.id, p.stack || ';' || f.name "
	    "FROM path p JOIN nodes n "
	    "ON n.session = p.session AND n.parent = p.id JOIN functions f "
	    "ON f.session = n.session AND f.id = n.function) "
	    "SELECT * FROM path; "
	    "CREATE INDEX nodes_by_parent ON nodes(session, parent); "
	    "PRAGMA application_id = %d; PRAGMA user_version = %d",
	    APPLICATION, VERSION);
	return run(b, q.text);
}

/* ---- rows --------------------------------------------------------------- */

/* SQLite's integers are signed: a number of 2^63 or more becomes negative, but
 * stays another one than all others. */
static int bind(sqlite3_stmt *s, int at, const struct out_value *v)
{
	if (v->kind == OUT_INTEGER)
		return sqlite3_bind_int64(s, at, (sqlite3_int64)v->integer);
	if (v->kind == OUT_REAL)
		return sqlite3_bind_double(s, at, v->real);
	if (v->kind == OUT_TEXT)
		return sqlite3_bind_text(s, at, out_escape_terminal(v->text),
					 -1, mem_free);
	return sqlite3_bind_null(s, at);
}

static int add_row(const struct base *b, sqlite3_stmt *s,
		   const struct relation *r, const void *row)
{
	struct metric_value room;
	int status = sqlite3_bind_int64(s, 1, b->session);

	for (size_t i = 0; i < r->columns.count && status == SQLITE_OK; i++) {
		const struct out_value v = relation_value(r, i, row, &room);

		status = bind(s, (int)i + 2, &v);
	}
	if (status != SQLITE_OK || sqlite3_step(s) != SQLITE_DONE)
		return fail(b);
	sqlite3_reset(s);
	return 0;
}

static int add_rows(const struct base *b, const struct relation *r)
{
	struct sql q = { .used = 0 };
	sqlite3_stmt *s = NULL;
	int status = 0;

	say(&q, "INSERT INTO %s(%s", r->name,
	    is_sessions(r) ? "id" : "session");
	for (size_t i = 0; i < r->columns.count; i++)
		say(&q, ", \"%s\"", r->columns.column[i].key);
	say(&q, ") VALUES (?");
	for (size_t i = 0; i < r->columns.count; i++)
		say(&q, ", ?");
	say(&q, ")");
	if (sqlite3_prepare_v2(b->db, q.text, -1, &s, NULL) != SQLITE_OK)
		status = fail(b);
	for (size_t i = 0; i < r->count && status == 0; i++)
		status = add_row(b, s, r, relation_row(r, i));
	sqlite3_finalize(s);
	return status;
}

static int add_session(struct base *b, const struct relations *all, bool is_new)
{
	if (is_new && make_tables(b, all) != 0)
		return -1;
	if (ask(b, "SELECT coalesce(max(id), 0) + 1 FROM sessions",
		&b->session) != 0)
		return -1;
	for (size_t i = 0; i < all->count; i++)
		if (add_rows(b, &all->list[i]) != 0)
			return -1;
	return run(b, "COMMIT");
}

/* ---- all ---------------------------------------------------------------- */

/* The transaction begins before anything is looked at, so that two that add to
 * a file do so one after the other. */
static int write_all(struct base *b, const char *file,
		     const struct export_from *from)
{
	struct relations all;
	bool is_new;
	int status;

	if (sqlite3_open_v2(file, &b->db, SQLITE_OPEN_READWRITE |
			    SQLITE_OPEN_CREATE, NULL) != SQLITE_OK)
		return fail(b);
	distrust(b);
	if (run(b, "BEGIN IMMEDIATE") != 0 || check_file(b, &is_new) != 0)
		return -1;
	relations_init(&all, from);
	status = add_session(b, &all, is_new);
	relations_fini(&all);
	return status;
}

/* Closing takes back what was not committed. */
int export_sqlite_write(const char *file, const struct export_from *from)
{
	const bool was_there = access(file, F_OK) == 0;
	struct base b = { .db = NULL };
	const int status = write_all(&b, file, from);

	sqlite3_close(b.db);
	if (status == 0)
		return 0;
	if (!was_there)
		unlink(file);
	return err_add("cannot write \"%s\"", file);
}
