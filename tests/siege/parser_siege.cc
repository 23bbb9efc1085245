// Gives every parser of files mutations of its corpus: see hunt.h for its flags. A format is what
// --only may name. AORTA_CORPORA is where the corpora are, AORTA_KEEP a file for --case's input.
#include <aorta/tests/fuzz/formats.h>
#include <aorta/tests/fuzz/fuzz.h>
#include <aorta/tests/siege/hunt.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <vector>

namespace aorta::siege {
namespace {

namespace fs = std::filesystem;

struct Format {
  fuzz::Target target;
  std::vector<std::string> corpus = {}, words = {};
};

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The words of libFuzzer's dictionary: a "text" a line, with \xHH.
std::vector<std::string> read_words(const fs::path& path) {
  std::vector<std::string> words;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find('"'), last = line.rfind('"');
    if (first == std::string::npos || last <= first) continue;
    std::string word;
    for (size_t i = first + 1; i < last; ++i) {
      if (line[i] == '\\' && line[i + 1] == 'x') {
        int value = 0;
        std::from_chars(line.data() + i + 2, line.data() + i + 4, value, 16);
        word += static_cast<char>(value);
        i += 3;
      } else {
        word += line[i];
      }
    }
    words.push_back(word);
  }
  return words;
}

std::vector<Format> formats() {
  std::vector<Format> all;
  const char* given = std::getenv("AORTA_CORPORA");
  const fs::path folder = given ? given : "tests/fuzz";
  for (const fuzz::Target& target : fuzz::kTargets) {
    Format& format = all.emplace_back(Format{target});
    std::vector<fs::path> paths;
    for (const auto& entry : fs::directory_iterator(folder / "corpus" / target.format))
      paths.push_back(entry.path());
    std::sort(paths.begin(), paths.end());  // a case's number stands for the same file everywhere
    for (const fs::path& path : paths) format.corpus.push_back(read(path));
    format.words = read_words(folder / (std::string(target.format) + ".dict"));
  }
  return all;
}

constexpr uint64_t kNumbers[] = {0,
                                 1,
                                 0x7f,
                                 0x80,
                                 0xff,
                                 0x7fff,
                                 0xffff,
                                 0x10000,
                                 0x7fffffff,
                                 0x80000000,
                                 0xffffffff,
                                 0x100000000,
                                 0x7fffffffffffffff,
                                 0x8000000000000000,
                                 0xffffffffffffffff,
                                 1000000};
constexpr const char* kTexts[] = {"0",
                                  "-1",
                                  "1e308",
                                  "-1e308",
                                  "1e999",
                                  "nan",
                                  "inf",
                                  "9223372036854775807",
                                  "1000000000000000000",
                                  "18446744073709551616",
                                  "-9223372036854775809",
                                  "00000000000000000000000000001",
                                  "1e-400",
                                  "0x10",
                                  "1,5",
                                  "\"",
                                  "[[[[[[[",
                                  "{\"a\":",
                                  "\n",
                                  "\xff\xfe",
                                  "\xc3\x28"};

void write_number(Draw& draw, std::string& bytes) {
  const size_t width = size_t{1} << draw.below(4);
  if (bytes.size() < width) return;
  const size_t at = draw.below(bytes.size() - width + 1);
  uint64_t value = draw.one_of(kNumbers);
  if (draw.once_in(3)) value = bytes.size() + draw.below(9) - 4;
  const bool big = draw.once_in(2);
  for (size_t i = 0; i < width; ++i)
    bytes[at + (big ? width - 1 - i : i)] = static_cast<char>(value >> (8 * i));
}

// A number that stands there as text becomes another.
void write_text_number(Draw& draw, std::string& bytes) {
  std::vector<size_t> starts;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (std::isdigit(static_cast<unsigned char>(bytes[i])) &&
        (i == 0 || !std::isdigit(static_cast<unsigned char>(bytes[i - 1]))))
      starts.push_back(i);
  }
  if (starts.empty()) return;
  const size_t at = draw.one_of(starts);
  size_t end = at;
  while (end < bytes.size() && std::isdigit(static_cast<unsigned char>(bytes[end]))) ++end;
  bytes.replace(at, end - at, draw.one_of(kTexts));
}

void mutate(Draw& draw, std::string& bytes, const Format& format) {
  const size_t at = draw.below(bytes.size() + 1);
  const size_t length = draw.below(std::min<size_t>(bytes.size() - at, 64) + 1);
  switch (draw.below(12)) {
    case 0:
      if (at < bytes.size()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << draw.below(8)));
      break;
    case 1:
      if (at < bytes.size()) bytes[at] = static_cast<char>(draw.below(256));
      break;
    case 2:
    case 3:
      write_number(draw, bytes);
      break;
    case 4:
    case 5:
      write_text_number(draw, bytes);
      break;
    case 6:
      bytes.erase(at, length);
      break;
    case 7:
      bytes.insert(at, bytes.substr(at, length));
      break;
    case 8:
      bytes.resize(at);
      break;
    case 9:
      if (!format.words.empty()) bytes.insert(at, draw.one_of(format.words));
      break;
    case 10: {
      const std::string& other = draw.one_of(format.corpus);
      bytes = bytes.substr(0, at) + other.substr(draw.below(other.size() + 1));
      break;
    }
    default:
      bytes.insert(at, draw.one_of(kTexts));
  }
}

Case* current = nullptr;

void attack(Case& one, const std::vector<Format>& all) {
  std::vector<const Format*> chosen;
  for (const Format& format : all) {
    if (std::string_view(format.target.format).find(one.pattern) != std::string_view::npos)
      chosen.push_back(&format);
  }
  if (chosen.empty()) return;
  const Format& format = *one.draw.one_of(chosen);
  std::string bytes = one.draw.one_of(format.corpus);
  const uint64_t count = 1 + one.draw.below(4);
  for (uint64_t i = 0; i < count; ++i) mutate(one.draw, bytes, format);
  one.say(std::string(format.target.format) + "(" + std::to_string(bytes.size()) + " bytes)");
  if (const char* keep = std::getenv("AORTA_KEEP"); keep)
    std::ofstream(keep, std::ios::binary) << bytes;
  current = &one;
  bool failed = false;
  static bool* failed_now;
  failed_now = &failed;
  fuzz::seen = [](std::string_view text, std::string_view fault) {
    *failed_now = true;
    if (!fault.empty())
      current->find(std::string(text.substr(0, text.find(", got "))) + std::string(fault),
                    "a message " + std::string(fault) + ": " + std::string(text));
  };
  format.target.parse(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  one.tried(!failed);
}

}  // namespace
}  // namespace aorta::siege

int main(int argc, char** argv) {
  using namespace aorta::siege;
  static const std::vector<Format> all = formats();
  constexpr int64_t kMemory = int64_t{256} << 20;
  return hunt(argc, argv, "parser_siege", kMemory, [](Case& one) { attack(one, all); });
}
