/** A TCP proxy to a server, in this process. Tests can cut it, restore it, and make it drop all bytes. */
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

interface Ends {
  near: Socket;
  far: Socket;
  /** drops all bytes of both ends, and closes nothing */
  isLost: boolean;
}

export class Wire {
  readonly #server: Server;
  readonly #target: URL;
  readonly #connections = new Set<Ends>();
  #isCut = false;
  #leadsNowhere = false;

  constructor(target: URL) {
    this.#target = target;
    this.#server = createServer((near) => this.#connect(near));
  }

  #connect(near: Socket): void {
    if (this.#isCut) return void near.destroy();
    const far = connect(Number(this.#target.port), this.#target.hostname);
    const ends = { near, far, isLost: this.#leadsNowhere };
    this.#connections.add(ends);
    for (const [one, other] of [[near, far], [far, near]] as const) {
      one.on('error', () => {});
      one.on('close', () => {
        this.#connections.delete(ends);
        if (!ends.isLost) other.destroy();
      });
      one.on('data', (chunk: Buffer) => {
        if (!ends.isLost) other.write(chunk);
      });
    }
  }

  /** Starts the proxy; returns the server's URL with the proxy's host and port. */
  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    const url = new URL(this.#target);
    url.hostname = '127.0.0.1';
    url.port = String((this.#server.address() as AddressInfo).port);
    return url.href;
  }

  get connections(): number {
    return this.#connections.size;
  }

  /** Closes all connections and rejects new ones. */
  cut(): void {
    this.#isCut = true;
    for (const { near, far } of this.#connections) {
      near.destroy();
      far.destroy();
    }
  }

  /** Drops all bytes on the open connections without closing them, as a firewall does that forgot them. New ones work. */
  forget(): void {
    for (const ends of this.#connections) ends.isLost = true;
  }

  /** The same, also for new connections, until `mend`. */
  silence(): void {
    this.#leadsNowhere = true;
    this.forget();
  }

  mend(): void {
    this.#isCut = this.#leadsNowhere = false;
  }

  close(): void {
    this.cut();
    this.#server.close();
  }
}
