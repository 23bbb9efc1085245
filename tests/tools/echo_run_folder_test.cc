#include <aorta/tools/echo/failure.h>
#include <aorta/tools/echo/run_folder.h>

#include <aorta/tests/tools/echo_test_files.h>

namespace aorta::echo {
namespace {

TEST(RunFolder, OverwriteRemovesWhatARunWritesAndNothingElse) {
  const TestFolder folder;
  const std::string mine[] = {
      "val_notes.txt",           "test_images/a.png", "best.safetensors.txt",
      "checkpoint.safetensors2", "all.csv",           "sizes/b.csv"};
  const std::string runs[] = {"args.yaml",
                              "best.safetensors",
                              "checkpoint.safetensors.1",
                              "events.out.tfevents.1.a",
                              "dice.svg",
                              "samples/1.png",
                              "train_ef.csv",
                              "all_dice.csv",
                              "val_ef.svg",
                              "test_bland_altman.svg"};
  for (const std::string& name : mine) folder.write(name, "mine");
  for (const std::string& name : runs) folder.write(name, "a run's");
  const RunFolder run(folder.str(), false, true);
  for (const std::string& name : mine) EXPECT_EQ(read_text(folder.file(name)), "mine") << name;
  for (const std::string& name : runs)
    EXPECT_FALSE(std::filesystem::exists(folder.file(name))) << name;
}

}  // namespace
}  // namespace aorta::echo
