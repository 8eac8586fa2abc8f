"""Converts networks of other tools to ONNX files for the engine."""
