// Networks in fp16: conversion of halves and of ONNX files, and how much it may change the output.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <random>

#include "helpers/differences.h"
#include "helpers/onnx_file.h"
#include "inference/backend.h"
#include "inference/half.h"
#include "inference/onnx_half.h"
#include "reelmend/error.h"
#include "shipped_files.h"

namespace reelmend::inference {
namespace {

using reelmend::testing::Compare;
using reelmend::testing::Differences;
using reelmend::testing::OnnxFile;
using reelmend::testing::Has;
using reelmend::testing::LayoutOf;
using reelmend::testing::Shipped;

constexpr std::int64_t kOpen = OnnxFile::kOpen;

std::unique_ptr<Backend> OpenVino() {
  try {
    return CreateBackend("openvino");
  } catch (const Error&) {
    return nullptr;
  }
}

/// The luma that the network returns for a ramp with noise, at strength 0.5.
std::vector<float> RunOnCpu(Backend& backend, const std::string& onnx, int width, int height) {
  auto model = backend.Load(onnx, "", "");
  auto network = model->Compile({{2, height, width}, 1, 1, false});
  std::minstd_rand random(7);
  for (int i = 0; i < width * height; ++i) {
    network->Input(0)[i] = 0.2F + 0.5F * static_cast<float>(i % width) / static_cast<float>(width) + 0.1F * static_cast<float>(random() % 256) / 255;
    network->Input(0)[width * height + i] = 0.5F;
  }
  network->Start(0);
  network->Wait(0);
  return {network->Output(0), network->Output(0) + network->output_shape().count()};
}

TEST(Half, EveryHalfSurvivesARoundTripThroughFloat) {
  for (int bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = HalfToFloat(half);
    if (std::isnan(value)) continue;
    EXPECT_EQ(FloatToHalf(value), half) << value;
  }
}

TEST(Half, FloatsAreRoundedToTheNearestHalvesToEven) {
  EXPECT_EQ(FloatToHalf(65519.0F), 0x7BFF);
  EXPECT_EQ(FloatToHalf(65520.0F), 0x7C00);
  EXPECT_EQ(FloatToHalf(1 + 1.0F / 2048), 0x3C00);
  EXPECT_EQ(FloatToHalf(1 + 3.0F / 2048), 0x3C02);
  EXPECT_EQ(FloatToHalf(0x1p-24F), 1);
  EXPECT_EQ(FloatToHalf(0x1p-25F), 0);
  EXPECT_EQ(FloatToHalf(-0x1.8p-25F), 0x8001);
}

TEST(OnnxHalf, TheShippedNetworkIsTheSameWithinHalfALevel) {
  const auto backend = OpenVino();
  ASSERT_TRUE(backend) << "needs OpenVINO (scripts/setup-openvino)";
  const std::string onnx = Shipped("fast-x2.onnx");
  const HalfNetwork half = ToHalf(onnx);
  EXPECT_EQ(half.precision, "fp16");
  EXPECT_LT(half.onnx.size(), onnx.size() * 6 / 10) << "weights were not converted";
  const auto expected = RunOnCpu(*backend, onnx, 96, 64);
  const auto actual = RunOnCpu(*backend, half.onnx, 96, 64);
  ASSERT_EQ(actual.size(), expected.size());
  const Differences change = Compare(actual, expected);
  EXPECT_LT(change.largest, 0.5);
  EXPECT_LT(change.rms, reelmend::testing::kHalfTolerance.rms);
  EXPECT_GT(change.largest, 0) << "the conversion must change the output a little";
}

TEST(Differences, AFewSamplesChangeOnlyTheLargestDifference) {
  std::vector<float> a(10'000, 0.5F);
  std::vector<float> b = a;
  b[17] = 1;
  EXPECT_DOUBLE_EQ(Compare(a, b).percentile, 0);
  EXPECT_NEAR(Compare(a, b).rms, 127.5 / 100, 1e-6);
  EXPECT_NEAR(Compare(a, b).largest, 127.5, 1e-6);
  for (int i = 0; i < 20; ++i) b[static_cast<std::size_t>(i)] = 0.5F + 10.0F / 255;
  EXPECT_NEAR(Compare(a, b).percentile, 10, 1e-3) << "2 of 1,000 samples differ, more than the percentile ignores";
}

TEST(OnnxHalf, UnsignedQuantisationIsComputedInFp16) {
  const auto backend = OpenVino();
  ASSERT_TRUE(backend);
  for (const char* name : {"fast-x2", "fast-x1", "detail-x2"}) {
    const std::string onnx = Shipped(std::string(name) + "-int8.onnx");
    const HalfNetwork half = ToHalf(onnx);
    EXPECT_EQ(half.precision, "fp16") << name;
    EXPECT_TRUE(Has(onnx, "QuantizeLinear")) << "the file's activations must be quantised";
    for (const char* gone : {"QuantizeLinear", "DequantizeLinear", "zero0", "_wz"}) EXPECT_FALSE(Has(half.onnx, gone)) << name << " " << gone;
    // Without rounding to 8 bits the output is closer to float32 than the file's, and hardly differs from it. The picture is
    // large enough that the random rounding errors of the layers average out.
    const auto exact = RunOnCpu(*backend, Shipped(std::string(name) + ".onnx"), 256, 256);
    const auto as_written = RunOnCpu(*backend, onnx, 256, 256);
    const auto changed = RunOnCpu(*backend, half.onnx, 256, 256);
    EXPECT_LT(Compare(changed, exact).rms, Compare(as_written, exact).rms) << name;
    const Differences change = Compare(changed, as_written);
    EXPECT_LT(change.rms, reelmend::testing::kInt8Tolerance.rms) << name;
    EXPECT_LT(change.percentile, reelmend::testing::kInt8Tolerance.percentile) << name;
  }
}

/// Doubles its input, which is quantised with this zero point (empty: the default, uint8). The weights have 8 bits.
OnnxFile Quantised(const std::string& zero_point, char zero, OnnxFile::EightBits weights) {
  OnnxFile file;
  file.Input("x", {1, 2, kOpen, kOpen}).Tensor("scale", {}, {0.01F}).Tensor("halves", {2}, {0.5F, 0.25F});
  std::vector<std::string> pair = {"scale"};
  if (!zero_point.empty()) pair.push_back(zero_point);
  file.Tensor8("signed", {}, std::string(1, zero), OnnxFile::EightBits::kSigned).Tensor8("unsigned", {}, std::string(1, zero), OnnxFile::EightBits::kUnsigned);
  const auto of = [&](const std::string& first) { auto all = pair; all.insert(all.begin(), first); return all; };
  file.Node("QuantizeLinear", of("x"), "x_q").Node("DequantizeLinear", of("x_q"), "x_d");
  file.Tensor8("w", {2, 2, 1, 1}, {4, 0, 0, 8}, weights).Node("DequantizeLinear", {"w", "halves"}, "w_d", {{"axis", {0}, false, ""}});
  return file.Node("Conv", {"x_d", "w_d"}, "y").Output("y", {1, 2, kOpen, kOpen});
}

TEST(OnnxHalf, OnlyInt8AroundZeroStaysQuantised) {
  using enum OnnxFile::EightBits;
  const HalfNetwork kept = ToHalf(Quantised("signed", 0, kSigned).Bytes());
  EXPECT_EQ(kept.precision, "int8");
  EXPECT_TRUE(Has(kept.onnx, "x_q") && Has(kept.onnx, "QuantizeLinear"));
  const HalfNetwork with_unsigned_weights = ToHalf(Quantised("signed", 0, kUnsigned).Bytes());
  EXPECT_TRUE(Has(with_unsigned_weights.onnx, "QuantizeLinear"));
  const auto backend = OpenVino();
  ASSERT_TRUE(backend);
  const auto expected = RunOnCpu(*backend, Quantised("signed", 0, kSigned).Bytes(), 32, 32);
  for (const auto& [zero_point, zero, weights] : {std::tuple{"unsigned", 0, kSigned}, {"signed", 5, kSigned}, {"", 0, kSigned}, {"unsigned", 0, kUnsigned}}) {
    const HalfNetwork half = ToHalf(Quantised(zero_point, static_cast<char>(zero), weights).Bytes());
    EXPECT_EQ(half.precision, "fp16") << zero_point << zero;
    EXPECT_FALSE(Has(half.onnx, "QuantizeLinear")) << zero_point << zero;
    EXPECT_FALSE(Has(half.onnx, "DequantizeLinear")) << zero_point << zero;
    EXPECT_LT(Compare(RunOnCpu(*backend, half.onnx, 32, 32), expected).rms, 2) << zero_point << zero << ": the weights must stay the same";
  }
}

/// Luma less strength, without its negative values: no ReLU, but a quantiser that limits them. Scalars are lists of numbers, the bias is
/// quantised, and so is the output if `ends_quantised`, all as ONNX Runtime's quantiser writes them.
OnnxFile QuantisedWithoutRelu(int type, int zero, bool ends_quantised) {
  OnnxFile file;
  file.Input("x", {1, 2, kOpen, kOpen}).Tensor("scale", {}, {0.004F}).Integers("zero", {}, {zero}, type);
  file.Integers("w", {1, 2, 1, 1}, {100, -100}, 3).Integers("w_zero", {}, {0}, 3).Tensor("w_scale", {}, {0.01F}).Node("DequantizeLinear", {"w", "w_scale", "w_zero"}, "w_d");
  file.Integers("b", {1}, {-500}, 6).Integers("b_zero", {}, {0}, 6).Tensor("b_scale", {1}, {1e-4F}).Node("DequantizeLinear", {"b", "b_scale", "b_zero"}, "b_d", {{"axis", {0}, false, ""}});
  file.Node("Conv", {"x", "w_d", "b_d"}, "c").Node("QuantizeLinear", {"c", "scale", "zero"}, "q").Node("DequantizeLinear", {"q", "scale", "zero"}, ends_quantised ? "y" : "d");
  if (!ends_quantised) file.Conv("d", "y", 1, 1, 1, {1});
  return file.Output("y", {1, 1, kOpen, kOpen});
}

TEST(OnnxHalf, AQuantiserThatIsRemovedLimitsAsBefore) {
  const auto backend = OpenVino();
  ASSERT_TRUE(backend);
  for (const auto& [type, zero] : {std::pair{2, 0}, {3, -128}, {2, 20}}) {
    for (const bool ends_quantised : {false, true}) {
      const std::string onnx = QuantisedWithoutRelu(type, zero, ends_quantised).Bytes();
      const HalfNetwork half = ToHalf(onnx);
      EXPECT_EQ(half.precision, "fp16") << type << " " << zero;
      EXPECT_FALSE(Has(half.onnx, "QuantizeLinear") || Has(half.onnx, "DequantizeLinear")) << type << " " << zero;
      const auto expected = RunOnCpu(*backend, onnx, 32, 32);
      EXPECT_NEAR(*std::ranges::min_element(expected), zero == 20 ? -0.08 : 0, 1e-3) << "the test needs values that are limited";
      EXPECT_LT(Compare(RunOnCpu(*backend, half.onnx, 32, 32), expected).largest, 1) << type << " " << zero << " " << ends_quantised;
    }
  }
}

TEST(OnnxHalf, Uint8WeightsAreComputedWithoutAQuantiserToo) {
  const auto network = [](OnnxFile::EightBits type) {
    OnnxFile file;
    file.Input("x", {1, 2, kOpen, kOpen}).Tensor("step", {}, {0.005F}).Tensor8("w", {1, 2, 1, 1}, {100, static_cast<char>(200)}, type);
    return file.Node("DequantizeLinear", {"w", "step"}, "w_d").Node("Conv", {"x", "w_d"}, "y").Output("y", {1, 1, kOpen, kOpen}).Bytes();
  };
  for (const auto type : {OnnxFile::EightBits::kUnsigned, OnnxFile::EightBits::kSigned}) {
    const HalfNetwork half = ToHalf(network(type));
    EXPECT_EQ(half.precision, "fp16");
    EXPECT_FALSE(Has(half.onnx, "DequantizeLinear"));
  }
}

OnnxFile Between(const std::string& type, const std::vector<testing::Attribute>& attributes = {}) {
  OnnxFile file;
  file.Input("x", {1, 2, kOpen, kOpen}).Node(type, {"x"}, "y", attributes).Output("y", {1, 2, kOpen, kOpen});
  return file;
}

TEST(OnnxHalf, WhatLosesInFp16StaysFloatBetweenCasts) {
  const HalfNetwork soft = ToHalf(Between("Softmax").Bytes());
  EXPECT_EQ(soft.precision, "fp32");
  EXPECT_TRUE(Has(soft.why_fp32, "Softmax")) << soft.why_fp32;
  EXPECT_TRUE(Has(soft.onnx, "Cast"));
  OnnxFile large;
  large.Input("x", {1, 2, kOpen, kOpen}).Conv("x", "y", 2, 2, 1, {70000.0F, 0, 0, 1}).Output("y", {1, 2, kOpen, kOpen});
  EXPECT_EQ(ToHalf(large.Bytes()).precision, "fp32");
}

/// Multiplies by a constant that a node states.
std::string Multiplied(const testing::Attribute& value) {
  OnnxFile file;
  file.Input("x", {1, 2, kOpen, kOpen}).Node("Constant", {}, "k", {value}).Node("Mul", {"x", "k"}, "y").Output("y", {1, 2, kOpen, kOpen});
  return file.Bytes();
}

TEST(OnnxHalf, ConstantsOfNodesAreTreatedAsWeights) {
  const auto backend = OpenVino();
  ASSERT_TRUE(backend);
  const auto constants = [](float number) {
    return std::vector<testing::Attribute>{{"value", {}, false, "", {number}, true}, {"value_float", {}, false, "", {number}}, {"value_floats", {}, true, "", {number}}};
  };
  for (const testing::Attribute& constant : constants(0.5F)) {
    const HalfNetwork half = ToHalf(Multiplied(constant));
    EXPECT_EQ(half.precision, "fp16") << constant.name;
    const float number = 0.5F;
    EXPECT_FALSE(Has(half.onnx, std::string(reinterpret_cast<const char*>(&number), sizeof number))) << constant.name << " stays float32";
    EXPECT_LT(Compare(RunOnCpu(*backend, half.onnx, 32, 32), RunOnCpu(*backend, Multiplied(constant), 32, 32)).largest, 0.5) << constant.name;
  }
  for (const testing::Attribute& constant : constants(70000)) EXPECT_EQ(ToHalf(Multiplied(constant)).precision, "fp32") << constant.name;
}

TEST(OnnxHalf, ScalesOfAResizeStayFloat) {
  OnnxFile file;
  file.Input("x", {1, 2, kOpen, kOpen}).Tensor("scales", {4}, {1, 1, 2, 2}).Node("Resize", {"x", "", "scales"}, "y").Output("y", {1, 2, kOpen, kOpen});
  const HalfNetwork half = ToHalf(file.Bytes());
  EXPECT_EQ(half.precision, "fp16");
  const float two = 2;
  EXPECT_TRUE(Has(half.onnx, std::string(reinterpret_cast<const char*>(&two), 4)));
  const auto backend = OpenVino();
  ASSERT_TRUE(backend);
  EXPECT_EQ(backend->Load(half.onnx, "", "")->OutputShape({2, 8, 8}).width, 16);
}

TEST(OnnxHalf, ANetworkForOnePictureTakesSeveral) {
  const auto backend = OpenVino();
  ASSERT_TRUE(backend);
  const std::string onnx = Shipped("fast-x2.onnx");
  EXPECT_EQ(WithBatch(onnx, 1), onnx);
  const std::string two = WithBatch(onnx, 2);
  EXPECT_EQ(two.size(), onnx.size());
  EXPECT_EQ(std::inner_product(two.begin(), two.end(), onnx.begin(), 0, std::plus<>(), std::not_equal_to<>()), 2) << "only the batch size of the input and of the output may differ";
  EXPECT_EQ(WithBatch(two, 1), onnx);
}

TEST(OnnxHalf, FaultyFilesAreRefusedInOneSentence) {
  for (const std::string& bytes : {std::string(), std::string("\x3A\xFF\xFF", 3), std::string("no network at all"),
                                   OnnxFile().Input("x", {1}).Input("z", {1}).Node("Add", {"x", "z"}, "y").Output("y", {1}).Bytes(),
                                   OnnxFile().Node("QuantizeLinear", {}, "q").Node("DequantizeLinear", {"q"}, "y").Bytes()}) {
    try {
      ToHalf(bytes);
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
      EXPECT_EQ(std::count(error.what(), error.what() + strlen(error.what()), '.'), 1) << error.what();
    }
  }
}

}  // namespace
}  // namespace reelmend::inference
