"""The network `faces`: training on degraded faces of the training photographs, export, scores."""
