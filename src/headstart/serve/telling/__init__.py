"""What the service tells people and other programs: reports, pages, exports."""
