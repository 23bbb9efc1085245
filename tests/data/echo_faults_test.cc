#include <aorta/data/datasets/echo.h>
#include <aorta/data/video/video.h>

#include <cmath>

#include <aorta/tests/data/echo_folder.h>
#include <aorta/tests/error_text.h>
#include <gtest/gtest.h>

// What is wrong with EchoNet's files.

namespace aorta::data {
namespace {

// The table with a field (from 0) of a line (from 1) replaced.
std::string with_field(const std::string& table, int line, size_t column,
                       const std::string& value) {
  size_t at = 0;
  for (int i = 1; i < line; ++i) at = table.find('\n', at) + 1;
  for (size_t i = 0; i < column; ++i) at = table.find(',', at) + 1;
  return table.substr(0, at) + value + table.substr(table.find_first_of(",\n", at));
}

// Half a pixel further, and it is a trace of something else.
TEST(EchoFaults, RefusesTracesOutsideTheFrame) {
  EchoFolder folder;
  const std::string others = folder.tracings.substr(0, folder.tracings.find("c.avi"));
  folder.tracings = others + trace("c.avi", 0, 8.4, 10, 10) + trace("c.avi", 8, 24, 22, 10) +
                    trace("d.avi", 1, 23, 23, 8) + trace("d.avi", 30, 23, 23, 9);
  folder.save();
  const auto made = [&](EchoSplit split) {
    return error_of([&] { Echo(folder.str(), EchoOptions::segmentation(split)); });
  };
  const std::string faults =
      "VolumeTracings.csv:25: a trace must lie inside the frame of 32 x 32, got pixel (34, 32) and "
      "2 more outside in frame 8 of c.avi; "
      "VolumeTracings.csv:19: a trace must lie inside the frame of 32 x 32, got pixel (-2, 0) and "
      "2 more outside in frame 0 of c.avi";
  EXPECT_EQ(made(EchoSplit::val),
            "echo: the files of " + folder.str() +
                "/Videos and its tables must be sound, got 2 faults: " + faults);
  for (const EchoSplit split : {EchoSplit::train, EchoSplit::test})
    EXPECT_EQ(made(split), "no error");
  EXPECT_NE(made(EchoSplit::all), "no error");
  std::string found;
  for (const EchoFault& fault : check_echo(folder.str(), EchoOptions::segmentation(EchoSplit::all)))
    if (fault.fatal) found += (found.empty() ? "" : "; ") + to_string(fault);
  EXPECT_EQ(found, faults);
}

TEST(EchoFaults, ListsEveryFault) {
  EchoFolder folder;
  std::filesystem::remove(folder.video("a"));
  folder.list +=
      "a.avi,1,2,3,32,32,50,40,TEST\nf,n/a,2,3,32,32,50,40,TRAIN\ng,1,2,3,32,32,50,4,TRIAN\n";
  folder.tracings += trace("b", 20, 5, 5, 2) + "b,1,2,3,4,x\nb,1e9,2,3,4,11\nh,1,2,3,4,5\n";
  folder.save();
  EchoOptions options = with_targets({"EF", "LargeFrame"});
  EXPECT_EQ(error_of([&] { Echo(folder.str(), options); }),
            "echo: the files of " + folder.str() +
                "/Videos and its tables must be sound, got 8 faults: "
                "FileList.csv:8: EF must be a finite number, got \"n/a\"; "
                "FileList.csv:9: Split must be TRAIN, VAL or TEST, got \"TRIAN\"; "
                "FileList.csv:7: a video must be listed once, got \"a.avi\" on line 2 too; "
                "FileList.csv:2: Videos/a.avi must be there; "
                "FileList.csv:8: Videos/f.avi must be there; "
                "VolumeTracings.csv:38: Frame must be an integer of 64 bits, got \"x\"; "
                "VolumeTracings.csv:39: coordinates must lie within 32767 of 0, got \"1e9\"; "
                "VolumeTracings.csv:34: Frame must be 0 to the video's NumberOfFrames - 1 "
                "(FileList.csv:3), got 20 of 20");
  const auto faults = check_echo(folder.str(), options, false);
  std::string notes;
  for (const EchoFault& fault : faults)
    if (!fault.fatal) notes += to_string(fault) + "; ";
  EXPECT_EQ(notes,
            "VolumeTracings.csv:40: FileName must be one of FileList.csv's, got \"h\"; "
            "FileList.csv:6: e.avi is left out: it must have two traced frames, got 0; "
            "FileList.csv:8: f.avi is left out: it must have two traced frames, got 0; ");
}

TEST(EchoFaults, LooksIntoVideos) {
  EchoFolder folder;
  folder.tracings = folder.tracings.substr(0, folder.tracings.find("d.avi")) +
                    trace("d.avi", 1, 28, 28, 8) + trace("d.avi", 30, 28, 28, 9);
  folder.save();
  const std::string tables = folder.str() + "/Videos/";
  const auto all_faults = [&] {
    std::string found;
    for (const EchoFault& fault : check_echo(folder.str(), with_targets({"EF"}, EchoSplit::all)))
      found += (fault.fatal ? "" : "note ") + to_string(fault) + "\n";
    return found;
  };
  const std::string order =
      "note VolumeTracings.csv:10: the end of systole, the smaller area, must be traced first for "
      "EchoNet's code, got frame 2 before 11 of b.avi (here the areas decide)\n";
  const std::string left_out =
      "note FileList.csv:6: e.avi is left out: it must have two traced frames, got 0\n";
  EXPECT_EQ(
      all_faults(),
      left_out + order +
          "VolumeTracings.csv:33: a trace must lie inside the frame of 32 x 32, got pixel (19, "
          "37) "
          "and 3 more outside in frame 30 of d.avi\n"
          "VolumeTracings.csv:29: a trace must lie inside the frame of 32 x 32, got pixel (20, "
          "36) "
          "and 3 more outside in frame 1 of d.avi\n");
  // Shorter than the table says, of another size, damaged.
  write_video(folder.video("a"), test_picture(kSide, kSide).unsqueeze(0).expand({20, 3, 32, 32}));
  write_video(folder.video("c"), test_picture(16, 24).unsqueeze(0).expand({9, 3, 16, 24}));
  const std::string d = read_text(folder.video("d"));
  folder.write("Videos/d.avi", d.substr(0, d.size() / 2));
  EXPECT_EQ(
      all_faults(),
      left_out +
          "note FileList.csv:2: NumberOfFrames must be the file's, got 40 for 20 frames\n"
          "VolumeTracings.csv:2: Frame must be 0 to the number of frames - 1, got 33 of 20\n" +
          order + tables +
          "d.avi: AVI chunk must end inside the list or file that it is in, got "
          "\"RIFF\" of " +
          std::to_string(d.size() - 8) + " bytes at byte 0, which ends at byte " +
          std::to_string(d.size() / 2) + "\n" + tables +
          "c.avi: videos must be of one size, got 16 x 24 where most are 32 x 32\n");
  // Whatever the targets, where the videos must be traced.
  EchoOptions frames = with_targets({"SmallFrame"}, EchoSplit::all);
  const std::string outside = error_of([&] { Echo(folder.str(), frames); });
  EXPECT_NE(outside.find("2 faults: VolumeTracings.csv:33: a trace must lie inside the frame"),
            std::string::npos)
      << outside;
  frames.require_traces = false;
  const Echo echo(folder.str(), frames);
  EXPECT_EQ(error_of([&] { echo.sample(0); }),
            tables +
                "a.avi: a video must be as long as its traces say (VolumeTracings.csv), got "
                "frame 33 of 20, line 2");
  EXPECT_EQ(error_of([&] { echo.sample(2); }),
            tables + "c.avi: videos must be of one size, got 16 x 24 where the first is 32 x 32");
  EXPECT_TRUE(error_of([&] { echo.sample(3); }).starts_with(tables + "d.avi: AVI chunk must end"));
  echo.sample(1);
}

TEST(EchoFaults, ChecksNamesFractionsAndAreas) {
  EchoFolder folder;
  std::filesystem::rename(folder.video("a"), folder.file("Videos/A.mp4"));
  folder.list +=
      "../f,50,2,3,32,32,50,40,TRAIN\n"
      "g.avi,150.5,2,3,32,32,50,40,VAL\n";
  folder.tracings += trace("c", 4, 5, 5, 0);
  std::filesystem::copy_file(folder.video("b"), folder.video("g"));
  folder.save();
  std::string found;
  for (const EchoFault& fault :
       check_echo(folder.str(), with_targets({"EF"}, EchoSplit::all), false))
    if (fault.fatal) found += to_string(fault) + "\n";
  EXPECT_EQ(found,
            "FileList.csv:7: FileName must be a name without a folder, got \"../f\"\n"
            "FileList.csv:8: EF must be 0 to 100, got \"150.5\"\n"
            "FileList.csv:2: Videos/a.avi must be there, but there is \"A.mp4\"\n"
            "VolumeTracings.csv:34: a trace must enclose an area, got a line\n");
}

// What a broken table doesn't say isn't told of the videos.
TEST(EchoFaults, ATableThatBreaksOffIsOneFault) {
  EchoFolder folder;
  const std::string list = folder.list, tracings = folder.tracings;
  const auto all = [&] {
    folder.save();
    std::string found;
    for (const EchoFault& fault :
         check_echo(folder.str(), with_targets({"EF"}, EchoSplit::all), false))
      found += to_string(fault) + "; ";
    return found;
  };
  folder.tracings = with_field(tracings, 4, 5, "33,");
  EXPECT_EQ(all(),
            "VolumeTracings.csv:4: a record must have as many fields as there are columns, got 7 "
            "of 6; ");
  folder.tracings = tracings;
  folder.list = with_field(list, 3, 8, "TRAIN,");
  EXPECT_EQ(
      all(),
      "FileList.csv:3: a record must have as many fields as there are columns, got 10 of 9; ");
}

// Numbers that a sample can't hold, or that count nothing.
TEST(EchoFaults, ChecksTheRangesOfNumbers) {
  EchoFolder folder;
  const std::string list = folder.list;
  const auto with = [&](const std::string& ef, const std::string& esv, const std::string& frames) {
    folder.list = list;
    const std::string row = "c,40,10,20,32,32,50,9,VAL";
    folder.list.replace(folder.list.find(row), row.size(),
                        "c," + ef + "," + esv + ",20,32,32,50," + frames + ",VAL");
    folder.save();
    const auto made = [&](EchoSplit split) {
      return error_of([&] { Echo(folder.str(), with_targets({"EF", "ESV"}, split)); });
    };
    EXPECT_EQ(made(EchoSplit::train), "no error");
    std::string text = made(EchoSplit::val);
    const std::string start = "echo: the files of " + folder.str() +
                              "/Videos and its tables must be sound, got 1 fault: FileList.csv:4: ";
    if (text.starts_with(start)) text.erase(0, start.size());
    return text;
  };
  for (const char* ef : {"0", "100", "6.9", "97.3", "-0"})
    EXPECT_EQ(with(ef, "10", "9"), "no error");
  EXPECT_EQ(with("1e308", "10", "9"), "EF must be 0 to 100, got \"1e308\"");
  EXPECT_EQ(with("-50", "10", "9"), "EF must be 0 to 100, got \"-50\"");
  EXPECT_EQ(with("100.01", "10", "9"), "EF must be 0 to 100, got \"100.01\"");
  EXPECT_EQ(with("40", "1e39", "9"), "ESV must be a finite number of 32 bits, got \"1e39\"");
  EXPECT_EQ(with("40", "-0.5", "9"), "ESV must not be negative, got \"-0.5\"");
  EXPECT_EQ(with("40", "1e38", "9"), "no error");
  EXPECT_EQ(with("40", "10", "-1"), "NumberOfFrames must not be negative, got -1");
  EXPECT_EQ(with("40", "10", "1000000000000000000"),
            "NumberOfFrames must be at most 2147483647, got 1000000000000000000");
  EXPECT_EQ(with("40", "10", "2147483647"), "no error");
  folder.list = list;
  folder.tracings += "c,1,2,3,4,1000000000000000000\n";
  folder.save();
  EXPECT_TRUE(error_of([&] {
                Echo(folder.str(), with_targets({"EF"}, EchoSplit::val));
              }).ends_with("Frame must be at most 2147483647, got 1000000000000000000"));
}

// Hostile values in every column that is read, and columns that aren't: check_echo finds a fatal
// fault where, and only where, the dataset or one of its samples is refused, and both name the
// line.
TEST(EchoFaults, RefusesWhatTheCheckCallsFatal) {
  EchoFolder folder;
  EchoOptions options = EchoOptions::segmentation(EchoSplit::all);
  options.targets.push_back("EF");
  const std::string list = folder.list, tracings = folder.tracings;
  const std::vector<std::string> values = {"",
                                           " ",
                                           "abc",
                                           "nan",
                                           "-nan",
                                           "inf",
                                           "-inf",
                                           "1e308",
                                           "-1e308",
                                           "1e309",
                                           "1e-400",
                                           "-0",
                                           "-1",
                                           "0",
                                           "1",
                                           "7.5",
                                           "31.5",
                                           "32.5",
                                           "33.5",
                                           "-1.5",
                                           "-1.6",
                                           "100",
                                           "100.5",
                                           "40",
                                           "41",
                                           "2147483647",
                                           "2147483648",
                                           "-2147483649",
                                           "1000000000000000000",
                                           "9223372036854775808",
                                           "0x10",
                                           "1_000",
                                           "1 2",
                                           "\xd9\xa1",
                                           "TRAIN",
                                           "val",
                                           "a",
                                           "b.avi",
                                           "../a",
                                           "c.avi",
                                           "\xff",
                                           std::string(400, '9'),
                                           "0." + std::string(400, '3'),
                                           "+5",
                                           "5."};
  int refused = 0, taken = 0;
  const auto judge = [&](const std::string& what) {
    SCOPED_TRACE(what);
    folder.save();
    std::string fatal, error;
    for (const EchoFault& fault : check_echo(folder.str(), options))
      if (fault.fatal) fatal += to_string(fault) + "; ";
    try {
      const Echo echo(folder.str(), options);
      for (int64_t i = 0; i < echo.size(); ++i) {
        const Sample sample = echo.sample(i);
        EXPECT_TRUE(std::isfinite(sample["EF"].item<float>()));
      }
    } catch (const Error& thrown) {
      error = thrown.what();
    }
    EXPECT_EQ(fatal.empty(), error.empty()) << fatal << "\n" << error;
    EXPECT_EQ(error.find("std::"), std::string::npos) << error;
    EXPECT_TRUE(error.empty() || error.find(".csv:") != std::string::npos) << error;
    ++(error.empty() ? taken : refused);
  };
  for (size_t column = 0; column < 9; ++column)
    for (const std::string& value : values) {
      folder.list = with_field(list, 3, column, value);
      judge("FileList.csv " + std::to_string(column) + " " + value);
    }
  folder.list = list;
  for (size_t column = 0; column < 6; ++column)
    for (const std::string& value : values) {
      folder.tracings = with_field(tracings, 19, column, value);  // of c, behind the long axis
      judge("VolumeTracings.csv " + std::to_string(column) + " " + value);
    }
  EXPECT_GT(refused, 200);
  EXPECT_GT(taken, 200);
}

TEST(EchoFaults, SaysWhatIsWrong) {
  const EchoFolder folder;
  const auto error = [&](const auto& change) {
    EchoOptions options;
    change(options);
    return error_of([&] { Echo(folder.str(), options); });
  };
  EXPECT_EQ(error([](auto& o) { o.targets = {"Ef"}; }),
            "read_csv: " + folder.file("FileList.csv") +
                ":1: a column must be called \"Ef\", got \"FileName\", \"EF\", \"ESV\", \"EDV\", "
                "\"FrameHeight\", \"FrameWidth\", \"FPS\", \"NumberOfFrames\", \"Split\"");
  EXPECT_EQ(error([](auto& o) { o.period = 0; }), "echo: period must be positive, got 0");
  EXPECT_EQ(error([](auto& o) { o.noise = 1.5; }), "echo: noise must be 0 to 1, got 1.5");
  EXPECT_EQ(error([](auto& o) {
              o.mean = {1, 2};
            }),
            "echo: mean and std must have one number, or one a channel, got 2 for 3 channels");
  EXPECT_EQ(error([](auto& o) { o.std = {0}; }), "echo: std must be positive, got 0");
  EXPECT_EQ(error([](auto& o) { o.dtype = f16; }), "echo: dtype must be u8 or f32, got f16");
  EXPECT_EQ(error_of([] { Echo{"/nowhere"}; }),
            "/nowhere/FileList.csv: file must be readable, got ENOENT (No such file or directory)");
  const Echo echo(folder.str(), with_targets({"EF"}));
  EXPECT_EQ(error_of([&] { echo.path(2); }),
            "echo: index must be 0 to the number of videos - 1, got 2 of 2");
  folder.write("FileList.csv", "FileName,EF,Split\n");
  EXPECT_EQ(error([](auto&) {}), "echo: the files of " + folder.str() +
                                     "/Videos and its tables must be sound, got 1 fault: "
                                     "FileList.csv: there must be a video, got 0 rows");
  folder.write("FileList.csv", "FileName,EF,Split\na,50,TEST\n");
  EXPECT_EQ(error([](auto&) {}), "echo: the split must have videos, got none of train in " +
                                     folder.str() + ", 0 left out");
  std::filesystem::remove(folder.str() + "/FileList.csv");
  std::filesystem::create_directory(folder.str() + "/FileList.csv");
  EXPECT_EQ(error([](auto&) {}),
            folder.str() + "/FileList.csv: file to read must be a regular file, got a folder");
  folder.write("filelist.CSV", "FileName,EF,Split\n");
  std::filesystem::remove(folder.str() + "/FileList.csv");
  EXPECT_EQ(error([](auto&) {}), folder.str() +
                                     "/FileList.csv: file must be readable, got ENOENT (No such "
                                     "file or directory), but there is \"filelist.CSV\"");
}

}  // namespace
}  // namespace aorta::data
