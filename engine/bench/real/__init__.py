"""npm run bench:real: how damaged videos look after enhancement, beside the networks that people use today (README.md)."""
