#include <aorta/tests/siege/judge.h>
#include <gtest/gtest.h>

#include <string>

namespace aorta::siege {
namespace {

const std::string kDigits(309, '7');

TEST(Judge, ClearMessagesOfTheLibrary) {
  for (const char* message : {
           "matmul: the inner sizes must match, got [2,3] and [4,5]",
           "add: shapes must broadcast, got [2,3] and [2,4]",
           "encoder.0.conv: conv2d: groups must be at least 1, got 0",
           "--batch_size: n must be at least -9223372036854775808, got -9223372036854775809",
           "input: header must lie inside the file, got 4000 for a file of 100 bytes",
           "a b.npz: weight: object dtype (a Python pickle) is refused, got \"|O\"",
           "read_csv: input:3: EF must be a finite number, got \"std::\"",
           "--lr: must be a finite number, got 1e999; `--help` lists what there is",
           "dropout: p must be positive, got nan",
           "conv2d: stride must be a number for each dimension, positive, got [1,0]",
           "conv2d: stride must be a number for each dimension or one for all, positive, got [0]",
           "zeros: sizes must not be negative, got -1",
           "echo: the end of systole must be traced first, got frame 3",
           "read_csv: input:2: EF00000000000000000000000001 must be a number, got \"x\"",
           "read_csv: input:3: E00000000000000000000001 must be an integer, got \"1e0\"",
           "a.csv:3: Videos/b.00000000000000000000000000001avi must be there, got none",
           "input: __metadata__ must map text to text, got a bool in \"__metadata__\"",
           "eye: n must be at most 3037000499, got 3037000500",
           "allocate: the machine has no more memory, got 18446744073709551615 bytes wanted",
           "zeros: sizes can't be negative, got -1",
           "zeros: sizes can't be negative, got [2,-1]",
           "StepLR: step_size must be above 0, got 0",
           "StepLR: step_size must be above 0, got nan",
           "Adam: betas must be in [0, 1), got 1",
           "affine: shear must be between -90 and 90 degrees, got -0.75, nan",
           "affine: shear must be between -90 and 90 degrees, got 90, -inf",
           "rotate: p must be in [0, 1], got 1.5",
           "random_split: fractions must be between 0 and 1, got 2 at 3",
           "random_split: fractions must be between 0 and 1, got 1",
           "Rprop: etas must be between 0 and 1, and above 1, got 0.5 and 0.9",
           "video: fps must be 0.02 to 1000, got 1001",
           "polygamma: n must be from 0 to 169, got 170",
           "randint: low must be less than high, got 3 and 3",
           "rrelu: lower must be at most upper, got 0 and nan",
           "hardtanh: min can't be greater than max, got 3 and 2",
           "uniform_: low must be at most high, both finite, got 0 and inf",
           "a.npz: header must be at most 100,000,000 bytes, got 100,000,001 bytes",
           "conv2d: sizes must be positive and below 2^29, got 536870912",
           "conv2d: sizes must be positive and below 2^29, but that of the batch, got [3]",
           "pad: padding can't be negative, got [-1,0]",
           "mv: input must have at most 2 dimensions, got [3]",
           "loader: num_workers x reads_in_flight must be at most 65520, got 6552 x 11",
           "sampler: the sum of the weights must be above 0 and finite, got [1,2]",
           "tensordot: dims must be between 0 and the operands' dimensions, got 3",
           "index: an integer must be less than 2^63, got 9223372036854775808",
           "diff: there must be at most 3 files, got 1 folder",
           "embedding: index must be in [0, 5), got 7 at [1,2]",
           "check: it must be sound, got 2 faults: a.csv:2: n must be at least 3, got 2; a.csv:3: "
           "m "
           "can't be negative, got -2",
       })
    EXPECT_EQ(fault_of(message), "") << message;
}

TEST(Judge, ClearMessagesOfAProgram) {
  for (const char* message : {
           "--lr: must be positive, got 0",
           "unknown flag --batch_sise, did you mean --batch_size?; `aorta-echo train --help` lists "
           "all",
           "/tmp/run: the folder holds a run; --resume goes on with it",
           "a/FileList.csv:2: Videos/0X1.avi must be there",
       })
    EXPECT_EQ(fault_of(message, Speaker::program), "") << message;
}

struct Bad {
  std::string message, fault;
};

TEST(Judge, UnclearMessages) {
  const Bad bad[] = {
      {"", "must say something"},
      {"add: shapes must broadcast, got [2]\nand [3]", "must be one line"},
      {"add: shapes must broadcast, got [2]\r", "must be one line"},
      {"load: text must be UTF-8, got \xff", "must be UTF-8"},
      {"load: text must be UTF-8, got \xc3", "must be UTF-8"},
      {"load: text must be plain, got \x1b[0m", "must have no control characters"},
      {"no more memory", "must start with what it is about and a colon"},
      {"vector::_M_default_append", "must start with what it is about and a colon"},
      {"load: vector::_M_default_append, got 3", "must not speak of \"vector::\""},
      {"load: basic_string::_M_create, got 3", "must not speak of \"basic_string\""},
      {"load: std::bad_alloc", "must not speak of \"std::\""},
      {"filesystem error: cannot get file size: No such file or directory [x], got 1",
       "must not speak of \"filesystem error\""},
      {"sampler: cannot create vector larger than max_size(), got 3",
       "must not speak of \"max_size()\""},
      {"--lr: stod, got x", "must not speak of \"stod\""},
      {"a: bad_variant_access, got x", "must not speak of \"bad_variant_access\""},
      {"libgomp: Thread creation failed: Resource temporarily unavailable, got 3",
       "must not speak of \"libgomp\""},
      {"error: terminate called after throwing, got 1", "must not speak of \"terminate called\""},
      {"load: file must be readable, got Success", "must not speak of \"got Success\""},
      {"==3==ERROR: AddressSanitizer: heap-use-after-free, got 3", "must not print \"Sanitizer\""},
      {"add: wrong", "must have a rule"},
      {"add: shapes must broadcast", "must say what it got"},
      {"add: shapes must broadcast, got ", "must say what it got"},
      {"add: shapes must match, got , and 3", "a value must not be empty"},
      {"index: a number must fit, got " + kDigits, "a number must have at most 20 digits"},
      {"index: a number must fit, got [1," + kDigits + "]", "a number must have at most 20 digits"},
      {"index: a number must fit, got " + kDigits + "e9", "a number must have at most 20 digits"},
      {"conv2d: stride must be positive, got 1099511627776", "the value must break the rule"},
      {"conv2d: stride must be a number for each dimension or one for all, positive, got [4]",
       "the value must break the rule"},
      {"a.csv:2: Frame must not be negative, got 1000000000000000000",
       "the value must break the rule"},
      {"eye: n must be at most 100,000, got 7", "the value must break the rule"},
      {"topk: k must be at least 1, got 3", "the value must break the rule"},
      {"fill_: value must be finite, got 3", "the value must break the rule"},
  };
  for (const auto& [message, fault] : bad) EXPECT_EQ(fault_of(message), fault) << message;
}

TEST(Judge, ValuesThatKeepTheirRule) {
  for (
      const char* message : {
          "repeat: repeats can't be negative, got 3",
          "zeros: sizes can't be negative, got [2,0]",
          "StepLR: step_size must be above 0, got 3",
          "OneCycleLR: div_factor and final_div_factor must be above 0, got 1 and 2",
          "Muon: lr must be above 0 and finite, got 0.1",
          "clamp: a must be below 5, got 4",
          "clamp: a must be less than 5, got -inf",
          "clamp: a can't be larger than 5, got 5",
          "clamp: a must not be below 5, got 6",
          "clamp: a must not be zero, got 6",
          "affine: shear must be between -90 and 90 degrees, got 45 degrees",
          "random_split: fractions must be between 0 and 1, got 0.5 at 3",
          "Adam: betas must be in [0, 1), got 0",
          "LinearLR: start_factor must be in (0, 1], got 1",
          "video: fps must be 0.02 to 1000, got 1000",
          "polygamma: n must be from 0 to 169, got 0",
          "augment: distance must be 1 at least, got 1",
          "conv2d: sizes must be positive and below 2^29, got [1,536870911]",
          "a.npz: header must be at most 100,000,000 bytes, got 99,999,999 bytes",
          "mv: input must have at most 2 dimensions, got 2",
          "randint: low must be less than high, got 3 and 4",
          "hardtanh: min can't be greater than max, got 3 and 3",
          "check: it must be sound, got 2 faults: a.csv:2: n must be at least 3, got 3; a.csv:3: m "
          "can't be negative, got -2",
          "check: it must be sound, got 2 faults: a.csv:2: n must be at least 3, got 2; a.csv:3: m "
          "can't be negative, got 2",
      })
    EXPECT_EQ(fault_of(message), "the value must break the rule") << message;
}

TEST(Judge, AProgramNamesSomethingToo) {
  EXPECT_EQ(fault_of("train: something went wrong", Speaker::program), "must say what it got");
}

TEST(Judge, Outputs) {
  EXPECT_EQ(fault_of_output("epoch 1 train 0.3\n"), "");
  EXPECT_EQ(fault_of_output("x\nterminate called without an active exception\n"),
            "must not print \"terminate called\"");
  EXPECT_EQ(fault_of_output("a.cc:3: runtime error: shift exponent 70 is too large\n"),
            "must not print \"runtime error:\"");
}

TEST(Judge, NumbersThatAreNotThere) {
  const std::string input("\x40\xe2\x01\x00 1000007 abc", 16);  // 123456 as four bytes
  EXPECT_EQ(number_not_in("x: size must fit, got 123456", input), "");
  EXPECT_EQ(number_not_in("x: size must fit, got 1000007", input), "");
  EXPECT_EQ(number_not_in("x: size must fit, got 1,000,007 for 12", input), "");
  EXPECT_EQ(number_not_in("x: size must fit, got 710508", "x \xec\xae\x2b"), "");
  EXPECT_EQ(number_not_in("x: size must fit, got 710508", "x \xec\xae\xab\x80\x00"), "");
  EXPECT_EQ(number_not_in("x: size must fit, got 710509", "x \xec\xae\x2b"), "710509");
  EXPECT_EQ(number_not_in("x: size must fit, got 310445604866",
                          std::string("\x02\x00\x00\x48\x48\x00\xff", 7)),
            "");
  EXPECT_EQ(number_not_in("x: size must fit, got 20203526160384 bytes", input), "20203526160384");
  EXPECT_EQ(number_not_in("x: at most 999999, got [100,000] of 16", input), "");
  EXPECT_EQ(number_not_in("x: it must lie inside the file, got byte 123461", input), "");
  EXPECT_EQ(number_not_in("x: CRC-32 must match, got 3587287398 and 464999365", input), "");
  EXPECT_EQ(number_not_in("x: name must be there, got \"20203526160384\"", input), "");
  EXPECT_EQ(
      number_not_in("x: it must be sound, got 2 faults: a.csv:2: n must be at most 2147483647, got "
                    "123456; a.csv:3: it must be there",
                    input),
      "");
  EXPECT_EQ(
      number_not_in("x: it must be sound, got 1 fault: a.csv:2: n must be at most 2147483647, "
                    "got 20203526160384",
                    input),
      "20203526160384");
}

}  // namespace
}  // namespace aorta::siege
