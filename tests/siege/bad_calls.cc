// Preloaded into a program it makes one of its calls of the C library fail, or all from one on:
//
//   FAIL_CALL=write FAIL_AT=17 FAIL_WITH=28   the 17th write() gives -1 and ENOSPC
//   FAIL_ON=1                                 and every one behind it
//   FAIL_SIGNAL=24                            it goes well, but this signal comes with it
//   FAIL_MARK=FILE                            where a byte is written at the first that fails
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <cstring>

namespace {

long number_of(const char* variable) {
  const char* text = std::getenv(variable);
  return text ? std::strtol(text, nullptr, 10) : 0;
}

bool fails(const char* name) {
  static std::atomic<long> calls{0};
  const char* chosen = std::getenv("FAIL_CALL");
  if (!chosen || std::strcmp(chosen, name) != 0) return false;
  const long call = ++calls, at = number_of("FAIL_AT");
  if (call != at && !(call > at && std::getenv("FAIL_ON"))) return false;
  // System calls, for these functions may be the ones that fail.
  if (const char* mark = std::getenv("FAIL_MARK"); mark && call == at) {
    const long file = syscall(SYS_openat, AT_FDCWD, mark, O_WRONLY | O_CREAT | O_APPEND, 0644);
    syscall(SYS_write, file, "x", 1);
    syscall(SYS_close, file);
  }
  if (const long signal = number_of("FAIL_SIGNAL"); signal != 0) {
    kill(getpid(), static_cast<int>(signal));
    return false;
  }
  errno = static_cast<int>(number_of("FAIL_WITH"));
  return true;
}

template <class R, class... A>
R call(const char* name, R failed, A... arguments) {
  if (fails(name)) return failed;
  const auto function = reinterpret_cast<R (*)(A...)>(dlsym(RTLD_NEXT, name));
  return function(arguments...);
}

}  // namespace

extern "C" {

// The mode is there where a file may be made.
int open(const char* path, int flags, ...) {
  mode_t mode = 0;
  if ((flags & (O_CREAT | O_TMPFILE)) != 0) {
    va_list list;
    va_start(list, flags);
    mode = va_arg(list, mode_t);
    va_end(list);
  }
  return call("open", -1, path, flags, mode);
}
ssize_t read(int file, void* data, size_t size) {
  return call("read", ssize_t{-1}, file, data, size);
}
ssize_t write(int file, const void* data, size_t size) {
  return call("write", ssize_t{-1}, file, data, size);
}
ssize_t pread(int file, void* data, size_t size, off_t at) {
  return call("pread", ssize_t{-1}, file, data, size, at);
}
ssize_t pread64(int file, void* data, size_t size, off64_t at) {
  return call("pread64", ssize_t{-1}, file, data, size, at);
}
ssize_t pwrite(int file, const void* data, size_t size, off_t at) {
  return call("pwrite", ssize_t{-1}, file, data, size, at);
}
int fsync(int file) { return call("fsync", -1, file); }
int fdatasync(int file) { return call("fdatasync", -1, file); }
int rename(const char* from, const char* to) noexcept { return call("rename", -1, from, to); }
int link(const char* from, const char* to) noexcept { return call("link", -1, from, to); }
int unlink(const char* path) noexcept { return call("unlink", -1, path); }
int mkdir(const char* path, mode_t mode) noexcept { return call("mkdir", -1, path, mode); }
int ftruncate(int file, off_t size) noexcept { return call("ftruncate", -1, file, size); }
int flock(int file, int what) noexcept { return call("flock", -1, file, what); }
int fstat(int file, struct stat* status) noexcept { return call("fstat", -1, file, status); }
int stat(const char* path, struct stat* status) noexcept { return call("stat", -1, path, status); }
DIR* opendir(const char* path) { return call("opendir", static_cast<DIR*>(nullptr), path); }
void* mmap(void* place, size_t size, int may, int flags, int file, off_t at) noexcept {
  return call("mmap", MAP_FAILED, place, size, may, flags, file, at);
}
int memfd_create(const char* name, unsigned flags) noexcept {
  return call("memfd_create", -1, name, flags);
}
int socketpair(int domain, int type, int protocol, int* ends) noexcept {
  return call("socketpair", -1, domain, type, protocol, ends);
}
ssize_t sendmsg(int socket, const struct msghdr* message, int flags) {
  return call("sendmsg", ssize_t{-1}, socket, message, flags);
}
ssize_t recvmsg(int socket, struct msghdr* message, int flags) {
  return call("recvmsg", ssize_t{-1}, socket, message, flags);
}
int poll(struct pollfd* files, nfds_t count, int timeout) {
  return call("poll", -1, files, count, timeout);
}
// The file is closed all the same, as Linux does.
int close(int file) {
  if (!fails("close")) return static_cast<int>(syscall(SYS_close, file));
  const int error = errno;
  syscall(SYS_close, file);
  errno = error;
  return -1;
}
int munmap(void* place, size_t size) noexcept { return call("munmap", -1, place, size); }
int mprotect(void* place, size_t size, int may) noexcept {
  return call("mprotect", -1, place, size, may);
}
int fcntl(int file, int what, ...) {
  va_list list;
  va_start(list, what);
  void* const argument = va_arg(list, void*);  // of the size of the largest that there is
  va_end(list);
  return call("fcntl", -1, file, what, argument);
}
off_t lseek(int file, off_t at, int from) noexcept {
  return call("lseek", off_t{-1}, file, at, from);
}
off64_t lseek64(int file, off64_t at, int from) noexcept {
  return call("lseek64", off64_t{-1}, file, at, from);
}
pid_t waitpid(pid_t child, int* status, int how) {
  return call("waitpid", pid_t{-1}, child, status, how);
}
int rmdir(const char* path) noexcept { return call("rmdir", -1, path); }
int unlinkat(int folder, const char* path, int flags) noexcept {
  return call("unlinkat", -1, folder, path, flags);
}
int dup(int file) noexcept { return call("dup", -1, file); }
int eventfd(unsigned count, int flags) noexcept { return call("eventfd", -1, count, flags); }
int access(const char* path, int how) noexcept { return call("access", -1, path, how); }
int statvfs(const char* path, struct statvfs* status) noexcept {
  return call("statvfs", -1, path, status);
}
struct dirent* readdir(DIR* folder) {
  return call("readdir", static_cast<struct dirent*>(nullptr), folder);
}
// These return their error.
int pthread_create(pthread_t* thread, const pthread_attr_t* how, void* (*body)(void*),
                   void* argument) noexcept {
  return call("pthread_create", static_cast<int>(number_of("FAIL_WITH")), thread, how, body,
              argument);
}
int posix_fallocate(int file, off_t at, off_t size) {
  return call("posix_fallocate", static_cast<int>(number_of("FAIL_WITH")), file, at, size);
}
pid_t fork() noexcept { return call("fork", pid_t{-1}); }
int dup2(int file, int to) noexcept { return call("dup2", -1, file, to); }
void* mremap(void* place, size_t size, size_t wanted, int flags, ...) noexcept {
  va_list list;
  va_start(list, flags);
  void* const to = (flags & MREMAP_FIXED) != 0 ? va_arg(list, void*) : nullptr;
  va_end(list);
  return call("mremap", MAP_FAILED, place, size, wanted, flags, to);
}
int madvise(void* place, size_t size, int advice) noexcept {
  return call("madvise", -1, place, size, advice);
}
char* realpath(const char* path, char* place) noexcept {
  return call("realpath", static_cast<char*>(nullptr), path, place);
}
ssize_t getrandom(void* place, size_t size, unsigned flags) {
  return call("getrandom", ssize_t{-1}, place, size, flags);
}
char* mkdtemp(char* path) noexcept { return call("mkdtemp", static_cast<char*>(nullptr), path); }
FILE* fopen(const char* path, const char* how) {
  return call("fopen", static_cast<FILE*>(nullptr), path, how);
}
int gethostname(char* name, size_t size) noexcept { return call("gethostname", -1, name, size); }
int sched_getaffinity(pid_t process, size_t size, cpu_set_t* set) noexcept {
  return call("sched_getaffinity", -1, process, size, set);
}
int prctl(int what, ...) noexcept {
  va_list list;
  va_start(list, what);
  unsigned long words[4];
  for (unsigned long& word : words) word = va_arg(list, unsigned long);
  va_end(list);
  return call("prctl", -1, what, words[0], words[1], words[2], words[3]);
}

}  // extern "C"
