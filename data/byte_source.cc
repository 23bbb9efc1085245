#include <aorta/core/io/file.h>
#include <aorta/core/io/file_system.h>
#include <aorta/core/resource_error.h>
#include <aorta/data/byte_source.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace aorta::data {
namespace {

class FileSource : public ByteSource {
 public:
  FileSource(std::string path, uint64_t size, int descriptor)
      : ByteSource(std::move(path), size), descriptor_(descriptor) {}
  ~FileSource() override { io::file_system().close(descriptor_); }

  size_t read(uint64_t offset, std::span<std::byte> out) const override {
    size_t done = 0;
    while (done < out.size()) {
      const ssize_t count = ::pread(descriptor_, out.data() + done, out.size() - done,
                                    static_cast<off_t>(offset + done));
      if (count < 0 && errno == EINTR) continue;
      check(count >= 0, name(), "file must be readable", errno_text(errno), " at byte ",
            offset + done);
      if (count == 0) break;
      done += static_cast<size_t>(count);
    }
    return done;
  }

 private:
  int descriptor_;
};

class MemorySource : public ByteSource {
 public:
  MemorySource(std::string name, std::span<const std::byte> bytes)
      : ByteSource(std::move(name), bytes.size()), bytes_(bytes) {}

  size_t read(uint64_t offset, std::span<std::byte> out) const override {
    if (offset >= bytes_.size()) return 0;
    const size_t count = std::min(out.size(), bytes_.size() - static_cast<size_t>(offset));
    if (count > 0) std::memcpy(out.data(), bytes_.data() + offset, count);
    return count;
  }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace

std::shared_ptr<const ByteSource> ByteSource::open(const std::string& path) {
  const io::FileSystem& fs = io::file_system();
  int descriptor;
  do {
    // O_NONBLOCK: opening a pipe must not wait for its writer.
    descriptor = fs.open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0);
  } while (descriptor < 0 && errno == EINTR);
  if (descriptor < 0) fail_after_call(errno, path, "file must be readable", errno_text(errno));
  struct ::stat status;
  const int error = fs.fstat(descriptor, &status) < 0 ? errno : 0;
  if (error != 0 || !S_ISREG(status.st_mode)) fs.close(descriptor);
  if (error != 0) fail_after_call(error, path, "file must be readable", errno_text(error));
  check(S_ISREG(status.st_mode), path, "file to read must be a regular file",
        S_ISDIR(status.st_mode) ? "a folder" : "a device, pipe or socket");
  return std::make_shared<FileSource>(path, static_cast<uint64_t>(status.st_size), descriptor);
}

std::shared_ptr<const ByteSource> ByteSource::view(std::string name,
                                                   std::span<const std::byte> bytes) {
  return std::make_shared<MemorySource>(std::move(name), bytes);
}

}  // namespace aorta::data
