#include <aorta/core/plugin.h>
#include <aorta/core/resource_error.h>
#include <aorta/core/text.h>
#include <aorta/data/datasets/lsun.h>
#include <aorta/data/images/image.h>
#include <aorta/data/images/image_bytes.h>
#include <aorta/data/lmdb_format.h>
#include <aorta/data/lsun_plugin.h>
#include <aorta/data/stages.h>

#include <algorithm>
#include <filesystem>
#include <mutex>

namespace aorta::data {
namespace {

constexpr const char* kLsun = "lsun";
constexpr const char* kLsunCategories[] = {
    "bedroom",     "bridge",  "church_outdoor", "classroom",  "conference_room",
    "dining_room", "kitchen", "living_room",    "restaurant", "tower"};
constexpr const char* kLsunSplits[] = {"train", "val", "test"};

std::string load_lsun_table(const aorta_lsun*& table) {
  const aorta::detail::PluginEntry plugin =
      aorta::detail::load_plugin("libaorta_lsun.so", "AORTA_LSUN_PLUGIN", "aorta_lsun_table");
  if (!plugin.function) return plugin.problem;
  const aorta_lsun* found = reinterpret_cast<const aorta_lsun* (*)()>(plugin.function)();
  if (found->version != kLsunVersion) return "libaorta_lsun.so is of another version of Aorta";
  table = found;
  return "";
}

const aorta_lsun& lsun_table() {
  static std::once_flag once;
  static const aorta_lsun* table = nullptr;
  static std::string problem;
  std::call_once(once, [] { problem = load_lsun_table(table); });
  if (!table) fail(kLsun, "databases need libaorta_lsun.so", problem);
  return *table;
}

[[noreturn]] void fail_by_lsun(const char* rule, const aorta_lsun_problem& problem,
                               const std::string& path) {
  if (problem.error == 0) fail(kLsun, rule, problem.text, " in ", path);
  fail_after_call(problem.error, kLsun, rule, errno_text(problem.error), " in ", path);
}

bool is_webp(std::string_view bytes) {
  return bytes.starts_with("RIFF") && bytes.substr(std::min<size_t>(8, bytes.size()), 4) == "WEBP";
}

Tensor decode_webp_image(std::span<const std::byte> bytes, ImageMode mode,
                         const std::string& path) {
  const StageScope scope(Stage::decode);
  constexpr const char* kRule = "WebP image must be whole, sound and still";
  const aorta_lsun& table = lsun_table();
  aorta_lsun_problem problem;
  int64_t height = 0, width = 0, channels = 0;
  if (table.webp_size(bytes.data(), bytes.size(), &height, &width, &channels, &problem) != 1)
    fail_by_lsun(kRule, problem, path);
  std::vector<uint8_t> pixels(static_cast<size_t>(height * width * channels));
  if (table.webp_pixels(bytes.data(), bytes.size(), pixels.data(), pixels.size(), &problem) != 1)
    fail_by_lsun(kRule, problem, path);
  return planar_image(pixels.data(), height, width, channels, mode);
}

Tensor decode_lsun_image(std::span<const std::byte> bytes, ImageMode mode,
                         const std::string& path) {
  const std::string_view text = io::as_text(bytes);
  if (is_webp(text)) return decode_webp_image(bytes, mode, path);
  check(text.starts_with("\xff\xd8") || text.starts_with("\x89PNG"), kLsun,
        "an image must be WebP, JPEG or PNG", io::quote(text.substr(0, 12)), " in ", path);
  return decode_image(bytes, mode, std::string(kLsun) + ": " + path);
}

// Throws unless a class is a category and a split, as "church_outdoor_val".
void check_lsun_class(const std::string& name) {
  const size_t end = name.rfind('_');
  const std::string category = name.substr(0, end),
                    split = end == name.npos ? "" : name.substr(end + 1);
  const auto known = [](const auto& names, const std::string& one) {
    return std::find(std::begin(names), std::end(names), one) != std::end(names);
  };
  std::string categories;
  for (const char* each : kLsunCategories) categories += std::string(" ") + each + ",";
  check(end != name.npos && known(kLsunCategories, category), kLsun,
        "a class must be of a category (" + categories.substr(1, categories.size() - 2) + ")",
        io::quote(category), " of ", io::quote(name));
  check(known(kLsunSplits, split), kLsun, "a class must end with _train, _val or _test",
        io::quote(name));
}

}  // namespace

// A class's database, open as long as this lives.
class LSUN::Database {
 public:
  explicit Database(std::string folder) : folder_(std::move(folder)) {
    const std::string path = folder_ + "/data.mdb";
    std::error_code error;
    const bool there = std::filesystem::is_regular_file(path, error);
    if (error)
      fail_after_call(error.value(), kLsun, "a class must have a database", path, ": ",
                      errno_text(error.value()));
    check(there, kLsun, "a class must have a database", path, ", which is no file");
    const int64_t values = check_lmdb(*ByteSource::open(path), kLsun);
    check(values > 0, kLsun, "a database must have an image", "none in ", path);
    aorta_lsun_problem problem;
    database_ = table_.open(folder_.c_str(), &size_, &problem);
    if (!database_) fail_by_lsun("a database must be readable", problem, path);
  }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database() { table_.close(database_); }

  const std::string& folder() const { return folder_; }
  int64_t size() const { return size_; }

  struct Value {
    std::string path;
    std::span<const std::byte> bytes;  // until the next is asked for
  };
  Value operator[](int64_t index) const {
    aorta_lsun_value value;
    aorta_lsun_problem problem;
    if (table_.get(database_, index, &value, &problem) != 1)
      fail_by_lsun("a database must be readable", problem,
                   folder_ + ", image " + std::to_string(index));
    return {folder_ + "/" + printable({static_cast<const char*>(value.key), value.key_size}),
            {static_cast<const std::byte*>(value.bytes), value.size}};
  }

 private:
  const aorta_lsun& table_ = lsun_table();
  std::string folder_;
  void* database_ = nullptr;
  int64_t size_ = 0;
};

LSUN::LSUN(const Text& root, const List<std::string>& classes, const Transforms& transforms,
           const LsunOptions& options)
    : transforms_(transforms), options_(options), classes_(classes) {
  frame_ = transforms_.size_after({-1, -1});
  check(frame_.height >= 0, kLsun,
        "transforms must give images of any size one size (RandomResizedCrop, CenterCrop, "
        "RandomCrop or Resize to a size)",
        "none that does");
  check(!classes_.empty(), kLsun, "there must be a class", "none");
  if (classes_ != std::vector<std::string>{"test"})
    for (const std::string& name : classes_) check_lsun_class(name);
  for (const std::string& name : classes_) {
    databases_.push_back(std::make_shared<const Database>(root + "/" + name + "_lmdb"));
    ends_.push_back(ends_.back() + databases_.back()->size());
  }
  if (options_.mode == ImageMode::gray) channels_ = 1;
  if (options_.mode == ImageMode::unchanged) {
    const auto [path, bytes] = (*databases_[0])[0];
    channels_ = decode_lsun_image(bytes, options_.mode, path).size(0);
  }
}

List<std::string> LSUN::classes_of(const Text& split) {
  const auto* known = std::find(std::begin(kLsunSplits), std::end(kLsunSplits), split);
  check(known != std::end(kLsunSplits), kLsun,
        "classes must be \"train\", \"val\", \"test\" or a list", io::quote(split));
  if (split == "test") return {"test"};
  List<std::string> classes;
  for (const char* category : kLsunCategories)
    classes.push_back(std::string(category) + "_" + split);
  return classes;
}

LSUN::Place LSUN::place(int64_t index) const {
  check(index >= 0 && index < size(), kLsun, "index must be in [0, size)", index, " of ", size());
  const auto end = std::upper_bound(ends_.begin() + 1, ends_.end(), index);
  return {.number = static_cast<size_t>(end - ends_.begin() - 1), .value = index - end[-1]};
}

std::vector<TensorSpec> LSUN::specs() const {
  return {{"image", transforms_.dtype_after(u8), {channels_, frame_.height, frame_.width}},
          {"label", i64, {}}};
}

std::string LSUN::path(int64_t index) const {
  const auto [number, value] = place(index);
  return (*databases_[number])[value].path;
}

int64_t LSUN::label(int64_t index) const {
  const auto number = static_cast<int64_t>(place(index).number);
  return options_.target_transform ? options_.target_transform(number) : number;
}

void LSUN::read(int64_t index, Sample& sample, Generator& random) const {
  const auto [number, value] = place(index);
  sample.set_file(databases_[number]->folder());  // until the key is known
  const auto [path, bytes] = (*databases_[number])[value];
  sample.set_file(path);
  const Tensor image = decode_lsun_image(bytes, options_.mode, path);
  check(image.size(0) == channels_, kLsun, "images must have as many channels as the first",
        image.size(0), " and ", channels_, " in ", path);
  const StageScope scope(Stage::transform);
  transforms_.run({.images = {image}}, random,
                  [&](FrameSize) { return Views{.images = {sample["image"]}}; });
  *sample["label"].data<int64_t>() = label(index);
}

}  // namespace aorta::data
