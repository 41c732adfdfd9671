"""An S3 server for tests, on loopback, in a process that ends with the one that asked for it."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_ROOT = Path(__file__).parents[2]
BUCKET = "papers"


@contextmanager
def served() -> Iterator[dict[str, str]]:
    """The variables by which any client of S3 finds it; it holds one empty bucket."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.s3"],
        cwd=_ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield {
            "AWS_ENDPOINT_URL": process.stdout.readline().strip(),
            "AWS_ACCESS_KEY_ID": "testing",
            "AWS_SECRET_ACCESS_KEY": "s3cret",
            "AWS_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
        }
    finally:
        process.stdin.close()
        process.wait()
        process.stdout.close()


def serve() -> None:
    """Until nobody holds the other end of our standard input any more."""
    import boto3
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    address = f"http://{host}:{port}"
    boto3.client(
        "s3",
        endpoint_url=address,
        aws_access_key_id="testing",
        aws_secret_access_key="s3cret",  # noqa: S106
        region_name="us-east-1",
    ).create_bucket(Bucket=BUCKET)
    print(address, flush=True)  # noqa: T201 - the parent process reads it
    sys.stdin.read()
    server.stop()


if __name__ == "__main__":
    serve()
