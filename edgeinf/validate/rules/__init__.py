"""What ``serve`` accepts and a person should still know, one family of rules per file.

The rules that make ``serve`` refuse a config are in ``edgeinf/core/config/rules``.
"""
