// Pictures of a person for the face tests, and the measurement of what a stage changed in them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "faces/face_stage.h"
#include "helpers/clips.h"
#include "helpers/test_paths.h"
#include "reelmend/enhance.h"

namespace reelmend::faces {

inline const std::string kPerson = test_paths::SourceDir() + "/tests/media/face.jpg";

#define NEEDS_DETECTOR() \
  if (!::reelmend::faces::CanDetectFaces()) GTEST_SKIP() << "No face detector in this build: faces are NOT tested (scripts/setup-faces)."

inline ModelFile FaceModel(const std::string& path) {
  ModelFile file;
  file.name = "faces";
  file.path = path;
  file.layout = ModelFile::Layout::kFace;
  file.scale = 1;
  return file;
}

inline ModelFile Shipped() {
  ModelFile file = FaceModel(test_paths::SourceDir() + "/models/faces-256.onnx");
  file.max_change = 32;
  return file;
}

/// The frames of an ffmpeg command as 4:2:0.
inline std::vector<pixel::Image> Frames(const std::string& arguments, int width, int height) {
  const reelmend::testing::TemporaryFolder folder;
  const std::string path = folder.File("frames.yuv");
  reelmend::testing::Ffmpeg(arguments + " -s " + std::to_string(width) + "x" + std::to_string(height) + " -pix_fmt yuv420p -f rawvideo " + path);
  std::ifstream stream(path, std::ios::binary);
  const std::vector<char> bytes((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  std::vector<pixel::Image> frames;
  std::size_t at = 0;
  while (at + static_cast<std::size_t>(width) * height * 3 / 2 <= bytes.size()) {
    pixel::Image image(width, height, {1, 1}, {});
    for (int p = 0; p < 3; ++p) {
      const pixel::Plane plane = image.plane(p);
      for (int y = 0; y < plane.height; ++y) {
        for (int x = 0; x < plane.width; ++x) {
          plane.Row(y)[x] = static_cast<std::uint16_t>(static_cast<unsigned char>(bytes[at++]) << 8);
        }
      }
    }
    frames.push_back(std::move(image));
  }
  return frames;
}

/// Filter that puts the person into a grey picture. The face is `face` pixels wide, 0.35 of the photograph.
inline std::string PersonFilter(int face, int width = 640, int height = 480) {
  const int side = static_cast<int>(face / 0.35) & ~1;
  return "scale=" + std::to_string(side) + ":-2,pad=max(iw\\,2000):max(ih\\,1200):(ow-iw)/2:(oh-ih)/2:gray,crop=" + std::to_string(width) + ":" +
         std::to_string(height);
}

/// The person in a grey picture (PersonFilter). With `seconds` > 0 a moving, noisy and
/// compressed video; otherwise one picture.
inline std::vector<pixel::Image> Person(int face, int width = 640, int height = 480, double seconds = 0, const std::string& extra = "") {
  const std::string picture = PersonFilter(face, width, height);
  if (seconds <= 0) return Frames("-i " + kPerson + " -vf '" + picture + extra + "'", width, height);
  const reelmend::testing::TemporaryFolder folder;
  const std::string clip = folder.File("clip.mp4");
  reelmend::testing::Ffmpeg("-loop 1 -framerate 25 -t " + std::to_string(seconds) + " -i " + kPerson + " -vf '" + picture +
         ",rotate=0.03*sin(n/9):c=gray,crop=iw-40:ih-40:20+12*sin(n/11):20+10*sin(n/7),noise=alls=6:allf=t" + extra +
         "' -c:v libx264 -preset veryfast -crf 30 -pix_fmt yuv420p " + clip);
  return Frames("-i " + clip, width - 40, height - 40);
}

inline pixel::Image Copy(const pixel::Image& image) {
  pixel::Image copy(image.width(), image.height(), image.subsampling(), image.color());
  for (int p = 0; p < 3; ++p) {
    for (int y = 0; y < image.plane(p).height; ++y) {
      std::copy_n(image.plane(p).Row(y), image.plane(p).width, copy.plane(p).Row(y));
    }
  }
  return copy;
}

struct Change {
  double mean = 0;    ///< mean difference of luma in the face's box, in 8-bit levels
  double most = 0;    ///< largest difference of any plane
  double outside = 0; ///< largest difference outside of the face's crop
};

inline Change Compare(const pixel::Image& a, const pixel::Image& b, const Box& box) {
  Change change;
  double count = 0;
  for (int p = 0; p < 3; ++p) {
    const float scale = p == 0 ? 1 : 2;
    for (int y = 0; y < a.plane(p).height; ++y) {
      for (int x = 0; x < a.plane(p).width; ++x) {
        const double d = std::abs(a.plane(p).Row(y)[x] - b.plane(p).Row(y)[x]) / 256.0;
        const float px = static_cast<float>(x) * scale;
        const float py = static_cast<float>(y) * scale;
        change.most = std::max(change.most, d);
        const float margin = 0.8F * box.side();
        const bool is_far = px < box.left - margin || px > box.right + margin || py < box.top - margin || py > box.bottom + margin;
        if (is_far) change.outside = std::max(change.outside, d);
        if (p == 0 && px >= box.left && px < box.right && py >= box.top && py < box.bottom) {
          change.mean += d;
          ++count;
        }
      }
    }
  }
  change.mean /= std::max(1.0, count);
  return change;
}

inline FaceStageOptions StageOptions(const pixel::Image& image, const ModelFile& model, float strength = 1) {
  return {model, {image.width(), image.height(), 1, strength, 2}};
}

inline std::vector<Face> Find(const pixel::Image& image, float smallest = 24) {
  const auto backend = inference::CreateBackend("openvino");
  pixel::ThreadPool pool(2);
  HostPicture picture(image, pool);
  return FaceDetector(*backend, DetectorFolder(), {image.width(), image.height(), smallest, 2}).Detect(picture, pool);
}

}  // namespace reelmend::faces
