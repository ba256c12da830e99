/* http.c - curl as a child: no shell, no start-up file, and neither headers nor
 * contents on its command line, which all users can read.
 * SPDX-License-Identifier: MIT */
#include "analyzer/push/http.h"

#include "analyzer/base/err.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	TRIES = 3,
	LINE = 300,                /* bytes that are shown of what others say */
	MOST_ANSWER = 1 << 20,     /* bytes that curl may write */
	/* curl's exit statuses. */
	NO_PROXY = 5, NO_HOST = 6, NO_CONNECTION = 7, NO_CURL = 127,
};

/* ---- files -------------------------------------------------------------- */

int http_file_init(struct http_file *f)
{
	f->fd = memfd_create("weft", 0);
	snprintf(f->path, sizeof(f->path), "/proc/self/fd/%d", f->fd);
	return f->fd >= 0 ? 0 : err_add("cannot make a file in memory: %s",
					strerror(errno));
}

FILE *http_file_open(const struct http_file *f)
{
	FILE *const file = fopen(f->path, "we");

	if (!file)
		err_add("cannot write a file in memory: %s", strerror(errno));
	return file;
}

void http_file_fini(struct http_file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
}

/* The first line of it, cut. */
static void first_line(const struct http_file *f, char line[LINE])
{
	const ssize_t n = pread(f->fd, line, LINE - 1, 0);

	line[n > 0 ? n : 0] = '\0';
	line[strcspn(line, "\r\n")] = '\0';
}

/* ---- one try ------------------------------------------------------------ */

/* What curl reads, and what it writes. */
struct exchange {
	struct http_file script, head, complaint, answer;
};

static void exchange_fini(struct exchange *x)
{
	http_file_fini(&x->script);
	http_file_fini(&x->head);
	http_file_fini(&x->complaint);
	http_file_fini(&x->answer);
}

static int exchange_init(struct exchange *x)
{
	*x = (struct exchange){ { -1, "" }, { -1, "" }, { -1, "" },
				{ -1, "" } };
	return http_file_init(&x->script) != 0 ||
	       http_file_init(&x->head) != 0 ||
	       http_file_init(&x->complaint) != 0 ||
	       http_file_init(&x->answer) != 0 ? -1 : 0;
}

/* Redirects are not followed: headers may have a secret. "Expect" would wait a
 * second for servers that do not know it. */
static int write_script(const struct exchange *x, const struct http_request *r)
{
	FILE *const to = http_file_open(&x->script);

	if (!to)
		return -1;
	fprintf(to, "url = \"%s\"\nsilent\nshow-error\n"
		"proto = \"=http,https\"\n"
		"max-time = %zu\noutput = \"%s\"\ndump-header = \"-\"\n"
		"header = \"@%s\"\nheader = \"Expect:\"\n"
		"user-agent = \"weft\"\n", r->url, r->timeout, x->answer.path,
		r->headers->path);
	for (size_t i = 0; i < r->part_count; i++) {
		const struct http_part *const p = &r->parts[i];

		if (p->name)
			fprintf(to, "form = \"%s=@%s;type=%s;filename=%s\"\n",
				p->name, p->file->path, p->type, p->file_name);
		else
			fprintf(to, "header = \"Content-Type: %s\"\n"
				"data-binary = \"@%s\"\n", p->type,
				p->file->path);
	}
	return fclose(to) == 0 ? 0 : err_add("cannot write to memory: %s",
					     strerror(errno));
}

/* In the child. A server that answers without end is not listened to. */
static _Noreturn void become_curl(const struct exchange *x)
{
	const struct rlimit most = { MOST_ANSWER, MOST_ANSWER };

	lseek(x->script.fd, 0, SEEK_SET);
	dup2(x->script.fd, 0);
	dup2(x->head.fd, 1);
	dup2(x->complaint.fd, 2);
	setrlimit(RLIMIT_FSIZE, &most);
	signal(SIGXFSZ, SIG_IGN);
	execlp("curl", "curl", "-q", "-K", "-", (char *)NULL);
	_exit(errno == ENOENT ? NO_CURL : 126);
}

/* Returns curl's exit status, or -1 with the cause in the chain. */
static int run_curl(const struct exchange *x)
{
	int status = 0;

	fflush(NULL);
	const pid_t child = fork();

	if (child == 0)
		become_curl(x);
	if (child < 0)
		return err_add("cannot fork: %s", strerror(errno));
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) :
	       err_add("curl was ended by signal %d", WTERMSIG(status));
}

/* ---- what came of it ---------------------------------------------------- */

/* The last status that came, 0 without one, and whether the server says when to
 * ask again. */
static int read_head(const struct exchange *x, bool *is_later)
{
	FILE *const from = fopen(x->head.path, "re");
	char line[LINE];
	int status = 0;

	*is_later = false;
	while (from && fgets(line, sizeof(line), from)) {
		if (strncasecmp(line, "retry-after:", 12) == 0)
			*is_later = true;
		if (sscanf(line, "HTTP/%*s %3d", &status) == 1)
			*is_later = false;
	}
	if (from)
		fclose(from);
	return status;
}

/* A proxy's 503 may come after the server took it; who names a time to come
 * again did not. */
static bool was_never_taken(int curl, int status, bool is_later)
{
	return curl == NO_PROXY || curl == NO_HOST || curl == NO_CONNECTION ||
	       (curl == 0 && (status == 429 || (status == 503 && is_later)));
}

/* The request may have left, and no whole answer came. */
static bool is_unknown(int curl)
{
	/* curl does not know what to do, cannot read what to send, makes no
	 * connection, trusts no certificate, or cannot be run. */
	static const int never[] = { 1, 2, 3, 4, NO_PROXY, NO_HOST,
				     NO_CONNECTION, 26, 35, 60, 77, 126 };

	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++)
		if (curl == never[i])
			return false;
	return true;
}

static int explain(const struct exchange *x, int curl, int status)
{
	char line[LINE];

	if (curl == NO_CURL)
		return err_add("curl is not installed (Debian: apt install "
			       "curl)");
	first_line(curl == 0 ? &x->answer : &x->complaint, line);
	if (curl == 0)
		return err_add("the server answers with status %d: %s", status,
			       line[0] ? line : "nothing more");
	err_add("%s", line[0] ? line : "curl fails");
	return is_unknown(curl) ? err_add("nobody knows whether the server has "
		"taken it, so it is not sent again") : -1;
}

/* 1: try again; 0: sent; -1: failed. A cause is in the chain if it is not 0 and
 * this is the last try. */
static int try(const struct http_request *r, bool is_last)
{
	struct exchange x;
	int result = -1, curl;
	bool is_later;

	if (exchange_init(&x) == 0 && write_script(&x, r) == 0 &&
	    (curl = run_curl(&x)) >= 0) {
		const int status = read_head(&x, &is_later);

		if (curl == 0 && status >= 200 && status <= 299)
			result = 0;
		else if (!is_last && was_never_taken(curl, status, is_later))
			result = 1;
		else
			explain(&x, curl, status);
	}
	exchange_fini(&x);
	return result;
}

int http_post(const struct http_request *r)
{
	int result = 1;

	for (unsigned i = 1; result == 1; i++) {
		result = try(r, i == TRIES);
		if (result == 1)
			sleep(i);
	}
	return result;
}

bool http_url_is_private(const char *url)
{
	static const char *const own[] = { "localhost", "127." };

	if (strncmp(url, "http://", 7) != 0)
		return true;
	for (int i = 0; i < 2; i++) {
		const size_t n = strlen(own[i]);

		if (strncmp(url + 7, own[i], n) == 0 &&
		    strspn(url + 7 + n, "0123456789.") ==
		    strcspn(url + 7 + n, ":/"))
			return true;
	}
	return false;
}

/* What is left goes into curl's script between double quotes as it is; curl's
 * own patterns, [] and {}, need not be thought of. */
const char *http_url_refused(const char *url)
{
	const char *const host = strstr(url, "://");
	static const char good[] = "abcdefghijklmnopqrstuvwxyz"
		"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~:/%";

	if (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0)
		return "it begins neither with http:// nor with https://";
	if (strchr(url, '@'))
		return "it has a name or a password, which all users can see "
		       "in a command line; see --headers and WEFT_PUSH_TOKEN";
	if (!host[3] || host[3] == '/')
		return "it names no host";
	if (url[strspn(url, good)])
		return "it has characters that the address of a server does "
		       "not need";
	return NULL;
}
