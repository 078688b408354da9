"""Jobs from recorded or generated traces: everything that becomes an `Experiment` but manifests."""
