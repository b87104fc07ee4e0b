"""The rules that make ``serve`` refuse a config, one family per file; ``validate`` adds its warnings to them."""
