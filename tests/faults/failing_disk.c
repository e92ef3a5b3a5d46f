/* Loaded before the C library: counts operations that change files below a folder, and lets one of them fail; or, if
   `reads` is not 0, operations that open and read them, in place of those that change them.

   From operation number `at` on (counted from 1), `faults_begin` makes each operation fail with `error`, as on a disk that
   stays full; or, if `signal` is not 0, sends that signal to the process before operation `at` alone; or, if `jump` is not
   0, sets the clock of the process by so many seconds, but not the one that no administrator can set. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static char below[4096];
static int number, fail_at, fail_with, send_signal, clock_jump, counts_reads;

void faults_begin(const char *folder, int at, int error, int signal, int jump, int reads) {
    strncpy(below, folder, sizeof below - 1);
    number = 0, fail_at = at, fail_with = error, send_signal = signal, clock_jump = jump, counts_reads = reads;
}

int faults_seen(void) { return number; }

/* Count an operation on a path; return whether it must fail. */
static int fails(const char *path) {
    if (!below[0] || strncmp(path, below, strlen(below))) return 0;
    number++;
    if (!fail_at || number < fail_at) return 0;
    if (send_signal) {
        if (number == fail_at) kill(getpid(), send_signal);
        return 0;
    }
    if (clock_jump) return 0;
    errno = fail_with;
    return 1;
}

static int path_fails(int folder, const char *path, int is_read) {
    char whole[8192], base[4096];
    if (!below[0] || is_read != counts_reads) return 0;
    if (path[0] == '/') return fails(path);
    if (folder == AT_FDCWD) {
        if (!getcwd(base, sizeof base)) return 0;
    } else {
        char link[64];
        snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
        ssize_t length = readlink(link, base, sizeof base - 1);
        if (length < 0) return 0;
        base[length] = 0;
    }
    snprintf(whole, sizeof whole, "%s/%s", base, path);
    return fails(whole);
}

static int file_fails(int descriptor, int is_read) {
    char link[64], path[4096];
    if (!below[0] || is_read != counts_reads) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return fails(path);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, const void *data, size_t size) { return file_fails(fd, 0) ? -1 : REAL(write)(fd, data, size); }
ssize_t writev(int fd, const struct iovec *parts, int count) {
    return file_fails(fd, 0) ? -1 : REAL(writev)(fd, parts, count);
}
ssize_t pwrite(int fd, const void *data, size_t size, off_t at) {
    return file_fails(fd, 0) ? -1 : REAL(pwrite)(fd, data, size, at);
}
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) {
    return file_fails(fd, 0) ? -1 : REAL(pwrite64)(fd, data, size, at);
}
ssize_t read(int fd, void *data, size_t size) { return file_fails(fd, 1) ? -1 : REAL(read)(fd, data, size); }
ssize_t pread(int fd, void *data, size_t size, off_t at) {
    return file_fails(fd, 1) ? -1 : REAL(pread)(fd, data, size, at);
}
ssize_t pread64(int fd, void *data, size_t size, off64_t at) {
    return file_fails(fd, 1) ? -1 : REAL(pread64)(fd, data, size, at);
}
int fsync(int fd) { return file_fails(fd, 0) ? -1 : REAL(fsync)(fd); }
int fdatasync(int fd) { return file_fails(fd, 0) ? -1 : REAL(fdatasync)(fd); }
int rename(const char *from, const char *to) { return path_fails(AT_FDCWD, to, 0) ? -1 : REAL(rename)(from, to); }
int renameat(int one, const char *from, int two, const char *to) {
    return path_fails(two, to, 0) ? -1 : REAL(renameat)(one, from, two, to);
}
int mkdir(const char *path, mode_t mode) { return path_fails(AT_FDCWD, path, 0) ? -1 : REAL(mkdir)(path, mode); }
int mkdirat(int fd, const char *path, mode_t mode) { return path_fails(fd, path, 0) ? -1 : REAL(mkdirat)(fd, path, mode); }

int clock_gettime(clockid_t which, struct timespec *now) {
    int result = REAL(clock_gettime)(which, now);
    if (clock_jump && number >= fail_at && which == CLOCK_REALTIME) now->tv_sec += clock_jump;
    return result;
}

#define OPEN(name)                                                                       \
    int name(const char *path, int flags, ...) {                                         \
        va_list rest;                                                                    \
        va_start(rest, flags);                                                           \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;          \
        va_end(rest);                                                                    \
        return path_fails(AT_FDCWD, path, !(flags & O_CREAT)) ? -1 : REAL(name)(path, flags, mode); \
    }
OPEN(open)
OPEN(open64)
#define OPENAT(name)                                                                     \
    int name(int fd, const char *path, int flags, ...) {                                 \
        va_list rest;                                                                    \
        va_start(rest, flags);                                                           \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;          \
        va_end(rest);                                                                    \
        return path_fails(fd, path, !(flags & O_CREAT)) ? -1 : REAL(name)(fd, path, flags, mode); \
    }
OPENAT(openat)
OPENAT(openat64)
