#include <aorta/data/video/dicom_plugin.h>

// DCMTK's own configuration comes before all else of it.
#include <dcmtk/config/osconfig.h>

#include <dcmtk/dcmdata/dccodec.h>
#include <dcmtk/dcmdata/dcfcache.h>
#include <dcmtk/dcmdata/dcpxitem.h>
#include <dcmtk/dcmdata/dcrledrg.h>
#include <dcmtk/dcmdata/dctk.h>
#include <dcmtk/dcmjpeg/djdecode.h>
#include <dcmtk/dcmjpls/djdecode.h>
#include <dcmtk/oflog/oflog.h>

#include <pthread.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

// The library that links DCMTK, so that no other does.
namespace {

[[noreturn]] void refuse(const std::string& text) { throw std::runtime_error(text); }

void put(const char* text, char* error, size_t error_size) {
  if (error_size == 0) return;
  std::strncpy(error, text, error_size - 1);
  error[error_size - 1] = '\0';
  // A file's text may be any bytes.
  std::replace_if(
      error, error + std::strlen(error), [](char c) { return c < ' ' || c > '~'; }, '?');
}

// Nothing that is thrown may pass the border of the library.
template <class Body>
int guarded(char* error, size_t error_size, const Body& body) {
  try {
    body();
    return 1;
  } catch (const std::bad_alloc&) {
    put(aorta::data::kDicomHasNoMemory, error, error_size);
  } catch (const std::exception& problem) {
    put(problem.what(), error, error_size);
  } catch (...) {
    put("an unknown exception", error, error_size);
  }
  return -1;
}

void require(const OFCondition& condition, const char* what) {
  if (condition == EC_MemoryExhausted) throw std::bad_alloc();
  if (condition.bad()) refuse(std::string(what) + ": " + condition.text());
}

// Decoders are the process's; DCMTK's log is silent, for the caller says what is wrong.
struct Decoders {
  Decoders() {
    OFLog::configure(OFLogger::OFF_LOG_LEVEL);
    DcmRLEDecoderRegistration::registerCodecs();
    DJDecoderRegistration::registerCodecs(EDC_photometricInterpretation, EUC_never,
                                          EPC_colorByPixel);
    DJLSDecoderRegistration::registerCodecs(EJLSUC_never, EJLSPC_colorByPixel);
  }
  ~Decoders() {
    DJLSDecoderRegistration::cleanup();
    DJDecoderRegistration::cleanup();
    DcmRLEDecoderRegistration::cleanup();
  }
};
void register_decoders() { static const Decoders decoders; }

// One of red, green and blue of a palette: the colour of each index, 8 bits.
struct Lookup {
  int first = 0;
  std::vector<uint8_t> colours;
  uint8_t operator[](int index) const {
    const int last = static_cast<int>(colours.size()) - 1;
    return colours[static_cast<size_t>(std::clamp(index - first, 0, last))];
  }
};

// A lookup table (PS3.3 C.7.6.3.1.5, C.7.6.3.1.6).
Lookup lookup_of(DcmItem& data, const DcmTagKey& descriptor, const DcmTagKey& table) {
  constexpr size_t kMost = 65536;
  Uint16 entries = 0, first = 0, bits = 0;
  const OFBool there = data.findAndGetUint16(descriptor, entries, 0).good() &&
                       data.findAndGetUint16(descriptor, first, 1).good() &&
                       data.findAndGetUint16(descriptor, bits, 2).good();
  const Uint16* words = nullptr;
  unsigned long count = 0;
  if (!there || data.findAndGetUint16Array(table, words, &count).bad() || !words)
    refuse("the palette must have a descriptor and a table of each colour");
  const size_t size = entries == 0 ? kMost : entries;
  const bool packed = count < size;  // two entries of 8 bits a word
  if ((bits != 8 && bits != 16) || (packed && (bits != 8 || 2 * count < size)))
    refuse("a palette's table must have its " + std::to_string(size) + " entries of " +
           std::to_string(bits) + " bits, got " + std::to_string(count) + " words");
  Lookup lookup{.first = first, .colours = std::vector<uint8_t>(size)};
  Uint16 largest = 0;
  if (!packed) largest = *std::max_element(words, words + size);
  for (size_t i = 0; i < size; ++i)
    lookup.colours[i] = static_cast<uint8_t>(packed          ? words[i / 2] >> i % 2 * 8
                                             : largest > 255 ? words[i] >> 8
                                                             : words[i]);
  return lookup;
}

struct File {
  DcmFileFormat format;
  DcmDataset* data = nullptr;
  DcmPixelData* pixels = nullptr;  // of `data`
  aorta_dicom_facts facts{};
  std::string colours;    // PhotometricInterpretation
  int samples = 1;        // a pixel
  int bytes = 1;          // a sample
  int bits = 8;           // of a sample that are used
  bool by_plane = false;  // of the samples as they come: JPEG's decoders give them pixel by pixel
  bool encapsulated = false;
  std::vector<Lookup> palette;
  // Where the file is read on.
  DcmFileCache cache;
  Uint32 next_fragment = 0;
  int64_t next_frame = 0;
  std::vector<uint8_t> buffer;

  int64_t area() const { return facts.height * facts.width; }
  bool halved() const { return colours == "YBR_FULL_422" && !encapsulated; }
};

std::string text_of(DcmItem& data, const DcmTagKey& tag) {
  OFString text;
  if (data.findAndGetOFString(tag, text).bad()) return "";
  return text.c_str();
}

int number_of(DcmItem& data, const DcmTagKey& tag, int otherwise) {
  Uint16 value = 0;
  return data.findAndGetUint16(tag, value).good() ? value : otherwise;
}

// A number that is written as text; 0 where it isn't positive.
double positive(DcmItem& data, const DcmTagKey& tag) {
  const double value = std::strtod(text_of(data, tag).c_str(), nullptr);
  return std::isfinite(value) && value > 0 ? value : 0;
}

// Frames a second: FrameTime and FrameTimeVector tell milliseconds from a frame to the next.
double rate_of(DcmItem& data) {
  if (const double time = positive(data, DCM_FrameTime)) return 1000 / time;
  DcmElement* steps = nullptr;
  if (data.findAndGetElement(DCM_FrameTimeVector, steps).good() && steps) {
    double sum = 0;
    const unsigned long count = steps->getVM();
    for (unsigned long i = 1; i < count; ++i) {  // the first is 0
      Float64 step = 0;
      if (steps->getFloat64(step, i).good() && std::isfinite(step) && step > 0) sum += step;
    }
    if (sum > 0) return 1000 * static_cast<double>(count - 1) / sum;
  }
  if (const double rate = positive(data, DCM_CineRate)) return rate;
  return positive(data, DCM_RecommendedDisplayFrameRate);
}

// FNV-1a of what says whose heart it is.
uint64_t patient_of(DcmItem& data) {
  std::string who = text_of(data, DCM_PatientID);
  if (who.empty()) {
    who = text_of(data, DCM_PatientName);
    if (!who.empty()) who += "\n" + text_of(data, DCM_PatientBirthDate);
  }
  if (who.empty()) who = text_of(data, DCM_StudyInstanceUID);
  if (who.empty()) return 0;
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : who) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return hash == 0 ? 1 : hash;
}

void read_layout(File& file) {
  DcmDataset& data = *file.data;
  file.facts.height = number_of(data, DCM_Rows, 0);
  file.facts.width = number_of(data, DCM_Columns, 0);
  if (file.facts.height == 0 || file.facts.width == 0)
    refuse("Rows and Columns must be positive, got " + std::to_string(file.facts.height) + " x " +
           std::to_string(file.facts.width));
  Sint32 frames = 1;
  if (data.tagExists(DCM_NumberOfFrames) &&
      (data.findAndGetSint32(DCM_NumberOfFrames, frames).bad() || frames < 1))
    refuse("NumberOfFrames must be positive, got \"" + text_of(data, DCM_NumberOfFrames) + "\"");
  file.facts.frames = frames;
  file.colours = text_of(data, DCM_PhotometricInterpretation);
  file.samples = number_of(data, DCM_SamplesPerPixel, 1);
  file.bytes = number_of(data, DCM_BitsAllocated, 8) / 8;
  file.bits = number_of(data, DCM_BitsStored, 8);
  file.by_plane = number_of(data, DCM_PlanarConfiguration, 0) == 1 &&
                  (!file.encapsulated || data.getOriginalXfer() == EXS_RLELossless);
  const bool grey = file.colours == "MONOCHROME1" || file.colours == "MONOCHROME2";
  const bool palette = file.colours == "PALETTE COLOR";
  const bool colour =
      file.colours == "RGB" || file.colours == "YBR_FULL" || file.colours == "YBR_FULL_422";
  if (!grey && !palette && !colour)
    refuse(
        "PhotometricInterpretation must be MONOCHROME1, MONOCHROME2, PALETTE COLOR, RGB, YBR_FULL "
        "or YBR_FULL_422, got \"" +
        file.colours + "\"");
  const bool wide = file.bytes == 2 && (grey || palette);
  if ((file.bytes != 1 && !wide) || file.bits < 1 || file.bits > 8 * file.bytes ||
      number_of(data, DCM_BitsAllocated, 8) % 8 != 0)
    refuse("samples must have 8 bits (grey and palettes also 16), got " + file.colours + " of " +
           std::to_string(file.bits) + " in " +
           std::to_string(number_of(data, DCM_BitsAllocated, 8)));
  if (file.samples != (colour ? 3 : 1))
    refuse("SamplesPerPixel must be 1 of grey and palettes, 3 of colour, got " +
           std::to_string(file.samples) + " of " + file.colours);
  if (number_of(data, DCM_PixelRepresentation, 0) != 0)
    refuse("samples must not be signed, got PixelRepresentation 1");
  if (file.halved() && (file.facts.width % 2 != 0 || file.by_plane))
    refuse("YBR_FULL_422 must have an even width, pixel by pixel, got a width of " +
           std::to_string(file.facts.width));
  if (palette) {
    file.palette.push_back(lookup_of(data, DCM_RedPaletteColorLookupTableDescriptor,
                                     DCM_RedPaletteColorLookupTableData));
    file.palette.push_back(lookup_of(data, DCM_GreenPaletteColorLookupTableDescriptor,
                                     DCM_GreenPaletteColorLookupTableData));
    file.palette.push_back(lookup_of(data, DCM_BluePaletteColorLookupTableDescriptor,
                                     DCM_BluePaletteColorLookupTableData));
  }
}

int64_t frame_bytes(const File& file) {
  return file.area() * file.bytes * (file.halved() ? 2 : file.samples);
}

// Every frame that NumberOfFrames counts must be there.
void check_pixels(File& file) {
  if (!file.encapsulated) {
    const int64_t there = file.pixels->getLength(), needed = file.facts.frames * frame_bytes(file);
    if (there < needed)
      refuse("pixels must be " + std::to_string(needed) + " bytes, got " + std::to_string(there));
    return;
  }
  E_TransferSyntax syntax = EXS_Unknown;
  const DcmRepresentationParameter* parameter = nullptr;
  file.pixels->getOriginalRepresentationKey(syntax, parameter);
  DcmPixelSequence* sequence = nullptr;
  require(file.pixels->getEncapsulatedRepresentation(syntax, parameter, sequence), "pixels");
  const auto fragments = static_cast<int64_t>(sequence->card()) - 1;  // the first: their places
  if (fragments < file.facts.frames)
    refuse("pixels must have a fragment a frame at least, got " + std::to_string(fragments) +
           " of " + std::to_string(file.facts.frames) + " frames");
}

// By the file's first attributes. A deflated file would hide how deep it nests.
void check_syntax(File& file, const char* path) {
  require(file.format.loadFile(path, EXS_Unknown, EGL_noChange, DCM_MaxReadLength, ERM_metaOnly),
          "the file");
  const DcmXfer syntax(text_of(*file.format.getMetaInfo(), DCM_TransferSyntaxUID).c_str());
  const bool decoded = DcmCodecList::canChangeCoding(syntax.getXfer(), EXS_LittleEndianExplicit);
  if (syntax.getXfer() != EXS_DeflatedLittleEndianExplicit && (!syntax.isEncapsulated() || decoded))
    return;
  refuse(std::string("transfer syntax must be uncompressed, RLE, JPEG or JPEG-LS, got ") +
         syntax.getXferName());
}

// Items of sequences and fragments of frames: what a file can nest.
constexpr int64_t kMostItems = 20000;

// Counts the marks of items, in either byte order.
void check_items(const char* path) {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path, "rbe"), std::fclose);
  if (!file) refuse("the file must be readable");
  constexpr size_t kRest = 3, kChunk = 1 << 18;
  std::vector<char> bytes(kRest + kChunk);
  int64_t items = 0;
  size_t kept = 0;
  while (const size_t got = std::fread(bytes.data() + kept, 1, kChunk, file.get())) {
    const std::string_view text(bytes.data(), kept + got);
    for (const char* mark : {"\xfe\xff\x00\xe0", "\xff\xfe\xe0\x00"})
      for (size_t at = 0; (at = text.find(mark, at, 4)) != text.npos; at += 4) ++items;
    kept = std::min(kRest, text.size());
    std::memmove(bytes.data(), bytes.data() + text.size() - kept, kept);
  }
  if (items > kMostItems)
    refuse("a file must have at most " + std::to_string(kMostItems) + " items, got " +
           std::to_string(items));
}

// Runs it on a stack on which kMostItems fit that lie in one another: DCMTK reads and frees them by
// recursion, 2 KiB each.
template <class Body>
void on_a_large_stack(const Body& body) {
  constexpr size_t kStack = 64 << 20;
  struct Task {
    const Body& body;
    std::exception_ptr problem;
  } task{body, nullptr};
  const auto run = [](void* given) -> void* {
    auto& here = *static_cast<Task*>(given);
    try {
      here.body();
    } catch (...) {
      here.problem = std::current_exception();
    }
    return nullptr;
  };
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStack);
  const int started = pthread_create(&thread, &attributes, run, &task);
  pthread_attr_destroy(&attributes);
  if (started != 0) refuse(aorta::data::kDicomHasNoThread);
  pthread_join(thread, nullptr);
  if (task.problem) std::rethrow_exception(task.problem);
}

void load(File& file, const char* path) {
  check_syntax(file, path);
  check_items(path);
  // Values of more than 4 KiB stay in the file.
  require(file.format.loadFile(path, EXS_Unknown, EGL_noChange, DCM_MaxReadLength), "the file");
}

struct Close {
  void operator()(File* file) const {
    try {
      on_a_large_stack([&] { delete file; });
    } catch (const std::runtime_error&) {
      // No thread: better leaked than broken.
    }
  }
};

std::unique_ptr<File, Close> open(const char* path) {
  register_decoders();
  std::unique_ptr<File, Close> file(new File);
  on_a_large_stack([&] { load(*file, path); });
  file->data = file->format.getDataset();
  DcmElement* pixels = nullptr;
  if (file->data->findAndGetElement(DCM_PixelData, pixels).bad() || !pixels)
    refuse("there must be pixels, got a file without");
  file->pixels = dynamic_cast<DcmPixelData*>(pixels);
  if (!file->pixels) refuse("pixels must be PixelData");
  file->encapsulated = DcmXfer(file->data->getOriginalXfer()).isEncapsulated();
  read_layout(*file);
  check_pixels(*file);
  file->facts.fps = rate_of(*file->data);
  file->facts.patient = patient_of(*file->data);
  put(text_of(*file->data, DCM_Modality).c_str(), file->facts.modality,
      sizeof file->facts.modality);
  return file;
}

uint8_t clamped(double value) {
  return static_cast<uint8_t>(std::lround(std::clamp(value, 0., 255.)));
}

// Full-range luma and chroma (ITU-R BT.601, as JFIF has them), as PS3.3 C.7.6.3.1.2 defines
// YBR_FULL.
void rgb_of_ybr(uint8_t* pixel) {
  const double y = pixel[0], blue = pixel[1] - 128., red = pixel[2] - 128.;
  pixel[0] = clamped(y + 1.402 * red);
  pixel[1] = clamped(y - 0.344136 * blue - 0.714136 * red);
  pixel[2] = clamped(y + 1.772 * blue);
}

uint8_t grey_of(const uint8_t* rgb) {
  return clamped(0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2]);
}

// Sample `i` of 8 or 16 bits, as DCMTK hands them over, in the machine's order.
int sample_of(const File& file, int64_t i) {
  if (file.bytes == 1) return file.buffer[static_cast<size_t>(i)];
  uint16_t value = 0;
  std::memcpy(&value, file.buffer.data() + 2 * i, 2);
  return value;
}

void write_grey(const File& file, uint8_t* out) {
  const int shift = std::max(file.bits - 8, 0), mask = (1 << file.bits) - 1;
  const bool inverted = file.colours == "MONOCHROME1";
  for (int64_t i = 0; i < file.area(); ++i) {
    const auto value = static_cast<uint8_t>((sample_of(file, i) & mask) >> shift);
    out[i] = inverted ? static_cast<uint8_t>(255 - value) : value;
  }
}

// Pixel i as red, green and blue. `model` is that of the buffer.
void read_colour(const File& file, const std::string& model, int64_t i, uint8_t* rgb) {
  const uint8_t* from = file.buffer.data();
  if (!file.palette.empty()) {
    const int index = sample_of(file, i);
    for (size_t c = 0; c < 3; ++c) rgb[c] = file.palette[c][index];
    return;
  }
  if (file.halved()) {  // two lumas and the chroma that they share
    const uint8_t* pair = from + i / 2 * 4;
    rgb[0] = pair[i % 2];
    rgb[1] = pair[2];
    rgb[2] = pair[3];
  } else {
    for (int64_t c = 0; c < 3; ++c) rgb[c] = from[file.by_plane ? c * file.area() + i : 3 * i + c];
  }
  if (model.starts_with("YBR_FULL")) rgb_of_ybr(rgb);
}

// A segment's PackBits (PS3.5 G.3) must not ask for bytes behind it; one of padding may follow the
// `wanted` that it unpacks to.
bool is_packed_whole(const uint8_t* from, const uint8_t* end, int64_t wanted) {
  for (int64_t unpacked = 0; from < end;) {
    const uint8_t control = *from++;
    if (control == 128) continue;
    const int64_t packed = control < 128 ? control + 1 : 1;
    if (end - from < packed) return unpacked >= wanted;
    from += packed;
    unpacked += control < 128 ? packed : 257 - control;
  }
  return true;
}

// A frame of RLE lies in one fragment: a header of 64 bytes, the number of segments and where they
// begin (PS3.5 G.5). DCMTK believes both.
void check_rle(File& file, int64_t frame) {
  const DcmRepresentationParameter* parameter = nullptr;
  DcmPixelSequence* sequence = nullptr;
  require(file.pixels->getEncapsulatedRepresentation(EXS_RLELossless, parameter, sequence),
          "pixels");
  if (static_cast<int64_t>(sequence->card()) != file.facts.frames + 1)
    refuse("RLE must have a fragment a frame, got " + std::to_string(sequence->card() - 1) +
           " of " + std::to_string(file.facts.frames) + " frames");
  DcmPixelItem* item = nullptr;
  require(sequence->getItem(item, static_cast<unsigned long>(frame + 1)), "the frame");
  uint8_t* bytes = nullptr;
  require(item->getUint8Array(bytes), "the frame");
  const uint32_t size = item->getLength();
  uint32_t header[16] = {};
  const auto expected = static_cast<uint32_t>(file.samples * file.bytes);
  if (bytes && size >= sizeof header)
    for (size_t i = 0; i < 16; ++i)
      for (size_t b = 0; b < 4; ++b) header[i] |= uint32_t{bytes[4 * i + b]} << 8 * b;
  bool whole = header[0] == expected && header[1] >= sizeof header;
  for (uint32_t i = 1; i <= expected && whole; ++i) {
    const uint32_t end = i < expected ? header[i + 1] : size;
    whole = header[i] < end && end <= size &&
            is_packed_whole(bytes + header[i], bytes + end, file.area());
  }
  if (!whole)
    refuse("RLE must have " + std::to_string(expected) + " whole segments, got a fragment of " +
           std::to_string(size) + " bytes that has not");
}

// The frame's samples into the buffer; how they tell colours.
std::string decode_frame(File& file, int64_t frame) {
  if (file.data->getOriginalXfer() == EXS_RLELossless) check_rle(file, frame);
  OFString model;
  Uint32 fragment = frame == file.next_frame ? file.next_fragment : 0;
  require(file.pixels->getUncompressedFrame(
              file.data, static_cast<Uint32>(frame), fragment, file.buffer.data(),
              static_cast<Uint32>(file.buffer.size()), model, &file.cache),
          "the frame");
  file.next_frame = frame + 1;
  file.next_fragment = fragment;
  return model.c_str();
}

// Does the same for a file whose samples aren't encoded.
void read_plain_frame(File& file, int64_t frame, size_t size) {
  const auto place = static_cast<Uint32>(frame * static_cast<int64_t>(size));
  require(file.pixels->getPartialValue(file.buffer.data(), place, static_cast<Uint32>(size),
                                       &file.cache),
          "the frame");
}

void read_frame(File& file, int64_t frame, int channels, uint8_t* out) {
  if (frame < 0 || frame >= file.facts.frames)
    refuse("frame must be one of the " + std::to_string(file.facts.frames));
  const auto size = static_cast<size_t>(frame_bytes(file));
  file.buffer.resize(size + size % 2);
  const std::string model = file.encapsulated ? decode_frame(file, frame) : file.colours;
  if (!file.encapsulated) read_plain_frame(file, frame, size);
  if (file.samples == 1 && file.palette.empty()) {
    std::vector<uint8_t> grey;
    if (channels != 1) grey.resize(static_cast<size_t>(file.area()));
    write_grey(file, channels == 1 ? out : grey.data());
    for (int64_t i = 0; channels == 3 && i < file.area(); ++i)
      std::fill(out + 3 * i, out + 3 * i + 3, grey[static_cast<size_t>(i)]);
    return;
  }
  for (int64_t i = 0; i < file.area(); ++i) {
    uint8_t rgb[3];
    read_colour(file, model, i, rgb);
    if (channels == 3)
      std::copy(rgb, rgb + 3, out + 3 * i);
    else
      out[i] = grey_of(rgb);
  }
}

// A length of PhysicalUnits 3, centimetres; 0 of another.
double centimetres(DcmItem& region, const DcmTagKey& units, const DcmTagKey& delta) {
  constexpr int kCentimetres = 3;
  Float64 value = 0;
  if (number_of(region, units, 0) != kCentimetres || region.findAndGetFloat64(delta, value).bad() ||
      !std::isfinite(value))
    return 0;
  return std::abs(value);
}

int64_t place_of(DcmItem& region, const DcmTagKey& tag) {
  Uint32 value = 0;
  return region.findAndGetUint32(tag, value).good() ? value : 0;
}

void visit_regions(File& file, void (*visit)(void*, const aorta_dicom_region*), void* context) {
  DcmSequenceOfItems* regions = nullptr;
  if (file.data->findAndGetSequence(DCM_SequenceOfUltrasoundRegions, regions).bad() || !regions)
    return;
  for (unsigned long i = 0; i < regions->card(); ++i) {
    DcmItem& item = *regions->getItem(i);
    const aorta_dicom_region region{
        .spatial_format = number_of(item, DCM_RegionSpatialFormat, 0),
        .data_type = number_of(item, DCM_RegionDataType, 0),
        .x0 = place_of(item, DCM_RegionLocationMinX0),
        .y0 = place_of(item, DCM_RegionLocationMinY0),
        .x1 = place_of(item, DCM_RegionLocationMaxX1),
        .y1 = place_of(item, DCM_RegionLocationMaxY1),
        .x_delta = centimetres(item, DCM_PhysicalUnitsXDirection, DCM_PhysicalDeltaX),
        .y_delta = centimetres(item, DCM_PhysicalUnitsYDirection, DCM_PhysicalDeltaY)};
    visit(context, &region);
  }
}

void visit_attributes(File& file, void (*visit)(void*, uint32_t, const char*), void* context) {
  const auto all = [&](DcmItem& item) {
    for (DcmObject* next = nullptr; (next = item.nextInContainer(next));) {
      DcmTag tag = next->getTag();
      const uint32_t number = static_cast<uint32_t>(tag.getGroup()) << 16 | tag.getElement();
      visit(context, number, tag.isPrivate() ? "private" : tag.getTagName());
    }
  };
  all(*file.format.getMetaInfo());
  all(*file.data);
}

void* open_file(const char* path, aorta_dicom_facts* facts, char* error, size_t error_size) {
  File* result = nullptr;
  guarded(error, error_size, [&] {
    auto file = open(path);
    *facts = file->facts;
    result = file.release();
  });
  return result;
}

void close_file(void* file) { Close()(static_cast<File*>(file)); }

int pixels(void* file, int64_t frame, int channels, uint8_t* out, char* error, size_t error_size) {
  return guarded(error, error_size,
                 [&] { read_frame(*static_cast<File*>(file), frame, channels, out); });
}

int regions(void* file, void (*visit)(void*, const aorta_dicom_region*), void* context, char* error,
            size_t error_size) {
  return guarded(error, error_size,
                 [&] { visit_regions(*static_cast<File*>(file), visit, context); });
}

int attributes(void* file, void (*visit)(void*, uint32_t, const char*), void* context, char* error,
               size_t error_size) {
  return guarded(error, error_size,
                 [&] { visit_attributes(*static_cast<File*>(file), visit, context); });
}

constexpr aorta_dicom kTable{
    aorta::data::kDicomVersion, open_file, close_file, pixels, regions, attributes};

}  // namespace

extern "C" const aorta_dicom* aorta_dicom_table() { return &kTable; }
