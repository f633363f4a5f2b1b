"""A mail server that keeps nothing: each mail is one line of JSON on standard output.

Usage: mail-sink.py PORT (0: any free one). The first line says where it listens.
"""

import asyncio
import email
import email.policy
import json
import signal
import sys

from aiosmtpd.smtp import SMTP


def say(line):
    print(json.dumps(line), flush=True)


class Sink:
    # The method's name is the library's.
    async def handle_DATA(self, server, session, envelope):
        mail = email.message_from_bytes(envelope.content, policy=email.policy.default)
        say(
            {
                "to": envelope.rcpt_tos,
                "from": str(mail["From"]),
                "subject": str(mail["Subject"]),
                "body": mail.get_body().get_content().replace("\r\n", "\n"),
            }
        )
        return "250 OK"


async def main():
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: SMTP(Sink()), "127.0.0.1", int(sys.argv[1]))
    ended = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, ended.set)
    say({"port": server.sockets[0].getsockname()[1]})
    await ended.wait()


asyncio.run(main())
