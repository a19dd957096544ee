"""What every part may use: files, text, parallel work, progress, statistics. Imports nothing of gapmin."""
