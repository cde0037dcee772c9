"""Planning: certified values, policy evaluation, and the quantities that say how hard a problem is."""
