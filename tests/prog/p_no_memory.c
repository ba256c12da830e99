/* p_no_memory.c - preloaded into a recorded program: the mapping number NTH
 * that libweft.so asks for fails, and says so in the file NTH_FAILED.
 * flags: -shared -fPIC -ldl
 * SPDX-License-Identifier: MIT */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_int asked;

static int is_wefts(const void *caller)
{
	Dl_info in;

	return dladdr(caller, &in) != 0 && in.dli_fname &&
	       strstr(in.dli_fname, "libweft.so");
}

void *mmap(void *at, size_t size, int protection, int flags, int fd,
	   off_t offset)
{
	const char *const nth = getenv("NTH"), *failed = getenv("NTH_FAILED");

	if (nth && failed && is_wefts(__builtin_return_address(0)) &&
	    atomic_fetch_add(&asked, 1) + 1 == atoi(nth)) {
		close(open(failed, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
		errno = ENOMEM;
		return MAP_FAILED;
	}
	return (void *)syscall(SYS_mmap, at, size, protection, flags, fd,
			       offset);
}
