/** Looks into another process that was started with `NODE_OPTIONS=--inspect=127.0.0.1:0`. */
import { once } from 'node:events';

interface Response {
  id?: number;
  result?: { result?: { value?: unknown } };
}

export class Inspector {
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, (response: Response) => void>();
  #sent = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener('message', ({ data }: MessageEvent<string>) => {
      const response = JSON.parse(data) as Response;
      if (response.id !== undefined) this.#waiting.get(response.id)?.(response);
    });
  }

  /** `log`: what the process has written to its standard error */
  static async connect(log: readonly string[]): Promise<Inspector> {
    const url = log.map((line) => /Debugger listening on (ws:\S+)/.exec(line)?.[1]).find((found) => found !== undefined);
    if (url === undefined) throw new Error('The process was not started with --inspect');
    const socket = new WebSocket(url);
    await once(socket, 'open');
    return new Inspector(socket);
  }

  /** What is left after garbage was collected. */
  async heapBytes(): Promise<number> {
    // What a collection frees may hold more.
    for (let n = 0; n < 3; n += 1) await this.#send('HeapProfiler.collectGarbage');
    const { result } = await this.#send('Runtime.evaluate', { expression: 'process.memoryUsage().heapUsed' });
    return Number(result?.result?.value);
  }

  close(): void {
    this.#socket.close();
  }

  #send(method: string, params: object = {}): Promise<Response> {
    const id = ++this.#sent;
    this.#socket.send(JSON.stringify({ id, method, params }));
    return new Promise((resolve) => this.#waiting.set(id, resolve));
  }
}
