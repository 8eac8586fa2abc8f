"""The training ground of Reelmend's networks: data, degradations, networks, training, export, scores."""
