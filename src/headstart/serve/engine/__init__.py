"""The engine: asks become events in one thread, and events become the state that decides."""
