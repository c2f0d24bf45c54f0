"""Every refusal and error sentence, one module per section of the spec, spelled exactly as there."""
