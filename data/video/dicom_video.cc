#include <aorta/core/check.h>
#include <aorta/core/plugin.h>
#include <aorta/core/resource_error.h>
#include <aorta/data/stages.h>
#include <aorta/data/video/dicom.h>
#include <aorta/data/video/dicom_plugin.h>
#include <aorta/data/video/video_backend.h>

#include <cstring>
#include <mutex>

namespace aorta::data {
namespace {

using DicomTable = aorta_dicom;

std::string load_dicom_table(const DicomTable*& table) {
  const detail::PluginEntry plugin =
      detail::load_plugin("libaorta_dicom.so", "AORTA_DICOM_PLUGIN", "aorta_dicom_table");
  if (!plugin.function) return plugin.problem;
  const DicomTable* found = reinterpret_cast<const DicomTable* (*)()>(plugin.function)();
  if (found->version != kDicomVersion) return "libaorta_dicom.so is of another version of Aorta";
  table = found;
  return "";
}

const DicomTable& dicom_table_for(const std::string& path) {
  static std::once_flag once;
  static const DicomTable* table = nullptr;
  static std::string problem;
  std::call_once(once, [] { problem = load_dicom_table(table); });
  if (!table) fail(path, "a DICOM file needs libaorta_dicom.so", problem);
  return *table;
}

// Throws for what the plugin said.
template <class... Place>
[[noreturn]] void fail_by_dicom(const std::string& path, const char* rule, const char* error,
                                const Place&... place) {
  if (std::string_view(error) == kDicomHasNoMemory || std::string_view(error) == kDicomHasNoThread)
    fail_for_resources(path, rule, error, place...);
  fail(path, rule, error, place...);
}

// A file that is open, closed with this object.
class DicomFile {
 public:
  explicit DicomFile(const std::string& path) : table_(dicom_table_for(path)), path_(path) {
    char error[512] = "";
    file_ = table_.open(path.c_str(), &facts_, error, sizeof error);
    if (!file_) fail_by_dicom(path, "DICOM file must be readable", error);
  }
  DicomFile(const DicomFile&) = delete;
  DicomFile& operator=(const DicomFile&) = delete;
  ~DicomFile() { table_.close(file_); }

  const aorta_dicom_facts& facts() const { return facts_; }

  void pixels(int64_t frame, int64_t channels, uint8_t* out) const {
    char error[512] = "";
    if (table_.pixels(file_, frame, static_cast<int>(channels), out, error, sizeof error) != 1)
      fail_by_dicom(path_, "frame must be readable", error, ", frame ", frame);
  }

  std::vector<UltrasoundRegion> regions() const {
    std::vector<UltrasoundRegion> all;
    char error[512] = "";
    const auto add = [](void* list, const aorta_dicom_region* region) {
      constexpr double kMillimetres = 10;  // of a centimetre
      static_cast<std::vector<UltrasoundRegion>*>(list)->push_back(
          {.is_picture = region->spatial_format == 1,
           .left = region->x0,
           .top = region->y0,
           .width = region->x1 - region->x0 + 1,
           .height = region->y1 - region->y0 + 1,
           .x_millimetres = kMillimetres * region->x_delta,
           .y_millimetres = kMillimetres * region->y_delta});
    };
    if (table_.regions(file_, add, &all, error, sizeof error) != 1)
      fail_by_dicom(path_, "DICOM file must be readable", error);
    return all;
  }

  std::vector<DicomAttribute> attributes() const {
    std::vector<DicomAttribute> all;
    char error[512] = "";
    const auto add = [](void* list, uint32_t tag, const char* name) {
      static_cast<std::vector<DicomAttribute>*>(list)->push_back({tag, name});
    };
    if (table_.attributes(file_, add, &all, error, sizeof error) != 1)
      fail_by_dicom(path_, "DICOM file must be readable", error);
    return all;
  }

 private:
  const DicomTable& table_;
  std::string path_;
  void* file_ = nullptr;
  aorta_dicom_facts facts_{};
};

class DicomBackend : public VideoReader::Backend {
 public:
  explicit DicomBackend(const std::string& file) : file_(file) {
    path = file;
    fps = file_.facts().fps;
    height = file_.facts().height;
    width = file_.facts().width;
  }

  int64_t frame_count() override { return file_.facts().frames; }

  void read(int64_t index, const ImagePlace& place) override {
    const StageScope scope(Stage::decode);
    check(index < frame_count(), path, "frame must be 0 to the number of frames - 1", index, " of ",
          frame_count());
    pixels_.resize(static_cast<size_t>(height * width * place.channels));
    file_.pixels(index, place.channels, pixels_.data());
    const uint8_t* from = pixels_.data();
    for (int64_t y = 0; y < height; ++y)
      for (int64_t x = 0; x < width; ++x)
        for (int64_t c = 0; c < place.channels; ++c)
          place.data[c * place.channel_stride + y * place.row_stride + x * place.pixel_stride] =
              *from++;
  }

 private:
  DicomFile file_;
  std::vector<uint8_t> pixels_;
};

}  // namespace

bool is_dicom(const ByteSource& file) {
  constexpr uint64_t kPreamble = 128;
  std::byte mark[4];
  return file.read(kPreamble, mark) == sizeof mark && std::memcmp(mark, "DICM", 4) == 0;
}

DicomFacts read_dicom_facts(const std::string& path) {
  const DicomFile file(path);
  return {.modality = file.facts().modality,
          .patient = file.facts().patient,
          .regions = file.regions(),
          .attributes = file.attributes()};
}

std::unique_ptr<VideoReader::Backend> open_dicom(const std::string& path) {
  return std::make_unique<DicomBackend>(path);
}

}  // namespace aorta::data
