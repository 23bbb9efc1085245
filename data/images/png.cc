#include <aorta/core/io/file.h>
#include <aorta/core/ops/creation.h>
#include <aorta/data/images/image_bytes.h>
#include <aorta/data/images/png.h>
#include <png.h>

#include <cstdio>
#include <cstring>
#include <vector>

namespace aorta::data {
namespace {

// libpng reports errors by a call that must not return; it jumps back to a function that holds
// nothing to destroy. What the error was is kept here.
struct Job {
  const std::byte* next = nullptr;
  size_t left = 0;
  std::string* written = nullptr;
  char message[200] = "";
};

[[noreturn]] void on_error(png_structp png, png_const_charp message) {
  auto* job = static_cast<Job*>(png_get_error_ptr(png));
  std::snprintf(job->message, sizeof job->message, "%s", message);
  png_longjmp(png, 1);
}
void on_warning(png_structp, png_const_charp) {}

void take(png_structp png, png_bytep to, size_t count) {
  auto* job = static_cast<Job*>(png_get_io_ptr(png));
  if (count > job->left) png_error(png, "the end of the file");
  std::memcpy(to, job->next, count);
  job->next += count;
  job->left -= count;
}

void give(png_structp png, png_bytep from, size_t count) {
  static_cast<Job*>(png_get_io_ptr(png))
      ->written->append(reinterpret_cast<const char*>(from), count);
}
void flush(png_structp) {}

struct Header {
  uint32_t width = 0, height = 0, channels = 0;
};

bool read_header(png_structp png, png_infop info, Header* header) {
  if (setjmp(png_jmpbuf(png))) return false;
  png_read_info(png, info);
  png_set_palette_to_rgb(png);
  // A colour that counts as clear (tRNS) is no channel, but expanding makes one of it.
  if (!(png_get_color_type(png, info) & PNG_COLOR_MASK_ALPHA)) png_set_strip_alpha(png);
  png_set_expand_gray_1_2_4_to_8(png);
  png_set_scale_16(png);
  png_set_packing(png);
  png_set_interlace_handling(png);
  png_read_update_info(png, info);
  header->width = png_get_image_width(png, info);
  header->height = png_get_image_height(png, info);
  header->channels = png_get_channels(png, info);
  return true;
}

bool read_rows(png_structp png, png_infop info, png_bytepp rows) {
  if (setjmp(png_jmpbuf(png))) return false;
  png_read_image(png, rows);
  png_read_end(png, info);
  return true;
}

bool write_all(png_structp png, png_infop info, const Header& header, png_bytepp rows) {
  constexpr int kColours[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                              PNG_COLOR_TYPE_RGB_ALPHA};
  if (setjmp(png_jmpbuf(png))) return false;
  png_set_IHDR(png, info, header.width, header.height, 8, kColours[header.channels - 1],
               PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, info);
  png_write_image(png, rows);
  png_write_end(png, info);
  return true;
}

struct Reader {
  explicit Reader(Job& job)
      : png(png_create_read_struct(PNG_LIBPNG_VER_STRING, &job, on_error, on_warning)),
        info(png_create_info_struct(png)) {
    png_set_read_fn(png, &job, take);
  }
  ~Reader() { png_destroy_read_struct(&png, &info, nullptr); }
  png_structp png;
  png_infop info;
};

struct Writer {
  explicit Writer(Job& job)
      : png(png_create_write_struct(PNG_LIBPNG_VER_STRING, &job, on_error, on_warning)),
        info(png_create_info_struct(png)) {
    png_set_write_fn(png, &job, give, flush);
  }
  ~Writer() { png_destroy_write_struct(&png, &info); }
  png_structp png;
  png_infop info;
};

std::vector<png_bytep> rows_of(std::vector<uint8_t>& pixels, const Header& header) {
  std::vector<png_bytep> rows;
  for (size_t y = 0; y < header.height; ++y)
    rows.push_back(pixels.data() + y * header.width * header.channels);
  return rows;
}

std::string encode(const char* op, const Tensor& image) {
  check_defined(op, {{"image", image}});
  const int64_t channels = image.dim() == 3 ? image.size(0) : 1;
  constexpr int64_t kMost = 1000000;  // libpng's own
  check(image.dtype() == u8 && (image.dim() == 2 || image.dim() == 3) && channels >= 1 &&
            channels <= 4 && image.numel() > 0 && image.size(-1) <= kMost &&
            image.size(-2) <= kMost,
        op, "image must be u8 (H, W) or (C, H, W), C = 1 to 4, with pixels", image.dtype(), " ",
        image.shape());
  const Header header{static_cast<uint32_t>(image.size(-1)), static_cast<uint32_t>(image.size(-2)),
                      static_cast<uint32_t>(channels)};
  const Tensor planar = image.detach().cpu().contiguous();
  std::vector<uint8_t> pixels(static_cast<size_t>(image.numel()));
  const int64_t area = image.size(-1) * image.size(-2);
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t i = 0; i < area; ++i)
      pixels[static_cast<size_t>(i * channels + c)] = planar.data<uint8_t>()[c * area + i];
  std::string bytes;
  Job job{.written = &bytes};
  const Writer writer(job);
  std::vector<png_bytep> rows = rows_of(pixels, header);
  check(write_all(writer.png, writer.info, header, rows.data()), op,
        "libpng must be able to write the image", job.message);
  return bytes;
}

}  // namespace

Tensor decode_png(std::span<const std::byte> bytes, ImageMode mode, const Text& name) {
  Job job{.next = bytes.data(), .left = bytes.size()};
  const Reader reader(job);
  Header header;
  const char* rule = "PNG image must be sound";
  check(read_header(reader.png, reader.info, &header), name, rule, job.message);
  // Deflate gives 1032 bytes for 1 at most; a pixel has a bit at least.
  const uint64_t area = uint64_t{header.width} * header.height;
  check(area / 8 <= 1032 * uint64_t{bytes.size()}, name,
        "data must be as long as the image's size says", bytes.size(), " bytes for ", header.height,
        " x ", header.width);
  std::vector<uint8_t> pixels(area * header.channels);
  std::vector<png_bytep> rows = rows_of(pixels, header);
  check(read_rows(reader.png, reader.info, rows.data()), name, rule, job.message);
  return planar_image(pixels.data(), header.height, header.width, header.channels, mode);
}

Tensor read_png(const Text& path, ImageMode mode) {
  return decode_png(io::FileBytes::map(path)->bytes(), mode, path);
}

Tensor encode_png(const Tensor& image) {
  const std::string bytes = encode("encode_png", image);
  const Tensor result = empty({static_cast<int64_t>(bytes.size())}, {.dtype = u8});
  std::memcpy(result.data(), bytes.data(), bytes.size());
  return result;
}

void write_png(const Tensor& image, const Text& path) {
  const std::string bytes = encode("write_png", image);
  io::AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

}  // namespace aorta::data
