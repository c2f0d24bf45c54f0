"""Every refusal and error sentence, one module an area, spelled exactly as the rule book has them (docs/rules)."""
