#include <aorta/data/lsun_plugin.h>
#include <lmdb.h>
#include <sys/stat.h>
#include <unistd.h>
#include <webp/decode.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

// The library that links liblmdb and libwebp, so that no other does.
namespace {

struct Failure {
  int error;
  const char* text;
};

// Nothing that is thrown may pass the border of the library.
template <class Body>
int guarded(aorta_lsun_problem* problem, const Body& body) {
  *problem = {};
  try {
    body();
    return 1;
  } catch (const Failure& failure) {
    problem->error = failure.error;
    std::strncpy(problem->text, failure.text, sizeof problem->text - 1);
  } catch (const std::bad_alloc&) {
    problem->error = ENOMEM;
  } catch (const std::exception& other) {
    std::strncpy(problem->text, other.what(), sizeof problem->text - 1);
  }
  return -1;
}

// liblmdb's own codes are negative.
void require(int code) {
  if (code > 0) throw Failure{code, ""};
  if (code < 0) throw Failure{0, mdb_strerror(code)};
}

struct Close {
  void operator()(MDB_env* environment) const { mdb_env_close(environment); }
  void operator()(MDB_txn* transaction) const { mdb_txn_abort(transaction); }
  void operator()(MDB_cursor* cursor) const { mdb_cursor_close(cursor); }
};

// What one process reads a database with. Nothing is locked: the file doesn't change.
struct Reader {
  explicit Reader(const std::string& folder) {
    MDB_env* made = nullptr;
    require(mdb_env_create(&made));
    environment.reset(made);
    struct ::stat status;
    if (::stat((folder + "/data.mdb").c_str(), &status) != 0) throw Failure{errno, ""};
    // Without this it would map as much as whoever wrote the file reserved, often a terabyte.
    require(mdb_env_set_mapsize(made, static_cast<size_t>(status.st_size)));
    require(
        mdb_env_open(made, folder.c_str(), MDB_RDONLY | MDB_NOLOCK | MDB_NOTLS | MDB_NORDAHEAD, 0));
    MDB_txn* begun = nullptr;
    require(mdb_txn_begin(made, nullptr, MDB_RDONLY, &begun));
    transaction.reset(begun);
    MDB_dbi database = 0;
    require(mdb_dbi_open(begun, nullptr, 0, &database));
    MDB_cursor* opened = nullptr;
    require(mdb_cursor_open(begun, database, &opened));
    cursor.reset(opened);
  }

  std::unique_ptr<MDB_env, Close> environment;
  std::unique_ptr<MDB_txn, Close> transaction;
  std::unique_ptr<MDB_cursor, Close> cursor;
  pid_t process = getpid();
  int64_t place = -1;  // of the cursor, or -1
};

// Values by number. liblmdb finds them by key, so every 64th key is kept: 40 bytes each in LSUN,
// for three million of bedrooms 2 MB. The others are as many steps of the cursor away.
class Database {
 public:
  explicit Database(const char* folder) : folder_(folder) {
    reader_ = std::make_unique<Reader>(folder_);
    MDB_val key, value;
    int code = mdb_cursor_get(reader_->cursor.get(), &key, &value, MDB_FIRST);
    for (; code == 0; code = mdb_cursor_get(reader_->cursor.get(), &key, &value, MDB_NEXT))
      if (size_++ % kStep == 0) {
        keys_.append(static_cast<const char*>(key.mv_data), key.mv_size);
        ends_.push_back(keys_.size());
      }
    if (code != MDB_NOTFOUND) require(code);
  }

  int64_t size() const { return size_; }

  aorta_lsun_value at(int64_t place) {
    if (place < 0 || place >= size_) throw std::out_of_range("a place beyond the last");
    if (!reader_ || reader_->process != getpid()) {
      reader_.reset();  // the parent's stays open there
      reader_ = std::make_unique<Reader>(folder_);
    }
    // Where a step fails, the next call jumps.
    const int64_t known = std::exchange(reader_->place, -1);
    MDB_val key, value;
    int64_t here = known;
    if (known < 0 || place < known || place - known >= kStep) {
      const auto i = static_cast<size_t>(place / kStep);
      const size_t start = i == 0 ? 0 : ends_[i - 1];
      key = {.mv_size = ends_[i] - start, .mv_data = keys_.data() + start};
      here = place / kStep * kStep;
      require(mdb_cursor_get(reader_->cursor.get(), &key, &value, MDB_SET_KEY));
    } else {
      require(mdb_cursor_get(reader_->cursor.get(), &key, &value, MDB_GET_CURRENT));
    }
    for (; here < place; ++here)
      require(mdb_cursor_get(reader_->cursor.get(), &key, &value, MDB_NEXT));
    reader_->place = place;
    return {
        .key = key.mv_data, .bytes = value.mv_data, .key_size = key.mv_size, .size = value.mv_size};
  }

 private:
  static constexpr int64_t kStep = 64;

  std::string folder_;
  std::unique_ptr<Reader> reader_;
  std::string keys_;            // every kStep-th, one after another
  std::vector<uint64_t> ends_;  // where each ends
  int64_t size_ = 0;
};

void require_webp(VP8StatusCode code) {
  constexpr const char* kNames[] = {"",
                                    "no memory",
                                    "an invalid parameter",
                                    "damaged bits",
                                    "an unsupported feature",
                                    "a part of it",
                                    "a user's abort",
                                    "a part of it"};
  if (code == VP8_STATUS_OUT_OF_MEMORY) throw std::bad_alloc();
  if (code != VP8_STATUS_OK) throw Failure{0, kNames[code]};
}

WebPBitstreamFeatures features_of(const uint8_t* bytes, size_t size) {
  WebPBitstreamFeatures features;
  require_webp(WebPGetFeatures(bytes, size, &features));
  if (features.has_animation) throw Failure{0, "an animation"};
  return features;
}

int channels_of(const WebPBitstreamFeatures& features) { return features.has_alpha ? 4 : 3; }

void decode_webp(const uint8_t* bytes, size_t size, uint8_t* out, size_t out_size) {
  WebPDecoderConfig config;
  if (!WebPInitDecoderConfig(&config)) throw Failure{0, "a libwebp of another version"};
  config.input = features_of(bytes, size);
  const int channels = channels_of(config.input);
  config.output.colorspace = channels == 4 ? MODE_RGBA : MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA.rgba = out;
  config.output.u.RGBA.stride = channels * config.input.width;
  config.output.u.RGBA.size = out_size;
  require_webp(WebPDecode(bytes, size, &config));
}

constexpr aorta_lsun kTable = {
    .version = aorta::data::kLsunVersion,
    .open = [](const char* folder, int64_t* values, aorta_lsun_problem* problem) -> void* {
      std::unique_ptr<Database> database;
      guarded(problem, [&] {
        database = std::make_unique<Database>(folder);
        *values = database->size();
      });
      return database.release();
    },
    .close = [](void* database) { delete static_cast<Database*>(database); },
    .get =
        [](void* database, int64_t place, aorta_lsun_value* value, aorta_lsun_problem* problem) {
          return guarded(problem, [&] { *value = static_cast<Database*>(database)->at(place); });
        },
    .webp_size =
        [](const void* bytes, size_t size, int64_t* height, int64_t* width, int64_t* channels,
           aorta_lsun_problem* problem) {
          return guarded(problem, [&] {
            const auto features = features_of(static_cast<const uint8_t*>(bytes), size);
            *height = features.height;
            *width = features.width;
            *channels = channels_of(features);
          });
        },
    .webp_pixels =
        [](const void* bytes, size_t size, uint8_t* out, size_t out_size,
           aorta_lsun_problem* problem) {
          return guarded(problem, [&] {
            decode_webp(static_cast<const uint8_t*>(bytes), size, out, out_size);
          });
        },
};

}  // namespace

extern "C" const aorta_lsun* aorta_lsun_table() { return &kTable; }
