"""Files that people attach to answers, and images of threads, stored in pieces."""
