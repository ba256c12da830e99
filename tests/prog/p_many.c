/* p_many.c - "p_many N": N processes that are all alive at once. Each calls
 * work() ten times, says so, and waits until all have.
 * flags: -finstrument-functions
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) static void work(void)
{
	__asm__ volatile("");
}

__attribute__((no_instrument_function)) static void child(int said, int go)
{
	char word = 'x';

	for (int i = 0; i < 10; i++)
		work();
	if (write(said, &word, 1) != 1 || read(go, &word, 1) != 0)
		_exit(1);
	_exit(0);
}

int main(int argc, char **argv)
{
	const int n = argc > 1 ? atoi(argv[1]) : 1;
	int said[2], go[2], status, bad = 0;
	char word;

	if (pipe(said) != 0 || pipe(go) != 0)
		return 1;
	for (int i = 0; i < n; i++) {
		const pid_t pid = fork();

		if (pid == 0) {
			close(go[1]);
			child(said[1], go[0]);
		}
		bad += pid < 0;
	}
	for (int i = bad; i < n; i++)
		bad += read(said[0], &word, 1) != 1;
	close(go[1]);
	while (wait(&status) > 0)
		bad += status != 0;
	printf("calls %d work\n", n * 10);
	return bad != 0;
}
