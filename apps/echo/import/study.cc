#include <aorta/apps/echo/files.h>
#include <aorta/apps/echo/import/study.h>
#include <aorta/apps/echo/segment.h>
#include <aorta/core/check.h>
#include <aorta/core/io/bytes.h>
#include <aorta/core/ops/creation.h>
#include <aorta/data/csv.h>
#include <aorta/data/video/video_backend.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

namespace aorta::echo {
namespace {

/// The frames of another video, its sector alone, in a square.
class SectorBackend : public data::VideoReader::Backend {
 public:
  /// `crop` of the frames becomes `side` x `side` pixels.
  SectorBackend(data::VideoReader video, Tensor mask, const Box& crop, int64_t side)
      : video_(std::move(video)), mask_(std::move(mask)), crop_(crop) {
    path = video_.path();
    fps = video_.fps();
    height = width = side;
    frame_ = empty({1, video_.height(), video_.width()}, {.dtype = u8});
  }

  int64_t frame_count() override { return video_.frame_count(); }

  void read(int64_t index, const data::ImagePlace& place) override {
    video_.read_into(index, frame_);
    Tensor square = zeros({1, crop_.height, crop_.width}, {.dtype = u8});
    const int64_t frame_width = video_.width(), frame_height = video_.height();
    for (int64_t y = std::max<int64_t>(0, -crop_.top);
         y < std::min(crop_.height, frame_height - crop_.top); ++y)
      for (int64_t x = std::max<int64_t>(0, -crop_.left);
           x < std::min(crop_.width, frame_width - crop_.left); ++x) {
        const int64_t from = (crop_.top + y) * frame_width + crop_.left + x;
        if (mask_.data<uint8_t>()[from])
          square.data<uint8_t>()[y * crop_.width + x] = frame_.data<uint8_t>()[from];
      }
    if (crop_.height != height || crop_.width != width)
      square = cubic_resized(square, height, width);
    for (int64_t c = 0; c < place.channels; ++c)
      for (int64_t y = 0; y < height; ++y)
        for (int64_t x = 0; x < width; ++x)
          place.data[c * place.channel_stride + y * place.row_stride + x * place.pixel_stride] =
              square.data<uint8_t>()[y * width + x];
  }

 private:
  data::VideoReader video_;
  Tensor mask_, frame_;
  Box crop_;
};

// The first region that is a picture, as far as it lies in the frame.
const data::UltrasoundRegion* picture_of(const data::DicomFacts& facts) {
  for (const data::UltrasoundRegion& region : facts.regions)
    if (region.is_picture) return &region;
  return nullptr;
}

std::optional<Box> box_of(const data::UltrasoundRegion& region, int64_t height, int64_t width) {
  const Box box{region.left, region.top, std::min(region.width, width - region.left),
                std::min(region.height, height - region.top)};
  if (box.width <= 0 || box.height <= 0) return {};
  return box;
}

// A square as high as the sector, its middle that of the sector; as wide as high on the patient,
// where `ratio` is a pixel's height by its width.
Box square_around(const Box& sector, double ratio) {
  const auto width = std::max<int64_t>(1, std::llround(static_cast<double>(sector.height) * ratio));
  return {sector.left + (sector.width - width) / 2, sector.top, width, sector.height};
}

// The part of the sector's pixels of the first and the middle frame that aren't grey.
double coloured_part(const data::VideoReader& video, const Tensor& mask) {
  constexpr int kColour = 40;  // of 255 between channels: lossy chroma stays below
  int64_t coloured = 0, all = 0;
  for (const int64_t frame : {int64_t{0}, video.frame_count() / 2}) {
    const Tensor pixels = video.read(frame);
    const int64_t plane = mask.numel();
    const uint8_t* at = pixels.data<uint8_t>();
    for (int64_t i = 0; i < plane; ++i) {
      if (!mask.data<uint8_t>()[i]) continue;
      const auto [low, high] = std::minmax({at[i], at[plane + i], at[2 * plane + i]});
      ++all;
      coloured += high - low >= kColour;
    }
  }
  return all > 0 ? static_cast<double>(coloured) / static_cast<double>(all) : 0;
}

// What an import's FileList.csv says of a video that lies in its folder Videos; else 0.
double spacing_of_import(const std::string& path) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(path).parent_path();
  if (folder.filename() != "Videos") return 0;
  const std::string list = (folder / ".." / "FileList.csv").string();
  std::error_code absent;
  if (!fs::is_regular_file(list, absent)) return 0;
  data::CsvReader rows(list);
  const int spacing = rows.find_column("PixelSpacing"), name = rows.find_column("FileName");
  if (spacing < 0 || name < 0) return 0;
  const std::string stem = stem_of(path);
  while (rows.next())
    if (rows.text(name) == stem)
      return rows.text(spacing).empty() ? 0 : std::max(0., rows.number(spacing));
  return 0;
}

data::DicomFacts ultrasound_facts(const std::string& path) {
  data::DicomFacts facts = data::read_dicom_facts(path);
  if (facts.modality != "US") throw NotUltrasound(path, facts.modality);
  return facts;
}

}  // namespace

NotUltrasound::NotUltrasound(const std::string& path, const std::string& modality)
    : Failure(ExitCode::data, path + ": a DICOM file must be of ultrasound, modality US, got " +
                                  io::quote(modality)) {}

Study open_study(const std::string& path, int64_t side) {
  const bool is_dicom = data::is_dicom(*data::ByteSource::open(path));
  const data::DicomFacts facts = is_dicom ? ultrasound_facts(path) : data::DicomFacts{};
  data::VideoReader colour(path);
  check(colour.frame_count() > 0, path, "a video must have a frame", "none");
  const data::UltrasoundRegion* region = picture_of(facts);
  const double x_mm = region ? region->x_millimetres : 0;
  const double y_mm = region ? region->y_millimetres : 0;
  Study study{.video = std::move(colour),
              .crop = {},
              .is_dicom = is_dicom,
              .millimetres = 0,
              .patient = facts.patient,
              .coloured = 0,
              .attributes = facts.attributes};
  const int64_t height = study.video.height(), width = study.video.width();
  if (!is_dicom) study.millimetres = spacing_of_import(path);
  study.crop = {0, 0, width, height};
  if (height == side && width == side && !is_dicom) return study;
  data::VideoReader grey(path, data::ImageMode::gray);
  const std::optional<Sector> sector =
      find_sector(grey, region ? box_of(*region, height, width) : std::optional<Box>());
  check(sector.has_value(), path, "there must be a sector, where pixels change or are lit", "none");
  study.coloured = coloured_part(study.video, sector->mask);
  // Pixels that aren't square are made so.
  constexpr double kSquare = 0.005;
  double ratio = x_mm > 0 && y_mm > 0 ? y_mm / x_mm : 1;
  if (std::abs(ratio - 1) < kSquare || ratio > 10 || ratio < 0.1) ratio = 1;
  study.crop = square_around(sector->box, ratio);
  if (x_mm > 0 && y_mm > 0) study.millimetres = y_mm;
  study.video = data::VideoReader(std::make_unique<SectorBackend>(std::move(grey), sector->mask,
                                                                  study.crop, study.crop.height));
  return study;
}

std::string to_string(const Study& study) {
  std::string text = fmt::format("sector of {} x {} pixels at {}, {}", study.crop.width,
                                 study.crop.height, study.crop.left, study.crop.top);
  text += study.millimetres > 0 ? fmt::format(", {:.3f} mm a pixel", study.millimetres)
                                : ", size of a pixel not known";
  constexpr double kFlow = 0.02;
  if (study.coloured > kFlow)
    text += fmt::format(", {:.0f} % coloured: flow isn't what networks of grey pictures know",
                        100 * study.coloured);
  return text;
}

}  // namespace aorta::echo
