"""What several test modules share: crafted files, problems, processes."""
