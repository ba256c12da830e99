/* test_control.c - the control socket and its clients, good and bad.
 * SPDX-License-Identifier: MIT */
#include "tests/test.h"
#include "tracer/recorder/control/server.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MANY = 3 * CONTROL_CLIENTS };

static struct control control;
static char folder[64], sockets[80];
static int calls;
static char argument[CONTROL_REQUEST_MAX];

static void take(void *ctx, const char *word, struct control_text *t)
{
	(void)ctx;
	calls++;
	snprintf(argument, sizeof(argument), "%s", t->argument);
	if (strcmp(word, "much") == 0)
		for (int i = 0; i < CONTROL_ANSWER_MAX; i++)
			control_say(t, "%d\n", i);
	t->watches = strcmp(word, "watch") == 0;
	t->stays = strcmp(word, "stay") == 0 || t->watches;
	control_say(t, "ok\nword %s\n", word);
}

static bool begin(void)
{
	snprintf(folder, sizeof(folder), "/tmp/weft-test-XXXXXX");
	if (!CHECK(mkdtemp(folder)))
		return false;
	setenv("XDG_RUNTIME_DIR", folder, 1);
	snprintf(sockets, sizeof(sockets), "%s/weft", folder);
	calls = 0;
	return CHECK(!control_init(&control, "a/my app", getpid(), take,
				   NULL));
}

static void end(void)
{
	control_fini(&control);
	/* Empty: both can be removed. */
	CHECK_EQ(rmdir(sockets), 0);
	CHECK_EQ(rmdir(folder), 0);
}

static int connect_to_it(void)
{
	return control_connect_in(control_open(sockets), control.name);
}

/* What it answers to these bytes; "": it hangs up. */
static const char *ask(const char *bytes)
{
	static char answer[CONTROL_ANSWER_MAX];
	const int fd = connect_to_it();

	CHECK(send(fd, bytes, strlen(bytes), MSG_NOSIGNAL) > 0);
	control_poll(&control, 0);
	control_poll(&control, 0);
	if (!control_answer(fd, answer))
		answer[0] = '\0';
	return answer;
}

void test_control_answers(void)
{
	char value[16];

	if (!begin())
		return;
	CHECK_EQ(strncmp(control.name, "my_app.", 7), 0);
	CHECK_EQ(control_pid(control.name), getpid());
	CHECK_STR(ask("status\n"), "ok\nword status\n");
	CHECK_STR(argument, "");
	CHECK_STR(ask("snapshot slow one\r\n"), "ok\nword snapshot\n");
	CHECK_STR(argument, "slow one");
	CHECK_STR(control_value("ok\nworda x\nword y\n", "word", value,
				sizeof(value)), "y");
	CHECK_STR(control_value("ok\nword y", "or", value, sizeof(value)), "");
	/* What has no room in the answer is left out. */
	CHECK(strlen(ask("much\n")) > CONTROL_ANSWER_MAX - 32);
	end();
}

void test_control_bears_bad_clients(void)
{
	static char line[CONTROL_REQUEST_MAX + 2];
	int fd[MANY];
	char byte;

	if (!begin())
		return;
	memset(line, 'x', CONTROL_REQUEST_MAX);
	CHECK_STR(ask(line), "");
	CHECK_EQ(calls, 0);
	/* They say nothing, or half of something: after their time, others have
	 * their turn. */
	for (int i = 0; i < MANY; i++) {
		fd[i] = connect_to_it();
		if (i < CONTROL_CLIENTS)
			CHECK(fd[i] >= 0 && send(fd[i], "stat", 4, 0) == 4);
		control_poll(&control, 0);
		if (fd[i] < 0)
			CHECK_EQ(errno, EAGAIN);
		if (i > CONTROL_CLIENTS + 2)
			break;
	}
	CHECK_EQ(calls, 0);
	control_poll(&control, CONTROL_SECONDS * 1000);
	for (int i = 0; i < CONTROL_CLIENTS; i++) {
		CHECK_EQ(recv(fd[i], &byte, 1, 0), 0);
		close(fd[i]);
	}
	for (int i = CONTROL_CLIENTS; i < CONTROL_CLIENTS + 4; i++)
		close(fd[i]);
	control_poll(&control, 0);
	control_poll(&control, 0);
	CHECK_STR(ask("status\n"), "ok\nword status\n");
	end();
}

void test_control_answer_may_last(void)
{
	static char answer[CONTROL_ANSWER_MAX];
	struct pollfd p = { .events = POLLIN };

	if (!begin())
		return;
	p.fd = connect_to_it();
	CHECK(control_request(p.fd, "stay"));
	control_poll(&control, 0);
	control_poll(&control, CONTROL_SECONDS * 1000);
	CHECK_EQ(recv(p.fd, answer, 3, 0), 3);
	CHECK_EQ(poll(&p, 1, 0), 1);
	CHECK_EQ(recv(p.fd, answer, sizeof(answer), 0), 10);
	CHECK_EQ(poll(&p, 1, 0), 0);
	control_fini(&control);
	CHECK_EQ(recv(p.fd, answer, 1, 0), 0);
	close(p.fd);
	end();
}

enum { OFFERS = 200, WORDS = 8192 };

/* Read all that comes, up to room bytes. */
static size_t read_stream(int fd, char *to, size_t room)
{
	size_t at = 0;
	ssize_t n;

	do {
		control_poll(&control, 0);
		n = recv(fd, to + at, room - at, MSG_DONTWAIT);
		at += n > 0 ? (size_t)n : 0;
	} while (n > 0);
	return at;
}

/* Whole chunks, in order. Returns how many there should be; *gaps: how many of
 * these are said to be left out. */
static uint64_t parse(const char *at, const char *end, uint64_t *gaps)
{
	uint64_t next = 0, first, last;
	uint32_t n;

	for (; end - at >= 4; at += 4 + n * (size_t)8) {
		memcpy(&n, at, 4);
		if (n == 0) {
			memcpy(&n, at + 4, 4);
			*gaps += n;
			next += n;
			at += 4;
			n = 0;
			continue;
		}
		if (!CHECK(n <= WORDS && end - at >= 4 + (long)n * 8))
			break;
		memcpy(&first, at + 4, 8);
		memcpy(&last, at + 4 + (n - 1) * (size_t)8, 8);
		CHECK_EQ(first, next);
		CHECK_EQ(last, next);
		next++;
	}
	CHECK(at == end);
	return next;
}

static void offer(uint64_t number)
{
	static uint64_t chunk[WORDS];
	const uint32_t words = WORDS - (uint32_t)(number % 7);

	chunk[0] = chunk[words - 1] = number;
	control_offer(&control, chunk, words);
	control_poll(&control, 0);
}

void test_control_watchers_hold_nobody_up(void)
{
	const size_t room = OFFERS * (WORDS * (size_t)8 + 16);
	char *const stream = malloc(room);
	uint64_t gaps = 0;
	size_t n;

	if (!begin())
		return;
	const int fd = connect_to_it();

	CHECK(control_request(fd, "watch"));
	CHECK_EQ(read_stream(fd, stream, room), strlen("ok\nword watch\n"));
	/* More than there is room for, and nobody reads; then what is there is
	 * read, and the next one tells of those that are missing. */
	for (uint64_t i = 0; i < OFFERS; i++)
		offer(i);
	CHECK_EQ(control.watchers, 1);
	n = read_stream(fd, stream, room);
	offer(OFFERS);
	n += read_stream(fd, stream + n, room - n);
	CHECK_EQ(parse(stream, stream + n, &gaps), OFFERS + 1);
	CHECK(gaps > OFFERS / 2 && gaps < OFFERS);
	close(fd);
	offer(0);
	offer(0);
	CHECK_EQ(control.watchers, 0);
	free(stream);
	end();
}

static int seen;

static void count(void *ctx, const char *name, int connection)
{
	(void)ctx;
	(void)name;
	seen += connection >= 0;
	close(connection);
}

void test_control_of_the_dead_is_removed(void)
{
	if (!begin())
		return;
	const int dir = control_open(sockets);

	control_each(dir, count, NULL);
	CHECK_EQ(seen, 1);
	close(control.listener);
	control_each(dir, count, NULL);
	CHECK_EQ(seen, 1);
	CHECK_EQ(faccessat(dir, control.name, F_OK, 0), -1);
	close(dir);
	control.listener = -1;
	end();
}

void test_control_folder_is_ours_alone(void)
{
	if (!begin())
		return;
	control_fini(&control);
	CHECK_EQ(chmod(sockets, 0755), 0);
	CHECK_EQ(control_open(sockets), -1);
	CHECK_EQ(rmdir(sockets), 0);
	CHECK_EQ(symlink("/tmp", sockets), 0);
	CHECK_EQ(control_open(sockets), -1);
	CHECK_EQ(unlink(sockets), 0);
	CHECK_EQ(rmdir(folder), 0);
}

/* Whoever looks in all places finds each recording once. */
void test_control_folders_differ(void)
{
	char user[64], expected[80], place[80];

	snprintf(user, sizeof(user), "/run/user/%u/", (unsigned)geteuid());
	snprintf(expected, sizeof(expected), "%sweft", user);
	setenv("XDG_RUNTIME_DIR", user, 1);
	CHECK(control_folder(0, place, sizeof(place)));
	CHECK_STR(place, expected);
	CHECK(control_folder(1, place, sizeof(place)));
	CHECK_STR(place, "");
	setenv("XDG_RUNTIME_DIR", "/run/user", 1);
	CHECK(control_folder(1, place, sizeof(place)));
	CHECK_STR(place, expected);
	unsetenv("XDG_RUNTIME_DIR");
	CHECK(control_folder(0, place, sizeof(place)));
	CHECK_STR(place, "");
	CHECK(control_folder(1, place, sizeof(place)));
	CHECK_STR(place, expected);
	CHECK(!control_folder(3, place, sizeof(place)));
}
