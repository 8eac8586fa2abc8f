// Compares Resizer and ToneMapper with zimg, an independent implementation (ffmpeg's zscale filter).
#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "pixel/stages.h"
#include "pixel/tone_map.h"
#include "pixel_testing.h"

namespace reelmend::pixel {
namespace {

using testing::PictureSize;

bool HasZscale() { return std::system("ffmpeg -hide_banner -filters 2>/dev/null | grep -q ' zscale '") == 0; }

struct TemporaryFolder {
  std::filesystem::path path;
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "reelmend-zimg-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot create a temporary folder");
    path = name;
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path); }
};

/// The 8-bit planes in one block, in the format of rawvideo.
std::vector<std::uint8_t> Export(const Image& image) {
  std::vector<std::uint8_t> bytes;
  for (int p = 0; p < 3; ++p) {
    const ConstPlane plane = image.plane(p);
    for (int y = 0; y < plane.height; ++y) {
      for (int x = 0; x < plane.width; ++x) {
        bytes.push_back(static_cast<std::uint8_t>(std::min(255, (plane.Row(y)[x] + 128) / 256)));
      }
    }
  }
  return bytes;
}

Image ImportBytes(const std::vector<std::uint8_t>& bytes, PictureSize size, Subsampling subsampling) {
  Image image(size.width, size.height, subsampling, {});
  std::size_t next = 0;
  for (int p = 0; p < 3; ++p) {
    const Plane plane = image.plane(p);
    for (int y = 0; y < plane.height; ++y) {
      for (int x = 0; x < plane.width; ++x)
        plane.Row(y)[x] = static_cast<std::uint16_t>(bytes.at(next++) << 8);
    }
  }
  return image;
}

Image ZimgResize(const Image& in, const std::string& format, const std::string& site, PictureSize size) {
  const TemporaryFolder folder;
  const std::string source = (folder.path / "in.yuv").string();
  const std::string target = (folder.path / "out.yuv").string();
  const auto bytes = Export(in);
  std::ofstream(source, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<long>(bytes.size()));
  const std::string command =
      "ffmpeg -v error -nostdin -f rawvideo -pix_fmt " + format + " -s " +
      testing::Name({in.width(), in.height()}) + " -i " + source +
      " -vf 'zscale=w=" + std::to_string(size.width) + ":h=" + std::to_string(size.height) +
      ":filter=lanczos:param_a=3:chromalin=" + site + ":chromal=left,format=yuv420p' -f rawvideo " + target;
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  std::ifstream file(target, std::ios::binary);
  const std::vector<std::uint8_t> result((std::istreambuf_iterator<char>(file)), {});
  return ImportBytes(result, size, {1, 1});
}

struct Case {
  const char* format;
  const char* site;
  Subsampling subsampling;
  ChromaSite chroma_site;
};
const Case kCases[] = {{"yuv420p", "left", {1, 1}, ChromaSite::kLeft},
                       {"yuv420p", "center", {1, 1}, ChromaSite::kCentre},
                       {"yuv420p", "topleft", {1, 1}, ChromaSite::kTopLeft},
                       {"yuv422p", "left", {1, 0}, ChromaSite::kLeft},
                       {"yuv444p", "left", {0, 0}, ChromaSite::kLeft}};

/// Largest difference in 8-bit levels without the border, where zimg mirrors and the engine repeats the edge.
int InteriorDifference(ConstPlane a, ConstPlane b, int border_x, int border_y) {
  int worst = 0;
  for (int y = border_y; y < a.height - border_y; ++y) {
    for (int x = border_x; x < a.width - border_x; ++x) {
      const int level = std::min(255, (a.Row(y)[x] + 128) / 256);
      worst = std::max(worst, std::abs(level - b.Row(y)[x] / 256));
    }
  }
  return worst;
}

TEST(Zimg, AgreesWithinTwoLevels) {
  if (!HasZscale())
    GTEST_SKIP() << "This machine has no ffmpeg with the zscale filter: nothing was compared with zimg.";
  ThreadPool pool(2);
  for (const Case& c : kCases) {
    for (const auto& [from, to] :
         std::vector<std::pair<PictureSize, PictureSize>>{{{192, 108}, {384, 216}},
                                                          {{320, 180}, {480, 270}},
                                                          {{200, 150}, {640, 480}},
                                                          {{640, 360}, {300, 170}}}) {
      Image in = testing::Pattern(from, c.subsampling, {Matrix::kBt709, Range::kLimited, c.chroma_site});
      testing::AddNoise(in, 3, 1);
      in = ImportBytes(Export(in), from, c.subsampling);
      Image out(to.width, to.height, {1, 1}, {});
      Resizer(from.width, from.height, c.subsampling, {Matrix::kBt709, Range::kLimited, c.chroma_site},
              to.width, to.height)
          .Run(in, out, pool);
      const Image zimg = ZimgResize(in, c.format, c.site, to);
      for (int p = 0; p < 3; ++p) {
        const int border_x = 4 + 4 * std::max(1, to.width / from.width);
        EXPECT_LE(InteriorDifference(out.plane(p), zimg.plane(p), border_x, border_x), 2)
            << c.format << " " << c.site << " plane " << p << " " << testing::Name(from) << " to "
            << testing::Name(to);
        EXPECT_GT(testing::Psnr(out.plane(p), zimg.plane(p)), p == 0 ? 40 : 36);
      }
    }
  }
}

/// Converts to BT.709 with zimg, without a tone curve, on 16-bit 4:4:4 samples.
Image ZimgToSdr(const Image& in, const std::string& transfer) {
  const TemporaryFolder folder;
  const std::string source = (folder.path / "in.yuv").string();
  const std::string target = (folder.path / "out.yuv").string();
  {
    std::ofstream file(source, std::ios::binary);
    for (int p = 0; p < 3; ++p) {
      for (int y = 0; y < in.height(); ++y)
        file.write(reinterpret_cast<const char*>(in.plane(p).Row(y)), 2L * in.width());
    }
  }
  const std::string command =
      "ffmpeg -v error -nostdin -f rawvideo -pix_fmt yuv444p16le -s " + testing::Name({in.width(), in.height()}) +
      " -i " + source + " -vf 'zscale=tin=" + transfer +
      ":pin=bt2020:min=bt2020nc:rin=tv:t=linear:p=bt709:m=gbr:npl=203,format=gbrpf32le,"
      "zscale=tin=linear:pin=bt709:min=gbr:p=bt709:t=bt709:m=bt709:r=tv,format=yuv444p16le' -f rawvideo " + target;
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  std::ifstream file(target, std::ios::binary);
  Image out(in.width(), in.height(), {0, 0}, {});
  for (int p = 0; p < 3; ++p) {
    for (int y = 0; y < in.height(); ++y)
      file.read(reinterpret_cast<char*>(out.plane(p).Row(y)), 2L * in.width());
  }
  return out;
}

TEST(Zimg, ConvertsDarkHdrAsToneMappingDoes) {
  if (!HasZscale())
    GTEST_SKIP() << "This machine has no ffmpeg with the zscale filter: nothing was compared with zimg.";
  // Below the knee of the curve (89 nits) tone mapping is a plain conversion of transfer and gamut.
  struct Case {
    HdrTransfer transfer;
    const char* name;
    double top;  // highest signal
  };
  for (const Case& c : {Case{HdrTransfer::kPq, "smpte2084", 0.42}, Case{HdrTransfer::kHlg, "arib-std-b67", 0.5}}) {
    Image in(256, 64, {0, 0}, {Matrix::kBt2020, Range::kLimited, ChromaSite::kLeft});
    testing::Fill(in, [&](int p, int x, int y) {
      const double luma = c.top * (0.15 + 0.85 * x / 255);
      return p == 0 ? 4096 + 56064 * luma : 32768 + 57344 * 0.03 * luma * std::sin(0.2 * y + p);
    });
    ThreadPool pool(2);
    Image out(256, 64, {0, 0}, {});
    ToneMapper({c.transfer, Primaries::kBt2020, 1000}).Run(in, out, pool);
    EXPECT_LE(testing::MaxDifference(out, ZimgToSdr(in, c.name)), 512) << c.name;  // two 8-bit levels
  }
}

}  // namespace
}  // namespace reelmend::pixel
