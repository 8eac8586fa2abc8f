// Compares ToneMapper with a scalar double-precision reference, and tests its invariants. pixel_zimg_test.cc compares it with zimg.
#include <gtest/gtest.h>

#include "pixel/tone_map.h"
#include "pixel_testing.h"
#include "reelmend/error.h"

namespace reelmend::pixel {
namespace {

using testing::PictureSize;

constexpr ColorSpec kWide = {Matrix::kBt2020, Range::kLimited, ChromaSite::kLeft};

// ---- reference: written from the standards, shares no code with the stage ----------------------------------

double Pq(double signal) {  // nits
  const double p = std::pow(std::clamp(signal, 0.0, 1.0), 32.0 / 2523);
  return 10000 * std::pow(std::max(p - 0.8359375, 0.0) / (18.8515625 - 18.6875 * p), 8192.0 / 1305);
}
double PqInverse(double nits) {
  const double p = std::pow(nits / 10000, 1305.0 / 8192);
  return std::pow((0.8359375 + 18.8515625 * p) / (1 + 18.6875 * p), 2523.0 / 32);
}
double Hlg(double signal) {  // scene light, 0…1
  signal = std::clamp(signal, 0.0, 1.0);
  const double a = 0.17883277;
  return signal <= 0.5 ? signal * signal / 3
                       : (std::exp((signal - 0.55991073) / a) + 0.28466892) / 12;
}

double CurveOf(double nits, double peak) {
  const double e = std::min(1.0, PqInverse(nits) / PqInverse(peak));
  const double top = PqInverse(203) / PqInverse(peak);
  const double knee = 1.5 * top - 0.5;
  if (e < knee || top >= 1) return Pq(e * PqInverse(peak)) / 203;
  const double t = (e - knee) / (1 - knee);
  const double bent = (2 * t * t * t - 3 * t * t + 1) * knee + (t * t * t - 2 * t * t + t) * (1 - knee) +
                      (-2 * t * t * t + 3 * t * t) * top;
  return Pq(bent * PqInverse(peak)) / 203;
}

struct Rgb {
  double r, g, b;
};

/// Converts signals of a BT.2020 source to SDR signals.
Rgb ReferenceRgb(Rgb s, const ToneMapOptions& options) {
  double peak = options.peak_nits;
  Rgb nits = {Pq(s.r), Pq(s.g), Pq(s.b)};
  if (options.transfer == HdrTransfer::kHlg) {
    peak = 1000;
    const Rgb e = {Hlg(s.r), Hlg(s.g), Hlg(s.b)};
    const double gain = 1000 * std::pow(0.2627 * e.r + 0.678 * e.g + 0.0593 * e.b, 0.2);
    nits = {e.r * gain, e.g * gain, e.b * gain};
  }
  const double brightest = std::max({nits.r, nits.g, nits.b});
  const double gain = brightest > 0 ? CurveOf(brightest, peak) / brightest : 0;
  const auto signal = [&](double r, double g, double b) {
    const double light = gain * (r * nits.r + g * nits.g + b * nits.b);
    return std::pow(std::clamp(light, 0.0, 1.0), 1 / 2.4);
  };
  return {signal(1.6604910, -0.5876411, -0.0728499), signal(-0.1245505, 1.1328999, -0.0083494),
          signal(-0.0181508, -0.1005789, 1.1187297)};
}

struct Ycc {
  double y, cb, cr;
};

/// Converts HDR samples to SDR samples.
Ycc ReferencePixel(Ycc in, Range range, const ToneMapOptions& options) {
  const bool full = range == Range::kFull;
  const double y = full ? in.y / 65280 : (in.y - 4096) / 56064;
  const double cb = (in.cb - 32768) / (full ? 65280 : 57344);
  const double cr = (in.cr - 32768) / (full ? 65280 : 57344);
  const double red = y + 1.4746 * cr;
  const double blue = y + 1.8814 * cb;
  const double green = (y - 0.2627 * red - 0.0593 * blue) / 0.678;
  const Rgb out = ReferenceRgb({red, green, blue}, options);
  const double luma = 0.2126 * out.r + 0.7152 * out.g + 0.0722 * out.b;
  return {4096 + 56064 * luma, 32768 + 57344 * (out.b - luma) / 1.8556, 32768 + 57344 * (out.r - luma) / 1.5748};
}

double At(ConstPlane plane, int x, int y) {
  return plane.Row(std::clamp(y, 0, plane.height - 1))[std::clamp(x, 0, plane.width - 1)];
}

bool IsLeft(ChromaSite site) { return site == ChromaSite::kLeft || site == ChromaSite::kTopLeft || site == ChromaSite::kBottomLeft; }
bool IsTop(ChromaSite site) { return site == ChromaSite::kTop || site == ChromaSite::kTopLeft; }
bool IsBottom(ChromaSite site) { return site == ChromaSite::kBottom || site == ChromaSite::kBottomLeft; }

/// Chroma at a luma position: linear interpolation between the sited samples.
double ChromaAt(const Image& in, int p, int x, int y) {
  const ChromaSite site = in.color().site;
  double cx = x;
  double cy = y;
  if (in.subsampling().log2_x == 1) cx = IsLeft(site) ? x / 2.0 : x / 2.0 - 0.25;
  if (in.subsampling().log2_y == 1) cy = IsTop(site) ? y / 2.0 : IsBottom(site) ? y / 2.0 - 0.5 : y / 2.0 - 0.25;
  const int x0 = static_cast<int>(std::floor(cx));
  const int y0 = static_cast<int>(std::floor(cy));
  const ConstPlane c = in.plane(p);
  const auto row = [&](int r) { return At(c, x0, r) + (cx - x0) * (At(c, x0 + 1, r) - At(c, x0, r)); };
  return row(y0) + (cy - y0) * (row(y0 + 1) - row(y0));
}

/// Luma at a chroma position: weights 1, 2, 1 at a co-sited position, the mean of two samples between samples.
double LumaAt(const Image& in, int x, int y) {
  const ChromaSite site = in.color().site;
  const ConstPlane luma = in.plane(0);
  const auto across = [&](int row) {
    if (in.subsampling().log2_x == 0) return At(luma, x, row);
    if (!IsLeft(site)) return (At(luma, 2 * x, row) + At(luma, 2 * x + 1, row)) / 2;
    return (At(luma, 2 * x - 1, row) + 2 * At(luma, 2 * x, row) + At(luma, 2 * x + 1, row)) / 4;
  };
  if (in.subsampling().log2_y == 0) return across(y);
  if (!IsTop(site) && !IsBottom(site)) return (across(2 * y) + across(2 * y + 1)) / 2;
  const int middle = IsTop(site) ? 2 * y : 2 * y + 1;
  return (across(middle - 1) + 2 * across(middle) + across(middle + 1)) / 4;
}

Image Reference(const Image& in, const ToneMapOptions& options) {
  const Range range = in.color().range;
  Image out(in.width(), in.height(), in.subsampling(), {Matrix::kBt709, Range::kLimited, in.color().site});
  testing::Fill(out, [&](int p, int x, int y) {
    if (p == 0) {
      return ReferencePixel({At(in.plane(0), x, y), ChromaAt(in, 1, x, y), ChromaAt(in, 2, x, y)}, range, options).y;
    }
    const Ycc c = ReferencePixel({LumaAt(in, x, y), At(in.plane(1), x, y), At(in.plane(2), x, y)}, range, options);
    return p == 1 ? c.cb : c.cr;
  });
  return out;
}

Image ToneMap(const Image& in, const ToneMapOptions& options, int threads = 2) {
  ThreadPool pool(threads);
  Image out(in.width(), in.height(), in.subsampling(), {});
  ToneMapper(options).Run(in, out, pool);
  return out;
}

/// Film-like colours: half saturated, from black to the peak.
Image Film(PictureSize size, Subsampling subsampling, ColorSpec color) {
  Image image(size.width, size.height, subsampling, color);
  testing::Fill(image, [](int p, int x, int y) {
    const double wave = 0.5 + 0.3 * std::sin(0.07 * x + 0.03 * y) + 0.2 * std::sin(0.31 * x - 0.23 * y);
    return 256 * (p == 0 ? 20 + 190 * wave : 128 + 30 * std::sin(0.05 * x * p + 0.09 * y));
  });
  return image;
}

const std::vector<ToneMapOptions>& Variants() {
  static const std::vector<ToneMapOptions> all = {{HdrTransfer::kPq, Primaries::kBt2020, 1000},
                                                  {HdrTransfer::kPq, Primaries::kBt2020, 203},
                                                  {HdrTransfer::kPq, Primaries::kBt2020, 4000},
                                                  {HdrTransfer::kPq, Primaries::kBt2020, 10000},
                                                  {HdrTransfer::kHlg, Primaries::kBt2020, 1000}};
  return all;
}

TEST(ToneMap, EqualsTheReference) {
  for (const PictureSize size : testing::Sizes()) {
    for (const Subsampling subsampling : testing::Subsamplings()) {
      for (const ChromaSite site : {ChromaSite::kLeft, ChromaSite::kCentre, ChromaSite::kTopLeft, ChromaSite::kTop, ChromaSite::kBottomLeft,
                                    ChromaSite::kBottom}) {
        if (size.width > 200) continue;  // the reference is slow
        for (const ToneMapOptions& options : Variants()) {
          const ColorSpec color = {Matrix::kBt2020, size.width % 2 == 0 ? Range::kLimited : Range::kFull, site};
          const Image in = Film(size, subsampling, color);
          EXPECT_LE(testing::MaxDifference(ToneMap(in, options), Reference(in, options)), 128)
              << testing::Name(size) << " peak " << options.peak_nits;
        }
      }
    }
  }
}

TEST(ToneMap, StaysCloseToTheReferenceForInvalidColours) {
  // Most random levels are outside of R′G′B′ or of the gamut. There the power 1/2.4 amplifies rounding errors.
  const Image in = testing::RandomPicture({200, 100}, {0, 0}, 5, kWide);
  for (const ToneMapOptions& options : Variants()) {
    const Image out = ToneMap(in, options);
    const Image expected = Reference(in, options);
    EXPECT_LE(testing::MaxDifference(out, expected), 3 * 256) << options.peak_nits;
    for (int p = 0; p < 3; ++p) EXPECT_GT(testing::Psnr(out.plane(p), expected.plane(p)), 60);
  }
}

TEST(ToneMap, ThreadsDoNotChangeTheResult) {
  for (const PictureSize size : testing::Sizes()) {
    const Image in = Film(size, {1, 1}, kWide);
    const Image one = ToneMap(in, {}, 1);
    for (const int threads : {2, 3}) EXPECT_EQ(testing::MaxDifference(one, ToneMap(in, {}, threads)), 0);
  }
}

Image GreyRamp(Range range) {
  Image image(4096, 2, {1, 1}, {Matrix::kBt2020, range, ChromaSite::kLeft});
  testing::Fill(image, [&](int p, int x, int) {
    const double t = x / 4095.0;
    return p > 0 ? 32768 : range == Range::kFull ? 65280 * t : 4096 + 56064 * t;
  });
  return image;
}

TEST(ToneMap, IsMonotoneAndKeepsNeutralsNeutral) {
  for (const ToneMapOptions& options : Variants()) {
    for (const Range range : {Range::kLimited, Range::kFull}) {
      const Image out = ToneMap(GreyRamp(range), options);
      EXPECT_EQ(out.color(), (ColorSpec{Matrix::kBt709, Range::kLimited, ChromaSite::kLeft}));
      const std::uint16_t* luma = out.plane(0).Row(0);
      EXPECT_NEAR(luma[0], 16 * 256, 8);
      EXPECT_NEAR(luma[4095], 235 * 256, 8);
      for (int x = 1; x < 4096; ++x) ASSERT_GE(luma[x] + 8, luma[x - 1]) << x;  // up to the rounding of a table
      for (int p = 1; p < 3; ++p) {
        for (int x = 0; x < 2048; ++x) ASSERT_NEAR(out.plane(p).Row(0)[x], 32768, 32) << x;
      }
    }
  }
}

/// The 8-bit level of a neutral grey of `nits`.
double LevelOf(double nits, double peak) {
  const double y = 4096 + 56064 * PqInverse(nits);
  const Image in = testing::Constant({8, 8}, {1, 1}, y, 32768, 32768, kWide);
  return ToneMap(in, {HdrTransfer::kPq, Primaries::kBt2020, peak}).plane(0).Row(3)[3] / 256.0;
}

TEST(ToneMap, MapsLightAsTheNoteSays) {
  EXPECT_NEAR(LevelOf(203, 1000), 214, 1);
  EXPECT_NEAR(ToneCurve(203, 1000), 0.78, 0.01);
  EXPECT_NEAR(LevelOf(203, 203), 235, 0.2);
  for (const double peak : {203.0, 600.0, 1000.0, 4000.0}) {
    EXPECT_NEAR(LevelOf(peak, peak), 235, 0.2) << peak;
    EXPECT_NEAR(LevelOf(10000, peak), 235, 0.2) << peak;  // brighter than the declared peak
  }
  for (const double nits : {0.1, 1.0, 10.0, 26.0, 80.0}) {  // below the knee the light does not change
    EXPECT_NEAR(LevelOf(nits, 1000), 16 + 219 * std::pow(nits / 203, 1 / 2.4), 0.3) << nits;
  }
}

TEST(ToneMap, PeaksOutOfRangeAreTakenAsTheNearest) {
  EXPECT_EQ(ToneCurve(100, 1), ToneCurve(100, kSdrWhiteNits));
  EXPECT_EQ(ToneCurve(300, 1e9), ToneCurve(300, 10'000));
}

/// Linear SDR light that the stage makes of a constant colour, in nits per BT.2020 channel.
Rgb ToneMappedLight(Rgb nits, const ToneMapOptions& options) {
  const Rgb s = {PqInverse(nits.r), PqInverse(nits.g), PqInverse(nits.b)};
  const double y = 0.2627 * s.r + 0.678 * s.g + 0.0593 * s.b;
  const Image in = testing::Constant({8, 8}, {0, 0}, 4096 + 56064 * y, 32768 + 57344 * (s.b - y) / 1.8814,
                                     32768 + 57344 * (s.r - y) / 1.4746, kWide);
  const Image out = ToneMap(in, options);
  const auto sample = [&](int p) { return static_cast<double>(out.plane(p).Row(3)[3]); };
  const double luma = (sample(0) - 4096) / 56064;
  const double red = luma + 1.5748 * (sample(2) - 32768) / 57344;
  const double blue = luma + 1.8556 * (sample(1) - 32768) / 57344;
  const double green = (luma - 0.2126 * red - 0.0722 * blue) / 0.7152;
  return {std::pow(red, 2.4), std::pow(green, 2.4), std::pow(blue, 2.4)};
}

TEST(ToneMap, KeepsTheHueOfHighlights) {
  // An orange far above SDR white: the channels keep their ratios, because the curve clips none of them.
  const ToneMapOptions options{HdrTransfer::kPq, Primaries::kBt2020, 1000};
  const Rgb dim = ToneMappedLight({35, 20, 15}, options);
  const Rgb bright = ToneMappedLight({700, 400, 300}, options);
  EXPECT_GT(bright.g, 3 * dim.g);
  EXPECT_NEAR(bright.g / bright.b, dim.g / dim.b, 0.02);
}

TEST(ToneMap, OtherPrimariesMeetTheSameGreys) {
  for (const Primaries primaries : {Primaries::kBt2020, Primaries::kP3D65, Primaries::kBt709}) {
    const Image out = ToneMap(GreyRamp(Range::kLimited), {HdrTransfer::kPq, primaries, 1000});
    EXPECT_LE(testing::MaxDifference(out, ToneMap(GreyRamp(Range::kLimited), {})), 32);
  }
}

TEST(ToneMap, RefusesPicturesThatDoNotFit) {
  ThreadPool pool(1);
  const Image in(64, 64, {1, 1}, kWide);
  Image other_size(64, 62, {1, 1}, {});
  Image other_layout(64, 64, {0, 0}, {});
  ToneMapper mapper({});
  EXPECT_THROW(mapper.Run(in, other_size, pool), Error);
  EXPECT_THROW(mapper.Run(in, other_layout, pool), Error);
}

}  // namespace
}  // namespace reelmend::pixel
