#include <aorta/aorta.h>
#include <aorta/apps/echo/check_data.h>
#include <aorta/apps/echo/failure.h>

#include <aorta/tests/apps/echo/hearts.h>

#include <cstdio>
#include <cstdlib>

namespace aorta::echo {
namespace {

struct Checked {
  std::string text, failure;
  ExitCode code = ExitCode::done;
};

template <class Run>
Checked checked(const Run& run) {
  Checked result;
  ::testing::internal::CaptureStdout();
  try {
    run();
  } catch (const Failure& failure) {
    result.code = failure.code();
    result.failure = failure.what();
  }
  result.text = ::testing::internal::GetCapturedStdout();
  return result;
}

struct CheckData : ::testing::Test {
  CheckData() {
    const Heart heart{.height = 48,
                      .width = 48,
                      .frames = 30,
                      .x = 24,
                      .y = 24,
                      .long_half = 16,
                      .short_half = 9,
                      .phase = 2};
    write_hearts(folder, {heart, heart, heart});
    list = read_text(folder.file("FileList.csv"));
    set_split(0, "TRAIN");
    set_split(1, "VAL");
  }
  void set_split(int heart, const std::string& split) {
    const size_t line = list.find("heart" + std::to_string(heart));
    list.replace(list.find("TEST", line), 4, split);
    folder.write("FileList.csv", list);
  }
  Checked check() const {
    return checked([&] { check_data({.data_dir = folder.str()}); });
  }
  TestFolder folder;
  std::string list;
};

TEST_F(CheckData, PrintsATableOfASoundFolder) {
  const Checked result = check();
  EXPECT_EQ(result.code, ExitCode::done) << result.text;
  EXPECT_NE(result.text.find("TRAIN         1       1         1  48.8            30           48 x "
                             "48           50\n"),
            std::string::npos)
      << result.text;
  EXPECT_NE(result.text.find("all           3       3         3"), std::string::npos);
  EXPECT_NE(result.text.find("0 faults, "), std::string::npos);
  const Checked info = checked([&] { data_info({.data_dir = folder.str()}); });
  EXPECT_EQ(info.code, ExitCode::done);
  EXPECT_TRUE(result.text.starts_with(info.text));
  const Checked tables =
      checked([&] { data_info({.data_dir = folder.str(), .open_videos = false}); });
  EXPECT_NE(tables.text.find("all           3       3         -  "), std::string::npos)
      << tables.text;
}

TEST_F(CheckData, NamesFileAndLineOfEachFault) {
  std::filesystem::rename(folder.path / "Videos/heart0.avi", folder.path / "Videos/heart0.mov");
  folder.write("Videos/heart2.avi", "PK\3\4 and so on");
  list += "heart1.avi,50,1,2,48,48,50,30,TRIAN\n";
  folder.write("FileList.csv", list);
  const Checked result = check();
  EXPECT_EQ(result.code, ExitCode::data);
  EXPECT_EQ(result.failure, folder.str() + ": 4 faults");
  for (const char* line :
       {"FAULT FileList.csv:2: Videos/heart0.avi must be there, but there is \"heart0.mov\"\n",
        "FAULT FileList.csv:5: Split must be TRAIN, VAL or TEST, got \"TRIAN\"\n",
        "FAULT FileList.csv:5: a video must be listed once, got \"heart1.avi\" on line 3 too\n",
        "FAULT Videos/heart2.avi: ", "4 faults, 4 notes\n"})
    EXPECT_NE(result.text.find(line), std::string::npos) << line << "\n" << result.text;
}

TEST_F(CheckData, ShowsNoNumberOf309Digits) {
  const size_t ef = list.find(',', list.find("heart1")) + 1;
  list.replace(ef, list.find(',', ef) - ef, "-1e308");
  folder.write("FileList.csv", list);
  const Checked result = check();
  EXPECT_NE(result.text.find("VAL           1       1         1  -1.0e+308 "), std::string::npos)
      << result.text;
  EXPECT_NE(result.text.find("FAULT FileList.csv:3: EF must be 0 to 100, got \"-1e308\"\n"),
            std::string::npos)
      << result.text;
}

TEST_F(CheckData, AsksForTrainAndVal) {
  set_split(2, "VAL");
  EXPECT_EQ(check().code, ExitCode::done);
  const size_t train = list.find("TRAIN");
  list.replace(train, 5, "VAL");
  folder.write("FileList.csv", list);
  const Checked result = check();
  EXPECT_EQ(result.code, ExitCode::data);
  EXPECT_NE(result.text.find("FAULT FileList.csv: no video has Split TRAIN\n"), std::string::npos);
  EXPECT_NE(result.text.find("note  FileList.csv: no video has Split TEST\n"), std::string::npos);
}

TEST_F(CheckData, SaysWhenThereIsNoTable) {
  std::filesystem::remove(folder.path / "FileList.csv");
  const Checked result = check();
  EXPECT_EQ(result.code, ExitCode::data);
  EXPECT_NE(result.text.find("FAULT FileList.csv: file must be readable, got ENOENT"),
            std::string::npos)
      << result.text;
  folder.write("FileList.csv", "FileName,EF,Sploot\na,50,TRAIN\n");
  EXPECT_NE(check().text.find("FAULT FileList.csv:1: a column must be called \"Split\", got "),
            std::string::npos)
      << check().text;
  std::filesystem::remove(folder.path / "FileList.csv");
  EXPECT_EQ(checked([&] { data_info({.data_dir = folder.str()}); }).code, ExitCode::data);
}

TEST(CheckRealData, FindsNoFault) {
  const char* folder = std::getenv("AORTA_ECHO");
  if (!folder || !*folder) GTEST_SKIP() << "AORTA_ECHO names no folder";
  const Checked result = checked([&] { check_data({.data_dir = folder}); });
  EXPECT_EQ(result.code, ExitCode::done) << result.text;
  std::printf("%s", result.text.c_str());
}

}  // namespace
}  // namespace aorta::echo
