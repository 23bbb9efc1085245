#include <aorta/apps/echo/failure.h>
#include <aorta/apps/echo/files.h>
#include <aorta/apps/echo/folder_in_making.h>
#include <aorta/apps/echo/interrupt.h>
#include <aorta/apps/echo/synth/speckle.h>
#include <aorta/apps/echo/synth/synth.h>
#include <aorta/core/io/file.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/interpolate.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/view.h>
#include <aorta/core/parallel_for.h>
#include <aorta/data/video/video.h>
#include <aorta/report/progress.h>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <mutex>

namespace aorta::echo {
namespace {

namespace fs = std::filesystem;

// Heartbeats a minute.
constexpr double kSlowest = 50, kFastest = 110;
constexpr int64_t kMostVideos = 1'000'000, kMostFrames = 10'000, kSmallestPicture = 16;

int64_t two_beats(double heart_rate, double fps) {
  return static_cast<int64_t>(std::ceil(2 * 60 / heart_rate * fps)) + 1;
}

// "0X", 40 random bits, and 24 that differ from one number to the next.
std::string name_of(Generator& generator, int64_t number) {
  const uint64_t high = generator.next_u32(), low = generator.next_u32() & 0xff;
  const uint64_t own = static_cast<uint64_t>(number) * 0x9E3779 & 0xffffff;
  return fmt::format("0X{:08X}{:02X}{:06X}", high, low, own);
}

double draw_ejection_fraction(Draw& draw) {
  return draw.chance(0.7) ? draw.normal_within(0.62, 0.09) : draw.uniform(0.15, 0.5);
}

Heartbeat draw_heartbeat(Draw& draw, int64_t frames, double fps) {
  Heartbeat heart;
  const double slowest = std::max(kSlowest, 2 * 60 * fps / static_cast<double>(frames - 1));
  const double rate = slowest < kFastest ? draw.uniform(slowest, kFastest) : kFastest;
  heart.beat = 60 / rate;
  // From the electrical start to the second heart sound: Weissler, Harris, Schoenfeld, "Systolic
  // time intervals in heart failure in man", Circulation 1968: 546 - 2.1 rate ms.
  const double systole = (0.546 - 0.0021 * rate) * draw.uniform(0.8, 1);
  heart.systole = std::max(std::round(systole * fps), 2.0) / fps;  // ends on a frame
  heart.early_share = draw.uniform(0.5, 0.78);
  heart.atrial_share = std::min(draw.uniform(0.12, 0.35), 0.97 - heart.early_share);
  heart.ajar = draw.uniform(0, 0.6);
  return heart;
}

// A patient as drawn, or nothing where the ventricle would not lie in the sector.
struct Patient {
  Phantom phantom;
  View view;
  Probe probe;
  double contraction;  // at the end of systole
};

// With a pixel to spare, so that a traced mask is in it, too.
bool in_sector(const Outline& border, const Probe& probe) {
  constexpr double kSpare = 1;
  return std::all_of(border.begin(), border.end(), [&](Point place) {
    const double x = place.x - probe.apex.x, y = place.y - probe.apex.y;
    const double depth = std::hypot(x, y), angle = std::atan2(x, y);
    return depth > probe.near + kSpare && depth < probe.depth - kSpare &&
           depth * std::sin(angle - probe.left) > kSpare &&
           depth * std::sin(probe.right - angle) > kSpare && place.x > kSpare && place.y > kSpare &&
           place.x < kPicture - 1 - kSpare && place.y < kPicture - 1 - kSpare;
  });
}

Outline in_picture(const Phantom& phantom, const View& view, double contraction, double time) {
  Outline border = phantom.ventricle(contraction);
  for (Point& place : border)
    place = view.place(place, phantom.anatomy().length, contraction, time);
  return border;
}

Patient draw_patient(Draw& draw, double systole) {
  constexpr int kTries = 1000;
  for (int i = 0; i < kTries; ++i) {
    const Phantom phantom(Anatomy::random(draw));
    const double ejected = draw_ejection_fraction(draw);
    const View view = View::random(draw, phantom.anatomy());
    const Probe probe = Probe::random(draw);
    if (disk_volume(trace(phantom.ventricle(1), phantom.apex_index())) >
        (1 - ejected) * disk_volume(trace(phantom.ventricle(0), phantom.apex_index())))
      continue;
    const double contraction = contraction_for(phantom, ejected);
    if (in_sector(in_picture(phantom, view, 0, 0), probe) &&
        in_sector(in_picture(phantom, view, contraction, systole), probe))
      return {phantom, view, probe, contraction};
  }
  fail("synth", "a heart must fit into the sector", kTries, " tries");
}

void check_options(const SynthOptions& options) {
  const auto require = [](bool ok, const std::string& text) {
    if (!ok) throw Failure(ExitCode::usage, "synth: " + text);
  };
  require(!options.output.empty(), "output must name a folder, got nothing");
  for (const int64_t count : {options.train, options.val, options.test})
    require(count >= 0 && count <= kMostVideos,
            fmt::format("train, val and test must be 0 to {}, got {}", kMostVideos, count));
  require(options.train + options.val + options.test > 0,
          "train, val and test must give a video, got 0");
  require(options.fps >= 10 && options.fps <= 1000,
          fmt::format("fps must be 10 to 1000, got {}", options.fps));
  const int64_t least = two_beats(kFastest, options.fps);
  require(options.frames >= least && options.frames <= std::max(kMostFrames, least),
          fmt::format("frames must be {} (two beats) to {}, got {}", least,
                      std::max(kMostFrames, least), options.frames));
  require(options.size >= kSmallestPicture && options.size <= kPicture,
          fmt::format("size must be {} to {}, got {}", kSmallestPicture, kPicture, options.size));
}

// Smaller pictures of the same heart: what was drawn, smoothed.
Tensor resized(const Tensor& frames, int64_t size) {
  if (size == kPicture) return frames;
  const Tensor smooth = interpolate(
      frames.to(f32), {.size = {size, size}, .mode = InterpolateMode::bilinear, .antialias = true});
  return round(smooth).to(u8);
}

// In a picture of `size` pixels; pixel 0's centre is at 0.
Tracing resized(Tracing tracing, int64_t size) {
  const double scale = static_cast<double>(size) / kPicture;
  const auto move = [&](Point& place) {
    place = {(place.x + 0.5) * scale - 0.5, (place.y + 0.5) * scale - 0.5};
  };
  move(tracing.apex);
  move(tracing.base);
  for (auto& [left, right] : tracing.chords) {
    move(left);
    move(right);
  }
  return tracing;
}

// The split of row i of the tables, and its number among the videos.
std::pair<const char*, int64_t> place_of(int64_t i, const SynthOptions& options) {
  if (i < options.train) return {"TRAIN", i};
  if (i < options.train + options.val) return {"VAL", kFirstVal + i - options.train};
  return {"TEST", kFirstTest + i - options.train - options.val};
}

void append_tracing(std::string& rows, const std::string& name, const Tracing& tracing,
                    int64_t frame) {
  const auto row = [&](Point a, Point b) {
    rows += fmt::format("{}.avi,{:.4f},{:.4f},{:.4f},{:.4f},{}\n", name, a.x, a.y, b.x, b.y, frame);
  };
  row(tracing.apex, tracing.base);
  for (const auto& chord : tracing.chords) row(chord[0], chord[1]);
}

struct Rows {
  std::string file, tracings;
  double ejection_fraction = 0;
  int64_t frames = 0;
};

Rows rows_of(const SyntheticVideo& video, const SynthOptions& options, const char* split) {
  Rows rows;
  rows.ejection_fraction = video.ejection_fraction;
  rows.frames = video.frames.size(0);
  rows.file =
      fmt::format("{},{:.4f},{:.4f},{:.4f},{},{},{},{},{}\n", video.name, video.ejection_fraction,
                  video.end_systolic_volume, video.end_diastolic_volume, options.size, options.size,
                  options.fps, rows.frames, split);
  // EchoNet's code takes the first traced frame for the end of systole.
  append_tracing(rows.tracings, video.name, resized(video.systole_tracing, options.size),
                 video.systole);
  append_tracing(rows.tracings, video.name, resized(video.diastole_tracing, options.size),
                 video.diastole);
  return rows;
}

void write_tables(const fs::path& folder, const std::vector<Rows>& rows) {
  io::AtomicFile files((folder / "FileList.csv").string());
  io::AtomicFile tracings((folder / "VolumeTracings.csv").string());
  files.write("FileName,EF,ESV,EDV,FrameHeight,FrameWidth,FPS,NumberOfFrames,Split\n");
  tracings.write("FileName,X1,Y1,X2,Y2,Frame\n");
  for (const Rows& row : rows) {
    files.write(row.file);
    tracings.write(row.tracings);
  }
  files.commit();
  tracings.commit();
}

}  // namespace

SyntheticVideo synthetic_video(uint64_t seed, int64_t number, int64_t frames, double fps,
                               bool pixels) {
  Generator generator(seed, static_cast<uint64_t>(number));
  Draw draw(generator);
  SyntheticVideo video;
  video.name = name_of(generator, number);
  const Heartbeat heart = draw_heartbeat(draw, frames, fps);
  video.heart_rate = 60 / heart.beat;
  const int64_t least = std::min(two_beats(video.heart_rate, fps), frames);
  const int64_t count = least + generator.next_below(frames - least + 1);
  video.diastole = generator.next_below(std::max<int64_t>(std::llround(heart.beat * fps), 1));
  video.systole = video.diastole + std::llround(heart.systole * fps);

  const Patient patient = draw_patient(draw, heart.systole);
  const Phantom& phantom = patient.phantom;
  video.diastole_border = in_picture(phantom, patient.view, 0, 0);
  video.systole_border = in_picture(phantom, patient.view, patient.contraction, heart.systole);
  video.diastole_tracing = trace(video.diastole_border, phantom.apex_index());
  video.systole_tracing = trace(video.systole_border, phantom.apex_index());
  const double ml = std::pow(patient.view.scale, -3);  // of a pixel cubed
  video.end_diastolic_volume = disk_volume(video.diastole_tracing) * ml;
  video.end_systolic_volume = disk_volume(video.systole_tracing) * ml;
  video.ejection_fraction = 100 * (1 - video.end_systolic_volume / video.end_diastolic_volume);

  video.sector = zeros({kPicture, kPicture}, {.dtype = u8});
  for (int y = 0; y < kPicture; ++y)
    for (int x = 0; x < kPicture; ++x)
      video.sector.data<uint8_t>()[y * kPicture + x] =
          patient.probe.sees({static_cast<double>(x), static_cast<double>(y)});
  for (int64_t i = 0; i < count; ++i) {
    const double time = static_cast<double>(i - video.diastole) / fps;
    video.contraction.push_back(patient.contraction * heart.contraction(time));
  }
  if (!pixels) return video;
  video.frames = empty({count, 1, kPicture, kPicture}, {.dtype = u8});
  Scanner scanner(phantom, patient.view, patient.probe, Echoes::random(draw), fps, generator);
  for (int64_t i = 0; i < count; ++i) {
    const double time = static_cast<double>(i - video.diastole) / fps;
    scanner.frame(video.contraction[static_cast<size_t>(i)], heart.opening(time), time,
                  video.frames.data<uint8_t>() + i * kPicture * kPicture);
  }
  return video;
}

void synth(const SynthOptions& options) {
  check_options(options);
  check_replaceable(options.output, options.overwrite,
                    {"FileList.csv", "VolumeTracings.csv", "Videos"});
  catch_interrupts();
  FolderInMaking folder(options.output);
  report::ProgressBar bar;
  std::mutex bar_is_used;
  int64_t done = 0;
  const int64_t count = options.train + options.val + options.test;
  std::vector<Rows> rows(static_cast<size_t>(count));
  bar.start("synth", count);
  with_code(ExitCode::storage, [&] {
    parallel_for(0, count, 1, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) {
        if (interrupted() != 0) return;
        const auto [split, number] = place_of(i, options);
        const SyntheticVideo video =
            synthetic_video(options.seed, number, options.frames, options.fps);
        data::write_video((folder.path() / "Videos" / (video.name + ".avi")).string(),
                          resized(video.frames, options.size).expand({-1, 3, -1, -1}),
                          {.fps = options.fps});
        rows[static_cast<size_t>(i)] = rows_of(video, options, split);
        const std::scoped_lock lock(bar_is_used);
        bar.update(++done);
      }
    });
    if (interrupted() == 0) write_tables(folder.path(), rows);
  });
  stop_if_interrupted(options.output + " is not written");
  folder.commit();
  bar.end();
  int64_t frames = 0;
  double low = 100, high = 0;
  for (const Rows& row : rows) {
    frames += row.frames;
    low = std::min(low, row.ejection_fraction);
    high = std::max(high, row.ejection_fraction);
  }
  fmt::print(
      "{}: {} synthetic videos ({} train, {} val, {} test), {} frames, EF {:.0f} to {:.0f} %\n",
      options.output, count, options.train, options.val, options.test, frames, low, high);
}

}  // namespace aorta::echo
