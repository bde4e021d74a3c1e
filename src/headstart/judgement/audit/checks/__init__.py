"""The audit's checks: each looks at one thing, in a file of its own, and says what it found."""
