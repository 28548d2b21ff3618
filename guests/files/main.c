// The file system as a program sees it.
//
//   files counter DIRECTORY    one durable step of a counter; safe to crash and start again
//   files exercise DIRECTORY   every call once; equal file systems give equal transcripts
//   files fill DIRECTORY KIB   writes until KIB or an error, and tells which
//
// Exit codes: 0 done, 1 the file system refused, 64 usage.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static char directory[256];

// A path below the directory under test; two may be in use at once.
static const char *at(const char *name) {
  static char paths[2][512];
  static int turn;
  turn = 1 - turn;
  snprintf(paths[turn], sizeof paths[turn], "%s/%s", directory, name);
  return paths[turn];
}

static void refuse(const char *what) {
  printf("files: %s: %s\n", what, strerror(errno));
  exit(1);
}

static void report(const char *what, long long result) {
  if (result < 0) {
    printf("%s: %s\n", what, strerror(errno));
  } else {
    printf("%s: %lld\n", what, result);
  }
}

// Reads, adds one, writes a draft, syncs it, renames it, syncs the directory: atomic and durable.
static int run_counter(void) {
  int count = 0;
  int file = open(at("counter"), O_RDONLY);
  if (file >= 0) {
    char text[16] = "";
    if (read(file, text, sizeof text - 1) < 0) refuse("read");
    count = atoi(text);
    close(file);
  } else if (errno != ENOENT) {
    refuse("open");
  }
  printf("found %d\n", count);
  fflush(stdout);
  char text[16];
  int size = snprintf(text, sizeof text, "%d\n", count + 1);
  file = open(at("counter.draft"), O_CREAT | O_TRUNC | O_WRONLY, 0644);
  if (file < 0) refuse("open draft");
  if (write(file, text, (size_t)size) != size) refuse("write");
  if (fsync(file) != 0) refuse("sync");
  close(file);
  if (rename(at("counter.draft"), at("counter")) != 0) refuse("rename");
  file = open(directory, O_RDONLY | O_DIRECTORY);
  if (file < 0) refuse("open directory");
  fsync(file);
  close(file);
  printf("stored %d\n", count + 1);
  return 0;
}

static void exercise_content(void) {
  char bytes[16] = "";
  int file = open(at("a"), O_CREAT | O_EXCL | O_RDWR, 0644);
  report("create a", file < 0 ? -1 : 0);
  report("create a again", open(at("a"), O_CREAT | O_EXCL | O_RDWR, 0644));
  report("write", write(file, "0123456789", 10));
  report("seek", lseek(file, 4, SEEK_SET));
  report("read", read(file, bytes, 3));
  printf("bytes %s\n", bytes);
  report("pwrite past the end", pwrite(file, "end", 3, 20));
  report("size", lseek(file, 0, SEEK_END));
  report("pread a hole", pread(file, bytes, 3, 12));
  printf("hole %d %d %d\n", bytes[0], bytes[1], bytes[2]);
  report("shrink", ftruncate(file, 5));
  report("grow", ftruncate(file, 8));
  report("allocate", posix_fallocate(file, 0, 64) == 0 ? 0 : -1);
  report("advise", posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED));
  report("seek before the start", lseek(file, -1, SEEK_SET));
  report("sync", fsync(file));
  report("data sync", fdatasync(file));
  report("close", close(file));
  report("close again", close(file));
  file = open(at("a"), O_WRONLY | O_APPEND);
  report("append", write(file, "tail", 4));
  report("read a write-only file", read(file, bytes, 1));
  close(file);
}

static void exercise_names(void) {
  struct stat status;
  char target[64] = "";
  report("mkdir", mkdir(at("d"), 0755));
  report("mkdir again", mkdir(at("d"), 0755));
  report("link", link(at("a"), at("d/hard")));
  report("stat", stat(at("d/hard"), &status));
  printf("links %d, size %lld, directory %d\n", (int)status.st_nlink, (long long)status.st_size,
         S_ISDIR(status.st_mode));
  report("symlink", symlink("../a", at("d/soft")));
  report("readlink", readlink(at("d/soft"), target, sizeof target - 1));
  printf("target %s\n", target);
  report("lstat", lstat(at("d/soft"), &status));
  printf("symlink %d\n", S_ISLNK(status.st_mode));
  report("stat through", stat(at("d/soft"), &status));
  printf("regular %d\n", S_ISREG(status.st_mode));
  report("loop", symlink("loop", at("loop")));
  report("open the loop", open(at("loop"), O_RDONLY));
  report("rename", rename(at("a"), at("b")));
  report("open the old name", open(at("a"), O_RDONLY));
  report("rename onto a directory", rename(at("b"), at("d")));
  report("rmdir that is not empty", rmdir(at("d")));
  report("unlink a directory", unlink(at("d")));
  report("rmdir a file", rmdir(at("b")));
  report("open without O_CREAT", open(at("absent"), O_RDONLY));
  report("a file as directory", open(at("b/x"), O_RDONLY));
  report("outside", open("/../outside", O_RDONLY));
}

static void exercise_times(void) {
  struct stat status;
  struct timespec times[2] = {{.tv_sec = 1000, .tv_nsec = 5}, {.tv_sec = 2000, .tv_nsec = 7}};
  report("utimens", utimensat(AT_FDCWD, at("b"), times, 0));
  report("stat", stat(at("b"), &status));
  printf("accessed %lld.%09ld, modified %lld.%09ld\n", (long long)status.st_atim.tv_sec,
         status.st_atim.tv_nsec, (long long)status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
}

static void exercise_listing(void) {
  for (int i = 0; i < 40; i++) {
    char name[32];
    snprintf(name, sizeof name, "d/entry-with-a-long-name-%02d", i * 7 % 40);
    int file = open(at(name), O_CREAT | O_WRONLY, 0644);
    if (file < 0) refuse("open");
    close(file);
  }
  DIR *stream = opendir(at("d"));
  if (stream == NULL) refuse("opendir");
  for (struct dirent *entry = readdir(stream); entry != NULL; entry = readdir(stream)) {
    printf("entry %s %s\n", entry->d_name,
           entry->d_type == DT_LNK   ? "link"
           : entry->d_type == DT_DIR ? "directory"
                                     : "file");
  }
  closedir(stream);
}

static void clean(void) {
  for (int i = 0; i < 40; i++) {
    char name[32];
    snprintf(name, sizeof name, "d/entry-with-a-long-name-%02d", i);
    if (unlink(at(name)) != 0) refuse("unlink");
  }
  report("unlink hard", unlink(at("d/hard")));
  report("unlink soft", unlink(at("d/soft")));
  report("unlink loop", unlink(at("loop")));
  report("rmdir", rmdir(at("d")));
  report("unlink b", unlink(at("b")));
  report("unlink b again", unlink(at("b")));
}

static int run_fill(long kib) {
  static char block[1024];
  int file = open(at("fill"), O_CREAT | O_TRUNC | O_WRONLY, 0644);
  if (file < 0) refuse("open");
  for (long done = 0; done < kib; done++) {
    if (write(file, block, sizeof block) != sizeof block) {
      printf("stopped after %ld KiB: %s\n", done, strerror(errno));
      return 0;
    }
  }
  report("sync", fsync(file));
  printf("filled %ld KiB\n", kib);
  return 0;
}

int main(int argument_count, char **arguments) {
  if (argument_count < 3 || strlen(arguments[2]) >= sizeof directory) {
    printf("usage: files (counter | exercise | fill) DIRECTORY [KIB]\n");
    return 64;
  }
  snprintf(directory, sizeof directory, "%s", arguments[2]);
  if (mkdir(directory, 0755) != 0 && errno != EEXIST) refuse("mkdir");
  if (strcmp(arguments[1], "counter") == 0) return run_counter();
  if (strcmp(arguments[1], "fill") == 0)
    return run_fill(argument_count > 3 ? atol(arguments[3]) : 1024);
  if (strcmp(arguments[1], "exercise") != 0) return 64;
  exercise_content();
  exercise_names();
  exercise_times();
  exercise_listing();
  clean();
  return 0;
}
