"""Networks of other tools as ONNX files that the engine runs."""
