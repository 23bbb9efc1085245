#include <aorta/apps/echo/doctor.h>
#include <aorta/apps/echo/failure.h>
#include <aorta/apps/echo/files.h>
#include <aorta/core/backends.h>
#include <aorta/core/cpu/isa.h>
#include <aorta/core/device.h>
#include <aorta/core/io/bytes.h>
#include <aorta/core/parallel_for.h>
#include <aorta/core/process/limits.h>
#include <aorta/data/video/video.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

namespace aorta::echo {
namespace {

using Status = Finding::Status;
constexpr double kGiB = 1024. * 1024 * 1024;

// What follows the colon of the first line of a file that starts with `key`.
std::string value_in(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    const size_t colon = line.find(':');
    const size_t begin =
        colon == std::string::npos ? colon : line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

std::string text_of(int error) { return std::generic_category().message(error); }

Finding processor() {
  Finding finding{.name = "CPU", .text = cpu_name(), .fix = {}};
  switch (cpu::isa()) {
    case cpu::Isa::v4:
      finding.text +=
          std::string(", kernels for AVX-512 (x86-64-v4)") + (cpu::has_bf16() ? " with bf16" : "");
      break;
    case cpu::Isa::v3:
      finding.text += ", kernels for AVX2 (x86-64-v3)";
      break;
    case cpu::Isa::v2:
      finding.status = Status::warn;
      finding.text += ", kernels for SSE4.2 (x86-64-v2)";
      finding.fix = "training is several times as fast on a CPU with AVX2";
      break;
  }
  const char* wish = std::getenv("AORTA_ISA");
  if (wish && *wish) {
    finding.text += fmt::format(", as AORTA_ISA={} asks", wish);
  }
  return finding;
}

Finding threads() {
  const int granted = available_cpus(), used = get_num_threads();
  Finding finding{.name = "threads",
                  .text = fmt::format("{} of numeric kernels; {} of {} CPUs may be used", used,
                                      granted, std::thread::hardware_concurrency()),
                  .fix = {}};
  if (used == granted) return finding;
  finding.status = Status::warn;
  finding.fix =
      used > granted
          ? fmt::format("OMP_NUM_THREADS={}: more threads than CPUs wait for each other", granted)
          : fmt::format("OMP_NUM_THREADS={} uses all of them", granted);
  return finding;
}

Finding memory() {
  const auto free = static_cast<double>(available_memory_bytes());
  Finding finding{.name = "memory",
                  .text = fmt::format("{:.1f} GiB may still be taken", free / kGiB),
                  .fix = {}};
  if (free >= 2 * kGiB) return finding;
  finding.status = Status::warn;
  finding.fix = "a smaller --batch_size, or --model_name unet_small";
  return finding;
}

Finding shared_memory() {
  Finding finding{.name = "shared memory", .text = {}, .fix = {}};
  const int descriptor = ::memfd_create("aorta-echo doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (descriptor < 0) {
    finding.status = Status::missing;
    finding.text = "memfd_create must succeed, got " + text_of(errno);
    finding.fix = "let the sandbox or container allow memfd_create, or use --num_workers 0";
    return finding;
  }
  ::close(descriptor);
  finding.text = "memfd works";
  struct statvfs status {};
  if (::statvfs("/dev/shm", &status) == 0)
    finding.text += fmt::format(
        "; /dev/shm has {:.1f} GiB, and isn't needed",
        static_cast<double>(status.f_blocks) * static_cast<double>(status.f_frsize) / kGiB);
  return finding;
}

Finding open_files() {
  constexpr rlim_t kEnough = 1024;
  struct rlimit limit {};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  Finding finding{.name = "open files", .text = {}, .fix = {}};
  finding.text = limit.rlim_cur == RLIM_INFINITY ? "no limit" : fmt::format("{}", limit.rlim_cur);
  if (limit.rlim_cur >= kEnough) return finding;
  finding.status = Status::warn;
  finding.fix = fmt::format("ulimit -n {}: with many workers, each takes some",
                            std::min<rlim_t>(limit.rlim_max, 4 * kEnough));
  return finding;
}

Finding disk(const std::string& folder) {
  Finding finding{.name = "disk", .text = {}, .fix = {}};
  struct statvfs status {};
  if (::statvfs(folder.c_str(), &status) != 0 || ::access(folder.c_str(), W_OK) != 0) {
    finding.status = Status::missing;
    finding.text = io::quote(folder) + " must be writable, got " + text_of(errno);
    finding.fix = "name a folder that can be written with --output";
    return finding;
  }
  const double free =
      static_cast<double>(status.f_bavail) * static_cast<double>(status.f_frsize) / kGiB;
  finding.text =
      fmt::format("{:.1f} GiB free in {}", free,
                  std::filesystem::path(absolute_path(folder)).lexically_normal().string());
  if (free >= 2) return finding;
  finding.status = Status::warn;
  finding.fix =
      "checkpoints of deeplabv3_resnet50 take 0.9 GB; make room, or name another --output";
  return finding;
}

// The GPUs that the driver lists.
std::string gpu_models() {
  std::string models;
  std::error_code error;
  std::filesystem::directory_iterator gpu("/proc/driver/nvidia/gpus", error);
  for (; !error && gpu != std::filesystem::directory_iterator(); gpu.increment(error))
    models += (models.empty() ? "" : ", ") + value_in(gpu->path() / "information", "Model");
  return models;
}

// Without cuDNN convolutions are computed by kernels of Aorta's own.
Finding cudnn() {
  namespace cudnn = backends::cudnn;
  Finding finding{.name = "cuDNN", .text = {}, .fix = {}};
  if (cudnn::is_available()) {
    const int64_t v = cudnn::version();
    finding.text = fmt::format("{}.{}.{}", v / 10000, v / 100 % 100, v % 100);
    if (!cudnn::enabled()) finding.text += ", switched off by AORTA_CUDNN=0";
    return finding;
  }
  finding.status = Status::warn;
  finding.text = cudnn::unavailable_reason() + "; own kernels compute convolutions";
  finding.fix = "cuDNN 9 for CUDA 13, whose libcudnn.so.9 the loader finds";
  return finding;
}

std::vector<Finding> gpu() {
  const std::string driver = value_in("/proc/driver/nvidia/version", "NVRM version");
  Finding there{.name = "GPU", .text = gpu_models(), .fix = {}};
  Finding plugin{.name = "CUDA", .text = {}, .fix = {}};
  if (cuda::is_available()) {
    if (there.text.empty()) there.text = "present";
    there.text = fmt::format("{} x {}", cuda::device_count(), there.text);
    plugin.text = "libaorta_cuda.so is loaded; driver " + (driver.empty() ? "unknown" : driver);
    return {there, plugin, cudnn()};
  }
  if (there.text.empty()) {
    there.status = Status::warn;
    there.text = driver.empty() ? "none" : "none; driver " + driver;
    there.fix = "training runs on the CPU; unet_small is made for that";
  }
  plugin.status = Status::warn;
  plugin.text = cuda::unavailable_reason();
  plugin.fix = there.text == "none"
                   ? "only needed with a GPU"
                   : "a driver for CUDA 13, and a build with --config=cuda, whose libaorta_cuda.so "
                     "lies beside the program";
  return {there, plugin};
}

// A library's file by a function of it, links followed: "libz.so.1.2.13".
std::string file_of(void* function) {
  Dl_info info;
  if (!dladdr(function, &info) || !info.dli_fname) return "";
  char path[PATH_MAX];
  return std::filesystem::path(realpath(info.dli_fname, path) ? path : info.dli_fname).filename();
}

Finding library(const char* name, const char* function, const std::string& package,
                std::string (*version)(void* function)) {
  Finding finding{.name = name, .text = {}, .fix = {}};
  void* found = dlsym(RTLD_DEFAULT, function);
  if (!found) {
    finding.status = Status::warn;
    finding.text = "not loaded";
    finding.fix = "apt-get install " + package;
    return finding;
  }
  finding.text = version ? version(found) + ", " + file_of(found) : file_of(found);
  return finding;
}

std::string zlib_version(void* function) { return reinterpret_cast<const char* (*)()>(function)(); }

std::string png_version(void* function) {
  return reinterpret_cast<const char* (*)(const void*)>(function)(nullptr);
}

// What the reader of videos says of a file of the plugin's kind: that the plugin isn't there, or
// something else.
Finding video_plugin(const char* name, const std::string& library, const std::string& content,
                     const std::string& fix) {
  Finding finding{.name = name, .text = library + " is loaded", .fix = {}};
  char folder[] = "/tmp/aorta-echo-XXXXXX";
  if (!::mkdtemp(folder)) {
    finding.status = Status::warn;
    finding.text = std::string("can't be tried: /tmp: ") + text_of(errno);
    finding.fix = "make /tmp a folder that can be written";
    return finding;
  }
  const std::string file = std::string(folder) + "/none.video";
  std::ofstream(file) << content;
  try {
    const data::VideoReader reader(file);
  } catch (const Error& error) {
    const std::string text = error.what(), start = "needs " + library + ", got ";
    const size_t place = text.find(start);
    if (place != std::string::npos) {
      finding.status = Status::warn;
      const size_t begin = place + start.size();
      finding.text = text.substr(begin, text.find(" (a file", begin) - begin);
      finding.fix = fix;
    }
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return finding;
}

Finding data_set() {
  Finding finding{.name = "AORTA_ECHO", .text = {}, .fix = {}};
  const char* place = std::getenv("AORTA_ECHO");
  if (!place || !*place) {
    finding.status = Status::warn;
    finding.text = "isn't set";
    finding.fix =
        "set it to a folder in EchoNet-Dynamic's layout, give --data_dir, or make one: "
        "aorta-echo synth";
    return finding;
  }
  finding.text = place;
  for (const char* part : {"FileList.csv", "VolumeTracings.csv", "Videos"}) {
    std::error_code error;
    if (std::filesystem::exists(std::filesystem::path(place) / part, error)) continue;
    finding.status = Status::warn;
    finding.text +=
        error ? std::string(": ") + part + ": " + error.message() : std::string(" has no ") + part;
    finding.fix = "`aorta-echo data check` says what else is wrong";
    break;
  }
  return finding;
}

}  // namespace

std::vector<Finding> examine(const DoctorOptions& options) {
  std::vector<Finding> findings = {processor(),     threads(),    memory(),
                                   shared_memory(), open_files(), disk(options.folder)};
  for (Finding& finding : gpu()) findings.push_back(std::move(finding));
  findings.push_back(library("libjpeg-turbo", "jpeg_read_scanlines", "libjpeg62-turbo", nullptr));
  findings.push_back(library("libpng", "png_get_libpng_ver", "libpng16-16", png_version));
  findings.push_back(library("zlib", "zlibVersion", "zlib1g", zlib_version));
  findings.push_back(
      video_plugin("OpenCV", "libaorta_opencv.so", "no video",
                   "only Motion JPEG in AVI is read (EchoNet's format); for others build "
                   "//data:libaorta_opencv.so and set AORTA_OPENCV_PLUGIN to it"));
  findings.push_back(video_plugin(
      "DCMTK", "libaorta_dicom.so", std::string(128, ' ') + "DICM",
      "DICOM files aren't read; build //data:libaorta_dicom.so and set AORTA_DICOM_PLUGIN to it"));
  findings.push_back(data_set());
  return findings;
}

std::string to_string(const Finding& finding) {
  const char* status = finding.status == Status::ok     ? "ok"
                       : finding.status == Status::warn ? "warn"
                                                        : "missing";
  return fmt::format("{:<8}{:<15}{}{}{}", status, finding.name, finding.text,
                     finding.fix.empty() ? "" : "; fix: ", finding.fix);
}

void doctor(const DoctorOptions& options) {
  std::string missing;
  for (const Finding& finding : examine(options)) {
    std::printf("%s\n", to_string(finding).c_str());
    if (finding.status == Status::missing)
      missing += (missing.empty() ? "" : "; ") + finding.name + ": " + finding.text;
  }
  if (!missing.empty()) throw Failure(ExitCode::environment, missing);
}

}  // namespace aorta::echo
