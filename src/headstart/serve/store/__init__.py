"""The stores: events, append-only, durable before they are answered; and how they are verified."""
