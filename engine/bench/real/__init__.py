"""npm run bench:real: quality of damaged videos after enhancement, compared with networks that are in common use (README.md)."""
