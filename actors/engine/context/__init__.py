"""What the engine's actors share: settings and addresses, messages, the lock, registries of open orders and positions."""
