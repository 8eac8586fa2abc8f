// The samples of bench_networks: pictures and clips, reduced and then compressed or made noisy (Note [Conventions]).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "picture_chroma.h"
#include "picture_quality.h"
#include "picture_reader.h"
#include "reelmend/error.h"

namespace reelmend::bench {

struct SampleOptions {
  std::string degrade = "bicubic";
  std::string parameter;
  int scale = 2;
  int frames = 24;
  int pan = 0;
};

/// One original and its degraded version.
struct Sample {
  std::string name;
  bool is_still = true;
  std::vector<Plane> high;             ///< luma, 8-bit levels
  std::vector<Plane> low;
  std::vector<Chroma> high_chroma;     ///< 4:2:0, rounded to levels
  std::vector<Chroma> low_chroma;
  std::vector<Chroma> plain_chroma;    ///< low_chroma enlarged by Lanczos-3 to the size of high_chroma
  std::vector<std::vector<Plane>> low_rgb;  ///< pictures only
  float compression_error = 0;    ///< the pipeline's estimate from the stream, in 8-bit levels
  float quantiser = 0;       ///< median over the stream's frames; 0: unknown
  float error = 0;           ///< error that was added to the luma: RMS, in 8-bit levels
  Plane clean;               ///< the first low frame before the error was added
};

inline Plane LumaOf(const std::vector<Plane>& rgb) {
  Plane y(rgb[0].width, rgb[0].height);
  for (std::size_t i = 0; i < y.data.size(); ++i) {
    y.data[i] = 16 + (65.481F * rgb[0].data[i] + 128.553F * rgb[1].data[i] + 24.966F * rgb[2].data[i]) / 255;
  }
  return y;
}

inline Plane Cropped(const Plane& in, int multiple) {
  Plane out(in.width / multiple * multiple, in.height / multiple * multiple);
  for (int y = 0; y < out.height; ++y) {
    for (int x = 0; x < out.width; ++x) out.at(x, y) = in.at(x, y);
  }
  return out;
}

inline float Median(std::vector<float> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// The bytes of a 4:2:0 picture: Y, Cb, Cr.
inline std::string Bytes420(const Plane& luma, const Chroma& chroma) {
  std::string bytes;
  for (const Plane* plane : {&luma, &chroma[0], &chroma[1]}) {
    for (const float value : plane->data) bytes += static_cast<char>(std::lround(std::clamp(value, 0.0F, 255.0F)));
  }
  return bytes;
}

/// Adds the chroma of a clip's picture, cropped to the size of `high` and reduced to the size of `low`.
inline void AddChroma(Sample& sample, const pixel::Image& picture, const Plane& high, const Plane& low) {
  const Chroma whole = To420(picture, picture.width(), picture.height());
  Chroma cropped = {Plane((high.width + 1) / 2, (high.height + 1) / 2), Plane((high.width + 1) / 2, (high.height + 1) / 2)};
  for (int p = 0; p < 2; ++p) {
    for (int y = 0; y < cropped[p].height; ++y) {
      for (int x = 0; x < cropped[p].width; ++x) cropped[p].at(x, y) = whole[p].at(x, y);
    }
  }
  cropped = Rounded(std::move(cropped));
  sample.low_chroma.push_back(Rounded(To420(ToImage(nullptr, cropped, high.width, high.height, {1, 1}), low.width, low.height)));
  sample.high_chroma.push_back(std::move(cropped));
}

/// Adds the chroma of a still or of a window of it. Both arguments lie on luma's grid.
inline void AddChroma(Sample& sample, const Chroma& high, const Chroma& low) {
  const auto reduced = [](const Chroma& full) {
    const int width = full[0].width;
    const int height = full[0].height;
    return Rounded(To420(ToImage(nullptr, full, width, height, kFullChroma), width, height));
  };
  sample.high_chroma.push_back(reduced(high));
  sample.low_chroma.push_back(reduced(low));
}

/// Encodes the low frames with x264 and decodes them again.
inline void Compress(Sample& sample, const std::string& crf, double rate) {
  char folder[] = "/tmp/bench-networks-XXXXXX";
  if (mkdtemp(folder) == nullptr) throw Error(ErrorCode::kIo, "Cannot create a temporary folder.");
  const std::string path = std::string(folder) + "/low.mp4";
  const Plane& first = sample.low[0];
  const std::string command = "ffmpeg -v error -y -f rawvideo -pix_fmt yuv420p -s " + std::to_string(first.width) + "x" +
                              std::to_string(first.height) + " -r " + std::to_string(rate) +
                              " -i - -c:v libx264 -preset medium -crf " + crf + " '" + path + "'";
  FILE* pipe = popen(("sh -c \"" + command + "\"").c_str(), "w");
  if (pipe == nullptr) throw Error(ErrorCode::kIo, "Cannot start ffmpeg.");
  for (std::size_t f = 0; f < sample.low.size(); ++f) {
    const std::string bytes = Bytes420(sample.low[f], sample.low_chroma[f]);
    if (std::fwrite(bytes.data(), 1, bytes.size(), pipe) != bytes.size()) break;
  }
  const bool ok = pclose(pipe) == 0;
  if (ok) {
    const ReadFrames read = Decode(path, static_cast<int>(sample.low.size()));
    for (std::size_t i = 0; i < read.frames.size(); ++i) {
      const pixel::Image picture = StreamPicture(*read.frames[i]);
      sample.low[i] = LevelsOf(picture.plane(0));
      sample.low_chroma[i] = ChromaOf(picture);
    }
    sample.compression_error = Median(read.compression_errors);
    sample.quantiser = Median(read.quantisers);
  }
  std::filesystem::remove_all(folder);
  if (!ok) throw Error(ErrorCode::kInternal, "ffmpeg could not compress the frames.");
}

/// Adds Gaussian noise to luma only.
inline void AddNoise(Sample& sample, double sigma) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0.0F, static_cast<float>(sigma));
  for (Plane& plane : sample.low) {
    for (float& value : plane.data) value += normal(random);
    RoundToLevels(plane, 0, 255);
  }
  sample.low_rgb.clear();
}

/// Makes a clip of a still: a window moves over it by whole pixels of the original, so by fractions of the reduced pixels.
inline void Pan(Sample& sample, const Chroma& chroma, const SampleOptions& o) {
  constexpr int kRight = 3;
  constexpr int kDown = 1;
  const Plane picture = std::move(sample.high[0]);
  const int multiple = 2 * o.scale;
  const int width = (picture.width - kRight * o.pan) / multiple * multiple;
  const int height = (picture.height - kDown * o.pan) / multiple * multiple;
  if (width < 64 || height < 64) throw Error(ErrorCode::kInvalidArgument, "The picture " + sample.name + " is too small to pan.");
  sample.is_still = false;
  sample.high.clear();
  sample.low.clear();
  sample.low_rgb.clear();
  sample.high_chroma.clear();
  sample.low_chroma.clear();
  const auto reduced = [&](const Plane& plane) { return Resize(plane, width / o.scale, height / o.scale, kCubicKernel); };
  for (int f = 0; f < o.pan; ++f) {
    const auto window = [&](const Plane& from) {
      Plane plane(width, height);
      for (int y = 0; y < height; ++y) {
        for (int x = 0; x < width; ++x) plane.at(x, y) = from.at(x + kRight * f, y + kDown * f);
      }
      return plane;
    };
    Plane high = window(picture);
    RoundToLevels(high, 0, 255);
    sample.low.push_back(reduced(high));
    RoundToLevels(sample.low.back(), 0, 255);
    sample.high.push_back(std::move(high));
    const Chroma full = {window(chroma[0]), window(chroma[1])};
    AddChroma(sample, full, {reduced(full[0]), reduced(full[1])});
  }
}

inline float ErrorBetween(const std::vector<Plane>& a, const std::vector<Plane>& b) {
  double sum = 0;
  double count = 0;
  for (std::size_t f = 0; f < a.size(); ++f) {
    for (std::size_t i = 0; i < a[f].data.size(); ++i) {
      const double difference = a[f].data[i] - b[f].data[i];
      sum += difference * difference;
    }
    count += static_cast<double>(a[f].data.size());
  }
  return static_cast<float>(std::sqrt(sum / count));
}

inline Sample Load(const std::string& path, const std::string& name, const SampleOptions& o) {
  Sample sample;
  sample.name = name;
  const ReadFrames read = Decode(path, IsPicture(path) ? 1 : o.frames);
  sample.is_still = read.is_still;
  // x264 needs even sides.
  const int multiple = o.degrade == "h264" ? 2 * o.scale : o.scale;
  Chroma full;  // a still's chroma, on luma's grid
  for (const AVFrame* frame : read.frames) {
    if (!read.is_still) {
      const pixel::Image picture = StreamPicture(*frame);
      sample.high.push_back(Cropped(LevelsOf(picture.plane(0)), multiple));
      const Plane& high = sample.high.back();
      sample.low.push_back(Resize(high, high.width / o.scale, high.height / o.scale, kCubicKernel));
      RoundToLevels(sample.low.back(), 0, 255);
      AddChroma(sample, picture, high, sample.low.back());
      continue;
    }
    std::vector<Plane> rgb = RgbPlanes(*frame);
    std::vector<Plane> low;
    for (Plane& plane : rgb) {
      plane = Cropped(plane, multiple);
      low.push_back(Resize(plane, plane.width / o.scale, plane.height / o.scale, kCubicKernel));
      RoundToLevels(low.back(), 0, 255);
    }
    sample.high.push_back(LumaOf(rgb));
    sample.low.push_back(LumaOf(low));
    full = ChromaOfRgb(rgb);
    AddChroma(sample, full, ChromaOfRgb(low));
    sample.low_rgb.push_back(std::move(low));
  }
  if (o.pan > 0 && sample.is_still) Pan(sample, full, o);
  const std::vector<Plane> clean = sample.low;
  if (o.degrade == "h264") Compress(sample, o.parameter, read.frames_per_second);
  if (o.degrade == "h264") sample.low_rgb.clear();
  if (o.degrade == "noise") AddNoise(sample, std::atof(o.parameter.c_str()));
  for (std::size_t f = 0; f < sample.low.size(); ++f) {
    const pixel::Image low = ToImage(nullptr, sample.low_chroma[f], sample.low[f].width, sample.low[f].height, {1, 1});
    sample.plain_chroma.push_back(To420(low, sample.high[f].width, sample.high[f].height));
  }
  sample.clean = clean[0];
  sample.error = ErrorBetween(sample.low, clean);
  return sample;
}

}  // namespace reelmend::bench
