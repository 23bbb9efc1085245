#include <aorta/data/datasets/echo.h>
#include <aorta/data/loader.h>

#include <aorta/tests/data/echo_folder.h>
#include <aorta/tests/error_text.h>
#include <gtest/gtest.h>

namespace aorta::data {
namespace {

static_assert(portable<EchoOptions>);

std::vector<int> pixels_of(DataLoader& loader) {
  std::vector<int> all;
  for (const auto& batch : loader)
    for (const auto& [name, tensor] : batch.tensors())
      for (const int value : tensor.to_vector<int>()) all.push_back(value);
  return all;
}

TEST(WorkerEcho, WorkersGiveTheSameClipsAndMasks) {
  const EchoFolder folder;
  EchoOptions options;
  options.split = EchoSplit::all;
  options.targets = {"EF", "LargeFrame", "SmallTrace"};
  options.pad = 3;
  options.noise = 0.1;
  const auto echo = make_dataset<Echo>(folder.str(), options);
  DataLoader alone(echo, {.batch_size = 2, .shuffle = true, .seed = 5});
  const std::vector<int> first = pixels_of(alone), second = pixels_of(alone);
  EXPECT_NE(first, second);
  for (const StartMethod method : {StartMethod::zygote, StartMethod::fork}) {
    DataLoader loader(
        echo,
        {.batch_size = 2, .shuffle = true, .num_workers = 2, .seed = 5, .start_method = method});
    EXPECT_EQ(pixels_of(loader), first);
    EXPECT_EQ(pixels_of(loader), second);
  }
}

TEST(WorkerEcho, ADamagedVideoIsNamed) {
  const EchoFolder folder;
  const auto echo = make_dataset<Echo>(folder.str(), EchoOptions::segmentation(EchoSplit::all));
  const std::string text = read_text(folder.video("b"));
  folder.write("Videos/b.avi", text.substr(0, text.size() / 2));
  DataLoader loader(echo, {.batch_size = 1, .num_workers = 2});
  auto it = loader.begin();
  EXPECT_EQ((*it)["LargeTrace"].size(0), 1);
  ++it;
  const std::string error = error_of([&] { *it; });
  EXPECT_NE(error.find(folder.video("b")), std::string::npos) << error;
  EXPECT_NE(error.find("AVI chunk must end inside the list or file that it is in"),
            std::string::npos)
      << error;
  ++it;
  EXPECT_EQ((*it)["LargeTrace"].size(0), 1);
}

}  // namespace
}  // namespace aorta::data
