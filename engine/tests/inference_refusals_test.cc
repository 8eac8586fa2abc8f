// Files that are no networks, or not those that their description promises.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "helpers/network_test.h"
#include "helpers/onnx_file.h"

namespace reelmend::inference {
namespace {

using testing::DeepNetwork;
using testing::NearestNetwork;
using testing::OnnxFile;
using testing::SwappedChromaNetwork;
using testing::SwappedRgbNetwork;

TEST_F(NetworkTest, ABadFileGetsOneSentenceThatSaysWhatIsWrong) {
  const std::int64_t open = OnnxFile::kOpen;
  const std::string good = NearestNetwork(2);
  struct Case { const char* what; std::string bytes; std::string part; };
  const std::vector<Case> cases = {
      {"a text", "This is no network.", "not an ONNX network"},
      {"empty", "", "not an ONNX network"},
      {"truncated", good.substr(0, good.size() / 2), "not an ONNX network"},
      {"RGB planes", SwappedRgbNetwork(2), "takes 3 planes, but its layout has 2"},
      {"another scale", NearestNetwork(3), "not a scale of 2"},
      {"several output planes",
       OnnxFile().Input("x", {1, 2, open, open}).Conv("x", "c", 12, 2, 1, std::vector<float>(24, 0.1F))
           .DepthToSpace("c", "y", 2).Output("y", {1, 3, open, open}).Bytes(), "gives 3 planes"},
      {"an unknown operator",
       OnnxFile().Input("x", {1, 2, open, open}).Node("Transmogrify", {"x"}, "y").Output("y", {1, 1, open, open}).Bytes(),
       "operator"},
      {"three dimensions",
       OnnxFile().Input("x", {2, open, open}).Node("Relu", {"x"}, "y").Output("y", {2, open, open}).Bytes(), "dimensions"},
      {"a picture of any shape, for an operator that needs four dimensions",
       OnnxFile().InputOfAnyShape("x").Conv("x", "c", 4, 2, 1, std::vector<float>(8, 0.5F)).DepthToSpace("c", "y", 2)
           .Output("y", {1, 1, open, open}).Bytes(), "does not state the shape of its input"},
      {"a picture of any shape, for an operator that takes all",
       OnnxFile().InputOfAnyShape("x").Node("Relu", {"x"}, "y").Output("y", {1, 1, open, open}).Bytes(), "does not state the shape of its input"},
      {"a number",
       OnnxFile().Input("x", {}).Node("Relu", {"x"}, "y").Output("y", {}).Bytes(), "has 0 dimensions"},
      {"a batch",
       OnnxFile().Input("x", {4, 2, open, open}).Node("Relu", {"x"}, "y").Output("y", {4, 2, open, open}).Bytes(), "batch of 4"},
      {"two inputs",
       OnnxFile().Input("x", {1, 2, open, open}).Input("z", {1, 2, open, open}).Node("Add", {"x", "z"}, "y")
           .Output("y", {1, 2, open, open}).Bytes(), "2 inputs"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    const std::string text = Refusal(Save(c.bytes, 2, 0));
    EXPECT_NE(text.find(c.part), std::string::npos) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    EXPECT_EQ(text.find(folder_), std::string::npos) << text;
    EXPECT_LT(text.size(), 200U) << text;
  }
}

TEST_F(NetworkTest, PlanesThatDoNotFitTheLayoutAreRefusedInOneSentence) {
  using Layout = ModelFile::Layout;
  struct Case { Layout layout; std::string network; std::string sentence; };
  for (const Case& c : {Case{Layout::kYcbcrStrength, NearestNetwork(2), "Model “test”: The model takes 2 planes, but its layout has 4."},
                        Case{Layout::kYcbcrStrength, SwappedRgbNetwork(2), "Model “test”: The model takes 3 planes, but its layout has 4."},
                        Case{Layout::kYcbcrStrength, DeepNetwork(2, 2, 8, 1, 4, 1), "Model “test”: It gives 1 planes, but its layout has 3."},
                        Case{Layout::kYcbcrStrength, SwappedChromaNetwork(3),
                             "Model “test”: It makes 198×192 of 66×64, which is not a scale of 2."},
                        Case{Layout::kLumaStrength, SwappedChromaNetwork(2), "Model “test”: The model takes 4 planes, but its layout has 2."},
                        Case{Layout::kRgb, SwappedChromaNetwork(2), "Model “test”: The model takes 4 planes, but its layout has 3."}}) {
    ModelFile file = Save(c.network, 2, 0);
    file.layout = c.layout;
    EXPECT_EQ(Refusal(file), c.sentence);
  }
}

TEST_F(NetworkTest, ADescriptionThatDoesNotFitTheFileIsRefused) {
  ModelFile file = Save(NearestNetwork(2), 2, 0);
  file.sha256 = std::string(64, '0');
  EXPECT_NE(Refusal(file).find("checksum"), std::string::npos);
  file.sha256.clear();
  file.input = "picture";
  EXPECT_NE(Refusal(file).find("no input named “picture”"), std::string::npos);
  file.input = "x";
  file.output = "z";
  EXPECT_NE(Refusal(file).find("no output named “z”"), std::string::npos);
  file.output = "y";
  file.scale = 99;
  EXPECT_NE(Refusal(file).find("scale"), std::string::npos);
  file.scale = 2;
  file.path += ".gone";
  EXPECT_NE(Refusal(file).find("cannot be read"), std::string::npos);
}

TEST_F(NetworkTest, TheRightChecksumIsAccepted) {
  ModelFile file = Save("abc", 2, 0);
  file.sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";  // FIPS 180-2, appendix B.1
  EXPECT_NE(Refusal(file).find("not an ONNX network"), std::string::npos);
}

}  // namespace
}  // namespace reelmend::inference
