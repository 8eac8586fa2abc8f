// Finds faces in pictures with the engine's detector: reelmend-faces FILE… prints one JSON object per line.
#include <cstdio>
#include <exception>
#include <string>

#include "../bench/picture_reader.h"
#include "faces/detector.h"
#include "media/frame_import.h"

namespace {

/// At most `most` frames of a clip; one of a still.
void Print(const std::string& path, float smallest) {
  const auto read = reelmend::bench::Decode(path, 1);
  AVFrame* yuv = reelmend::bench::Converted(*read.frames[0], AV_PIX_FMT_YUV444P);
  yuv->color_range = AVCOL_RANGE_MPEG;
  yuv->colorspace = AVCOL_SPC_SMPTE170M;
  reelmend::media::FrameImporter importer(*yuv, AV_CODEC_ID_RAWVIDEO);
  reelmend::pixel::ThreadPool pool(2);
  reelmend::pixel::Image image(importer.width(), importer.height(), importer.subsampling(), importer.color().spec);
  importer.Run(*yuv, image, pool);
  av_frame_free(&yuv);
  const auto backend = reelmend::inference::CreateBackend("openvino");
  reelmend::faces::FaceDetector detector(*backend, reelmend::faces::DetectorFolder(),
                                          {image.width(), image.height(), smallest, 2});
  std::printf("{\"file\": \"%s\", \"width\": %d, \"height\": %d, \"faces\": [", path.c_str(), image.width(), image.height());
  const char* comma = "";
  reelmend::faces::HostPicture picture(image, pool);
  for (const auto& face : detector.Detect(picture, pool)) {
    std::printf("%s{\"score\": %.4f, \"box\": [%.2f, %.2f, %.2f, %.2f], \"points\": [", comma, face.score, face.box.left,
                face.box.top, face.box.right, face.box.bottom);
    comma = ", ";
    for (std::size_t i = 0; i < face.points.size(); ++i) {
      std::printf("%s[%.2f, %.2f]", i == 0 ? "" : ", ", face.points[i].x, face.points[i].y);
    }
    std::printf("]}");
  }
  std::puts("]}");
}

}  // namespace

int main(int argc, char** argv) {
  int status = 0;
  for (int i = 1; i < argc; ++i) {
    try {
      Print(argv[i], 24);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s: %s\n", argv[i], error.what());
      status = 1;
    }
  }
  return status;
}
