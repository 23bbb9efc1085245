#include <aorta/core/check.h>
#include <aorta/data/images/jpeg_format.h>
#include <stdio.h>  // jpeglib.h names FILE and size_t

#include <jerror.h>
#include <jpeglib.h>
#include <tmmintrin.h>

#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <memory>

// libjpeg reports an error by a call that must not return: it is left by longjmp, back into the
// function that called libjpeg. No object with a destructor lives between the two.
namespace aorta::data {
namespace {

// A progressive image decodes once a scan, and scans may be a few bytes long.
constexpr int kMaxScans = 200;

struct Errors {
  jpeg_error_mgr manager;
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX];
};

[[noreturn]] void exit_by_jump(j_common_ptr info) {
  auto* errors = reinterpret_cast<Errors*>(info->err);
  info->err->format_message(info, errors->message);
  std::longjmp(errors->jump, 1);
}

[[noreturn]] void exit_with(j_common_ptr info, const char* message) {
  auto* errors = reinterpret_cast<Errors*>(info->err);
  std::snprintf(errors->message, sizeof errors->message, "%s", message);
  std::longjmp(errors->jump, 1);
}

// After any other warning libjpeg goes on with pixels that it makes up.
bool is_harmless(int code) {
  return code == JWRN_EXTRANEOUS_DATA || code == JWRN_ADOBE_XFORM || code == JWRN_JFIF_MAJOR;
}

void take_warning(j_common_ptr info, int level) {
  if (level >= 0) return;
  ++info->err->num_warnings;
  if (!is_harmless(info->err->msg_code)) exit_by_jump(info);
}

void say_nothing(j_common_ptr) {}

void count_scans(j_common_ptr info) {
  if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number > kMaxScans)
    exit_with(info, "more than 200 scans");
}

jpeg_error_mgr* set_up(Errors& errors) {
  jpeg_std_error(&errors.manager);
  errors.manager.error_exit = exit_by_jump;
  errors.manager.emit_message = take_warning;
  errors.manager.output_message = say_nothing;
  errors.message[0] = '\0';
  return &errors.manager;
}

// Made for each image: the tables of one must not serve the next.
struct Decoder {
  jpeg_decompress_struct info{};
  jpeg_progress_mgr progress{};
  Errors errors{};

  Decoder() = default;
  ~Decoder() { jpeg_destroy_decompress(&info); }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  bool read_header(std::span<const std::byte> bytes);
  bool decode(const ImagePlace& place, uint8_t* row);
};

bool Decoder::read_header(std::span<const std::byte> bytes) {
  info.err = set_up(errors);
  if (setjmp(errors.jump) != 0) return false;
  jpeg_create_decompress(&info);
  progress.progress_monitor = count_scans;
  info.progress = &progress;
  jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  jpeg_read_header(&info, TRUE);
  return true;
}

// Which byte of each third of sixteen pixels goes where in a channel's sixteen bytes; 0x80: none.
struct SplitMasks {
  alignas(16) uint8_t of[3][3][16];
};
constexpr SplitMasks kSplit = [] {
  SplitMasks split{};
  for (int c = 0; c < 3; ++c)
    for (int p = 0; p < 3; ++p)
      for (int x = 0; x < 16; ++x) {
        const int byte = 3 * x + c;
        split.of[c][p][x] = static_cast<uint8_t>(byte / 16 == p ? byte % 16 : 0x80);
      }
  return split;
}();

// The first pixels of a row of three channels, sixteen at a time, each channel to its place: how
// many. (Aorta needs x86-64-v2.)
[[gnu::target("ssse3")]] int64_t split(const uint8_t* from, int64_t width, uint8_t* to,
                                       int64_t channel_stride) {
  const auto* masks = reinterpret_cast<const __m128i*>(kSplit.of);
  int64_t x = 0;
  for (; x + 16 <= width; x += 16) {
    const auto* parts = reinterpret_cast<const __m128i*>(from + 3 * x);
    const __m128i first = _mm_loadu_si128(parts);
    const __m128i second = _mm_loadu_si128(parts + 1);
    const __m128i third = _mm_loadu_si128(parts + 2);
#pragma GCC unroll 3
    for (int c = 0; c < 3; ++c) {
      const __m128i all =
          _mm_or_si128(_mm_or_si128(_mm_shuffle_epi8(first, _mm_load_si128(masks + 3 * c)),
                                    _mm_shuffle_epi8(second, _mm_load_si128(masks + 3 * c + 1))),
                       _mm_shuffle_epi8(third, _mm_load_si128(masks + 3 * c + 2)));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to + x + c * channel_stride), all);
    }
  }
  return x;
}

// True where a row of the place is one of libjpeg's: pixel after pixel, channels together.
bool is_interleaved(const ImagePlace& place) {
  return place.pixel_stride == place.channels && (place.channels == 1 || place.channel_stride == 1);
}

void scatter(const uint8_t* from, const ImagePlace& place, int64_t y) {
  uint8_t* to = place.data + y * place.row_stride;
  if (is_interleaved(place)) {
    std::memcpy(to, from, static_cast<size_t>(place.width * place.channels));
    return;
  }
  int64_t x = 0;
  if (place.channels == 3 && place.pixel_stride == 1)
    x = split(from, place.width, to, place.channel_stride);
  for (; x < place.width; ++x)
    for (int64_t c = 0; c < place.channels; ++c)
      to[x * place.pixel_stride + c * place.channel_stride] = from[x * place.channels + c];
}

bool Decoder::decode(const ImagePlace& place, uint8_t* row) {
  if (setjmp(errors.jump) != 0) return false;
  info.out_color_space = place.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  info.dct_method = JDCT_ISLOW;
  info.do_fancy_upsampling = TRUE;
  jpeg_start_decompress(&info);
  while (info.output_scanline < info.output_height) {
    const int64_t y = info.output_scanline;
    JSAMPROW line = row;
    if (jpeg_read_scanlines(&info, &line, 1) != 1)
      exit_with(reinterpret_cast<j_common_ptr>(&info), "no line of pixels");
    scatter(row, place, y);
  }
  jpeg_finish_decompress(&info);
  return true;
}

JpegHeader read_header(Decoder& decoder, const std::string& name, std::span<const std::byte> bytes,
                       int64_t max_pixels) {
  check(bytes.size() >= 2 && bytes[0] == std::byte{0xff} && bytes[1] == std::byte{0xd8}, name,
        "JPEG image must start with the bytes ff d8", bytes.size(), " bytes without them");
  if (!decoder.read_header(bytes)) fail(name, "JPEG image must be sound", decoder.errors.message);
  const JpegHeader header{static_cast<int64_t>(decoder.info.image_height),
                          static_cast<int64_t>(decoder.info.image_width),
                          decoder.info.num_components};
  check(header.channels == 1 || header.channels == 3, name,
        "JPEG image must have 1 or 3 components", header.channels);
  check(header.height * header.width <= max_pixels, name,
        "JPEG image must have at most " + std::to_string(max_pixels) + " pixels", header.height,
        " x ", header.width);
  return header;
}

struct Encoder {
  jpeg_compress_struct info{};
  jpeg_destination_mgr destination{};
  Errors errors{};

  Encoder() = default;
  ~Encoder() { jpeg_destroy_compress(&info); }
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;
  bool encode(const ImagePlace& image, int quality, std::span<uint8_t> out, uint8_t* row);
};

void do_nothing(j_compress_ptr) {}
// There is room for the largest image that libjpeg can make.
::boolean refuse_more(j_compress_ptr info) {
  exit_with(reinterpret_cast<j_common_ptr>(info), "the image outgrew its buffer");
}

void gather(const ImagePlace& image, int64_t y, uint8_t* to) {
  for (int64_t c = 0; c < image.channels; ++c) {
    const uint8_t* from = image.data + c * image.channel_stride + y * image.row_stride;
    for (int64_t x = 0; x < image.width; ++x)
      to[x * image.channels + c] = from[x * image.pixel_stride];
  }
}

bool Encoder::encode(const ImagePlace& image, int quality, std::span<uint8_t> out, uint8_t* row) {
  info.err = set_up(errors);
  if (setjmp(errors.jump) != 0) return false;
  jpeg_create_compress(&info);
  destination.init_destination = do_nothing;
  destination.empty_output_buffer = refuse_more;
  destination.term_destination = do_nothing;
  destination.next_output_byte = out.data();
  destination.free_in_buffer = out.size();
  info.dest = &destination;
  info.image_width = static_cast<JDIMENSION>(image.width);
  info.image_height = static_cast<JDIMENSION>(image.height);
  info.input_components = static_cast<int>(image.channels);
  info.in_color_space = image.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, quality, TRUE);
  info.dct_method = JDCT_ISLOW;
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    const int64_t y = info.next_scanline;
    JSAMPROW line = row;
    if (is_interleaved(image))
      line = image.data + y * image.row_stride;
    else
      gather(image, y, line);
    jpeg_write_scanlines(&info, &line, 1);
  }
  jpeg_finish_compress(&info);
  return true;
}

}  // namespace

JpegHeader parse_jpeg_header(const std::string& name, std::span<const std::byte> bytes,
                             int64_t max_pixels) {
  Decoder decoder;
  return read_header(decoder, name, bytes, max_pixels);
}

void decode_jpeg(const std::string& name, std::span<const std::byte> bytes, const ImagePlace& place,
                 int64_t max_pixels) {
  static thread_local std::vector<uint8_t> row;
  Decoder decoder;
  const JpegHeader header = read_header(decoder, name, bytes, max_pixels);
  check(header.height == place.height && header.width == place.width, name,
        "JPEG image must have the size of its place", header.height, " x ", header.width, " for ",
        place.height, " x ", place.width);
  // At an odd address: to an aligned one libjpeg-turbo writes past the caches, from which the row
  // is read next.
  row.resize(static_cast<size_t>(header.width * place.channels) + 1);
  if (!decoder.decode(place, row.data() + 1))
    fail(name, "JPEG image must be sound", decoder.errors.message);
}

void encode_jpeg(const ImagePlace& image, int quality, std::vector<std::byte>& out) {
  static thread_local std::vector<uint8_t> row;
  check(quality >= 1 && quality <= 100, "encode_jpeg", "quality must be 1 to 100", quality);
  check(image.height >= 1 && image.width >= 1 && image.height <= JPEG_MAX_DIMENSION &&
            image.width <= JPEG_MAX_DIMENSION && image.height * image.width <= kMaxJpegPixels,
        "encode_jpeg", "image must be 1 to 65500 pixels wide and high, and of at most 2^27 pixels",
        image.height, " x ", image.width);
  row.resize(static_cast<size_t>(image.width * image.channels));
  // libjpeg-turbo's own bound (tjBufSize): 6 bytes a pixel of whole blocks, and the header.
  const auto bound = static_cast<size_t>(
      ((image.height + 15) / 16 * 16) * ((image.width + 15) / 16 * 16) * 6 + 2048);
  const auto bytes = std::make_unique_for_overwrite<uint8_t[]>(bound);
  Encoder encoder;
  if (!encoder.encode(image, quality, {bytes.get(), bound}, row.data()))
    fail("encode_jpeg", "encoding must succeed", encoder.errors.message);
  const auto* first = reinterpret_cast<const std::byte*>(bytes.get());
  out.assign(first, first + (bound - encoder.destination.free_in_buffer));
}

}  // namespace aorta::data
