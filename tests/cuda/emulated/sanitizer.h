#pragma once

#include <cstddef>

// What the sanitizer that a program may be linked with is told. Without one these are null, and
// nothing is said.
extern "C" {
__attribute__((weak)) void AnnotateIgnoreSyncBegin(const char* file, int line);
__attribute__((weak)) void AnnotateIgnoreSyncEnd(const char* file, int line);
__attribute__((weak)) void AnnotateIgnoreWritesBegin(const char* file, int line);
__attribute__((weak)) void AnnotateIgnoreWritesEnd(const char* file, int line);
__attribute__((weak)) void __tsan_acquire(void* place);
__attribute__((weak)) void __tsan_release(void* place);
}

namespace aorta::emulated {

/// True where a kernel's accesses are checked by access.cc; false where they are a sanitizer's.
extern const bool checks_accesses;

/// Shows the thread sanitizer what the double does to memory that isn't its own.
void show_read(const void* data, size_t bytes);
void show_write(const void* data, size_t bytes);

inline bool under_thread_sanitizer() { return __tsan_acquire != nullptr; }

/// While one lives, the thread sanitizer sees nothing that this thread does: neither the locks of
/// the double, which on a machine order nothing, nor its notes.
class Unseen {
 public:
  Unseen() { begin(); }
  ~Unseen() { end(); }
  Unseen(const Unseen&) = delete;
  Unseen& operator=(const Unseen&) = delete;

 private:
  friend class Seen;
  static void begin() {
    if (!under_thread_sanitizer()) return;
    AnnotateIgnoreSyncBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
  }
  static void end() {
    if (!under_thread_sanitizer()) return;
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreSyncEnd(__FILE__, __LINE__);
  }
};

/// Within an `Unseen`: what a device does, and what orders it, is seen.
class Seen {
 public:
  Seen() { Unseen::end(); }
  ~Seen() { Unseen::begin(); }
  Seen(const Seen&) = delete;
  Seen& operator=(const Seen&) = delete;
};

}  // namespace aorta::emulated
