/* Holds memory where the system does not show it as that of the process. Ends with "refused" on standard error if the system
   does not allow that. Arguments: the method, MiB. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <unistd.h>

static const size_t mebibyte = 1 << 20;

static void check(int isRefused, const char *method) {
  if (!isRefused) return;
  fprintf(stderr, "refused: %s: %s\n", method, strerror(errno));
  exit(3);
}

/* Written pages that are no longer mapped stay with the mapping. */
static void writeAndUnmap(char *pages, size_t length) {
  memset(pages, 1, length);
  madvise(pages, length, MADV_DONTNEED);
}

static void shared(int flags, int file, size_t length) {
  char *pages = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED | flags, file, 0);
  check(pages == MAP_FAILED, "mmap");
  for (size_t at = 0; at < length; at += mebibyte) writeAndUnmap(pages + at, mebibyte);
}

static void zeroDevice(size_t length) {
  int file = open("/dev/zero", O_RDWR);
  check(file < 0, "open");
  shared(0, file, length);
}

/* The pages of the file stay when they are unmapped, and only mapped ones count as locked memory. */
static void secret(size_t length) {
  int file = syscall(447 /* memfd_secret */, 0);
  check(file < 0 || ftruncate(file, length) < 0, "memfd_secret");
  const size_t window = 1 << 15;
  for (size_t at = 0; at < length; at += window) {
    char *pages = mmap(NULL, window, PROT_READ | PROT_WRITE, MAP_SHARED, file, at);
    check(pages == MAP_FAILED, "mmap");
    memset(pages, 1, window);
    munmap(pages, window);
  }
}

/* A set of 8192 takes at least half a MiB. */
static void semaphores(size_t length) {
  for (size_t at = 0; at < length; at += mebibyte / 2) check(semget(IPC_PRIVATE, 8192, 0600) < 0, "semget");
}

static void messages(size_t length) {
  static struct { long type; char text[8192]; } message = {1, {0}};
  for (size_t at = 0; at < length; at += 2 * sizeof message.text) {
    int queue = msgget(IPC_PRIVATE, 0600);
    check(queue < 0, "msgget");
    for (int count = 0; count < 2; ++count) check(msgsnd(queue, &message, sizeof message.text, IPC_NOWAIT) < 0, "msgsnd");
  }
}

/* Reading a page of each 2 MiB takes a page of the table for each. */
static void pageTables(size_t length) {
  size_t span = length * 512;
  const char *pages = mmap(NULL, span, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  check(pages == MAP_FAILED, "mmap");
  madvise((void *)pages, span, MADV_NOHUGEPAGE);
  for (size_t at = 0; at < span; at += 2 * mebibyte) (void)*(volatile const char *)(pages + at);
}

/* A file without content takes about a KiB in a file system in memory. */
static void emptyFiles(size_t length) {
  char path[32];
  for (size_t number = 0; number < length / 1024; ++number) {
    snprintf(path, sizeof path, "/tmp/%zu", number);
    int file = open(path, O_CREAT | O_WRONLY, 0600);
    check(file < 0, "open");
    close(file);
  }
}

int main(int count, char **arguments) {
  if (count != 3) return 1;
  const char *method = arguments[1];
  size_t length = atol(arguments[2]) * mebibyte;
  if (strcmp(method, "shared memory") == 0) shared(MAP_ANONYMOUS, -1, length);
  else if (strcmp(method, "/dev/zero") == 0) zeroDevice(length);
  else if (strcmp(method, "secret memory") == 0) secret(length);
  else if (strcmp(method, "semaphores") == 0) semaphores(length);
  else if (strcmp(method, "messages") == 0) messages(length);
  else if (strcmp(method, "page tables") == 0) pageTables(length);
  else if (strcmp(method, "empty files") == 0) emptyFiles(length);
  else return 1;
  fprintf(stderr, "held\n");
  for (;;) pause();
}
