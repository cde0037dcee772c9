"""Planning: certified values, policy evaluation, and measures of how hard a problem is."""
