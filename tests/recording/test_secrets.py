"""Forms of secrets, none of which may be left, and ordinary texts, which must stay as they are."""

from __future__ import annotations

import time

import pytest

from xladoctor.recording.bootstrap._xladoctor.redaction import redact, redact_code, redact_text

V = "hunter2-S3cr3t"
MIXED = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7cF0x"  # 31 characters
HEX = "9f86d081884c7d659a2feaa0c55ad015"
JWT = f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.{MIXED}"

#: Made from parts, so that no scanner of this repository takes them for issued ones.
ISSUED = {
    "hugging face": f"hf_{MIXED}ab1",
    "github": f"ghp_{MIXED}Ab123",
    "github oauth": f"gho_{MIXED}",
    "github app": f"ghs_{MIXED}",
    "github fine-grained": f"github_pat_11A{MIXED}_{MIXED}",
    "gitlab": f"glpat-{MIXED[:20]}",
    "gitlab runner": f"glrt-{MIXED[:20]}",
    "wandb": f"wandb_v1_{MIXED}",
    "aws": "AKIA" + "IOSFODNN7EXAMPLE",
    "aws session": "ASIA" + "Y34FZKBOKMUTVV7A",
    "openai": f"sk-{MIXED}",
    "openai project": f"sk-proj-{MIXED}",
    "anthropic": f"sk-ant-api03-{MIXED}",
    "groq": f"gsk_{MIXED}",
    "nvidia": f"nvapi-{MIXED}",
    "replicate": f"r8_{MIXED}",
    "slack bot": "xoxb-" + "123456789012-abcdefGHIJ",
    "slack app": "xapp-" + "1-A0123-abcdef",
    "slack hook": "https://hooks.slack.com/services/" + "T00000000/B00000000/abcdefghijklmn",
    "discord hook": f"https://discord.com/api/webhooks/123456789012345678/{MIXED}",
    "google": f"AIza{MIXED}abcd",
    "google oauth": f"ya29.{MIXED}",
    "google client": f"GOCSPX-{MIXED}",
    "stripe": f"sk_live_{MIXED}",
    "stripe restricted": f"rk_live_{MIXED}",
    "sendgrid": f"SG.{MIXED[:22]}.{MIXED}ab",
    "npm": f"npm_{MIXED}abcde",
    "pypi": f"pypi-AgEIcHlwaS5vcmc{MIXED}",
    "docker": f"dckr_pat_{MIXED}",
    "twilio": f"SK{HEX}",
    "databricks": f"dapi{HEX}",
    "mailchimp": f"{HEX}-us12",
    "telegram": f"123456789:AA{MIXED}ab",
    "square": f"sq0csp-{MIXED}",
    "shopify": f"shpat_{HEX}",
    "vault": f"hvs.{MIXED}",
    "grafana": f"glsa_{MIXED}",
    "atlassian": f"ATATT3{MIXED}",
    "terraform": f"{MIXED[:14]}.atlasv1.{MIXED}{MIXED}",
    "digital ocean": f"dop_v1_{HEX}{HEX}",
    "artifactory": f"AKC{MIXED}",
    "jwt": JWT,
    "alibaba": f"LTAI{MIXED[:16]}",
}

COMMANDS = [
    ["--db-pass", V],
    [f"--userpass={V}"],
    ["--mypassword", V],
    ["--accesskey", V],
    ["--secretkey", V],
    [f"--login=ada:{V}"],
    ["--login", f"ada:{V}"],
    ["-u", f"ada:{V}"],
    ["--proxy-user", f"ada:{V}"],
    ["-p", V],
    ["--dbPassword", V],
    [f"clientSecret={V}"],
    [f'{{"password": "{V}"}}'],
    [f'{{"a": {{"api_key": "{V}", "b": 1}}}}'],
    [f"{{'token': '{V}'}}"],
    [f'{{\\"password\\": \\"{V}\\"}}'],
    [f'{{"password": "{V}\nand a second line {V}"}}'],
    [f"https://a.blob.core.windows.net/c?sv=2022&sig={V}abc%3D&se=1"],
    [f"?sv=1&sig={V}abc%2B"],
    [f"https://b.s3.amazonaws.com/k?X-Amz-Signature={HEX}{HEX}&X-Amz-Credential={V}%2F1"],
    [f"https://storage.googleapis.com/b/o?X-Goog-Signature={HEX}"],
    [f"https://host/?access_token={V}"],
    [f"postgres://ada:{V}@db:5432/runs"],
    [f"redis://:{V}@cache/0"],
    [f"https://ada:{V}/x@host/p"],
    [f"https://{V}@git.example.org/x"],
    ["-H", f"Authorization: Bearer {V}"],
    ["-H", f"Authorization: Basic {V}"],
    ["-H", f"X-Api-Key: {V}"],
    ["-H", f"Cookie: session={V}"],
    [f"HF_TOKEN={V}"],
    ["sh", "-c", f"export HF_TOKEN={V}; python train.py"],
    ["sh", "-c", f"login --password '{V}'"],
    ["sh", "-c", f"the tokenizer: HF_TOKEN={V}"],
    [f"db.password={V}"],
    ["+hub.token=" + V],
    [f"DefaultEndpointsProtocol=https;AccountName=a;AccountKey={V}==;EndpointSuffix=x"],
    [f"Server=a;User Id=b;Password={V}"],
    [f"SharedAccessKey={V}"],
    ["--wandb-key", V],
    ["--passphrase", V],
    [f"--api_key={V}"],
    ["--bearer", V],
    ["--pat", V],
    ["--ssh-key", V],
    [f"-----BEGIN RSA PRIVATE KEY-----\n{V}\n-----END RSA PRIVATE KEY-----"],
    [f"-----BEGIN OPENSSH PRIVATE KEY-----\n{V}"],
]

CODE = [
    f'login(token="{V}")',
    f"password = '{V}'",
    f'os.environ["HF_TOKEN"] = "{V}"',
    f'os.environ.setdefault("WANDB_API_KEY", "{V}")',
    f'{{"password": "{V}"}}',
    f'parser.add_argument("--password", type=str, default="{V}")',
    f'DB_PASS: str = "{V}"',
    f'secret = f"{V}"',
    f'client = Client(api_key="{V}")',
    f'if password == "{V}":',
    f'aws_secret_access_key="{MIXED}"',
    f'requests.get("https://ada:{V}@host/x")',
    f'fetch("https://host/data?api_key={V}&n=3")',
    f'headers = {{"Authorization": "Bearer {V}"}}',
    f'key = "{MIXED}"',
    f'jwt = "{JWT}"',
    'k = """-----BEGIN PRIVATE KEY-----' + V,
    f'dbPassword="{V}"',
    f"conn = 'Server=a;AccountKey=\"{V}\"'",
    f'x = {{"client_secret" : "{V}"}}',
]

#: Arguments, settings and messages.
ORDINARY = [
    "--tokenizer",
    "--max-tokens=5",
    "--pad-token=<pad>",
    "--eos_token=</s>",
    "--num-key-value-heads=8",
    "--key-dim=64",
    "--sort-key=length",
    "--passes=3",
    "--pass=2",
    "--n-pass=2",
    "--bypass=yes",
    "--password-file=/run/db",
    "--token-length=128",
    "--secret-name=hub",
    "--author=ada",
    "--no-auth=1",
    "--user=1000:1000",
    "--login=ada",
    "--p=0.5",
    "--patch-size=16",
    "--compass=n",
    "https://example.org/data.tar?download=1",
    "https://example.org:8080/a@b",
    "gs://bucket/a@b",
    "ssh://git@github.com/a/b",
    "ada@example.org",
    "s3://bucket/checkpoints/step=100",
    "risk-averse-strategy",
    "sk-learn-pipeline-with-names",
    "/data/sk-2/runs",
    "hf_",
    "hf_transfer",
    "ghp_x",
    "AKIA",
    "npm_install",
    "meta-llama/Llama-2-7b-hf",
    "bert-base-uncased",
    f"--graph={HEX}",
    f"{HEX}{HEX}",
    "f32[128,256]{1,0:T(8,128)}",
    "bf16[8,2048,4096]",
    "--xla_dump_to=/tmp/dump",
    "--xla_tpu_enable_async_collective_fusion=true",
    "--xla_gpu_autotune_level=4 --xla_disable_hlo_passes=all-reduce-combiner",
    "TPU_LIBRARY_PATH=/l",
    "RuntimeError: shape '[8, 3]' is invalid for input of size 25",
    "KeyError: 'attention_mask'",
    "OSError: [Errno 28] No space left on device: '/data/run/steps.jsonl'",
    "tree/9f86d081884c7d659a2feaa0c55ad0155ad015aa/train.py",
    "2026-01-02T03:04:05.678Z",
    "ACT2FN",
    "SG.mean",
    "module_0042.jit_train_step.before_optimizations.txt",
    "eyJ",
    "glpat-",
    "550e8400-e29b-41d4-a716-446655440000",
    "model-00001-of-00030.safetensors",
    "sig=3",
    "design=x",
]

ORDINARY_COMMANDS = [
    ["-p", "8080"],
    ["-p", "gpu"],
    ["-p", "80:80"],
    ["-p", "/data/out"],
    ["-p", "no:cacheprovider"],
    ["--pad-token", "<pad>"],
    ["--num-key-value-heads", "8"],
    ["--tokenizer", "gpt2"],
    ["--pass", "2"],
    ["-u", "train.py"],
    ["--user", "ada"],
    ["--key-dim", "64"],
]

ORDINARY_CODE = [
    "key = jax.random.PRNGKey(0)",
    "for key, value in batch.items():",
    'pad_token = "<pad>"',
    'sorted(rows, key="length")',
    'key = "encoder.layer.11.output.dense.weight"',
    'key="layer_12"',
    "token = tokens[:, -1]",
    'token = "[MASK]"',
    "login(token=args.token)",
    'passes = "3"',
    'password = os.environ["DB_PASSWORD"]',
    'token = os.getenv("HF_TOKEN")',
    "key=key, value=value",
    'password = ""',
    'secret = f"{secret}"',
    'password = "<password>"',
    'token_env = "HF_TOKEN"',
    'fields = ["password", "username"]',
    'state["model.layers.0.attn.weight"]',
    'x["key"] = "loss"',
    "q, k, v = self.query(x), self.key(x), self.value(x)",
    'tokenizer.add_token("<|image|>")',
    f'expected = "{HEX}"',
    f'cache_key = "{HEX}"',
    'url = "https://example.org/a?size=3#token"',
    'url = f"https://{user}:{password}@{host}/"',
    'model = "meta-llama/Llama-2-7b-hf"',
    'loss = F.cross_entropy(logits.view(-1, V), y.view(-1), label_smoothing=0.1)  # the key "x1"',
    'assert hlo == "f32[128,256]{1,0}"',
    'self.key_proj = nn.Linear(d, d, bias="k_bias1")',
    'parser.add_argument("--token-file", default="tokens1.txt")',
    "",
    "    \t",
    "…",
    "x = 'größe'",
]


def test_the_lists_are_long() -> None:
    assert len(ISSUED) + len(COMMANDS) + len(CODE) >= 100
    assert len(ORDINARY) + len(ORDINARY_COMMANDS) + len(ORDINARY_CODE) >= 100


@pytest.mark.parametrize("kind", ISSUED)
def test_what_an_issuer_marked(kind: str) -> None:
    secret = ISSUED[kind]
    tail = secret[-10:]
    assert tail not in redact_text(f"cannot use {secret}, sorry")
    assert tail not in redact_code(f'x = call("{secret}", 3)')
    assert tail not in "".join(redact(["--x", secret, f"--y={secret}", f"a {secret}"]))


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_command(command: list[str]) -> None:
    shown = redact(["python", *command, "--lr", "0.1"])
    assert V not in str(shown)
    assert HEX not in str(shown)
    assert (shown[0], shown[-2:]) == ("python", ["--lr", "0.1"])
    assert redact(shown) == shown


@pytest.mark.parametrize("line", CODE)
def test_line_of_source(line: str) -> None:
    shown = redact_code(line)
    assert not any(secret in shown for secret in (V, MIXED, JWT))
    assert redact_code(shown) == shown
    assert shown.split("…")[0] == line[: len(shown.split("…")[0])]


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_stays(text: str) -> None:
    assert redact_text(text) == text
    assert redact_code(text) == text
    assert redact([text]) == [text]


@pytest.mark.parametrize("command", ORDINARY_COMMANDS, ids=" ".join)
def test_ordinary_command_stays(command: list[str]) -> None:
    assert redact(command) == command


@pytest.mark.parametrize("line", ORDINARY_CODE)
def test_ordinary_line_stays(line: str) -> None:
    assert redact_code(line) == line


@pytest.mark.parametrize(
    "text",
    [
        "key=" * 30_000,
        "a" * 200_000,
        "-" * 100_000,
        "--token" * 20_000,
        '"password": "' * 10_000,
        "://a:" * 20_000,
        "eyJ" * 50_000,
        "-----BEGIN PRIVATE KEY-----" * 3000,
        "key-dim: " * 20_000,
        "a.key" * 40_000,
        "\\" * 100_000,
        "Bearer " * 20_000,
        "?key" * 20_000,
        "0" * 200_000,
    ],
    ids=lambda text: text[:12],
)
def test_long_text_takes_no_long_time(text: str) -> None:
    began = time.process_time()
    redact_text(text)
    redact_code(text)
    redact([text])
    assert time.process_time() - began < 5
