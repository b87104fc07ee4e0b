"""The commented config that ``init`` writes: what was found on the machine, and the rest as comments."""

from __future__ import annotations

from collections.abc import Sequence

from edgeinf.validate.detect import Local, Provider
from edgeinf.validate.published import URL

__all__ = ["template"]

_HEAD = f"""\
# yaml-language-server: $schema={URL}
#
# Every line is optional. edgeinf validate says what is wrong or doubtful; edgeinf serve starts with this file.
version: 1

listen:
  host: 127.0.0.1            # beyond loopback needs auth, see below
  port: 8787
"""

_DEFAULT = """
# No regions: OpenAI and Anthropic, with the client's own credential passed through.
# regions:
#   - name: virginia
#     url: https://us.example.com/v1
#     api_key: ${US_KEY}       # or api_key_file; passthrough: true sends the client's own instead
#     location: us-east-1
#     timeouts: {connect: 3s, ttft: 120s, idle: 120s, total: 10m}
"""

_TAIL = """
cache:
  level: safe                # exact | safe | loose | masked; edgeinf analyze says what each would bring
  ttl: 24h
  max_temperature: null      # null: any answer; 0: only of deterministic calls
  memory: {max_size: 256MiB}
  disk: {max_size: 2GiB}     # path: ~/.cache/edgeinf
  # shared: {url: "redis://127.0.0.1:6379/0"}

# models:                    # names that clients use -> what each region serves
#   - name: support-bot
#     upstream: {virginia: llama-3.1-8b}
#     regions: [virginia]

# routing:
#   strategy: latency        # latency | nearest | priority | weighted | least-loaded
#   failover: {attempts: 3, retry_on: [connect, timeout, "429", 5xx, bad-answer], retry_budget: 20%}

# auth:                      # edgeinf keys new makes a key and its hash
#   keys:
#     - {id: me, sha256: "${ME_SHA256}"}
# limits:
#   - {name: per-key, per: key, requests: 60/min, tokens: 100k/min, concurrency: 8}

# guard:
#   max_input_tokens: 32000
# events: {bodies: false}    # prompts stay out of the log; the keys in it are enough for edgeinf analyze
"""


def template(hosted: Sequence[tuple[Provider, str]], local: Sequence[Local]) -> str:
    """Return the file's text. A credential appears only as the name of its variable."""
    if not hosted and not local:
        return _HEAD + _DEFAULT + _TAIL
    lines = ["\nregions:"]
    for server in local:
        lines.append(f"  - name: {server.name}{_comment(server)}")
        lines.append(f"    url: http://127.0.0.1:{server.port}/v1")
    for provider, variable in hosted:
        lines.append(f"  - name: {provider.name}")
        lines.append(f"    url: {provider.url}")
        lines.append(f"    api_key: ${{{variable}}}")
        if provider.serves != "openai":
            lines.append(f"    serves: [{provider.serves}]")
    return _HEAD + "\n".join(lines) + "\n" + _TAIL


def _comment(server: Local) -> str:
    if not server.models:
        return ""
    shown = ", ".join(name for name in server.models[:4] if name.isprintable())
    return f"  # serves {shown}{' …' if len(server.models) > 4 else ''}"
