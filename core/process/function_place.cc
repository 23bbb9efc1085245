#include <aorta/core/check.h>
#include <aorta/core/io/bytes.h>
#include <aorta/core/process/function_place.h>

#include <link.h>
#include <sys/stat.h>

#include <span>

namespace aorta {
namespace {

// Calls `see` for all that is loaded, the program first, until it returns true.
template <class See>
void each_loaded(See see) {
  dl_iterate_phdr([](dl_phdr_info* loaded, size_t,
                     void* context) -> int { return (*static_cast<See*>(context))(*loaded); },
                  &see);
}

bool contains(const dl_phdr_info& loaded, uint64_t address) {
  for (int i = 0; i < loaded.dlpi_phnum; ++i) {
    const auto& segment = loaded.dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    const uint64_t begin = loaded.dlpi_addr + segment.p_vaddr;
    if (address >= begin && address - begin < segment.p_memsz) return true;
  }
  return false;
}

}  // namespace

FunctionPlace FunctionPlace::of(const void* function) {
  const auto address = reinterpret_cast<uint64_t>(function);
  FunctionPlace place{"?", address};  // made at run time: in no library
  each_loaded([&](const dl_phdr_info& loaded) {
    if (!contains(loaded, address)) return false;
    place = {loaded.dlpi_name, address - loaded.dlpi_addr};
    return true;
  });
  return place;
}

void* FunctionPlace::address() const {
  void* found = nullptr;
  each_loaded([&](const dl_phdr_info& loaded) {
    const uint64_t there = loaded.dlpi_addr + offset;
    if (path != loaded.dlpi_name || !contains(loaded, there)) return false;
    found = reinterpret_cast<void*>(there);
    return true;
  });
  return found;
}

std::string FunctionPlace::text() const {
  std::string bytes;
  io::append(bytes, offset);
  io::append(bytes, static_cast<uint32_t>(path.size()));
  return bytes + path;
}

FunctionPlace FunctionPlace::parse(std::string_view& bytes) {
  constexpr size_t kHead = sizeof(uint64_t) + sizeof(uint32_t);
  const auto given = std::as_bytes(std::span(bytes));
  check(bytes.size() >= kHead, "process", "a function's place must be whole", bytes.size(),
        " bytes");
  FunctionPlace place;
  place.offset = io::load<uint64_t>(given, 0);
  const size_t size = io::load<uint32_t>(given, sizeof(uint64_t));
  check(bytes.size() - kHead >= size, "process", "a function's place must be whole", bytes.size(),
        " bytes");
  place.path = bytes.substr(kHead, size);
  bytes.remove_prefix(kHead + size);
  return place;
}

// The linker's own note of what it has linked, or what tells files apart where it left none.
std::string program_identity() {
  std::string identity;
  each_loaded([&](const dl_phdr_info& loaded) {
    for (int i = 0; i < loaded.dlpi_phnum; ++i) {
      const auto& segment = loaded.dlpi_phdr[i];
      if (segment.p_type != PT_NOTE) continue;
      const char* at = reinterpret_cast<const char*>(loaded.dlpi_addr + segment.p_vaddr);
      const char* const end = at + segment.p_memsz;
      const auto padded = [](size_t size) { return (size + 3) / 4 * 4; };
      while (static_cast<size_t>(end - at) >= sizeof(ElfW(Nhdr))) {
        const auto& note = *reinterpret_cast<const ElfW(Nhdr)*>(at);
        const char* const content = at + sizeof note + padded(note.n_namesz);
        if (note.n_type == NT_GNU_BUILD_ID) identity.assign(content, note.n_descsz);
        at = content + padded(note.n_descsz);
      }
    }
    return true;  // the program is the first
  });
  if (identity.empty()) {
    struct stat file {};
    stat("/proc/self/exe", &file);
    identity = std::to_string(file.st_size) + "/" + std::to_string(file.st_mtime);
  }
  return identity;
}

}  // namespace aorta
