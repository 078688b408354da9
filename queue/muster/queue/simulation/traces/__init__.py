"""Jobs from recorded or generated traces: everything that becomes a `Scenario` but manifests."""
