#include <aorta/data/batch.h>
#include <aorta/data/combine.h>
#include <aorta/data/csv.h>
#include <aorta/data/dataset.h>
#include <aorta/data/datasets/cifar10.h>
#include <aorta/data/datasets/csv_dataset.h>
#include <aorta/data/datasets/image_folder.h>
#include <aorta/data/datasets/mnist.h>
#include <aorta/data/datasets/npz_dataset.h>
#include <aorta/data/idx.h>
#include <aorta/data/images/image.h>
#include <aorta/data/images/jpeg.h>
#include <aorta/data/images/png.h>
#include <aorta/data/images/polygon.h>
#include <aorta/data/images/statistics.h>
#include <aorta/data/images/transformed.h>
#include <aorta/data/video/video.h>
#include <aorta/report/events.h>
#include <aorta/report/page.h>
#include <aorta/report/progress.h>

#include <aorta/tests/siege/targets.h>

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

// Pictures written and read back, outlines, tables, datasets made of others, pages, event files and
// progress bars.
namespace aorta::siege {
namespace {

using T = Tensor;
using Numbers = std::vector<double>;

T size_of(const std::string& text) { return full({}, static_cast<int64_t>(text.size())); }

std::span<const std::byte> bytes_of(const T& x) {
  return {static_cast<const std::byte*>(x.data()),
          static_cast<size_t>(x.numel() * x.element_size())};
}

/// A place that goes with the scope, whatever was made there.
class TemporaryPlace {
 public:
  TemporaryPlace()
      : path_((std::filesystem::temp_directory_path() /
               ("aorta_siege_place." + std::to_string(getpid())))
                  .string()) {}
  ~TemporaryPlace() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::vector<data::Point> points_of(const std::vector<int64_t>& numbers) {
  std::vector<data::Point> points;
  for (size_t i = 0; i + 1 < numbers.size(); i += 2)
    points.push_back({static_cast<int32_t>(numbers[i]), static_cast<int32_t>(numbers[i + 1])});
  return points;
}

/// Gives one tensor some times; a null stream at the wish of the case.
struct Repeated : data::IterableDataset {
  Repeated(T tensor, int64_t times, bool null) : x(std::move(tensor)), count(times), none(null) {}
  std::vector<data::TensorSpec> specs() const override { return {{"x", x.dtype(), x.shape()}}; }
  std::unique_ptr<data::SampleStream> stream(int64_t) const override {
    struct Stream : data::SampleStream {
      T x;
      int64_t left = 0;
      bool next(data::Sample& sample, Generator&) override {
        if (left-- <= 0) return false;
        sample["x"].copy_(x);
        return true;
      }
    };
    if (none) return nullptr;
    auto made = std::make_unique<Stream>();
    made->x = x;
    made->left = count;
    return made;
  }
  T x;
  int64_t count;
  bool none;
};

}  // namespace

void add_pictures(std::vector<Target>& targets) {
  using namespace data;
  targets.insert(
      targets.end(),
      {
          of(
              "encode_png", +[](const T& x) { return encode_png(x); }),
          of(
              "write_png",
              +[](const T& x, int64_t mode) {
                const TemporaryPlace place;
                write_png(x, place.path());
                return read_png(place.path(),
                                static_cast<ImageMode>(static_cast<uint64_t>(mode) % 3));
              }),
          of(
              "write_jpeg",
              +[](const T& x, int quality) {
                const TemporaryPlace place;
                write_jpeg(x, place.path(), quality);
                return read_jpeg(place.path());
              }),
          of(
              "decode_jpeg_into",
              +[](const T& x, const T& into, bool other) {
                const T picture = full({3, 5, 4}, 7, {.dtype = u8});
                const T place = other ? into : empty({3, 5, 4}, {.dtype = u8});
                decode_jpeg_into(bytes_of(encode_jpeg(picture + x * 0)), place);
                return place;
              }),
          of(
              "fill_polygon",
              +[](const T& mask, const std::vector<int64_t>& corners, int64_t value) {
                const std::vector<Point> points = points_of(corners);
                fill_polygon(mask, points, static_cast<uint8_t>(value));
                return full({}, polygon_area(points));
              }),
          of(
              "round_coordinate", +[](double x) { return full({}, round_coordinate(x)); }),
          of(
              "mean_and_std",
              +[](const T& x, int64_t samples, int64_t dim, const std::string& name) {
                const auto found = mean_and_std(TensorDataset(NamedTensors{{"x", x}}), name,
                                                {.samples = samples, .channel_dim = dim});
                return Tensors{tensor(found.mean), tensor(found.std)};
              }),
          of(
              "TransformedDataset",
              +[](const T& x, const std::string& image, const std::string& mask, int64_t index,
                  bool none) {
                const auto inner = make_dataset<TensorDataset>(NamedTensors{{"x", x}, {"y", x}});
                const TransformedDataset dataset(none ? nullptr : inner,
                                                 Transforms({RandomHorizontalFlip{0.5}}),
                                                 {.images = {image}, .masks = {mask}});
                Generator random;
                return dataset.sample(index, random)["x"].clone();
              }),
          of(
              "ChainDataset",
              +[](const T& x, const T& y, int64_t first, int64_t second, bool missing, bool null) {
                std::vector<std::shared_ptr<const IterableDataset>> all{
                    std::make_shared<Repeated>(x, first % 4, null),
                    std::make_shared<Repeated>(y, second % 4, false)};
                if (missing) all.push_back(nullptr);
                const ChainDataset chain(all);
                const auto stream = chain.stream(0);
                Generator random;
                Sample sample(checked_specs(chain.specs()));
                int64_t count = 0;
                while (stream->next(sample, random)) ++count;
                return full({}, count);
              }),
          of(
              "default_collate",
              +[](const T& x, const T& y, const std::string& name, int64_t count) {
                std::vector<Sample> samples;
                for (const T& one : {x, y}) {
                  Sample sample(checked_specs({{name, one.dtype(), one.shape()}}));
                  sample[name].copy_(one);
                  samples.push_back(std::move(sample));
                }
                const Batch batch = default_collate(
                    std::span<const Sample>(samples).first(static_cast<uint64_t>(count) % 3));
                return batch[name].clone();
              }),
          of(
              "Batch",
              +[](const T& x, const T& y, const std::string& name, const std::string& other) {
                Batch batch(NamedTensors{{name, x}});
                batch.add(other, y);
                return batch.to("cpu:1")[name].to("cpu");
              }),
          of(
              "files of datasets",
              +[](const std::string& text, const T& bytes, int64_t which, bool there, int64_t at) {
                const TemporaryPlace place;
                const std::string path = there ? place.path() : text;
                const T whole = bytes.contiguous();
                if (there) {
                  std::ofstream file(path, std::ios::binary);
                  const auto content = bytes_of(whole);
                  file.write(reinterpret_cast<const char*>(content.data()),
                             static_cast<int64_t>(content.size()));
                }
                Generator random;
                switch (static_cast<uint64_t>(which) % 9) {
                  case 0:
                    return Mnist(path).sample(at, random)["image"].clone();
                  case 1:
                    return ImageFolder(path, Transforms({ToFloat()}))
                        .sample(at, random)["image"]
                        .clone();
                  case 2:
                    return NpzDataset(path, {.arrays = {text}}).sample(at, random)[text].clone();
                  case 3:
                    return load_idx(path);
                  case 4:
                    return read_image(path);
                  case 5:
                    return full({}, read_csv(path).number(at, 0));
                  case 6:
                    return decode_png(bytes_of(whole));
                  case 7:
                    return Cifar10(path).sample(at, random)["image"].clone();
                  default: {
                    VideoReader video(path);
                    return full({}, video.frame_count());
                  }
                }
              }),
          of(
              "CsvDataset",
              +[](const Numbers& numbers, const std::string& feature, const std::string& target,
                  DType dtype, bool header, int64_t delimiter, int64_t index) {
                const TemporaryPlace place;
                std::ofstream file(place.path());
                file << "zz,same\n";
                for (const double number : numbers) file << number << "," << number << "\n";
                file.close();
                const CsvDataset dataset(place.path(), {.features = {feature},
                                                        .targets = {target},
                                                        .target_dtype = dtype,
                                                        .delimiter = static_cast<char>(delimiter),
                                                        .header = header});
                Generator random;
                return dataset.sample(index, random)["features"].clone();
              }),
      });
}

void add_pages(std::vector<Target>& targets) {
  using namespace report;
  targets.insert(
      targets.end(),
      {
          of(
              "Page",
              +[](const T& image, const std::string& text, const std::string& other, double fps,
                  int width, int64_t cells) {
                Page page(text, other);
                page.section(other).heading(text).paragraph(text).code(other);
                page.highlights({{text, other}}).facts({{other, text}}).links({{text, other}});
                page.table({text, other}, {List<std::string>(std::vector<std::string>(
                                              static_cast<uint64_t>(cells) % 4, text))});
                page.figure(text, other).picture(image, text);
                page.pictures({{image, text}}, width).films({{image, fps, text}}, width);
                return size_of(page.html());
              }),
          of(
              "EventWriter",
              +[](const T& image, const std::string& tag, double value, int64_t step) {
                const TemporaryPlace place;
                EventWriter writer(place.path());
                writer.scalar(tag, value, step);
                writer.text(tag, tag, step);
                writer.image(tag, image, step);
                writer.flush();
                return full({}, static_cast<int64_t>(writer.size_bytes()));
              }),
          of(
              "ProgressBar",
              +[](const std::string& label, int64_t total, int64_t done, int64_t more, bool keep) {
                const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
                {
                  ProgressBar bar({.bar = nowhere, .lines = nowhere});
                  bar.start(label, total, done);
                  bar.update(more, label);
                  bar.print(label);
                  bar.end(keep);
                }
                close(nowhere);
                return full({}, 0);
              }),
          of(
              "duration_text",
              +[](double seconds, double bytes) {
                return size_of(duration_text(seconds) + size_text(bytes));
              }),
      });
}

}  // namespace aorta::siege
