#include <aorta/apps/echo/data_facts.h>
#include <aorta/core/io/bytes.h>
#include <aorta/core/io/crc32c.h>
#include <aorta/core/ops/creation.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <vector>

namespace aorta::echo {
namespace {

struct Video {
  std::string name;
  int64_t fact = 0;  // a checksum
  int64_t bytes = 0;
};

uint32_t checksum(const data::EchoTrace& trace, uint32_t crc) {
  crc = io::crc32c(&trace.frame, sizeof trace.frame, crc);
  return io::crc32c(trace.outline.data(), trace.outline.size() * sizeof(data::Point), crc);
}

std::vector<Video> videos_of(const State& facts) {
  const Tensor &names = facts.tensor("names"), &numbers = facts.tensor("numbers");
  std::vector<Video> videos;
  const auto* text = reinterpret_cast<const char*>(names.data<uint8_t>());
  for (int64_t i = 0; i < numbers.size(0); ++i) {
    const int64_t* row = numbers.data<int64_t>() + 2 * i;
    videos.push_back({text, row[0], row[1]});
    text += videos.back().name.size() + 1;
  }
  return videos;
}

// "a.avi", "a.avi and 2 more".
std::string list_of(const std::vector<std::string>& names) {
  std::string text = io::quote(names[0]);
  if (names.size() > 1) text += " and " + std::to_string(names.size() - 1) + " more";
  return text;
}

State facts_of(const data::Echo& videos, const std::function<uint32_t(int64_t)>& checksum_of) {
  std::string names;
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < videos.size(); ++i) {
    names += videos.file_name(i) + '\0';
    numbers.push_back(checksum_of(i));
    std::error_code error;
    const auto bytes = std::filesystem::file_size(videos.path(i), error);
    // That it isn't there is said by reading it. Another error would be taken for a change later.
    check(!error || error == std::errc::no_such_file_or_directory, videos.path(i),
          "file must be readable", error.message());
    numbers.push_back(error ? 0 : static_cast<int64_t>(bytes));
  }
  State facts;
  facts.set("names", tensor(std::vector<uint8_t>(names.begin(), names.end())));
  facts.set("numbers", tensor(numbers).view({videos.size(), 2}));
  return facts;
}

}  // namespace

State data_facts(const data::Echo& videos) {
  return facts_of(videos, [&](int64_t i) {
    return checksum(videos.small_trace(i), checksum(videos.large_trace(i), 0));
  });
}

State data_facts(const data::Echo& videos, std::span<const float> told) {
  return facts_of(videos, [&](int64_t i) {
    return io::crc32c(&told[static_cast<size_t>(i)], sizeof(float), 0);
  });
}

std::string data_difference(const State& before, const State& now, const std::string& split,
                            const std::string& fact) {
  const std::vector<Video> old = videos_of(before), present = videos_of(now);
  std::map<std::string, const Video*> was;
  for (const Video& video : old) was[video.name] = &video;
  std::vector<std::string> added, traced, sized;
  for (const Video& video : present) {
    const auto found = was.find(video.name);
    if (found == was.end()) {
      added.push_back(video.name);
      continue;
    }
    if (found->second->fact != video.fact) traced.push_back(video.name);
    if (found->second->bytes != video.bytes) sized.push_back(video.name);
    was.erase(found);
  }
  std::vector<std::string> lost;
  for (const Video& video : old)
    if (was.contains(video.name)) lost.push_back(video.name);
  std::string text;
  const auto say = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (!lost.empty()) say("lacks " + list_of(lost));
  if (!added.empty()) say("has " + list_of(added) + " besides");
  if (lost.empty() && added.empty()) {
    const auto [a, b] =
        std::mismatch(old.begin(), old.end(), present.begin(), present.end(),
                      [](const Video& one, const Video& other) { return one.name == other.name; });
    if (a != old.end()) say("has " + io::quote(b->name) + " where " + io::quote(a->name) + " was");
  }
  if (!traced.empty()) say("has other " + fact + " of " + list_of(traced));
  if (!sized.empty()) say("has files of other sizes for " + list_of(sized));
  return text.empty() ? "" : split + " " + text;
}

}  // namespace aorta::echo
