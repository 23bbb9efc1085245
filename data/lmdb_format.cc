#include <aorta/core/check.h>
#include <aorta/core/io/bytes.h>
#include <aorta/data/lmdb_format.h>

#include <algorithm>
#include <array>

namespace aorta::data {
namespace {

constexpr size_t kLmdbPageHead = 16, kLmdbNodeHead = 8, kLmdbMetaEnd = 152;
constexpr uint16_t kLmdbBranch = 1, kLmdbLeaf = 2, kLmdbMeta = 8;
constexpr uint16_t kLmdbKinds = 0x6f;  // the flags that say what a page is
constexpr uint32_t kLmdbMagic = 0xbeefc0de;
constexpr uint64_t kLmdbMostPages = uint64_t{1} << 34;
constexpr int kLmdbDeepest = 32;
constexpr size_t kLmdbLongestKey = 511;

struct LmdbHead {
  uint64_t page_size, flags, depth, entries, root, last_page, transaction;
};

class LmdbTree {
 public:
  LmdbTree(const ByteSource& file, const char* op) : file_(file), op_(op) {}

  int64_t check_all() {
    const LmdbHead first = head(0), second = head(first.page_size);
    require(first.page_size == second.page_size, "LMDB heads must have one page size",
            first.page_size, " and ", second.page_size);
    head_ = first.transaction < second.transaction ? second : first;
    require(head_.last_page < kLmdbMostPages, "LMDB must have fewer than 2^34 pages",
            head_.last_page, " as the last");
    require(head_.flags == 0, "LMDB must have plain keys and one value of each", "flags ",
            head_.flags);
    pages_ = std::min(head_.last_page + 1, file_.size() / head_.page_size);
    if (head_.root != ~uint64_t{0}) {
      require(head_.depth >= 1 && head_.depth <= kLmdbDeepest, "LMDB tree must be 1 to 32 deep",
              head_.depth);
      levels_.assign(head_.depth, std::vector<std::byte>(head_.page_size));
      walk(head_.root, 0);
    }
    require(count_ == head_.entries, "LMDB must have the values that it counts", count_, " of ",
            head_.entries);
    return static_cast<int64_t>(count_);
  }

 private:
  template <class... Parts>
  void require(bool ok, const char* rule, const Parts&... got) const {
    check(ok, op_, rule, got..., " in ", file_.name());
  }

  LmdbHead head(uint64_t offset) const {
    std::array<std::byte, kLmdbMetaEnd> bytes;
    const size_t size = file_.read(offset, bytes);
    require(size == bytes.size(), "LMDB must have two heads", file_.size(), " bytes");
    require(io::load<uint32_t>(bytes, 16) == kLmdbMagic &&
                (io::load<uint16_t>(bytes, 10) & kLmdbMeta) != 0,
            "LMDB head must have its mark", io::quote(io::as_text(bytes).substr(16, 4)));
    require(io::load<uint32_t>(bytes, 20) == 1, "LMDB must be of version 1",
            io::load<uint32_t>(bytes, 20));
    const uint64_t page_size = io::load<uint32_t>(bytes, 40);
    require(page_size >= 512 && page_size <= 32768 && (page_size & (page_size - 1)) == 0,
            "LMDB page must have 512 to 32768 bytes, a power of two", page_size);
    return {.page_size = page_size,
            .flags = io::load<uint16_t>(bytes, 92),
            .depth = io::load<uint16_t>(bytes, 94),
            .entries = io::load<uint64_t>(bytes, 120),
            .root = io::load<uint64_t>(bytes, 128),
            .last_page = io::load<uint64_t>(bytes, 136),
            .transaction = io::load<uint64_t>(bytes, 144)};
  }

  // All below a page. It ends, for no page comes twice: keys grow.
  void walk(uint64_t number, size_t level) {
    require(number >= 2 && number < pages_, "LMDB page must lie in the file", "page ", number,
            " of ", pages_);
    std::vector<std::byte>& page = levels_[level];
    const size_t size = file_.read(number * head_.page_size, page);
    const bool leaf = level + 1 == levels_.size();
    const int kind = io::load<uint16_t>(page, 10) & kLmdbKinds;
    require(size == page.size() && io::load<uint64_t>(page, 0) == number &&
                kind == (leaf ? kLmdbLeaf : kLmdbBranch),
            leaf ? "LMDB page at the tree's depth must be a leaf with its number"
                 : "LMDB page above the tree's depth must be a branch with its number",
            "page ", number, " of kind ", kind, " with ", io::load<uint64_t>(page, 0));
    const size_t end = io::load<uint16_t>(page, 12), nodes = io::load<uint16_t>(page, 14);
    require(end >= kLmdbPageHead + (leaf ? 2 : 4) && end % 2 == 0 && end <= nodes,
            "LMDB page must have a node, a branch two", "page ", number, " with places to byte ",
            end, " and nodes from ", nodes);
    for (size_t place = kLmdbPageHead; place < end; place += 2) {
      const size_t node = io::load<uint16_t>(page, place);
      require(node >= nodes && node + kLmdbNodeHead <= page.size(),
              "LMDB node must lie in its page", "byte ", node, " of page ", number);
      const size_t key_end = node + kLmdbNodeHead + io::load<uint16_t>(page, node + 6);
      require(key_end <= page.size(), "LMDB key must lie in its page", "its end at ", key_end,
              " of page ", number);
      if (leaf) {
        check_key(io::as_text(page).substr(node + kLmdbNodeHead, key_end - node - kLmdbNodeHead),
                  number);
        check_value(page, number, node, key_end);
      } else {
        walk(io::load<uint64_t>(page, node) & 0xffffffffffff, level + 1);
      }
    }
  }

  void check_key(std::string_view key, uint64_t number) {
    require(!key.empty() && key.size() <= kLmdbLongestKey, "LMDB key must have 1 to 511 bytes",
            key.size(), " in page ", number);
    if (key <= last_key_)  // texts of keys are made for an error alone
      fail(op_, "LMDB keys must grow", io::quote(key), " after ", io::quote(last_key_), " in page ",
           number, " in ", file_.name());
    last_key_ = key;
    ++count_;
  }

  void check_value(std::span<const std::byte> page, uint64_t number, size_t node, size_t at) const {
    const uint64_t size = io::load<uint32_t>(page, node);
    const int flags = io::load<uint16_t>(page, node + 4);
    require(flags <= 1, "LMDB must hold values and no databases", "flags ", flags, " in page ",
            number);
    const bool is_long = flags == 1;
    require(at + (is_long ? sizeof(uint64_t) : size) <= page.size(),
            "LMDB value must lie in its page", size, " bytes from byte ", at, " of page ", number);
    if (!is_long) return;
    const auto first = io::load<uint64_t>(page, at);
    const uint64_t pages = (kLmdbPageHead + size + page.size() - 1) / page.size();
    require(first >= 2 && first < pages_ && pages <= pages_ - first,
            "LMDB value must lie in the file", size, " bytes from page ", first, " of ", pages_);
  }

  const ByteSource& file_;
  const char* op_;
  LmdbHead head_{};
  uint64_t pages_ = 0;                          // that the file has
  std::vector<std::vector<std::byte>> levels_;  // the pages from the root to where it is looked
  std::string last_key_;
  uint64_t count_ = 0;
};

}  // namespace

int64_t check_lmdb(const ByteSource& file, const char* op) {
  return LmdbTree(file, op).check_all();
}

}  // namespace aorta::data
