#include <aorta/core/check.h>
#include <aorta/core/io/bytes.h>
#include <aorta/core/ops/creation.h>
#include <aorta/data/datasets/echo_tables.h>
#include <aorta/data/stages.h>
#include <aorta/data/video/video.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace aorta::data {
namespace {

using Target = EchoTarget;

bool has_target(const EchoOptions& options, Target kind) {
  return std::any_of(options.targets.begin(), options.targets.end(),
                     [&](const std::string& target) { return echo_target(target) == kind; });
}

void check_options(const EchoOptions& options) {
  const auto at_least = [](int64_t value, int64_t least, const char* rule) {
    check(value >= least, "echo", rule, value);
  };
  at_least(options.length, 0, "length must not be negative");
  at_least(options.period, 1, "period must be positive");
  at_least(options.max_length, 0, "max_length must not be negative");
  at_least(options.clips, 0, "clips must not be negative");
  at_least(options.pad, 0, "pad must not be negative");
  check(!options.around_traces || options.length > 0, "echo",
        "around_traces is of clips of a given length", options.length);
  check(options.noise >= 0 && options.noise <= 1, "echo", "noise must be 0 to 1", options.noise);
  check(options.dtype == u8 || options.dtype == f32, "echo", "dtype must be u8 or f32",
        options.dtype);
  const size_t channels = options.mode == ImageMode::gray ? 1 : 3;
  for (const auto* list : {&options.mean, &options.std})
    check(list->size() == 1 || list->size() == channels, "echo",
          "mean and std must have one number, or one a channel", list->size(), " for ", channels,
          " channels");
  for (const float value : options.std) check(value > 0, "echo", "std must be positive", value);
  check(options.video || !options.targets.empty(), "echo", "samples must have a clip or targets",
        "neither");
  if (options.split == EchoSplit::external_test)
    for (const std::string& target : options.targets)
      if (echo_target(target) != Target::value && echo_target(target) != Target::file_name)
        fail("echo", "videos of external_test have no traces", io::quote(target));
}

// What a table of faults says in one line, which stays a line that can be read.
std::string list_of(const std::vector<EchoFault>& faults) {
  constexpr size_t kMost = 10;
  std::string text;
  size_t count = 0;
  for (const EchoFault& fault : faults) {
    if (!fault.fatal) continue;
    if (++count <= kMost) text += (text.empty() ? "" : "; ") + to_string(fault);
  }
  if (count > kMost) text += "; and " + std::to_string(count - kMost) + " more";
  return std::to_string(count) + (count == 1 ? " fault: " : " faults: ") + text;
}

// Throws one error for all that is wrong.
void require_sound(const std::string& videos, const std::vector<EchoFault>& faults) {
  if (std::any_of(faults.begin(), faults.end(), [](const EchoFault& fault) { return fault.fatal; }))
    fail("echo", "the files of " + videos + " and its tables must be sound", list_of(faults));
}

// Frames of the longest of the videos. The table's counts say which one it is, and the file itself
// how long: samples as large as a wrong count would find no memory.
int64_t longest_of(const EchoTables& tables, const std::string& videos) {
  std::vector<size_t> order(tables.names.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return tables.frame_counts[a] > tables.frame_counts[b];
  });
  int64_t longest = 0;
  for (const size_t i : order) {
    if (tables.frame_counts[i] >= 0 && tables.frame_counts[i] <= longest) break;
    longest =
        std::max(longest, VideoReader(videos + "/" + std::string(tables.names[i])).frame_count());
  }
  return longest;
}

// What a pixel becomes.
template <class T>
struct Values {
  T of[256];
  T fill;  // the mean colour
};

template <class T>
Values<T> values_of(const EchoOptions& options, size_t channel) {
  const float mean = options.mean[options.mean.size() == 1 ? 0 : channel];
  const float std = options.std[options.std.size() == 1 ? 0 : channel];
  Values<T> values;
  for (int i = 0; i < 256; ++i) {
    if constexpr (std::is_same_v<T, float>)
      values.of[i] = (static_cast<float>(i) - mean) / std;
    else
      values.of[i] = static_cast<uint8_t>(i);
  }
  if constexpr (std::is_same_v<T, float>)
    values.fill = 0;
  else
    values.fill = static_cast<uint8_t>(std::clamp(std::nearbyint(mean), 0.f, 255.f));
  return values;
}

}  // namespace

EchoOptions EchoOptions::segmentation(EchoSplit split) {
  EchoOptions options;
  options.split = split;
  options.targets = {"LargeFrame", "SmallFrame", "LargeTrace", "SmallTrace"};
  options.video = false;
  return options;
}

Echo::Echo(const Text& folder, const EchoOptions& options) : options_(options) {
  check_options(options);
  if (options.split != EchoSplit::external_test) folder_ = echo_folder(folder);
  videos_ = echo_videos(folder_, options);
  columns_ = echo_columns(options);
  std::vector<EchoFault> faults;
  EchoTables tables = load_echo_tables(folder_, options, columns_, faults);
  require_sound(videos_, faults);
  tables.notes = std::move(faults);
  tables_ = std::make_shared<const EchoTables>(std::move(tables));
  const auto left_out = std::count_if(notes().begin(), notes().end(), [](const EchoFault& note) {
    return note.file == "FileList.csv";
  });
  check(size() > 0, "echo", "the split must have videos", "none of ", to_string(options.split),
        " in ", folder_.empty() ? videos_ : folder_, ", ", left_out, " left out");
  for (size_t i = 0; i < tables_->names.size(); ++i) {
    longest_name_ =
        std::max<int64_t>(longest_name_, static_cast<int64_t>(tables_->names[i].size()));
    longest_video_ = std::max<int64_t>(longest_video_, tables_->frame_counts[i]);
  }
  if (!options.video && !has_target(options, Target::frame) && !has_target(options, Target::trace))
    return;
  const VideoReader first(path(0));
  height_ = first.height();
  width_ = first.width();
  if (options.require_traces || has_target(options, Target::trace)) {
    std::vector<EchoFault> outside;
    for (size_t i = 0; i < tables_->names.size(); ++i)
      for (const EchoTraceRows& rows : {tables_->large[i], tables_->small[i]})
        if (auto fault = fault_outside(*tables_, i, rows, height_, width_))
          outside.push_back(std::move(*fault));
    require_sound(videos_, outside);
  }
  const bool unbounded = options.clips == 0 || (options.length == 0 && options.max_length == 0);
  if (options.video && unbounded) longest_video_ = longest_of(*tables_, videos_);
}

Echo::~Echo() = default;

int64_t Echo::size() const { return static_cast<int64_t>(tables_->names.size()); }
const std::vector<EchoFault>& Echo::notes() const { return tables_->notes; }

size_t Echo::checked(int64_t index) const {
  check(index >= 0 && index < size(), "echo", "index must be 0 to the number of videos - 1", index,
        " of ", size());
  return static_cast<size_t>(index);
}

std::string Echo::file_name(int64_t index) const {
  return std::string(tables_->names[checked(index)]);
}

std::string Echo::path(int64_t index) const { return videos_ + "/" + file_name(index); }

EchoTrace Echo::trace(int64_t index, bool large) const {
  const EchoTraceRows& rows = (large ? tables_->large : tables_->small)[checked(index)];
  check(rows.frame >= 0, "echo", "the video must be traced", path(index));
  EchoTrace trace{.frame = rows.frame, .outline = {}};
  outline(*tables_, rows, trace.outline);
  return trace;
}

EchoTrace Echo::large_trace(int64_t index) const { return trace(index, true); }
EchoTrace Echo::small_trace(int64_t index) const { return trace(index, false); }

// Frames of a clip from a video of so many.
int64_t Echo::clip_length(int64_t frames) const {
  const int64_t length =
      options_.length > 0 ? options_.length : std::max<int64_t>(frames / options_.period, 1);
  return options_.max_length > 0 ? std::min(length, options_.max_length) : length;
}

void Echo::require_frame(size_t index, const EchoTraceRows& rows, int64_t frames) const {
  check(rows.frame < frames, path(static_cast<int64_t>(index)),
        "a video must be as long as its traces say (VolumeTracings.csv)", "frame ", rows.frame,
        " of ", frames, ", line ", rows.line);
}

std::vector<TensorSpec> Echo::specs() const {
  const int64_t channels = options_.mode == ImageMode::gray ? 1 : 3;
  std::vector<TensorSpec> specs;
  if (options_.video) {
    // A shorter clip fits more often: the largest sample is that of the longest video.
    const bool by_frames = options_.length == 0 && options_.max_length > 0 && longest_video_ == 0;
    const int64_t length = by_frames ? options_.max_length : clip_length(longest_video_);
    Shape shape{channels, length, height_, width_};
    if (options_.clips != 1) {
      const int64_t frames = std::max(longest_video_, length * options_.period);
      const int64_t places =
          options_.clips > 0 ? options_.clips : frames - (length - 1) * options_.period;
      shape = Shape{places, channels, length, height_, width_};
    }
    specs.push_back({"video", options_.dtype, shape});
  }
  for (const std::string& target : options_.targets) {
    switch (echo_target(target)) {
      case Target::file_name:
        specs.push_back({target, u8, {longest_name_}});
        break;
      case Target::value:
        specs.push_back({target, f32, {}});
        break;
      case Target::index:
        specs.push_back({target, i64, {}});
        break;
      case Target::frame:
        if (options_.around_traces)
          specs.push_back({target, options_.dtype, {channels, options_.length, height_, width_}});
        else
          specs.push_back({target, options_.dtype, {channels, height_, width_}});
        break;
      case Target::trace:
        specs.push_back({target, options_.dtype, {height_, width_}});
        break;
    }
  }
  return specs;
}

// One sample on its way: its video, what is random in it, and where decoded frames lie meanwhile.
struct Echo::Reading {
  const Echo& echo;
  VideoReader video;
  int64_t frames;
  uint64_t noise_seed = 0;
  std::vector<int64_t> starts;  // of the clips
  int64_t shift_y = 0;          // of the padded clip
  int64_t shift_x = 0;

  Reading(const Echo& dataset, int64_t index, Generator& random)
      : echo(dataset),
        video(dataset.path(index), dataset.options_.mode),
        frames(video.frame_count()) {
    const EchoOptions& options = echo.options_;
    check(video.height() == echo.height_ && video.width() == echo.width_, video.path(),
          "videos must be of one size", video.height(), " x ", video.width(),
          " where the first is ", echo.height_, " x ", echo.width_);
    if (options.noise > 0)
      noise_seed = static_cast<uint64_t>(random.next_u32()) << 32 | random.next_u32();
    if (!options.video) return;
    const int64_t length = echo.clip_length(frames);
    const int64_t places =
        std::max(frames, length * options.period) - (length - 1) * options.period;
    starts.resize(static_cast<size_t>(options.clips > 0 ? options.clips : places));
    if (options.clips > 0)
      for (int64_t& start : starts) start = random.next_below(places);
    else
      std::iota(starts.begin(), starts.end(), 0);
    if (options.pad == 0) return;
    shift_y = random.next_below(2 * options.pad) - options.pad;
    shift_x = random.next_below(2 * options.pad) - options.pad;
  }

  // Frame `index` into `place`, (C, H, W) with rows of pixels one after another; beyond the video's
  // end, the mean colour.
  void write(int64_t index, const Tensor& place, bool shifted) {
    const EchoOptions& options = echo.options_;
    if (options.dtype == f32) return convert<float>(decode(index), place, shifted);
    if (index < frames && (!shifted || options.pad == 0)) {
      video.read_into(index, place);
      blacken(index, place);
      return;
    }
    convert<uint8_t>(decode(index), place, shifted);
  }

  // The frame in memory of this thread's; undefined beyond the end.
  Tensor decode(int64_t index) {
    if (index >= frames) return {};
    static thread_local std::vector<uint8_t> pixels;
    const Shape shape{video.channels(), echo.height_, echo.width_};
    pixels.resize(static_cast<size_t>(shape[0] * shape[1] * shape[2]));
    const Tensor frame = from_blob(pixels.data(), shape, {.dtype = u8});
    video.read_into(index, frame);
    blacken(index, frame);
    return frame;
  }

  // Blackens the same pixels of a frame each time that it is read for this sample.
  void blacken(int64_t index, const Tensor& frame) const {
    const int64_t size = frame.size(1) * frame.size(2);
    const auto count =
        static_cast<int64_t>(std::nearbyint(echo.options_.noise * static_cast<double>(size)));
    if (count == 0) return;
    const StageScope scope(Stage::transform);
    static thread_local std::vector<uint32_t> places;
    places.resize(static_cast<size_t>(size));
    std::iota(places.begin(), places.end(), 0u);
    Generator random(noise_seed, static_cast<uint64_t>(index));
    for (int64_t i = 0; i < count; ++i) {
      std::swap(places[static_cast<size_t>(i)],
                places[static_cast<size_t>(i + random.next_below(size - i))]);
      const int64_t y = places[static_cast<size_t>(i)] / frame.size(2);
      const int64_t x = places[static_cast<size_t>(i)] % frame.size(2);
      for (int64_t c = 0; c < frame.size(0); ++c)
        frame.data<uint8_t>()[c * frame.stride(0) + y * frame.stride(1) + x] = 0;
    }
  }

  template <class T>
  void convert(const Tensor& frame, const Tensor& place, bool shifted) const {
    const StageScope scope(Stage::transform);
    const int64_t height = place.size(1), width = place.size(2);
    const int64_t dy = shifted ? shift_y : 0, dx = shifted ? shift_x : 0;
    for (int64_t c = 0; c < place.size(0); ++c) {
      const Values<T> values = values_of<T>(echo.options_, static_cast<size_t>(c));
      for (int64_t y = 0; y < height; ++y) {
        T* to = place.data<T>() + c * place.stride(0) + y * place.stride(1);
        if (!frame.defined() || y + dy < 0 || y + dy >= height) {
          std::fill_n(to, width, values.fill);
          continue;
        }
        const uint8_t* from = frame.data<uint8_t>() + (c * height + y + dy) * width + dx;
        const int64_t begin = std::clamp<int64_t>(-dx, 0, width);
        const int64_t end = std::clamp<int64_t>(width - dx, begin, width);
        std::fill(to, to + begin, values.fill);
        for (int64_t x = begin; x < end; ++x) to[x] = values.of[from[x]];
        std::fill(to + end, to + width, values.fill);
      }
    }
  }
};

void Echo::read_clip(Reading& reading, const Tensor& place) const {
  const int64_t length = clip_length(reading.frames), period = options_.period;
  const auto count = static_cast<int64_t>(reading.starts.size());
  if (options_.clips == 1) {
    for (int64_t k = 0; k < length; ++k)
      reading.write(reading.starts[0] + k * period, place.select(1, k), true);
    return;
  }
  // Each frame is decoded once for all the clips that it is in.
  const int64_t last = *std::max_element(reading.starts.begin(), reading.starts.end());
  for (int64_t t = 0; t <= last + (length - 1) * period; ++t) {
    Tensor written;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t start = reading.starts[static_cast<size_t>(i)];
      if (t < start || (t - start) % period != 0 || (t - start) / period >= length) continue;
      const Tensor frame = place.select(0, i).select(1, (t - start) / period);
      if (written.defined())
        frame.copy_(written);
      else
        reading.write(t, frame, true);
      written = frame;
    }
  }
}

void Echo::read(int64_t index, Sample& sample, Generator& random) const {
  const size_t i = checked(index);
  sample.set_file(path(index));
  std::optional<Reading> reading;
  if (options_.video || has_target(options_, Target::frame)) reading.emplace(*this, index, random);
  if (options_.video) {
    const int64_t length = clip_length(reading->frames);
    const int64_t channels = reading->video.channels();
    const auto clips = static_cast<int64_t>(reading->starts.size());
    read_clip(*reading, options_.clips == 1
                            ? sample.resize("video", {channels, length, height_, width_})
                            : sample.resize("video", {clips, channels, length, height_, width_}));
  }
  size_t column = 0;
  for (const std::string& target : options_.targets) {
    const bool large = target.starts_with("Large");
    const Tensor& place = sample[target];
    switch (echo_target(target)) {
      case Target::file_name: {
        const std::string_view name = tables_->names[i];
        std::fill_n(place.data<uint8_t>(), place.numel(), uint8_t{0});
        std::copy(name.begin(), name.end(), place.data<uint8_t>());
        break;
      }
      case Target::value:
        *place.data<float>() = static_cast<float>(tables_->values[i * columns_.size() + column++]);
        break;
      case Target::index: {
        const int64_t frame = (large ? tables_->large : tables_->small)[i].frame;
        *place.data<int64_t>() = frame;
        break;
      }
      case Target::frame: {
        const EchoTraceRows& rows = (large ? tables_->large : tables_->small)[i];
        require_frame(i, rows, reading->frames);
        if (!options_.around_traces) {
          reading->write(rows.frame, place, false);
          break;
        }
        for (int64_t k = 0; k < options_.length; ++k) {
          const int64_t frame = rows.frame + (k - options_.length / 2) * options_.period;
          reading->write(std::clamp<int64_t>(frame, 0, reading->frames - 1), place.select(1, k),
                         false);
        }
        break;
      }
      case Target::trace:
        draw(i, large, place);
        break;
    }
  }
}

void Echo::draw(size_t index, bool large, const Tensor& place) const {
  const StageScope scope(Stage::transform);
  static thread_local std::vector<Point> points;
  static thread_local std::vector<uint8_t> mask;
  outline(*tables_, (large ? tables_->large : tables_->small)[index], points);
  if (options_.dtype == u8) {
    std::fill_n(place.data<uint8_t>(), place.numel(), uint8_t{0});
    fill_polygon(place.data<uint8_t>(), height_, width_, points);
    return;
  }
  mask.assign(static_cast<size_t>(place.numel()), 0);
  fill_polygon(mask.data(), height_, width_, points);
  std::copy(mask.begin(), mask.end(), place.data<float>());
}

}  // namespace aorta::data
