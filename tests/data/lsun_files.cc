#include <aorta/core/ops/creation.h>
#include <aorta/tests/data/lsun_files.h>
#include <gtest/gtest.h>
#include <lmdb.h>
#include <webp/decode.h>
#include <webp/encode.h>

#include <filesystem>
#include <stdexcept>

namespace aorta::data {
namespace {

void require(int code) {
  if (code != 0) throw std::runtime_error(mdb_strerror(code));
}

// An environment that a test writes or reads, without a lock file.
struct Environment {
  Environment(const std::string& folder, unsigned flags, unsigned databases = 0) {
    require(mdb_env_create(&environment));
    require(mdb_env_set_maxdbs(environment, databases));
    require(mdb_env_set_mapsize(environment, 1 << 30));
    require(mdb_env_open(environment, folder.c_str(), flags | MDB_NOLOCK | MDB_NOSYNC, 0600));
    require(mdb_txn_begin(environment, nullptr, flags, &transaction));
    require(mdb_dbi_open(transaction, nullptr, 0, &database));
  }
  ~Environment() { mdb_env_close(environment); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

  MDB_env* environment = nullptr;
  MDB_txn* transaction = nullptr;
  MDB_dbi database = 0;
};

// A chunk of RIFF: its name, its size, what it holds.
std::string chunk(const std::string& name, std::string held) {
  const auto size = static_cast<uint32_t>(held.size());
  if (size % 2 != 0) held += '\0';
  return name + std::string(reinterpret_cast<const char*>(&size), sizeof size) + held;
}

}  // namespace

std::string webp_of(const Tensor& image, float quality) {
  const Tensor rows = image.permute({1, 2, 0}).contiguous();
  const auto height = static_cast<int>(rows.size(0)), width = static_cast<int>(rows.size(1)),
             stride = static_cast<int>(rows.size(2)) * width;
  const auto* pixels = rows.data<uint8_t>();
  const bool alpha = rows.size(2) == 4, exact = quality == 100;
  uint8_t* bytes = nullptr;
  const size_t size = alpha ? exact ? WebPEncodeLosslessRGBA(pixels, width, height, stride, &bytes)
                                    : WebPEncodeRGBA(pixels, width, height, stride, quality, &bytes)
                      : exact ? WebPEncodeLosslessRGB(pixels, width, height, stride, &bytes)
                              : WebPEncodeRGB(pixels, width, height, stride, quality, &bytes);
  std::string text(reinterpret_cast<const char*>(bytes), size);
  WebPFree(bytes);
  return text;
}

Tensor webp_pixels(const std::string& bytes) {
  int height = 0, width = 0;
  uint8_t* pixels =
      WebPDecodeRGB(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(), &width, &height);
  if (!pixels) throw std::runtime_error("libwebp can't read it");
  const Tensor rows = from_blob(pixels, {height, width, 3}, {.dtype = u8});
  const Tensor image = rows.permute({2, 0, 1}).contiguous();
  WebPFree(pixels);
  return image;
}

std::string animated_webp(const Tensor& image) {
  const std::string still = webp_of(image).substr(12);  // without RIFF, size, WEBP
  const auto three = [](int64_t value) {
    return std::string{static_cast<char>(value), static_cast<char>(value >> 8), '\0'};
  };
  const std::string size = three(image.size(2) - 1) + three(image.size(1) - 1);
  const std::string zeros(6, '\0');
  const std::string frame = chunk("ANMF", zeros + size + three(40) + std::string(1, '\0') + still);
  return chunk("RIFF", "WEBP" + chunk("VP8X", std::string("\x02\0\0\0", 4) + size) +
                           chunk("ANIM", zeros) + frame + frame);
}

void write_lmdb(const std::string& folder, const std::map<std::string, std::string>& values,
                const std::vector<std::string>& written) {
  std::filesystem::create_directories(folder);
  Environment to(folder, 0);
  const auto put = [&](const std::string& key) {
    MDB_val name{key.size(), const_cast<char*>(key.data())};
    const std::string& bytes = values.at(key);
    MDB_val value{bytes.size(), const_cast<char*>(bytes.data())};
    require(mdb_put(to.transaction, to.database, &name, &value, MDB_NOOVERWRITE));
  };
  if (written.empty())
    for (const auto& [key, value] : values) put(key);
  for (const std::string& key : written) put(key);
  require(mdb_txn_commit(to.transaction));
}

void write_named_lmdb(const std::string& folder, bool several) {
  Environment to(folder, 0, 2);
  MDB_dbi database = 0;
  require(several ? mdb_dbi_open(to.transaction, nullptr, MDB_DUPSORT, &database)
                  : mdb_dbi_open(to.transaction, "inner", MDB_CREATE, &database));
  for (const char* text : {"one", "two"}) {
    MDB_val key{1, const_cast<char*>("k")}, value{3, const_cast<char*>(text)};
    require(mdb_put(to.transaction, database, &key, &value, 0));
  }
  require(mdb_txn_commit(to.transaction));
}

std::vector<std::string> lmdb_keys(const std::string& folder) {
  const Environment from(folder, MDB_RDONLY);
  MDB_cursor* cursor = nullptr;
  require(mdb_cursor_open(from.transaction, from.database, &cursor));
  std::vector<std::string> keys;
  MDB_val key, value;
  while (mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0)
    keys.emplace_back(static_cast<const char*>(key.mv_data), key.mv_size);
  mdb_cursor_close(cursor);
  mdb_txn_abort(from.transaction);
  return keys;
}

}  // namespace aorta::data
