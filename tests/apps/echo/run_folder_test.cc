#include <aorta/apps/echo/failure.h>
#include <aorta/apps/echo/run_folder.h>

#include <aorta/tests/apps/echo/test_files.h>

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
  for (const std::string& name : runs)
    EXPECT_TRUE(std::filesystem::exists(folder.file(name))) << name;
  run.begin();
  for (const std::string& name : mine) EXPECT_EQ(read_text(folder.file(name)), "mine") << name;
  for (const std::string& name : runs)
    EXPECT_FALSE(std::filesystem::exists(folder.file(name))) << name;
}

TEST(RunFolder, LeavesNothingOfARunThatDoesNotBegin) {
  const TestFolder folder;
  folder.write("mine/a.txt", "mine");
  {
    const RunFolder run(folder.file("mine/output/deeper/run"), false, false);
    std::ofstream(run.file("train.log")) << "a line";
  }
  EXPECT_FALSE(std::filesystem::exists(folder.file("mine/output")));
  EXPECT_EQ(read_text(folder.file("mine/a.txt")), "mine");
  {
    const RunFolder run(folder.file("mine/output/run"), false, false);
    run.write("args.yaml", "lr: 1");
  }
  EXPECT_TRUE(std::filesystem::exists(folder.file("mine/output/run/args.yaml")));
  EXPECT_EQ(error_of([&] { RunFolder(folder.file("mine"), true, false); }),
            folder.file("mine") + ": --resume needs the folder of a run, got one without");
}

TEST(RunFolder, WhatKilledRunsLeftIsRemoved) {
  const TestFolder folder;
  const std::string left[] = {"run/.best.safetensors.7-1.tmp", "run/samples/.epoch_001.png.7-2.tmp",
                              "run/videos/.a.avi.7-3.tmp", "run/size/.a.svg.7-4.tmp"};
  for (const bool resume : {false, true}) {
    for (const std::string& name : left) folder.write(name, "half");
    folder.write("run/args.yaml", "lr: 1");
    const RunFolder run(folder.file("run"), resume, !resume);
    for (const std::string& name : left)
      EXPECT_FALSE(std::filesystem::exists(folder.file(name))) << name;
  }
}

TEST(RunFolder, SettingsComeBackFromTheirFile) {
  const TestFolder folder;
  for (const char* name :
       {"a #b", "#a", "\"a\" #b", "'a'", " a ", "a'b", "plain", "# \"both' \\ ", "a\\nb", "a\nb: c",
        "\n", "\xff\xfe/\x80", "\xc3\xa4 ", "tab\tand\x7f", "\r", "\\", "\"", "\\x41"}) {
    TrainOptions options;
    options.data_dir = name;
    folder.write("args.yaml", args_yaml(options));
    EXPECT_EQ(flags_of_yaml(folder.file("args.yaml"))[0].flag, "--data_dir=" + std::string(name));
  }
  folder.write("mine.yaml",
               "# mine\nlr: 1e-3 # higher\n\nweights: # none\nmodel_name: 'unet' # U\r\noutput: "
               "'bob''s '' run' # B\n");
  const auto flags = flags_of_yaml(folder.file("mine.yaml"));
  ASSERT_EQ(flags.size(), 3u);
  EXPECT_EQ(flags[2].flag, "--output=bob's ' run");
  EXPECT_EQ(flags[0].flag, "--lr=1e-3");
  EXPECT_EQ(flags[0].place, folder.file("mine.yaml:2"));
  EXPECT_EQ(flags[1].flag, "--model_name=unet");
}

}  // namespace
}  // namespace aorta::echo
