// An address that stays while the server behind it comes and goes.
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface Door {
  url: string;
  /** Lets connections through to this server from now on. */
  open: (baseUrl: string) => void;
  /** Breaks every connection, and accepts none that lasts. */
  shut: () => void;
  remove: () => void;
}

export async function makeDoor(): Promise<Door> {
  let port: number | undefined;
  const sockets = new Set<Socket>();
  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket)).on("error", () => socket.destroy());
  };
  const listener = createServer((outside) => {
    keep(outside);
    if (port === undefined) return outside.destroy();
    const inside = connect(port, "127.0.0.1");
    keep(inside);
    outside.pipe(inside).pipe(outside);
    return undefined;
  });
  await new Promise<void>((done) => listener.listen(0, "127.0.0.1", done));
  const shut = () => {
    port = undefined;
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: `http://127.0.0.1:${(listener.address() as AddressInfo).port}`,
    open: (baseUrl) => {
      port = Number(new URL(baseUrl).port);
    },
    shut,
    remove: () => {
      shut();
      listener.close();
    },
  };
}
