"""The training ground of Framelift's networks: data, degradations, networks, training, export, scores."""
