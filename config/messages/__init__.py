"""Every refusal and error sentence, spelled exactly as the rule book has it (docs/rules). Each area has one module."""
